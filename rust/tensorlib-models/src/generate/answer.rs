//! Turns generated tokens into the text to show.

use super::channels::Channels;
use super::stops::Stops;
use crate::tokenizer::{Pending, Tokenizer};

/// The text of an answer, without its channels' headers and from a stop on.
pub(crate) struct Answer {
    pending: Pending,
    channels: Channels,
    stops: Stops,
}

impl Answer {
    pub(crate) fn new(tokenizer: &Tokenizer, stops: &[String]) -> Self {
        let stops = Stops::new(stops.iter().chain(tokenizer.stops()));
        Self { pending: Pending::default(), channels: Channels::new(tokenizer), stops }
    }

    /// The channel of the current message, if it has one.
    pub(crate) fn channel(&self) -> Option<&str> {
        self.channels.channel()
    }

    /// The text that a token completes, and the stop that it completes.
    pub(crate) fn push(&mut self, tokenizer: &Tokenizer, token: u32) -> (String, Option<String>) {
        let text = self.channels.take(token, self.pending.push(tokenizer, token, true));
        match hidden(tokenizer, token).filter(|_| text.is_empty()) {
            Some(hidden) => self.stops.push_hidden(hidden),
            None => self.stops.push(&text),
        }
    }

    /// The text that was held back.
    pub(crate) fn finish(&mut self) -> String {
        let (text, _) = self.stops.push(&self.pending.finish());
        text + &self.stops.finish()
    }
}

/// The text of a control token, which is not shown.
fn hidden(tokenizer: &Tokenizer, token: u32) -> Option<&str> {
    tokenizer.token(token).filter(|_| tokenizer.is_control(token))
}
