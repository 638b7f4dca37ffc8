//! Chats and completions: what is answered, at once and as a stream.

use crate::common::client::Answer;
use crate::common::models::Folder;
use crate::common::{decoder, plays_that_converse, random_decoder, Running, TEMPLATE};
use serde_json::{json, Value};
use tensorlib::DType;
use tensorlib_models::{generate, Chat, Message, Sampler, SamplerOptions};
use tensorlib_server::{Server, ServerOptions};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

fn chat(text: &str) -> Value {
    json!({ "model": "plays", "messages": [{ "role": "user", "content": text }], "max_tokens": 24, "temperature": 0 })
}

/// An object with further fields.
fn with(mut object: Value, fields: Value) -> Value {
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

/// The text that the model writes alone.
fn alone(folder: &Folder, text: &str, limit: usize) -> String {
    let decoder = decoder(&plays_that_converse(folder, TEMPLATE));
    let tokenizer = decoder.tokenizer();
    let turns = [Message::user(text)];
    let prompt = Chat::new(tokenizer).unwrap().encode(tokenizer, &turns, false).unwrap();
    let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() }).unwrap();
    let (mut session, mut written) = (decoder.session(DType::F16).unwrap(), String::new());
    let show = |piece: tensorlib_models::Piece| {
        written += piece.text;
        true
    };
    generate(&mut session, &mut sampler, &prompt, Some(limit), &[], show).unwrap();
    written
}

/// The text of a streamed answer's choice, and what ended it.
fn streamed(answer: &Answer, index: usize) -> (String, Option<String>) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let (events, is_complete) = answer.events();
    assert!(is_complete, "{}", answer.text());
    let (mut text, mut finish) = (String::new(), None);
    for choice in events.iter().flat_map(|event| event["choices"].as_array().unwrap()) {
        if choice["index"] != index {
            continue;
        }
        text += choice["delta"]["content"].as_str().or(choice["text"].as_str()).unwrap_or_default();
        finish = choice["finish_reason"].as_str().map(String::from).or(finish);
    }
    (text, finish)
}

#[test]
fn a_chat_is_the_text_that_the_model_writes_alone() {
    let folder = Folder::new("server-alone");
    let server = Running::plays(&folder, ServerOptions::default());
    let want = alone(&folder, "Where is the king?", 24);
    assert!(want.len() > 20);
    let answer = server.client().post(CHAT, &chat("Where is the king?")).ok();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "plays");
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], want);
    assert_eq!(
        (choice["message"]["role"].as_str(), choice["finish_reason"].as_str()),
        (Some("assistant"), Some("length"))
    );
    let usage = &answer["usage"];
    assert_eq!(usage["completion_tokens"], 24);
    let tokens = usage["prompt_tokens"].as_u64().unwrap();
    assert!(tokens > 5);
    assert_eq!(usage["total_tokens"], tokens + 24);
    // The parts of a message are one text.
    let parts = json!([{ "type": "text", "text": "Where is " }, { "type": "text", "text": "the king?" }]);
    let request = with(chat(""), json!({ "messages": [{ "role": "user", "content": parts }] }));
    assert_eq!(server.client().post(CHAT, &request).ok()["choices"][0]["message"]["content"], want);
}

#[test]
fn a_stream_has_the_text_in_pieces() {
    let folder = Folder::new("server-stream");
    let server = Running::plays(&folder, ServerOptions::default());
    let want = alone(&folder, "Speak.", 24);
    let options = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let answer = server.client().post(CHAT, &with(chat("Speak."), options));
    assert_eq!(streamed(&answer, 0), (want.clone(), Some("length".into())));
    let (events, _) = answer.events();
    assert!(events.len() > 10, "{}", answer.text());
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk" && event["id"] == events[0]["id"]));
    let (last, others) = events.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 24);
    assert!(others.iter().all(|event| event["usage"].is_null()));
    let plain = server.client().post(CHAT, &with(chat("Speak."), json!({ "stream": true })));
    assert!(plain.events().0.iter().all(|event| event.get("usage").is_none()));
    assert_eq!(streamed(&plain, 0).0, want);
}

#[test]
fn texts_of_one_prompt_differ_by_seed_and_share_its_tokens() {
    let folder = Folder::new("server-n");
    let server = Running::plays(&folder, ServerOptions::default());
    let long = "Good my lord, ".repeat(10);
    let fields = json!({ "n": 3, "temperature": 1.0, "seed": 5 });
    let texts = |answer: &Value| -> Vec<String> {
        let choices = answer["choices"].as_array().unwrap();
        choices.iter().map(|choice| choice["message"]["content"].as_str().unwrap().into()).collect()
    };
    let first = server.client().post(CHAT, &with(chat(&long), fields.clone())).ok();
    let all = texts(&first);
    assert_eq!(all.len(), 3);
    assert!(all[0] != all[1] && all[1] != all[2]);
    // The second text took over the pages that the first computed.
    let cached = first["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    assert!(cached >= 64, "{first}");
    assert_eq!(first["usage"]["completion_tokens"], 72);
    assert_eq!(texts(&server.client().post(CHAT, &with(chat(&long), fields.clone())).ok()), all);
    // Each text is the one that its seed gives alone.
    let second = with(with(chat(&long), fields), json!({ "n": 1, "seed": 6 }));
    assert_eq!(texts(&server.client().post(CHAT, &second).ok()), all[1..2]);
    let answer = server.client().post(CHAT, &with(second, json!({ "n": 2, "stream": true })));
    assert_eq!([streamed(&answer, 0).0, streamed(&answer, 1).0], all[1..3]);
}

#[test]
fn log_probabilities_belong_to_tokens() {
    let folder = Folder::new("server-logprobs");
    let server = Running::plays(&folder, ServerOptions::default());
    let request = with(chat("Speak."), json!({ "logprobs": true, "top_logprobs": 3 }));
    let answer = server.client().post(CHAT, &request).ok();
    let content = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 24);
    let mut text = String::new();
    for entry in content {
        let top = entry["top_logprobs"].as_array().unwrap();
        assert_eq!(top.len(), 3);
        // At temperature 0 the most likely token is chosen.
        assert_eq!((&top[0]["token"], &top[0]["logprob"]), (&entry["token"], &entry["logprob"]));
        assert!(entry["logprob"].as_f64().unwrap() <= 0.0);
        let bytes: Vec<u8> = serde_json::from_value(entry["bytes"].clone()).unwrap();
        assert_eq!(bytes, entry["token"].as_str().unwrap().as_bytes());
        text += entry["token"].as_str().unwrap();
    }
    assert_eq!(text, answer["choices"][0]["message"]["content"]);
    let streamed = server.client().post(CHAT, &with(request, json!({ "stream": true })));
    let (events, _) = streamed.events();
    let choices = events.iter().flat_map(|event| event["choices"].as_array().unwrap());
    let entries: Vec<&Value> = choices.filter_map(|choice| choice["logprobs"]["content"].get(0)).collect();
    assert_eq!(entries, content.iter().collect::<Vec<_>>());
}

#[test]
fn completions_continue_texts_and_tokens() {
    let folder = Folder::new("server-completions");
    let server = Running::plays(&folder, ServerOptions::default());
    let client = server.client();
    let tokens = client.post("/tokenize", &json!({ "content": "ROMEO:", "add_special": true })).ok()["tokens"].clone();
    assert!(!tokens.as_array().unwrap().is_empty());
    let request = |prompt: Value| json!({ "prompt": prompt, "temperature": 0, "max_tokens": 40, "logprobs": 2 });
    let one = client.post(COMPLETIONS, &request(json!("ROMEO:"))).ok();
    let text = one["choices"][0]["text"].as_str().unwrap().to_string();
    assert!(!text.is_empty());
    assert_eq!(one["object"], "text_completion");
    let by_tokens = client.post(COMPLETIONS, &request(tokens.clone())).ok();
    assert_eq!(by_tokens["choices"][0]["text"], text);
    let many = client.post(COMPLETIONS, &with(request(json!(["ROMEO:", "Thou art not "])), json!({ "n": 2 }))).ok();
    let texts: Vec<&str> = many["choices"].as_array().unwrap().iter().map(|c| c["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 4);
    assert!(texts[0] == text && texts[1] == text && texts[2] == texts[3] && texts[2] != text);
    let both = client.post(COMPLETIONS, &request(json!([tokens, "Thou art not "]))).ok();
    assert_eq!([&both["choices"][0]["text"], &both["choices"][1]["text"]], [texts[0], texts[2]]);
    let logprobs = &one["choices"][0]["logprobs"];
    assert_eq!(logprobs["tokens"].as_array().unwrap().len(), 40);
    assert_eq!(logprobs["text_offset"][0], 0);
    assert!(logprobs["top_logprobs"][0].as_object().unwrap().len() == 2);
    let answer = client.post(COMPLETIONS, &with(request(json!("ROMEO:")), json!({ "stream": true })));
    assert_eq!(streamed(&answer, 0), (text, Some("length".into())));
    // OpenAI's default.
    let usual = client.post(COMPLETIONS, &json!({ "prompt": "ROMEO:" })).ok();
    assert_eq!(usual["usage"]["completion_tokens"], 16);
}

#[test]
fn texts_end_before_stops() {
    let folder = Folder::new("server-stops");
    let server = Running::plays(&folder, ServerOptions::default());
    let whole = server.client().post(CHAT, &chat("Speak.")).ok()["choices"][0]["message"]["content"].clone();
    let whole = whole.as_str().unwrap();
    let stop: String = whole.chars().skip(10).take(3).collect();
    let before = whole.split(&stop).next().unwrap();
    for stops in [json!(stop), json!(["unlikely", stop])] {
        let answer = server.client().post(CHAT, &with(chat("Speak."), json!({ "stop": stops }))).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], before);
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        let request = with(chat("Speak."), json!({ "stop": stops, "stream": true }));
        assert_eq!(streamed(&server.client().post(CHAT, &request), 0), (before.into(), Some("stop".into())));
    }
}

#[test]
fn a_bias_bans_and_forces_tokens() {
    let folder = Folder::new("server-bias");
    let server = Running::plays(&folder, ServerOptions::default());
    let client = server.client();
    let token = client.post("/tokenize", &json!({ "content": "a" })).ok()["tokens"][0].to_string();
    let text = |bias: f64| {
        let request = with(chat("Speak."), json!({ "logit_bias": { &token: bias }, "max_tokens": 8 }));
        client.post(CHAT, &request).ok()["choices"][0]["message"]["content"].as_str().unwrap().to_string()
    };
    assert_eq!(text(100.0), "a".repeat(8));
    let banned = json!({ "prompt": "a", "logit_bias": { &token: -100 }, "logprobs": 0, "max_tokens": 200 });
    let answer = client.post(COMPLETIONS, &banned).ok();
    let tokens = answer["choices"][0]["logprobs"]["tokens"].as_array().unwrap().clone();
    assert!(!tokens.contains(&json!("a")) && tokens.len() > 20);
}

#[test]
fn answers_follow_formats() {
    let folder = Folder::new("server-formats");
    let mut server = Server::new(ServerOptions::default());
    server.add_decoder("random", &random_decoder(&folder, 600, TEMPLATE)).unwrap().unwrap();
    let server = Running::start(server);
    let client = server.client();
    let chat = |text: &str| with(chat(text), json!({ "model": "random" }));
    let text = |format: Value| {
        let request = with(chat("Speak."), json!({ "response_format": format, "max_tokens": 200, "temperature": 1 }));
        let answer = client.post(CHAT, &request).ok();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
        answer["choices"][0]["message"]["content"].as_str().unwrap().to_string()
    };
    let schema = json!({
        "type": "object",
        "properties": { "age": { "type": "integer", "minimum": 0, "maximum": 99 }, "is_king": { "type": "boolean" } },
        "required": ["age", "is_king"],
        "additionalProperties": false,
    });
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "person", "strict": true, "schema": schema } });
    let person: Value = serde_json::from_str(&text(format)).unwrap();
    assert!(person["age"].as_u64().unwrap() < 100 && person["is_king"].is_boolean());
    let word = text(json!({ "type": "grammar", "syntax": "regex", "definition": "(yes|no){2}" }));
    assert!(["yesyes", "yesno", "noyes", "nono"].contains(&&word[..]), "{word}");
    let word = text(json!({ "type": "grammar", "syntax": "lark", "definition": "start: \"to\" (\" be\"|\" go\")" }));
    assert!(["to be", "to go"].contains(&&word[..]), "{word}");
    for (format, words) in [
        (json!({ "type": "json" }), "response_format.type: is 'json': text, json_object"),
        (json!({}), "response_format.type: is missing"),
        (json!({ "type": "text", "x": 1 }), "response_format.x: is unknown"),
        (json!({ "type": "json_schema" }), "response_format.json_schema: is missing"),
        (json!({ "type": "grammar", "definition": "a" }), "response_format.syntax: is missing"),
        (json!({ "type": "grammar", "syntax": "regex", "definition": "(" }), "response_format.definition: regular"),
        (
            json!({ "type": "json_schema", "json_schema": { "schema": { "typ": "object" } } }),
            "response_format.json_schema.schema: JSON schema: #/typ",
        ),
    ] {
        let request = with(chat("Speak."), json!({ "response_format": format }));
        let message = client.post(CHAT, &request).failure(400);
        assert!(message.contains(words), "{message}");
    }
}
