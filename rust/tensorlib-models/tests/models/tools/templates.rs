//! Templates with tools. Those of qwen2.5, qwen3, qwen3.5 (Alibaba Cloud), gpt-oss (OpenAI) and gemma4 (Google) are the
//! published ones, which are licensed under Apache 2.0; the others are written after the models' documentation.

use crate::common::tokenizers::{byte_pairs_with, tokenizer};
use crate::common::Folder;
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::ToolFormat;

/// A family of models: its template, the control tokens of its vocabulary, and other tokens that are cut out of texts.
#[derive(Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub template: &'static str,
    pub format: ToolFormat,
    pub controls: &'static [&'static str],
    pub texts: &'static [&'static str],
}

const CHATML: &[&str] = &["<|object_ref_start|>"];
const QWEN_TEXTS: &[&str] =
    &["<tool_call>", "</tool_call>", "<think>", "</think>", "<tool_response>", "</tool_response>"];

pub const FAMILIES: [Family; 9] = [
    Family {
        name: "hermes",
        template: include_str!("../../data/tools/hermes.jinja"),
        format: ToolFormat::Hermes,
        controls: CHATML,
        texts: QWEN_TEXTS,
    },
    Family {
        name: "qwen2.5",
        template: include_str!("../../data/tools/qwen2.5.jinja"),
        format: ToolFormat::Hermes,
        controls: CHATML,
        texts: QWEN_TEXTS,
    },
    Family {
        name: "qwen3",
        template: include_str!("../../data/tools/qwen3.jinja"),
        format: ToolFormat::Hermes,
        controls: CHATML,
        texts: QWEN_TEXTS,
    },
    Family {
        name: "qwen3-coder",
        template: include_str!("../../data/tools/qwen3-coder.jinja"),
        format: ToolFormat::QwenXml,
        controls: CHATML,
        texts: QWEN_TEXTS,
    },
    Family {
        name: "qwen3.5",
        template: include_str!("../../data/tools/qwen3.5.jinja"),
        format: ToolFormat::QwenXml,
        controls: CHATML,
        texts: QWEN_TEXTS,
    },
    Family {
        name: "llama3",
        template: include_str!("../../data/tools/llama3.jinja"),
        format: ToolFormat::Llama3,
        controls: &["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"],
        texts: &[],
    },
    Family {
        name: "mistral",
        template: include_str!("../../data/tools/mistral.jinja"),
        format: ToolFormat::Mistral,
        controls: &[
            "</s>",
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "[AVAILABLE_TOOLS]",
            "[/AVAILABLE_TOOLS]",
            "[TOOL_RESULTS]",
            "[/TOOL_RESULTS]",
        ],
        texts: &[],
    },
    Family {
        name: "gpt-oss",
        template: include_str!("../../data/tools/gpt-oss.jinja"),
        format: ToolFormat::Harmony,
        controls: &["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"],
        texts: &[],
    },
    Family {
        name: "gemma4",
        template: include_str!("../../data/tools/gemma4.jinja"),
        format: ToolFormat::Gemma4,
        controls: &[
            "<|turn>",
            "<turn|>",
            "<|channel>",
            "<channel|>",
            "<|think|>",
            "<|tool>",
            "<tool|>",
            "<|tool_call>",
            "<tool_call|>",
            "<|tool_response>",
            "<tool_response|>",
            "<|\"|>",
        ],
        texts: &[],
    },
];

/// The family of this name.
pub fn family(name: &str) -> &'static Family {
    FAMILIES.iter().find(|family| family.name == name).unwrap()
}

impl Family {
    /// A tokenizer of byte pairs with the family's template and its special tokens.
    pub fn tokenizer(&self) -> Tokenizer {
        let mut metadata = byte_pairs_with(self.controls, self.texts);
        metadata.push(("tokenizer.chat_template".into(), self.template.into()));
        tokenizer(&Folder::new(&format!("tools-{}-{:?}", self.name, std::thread::current().id())), &metadata)
    }
}
