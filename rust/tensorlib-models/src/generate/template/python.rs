//! Methods of Python's strings, and filters of Jinja2, that the crates lack.

use super::json::float;
use super::Rendered;
use minijinja::value::{from_args, Kwargs, Rest, ValueKind};
use minijinja::{Error, ErrorKind, Output, State, Value};

/// Calls a method of a value: those defined here, otherwise the crate's.
pub fn method(state: &mut State, value: &Value, name: &str, arguments: &[Value]) -> Rendered<Value> {
    if let Some(text) = value.as_str() {
        if let Some(made) = method_of_text(text, name, arguments)? {
            return Ok(made);
        }
    }
    minijinja_contrib::pycompat::unknown_method_callback(state, value, name, arguments)
}

fn method_of_text(text: &str, name: &str, arguments: &[Value]) -> Rendered<Option<Value>> {
    let three = |found: Option<usize>, separator: &str, none: [&str; 3]| {
        let parts = match found {
            Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
            None => none,
        };
        Value::from(parts.map(Value::from).to_vec())
    };
    Ok(Some(match name {
        "rsplit" => {
            let (separator, most): (Option<&str>, Option<i64>) = from_args(arguments)?;
            Value::from(rsplit(text, separator, most.and_then(|n| usize::try_from(n).ok())))
        }
        "partition" => {
            let (separator,): (&str,) = from_args(arguments)?;
            three(text.find(separator), separator, [text, "", ""])
        }
        "rpartition" => {
            let (separator,): (&str,) = from_args(arguments)?;
            three(text.rfind(separator), separator, ["", "", text])
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(arguments)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(arguments)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "ljust" | "rjust" | "center" => {
            let (width, fill): (usize, Option<&str>) = from_args(arguments)?;
            Value::from(justified(text, width, fill.unwrap_or(" "), name)?)
        }
        "zfill" => {
            let (width,): (usize,) = from_args(arguments)?;
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            Value::from(sign.to_string() + &justified(digits, width.saturating_sub(sign.len()), "0", "rjust")?)
        }
        "swapcase" => {
            let swap = |c: char| match c.is_uppercase() {
                true => c.to_lowercase().collect::<String>(),
                false => c.to_uppercase().collect(),
            };
            Value::from(text.chars().map(swap).collect::<String>())
        }
        "casefold" => Value::from(text.to_lowercase()),
        _ => return Ok(None),
    }))
}

/// Splits from the right; the first part keeps the rest.
fn rsplit(text: &str, separator: Option<&str>, most: Option<usize>) -> Vec<String> {
    let mut parts: Vec<&str> = match (separator, most) {
        (Some(separator), Some(most)) => text.rsplitn(most + 1, separator).collect(),
        (Some(separator), None) => text.rsplit(separator).collect(),
        (None, most) => {
            let (mut parts, mut rest) = (Vec::new(), text.trim_end());
            while !rest.is_empty() {
                let at = rest.rfind(char::is_whitespace).filter(|_| most.is_none_or(|most| parts.len() < most));
                let Some(at) = at else { break };
                let word = at + rest[at..].chars().next().map_or(0, char::len_utf8);
                parts.push(&rest[word..]);
                rest = rest[..at].trim_end();
            }
            if !rest.trim_start().is_empty() {
                parts.push(rest.trim_start());
            }
            parts
        }
    };
    parts.reverse();
    parts.into_iter().map(String::from).collect()
}

/// The widest string that a filter makes, because templates come from files.
const WIDEST: usize = 1 << 16;

fn justified(text: &str, width: usize, fill: &str, how: &str) -> Rendered<String> {
    let missing = width.min(WIDEST).saturating_sub(text.chars().count());
    let mut characters = fill.chars();
    let (Some(fill), None) = (characters.next(), characters.next()) else {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("{how}: one character is valid to fill with")));
    };
    let before = match how {
        "rjust" => missing,
        // Python's rule for an odd number of spaces.
        "center" => missing / 2 + (missing & width & 1),
        _ => 0,
    };
    let fill = |n: usize| fill.to_string().repeat(n);
    Ok(fill(before) + text + &fill(missing - before))
}

/// Jinja2's filter `center`.
pub fn center(text: String, width: Option<usize>) -> Rendered<String> {
    justified(&text, width.unwrap_or(80), " ", "center")
}

/// Jinja2's filter `truncate`, whose arguments except the last may be positional.
pub fn truncate(
    text: String,
    length: Option<usize>,
    kill_words: Option<bool>,
    end: Option<String>,
    named: Kwargs,
) -> Rendered<String> {
    let length = length.or(named.get("length")?).unwrap_or(255);
    let kill_words = kill_words.or(named.get("killwords")?);
    let end = end.or(named.get("end")?).unwrap_or("...".into());
    let leeway = named.get::<Option<usize>>("leeway")?.unwrap_or(5);
    named.assert_all_used()?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text);
    }
    let kept: String = text.chars().take(length.saturating_sub(end.chars().count())).collect();
    let kept = match kill_words {
        Some(true) => kept.as_str(),
        _ => kept.rsplit_once(' ').map_or(kept.as_str(), |(before, _)| before),
    };
    Ok(kept.to_string() + &end)
}

/// Jinja2's `cycler`, which returns its items one by one.
pub fn cycler(items: Rest<Value>) -> Rendered<Value> {
    minijinja_contrib::globals::cycler(items.0)
}

/// Whether a value is a function, macro or the like.
pub fn is_callable(value: &Value) -> bool {
    value.as_object().is_some() && (value.kind() == ValueKind::Plain || value.to_string().starts_with("<macro "))
}

/// Prints values as Python does: floats have an exponent from 1e16 on.
pub fn show(out: &mut Output, state: &mut State, value: &Value) -> Rendered<()> {
    if value.kind() == ValueKind::Number && !value.is_integer() {
        if let Ok(x) = f64::try_from(value.clone()) {
            let text = if x.is_finite() { float(x) } else { x.to_string().to_lowercase() };
            return out.write_str(&text).map_err(Error::from);
        }
    }
    minijinja::escape_formatter(out, state, value)
}
