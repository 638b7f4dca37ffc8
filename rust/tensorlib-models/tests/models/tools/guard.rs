//! Control tokens written out in messages and tools stay text, in each family's template.

use super::templates::{Family, FAMILIES};
use serde_json::json;
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Chat, ChatOptions, Message, ToolCall, ToolFormat, Tools};

/// A conversation with this text in every string that a client may write.
fn conversation(family: &Family, text: &str) -> (Vec<Message>, ChatOptions) {
    let tools = json!([{"type": "function", "function": {
        "name": "f",
        "description": text,
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "string", "description": text, "enum": [text, "b"], "default": text},
                format!("p{text}"): {"type": "integer", "title": text, text: text},
                "o": {"type": "object", "properties": {text: {"type": "string"}}},
            },
            "required": [text],
            text: {"x": text},
        },
        text: text,
    }}]);
    let arguments = json!({ "a": text, text: text, "l": [text, {text: text}] });
    // Mistral's template checks the length.
    let id = if family.format == ToolFormat::Mistral { "123456789" } else { text };
    let call = ToolCall::new(Some(id.into()), "f", &arguments.to_string()).unwrap();
    let messages = vec![
        Message::system(text),
        Message::user(text),
        Message { reasoning_content: Some(text.into()), ..Message::calls(vec![call]) },
        Message { name: Some(text.into()), ..Message::tool(id, text) },
        Message { reasoning_content: Some(text.into()), ..Message::assistant(text) },
        Message::user(text),
    ];
    let variables = json!({ "reasoning_effort": text, "date_string": text, "model_identity": text });
    let tools = Tools::new(tools.as_array().unwrap()).unwrap();
    (messages, ChatOptions { tools, variables: variables.as_object().unwrap().clone(), ..ChatOptions::default() })
}

/// The control tokens of a prompt with this text, and the text that its tokens stand for.
fn controls(family: &Family, tokenizer: &Tokenizer, text: &str) -> (Vec<u32>, String) {
    let (messages, options) = conversation(family, text);
    let chat = Chat::new(tokenizer).unwrap();
    let tokens = chat.prompt(tokenizer, &messages, &options).unwrap_or_else(|e| panic!("{}: {e}", family.name)).tokens;
    let controls = tokens.iter().copied().filter(|token| tokenizer.is_control(*token)).collect();
    (controls, tokenizer.decode(&tokens, false))
}

#[test]
fn no_string_has_control_tokens() {
    for family in FAMILIES {
        let tokenizer = family.tokenizer();
        let (plain, _) = controls(&family, &tokenizer, "x");
        assert!(plain.len() > 4, "{}", family.name);
        for control in family.controls.iter().chain(&["<|im_end|>", "<|im_start|>", "<|endoftext|>"]) {
            let (inner, n) = (&control[1..control.len() - 1], control.len());
            for text in [
                control.to_string(),
                format!("a {control}{control} b"),
                format!(" {control}\n"),
                // Parts that a template, or two strings, might complete.
                inner.into(),
                format!(" {inner} "),
                control[1..].into(),
                control[..n - 1].into(),
                format!("<{control}>"),
                format!("\u{fdd0}{control}"),
                format!("[\"{control}\", '{control}']"),
            ] {
                let (found, decoded) = controls(&family, &tokenizer, &text);
                assert_eq!(found, plain, "{}: {text:?}\n{decoded}", family.name);
                let (messages, options) = conversation(&family, &text);
                let wanted = Chat::new(&tokenizer).unwrap().text(&messages, &options);
                // gpt-oss's template refuses some texts that have control tokens, and Gemma's drops channels.
                let is_dropped = family.format == ToolFormat::Gemma4 && text.contains("channel");
                let is_equal = wanted.is_err() || wanted.unwrap() == decoded;
                assert!(is_equal || is_dropped, "{}: {text:?}", family.name);
            }
        }
    }
}

#[test]
fn words_that_templates_compare_are_not_marked() {
    // This vocabulary has control tokens such as <|object_ref_start|>.
    for family in FAMILIES {
        let tokenizer = family.tokenizer();
        let chat = Chat::new(&tokenizer).unwrap();
        for word in ["object", "string", "ref", "start", "im", "x", "", "-", ">", "end"] {
            let tool = |kind: &str| {
                json!({"type": "function", "function": {"name": "f", "parameters": {
                "type": "object", "properties": {"a": {"type": kind, "description": word}}}}})
            };
            let options = ChatOptions { tools: Tools::new(&[tool(word)]).unwrap(), ..ChatOptions::default() };
            let messages = [Message::user(word)];
            let prompt = chat.prompt(&tokenizer, &messages, &options).unwrap();
            assert_eq!(tokenizer.decode(&prompt.tokens, false), chat.text(&messages, &options).unwrap());
        }
    }
}

#[test]
fn parsing_is_a_choice() {
    let family = &FAMILIES[0];
    let tokenizer = family.tokenizer();
    let (messages, options) = conversation(family, "<|im_end|>");
    let count = |parse_special: bool| {
        let options = ChatOptions { parse_special, ..options.clone() };
        let tokens = Chat::new(&tokenizer).unwrap().prompt(&tokenizer, &messages, &options).unwrap().tokens;
        tokens.iter().filter(|token| tokenizer.is_control(**token)).count()
    };
    assert!(count(true) > count(false) + 10);
}
