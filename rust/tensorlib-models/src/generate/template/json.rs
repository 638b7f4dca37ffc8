//! Writes JSON as Python's json.dumps does, by default with `ensure_ascii` false.

use super::marks::MARKS;
use super::Rendered;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use std::fmt::Write;

/// The deepest nesting of values.
const DEEPEST: usize = 200;

/// The arguments of json.dumps that templates may pass.
pub struct Style {
    ensure_ascii: bool,
    /// The indentation of a level; `None` writes everything in one line.
    indent: Option<String>,
    separators: [String; 2],
    sort_keys: bool,
}

impl Style {
    pub fn read(arguments: &Kwargs) -> Rendered<Self> {
        let indent = match arguments.get::<Option<Value>>("indent")?.filter(|value| !value.is_none()) {
            None => None,
            Some(text) if text.as_str().is_some() => text.as_str().map(String::from),
            Some(number) => {
                let spaces = number.as_i64().ok_or_else(|| wrong("indent: a whole number or a text is valid"))?;
                Some(" ".repeat(usize::try_from(spaces.clamp(0, 64)).unwrap_or(0)))
            }
        };
        let flag =
            |name: &str| Ok::<_, Error>(arguments.get::<Option<Value>>(name)?.is_some_and(|value| value.is_true()));
        // With an indent, lines end after the comma.
        let comma = if indent.is_some() { "," } else { ", " };
        let mut separators = [comma.to_string(), ": ".to_string()];
        if let Some(pair) = arguments.get::<Option<Value>>("separators")?.filter(|value| !value.is_none()) {
            let pair: Vec<Value> = pair.try_iter()?.collect();
            let text = |i: usize| pair.get(i).and_then(|value| value.as_str()).map(String::from);
            separators = match (text(0), text(1), pair.len()) {
                (Some(comma), Some(colon), 2) => [comma, colon],
                _ => return Err(wrong("separators: two texts are valid")),
            };
        }
        Ok(Style { ensure_ascii: flag("ensure_ascii")?, indent, separators, sort_keys: flag("sort_keys")? })
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("tojson: {}", what.into()))
}

/// The text of a value.
pub fn dumps(value: &Value, style: &Style) -> Rendered<String> {
    let mut out = String::new();
    write(value, style, 0, &mut out)?;
    Ok(out)
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) -> Rendered<()> {
    if depth > DEEPEST {
        return Err(wrong(format!("values lie in each other more than {DEEPEST} deep")));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => text(value.as_str().unwrap_or_default(), style.ensure_ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            list(('[', ']'), items.len(), style, depth, out, |i, out| write(&items[i], style, depth + 1, out))?;
        }
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            if style.sort_keys {
                keys.sort();
            }
            list(('{', '}'), keys.len(), style, depth, out, |i, out| {
                text(&key(&keys[i])?, style.ensure_ascii, out);
                out.push_str(&style.separators[1]);
                write(&value.get_item(&keys[i])?, style, depth + 1, out)
            })?;
        }
        other => return Err(wrong(format!("an object of type {other} is no JSON"))),
    }
    Ok(())
}

/// The items of a list or map, in brackets.
fn list(
    (open, close): (char, char),
    n: usize,
    style: &Style,
    depth: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Rendered<()>,
) -> Rendered<()> {
    let line = |depth: usize, out: &mut String| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    out.push(open);
    for i in 0..n {
        if i > 0 {
            out.push_str(&style.separators[0]);
        }
        line(depth + 1, out);
        item(i, out)?;
    }
    if n > 0 {
        line(depth, out);
    }
    out.push(close);
    Ok(())
}

/// A key, which is always a string in JSON.
fn key(key: &Value) -> Rendered<String> {
    Ok(match key.kind() {
        ValueKind::String => key.as_str().unwrap_or_default().to_string(),
        ValueKind::None => "null".into(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.into(),
        ValueKind::Number => number(key),
        other => return Err(wrong(format!("a key of type {other}: a text is valid"))),
    })
}

/// Floats as Python prints them, and Python's names for values that JSON lacks.
fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(x) if x.is_nan() => "NaN".into(),
        Ok(x) if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Ok(x) => float(x),
        Err(_) => value.to_string(),
    }
}

/// The shortest digits that give this number; with an exponent from 1e16 on and below 1e-4.
pub fn float(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{x:?}");
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn text(text: &str, ensure_ascii: bool, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            // Marks in control tokens are removed from the text later.
            c if c < ' ' || (ensure_ascii && c > '~' && !MARKS.contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}"); // writing to a String cannot fail
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
