//! Text generation, token by token.

mod channels;
mod chat;
mod guarded;
mod sampler;
mod stops;
mod template;

use crate::tokenizer::{Stream, Tokenizer};
use crate::{Result, Session};
use channels::Channels;
use std::fmt;
use std::time::{Duration, Instant};
use stops::Stops;

pub use chat::{Chat, Message};
pub use sampler::{Sampler, SamplerOptions};

/// Why generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model's token for the end of a text or turn, with this id.
    Token(u32),
    /// One of the caller's stops.
    Stop(String),
    /// The limit of tokens was reached.
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

/// A token, and the text that it completes: empty if it ends within a character or may begin a stop.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The token; `None` for text that was held back until the end.
    pub token: Option<u32>,
    /// Whole characters.
    pub text: &'a str,
    /// The channel of the text, for models whose answers have several messages (gpt-oss: `analysis`, `commentary`,
    /// `final`).
    pub channel: Option<&'a str>,
}

/// Statistics of a generation.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Tokens of the prompt that were computed.
    pub prompt_tokens: usize,
    /// The time for the prompt.
    pub prompt_time: Duration,
    /// Generated tokens, including the one that ended the text.
    pub tokens: usize,
    /// The time from the first generated token to the last.
    pub time: Duration,
    /// Why generation ended.
    pub ending: Ending,
}

/// Feeds the prompt's tokens to the session and generates up to `limit` tokens after them, or until another [`Ending`].
/// `show` gets each piece as it is generated; between the parts of a long prompt it gets a piece without token and
/// text. `false` stops.
///
/// The last shown token may not be in the session yet: a conversation feeds it with the next turn.
///
/// Stops that the model's files name count as well. A stop may be, or contain, the text of a control token.
///
/// # Errors
/// As [`Session::feed`]; [`ErrorKind::Invalid`](crate::ErrorKind) if logits are not numbers, naming the position.
pub fn generate(
    session: &mut Session,
    sampler: &mut Sampler,
    prompt: &[u32],
    limit: Option<usize>,
    stops: &[String],
    mut show: impl FnMut(Piece) -> bool,
) -> Result<Totals> {
    let decoder = session.decoder().clone();
    let begin = Instant::now();
    let (prompt_tokens, logits) = feed_prompt(session, prompt, &mut show)?;
    let prompt_time = begin.elapsed();
    let Some(mut logits) = logits else {
        let (tokens, time, ending) = (0, Duration::ZERO, Ending::Interrupted);
        return Ok(Totals { prompt_tokens, prompt_time, tokens, time, ending });
    };
    sampler.remember(prompt);
    let tokenizer = decoder.tokenizer();
    let mut answer = Answer::new(tokenizer, stops);
    let (begin, mut tokens) = (Instant::now(), 0);
    let ending = loop {
        if limit.is_some_and(|limit| tokens >= limit) {
            break Ending::Length;
        }
        check(&logits, session)?;
        let token = sampler.next(&logits)?;
        tokens += 1;
        if tokenizer.is_end(token) {
            break Ending::Token(token);
        }
        let (text, stop) = answer.push(token);
        let go_on = show(Piece { token: Some(token), text: &text, channel: answer.channels.channel() });
        if let Some(stop) = stop {
            break Ending::Stop(stop);
        }
        if !go_on {
            break Ending::Interrupted;
        }
        if session.position() >= decoder.context() {
            break Ending::Context;
        }
        if limit.is_none_or(|limit| tokens < limit) {
            logits = session.feed(&[token])?;
        }
    };
    let time = begin.elapsed();
    if !matches!(ending, Ending::Stop(_)) {
        let text = answer.finish();
        if !text.is_empty() {
            show(Piece { token: None, text: &text, channel: answer.channels.channel() });
        }
    }
    Ok(Totals { prompt_tokens, prompt_time, tokens, time, ending })
}

/// The number of tokens fed, and the logits after them; no logits if `show` stopped it.
fn feed_prompt(
    session: &mut Session,
    prompt: &[u32],
    show: &mut impl FnMut(Piece) -> bool,
) -> Result<(usize, Option<Vec<f32>>)> {
    session.check(prompt)?;
    let (mut logits, mut fed, mut left) = (Vec::new(), 0, prompt);
    while let Some((part, rest)) = session.split(left) {
        if fed > 0 && !show(Piece { token: None, text: "", channel: None }) {
            return Ok((fed, None));
        }
        logits = session.feed(part)?;
        fed += part.len();
        left = rest;
    }
    Ok((fed, Some(logits)))
}

/// Turns generated tokens into the text to show.
struct Answer<'a> {
    tokenizer: &'a Tokenizer,
    stream: Stream<'a>,
    channels: Channels,
    stops: Stops,
}

impl<'a> Answer<'a> {
    fn new(tokenizer: &'a Tokenizer, stops: &[String]) -> Self {
        let stops = Stops::new(stops.iter().chain(tokenizer.stops()));
        Self { tokenizer, stream: tokenizer.stream(), channels: Channels::new(tokenizer), stops }
    }

    /// The text that a token completes, and the stop that it completes.
    fn push(&mut self, token: u32) -> (String, Option<String>) {
        let text = self.channels.take(token, self.stream.push(token));
        match hidden(self.tokenizer, token).filter(|_| text.is_empty()) {
            Some(hidden) => self.stops.push_hidden(hidden),
            None => self.stops.push(&text),
        }
    }

    /// The text that was held back.
    fn finish(&mut self) -> String {
        let (text, _) = self.stops.push(&self.stream.finish());
        text + &self.stops.finish()
    }
}

/// The text of a control token, which is not shown.
fn hidden(tokenizer: &Tokenizer, token: u32) -> Option<&str> {
    tokenizer.token(token).filter(|_| tokenizer.is_control(token))
}

/// Refuses logits that allow no choice. A token with an infinite logit is certain.
fn check(logits: &[f32], session: &Session) -> Result<()> {
    let wrong = logits.iter().position(|logit| logit.is_nan());
    if let Some(token) = wrong {
        return Err(session.not_finite(&format!("the logit of token {token} is NaN")));
    }
    if logits.iter().all(|logit| *logit == f32::NEG_INFINITY) {
        return Err(session.not_finite("all logits are -infinity"));
    }
    Ok(())
}
