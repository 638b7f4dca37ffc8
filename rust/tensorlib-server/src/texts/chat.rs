//! `/v1/chat/completions`: the next turn of a conversation.

use super::stream;
use super::{chat_logprobs, constraints, finish_reason, limit, messages, start, tools};
use super::{Delivery, Envelope, Started, Wanted};
use crate::error::{ApiError, Result};
use crate::fields::{shortened, Fields};
use crate::generator::Event;
use crate::routes::{self, App};
use crate::sampling::{self, LOGPROBS};
use crate::{body, state};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{json, Map, Value};
use tensorlib_models::{
    AnswerEvent, AnswerParser, CallOptions, Chat, ChatOptions, Constraint, Decoder, ParsedAnswer, ParsedCall,
    Reasoning, ToolFormat, Tools,
};

/// Answers a request.
pub async fn route(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let (started, form) = routes::blocking(move || prepare(&prepared, fields)).await?;
    stream::answer(Answer::new(&started, &form), started.events, started.delivery.stream).await
}

/// The kinds of objects.
const WHOLE: &str = "chat.completion";
const CHUNK: &str = "chat.completion.chunk";

/// How answers are divided into text, reasoning and calls.
#[derive(Debug, Default)]
struct Form {
    format: Option<ToolFormat>,
    tools: Tools,
    reasoning: Reasoning,
}

/// Reads a request and starts its texts.
fn prepare(state: &state::State, mut fields: Fields) -> Result<(Started, Form)> {
    let (name, generator) = state.generator(&mut fields)?;
    let (decoder, chat) = (generator.decoder(), generator.chat()?);
    let messages = messages::read(&mut fields)?;
    generator.check_length(
        "messages",
        messages.iter().filter_map(|message| message.content.as_ref()).map(String::len).sum(),
    )?;
    let delivery = Delivery::read(&mut fields)?;
    let mut sampling = sampling::read(&mut fields, decoder.vocabulary())?;
    sampling.logprobs = logprobs(&mut fields)?;
    let n = fields.count("n", 1..=state.options.texts)?.unwrap_or(1);
    let (limit, stops) = (limit(&mut fields)?, sampling::stops(&mut fields)?);
    super::ignore(&mut fields);
    let wanted = tools::read(&mut fields)?;
    let variables = variables(&mut fields, chat)?;
    let place = fields.place("messages");
    let constraint = constraints::read(&mut fields, decoder.tokenizer())?;
    fields.end()?;
    let options = ChatOptions { tools: wanted.tools.clone(), variables, ..ChatOptions::default() };
    let prompt = chat.prompt(decoder.tokenizer(), &messages, &options).map_err(|e| ApiError::about(&place, &e))?;
    let (form, constraint) = form(chat, decoder, wanted, prompt.reasoning, constraint)?;
    let wanted = Wanted { prompts: vec![prompt.tokens], n, sampling, limit, stops, constraint };
    Ok((start(state, (name, generator), wanted, delivery)?, form))
}

/// How the answers are divided, and what constrains them.
fn form(
    chat: &Chat,
    decoder: &Decoder,
    wanted: tools::Wanted,
    reasoning: Reasoning,
    constraint: Option<Constraint>,
) -> Result<(Form, Option<Constraint>)> {
    let tools = wanted.tools;
    if tools.is_empty() {
        // An answer with a constraint is what that says, from its first token.
        return Ok(match constraint {
            Some(_) => (Form::default(), constraint),
            None => (Form { format: chat.tool_format().ok(), tools, reasoning }, None),
        });
    }
    if constraint.is_some() {
        return Err(ApiError::field("response_format", "with tools {\"type\": \"text\"} is valid"));
    }
    let about = |e| ApiError::about("tools", &e);
    let format = chat.tool_format().map_err(about)?;
    let options = CallOptions { choice: wanted.choice, parallel: wanted.parallel, reasoning };
    let constraint = Constraint::tools(decoder.tokenizer(), format, &tools, &options).map_err(about)?;
    Ok((Form { format: Some(format), tools, reasoning }, Some(constraint)))
}

/// `reasoning_effort` and `chat_template_kwargs`: variables of the model's template.
fn variables(fields: &mut Fields, chat: &Chat) -> Result<Map<String, Value>> {
    let mut variables = match fields.take("chat_template_kwargs") {
        None => Map::new(),
        Some(Value::Object(variables)) => variables,
        Some(_) => return Err(fields.wrong("chat_template_kwargs", "an object is valid")),
    };
    if let Some(name) = variables.keys().find(|name| !chat.names(name)) {
        let message = format!("the model's template has no variable '{}'", shortened(name));
        return Err(fields.wrong("chat_template_kwargs", message));
    }
    if let Some(effort) = fields.text("reasoning_effort")? {
        if !chat.names("reasoning_effort") {
            return Err(fields.wrong("reasoning_effort", "the model's template has none: leave it out"));
        }
        variables.insert("reasoning_effort".into(), effort.into());
    }
    Ok(variables)
}

/// `logprobs` and `top_logprobs`.
fn logprobs(fields: &mut Fields) -> Result<Option<usize>> {
    let (wanted, top) = (fields.flag("logprobs")?.unwrap_or(false), fields.count("top_logprobs", 0..=LOGPROBS)?);
    match (wanted, top) {
        (false, Some(1..)) => Err(fields.wrong("top_logprobs", "is valid with \"logprobs\": true")),
        (false, _) => Ok(None),
        (true, top) => Ok(Some(top.unwrap_or(0))),
    }
}

/// An answer so far.
struct Answer {
    envelope: Envelope,
    decoder: Decoder,
    choices: Vec<Choice>,
}

/// A text, and how it is read.
struct Choice {
    parser: AnswerParser,
    answer: ParsedAnswer,
    logprobs: Vec<Value>,
    /// The calls' ids.
    ids: Vec<String>,
    finish: Option<&'static str>,
    /// Whether a chunk with the role was sent.
    has_begun: bool,
}

/// What an event adds to a text.
#[derive(Default)]
struct Added {
    events: Vec<AnswerEvent>,
    logprobs: Option<Value>,
}

impl Answer {
    fn new(started: &Started, Form { format, tools, reasoning }: &Form) -> Self {
        let decoder = started.decoder.clone();
        let choice = |_| Choice {
            parser: AnswerParser::new(decoder.tokenizer(), *format, tools, *reasoning),
            answer: ParsedAnswer::default(),
            logprobs: Vec::new(),
            ids: Vec::new(),
            finish: None,
            has_begun: false,
        };
        let choices = (0..started.n).map(choice).collect();
        Answer { envelope: Envelope::new("chatcmpl", started), decoder, choices }
    }

    fn take(&mut self, text: usize, event: Event) -> Added {
        let mut added = Added::default();
        let choice = &mut self.choices[text];
        match event {
            Event::Piece { token, segments, channel, logprobs, .. } => {
                added.events = choice.parser.push(&segments);
                let is_content = channel.as_deref().is_none_or(|channel| channel == "final");
                if let (Some(token), Some(logprobs), true) = (token, logprobs, is_content) {
                    added.logprobs = Some(chat_logprobs(self.decoder.tokenizer(), token, &logprobs));
                }
            }
            Event::Ended(totals) => {
                added.events = choice.parser.finish();
                self.envelope.usage.add(&totals);
                choice.finish = Some(finish_reason(&totals.ending));
            }
            Event::Failed(_) => {}
        }
        let begun = added.events.iter().filter(|event| matches!(event, AnswerEvent::CallStart { .. })).count();
        choice.ids.extend((0..begun).map(|_| call_id()));
        choice.answer.extend(added.events.iter().cloned());
        if !choice.answer.tool_calls.is_empty() && choice.finish == Some("stop") {
            choice.finish = Some("tool_calls");
        }
        added
    }
}

/// A text of the complete answer.
fn whole((index, choice): (usize, Choice)) -> Value {
    let ParsedAnswer { content, reasoning, tool_calls } = choice.answer;
    let has_content = !content.is_empty() || tool_calls.is_empty();
    let content = if has_content { content.into() } else { Value::Null };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !tool_calls.is_empty() {
        let call = |(ParsedCall { name, arguments }, id)| {
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "id": id, "type": "function", "function": function })
        };
        message["tool_calls"] = tool_calls.into_iter().zip(choice.ids).map(call).collect();
    }
    let logprobs = match choice.logprobs {
        all if all.is_empty() => Value::Null,
        all => json!({ "content": all, "refusal": null }),
    };
    json!({ "index": index, "message": message, "logprobs": logprobs, "finish_reason": choice.finish })
}

impl Answer {
    fn choice(&self, index: usize, delta: Value, logprobs: Option<Value>, finish: Option<&str>) -> Value {
        let logprobs = logprobs.map_or(Value::Null, |entry| json!({ "content": [entry], "refusal": null }));
        let choice = json!({ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
        self.envelope.chunk(CHUNK, vec![choice])
    }
}

impl stream::Answer for Answer {
    fn chunks(&mut self, text: usize, event: Event) -> Vec<Value> {
        let mut chunks = Vec::new();
        if !std::mem::replace(&mut self.choices[text].has_begun, true) {
            chunks.push(self.choice(text, json!({ "role": "assistant", "content": "" }), None, None));
        }
        let Added { events, mut logprobs } = self.take(text, event);
        for event in events {
            if let Some(delta) = delta(event, &self.choices[text].ids) {
                chunks.push(self.choice(text, delta, logprobs.take(), None));
            }
        }
        if logprobs.is_some() {
            // A token whose text is not complete.
            chunks.push(self.choice(text, json!({}), logprobs, None));
        }
        if let Some(finish) = self.choices[text].finish {
            chunks.push(self.choice(text, json!({}), None, Some(finish)));
        }
        chunks
    }

    fn add(&mut self, text: usize, event: Event) {
        let added = self.take(text, event);
        self.choices[text].logprobs.extend(added.logprobs);
    }

    fn is_complete(&self) -> bool {
        self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn last(&self) -> Vec<Value> {
        self.envelope.last(CHUNK)
    }

    fn whole(self) -> Value {
        self.envelope.whole(WHOLE, self.choices.into_iter().enumerate().map(whole).collect())
    }
}

/// What a part of an answer is in a chunk. `ids` are those of the calls that have begun.
fn delta(event: AnswerEvent, ids: &[String]) -> Option<Value> {
    let call = |index: usize, call: Value| {
        let mut call = call;
        call["index"] = index.into();
        Some(json!({ "tool_calls": [call] }))
    };
    match event {
        AnswerEvent::Content(text) => Some(json!({ "content": text })),
        AnswerEvent::Reasoning(text) => Some(json!({ "reasoning_content": text })),
        AnswerEvent::CallStart { index, name } => {
            let function = json!({ "name": name, "arguments": "" });
            call(index, json!({ "id": ids.get(index), "type": "function", "function": function }))
        }
        AnswerEvent::CallArguments { index, text } => call(index, json!({ "function": { "arguments": text } })),
        AnswerEvent::CallEnd { .. } => None,
        // A call that the limit of tokens cut, which `finish_reason` says.
        AnswerEvent::CallBroken { text, .. } => Some(json!({ "content": text })),
    }
}

/// The id of a call: Mistral's templates take nine letters or digits.
fn call_id() -> String {
    format!("{:016x}", sampling::random())[..9].into()
}
