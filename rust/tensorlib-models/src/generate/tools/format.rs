//! How models write calls of tools.

use crate::{Error, Result};
use std::fmt;

/// How a model writes calls of tools, which its template shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolFormat {
    /// Qwen 2.5, Qwen 3, Hermes: `<tool_call>\n{"name": ..., "arguments": ...}\n</tool_call>`, once or several times.
    Hermes,
    /// Llama 3.1 to 3.3: the whole answer is `{"name": ..., "parameters": ...}`, which `<|python_tag|>` may precede.
    Llama3,
    /// Qwen 3 Coder, Qwen 3.5, Nemotron 3: `<tool_call>\n<function=NAME>\n`, for each argument
    /// `<parameter=KEY>\nVALUE\n</parameter>\n`, and `</function>\n</tool_call>`, once or several times.
    QwenXml,
    /// gpt-oss: `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>`.
    Harmony,
    /// Mistral 7B 0.3, Nemo: `[TOOL_CALLS][{"name": ..., "arguments": ...}, ...]`.
    Mistral,
    /// Gemma 4: `<|tool_call>call:NAME{KEY:VALUE,...}<tool_call|>`, once or several times. Keys are bare, and strings
    /// stand between two tokens `<|"|>`.
    Gemma4,
}

impl ToolFormat {
    /// Finds the format that a template shows to the model, or writes its earlier calls in.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the template has no tools, or if it writes calls in another
    /// format.
    pub fn from_template(template: &str) -> Result<Self> {
        Self::check_has_tools(template)?;
        let has = |text: &str| template.contains(text);
        // Templates are Jinja, in whose strings quotes may be escaped.
        let has_key = |key: &str| has(&format!("\"{key}\"")) || has(&format!("\\\"{key}\\\""));
        if has("<|channel|>") && has("functions.") {
            Ok(ToolFormat::Harmony)
        } else if has("<|tool_call>call:") && has("<tool_call|>") {
            Ok(ToolFormat::Gemma4)
        } else if has("<tool_call>") && has("<function=") && has("<parameter=") {
            Ok(ToolFormat::QwenXml)
        } else if has("<tool_call>") && has("</tool_call>") && has_key("arguments") && !has("<arg_key>") {
            Ok(ToolFormat::Hermes)
        } else if has("[TOOL_CALLS]") && !has("[ARGS]") {
            Ok(ToolFormat::Mistral)
        } else if has("<|start_header_id|>") && has_key("parameters") {
            Ok(ToolFormat::Llama3)
        } else {
            Err(Error::unsupported(format!(
                "the template's format of tool calls is unknown: known are those of {}",
                [Self::Hermes, Self::Llama3, Self::QwenXml, Self::Harmony, Self::Mistral, Self::Gemma4]
                    .map(Self::family)
                    .join("; ")
            )))
        }
    }

    /// Refuses a template without tools.
    pub(crate) fn check_has_tools(template: &str) -> Result<()> {
        match template.contains("tools") {
            true => Ok(()),
            false => Err(Error::unsupported("the model's chat template has no tools: it cannot call functions")),
        }
    }

    /// The models that have the format.
    fn family(self) -> &'static str {
        match self {
            ToolFormat::Hermes => "Qwen 2.5, Qwen 3 and Hermes",
            ToolFormat::Llama3 => "Llama 3.1 to 3.3",
            ToolFormat::QwenXml => "Qwen 3 Coder, Qwen 3.5 and Nemotron 3",
            ToolFormat::Harmony => "gpt-oss",
            ToolFormat::Mistral => "Mistral 7B 0.3 and Nemo",
            ToolFormat::Gemma4 => "Gemma 4",
        }
    }
}

impl fmt::Display for ToolFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tool calls of {}", self.family())
    }
}
