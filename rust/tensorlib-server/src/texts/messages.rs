//! `messages`: the turns of a conversation.

use crate::error::{ApiError, Result};
use crate::fields::Fields;
use serde_json::Value;
use tensorlib_models::{Message, Role, ToolCall};

/// The most turns of a conversation, and parts of a turn.
const TURNS: usize = 10_000;
const PARTS: usize = 1000;

/// Who a turn may be from.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// The turns of a request.
pub fn read(fields: &mut Fields) -> Result<Vec<Message>> {
    let turns = fields.list("messages", TURNS)?.filter(|turns| !turns.is_empty());
    let turns = turns.ok_or_else(|| fields.wrong("messages", "a list of at least one turn is expected"))?;
    turns.into_iter().enumerate().map(|(i, turn)| message(turn, i)).collect()
}

fn message(turn: Value, i: usize) -> Result<Message> {
    let mut fields = Fields::new(turn, &format!("messages[{i}]"))?;
    let role = fields.one_of("role", &ROLES)?;
    let role = role.ok_or_else(|| fields.wrong("role", format!("is missing: {} are valid", ROLES.join(", "))))?;
    let mut message = Message::new(role.parse::<Role>().map_err(|e| ApiError::from(&e))?, "");
    if message.role == Role::Assistant {
        message.tool_calls = calls(&mut fields)?;
        message.reasoning_content = fields.text("reasoning_content")?;
        fields.only("refusal", "null is", |_| false)?;
        fields.only("audio", "null is", |_| false)?;
    }
    if message.role == Role::Tool {
        message.tool_call_id = Some(fields.needed_text("tool_call_id")?);
    }
    message.name = fields.text("name")?;
    message.content = content(&mut fields)?;
    if message.content.is_none() && message.tool_calls.is_empty() {
        return Err(fields.wrong("content", "is missing: a text is valid"));
    }
    fields.end()?;
    Ok(message)
}

/// The calls of an assistant's turn.
fn calls(fields: &mut Fields) -> Result<Vec<ToolCall>> {
    let place = fields.place("tool_calls");
    let call = |(i, call)| {
        let mut call = Fields::new(call, &format!("{place}[{i}]"))?;
        let id = call.needed_text("id")?;
        call.one_of("type", &["function"])?;
        let function = call.object("function")?;
        let mut function = function.ok_or_else(|| call.wrong("function", "is missing: an object is valid"))?;
        let (name, arguments) = (function.needed_text("name")?, function.needed_text("arguments")?);
        let made = ToolCall::new(Some(id), name, &arguments);
        let made = made.map_err(|e| ApiError::about(&function.place("arguments"), &e))?;
        function.end()?;
        call.end()?;
        Ok(made)
    };
    fields.list("tool_calls", PARTS)?.unwrap_or_default().into_iter().enumerate().map(call).collect()
}

/// The text of a turn: a text, or a list of parts that are texts.
fn content(fields: &mut Fields) -> Result<Option<String>> {
    match fields.take("content") {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(parts)) if parts.len() <= PARTS => {
            let place = fields.place("content");
            let text = |(i, part)| {
                let mut part = Fields::new(part, &format!("{place}[{i}]"))?;
                part.one_of("type", &["text"])?;
                let text = part.needed_text("text")?;
                part.end()?;
                Ok(text)
            };
            Ok(Some(parts.into_iter().enumerate().map(text).collect::<Result<Vec<_>>>()?.concat()))
        }
        Some(_) => Err(fields.wrong("content", format!("a text, or a list of up to {PARTS} parts, is valid"))),
        None => Ok(None),
    }
}
