//! Answers that are made to harm, and random ones.

use super::answers::tools;
use super::partitions::{parsed, segments};
use super::templates::{family, FAMILIES};
use crate::common::sampling::Uniform;
use tensorlib_models::{AnswerParser, ParsedAnswer, Reasoning, ToolFormat};

#[test]
fn hostile_answers_are_text() {
    let deep = "[".repeat(100_000);
    let long = "x".repeat(100_000);
    for (name, answer) in [
        ("qwen2.5", format!("<tool_call>{{\"name\": \"get\", \"arguments\": {{\"a\": {deep}")),
        (
            "qwen2.5",
            format!("<tool_call>{{\"name\": \"get\", \"arguments\": {{\"a\": {deep}{}}}}}", "]".repeat(100_000)),
        ),
        ("qwen2.5", format!("<tool_call>{{\"name\": \"{long}\"}}")),
        ("qwen2.5", format!("<tool_call>{deep}")),
        ("qwen2.5", "<tool_call>".repeat(2000)),
        ("qwen3-coder", format!("<tool_call><function={long}>")),
        ("qwen3-coder", format!("<tool_call><function=get><parameter={long}>")),
        ("llama3", format!("{{\"name\": \"get\", \"parameters\": {{\"a\": {deep}")),
        ("mistral", format!("[TOOL_CALLS]{deep}")),
        ("gpt-oss", format!("<|channel|>commentary to=functions.get<|message|>{{\"a\": {deep}")),
        ("gpt-oss", format!("<|channel|>commentary to=functions.{long}<|message|>{{}}")),
        ("gemma4", format!("<|tool_call>call:get{{a:{deep}")),
        ("gemma4", format!("<|tool_call>call:get{{a:{deep}{}}}", "]".repeat(100_000))),
        ("gemma4", format!("<|tool_call>call:{long}{{}}")),
        ("gemma4", format!("<|tool_call>call:get{{{long}:1}}")),
        ("gemma4", format!("<|tool_call>call:get{{a:{long}}}")),
        ("gemma4", format!("<|tool_call>call:get{{a:<|\"|>{long}")),
        ("gemma4", format!("<|tool_call>call:get{{<|\"|>{long}")),
    ] {
        let family = family(name);
        let tokenizer = family.tokenizer();
        let mut parser = AnswerParser::new(&tokenizer, Some(family.format), &tools(), Reasoning::None);
        let mut whole = ParsedAnswer::default();
        for piece in segments(&tokenizer, family, &answer).chunks(100) {
            whole.extend(parser.push(piece));
        }
        whole.extend(parser.finish());
        assert!(whole.content == answer && whole.tool_calls.is_empty(), "{name}: {}", &answer[..80]);
    }
}

#[test]
fn random_texts_are_read_without_loss() {
    let parts = [
        "<tool_call>",
        "</tool_call>",
        "{\"name\": \"now\"",
        "}",
        "{",
        "\"",
        "<function=now>",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "\n",
        " ",
        "x",
        "[TOOL_CALLS]",
        "[",
        "]",
        ",",
        "<think>",
        "</think>",
        "<|python_tag|>",
        "{}",
        "é",
        "<|channel|>",
        "<|message|>",
        " to=functions.now",
        "analysis",
        "<|end|>",
        "<|call|>",
        "<|start|>",
        "<",
        "<|tool_call>",
        "call:now",
        "<|\"|>",
        ":",
        "<tool_call|>",
        "<|channel>",
        "thought\n",
        "<channel|>",
    ];
    for family in &FAMILIES {
        for seed in 0..40 {
            let mut random = Uniform(seed);
            let answer: String = (0..random.below(12)).map(|_| parts[random.below(parts.len())]).collect();
            // The line after a channel's marker is its name.
            let answer = answer.replace("<|channel>", "<|channel>thought\n");
            let is_gemma = family.format == ToolFormat::Gemma4;
            let reasoning = if is_gemma { Reasoning::Channel } else { Reasoning::Tagged };
            let (_, whole) = parsed(family, reasoning, &tools(), &answer);
            let letters = |text: &str| text.matches('x').count();
            assert!(whole.tool_calls.iter().all(|call| call.name == "now"), "{answer:?}");
            let is_header = family.format == ToolFormat::Harmony;
            let shown = letters(&whole.content) + letters(&whole.reasoning);
            assert!(is_header || !whole.tool_calls.is_empty() || shown == letters(&answer), "{answer:?}: {whole:?}");
        }
    }
}
