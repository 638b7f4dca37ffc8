//! Reads `{"name": ..., "arguments": {...}}` as it is written.

use super::json::Nesting;
use serde_json::{Map, Value};

/// Keys of a call. Others make the text no call.
const KEYS: [&str; 5] = ["name", "arguments", "parameters", "id", "type"];

/// What a character did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More are expected.
    More,
    /// It completed the call.
    Done,
    /// The text up to it, and with it, is no call.
    Broken,
    /// It cannot come next, and was not read.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Open,
    Key,
    InKey,
    Colon,
    Value,
    InValue,
    InScalar,
    Comma,
}

/// A call as a JSON object.
#[derive(Debug)]
pub struct Envelope {
    text: String,
    place: Place,
    nesting: Nesting,
    /// Where the key or value begins that is being read.
    start: usize,
    key: String,
    name: Option<String>,
    arguments: Arguments,
}

#[derive(Debug, PartialEq, Eq)]
enum Arguments {
    Missing,
    /// From this position on.
    Open(usize),
    Whole(String),
}

impl Envelope {
    pub fn new() -> Self {
        Envelope {
            text: String::new(),
            place: Place::Open,
            nesting: Nesting::default(),
            start: 0,
            key: String::new(),
            name: None,
            arguments: Arguments::Missing,
        }
    }

    /// The function's name, once it is read.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The arguments so far.
    pub fn arguments(&self) -> &str {
        match &self.arguments {
            Arguments::Missing => "",
            Arguments::Open(from) => &self.text[*from..],
            Arguments::Whole(text) => text,
        }
    }

    /// Reads a character.
    pub fn push(&mut self, c: char) -> Step {
        let is_space = matches!(c, ' ' | '\n' | '\r' | '\t');
        match (self.place, c) {
            (Place::InKey | Place::InValue, _) => {
                self.text.push(c);
                match self.nesting.push(c) {
                    true => self.end(),
                    false => Step::More,
                }
            }
            (Place::InScalar, ',' | '}') => match self.end() {
                Step::More => self.push(c),
                step => step,
            },
            (Place::InScalar, _) if is_space => match self.end() {
                Step::More => self.follow(c, Place::Comma),
                step => step,
            },
            (Place::InScalar, c) if c.is_ascii_alphanumeric() || "+-.".contains(c) => self.follow(c, Place::InScalar),
            (Place::InScalar, _) => Step::Refused,
            (place, _) if is_space => self.follow(c, place),
            (Place::Open, '{') => self.follow(c, Place::Key),
            (Place::Key, '"') => self.begin(c, Place::InKey),
            (Place::Colon, ':') => self.follow(c, Place::Value),
            (Place::Value, '"' | '{' | '[') => self.begin(c, Place::InValue),
            (Place::Value, c) if c.is_ascii_alphanumeric() || c == '-' => self.begin(c, Place::InScalar),
            (Place::Comma, ',') => self.follow(c, Place::Key),
            (Place::Key | Place::Comma, '}') => {
                self.text.push(c);
                self.done()
            }
            _ => Step::Refused,
        }
    }

    fn follow(&mut self, c: char, place: Place) -> Step {
        self.text.push(c);
        self.place = place;
        Step::More
    }

    /// Begins a key or a value.
    fn begin(&mut self, c: char, place: Place) -> Step {
        self.start = self.text.len();
        self.nesting = Nesting::default();
        self.nesting.push(c);
        if place == Place::InValue && c == '{' && is_arguments(&self.key) && self.arguments == Arguments::Missing {
            self.arguments = Arguments::Open(self.start);
        }
        self.follow(c, place)
    }

    /// Ends a key or a value.
    fn end(&mut self) -> Step {
        let text = &self.text[self.start..];
        if self.place == Place::InKey {
            self.place = Place::Colon;
            self.key = serde_json::from_str(text).unwrap_or_default();
            return if KEYS.contains(&self.key.as_str()) { Step::More } else { Step::Broken };
        }
        self.place = Place::Comma;
        if self.key == "name" {
            let name = serde_json::from_str(text).ok().filter(|_| self.name.is_none());
            self.name = name;
            return if self.name.is_some() { Step::More } else { Step::Broken };
        }
        if is_arguments(&self.key) {
            let whole = match self.arguments {
                Arguments::Missing => unquoted(text),
                Arguments::Open(from) if from == self.start => Some(text.to_string()),
                _ => None,
            };
            let Some(whole) = whole else { return Step::Broken };
            self.arguments = Arguments::Whole(whole);
        }
        Step::More
    }

    fn done(&mut self) -> Step {
        if self.arguments == Arguments::Missing {
            self.arguments = Arguments::Whole("{}".into());
        }
        // What was read only as far as strings and brackets.
        let is_valid = serde_json::from_str::<Map<String, Value>>(&self.text).is_ok();
        match is_valid && self.name.is_some() {
            true => Step::Done,
            false => Step::Broken,
        }
    }
}

fn is_arguments(key: &str) -> bool {
    matches!(key, "arguments" | "parameters")
}

/// Arguments that are the text of an object in quotes, or null.
fn unquoted(text: &str) -> Option<String> {
    if text == "null" {
        return Some("{}".into());
    }
    let inner: String = serde_json::from_str(text).ok()?;
    serde_json::from_str::<Map<String, Value>>(&inner).ok().map(|_| inner)
}
