//! Calls of functions: what is asked for, what comes back, and the next turn with a result.

use crate::common::client::Client;
use crate::common::models::Folder;
use crate::common::{random_decoder, Running};
use serde_json::{json, Value};
use tensorlib_server::{Server, ServerOptions};

const CHAT: &str = "/v1/chat/completions";
/// The published template of Qwen 2.5, whose calls are JSON between tags.
const TEMPLATE: &str = include_str!("../../../tensorlib-models/tests/data/tools/qwen2.5.jinja");

fn server(folder: &Folder) -> Running {
    let mut server = Server::new(ServerOptions::default());
    server.add_decoder("random", &random_decoder(folder, 4000, TEMPLATE)).unwrap().unwrap();
    Running::start(server)
}

fn tools() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "enum": ["Oslo", "Rome"] }, "days": { "type": "integer", "minimum": 1, "maximum": 9 } },
        "required": ["city", "days"],
    });
    let weather = json!({ "name": "weather", "description": "Tells the weather.", "parameters": parameters });
    json!([{ "type": "function", "function": weather }, { "type": "function", "function": { "name": "now" } }])
}

/// A request with tools and other fields.
fn request(fields: Value) -> Value {
    let user = json!({ "role": "user", "content": "What is the weather?" });
    let mut object = json!({ "messages": [user], "tools": tools(), "max_tokens": 400, "seed": 3 });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

/// Checks the calls of an answer, which must be of these functions.
fn check_calls(message: &Value, names: &[&str]) -> Vec<Value> {
    let calls = message["tool_calls"].as_array().unwrap_or_else(|| panic!("{message}")).clone();
    for call in &calls {
        assert_eq!(call["type"], "function");
        assert_eq!(call["id"].as_str().unwrap().len(), 9);
        let function = &call["function"];
        let name = function["name"].as_str().unwrap();
        assert!(names.contains(&name), "{call}");
        let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        match name {
            "weather" => {
                assert!(["Oslo", "Rome"].contains(&arguments["city"].as_str().unwrap()), "{call}");
                assert!((1..10).contains(&arguments["days"].as_i64().unwrap()), "{call}");
                assert_eq!(arguments.as_object().unwrap().len(), 2);
            }
            _ => assert_eq!(arguments, json!({})),
        }
    }
    calls
}

/// The message that the chunks of a stream make, and why it ended.
fn put_together(client: &Client, request: &Value) -> (Value, Value) {
    let mut request = request.clone();
    request["stream"] = true.into();
    let answer = client.post(CHAT, &request);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (events, is_complete) = answer.events();
    assert!(is_complete);
    let (mut content, mut calls, mut finish) = (String::new(), Vec::<Value>::new(), Value::Null);
    for choice in events.iter().map(|event| &event["choices"][0]) {
        content += choice["delta"]["content"].as_str().unwrap_or_default();
        for part in choice["delta"]["tool_calls"].as_array().unwrap_or(&Vec::new()) {
            let index = part["index"].as_u64().unwrap() as usize;
            if index == calls.len() {
                calls.push(json!({ "id": part["id"], "type": part["type"], "function": part["function"] }));
                continue;
            }
            let text = part["function"]["arguments"].as_str().unwrap();
            let before = calls[index]["function"]["arguments"].as_str().unwrap();
            calls[index]["function"]["arguments"] = json!(format!("{before}{text}"));
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    (json!({ "content": content, "tool_calls": calls }), finish)
}

#[test]
fn required_calls_are_calls_of_tools() {
    let folder = Folder::new("server-tools");
    let server = server(&folder);
    let client = server.client();
    let named = json!({ "type": "function", "function": { "name": "weather" } });
    for (choice, names) in [(json!("required"), &["weather", "now"][..]), (named, &["weather"])] {
        let request = request(json!({ "tool_choice": choice, "parallel_tool_calls": false }));
        let answer = client.post(CHAT, &request).ok();
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
        assert_eq!(choice["message"]["content"], Value::Null);
        let calls = check_calls(&choice["message"], names);
        assert_eq!(calls.len(), 1);
        let (streamed, finish) = put_together(&client, &request);
        assert_eq!((finish, &streamed["content"]), (json!("tool_calls"), &json!("")));
        assert_eq!(check_calls(&streamed, names)[0]["function"], calls[0]["function"]);
    }
}

#[test]
fn a_conversation_goes_on_with_results() {
    let folder = Folder::new("server-results");
    let server = server(&folder);
    let client = server.client();
    let first = client.post(CHAT, &request(json!({ "tool_choice": "required", "parallel_tool_calls": false }))).ok();
    let message = first["choices"][0]["message"].clone();
    let result = json!({ "role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain" });
    let messages = json!([{ "role": "user", "content": "What is the weather?" }, message, result]);
    let second = client.post(CHAT, &request(json!({ "messages": messages, "tool_choice": "none" }))).ok();
    assert!(second["choices"][0]["message"].get("tool_calls").is_none());
    // The result is part of the prompt.
    let tokens = |answer: &Value| answer["usage"]["prompt_tokens"].as_u64().unwrap();
    let third = client.post(CHAT, &request(json!({ "messages": messages, "max_tokens": 1 }))).ok();
    assert!(tokens(&third) > tokens(&first) + 10);
}

#[test]
fn free_answers_are_text_or_calls() {
    let folder = Folder::new("server-auto");
    let server = server(&folder);
    for seed in 0..4 {
        let request = request(json!({ "seed": seed, "max_tokens": 60, "temperature": 1.5 }));
        let answer = server.client().post(CHAT, &request).ok();
        let message = &answer["choices"][0]["message"];
        match message.get("tool_calls") {
            Some(_) => _ = check_calls(message, &["weather", "now"]),
            None => assert!(message["content"].is_string()),
        }
        assert_eq!(
            put_together(&server.client(), &request).0["content"],
            message["content"].as_str().unwrap_or_default()
        );
    }
}

#[test]
fn wrong_tools_are_refused() {
    let folder = Folder::new("server-wrong-tools");
    let server = server(&folder);
    let client = server.client();
    let function = |function: Value| json!({ "tools": [{ "type": "function", "function": function }] });
    let turn = |turn: Value| json!({ "messages": [{ "role": "user", "content": "a" }, turn] });
    let open = json!({ "type": "object", "properties": { "a": { "typ": "string" } } });
    for (fields, words) in [
        (json!({ "tools": 5 }), "tools: a list is valid"),
        (json!({ "tools": [5] }), "tools[0]: an object is valid"),
        (json!({ "tools": [{ "type": "web_search" }] }), "tools[0].type: is 'web_search': function are valid"),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].function: is missing"),
        (function(json!({})), "tools: tool: function: name: 1 to 64 letters"),
        (function(json!({ "name": "a b" })), "the function's name \"a b\": 1 to 64 letters"),
        (function(json!({ "name": "a", "x": 1 })), "tools[0].function.x: is unknown"),
        (function(json!({ "name": "a", "parameters": [] })), "tool a: parameters: a JSON schema of type object"),
        (function(json!({ "name": "a", "parameters": open })), "tool a: JSON schema: #/properties/a/typ"),
        (json!({ "tool_choice": "any" }), "tool_choice: is 'any': auto, none, required"),
        (json!({ "tool_choice": 5 }), "tool_choice: auto, none, required"),
        (
            json!({ "tool_choice": { "type": "function", "function": { "name": "x" } } }),
            "'x' is none of the tools: weather, now",
        ),
        (
            json!({ "tools": null, "tool_choice": "required" }),
            "tool_choice: a call is required, and there are no tools",
        ),
        (json!({ "response_format": { "type": "json_object" } }), "response_format: with tools"),
        (json!({ "functions": [] }), "functions: is unknown"),
        (turn(json!({ "role": "tool", "content": "x" })), "messages[1].tool_call_id: is missing"),
        (turn(json!({ "role": "user", "content": "x", "tool_calls": [] })), "messages[1].tool_calls: is unknown"),
        (turn(json!({ "role": "assistant", "tool_calls": [] })), "messages[1].content: is missing"),
        (turn(json!({ "role": "assistant", "tool_calls": [{}] })), "messages[1].tool_calls[0].id: is missing"),
        (
            turn(
                json!({ "role": "assistant", "tool_calls": [{ "id": "1", "function": { "name": "now", "arguments": "{" } }] }),
            ),
            "messages[1].tool_calls[0].function.arguments: arguments of the tool call \"now\"",
        ),
        (json!({ "reasoning_effort": "low" }), "reasoning_effort: the model's template has none"),
        (
            json!({ "chat_template_kwargs": { "x": 1 } }),
            "chat_template_kwargs: the model's template has no variable 'x'",
        ),
        (json!({ "chat_template_kwargs": { "tools": [] } }), "the template's variable tools is set already"),
    ] {
        let message = client.post(CHAT, &request(fields)).failure(400);
        assert!(message.contains(words), "{words}: {message}");
    }
}
