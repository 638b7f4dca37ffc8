//! `messages`: the turns of a conversation.

use crate::error::Result;
use crate::fields::Fields;
use serde_json::Value;
use tensorlib_models::Message;

/// The most turns of a conversation, and parts of a turn.
const TURNS: usize = 10_000;
const PARTS: usize = 1000;

/// The turns of a request.
pub fn read(fields: &mut Fields) -> Result<Vec<Message>> {
    let turns = fields.list("messages", TURNS)?.filter(|turns| !turns.is_empty());
    let turns = turns.ok_or_else(|| fields.wrong("messages", "a list of at least one turn is expected"))?;
    turns.into_iter().enumerate().map(|(i, turn)| message(turn, i)).collect()
}

fn message(turn: Value, i: usize) -> Result<Message> {
    let mut fields = Fields::new(turn, &format!("messages[{i}]"))?;
    let roles = ["system", "developer", "user", "assistant"];
    let role = fields.one_of("role", &roles)?;
    let role = role.ok_or_else(|| fields.wrong("role", format!("is missing: {} are valid", roles.join(", "))))?;
    let content = content(&mut fields)?;
    fields.end()?;
    // Templates know developers by their older name.
    Ok(Message { role: if role == "developer" { "system" } else { role }, content })
}

/// The text of a turn: a text, or a list of parts that are texts.
fn content(fields: &mut Fields) -> Result<String> {
    match fields.take("content") {
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) if parts.len() <= PARTS => {
            let place = fields.place("content");
            let text = |(i, part)| {
                let mut part = Fields::new(part, &format!("{place}[{i}]"))?;
                part.one_of("type", &["text"])?;
                let text = part.needed_text("text")?;
                part.end()?;
                Ok(text)
            };
            Ok(parts.into_iter().enumerate().map(text).collect::<Result<Vec<_>>>()?.concat())
        }
        Some(_) => Err(fields.wrong("content", format!("a text, or a list of up to {PARTS} parts, is valid"))),
        None => Err(fields.wrong("content", "is missing: a text is valid")),
    }
}
