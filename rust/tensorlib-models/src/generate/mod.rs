//! Text, token by token.

mod chat;
mod sampler;
mod stops;

use crate::decoder::BATCH;
use crate::{Result, Session};
use std::fmt;
use std::time::{Duration, Instant};
use stops::Stops;

pub use chat::{Chat, Message};
pub use sampler::{Sampler, SamplerOptions};

/// Why a text ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model's token for the end of a text or turn, with this id.
    Token(u32),
    /// One of the caller's stops.
    Stop(String),
    /// As many tokens as were asked for.
    Length,
    /// The context is full.
    Context,
    /// The caller's function returned `false`.
    Interrupted,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Token(id) => write!(f, "end of text (token {id})"),
            Ending::Stop(text) => write!(f, "stop {text:?}"),
            Ending::Length => write!(f, "length"),
            Ending::Context => write!(f, "the context is full"),
            Ending::Interrupted => write!(f, "interrupted"),
        }
    }
}

/// A token and the text that it makes whole: none, where it ends within a character or may be the beginning of a stop.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The token; none for what was held back and comes at the end.
    pub token: Option<u32>,
    /// Whole characters.
    pub text: &'a str,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Tokens that were taken in.
    pub prompt_tokens: usize,
    /// The time that it took.
    pub prompt_time: Duration,
    /// Tokens that were generated, the ending one among them.
    pub tokens: usize,
    /// The time from the first of these to the last.
    pub time: Duration,
    /// Why there are not more.
    pub ending: Ending,
}

/// Takes the prompt's tokens into the session and generates up to `limit` tokens behind it, or until another [`Ending`].
/// `show` gets each as it comes, and between the parts of a long prompt a piece without token and text; `false` stops.
///
/// The last token that is shown may not be in the session yet: a conversation feeds it with the next turn.
///
/// # Errors
/// As [`Session::feed`].
pub fn generate(
    session: &mut Session,
    sampler: &mut Sampler,
    prompt: &[u32],
    limit: Option<usize>,
    stops: &[String],
    mut show: impl FnMut(Piece) -> bool,
) -> Result<Totals> {
    let decoder = session.decoder();
    let begin = Instant::now();
    session.check(prompt)?;
    let (mut logits, mut fed) = (Vec::new(), 0);
    for part in prompt.chunks(BATCH) {
        if fed > 0 && !show(Piece { token: None, text: "" }) {
            let (prompt_time, time) = (begin.elapsed(), Duration::ZERO);
            return Ok(Totals { prompt_tokens: fed, prompt_time, tokens: 0, time, ending: Ending::Interrupted });
        }
        logits = session.feed(part)?;
        fed += part.len();
    }
    let prompt_time = begin.elapsed();
    sampler.remember(prompt);
    let (mut stream, mut stops) = (decoder.tokenizer().stream(), Stops::new(stops));
    let (begin, mut tokens) = (Instant::now(), 0);
    let ending = loop {
        if limit.is_some_and(|limit| tokens >= limit) {
            break Ending::Length;
        }
        let token = sampler.next(&logits);
        tokens += 1;
        if decoder.tokenizer().is_end(token) {
            break Ending::Token(token);
        }
        let (text, stop) = stops.push(&stream.push(token));
        let go_on = show(Piece { token: Some(token), text: &text });
        if let Some(stop) = stop {
            break Ending::Stop(stop);
        }
        if !go_on {
            break Ending::Interrupted;
        }
        if session.len() >= decoder.context() {
            break Ending::Context;
        }
        if limit.is_none_or(|limit| tokens < limit) {
            logits = session.feed(&[token])?;
        }
    };
    let time = begin.elapsed();
    if !matches!(ending, Ending::Stop(_)) {
        let (text, _) = stops.push(&stream.finish());
        let text = text + &stops.finish();
        if !text.is_empty() {
            show(Piece { token: None, text: &text });
        }
    }
    Ok(Totals { prompt_tokens: prompt.len(), prompt_time, tokens, time, ending })
}
