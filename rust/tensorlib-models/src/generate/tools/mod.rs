//! Functions that a model may call.

mod format;
pub(super) mod parser;

use super::reasoning::Reasoning;
use crate::{Error, Result};
pub use format::ToolFormat;
pub use parser::{AnswerEvent, AnswerParser, ParsedAnswer, ParsedCall};
use serde_json::{json, Map, Value};
use std::sync::Arc;

/// The longest name of a function.
const LONGEST_NAME: usize = 64;

/// A function that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    name: String,
    parameters: Value,
    /// As templates take it.
    json: Value,
}

impl Tool {
    /// Reads a tool of OpenAI's API: `{"type": "function", "function": {"name", "description", "parameters"}}`.
    /// Templates get it as it is; without a description it has an empty one, and without parameters it takes none.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for anything else, naming what is valid.
    pub fn new(tool: &Value) -> Result<Self> {
        let wrong = |what: &str| Error::invalid(format!("tool: {what}"));
        if tool.get("type").and_then(Value::as_str) != Some("function") {
            return Err(wrong("type: \"function\" is valid"));
        }
        let Some(function) = tool.get("function").and_then(Value::as_object) else {
            return Err(wrong("function: an object with the function's name is valid"));
        };
        let name = checked_name(function.get("name"))?.to_string();
        let wrong = |what: &str| Error::invalid(format!("tool {name}: {what}"));
        let given = |key: &str| function.get(key).filter(|value| !value.is_null());
        let description = given("description").cloned().unwrap_or_else(|| "".into());
        if !description.is_string() {
            return Err(wrong("description: a string is valid"));
        }
        let parameters = match given("parameters") {
            None => json!({ "type": "object", "properties": {} }),
            Some(Value::Object(schema)) if schema.get("type").is_none_or(|kind| kind == "object") => {
                schema.clone().into()
            }
            Some(_) => return Err(wrong("parameters: a JSON schema of type object is valid")),
        };
        let mut json = tool.clone();
        if given("description").is_none() || given("parameters").is_none() {
            let mut made = Map::new();
            made.insert("name".into(), name.as_str().into());
            made.insert("description".into(), description);
            made.insert("parameters".into(), parameters.clone());
            let others =
                function.iter().filter(|(key, _)| !made.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone()));
            let others: Vec<_> = others.collect();
            made.extend(others);
            json["function"] = made.into();
        }
        Ok(Tool { name, parameters, json })
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON schema of its arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }
}

fn checked_name(name: Option<&Value>) -> Result<&str> {
    let valid = format!("1 to {LONGEST_NAME} letters, digits, '_' and '-' are valid");
    let Some(name) = name.and_then(Value::as_str) else {
        return Err(Error::invalid(format!("tool: function: name: {valid}")));
    };
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_valid) {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        let rest = if shown.len() < name.len() { "..." } else { "" };
        return Err(Error::invalid(format!("tool: the function's name {shown:?}{rest}: {valid}")));
    }
    Ok(name)
}

/// Which calls an answer has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides: none, or some of any functions.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// At least one, and all of this function.
    Function(String),
}

/// How an answer may call tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// Which calls it has.
    pub choice: ToolChoice,
    /// Whether it may have several. Answers of Llama 3 and gpt-oss have one.
    pub parallel: bool,
    /// Where it has reasoning, which [`Chat::prompt`](crate::Chat::prompt) finds out.
    pub reasoning: Reasoning,
}

impl Default for CallOptions {
    fn default() -> Self {
        CallOptions { choice: ToolChoice::default(), parallel: true, reasoning: Reasoning::default() }
    }
}

/// The functions that a model may call. Copies share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools(Arc<[Tool]>);

impl Tools {
    /// Reads a list of tools of OpenAI's API.
    ///
    /// # Errors
    /// As [`Tool::new`], and for two functions of one name.
    pub fn new(tools: &[Value]) -> Result<Self> {
        let tools = tools.iter().map(Tool::new).collect::<Result<Vec<_>>>()?;
        let mut names: Vec<&str> = tools.iter().map(Tool::name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid(format!("two tools have the name {}: each function has its own", pair[0])));
        }
        Ok(Tools(tools.into()))
    }

    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.iter().find(|tool| tool.name == name)
    }

    /// The functions.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.0.iter()
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list as templates take it; none if it is empty.
    pub(super) fn value(&self) -> Value {
        match self.is_empty() {
            true => Value::Null,
            false => self.iter().map(|tool| tool.json.clone()).collect(),
        }
    }
}
