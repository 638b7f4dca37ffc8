//! An answer's text, in which markers are found.

use crate::generate::stops::Segment;
use crate::tokenizer::Tokenizer;
use std::collections::VecDeque;

/// A text that structures answers, such as `<tool_call>`.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    pub text: &'static str,
    /// Whether the vocabulary has it as a control token. Then only that token is the marker, and its text is not.
    is_control: bool,
}

impl Marker {
    pub fn new(tokenizer: &Tokenizer, text: &'static str) -> Self {
        Marker { text, is_control: tokenizer.id(text).is_some_and(|id| tokenizer.is_control(id)) }
    }

    /// Whether only a control token is the marker.
    pub fn is_control(&self) -> bool {
        self.is_control
    }

    /// A marker that is a control token in no vocabulary.
    pub const fn text(text: &'static str) -> Self {
        Marker { text, is_control: false }
    }
}

/// What comes next in an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Text without markers.
    Text(String),
    /// One of the markers.
    Marker(&'static str),
    /// Another control token.
    Control(String),
    /// Nothing yet.
    Nothing,
}

/// The part of an answer that was not read yet.
#[derive(Debug, Default)]
pub struct Input {
    segments: VecDeque<Segment>,
    is_finished: bool,
}

impl Input {
    pub fn push(&mut self, segment: &Segment) {
        match (self.segments.back_mut(), segment) {
            (_, Segment::Text(text)) if text.is_empty() => {}
            (Some(Segment::Text(last)), Segment::Text(text)) => last.push_str(text),
            _ => self.segments.push_back(segment.clone()),
        }
    }

    /// Nothing comes after what was pushed.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Puts text back.
    pub fn unread(&mut self, text: &str) {
        match self.segments.front_mut() {
            _ if text.is_empty() => {}
            Some(Segment::Text(first)) => first.insert_str(0, text),
            _ => self.segments.push_front(Segment::Text(text.into())),
        }
    }

    /// Puts a control token back.
    pub fn unread_control(&mut self, text: String) {
        self.segments.push_front(Segment::Control(text));
    }

    /// Takes what comes next, up to one of these markers or what may become one.
    pub fn next(&mut self, markers: &[Marker]) -> Next {
        let is_last = self.segments.len() == 1 && !self.is_finished;
        let text = match self.segments.pop_front() {
            None => return Next::Nothing,
            Some(Segment::Control(text)) => {
                return match markers.iter().find(|marker| marker.is_control && marker.text == text) {
                    Some(marker) => Next::Marker(marker.text),
                    None => Next::Control(text),
                };
            }
            Some(Segment::Text(text)) => text,
        };
        let texts = || markers.iter().filter(|marker| !marker.is_control).map(|marker| marker.text);
        let found = texts().filter_map(|marker| text.find(marker).map(|at| (at, marker))).min();
        let n = match found {
            Some((0, marker)) => {
                self.unread(&text[marker.len()..]);
                return Next::Marker(marker);
            }
            Some((at, _)) => at,
            None if is_last => {
                let longest = texts().map(str::len).max().unwrap_or(0);
                let may_begin = |at: &usize| texts().any(|marker| marker.starts_with(&text[*at..]));
                let places = text.char_indices().map(|(at, _)| at).filter(|at| text.len() - at < longest);
                places.into_iter().find(may_begin).unwrap_or(text.len())
            }
            None => text.len(),
        };
        self.unread(&text[n..]);
        match n {
            0 => Next::Nothing,
            n => Next::Text(text[..n].into()),
        }
    }
}
