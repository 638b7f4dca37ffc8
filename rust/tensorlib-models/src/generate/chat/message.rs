//! Messages of a conversation.

use crate::{Error, Result};
use serde_json::{json, Map, Value};
use std::fmt;
use std::str::FromStr;

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// Instructions of the application's developer. Templates that do not name this role get [`Role::System`].
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    const ALL: [Role; 5] = [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];

    /// The name that templates use.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Role::ALL.into_iter().find(|role| role.as_str() == name);
        found.ok_or_else(|| {
            let names = Role::ALL.map(Role::as_str).join(", ");
            Error::invalid(format!("role {name:?}: one of {names} is valid"))
        })
    }
}

/// A call of a function by the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// What the result's [`Message::tool_call_id`] refers to. Mistral's templates take ids of nine letters or digits.
    pub id: Option<String>,
    /// The function.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

impl ToolCall {
    /// A call whose arguments are the text of a JSON object, as in OpenAI's API.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the text is no JSON object.
    pub fn new(id: Option<String>, name: impl Into<String>, arguments: &str) -> Result<Self> {
        let name = name.into();
        let arguments = serde_json::from_str(arguments).map_err(|e| {
            Error::invalid(format!("arguments of the tool call {name:?}: the text of a JSON object is valid: {e}"))
        })?;
        Ok(ToolCall { id, name, arguments })
    }

    fn value(&self) -> Value {
        let mut value = Map::new();
        value.extend(self.id.iter().map(|id| ("id".into(), id.clone().into())));
        value.insert("type".into(), "function".into());
        value.insert("function".into(), json!({ "name": self.name, "arguments": self.arguments }));
        Value::Object(value)
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// Its text; `None` for an assistant's message that only calls tools.
    pub content: Option<String>,
    /// What the assistant thought before the text.
    pub reasoning_content: Option<String>,
    /// The assistant's calls.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The function that a tool's message is from. Without it, it is looked up by `tool_call_id`.
    pub name: Option<String>,
}

impl Message {
    /// A message that is a text.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Message {
            role,
            content: Some(content.into()),
            reasoning_content: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }

    /// Instructions for the whole conversation.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// A user's message.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// An answer of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Calls by the model.
    pub fn calls(tool_calls: Vec<ToolCall>) -> Self {
        Message { content: None, tool_calls, ..Self::new(Role::Assistant, "") }
    }

    /// The result of a call.
    pub fn tool(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Message { tool_call_id: Some(tool_call_id.into()), ..Self::new(Role::Tool, content) }
    }
}

/// How a template knows messages.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Whether it names the role `developer`.
    pub has_developer: bool,
    /// Whether it tests for content that is none; others take an empty text.
    pub has_no_content: bool,
}

/// The messages as templates expect them.
pub fn values(messages: &[Message], dialect: Dialect) -> Result<Value> {
    let values = messages.iter().enumerate().map(|(i, message)| value(&messages[..i], message, dialect));
    Ok(Value::Array(values.collect::<Result<_>>()?))
}

fn value(before: &[Message], message: &Message, dialect: Dialect) -> Result<Value> {
    let role = match message.role {
        Role::Developer if !dialect.has_developer => Role::System,
        role => role,
    };
    let has_calls = !message.tool_calls.is_empty();
    if has_calls && role != Role::Assistant {
        return Err(Error::invalid(format!("a message of the role {role} has tool calls: only an assistant's may")));
    }
    let mut value = Map::new();
    let mut set = |name: &str, entry: Value| value.insert(name.into(), entry);
    set("role", role.as_str().into());
    set(
        "content",
        match &message.content {
            Some(text) => text.as_str().into(),
            None if dialect.has_no_content => Value::Null,
            None => "".into(),
        },
    );
    if let Some(reasoning) = &message.reasoning_content {
        set("reasoning_content", reasoning.as_str().into());
        // gpt-oss's name for it. With calls, its template takes either this or content.
        if !(has_calls && message.content.as_ref().is_some_and(|text| !text.is_empty())) {
            set("thinking", reasoning.as_str().into());
        }
    }
    if has_calls {
        set("tool_calls", message.tool_calls.iter().map(ToolCall::value).collect());
    }
    if let Some(id) = &message.tool_call_id {
        set("tool_call_id", id.as_str().into());
    }
    if let Some(name) = message.name.as_deref().or_else(|| called(before, message)) {
        set("name", name.into());
    }
    Ok(Value::Object(value))
}

/// The function whose result a tool's message is.
fn called<'a>(before: &'a [Message], message: &Message) -> Option<&'a str> {
    let id = message.tool_call_id.as_ref().filter(|_| message.role == Role::Tool)?;
    let mut calls = before.iter().rev().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id.as_ref() == Some(id)).map(|call| call.name.as_str())
}
