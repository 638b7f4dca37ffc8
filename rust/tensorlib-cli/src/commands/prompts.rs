//! `tensorlib generate --prompts FILE`: generates the texts of many prompts together, as JSON lines.

use crate::args::Generate;
use crate::commands::chat;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::model::ranks::Ranks;
use crate::model::{self, say};
use crate::terminal::progress::texts_bar;
use crate::terminal::signals;
use serde_json::{json, Value as Json};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use tensorlib_models::{
    Batch, Chat, Decoder, Message, Role, Sampler, SamplerOptions, SequenceId, SequencesOptions, Task, Update,
};

/// A line of the file.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// Returned with the text.
    id: Option<Json>,
    input: Input,
}

#[derive(Debug, PartialEq)]
enum Input {
    Text(String),
    Messages(Vec<Message>),
}

/// A task and its text so far.
struct Running {
    index: usize,
    id: Option<Json>,
    text: String,
}

/// Runs the command.
pub fn run(
    options: &Generate,
    requests: Vec<Request>,
    sampling: &SamplerOptions,
    decoder: &Decoder,
    out: &mut dyn Write,
) -> Outcome<Exit> {
    let settings = SequencesOptions {
        cache: options.cache,
        tokens: options.pool.unwrap_or(0) as usize,
        ..SequencesOptions::default()
    };
    let settings = SequencesOptions { together: options.together.map_or(settings.together, usize::from), ..settings };
    let mut batch = Batch::new(decoder, &settings)?;
    // A constraint that cannot be enforced is an error before the first text.
    #[cfg(feature = "grammar")]
    let constraint = options.constraint.read(decoder.tokenizer())?;
    let (bar, begin) = (texts_bar(requests.len() as u64), Instant::now());
    let (mut running, mut failed, mut tokens): (HashMap<SequenceId, Running>, _, _) = (HashMap::new(), false, 0);
    let mut written = Ok(());
    let mut write = |line: Json, out: &mut dyn Write| {
        bar.inc(1);
        if written.is_ok() {
            written = writeln!(out, "{line}").and_then(|()| out.flush());
        }
        written.is_ok()
    };
    for (index, Request { id, input }) in requests.into_iter().enumerate() {
        let added = tokens_of(decoder, options, &input).and_then(|prompt| {
            // Each text has random numbers of its own.
            let sampling = SamplerOptions { seed: sampling.seed.wrapping_add(index as u64), ..sampling.clone() };
            #[cfg_attr(not(feature = "grammar"), allow(unused_mut))]
            let mut sampler = Sampler::with_tokenizer(sampling, decoder.tokenizer())?;
            #[cfg(feature = "grammar")]
            sampler.set_constraint(constraint.clone());
            Ok(batch.add(Task { prompt, sampler, limit: options.limit, stops: options.stop.clone() })?)
        });
        match added {
            Ok(task) => _ = running.insert(task, Running { index, id, text: String::new() }),
            Err(error) => {
                failed = true;
                write(line(index, id, json!({ "error": error.message })), out);
            }
        }
    }
    while !batch.is_empty() {
        signals::check("the texts before are printed")?;
        let mut can_write = true;
        batch.step(|task, update| {
            let ended = match update {
                Update::Piece(piece) => {
                    // The model's reasoning is not part of its answer.
                    let is_answer = piece.channel.is_none_or(|channel| channel == "final");
                    if let Some(running) = running.get_mut(&task).filter(|_| is_answer) {
                        running.text += piece.text;
                    }
                    return can_write;
                }
                Update::Ended(totals) => {
                    tokens += totals.tokens;
                    let text = running.get(&task).map_or("", |running| &running.text);
                    json!({ "text": text, "prompt_tokens": totals.prompt_tokens, "cached_tokens": totals.cached_tokens,
                            "tokens": totals.tokens, "ending": totals.ending.to_string() })
                }
                Update::Failed(error) => {
                    failed = true;
                    json!({ "error": error.to_string() })
                }
            };
            if let Some(Running { index, id, .. }) = running.remove(&task) {
                can_write &= write(line(index, id, ended), out);
            }
            can_write
        })?;
        if !can_write {
            break;
        }
    }
    written?;
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();
    say(&format!(
        "{tokens} tokens, {:.1} tokens/s",
        f64::from(u32::try_from(tokens).unwrap_or(u32::MAX)) / seconds.max(1e-9)
    ));
    model::say_memory(&options.devices, decoder.backend(), &decoder.memory());
    if failed {
        warn("some prompts have no text: see \"error\" in their lines");
    }
    Ok(if failed { Exit::Refused } else { Exit::Success })
}

/// A line of the output: its number in the input from 0, its id, and the rest.
fn line(index: usize, id: Option<Json>, rest: Json) -> Json {
    let mut line = json!({ "index": index });
    if let Some(id) = id {
        line["id"] = id;
    }
    if let (Some(line), Json::Object(rest)) = (line.as_object_mut(), rest) {
        line.extend(rest);
    }
    line
}

/// The tokens of a prompt, or of a conversation in the model's template.
fn tokens_of(decoder: &Decoder, options: &Generate, input: &Input) -> Outcome<Vec<u32>> {
    let (tokenizer, mut turns) = (decoder.tokenizer(), chat::system(options));
    match input {
        Input::Text(text) if chat::is_chat(options) => {
            turns.push(Message::user(text));
        }
        Input::Text(text) => return Ok(tokenizer.encode_prompt(text, options.special)?),
        Input::Messages(messages) => turns.extend(messages.iter().cloned()),
    }
    chat::tokens(&Chat::new(tokenizer)?, tokenizer, &turns, options)
}

/// Reads a file of requests.
pub fn read(path: &Path, ranks: &Ranks) -> Outcome<Vec<Request>> {
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    parse(&ranks.text_of(path)?).map_err(|e| Failure { message: format!("{name}: {}", e.message), ..e })
}

/// The requests of a file: an object per line, with `prompt` or `messages`, and an `id` if wanted.
fn parse(text: &str) -> Outcome<Vec<Request>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(i, line)| request(line).map_err(|what| refuse(&format!("line {}: {what}", i + 1)))).collect()
}

fn refuse(what: &str) -> Failure {
    let hint = r#"a line is an object such as {"prompt": "Once upon a time", "id": 7}"#;
    Failure::new(Exit::Format, what.to_string()).hint(hint)
}

fn request(line: &str) -> Result<Request, String> {
    let json: Json = serde_json::from_str(line).map_err(|e| format!("is no JSON: {e}"))?;
    let Json::Object(mut fields) = json else { return Err("is no object".into()) };
    let id = fields.remove("id");
    let input = match (fields.remove("prompt"), fields.remove("messages")) {
        (Some(Json::String(text)), None) => Input::Text(text),
        (None, Some(Json::Array(messages))) if !messages.is_empty() => {
            Input::Messages(messages.iter().map(message).collect::<Result<_, _>>()?)
        }
        (Some(_), Some(_)) => return Err("has a prompt and messages: one of them is valid".into()),
        (Some(_), None) => return Err("prompt: a text is valid".into()),
        (None, Some(_)) => return Err("messages: a list of objects with role and content is valid".into()),
        (None, None) => return Err("has no prompt and no messages: one of them is expected".into()),
    };
    match fields.keys().next() {
        Some(name) => Err(format!("{name}: prompt, messages and id are known")),
        None => Ok(Request { id, input }),
    }
}

fn message(json: &Json) -> Result<Message, String> {
    let known = [Role::System, Role::User, Role::Assistant];
    let fields = json.as_object().ok_or("messages: an object with role and content is valid")?;
    if let Some(name) = fields.keys().find(|name| !["role", "content"].contains(&name.as_str())) {
        return Err(format!("messages: {name}: role and content are known"));
    }
    let text = |name: &str| json[name].as_str().ok_or(format!("messages: {name}: a text is expected"));
    let (role, content) = (text("role")?, text("content")?.to_string());
    let role = known.into_iter().find(|known| known.as_str() == role);
    let role = role.ok_or_else(|| format!("messages: role: {} are valid", known.map(Role::as_str).join(", ")))?;
    Ok(Message::new(role, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_requests() {
        let text = "{\"prompt\": \"a\", \"id\": [1]}\n\n{\"messages\": [{\"role\": \"user\", \"content\": \"b\"}]}\r\n";
        let found = parse(text).unwrap_or_default();
        let message = Message::user("b");
        let want = [
            Request { id: Some(json!([1])), input: Input::Text("a".into()) },
            Request { id: None, input: Input::Messages(vec![message]) },
        ];
        assert_eq!(found, want);
        for (line, words) in [
            ("{", "line 1: is no JSON"),
            ("[]", "is no object"),
            ("{}", "has no prompt and no messages"),
            (r#"{"prompt": 1}"#, "prompt: a text is valid"),
            (r#"{"prompt": "a", "messages": []}"#, "one of them is valid"),
            (r#"{"messages": []}"#, "messages: a list"),
            (r#"{"messages": ["a"]}"#, "messages: an object"),
            (r#"{"messages": [{"role": "user"}]}"#, "messages: content: a text is expected"),
            (r#"{"messages": [{"role": "tool", "content": ""}]}"#, "messages: role: system, user, assistant are valid"),
            (r#"{"messages": [{"role": "user", "content": "", "name": "x"}]}"#, "messages: name: role and content"),
            (r#"{"prompt": "a", "temperature": 1}"#, "temperature: prompt, messages and id are known"),
        ] {
            let error = parse(line).err().map(|e| e.message).unwrap_or_default();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
