//! Conversations, written by a model's own template.

pub(crate) mod guarded;
mod message;

use super::channels::{CHANNEL, CHANNEL_END};
use super::reasoning::Reasoning;
use super::template::Template;
use super::tools::{ToolFormat, Tools};
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use message::Dialect;
pub use message::{Message, Role, ToolCall};
use minijinja::value::Serde;
use serde_json::{Map, Value};
use std::fmt;

/// What a prompt has in addition to its messages.
#[derive(Clone, Debug)]
pub struct ChatOptions {
    /// The functions that the model may call.
    pub tools: Tools,
    /// Whether the prompt ends with the start of the assistant's next message.
    pub add_generation_prompt: bool,
    /// Further variables of the template, such as `enable_thinking`. It ignores those that it does not use.
    pub variables: Map<String, Value>,
    /// Whether control tokens written out in messages and tools are parsed, which lets a message end another's.
    pub parse_special: bool,
}

impl Default for ChatOptions {
    fn default() -> Self {
        let (tools, variables) = (Tools::default(), Map::new());
        ChatOptions { tools, add_generation_prompt: true, variables, parse_special: false }
    }
}

/// A conversation as a model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// Where the answer has reasoning.
    pub reasoning: Reasoning,
}

/// A parsed template.
pub struct Chat {
    template: Template,
    /// Its text.
    source: String,
    /// Special tokens, by the names that templates use.
    special: Vec<(&'static str, String)>,
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("special", &self.special).finish_non_exhaustive()
    }
}

/// Variables that are set for every prompt.
const SET: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

impl Chat {
    /// Parses the template of a tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the tokenizer has no template,
    /// [`ErrorKind::Format`](crate::ErrorKind) if it is not valid, naming the line.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let Some(template) = tokenizer.chat_template() else {
            return Err(Error::unsupported(
                "the model has no chat template: it continues texts, and does not converse",
            ));
        };
        // Text may be the end of an answer too, and a vocabulary need not write it as a template does.
        let text = |id: u32| match tokenizer.is_control(id) {
            true => tokenizer.token(id).map(String::from),
            false => Some(tokenizer.decode(&[id], false)),
        };
        let token = |name, id: Option<u32>| Some((name, id.and_then(text)?));
        let special = [
            token("bos_token", tokenizer.bos()),
            token("eos_token", tokenizer.eos()),
            token("pad_token", tokenizer.pad()),
            token("unk_token", tokenizer.unknown()),
        ];
        let special = special.into_iter().flatten().collect();
        Ok(Chat { template: Template::new(template)?, source: template.into(), special })
    }

    /// The tokens of these messages, up to the start of the assistant's next message. Control tokens written out in a
    /// message stay text, unless `parse_special` is set, which lets a message end another's.
    ///
    /// # Errors
    /// As [`Chat::prompt`].
    pub fn encode(&self, tokenizer: &Tokenizer, messages: &[Message], parse_special: bool) -> Result<Vec<u32>> {
        let options = ChatOptions { parse_special, ..ChatOptions::default() };
        Ok(self.prompt(tokenizer, messages, &options)?.tokens)
    }

    /// The prompt of these messages. Control tokens written out in any string of messages, tools and variables stay
    /// text, unless [`ChatOptions::parse_special`] is set.
    ///
    /// # Errors
    /// As [`Chat::text`] and [`Tokenizer::encode`].
    pub fn prompt(&self, tokenizer: &Tokenizer, messages: &[Message], options: &ChatOptions) -> Result<Prompt> {
        let values = self.values(messages, options)?;
        if options.parse_special {
            let text = self.render(values)?;
            return Ok(Prompt { reasoning: self.reasoning(&text), tokens: tokenizer.encode_prompt(&text, true)? });
        }
        let Some(mark) = guarded::mark(&values) else {
            return Err(Error::invalid("the texts have all characters from U+FDD0 to U+FDEF, which stand for nothing"));
        };
        // The template knows its variables by their own names.
        let marked = values.into_iter().map(|(name, value)| (name, guarded::marked(value, mark, tokenizer))).collect();
        let text = self.render(marked)?;
        Ok(Prompt { reasoning: self.reasoning(&text), tokens: tokenizer.encode_marked(&text, mark)? })
    }

    /// The text of these messages.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the template refuses them, with its reason (some templates have no
    /// system message), for tool calls of another role than the assistant, and for variables that have a meaning
    /// already; [`ErrorKind::Unsupported`](crate::ErrorKind) for tools, calls and results if the template has none.
    pub fn text(&self, messages: &[Message], options: &ChatOptions) -> Result<String> {
        self.render(self.values(messages, options)?)
    }

    /// How the model writes calls of tools.
    ///
    /// # Errors
    /// As [`ToolFormat::from_template`].
    pub fn tool_format(&self) -> Result<ToolFormat> {
        ToolFormat::from_template(&self.source)
    }

    /// Whether the template names a variable, such as `enable_thinking`. It ignores others.
    pub fn names(&self, variable: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.source.match_indices(variable).any(|(at, _)| {
            let (before, after) = (&self.source[..at], &self.source[at + variable.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
    }

    /// Where the answer to a prompt has reasoning.
    fn reasoning(&self, prompt: &str) -> Reasoning {
        let has = |mark: &str| self.source.contains(mark);
        if has(CHANNEL) && has(CHANNEL_END) {
            return Reasoning::Channel;
        }
        match has("</think>") {
            true if prompt.trim_end().ends_with("<think>") => Reasoning::Open,
            true => Reasoning::Tagged,
            false => Reasoning::None,
        }
    }

    /// What callers give to the template.
    fn values(&self, messages: &[Message], options: &ChatOptions) -> Result<Map<String, Value>> {
        let is_taken = |name: &&String| SET.contains(&name.as_str()) || self.special.iter().any(|(set, _)| set == name);
        if let Some(name) = options.variables.keys().find(is_taken) {
            return Err(Error::invalid(format!("the template's variable {name} is set already: others are valid")));
        }
        let has_calls = messages.iter().any(|m| m.role == Role::Tool || !m.tool_calls.is_empty());
        if has_calls || !options.tools.is_empty() {
            ToolFormat::check_has_tools(&self.source)?;
        }
        let dialect = Dialect {
            has_developer: self.source.contains("developer"),
            has_no_content: ["content is none", "content'] is none", "content\"] is none"]
                .iter()
                .any(|test| self.source.contains(test)),
        };
        let mut values = options.variables.clone();
        values.insert("messages".into(), message::values(messages, dialect)?);
        values.insert("tools".into(), options.tools.value());
        values.insert("add_generation_prompt".into(), options.add_generation_prompt.into());
        values.insert("documents".into(), Value::Null);
        Ok(values)
    }

    fn render(&self, mut values: Map<String, Value>) -> Result<String> {
        values.extend(self.special.iter().map(|(name, text)| (name.to_string(), text.as_str().into())));
        self.template.render(Serde(values).into())
    }
}
