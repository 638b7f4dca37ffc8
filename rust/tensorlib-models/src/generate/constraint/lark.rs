//! Refuses Lark grammars that cannot be enforced in full, and checks the schemas in them.

use super::schema;
use crate::{Error, Result};
use serde_json::{Deserializer, Value};

/// The most brackets within brackets: the crate's reader takes a part of the stack for each.
const DEEPEST: usize = 100;

/// Attributes of rules that need another way to generate.
const REFUSED: [(&str, &str); 3] = [
    ("temperature", "the temperature is the sampler's"),
    ("stop", "text cannot be taken back"),
    ("stop_capture", "text cannot be taken back"),
];

/// The grammar with checked schemas.
pub(super) fn checked(text: &str) -> Result<String> {
    let (mut out, mut rest, mut depth) = (String::new(), text, 0usize);
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("%json") {
            let mut values = Deserializer::from_str(after).into_iter::<Value>();
            let value = match values.next() {
                Some(Ok(value)) => value,
                Some(Err(e)) => return Err(Error::invalid(format!("grammar: %json: no JSON: {e}"))),
                None => return Err(Error::invalid("grammar: %json: a schema is valid")),
            };
            let end = values.byte_offset();
            out += &format!("%json {}", schema::checked(value)?);
            rest = &after[end..];
            continue;
        }
        let n = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '/' => quoted(rest, first),
            '<' => special(rest),
            '(' | '[' | '{' => {
                depth += 1;
                1
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            'a'..='z' | 'A'..='Z' | '_' => word(rest)?,
            other => other.len_utf8(),
        };
        if depth > DEEPEST {
            return Err(Error::invalid(format!("grammar: brackets are nested more than {DEEPEST} deep")));
        }
        out += &rest[..n];
        rest = &rest[n..];
    }
    Ok(out)
}

/// The length of a string or an expression.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = true; // the first quote
    for (at, character) in text.char_indices() {
        match character {
            '\n' if quote == '"' => return at,
            _ if std::mem::take(&mut is_escaped) => {}
            '\\' => is_escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a control token's name, which may contain quotes.
fn special(text: &str) -> usize {
    let end = text[1..].find(|c: char| matches!(c, '<' | '>') || c.is_whitespace());
    end.filter(|end| text[1 + end..].starts_with('>')).map_or(1, |end| end + 2)
}

/// The length of a name. Names of attributes come before an equals sign.
fn word(text: &str) -> Result<usize> {
    let n = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len());
    let is_attribute = text[n..].trim_start().starts_with('=');
    match REFUSED.iter().find(|(name, _)| is_attribute && *name == &text[..n]) {
        Some((name, why)) => {
            Err(Error::unsupported(format!("grammar: the attribute {name} cannot be enforced: {why}")))
        }
        None => Ok(n),
    }
}
