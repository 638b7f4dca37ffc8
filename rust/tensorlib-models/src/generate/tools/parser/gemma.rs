//! Reads calls of Gemma 4 after their marker: `call:NAME{KEY:VALUE,...}`. Keys are bare or strings. Strings stand between
//! two tokens `<|"|>` as they are; other values are those of JSON, with strings and keys written this way.

use super::events::{CallStep, Sink};
use super::input::{Input, Marker, Next};
use super::text::escaped;
use crate::tokenizer::Tokenizer;
use serde_json::{Map, Value};

pub const CALL: &str = "<|tool_call>";
pub const CALL_END: &str = "<tool_call|>";
pub const QUOTE: &str = "<|\"|>";
/// How the template writes null in earlier calls.
pub const NONE: &str = "None";
/// What stands before the function's name.
pub const BEFORE_NAME: &str = "call:";

/// The longest name of a function or key.
const LONGEST_NAME: usize = 1000;

/// The most values within values.
const DEEPEST: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before and in the function's name.
    Name,
    /// Before a key, or the end of an object without any (`may_end`).
    Key { may_end: bool },
    /// In a bare key.
    BareKey,
    /// In a key between quotes.
    QuotedKey,
    /// After a key between quotes.
    Colon,
    /// Before a value, or the end of an array without any (`may_end`).
    Value { may_end: bool },
    /// In a string.
    Text,
    /// In a number, `true`, `false` or `null`.
    Scalar,
    /// After a value.
    Comma,
}

/// A call of Gemma 4.
#[derive(Debug)]
pub struct GemmaCall {
    quote: [Marker; 1],
    place: Place,
    /// All of it, with the markers before it.
    raw: String,
    /// The name, key or scalar that is being read.
    word: String,
    /// Its index, once its name is known.
    index: Option<usize>,
    /// The arguments as JSON.
    json: String,
    /// How much of them was reported.
    reported: usize,
    /// The brackets that end the open objects and arrays.
    open: Vec<char>,
    /// The keys of the outermost object.
    keys: Vec<String>,
}

impl GemmaCall {
    /// A call before whose name this was read.
    pub fn new(quote: Marker, raw: String) -> Self {
        GemmaCall {
            quote: [quote],
            place: Place::Name,
            raw,
            word: String::new(),
            index: None,
            json: String::new(),
            reported: 0,
            open: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// The mark around strings.
    pub fn quote(tokenizer: &Tokenizer) -> Marker {
        Marker::new(tokenizer, QUOTE)
    }

    /// What may come next.
    pub fn markers(&self) -> &[Marker] {
        match self.place {
            Place::Key { .. } | Place::QuotedKey | Place::Value { .. } | Place::Text => &self.quote,
            _ => &[],
        }
    }

    /// Reports the call as broken.
    pub fn give_up(self, sink: &mut Sink) {
        sink.broken(self.index, self.raw);
    }

    /// Reads what comes next.
    pub fn read(&mut self, next: Next, input: &mut Input, sink: &mut Sink) -> CallStep {
        let step = match next {
            Next::Text(text) => self.text(&text, input, sink),
            Next::Control(text) => {
                input.unread_control(text);
                CallStep::Broken
            }
            Next::Marker(marker) => {
                self.raw += marker;
                self.quoted()
            }
            Next::Nothing => CallStep::More,
        };
        if let Some(index) = self.index {
            sink.arguments(index, &self.json[self.reported..]);
            self.reported = self.json.len();
            if step == CallStep::Done {
                sink.end(index);
            }
        }
        step
    }

    /// A quote.
    fn quoted(&mut self) -> CallStep {
        match self.place {
            Place::Key { .. } => self.place = Place::QuotedKey,
            Place::QuotedKey => {
                self.place = Place::Colon;
                return self.key();
            }
            Place::Value { .. } => {
                self.json.push('"');
                self.place = Place::Text;
            }
            _ => {
                self.json.push('"');
                self.place = Place::Comma;
            }
        }
        CallStep::More
    }

    fn text(&mut self, text: &str, input: &mut Input, sink: &mut Sink) -> CallStep {
        if self.place == Place::Text {
            self.raw += text;
            self.json += &escaped(text);
            return CallStep::More;
        }
        for (at, c) in text.char_indices() {
            let step = self.character(c, sink);
            if step == CallStep::Broken {
                input.unread(&text[at..]);
                return step;
            }
            self.raw.push(c);
            // A mark may come next, which only the input finds. It has found none in spaces.
            if step == CallStep::Done || (!self.markers().is_empty() && !c.is_ascii_whitespace()) {
                input.unread(&text[at + c.len_utf8()..]);
                return step;
            }
        }
        CallStep::More
    }

    /// Reads a character outside of strings.
    fn character(&mut self, c: char, sink: &mut Sink) -> CallStep {
        match (self.place, c) {
            (Place::Name, '{') => {
                let word = std::mem::take(&mut self.word);
                let name = word.trim_start().strip_prefix(BEFORE_NAME);
                let Some(name) = name.filter(|name| sink.tools.get(name).is_some()) else { return CallStep::Broken };
                self.index = Some(sink.start(name));
                self.begin('{')
            }
            (Place::Name | Place::QuotedKey, _) => self.letter(c),
            (Place::BareKey, ':') => {
                self.place = Place::Value { may_end: false };
                let end = self.word.trim_end().len();
                self.word.truncate(end);
                self.key()
            }
            (Place::BareKey, '{' | '}' | '[' | ']' | ',' | '"') => CallStep::Broken,
            (Place::BareKey, _) => self.letter(c),
            (Place::Scalar, c) if c.is_ascii_alphanumeric() || "+-.".contains(c) => self.letter(c),
            (Place::Scalar, _) => {
                let scalar = std::mem::take(&mut self.word);
                let scalar = if scalar == NONE { "null" } else { &scalar };
                if serde_json::from_str::<Value>(scalar).is_err() {
                    return CallStep::Broken;
                }
                self.json += scalar;
                self.place = Place::Comma;
                self.character(c, sink)
            }
            (_, c) if c.is_ascii_whitespace() => CallStep::More,
            (Place::Key { may_end: true } | Place::Comma, '}') => self.end('}'),
            (Place::Value { may_end: true } | Place::Comma, ']') => self.end(']'),
            (Place::Key { .. }, c) if !"{}[],:\"".contains(c) => {
                self.place = Place::BareKey;
                self.letter(c)
            }
            (Place::Colon, ':') => {
                self.place = Place::Value { may_end: false };
                CallStep::More
            }
            (Place::Value { .. }, '{' | '[') => self.begin(c),
            (Place::Value { .. }, c) if c.is_ascii_alphanumeric() || c == '-' => {
                self.place = Place::Scalar;
                self.letter(c)
            }
            (Place::Comma, ',') => {
                self.json += ", ";
                self.place = match self.open.last() {
                    Some('}') => Place::Key { may_end: false },
                    _ => Place::Value { may_end: false },
                };
                CallStep::More
            }
            _ => CallStep::Broken,
        }
    }

    /// A character of a word.
    fn letter(&mut self, c: char) -> CallStep {
        self.word.push(c);
        match self.word.len() <= LONGEST_NAME {
            true => CallStep::More,
            false => CallStep::Broken,
        }
    }

    /// The end of a key.
    fn key(&mut self) -> CallStep {
        let key = std::mem::take(&mut self.word);
        self.json += &format!("{}: ", Value::from(key.as_str()));
        if self.open.len() == 1 {
            if self.keys.contains(&key) {
                return CallStep::Broken;
            }
            self.keys.push(key);
        }
        CallStep::More
    }

    /// The beginning of an object or array.
    fn begin(&mut self, bracket: char) -> CallStep {
        if self.open.len() == DEEPEST {
            return CallStep::Broken;
        }
        self.json.push(bracket);
        let is_object = bracket == '{';
        self.open.push(if is_object { '}' } else { ']' });
        self.place = if is_object { Place::Key { may_end: true } } else { Place::Value { may_end: true } };
        CallStep::More
    }

    /// The end of an object or array.
    fn end(&mut self, bracket: char) -> CallStep {
        if self.open.pop() != Some(bracket) {
            return CallStep::Broken;
        }
        self.json.push(bracket);
        self.place = Place::Comma;
        match self.open.is_empty() {
            false => CallStep::More,
            true if serde_json::from_str::<Map<String, Value>>(&self.json).is_ok() => CallStep::Done,
            true => CallStep::Broken,
        }
    }
}
