//! Keeps control tokens that are written out in a conversation's texts from being parsed.
//!
//! In a template's result, control tokens of the template and of the texts look alike. So before the template runs, a
//! mark is inserted into each control token in the texts. It keeps the token from being recognised, and is removed
//! before words are cut.
//!
//! A template may also complete a token that a text has a part of: it may write two texts side by side, or a name
//! between `<` and `>`. So the mark is inserted into such parts at the ends of a text too.

use crate::generate::template::MARKS;
use crate::tokenizer::Tokenizer;
use serde_json::{Map, Value};

/// A mark that occurs in none of the strings of these values.
pub(crate) fn mark(values: &Map<String, Value>) -> Option<char> {
    let mut free: Vec<char> = MARKS.collect();
    let mut texts = Vec::new();
    values.values().for_each(|value| strings(value, &mut texts));
    texts.iter().for_each(|text| free.retain(|mark| !text.contains(*mark)));
    free.first().copied()
}

fn strings<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(all) => all.iter().for_each(|value| strings(value, texts)),
        Value::Object(all) => all.iter().for_each(|(key, value)| {
            texts.push(key);
            strings(value, texts);
        }),
        _ => {}
    }
}

/// The value with marks in all of its strings and keys.
pub(crate) fn marked(value: Value, mark: char, tokenizer: &Tokenizer) -> Value {
    match value {
        Value::String(text) => Value::String(with_marks(&text, mark, tokenizer)),
        Value::Array(all) => all.into_iter().map(|value| marked(value, mark, tokenizer)).collect(),
        Value::Object(all) => {
            let entries = all.into_iter();
            entries.map(|(key, value)| (with_marks(&key, mark, tokenizer), marked(value, mark, tokenizer))).collect()
        }
        other => other,
    }
}

/// The text with the mark after the first character of each control token, or part of one, that is written out in it.
fn with_marks(text: &str, mark: char, tokenizer: &Tokenizer) -> String {
    let mut places: Vec<usize> = Vec::new();
    for control in tokenizer.control_texts() {
        if text.contains(control) {
            // Finds overlapping tokens too, which match_indices would not.
            let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(control));
            places.extend(starts.map(|(at, first)| at + first.len_utf8()));
        }
        places.extend(parts(text, control));
    }
    places.sort_unstable();
    places.dedup();
    let (mut marked, mut at) = (String::with_capacity(text.len() + 3 * places.len()), 0);
    for place in places {
        marked.push_str(&text[at..place]);
        marked.push(mark);
        at = place;
    }
    marked + &text[at..]
}

/// The places after the first character of parts of a control token at the ends of the text, aside from spaces, which
/// templates trim. Words alone are no parts: templates compare them.
fn parts<'a>(text: &'a str, control: &'a str) -> impl Iterator<Item = usize> + 'a {
    let begin = text.len() - text.trim_start().len();
    let inner = text.trim();
    let has_sign = |part: &str| part.contains(|c: char| !c.is_alphanumeric() && c != '_');
    let is_part = move |part: &str| part.chars().nth(1).is_some() && has_sign(part);
    // The beginning of the token, which may be a single bracket.
    let (first, n) = (control.chars().next(), control.len());
    let is_near = inner.chars().rev().take(n).any(|c| Some(c) == first) && first.is_some_and(|c| !c.is_alphanumeric());
    let beginning = cuts(control).rev().filter(|_| is_near).find(|cut| inner.ends_with(&control[..*cut]));
    let beginning = beginning.map(|cut| begin + inner.len() - cut);
    // Its end.
    let is_near = inner.chars().next().is_some_and(|first| control.contains(first));
    let end = cuts(control).filter(|_| is_near).map(|cut| &control[cut..]);
    let end = end.into_iter().find(|end| is_part(end) && inner.starts_with(end)).map(|_| begin);
    // Its middle, which is all of the text.
    let middle = (inner.len() < n && is_part(inner) && control.contains(inner)).then_some(begin);
    let after_first = |at: usize| at + text[at..].chars().next().map_or(0, char::len_utf8);
    [beginning, end, middle].into_iter().flatten().map(after_first)
}

/// The positions within a token.
fn cuts(control: &str) -> impl DoubleEndedIterator<Item = usize> + '_ {
    control.char_indices().map(|(at, _)| at).filter(|at| *at > 0)
}
