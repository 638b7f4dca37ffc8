//! What an answer consists of.

use crate::generate::tools::Tools;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerEvent {
    /// Text for the user.
    Content(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call begins.
    CallStart {
        /// The number of calls that began before.
        index: usize,
        /// The function, which is one of the tools.
        name: String,
    },
    /// A part of the call's arguments.
    CallArguments {
        /// The call.
        index: usize,
        /// The next part of a JSON object's text.
        text: String,
    },
    /// A call is complete, and its arguments are the text of a JSON object.
    CallEnd {
        /// The call.
        index: usize,
    },
    /// A call that began is none: the answer ends within it, or its arguments are no JSON.
    CallBroken {
        /// The call.
        index: usize,
        /// What the model wrote as the call, which is text for the user.
        text: String,
    },
}

/// What a part of an answer did to a call that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStep {
    /// More is expected.
    More,
    /// It completed the call.
    Done,
    /// It is no part of a call.
    Broken,
}

/// A call of a function that a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedCall {
    /// The function.
    pub name: String,
    /// Its arguments, as the text of a JSON object.
    pub arguments: String,
}

/// An answer, put together from its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedAnswer {
    /// The text for the user, with that of broken calls.
    pub content: String,
    /// The model's reasoning.
    pub reasoning: String,
    /// The calls.
    pub tool_calls: Vec<ParsedCall>,
}

impl ParsedAnswer {
    /// Adds an event. Those of one answer are added in their order.
    pub fn push(&mut self, event: AnswerEvent) {
        match event {
            AnswerEvent::Content(text) => self.content += &text,
            AnswerEvent::Reasoning(text) => self.reasoning += &text,
            AnswerEvent::CallStart { name, .. } => {
                self.tool_calls.push(ParsedCall { name, arguments: String::new() });
            }
            AnswerEvent::CallArguments { text, .. } => {
                if let Some(call) = self.tool_calls.last_mut() {
                    call.arguments += &text;
                }
            }
            AnswerEvent::CallEnd { .. } => {}
            AnswerEvent::CallBroken { text, .. } => {
                self.tool_calls.pop();
                self.content += &text;
            }
        }
    }
}

impl Extend<AnswerEvent> for ParsedAnswer {
    fn extend<I: IntoIterator<Item = AnswerEvent>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

/// Collects events.
#[derive(Debug)]
pub struct Sink {
    pub tools: Tools,
    events: Vec<AnswerEvent>,
    /// Spaces after text, which count only if more text follows.
    spaces: String,
    /// Spaces after reasoning.
    reasoning_spaces: String,
    has_reasoning: bool,
    /// Whether a call was the last event.
    is_after_call: bool,
    n_calls: usize,
}

impl Sink {
    pub fn new(tools: Tools) -> Self {
        Sink {
            tools,
            events: Vec::new(),
            spaces: String::new(),
            reasoning_spaces: String::new(),
            has_reasoning: false,
            is_after_call: false,
            n_calls: 0,
        }
    }

    /// The events so far.
    pub fn take(&mut self) -> Vec<AnswerEvent> {
        std::mem::take(&mut self.events)
    }

    /// Text for the user.
    pub fn content(&mut self, text: &str) {
        let end = text.trim_end().len();
        if end > 0 {
            let text = std::mem::take(&mut self.spaces) + &text[..end];
            self.events.push(AnswerEvent::Content(text));
            self.is_after_call = false;
        }
        self.spaces += &text[end..];
    }

    /// A part of the reasoning, without spaces around it.
    pub fn reasoning(&mut self, text: &str) {
        let text = if self.has_reasoning { text } else { text.trim_start() };
        let end = text.trim_end().len();
        if end > 0 {
            let text = std::mem::take(&mut self.reasoning_spaces) + &text[..end];
            self.events.push(AnswerEvent::Reasoning(text));
            self.has_reasoning = true;
        }
        self.reasoning_spaces += &text[end..];
    }

    /// Drops spaces after the text so far, and returns them.
    pub fn take_spaces(&mut self) -> String {
        std::mem::take(&mut self.spaces)
    }

    /// A call begins; returns its index.
    pub fn start(&mut self, name: &str) -> usize {
        self.n_calls += 1;
        let index = self.n_calls - 1;
        self.events.push(AnswerEvent::CallStart { index, name: name.into() });
        index
    }

    /// A part of a call's arguments.
    pub fn arguments(&mut self, index: usize, text: &str) {
        if !text.is_empty() {
            self.events.push(AnswerEvent::CallArguments { index, text: text.into() });
        }
    }

    /// A call is complete.
    pub fn end(&mut self, index: usize) {
        self.events.push(AnswerEvent::CallEnd { index });
        self.is_after_call = true;
    }

    /// What was read of a call is none.
    pub fn broken(&mut self, index: Option<usize>, text: String) {
        match index {
            Some(index) => {
                self.events.push(AnswerEvent::CallBroken { index, text });
                self.is_after_call = false;
            }
            None => self.content(&text),
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self) {
        let spaces = self.take_spaces();
        if !spaces.is_empty() && !self.is_after_call {
            self.events.push(AnswerEvent::Content(spaces));
        }
    }
}
