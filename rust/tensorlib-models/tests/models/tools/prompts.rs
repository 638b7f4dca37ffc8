//! Prompts with tools, calls and results, compared with Jinja2's. `data/tools.json` holds the conversations and Jinja2
//! 3.1.6's texts, or its errors.

use super::templates::{family, FAMILIES};
use serde_json::{json, Value as Json};
use tensorlib_models::{Chat, ChatOptions, ErrorKind, Message, Reasoning, Role, ToolCall, ToolFormat, Tools};

fn table() -> Json {
    serde_json::from_str(include_str!("../../data/tools.json")).unwrap()
}

/// A message of the table.
fn message(json: &Json) -> Message {
    let text = |key: &str| json[key].as_str().map(String::from);
    let calls = json["tool_calls"].as_array().into_iter().flatten();
    let call = |call: &Json| {
        let id = call["id"].as_str().map(String::from);
        ToolCall::new(id, call["name"].as_str().unwrap(), &call["arguments"].to_string()).unwrap()
    };
    Message {
        content: text("content"),
        reasoning_content: text("reasoning_content"),
        tool_calls: calls.map(call).collect(),
        tool_call_id: text("tool_call_id"),
        ..Message::new(json["role"].as_str().unwrap().parse().unwrap(), "")
    }
}

#[test]
fn prompts_have_the_texts_of_jinja2() {
    let table = table();
    let tools = Tools::new(table["tools"].as_array().unwrap()).unwrap();
    let today = regex::Regex::new(r"Current date: \d{4}-\d\d-\d\d").unwrap();
    let mut names = Vec::new();
    for case in table["cases"].as_array().unwrap() {
        let (name, conversation) = (case["template"].as_str().unwrap(), case["conversation"].as_str().unwrap());
        names.push(name);
        let messages: Vec<Message> =
            table["conversations"][conversation].as_array().unwrap().iter().map(message).collect();
        let tokenizer = family(name).tokenizer();
        let chat = Chat::new(&tokenizer).unwrap();
        let options = ChatOptions {
            tools: if case["tools"] == true { tools.clone() } else { Tools::default() },
            variables: case["variables"].as_object().unwrap().clone(),
            ..ChatOptions::default()
        };
        let made = chat.text(&messages, &options);
        if let Some(error) = case["error"].as_str() {
            let made = made.unwrap_err();
            assert!(made.kind() == ErrorKind::Invalid && made.to_string().contains(error), "{name}: {made}");
            continue;
        }
        // The vocabulary has other names for the begin and the end of a text than the table.
        let wanted = case["text"].as_str().unwrap().replace("<s>", "<|endoftext|>");
        let wanted = if name == "mistral" { wanted.replace("</s>", "<|endoftext|>") } else { wanted };
        let made = made.unwrap_or_else(|e| panic!("{name}, {conversation}: {e}"));
        assert_eq!(today.replace(&made, "Current date: 2024-07-26"), wanted, "{name}, {conversation}");
        // The tokens are those of the text, without a trace of the guard.
        let prompt = chat.prompt(&tokenizer, &messages, &options).unwrap();
        assert_eq!(tokenizer.decode(&prompt.tokens, false), made, "{name}, {conversation}");
    }
    assert!(FAMILIES.iter().all(|family| names.contains(&family.name)));
}

#[test]
fn formats_are_found_in_templates() {
    for family in FAMILIES {
        assert_eq!(ToolFormat::from_template(family.template).unwrap(), family.format, "{}", family.name);
        assert_eq!(Chat::new(&family.tokenizer()).unwrap().tool_format().unwrap(), family.format);
    }
    let plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}";
    for (template, words) in [
        (plain, "has no tools"),
        ("{{ tools }}<tool_call>{{ name }}<arg_key>", "format of tool calls is unknown: known are those of Qwen 2.5"),
        ("{{ tools }}[TOOL_CALLS]{{ name }}[ARGS]", "is unknown"),
        ("{{ tools | tojson }}", "is unknown"),
    ] {
        let error = ToolFormat::from_template(template).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn prompts_say_where_reasoning_is() {
    let of = |name: &str, variables: Json| {
        let tokenizer = family(name).tokenizer();
        let options = ChatOptions { variables: variables.as_object().unwrap().clone(), ..ChatOptions::default() };
        Chat::new(&tokenizer).unwrap().prompt(&tokenizer, &[Message::user("x")], &options).unwrap().reasoning
    };
    assert_eq!(of("qwen2.5", json!({})), Reasoning::None);
    assert_eq!(of("qwen3", json!({})), Reasoning::Tagged);
    assert_eq!(of("qwen3.5", json!({})), Reasoning::Open);
    assert_eq!(of("qwen3.5", json!({ "enable_thinking": false })), Reasoning::Tagged);
    assert_eq!(of("gpt-oss", json!({})), Reasoning::None);
    assert_eq!(of("gemma4", json!({})), Reasoning::Channel);
    assert_eq!(of("gemma4", json!({ "enable_thinking": true })), Reasoning::Channel);
}

#[test]
fn what_a_template_lacks_is_refused() {
    let qwen = family("qwen2.5").tokenizer();
    let chat = Chat::new(&qwen).unwrap();
    let with = |name: &str| ChatOptions {
        variables: json!({ name: 1 }).as_object().unwrap().clone(),
        ..ChatOptions::default()
    };
    for name in ["messages", "tools", "add_generation_prompt", "bos_token"] {
        let error = chat.text(&[Message::user("x")], &with(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("is set already"), "{error}");
    }
    chat.text(&[Message::user("x")], &with("other")).unwrap();
    let calls = Message { role: Role::User, ..Message::calls(vec![ToolCall::new(None, "f", "{}").unwrap()]) };
    let error = chat.text(&[calls], &ChatOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a message of the role user has tool calls"), "{error}");
    let no_prompt = ChatOptions { add_generation_prompt: false, ..ChatOptions::default() };
    assert!(!chat.text(&[Message::user("x")], &no_prompt).unwrap().contains("assistant\n"));

    let mut metadata = crate::common::tokenizers::byte_pairs();
    metadata.push(("tokenizer.chat_template".into(), "{{ messages[0].content }}".into()));
    let plain = crate::common::tokenizers::tokenizer(&crate::common::Folder::new("tools-plain"), &metadata);
    let chat = Chat::new(&plain).unwrap();
    let options = ChatOptions {
        tools: Tools::new(&[json!({"type": "function", "function": {"name": "f"}})]).unwrap(),
        ..ChatOptions::default()
    };
    for (messages, options) in [
        (vec![Message::user("x")], options),
        (vec![Message::user("x"), Message::tool("1", "x")], ChatOptions::default()),
        (vec![Message::calls(vec![ToolCall::new(None, "f", "{}").unwrap()])], ChatOptions::default()),
    ] {
        let error = chat.text(&messages, &options).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("has no tools"), "{error}");
    }
}

#[test]
fn tools_that_are_not_valid_are_refused() {
    let long = "x".repeat(100_000);
    let function = |function: Json| json!({ "type": "function", "function": function });
    for (tool, words) in [
        (json!(3), "type: \"function\" is valid"),
        (json!({"type": "web_search"}), "type: \"function\" is valid"),
        (json!({"type": "function"}), "function: an object"),
        (function(json!({})), "name: 1 to 64 letters, digits, '_' and '-' are valid"),
        (function(json!({"name": ""})), "1 to 64 letters"),
        (function(json!({"name": "a b"})), "\"a b\": 1 to 64 letters"),
        (function(json!({"name": "a.b"})), "1 to 64 letters"),
        (function(json!({"name": "\u{e9}"})), "1 to 64 letters"),
        (function(json!({"name": "<|im_end|>"})), "1 to 64 letters"),
        (function(json!({"name": long})), "xxx\"...: 1 to 64 letters"),
        (function(json!({"name": "f", "description": 3})), "tool f: description: a string"),
        (function(json!({"name": "f", "parameters": []})), "tool f: parameters: a JSON schema"),
        (function(json!({"name": "f", "parameters": {"type": "array"}})), "tool f: parameters: a JSON schema"),
    ] {
        let error = Tools::new(&[tool]).unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == ErrorKind::Invalid && text.contains(words) && text.len() < 300, "{text}");
    }
    let twice = [function(json!({"name": "f"})), function(json!({"name": "g"})), function(json!({"name": "f"}))];
    let error = Tools::new(&twice).unwrap_err().to_string();
    assert!(error.contains("two tools have the name f"), "{error}");
    let tools = Tools::new(&twice[..2]).unwrap();
    assert_eq!((tools.len(), tools.get("g").unwrap().name(), tools.get("h")), (2, "g", None));
    let longest = function(json!({"name": "x".repeat(64)}));
    assert_eq!(Tools::new(&[longest]).unwrap().iter().next().unwrap().parameters()["type"], "object");
    assert!(ToolCall::new(None, "f", "[]").is_err() && ToolCall::new(None, "f", &"[".repeat(100_000)).is_err());
    assert!("robot".parse::<Role>().unwrap_err().to_string().contains("developer"));
}
