//! Turns generated tokens into the text to show.

use super::channels::{Channels, Place, BETWEEN};
use super::stops::{Kind, Shown, Stops};
use super::{Ending, Logprobs, Piece, Sampler};
use crate::tokenizer::{Pending, Tokenizer};

/// The text of an answer, without its channels' headers and from a stop on.
pub(crate) struct Answer {
    pending: Pending,
    channels: Channels,
    stops: Stops,
    limit: Option<usize>,
    /// Tokens so far, including the one that ended the text.
    tokens: usize,
}

impl Answer {
    pub(crate) fn new(tokenizer: &Tokenizer, limit: Option<usize>, stops: &[String]) -> Self {
        let stops = Stops::new(stops.iter().chain(tokenizer.stops()));
        Self { pending: Pending::default(), channels: Channels::new(tokenizer), stops, limit, tokens: 0 }
    }

    /// Tokens so far.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// How many tokens may follow until the limit, of at most `most`.
    pub(crate) fn left(&self, most: usize) -> usize {
        self.limit.map_or(most, |limit| most.min(limit.saturating_sub(self.tokens)))
    }

    /// The ending that needs no further token.
    pub(crate) fn ended(&self, sampler: &Sampler) -> Option<Ending> {
        match self.limit {
            _ if sampler.is_complete() => Some(Ending::Constraint),
            Some(limit) if self.tokens >= limit => Some(Ending::Length),
            _ => None,
        }
    }

    /// Counts and shows a token. `logits` are those before it.
    pub(crate) fn write(
        &mut self,
        tokenizer: &Tokenizer,
        (token, logits): (u32, &[f32]),
        sampler: &Sampler,
        show: &mut impl FnMut(Piece) -> bool,
    ) -> Option<Ending> {
        self.tokens += 1;
        if tokenizer.is_end(token) {
            return Some(Ending::Token(token));
        }
        let (Shown { text, segments }, stop) = self.push(tokenizer, token);
        let logprobs = sampler.logprobs().map(|n| Logprobs::new(logits, token, n));
        let (token, channel, logprobs) = (Some(token), self.channels.channel(), logprobs.as_ref());
        let go_on = show(Piece { token, text: &text, segments: &segments, channel, logprobs });
        match stop {
            Some(stop) => Some(Ending::Stop(stop)),
            None if !go_on => Some(Ending::Interrupted),
            None => None,
        }
    }

    /// Shows the text that was held back.
    pub(crate) fn finish(&mut self, ending: &Ending, show: &mut impl FnMut(Piece) -> bool) {
        if matches!(ending, Ending::Stop(_)) {
            return;
        }
        let (mut shown, _) = self.stops.push(&[(Kind::Text, &self.pending.finish())]);
        let Shown { text, segments } = self.stops.finish();
        shown.text += &text;
        shown.segments.extend(segments);
        if !shown.segments.is_empty() {
            let (text, segments, channel) = (&shown.text, &shown.segments, self.channels.channel());
            show(Piece { token: None, text, segments, channel, logprobs: None });
        }
    }

    /// What a token completes, and the stop that it completes.
    fn push(&mut self, tokenizer: &Tokenizer, token: u32) -> (Shown, Option<String>) {
        let text = self.pending.push(tokenizer, token, true);
        let place = self.channels.take(token, &text);
        let control = control(tokenizer, token).unwrap_or_default();
        match place {
            Place::Header => self.stops.push(&[(Kind::Header, &text), (Kind::Control, control)]),
            Place::Next => self.stops.push(&[(Kind::Separator, BETWEEN), (Kind::Text, &text)]),
            Place::Message => self.stops.push(&[(Kind::Text, &text), (Kind::Control, control)]),
        }
    }
}

/// The text of a control token, which is not shown.
fn control(tokenizer: &Tokenizer, token: u32) -> Option<&str> {
    tokenizer.token(token).filter(|_| tokenizer.is_control(token))
}
