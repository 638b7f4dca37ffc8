//! Reads answers of gpt-oss, which consist of messages:
//! `<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>commentary to=functions.NAME
//! <|constrain|>json<|message|>{...}<|call|>`.

use super::events::Sink;
use super::input::{Input, Marker, Next};
use super::json::Nesting;
use crate::generate::channels::BETWEEN;
use crate::tokenizer::Tokenizer;
use serde_json::{Map, Value};

pub const START: &str = "<|start|>";
pub const CHANNEL: &str = "<|channel|>";
pub const MESSAGE: &str = "<|message|>";
pub const CONSTRAIN: &str = "<|constrain|>";
pub const END: &str = "<|end|>";
pub const CALL: &str = "<|call|>";
pub const RETURN: &str = "<|return|>";

/// Whom a message to a function names.
pub const RECIPIENT: &str = "to=functions.";

/// Whom a message of any kind names.
const TO: &str = "to=";

/// Text without a header.
const TEXT: State = State::Message { is_reasoning: false, begins: true };

/// Reads an answer.
#[derive(Debug)]
pub struct Harmony {
    markers: [Marker; 7],
    state: State,
    /// Whether there was text for the user, and reasoning.
    has: [bool; 2],
}

#[derive(Debug)]
enum State {
    /// After the role's name with which the prompt ends: a recipient may follow.
    Role(String),
    Header(Header),
    /// In a message; `begins` if nothing of it was read.
    Message {
        is_reasoning: bool,
        begins: bool,
    },
    Call(HarmonyCall),
}

#[derive(Debug, Default)]
struct Header {
    /// All of it, with its markers.
    raw: String,
    /// The text before the channel's marker.
    role: String,
    /// The text after it.
    channel: Option<String>,
}

/// A message to a function.
#[derive(Debug)]
struct HarmonyCall {
    index: usize,
    raw: String,
    arguments: String,
    nesting: Nesting,
    is_whole: bool,
}

impl Harmony {
    pub fn new(tokenizer: &Tokenizer) -> Self {
        let markers = [START, CHANNEL, MESSAGE, CONSTRAIN, END, CALL, RETURN];
        Harmony {
            markers: markers.map(|text| Marker::new(tokenizer, text)),
            state: State::Role(String::new()),
            has: [false; 2],
        }
    }

    /// Reads what comes next. Returns whether there was something.
    pub fn step(&mut self, input: &mut Input, sink: &mut Sink) -> bool {
        let next = input.next(&self.markers);
        if next == Next::Nothing {
            return false;
        }
        self.state = match std::mem::replace(&mut self.state, TEXT) {
            State::Role(text) => self.role(text, next, input, sink),
            State::Header(header) => self.header(header, next, sink),
            State::Message { is_reasoning, begins } => self.message(is_reasoning, begins, next, sink),
            State::Call(call) => self.call(call, next, input, sink),
        };
        true
    }

    fn role(&mut self, role: String, next: Next, input: &mut Input, sink: &mut Sink) -> State {
        match next {
            Next::Text(text) => {
                let role = role + &text;
                let recipient = role.trim_start();
                if recipient.starts_with(RECIPIENT) || RECIPIENT.starts_with(recipient) {
                    return State::Role(role);
                }
                input.unread(&role);
                TEXT
            }
            Next::Marker(marker @ (START | CHANNEL | MESSAGE)) => {
                let header = Header { raw: role.clone(), role, channel: None };
                self.header(header, Next::Marker(marker), sink)
            }
            _ => State::Role(role),
        }
    }

    fn header(&mut self, mut header: Header, next: Next, sink: &mut Sink) -> State {
        match next {
            Next::Text(text) => header.push(&text, &text),
            Next::Marker(START) => header = Header { raw: START.into(), ..Header::default() },
            Next::Marker(CHANNEL) => {
                header.raw += CHANNEL;
                header.channel.get_or_insert_with(String::new);
            }
            Next::Marker(CONSTRAIN) => header.push(CONSTRAIN, " "),
            Next::Marker(MESSAGE) => {
                header.raw += MESSAGE;
                return self.begin(header, sink);
            }
            Next::Marker(_) => return TEXT,
            _ => {}
        }
        State::Header(header)
    }

    /// The message of a header.
    fn begin(&mut self, header: Header, sink: &mut Sink) -> State {
        let channel = header.channel.unwrap_or_default();
        let mut words = header.role.split_whitespace().chain(channel.split_whitespace());
        let recipient = words.find(|word| word.starts_with(TO));
        let name = recipient.and_then(|recipient| recipient.strip_prefix(RECIPIENT));
        match name.filter(|name| sink.tools.get(name).is_some()) {
            Some(name) => {
                sink.take_spaces();
                State::Call(HarmonyCall::new(sink.start(name), header.raw))
            }
            // A call of something else.
            None if recipient.is_some() => self.message(false, true, Next::Text(header.raw), sink),
            None => {
                let is_reasoning = channel.split_whitespace().next() == Some("analysis");
                State::Message { is_reasoning, begins: true }
            }
        }
    }

    fn message(&mut self, is_reasoning: bool, begins: bool, next: Next, sink: &mut Sink) -> State {
        match next {
            Next::Text(text) => {
                let has_before = std::mem::replace(&mut self.has[usize::from(is_reasoning)], true);
                let text = if begins && has_before { format!("{BETWEEN}{text}") } else { text };
                match is_reasoning {
                    true => sink.reasoning(&text),
                    false => sink.content(&text),
                }
                State::Message { is_reasoning, begins: false }
            }
            Next::Marker(START) => State::Header(Header { raw: START.into(), ..Header::default() }),
            Next::Marker(CHANNEL) => {
                State::Header(Header { raw: CHANNEL.into(), channel: Some(String::new()), ..Header::default() })
            }
            Next::Marker(END | CALL | RETURN) => TEXT,
            _ => State::Message { is_reasoning, begins },
        }
    }

    fn call(&mut self, mut call: HarmonyCall, next: Next, input: &mut Input, sink: &mut Sink) -> State {
        match next {
            Next::Text(text) => {
                let (is_valid, read) = call.read(&text, sink);
                if is_valid {
                    return State::Call(call);
                }
                input.unread(&text[read..]);
            }
            Next::Marker(MESSAGE | CONSTRAIN) => {}
            Next::Marker(marker) => {
                self.end(call, sink);
                return self.message(false, true, Next::Marker(marker), sink);
            }
            Next::Control(text) => input.unread_control(text),
            Next::Nothing => return State::Call(call),
        }
        self.give_up(call, sink);
        State::Message { is_reasoning: false, begins: false }
    }

    /// Ends a call.
    fn end(&mut self, call: HarmonyCall, sink: &mut Sink) {
        if call.arguments.is_empty() {
            sink.arguments(call.index, "{}");
        } else if serde_json::from_str::<Map<String, Value>>(&call.arguments).is_err() {
            return self.give_up(call, sink);
        }
        sink.end(call.index);
    }

    /// Reports a call as broken.
    fn give_up(&mut self, call: HarmonyCall, sink: &mut Sink) {
        let has_before = std::mem::replace(&mut self.has[0], true);
        sink.broken(Some(call.index), if has_before { BETWEEN.to_string() + &call.raw } else { call.raw });
    }

    /// Ends the answer.
    pub fn finish(&mut self, sink: &mut Sink) {
        match std::mem::replace(&mut self.state, TEXT) {
            State::Call(call) => self.end(call, sink),
            State::Role(text) => sink.content(&text),
            // A header of control tokens is no text.
            State::Header(header) if !self.markers[0].is_control() => sink.content(&header.raw),
            _ => {}
        }
    }
}

impl Header {
    /// Adds text, which stands for this in the header.
    fn push(&mut self, raw: &str, text: &str) {
        self.raw += raw;
        *self.channel.as_mut().unwrap_or(&mut self.role) += text;
    }
}

impl HarmonyCall {
    fn new(index: usize, raw: String) -> Self {
        HarmonyCall { index, raw, arguments: String::new(), nesting: Nesting::default(), is_whole: false }
    }

    /// Reads text. Returns whether it may be a part of the arguments, and the number of bytes that may.
    fn read(&mut self, text: &str, sink: &mut Sink) -> (bool, usize) {
        let before = self.arguments.len();
        let refused = text.char_indices().find(|(_, c)| !self.push(*c));
        sink.arguments(self.index, &self.arguments[before..]);
        (refused.is_none(), refused.map_or(text.len(), |(at, _)| at))
    }

    /// Reads a character, if it may come next.
    fn push(&mut self, c: char) -> bool {
        let is_outside = self.is_whole || self.arguments.is_empty();
        let is_valid = if is_outside { c.is_whitespace() || (c == '{' && !self.is_whole) } else { true };
        if is_valid {
            self.raw.push(c);
            if !is_outside || c == '{' {
                self.arguments.push(c);
                self.is_whole = self.nesting.push(c);
            }
        }
        is_valid
    }
}
