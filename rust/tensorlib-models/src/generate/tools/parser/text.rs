//! Reads answers whose calls stand in the text: those of all families but gpt-oss.

use super::envelope::{Envelope, Step};
use super::events::{CallStep, Sink};
use super::gemma::{self, GemmaCall};
use super::input::{Input, Marker, Next};
use super::xml::XmlCall;
use crate::generate::reasoning::Reasoning;
use crate::generate::tools::ToolFormat;
use crate::tokenizer::Tokenizer;
use serde_json::Value;

pub const TOOL_CALL: &str = "<tool_call>";
pub const TOOL_CALL_END: &str = "</tool_call>";
pub const TOOL_CALLS: &str = "[TOOL_CALLS]";
pub const PYTHON_TAG: &str = "<|python_tag|>";

/// Reads an answer.
#[derive(Debug)]
pub struct TextReader {
    format: Option<ToolFormat>,
    think: Marker,
    think_end: Marker,
    /// Whether reasoning is a channel: its first line is a name, and it may come anywhere.
    has_channels: bool,
    /// What a call begins with.
    call: Option<Marker>,
    call_end: Marker,
    /// The mark around strings in calls of Gemma 4.
    quote: Marker,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Spaces, then perhaps reasoning or a call. `lead` is what was read.
    Start {
        lead: String,
        may_think: bool,
    },
    /// Spaces after reasoning, then perhaps a call.
    Reasoned,
    Reasoning,
    /// In the line that names a channel.
    Channel,
    /// `closes`: the end of a call may follow, which counts as a part of it.
    Content {
        closes: bool,
    },
    /// In a list of calls, of which `lead` was read since the last one.
    List {
        lead: String,
        is_open: bool,
    },
    Json(JsonCall),
    Xml(XmlCall),
    Gemma(GemmaCall),
}

/// A call as a JSON object.
#[derive(Debug)]
struct JsonCall {
    envelope: Envelope,
    /// All of it, with the markers before it.
    raw: String,
    /// Its index, once its name is known.
    index: Option<usize>,
    /// How much of the arguments was reported.
    reported: usize,
    is_in_list: bool,
}

impl JsonCall {
    fn new(raw: String, is_in_list: bool) -> Self {
        JsonCall { envelope: Envelope::new(), raw, index: None, reported: 0, is_in_list }
    }

    /// Reads text up to the end of the call. Returns what the last character did, and the number of bytes read.
    fn read(&mut self, text: &str, sink: &mut Sink) -> (Step, usize) {
        let mut read = 0;
        let mut step = Step::More;
        for c in text.chars() {
            step = self.envelope.push(c);
            if step != Step::Refused {
                self.raw.push(c);
                read += c.len_utf8();
            }
            if let (None, Some(name)) = (self.index, self.envelope.name()) {
                if sink.tools.get(name).is_none() {
                    return (Step::Broken, read);
                }
                self.index = Some(sink.start(name));
            }
            if step != Step::More {
                break;
            }
        }
        if let Some(index) = self.index {
            // What is left out are the arguments of a broken call.
            let arguments = self.envelope.arguments();
            sink.arguments(index, arguments.get(self.reported..).unwrap_or_default());
            self.reported = arguments.len();
        }
        (step, read)
    }
}

impl TextReader {
    pub fn new(tokenizer: &Tokenizer, format: Option<ToolFormat>, reasoning: Reasoning) -> Self {
        let marker = |text| Marker::new(tokenizer, text);
        let call = match format {
            Some(ToolFormat::Hermes | ToolFormat::QwenXml) => Some(TOOL_CALL),
            Some(ToolFormat::Mistral) => Some(TOOL_CALLS),
            Some(ToolFormat::Llama3) => Some(PYTHON_TAG),
            Some(ToolFormat::Gemma4) => Some(gemma::CALL),
            _ => None,
        };
        let [think, think_end] = reasoning.marks().map(marker);
        let start = State::Start { lead: String::new(), may_think: reasoning.may_begin() };
        TextReader {
            format,
            think,
            think_end,
            has_channels: reasoning == Reasoning::Channel,
            call: call.map(marker),
            call_end: marker(if format == Some(ToolFormat::Gemma4) { gemma::CALL_END } else { TOOL_CALL_END }),
            quote: GemmaCall::quote(tokenizer),
            state: if reasoning == Reasoning::Open { State::Reasoning } else { start },
        }
    }

    /// Reads what comes next. Returns whether there was something.
    pub fn step(&mut self, input: &mut Input, sink: &mut Sink) -> bool {
        let state = std::mem::replace(&mut self.state, State::Content { closes: false });
        let markers: Vec<Marker> = match &state {
            State::Start { may_think, .. } => self.call.into_iter().chain(may_think.then_some(self.think)).collect(),
            State::Reasoned => self.call.into_iter().chain(self.channel()).collect(),
            State::Reasoning | State::Channel => vec![self.think_end],
            State::Content { closes } => {
                self.call_marker().chain(self.channel()).chain(closes.then_some(self.call_end)).collect()
            }
            State::List { .. } | State::Json(_) => Vec::new(),
            State::Xml(call) => call.markers().to_vec(),
            State::Gemma(call) => call.markers().to_vec(),
        };
        let next = input.next(&markers);
        if next == Next::Nothing {
            self.state = state;
            return false;
        }
        self.state = match state {
            State::Start { lead, may_think } => match self.start(lead, next, input, sink) {
                Ok(state) => state,
                Err(lead) => State::Start { lead, may_think },
            },
            State::Reasoned => self.reasoned(next, input, sink),
            State::Reasoning => match next {
                Next::Marker(_) => State::Reasoned,
                Next::Text(text) => {
                    sink.reasoning(&text);
                    State::Reasoning
                }
                _ => State::Reasoning,
            },
            State::Channel => match next {
                Next::Marker(_) => State::Reasoned,
                Next::Text(text) => match text.find('\n') {
                    Some(end) => {
                        input.unread(&text[end + 1..]);
                        State::Reasoning
                    }
                    None => State::Channel,
                },
                _ => State::Channel,
            },
            State::Content { closes } => self.content(closes, next, sink),
            State::List { lead, is_open } => list(lead, is_open, next, input, sink),
            State::Json(call) => self.json(call, next, input, sink),
            State::Xml(mut call) => match call.read(next, input, sink) {
                CallStep::More => State::Xml(call),
                step => ended(step, || call.give_up(sink)),
            },
            State::Gemma(mut call) => match call.read(next, input, sink) {
                CallStep::More => State::Gemma(call),
                step => ended(step, || call.give_up(sink)),
            },
        };
        true
    }

    /// The marker of a channel, which may come anywhere.
    fn channel(&self) -> Option<Marker> {
        self.has_channels.then_some(self.think)
    }

    /// What follows the marker of reasoning.
    fn reasoning(&self) -> State {
        match self.has_channels {
            true => State::Channel,
            false => State::Reasoning,
        }
    }

    /// The marker of calls after text. Llama's calls are the whole answer.
    fn call_marker(&self) -> impl Iterator<Item = Marker> {
        self.call.filter(|_| self.format != Some(ToolFormat::Llama3)).into_iter()
    }

    /// What follows reasoning. Spaces before it are no text.
    fn reasoned(&self, next: Next, input: &mut Input, sink: &mut Sink) -> State {
        let next = match next {
            Next::Text(text) => Next::Text(text.trim_start().into()),
            next => next,
        };
        self.start(String::new(), next, input, sink).unwrap_or(State::Reasoned)
    }

    /// What the answer begins with, after `lead`. An error is all that was read, if that says nothing yet.
    fn start(&self, lead: String, next: Next, input: &mut Input, sink: &mut Sink) -> Result<State, String> {
        match next {
            Next::Marker(marker) if marker == self.think.text => Ok(self.reasoning()),
            Next::Marker(marker) => Ok(self.call(lead + marker)),
            Next::Text(text) => {
                let inner = text.trim_start();
                let lead = lead + &text[..text.len() - inner.len()];
                if inner.is_empty() {
                    return Err(lead);
                }
                input.unread(inner);
                if self.format == Some(ToolFormat::Llama3) && inner.starts_with('{') {
                    return Ok(State::Json(JsonCall::new(lead, false)));
                }
                sink.content(&lead);
                Ok(State::Content { closes: false })
            }
            _ => Err(lead),
        }
    }

    /// A call that begins with this text.
    fn call(&self, raw: String) -> State {
        match self.format {
            Some(ToolFormat::QwenXml) => State::Xml(XmlCall::new(raw)),
            Some(ToolFormat::Gemma4) => State::Gemma(GemmaCall::new(self.quote, raw)),
            Some(ToolFormat::Mistral) => State::List { lead: raw, is_open: false },
            _ => State::Json(JsonCall::new(raw, false)),
        }
    }

    fn content(&self, closes: bool, next: Next, sink: &mut Sink) -> State {
        match next {
            Next::Marker(marker) if marker == self.call_end.text => {
                sink.take_spaces();
                State::Content { closes: false }
            }
            Next::Marker(marker) if marker == self.think.text => self.reasoning(),
            Next::Marker(marker) => self.call(sink.take_spaces() + marker),
            Next::Text(text) => {
                sink.content(&text);
                State::Content { closes: closes && text.trim().is_empty() }
            }
            _ => State::Content { closes },
        }
    }

    fn json(&self, mut call: JsonCall, next: Next, input: &mut Input, sink: &mut Sink) -> State {
        let step = match next {
            Next::Text(text) => {
                let (step, read) = call.read(&text, sink);
                input.unread(&text[read..]);
                step
            }
            Next::Control(text) => {
                input.unread_control(text);
                Step::Refused
            }
            _ => Step::More,
        };
        match step {
            Step::More => State::Json(call),
            Step::Done => {
                call.index.into_iter().for_each(|index| sink.end(index));
                match call.is_in_list {
                    true => State::List { lead: String::new(), is_open: true },
                    false => State::Content { closes: self.format == Some(ToolFormat::Hermes) },
                }
            }
            Step::Broken | Step::Refused => {
                sink.broken(call.index, call.raw);
                State::Content { closes: false }
            }
        }
    }

    /// Gives back what was read of a call that does not end.
    pub fn finish(&mut self, sink: &mut Sink) {
        match std::mem::replace(&mut self.state, State::Content { closes: false }) {
            State::Start { lead, .. } => sink.content(&lead),
            State::List { lead, .. } if !lead.trim().is_empty() && !lead.trim().starts_with(',') => sink.content(&lead),
            State::Json(call) => sink.broken(call.index, call.raw),
            State::Xml(call) => call.give_up(sink),
            State::Gemma(call) => call.give_up(sink),
            _ => {}
        }
    }
}

/// What follows a call that is complete, or broken.
fn ended(step: CallStep, give_up: impl FnOnce()) -> State {
    if step != CallStep::Done {
        give_up();
    }
    // The end marker of a complete call may follow.
    State::Content { closes: step == CallStep::Done }
}

/// Reads what stands between the calls of a list.
fn list(mut lead: String, is_open: bool, next: Next, input: &mut Input, sink: &mut Sink) -> State {
    let text = match next {
        Next::Text(text) => text,
        Next::Control(text) => {
            input.unread_control(text);
            sink.content(&lead);
            return State::Content { closes: false };
        }
        _ => return State::List { lead, is_open },
    };
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        match c {
            '[' if !is_open => {
                input.unread(after);
                return State::List { lead: lead + "[", is_open: true };
            }
            '{' => {
                input.unread(&text[at..]);
                return State::Json(JsonCall::new(lead, is_open));
            }
            ']' if is_open && !lead.contains('[') => {
                input.unread(after);
                return State::Content { closes: false };
            }
            ',' if is_open && !lead.contains(['[', ',']) => lead.push(c),
            _ if c.is_whitespace() => lead.push(c),
            _ => {
                input.unread(&text[at..]);
                sink.content(&lead);
                return State::Content { closes: false };
            }
        }
    }
    State::List { lead, is_open }
}

/// Text as in a string of JSON, without quotes.
pub fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_string()
}
