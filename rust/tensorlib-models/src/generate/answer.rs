//! Turns generated tokens into the text to show.

use super::channels::Channels;
use super::stops::Stops;
use crate::tokenizer::{Stream, Tokenizer};

/// The text of an answer, without its channels' headers and from a stop on.
pub(super) struct Answer<'a> {
    tokenizer: &'a Tokenizer,
    stream: Stream<'a>,
    channels: Channels,
    stops: Stops,
}

impl<'a> Answer<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, stops: &[String]) -> Self {
        let stops = Stops::new(stops.iter().chain(tokenizer.stops()));
        Self { tokenizer, stream: tokenizer.stream(), channels: Channels::new(tokenizer), stops }
    }

    /// The channel of the current message, if it has one.
    pub(super) fn channel(&self) -> Option<&str> {
        self.channels.channel()
    }

    /// The text that a token completes, and the stop that it completes.
    pub(super) fn push(&mut self, token: u32) -> (String, Option<String>) {
        let text = self.channels.take(token, self.stream.push(token));
        match hidden(self.tokenizer, token).filter(|_| text.is_empty()) {
            Some(hidden) => self.stops.push_hidden(hidden),
            None => self.stops.push(&text),
        }
    }

    /// The text that was held back.
    pub(super) fn finish(&mut self) -> String {
        let (text, _) = self.stops.push(&self.stream.finish());
        text + &self.stops.finish()
    }
}

/// The text of a control token, which is not shown.
fn hidden(tokenizer: &Tokenizer, token: u32) -> Option<&str> {
    tokenizer.token(token).filter(|_| tokenizer.is_control(token))
}
