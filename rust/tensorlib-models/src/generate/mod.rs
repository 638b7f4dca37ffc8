//! Text generation, token by token.

pub(crate) mod answer;
mod channels;
mod chat;
mod constraint;
mod reasoning;
mod sampler;
mod speculation;
mod stops;
mod template;
mod tools;

use crate::{Result, Session};
use answer::Answer;
use std::fmt;
use std::time::{Duration, Instant};

pub(crate) use chat::guarded;
pub use chat::{Chat, ChatOptions, Message, Prompt, Role, ToolCall};
#[cfg(feature = "grammar")]
pub use constraint::Constraint;
#[cfg(feature = "grammar")]
pub(crate) use constraint::Grammars;
pub use reasoning::Reasoning;
pub(crate) use sampler::Random;
pub use sampler::{Candidate, Logits, LogitsProcessor, Logprobs, Sampler, SamplerOptions};
pub use speculation::{Drafts, Speculation, SpeculationOptions};
pub use stops::Segment;
pub use tools::{
    AnswerEvent, AnswerParser, CallOptions, ParsedAnswer, ParsedCall, Tool, ToolChoice, ToolFormat, Tools,
};

/// Why generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model's token for the end of a text or turn, with this id.
    Token(u32),
    /// The constraint allows no further token.
    Constraint,
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
            Ending::Constraint => write!(f, "the constraint is complete"),
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
    /// What the model wrote, with control tokens and headers, which the text leaves out: what [`AnswerParser`] reads.
    pub segments: &'a [Segment],
    /// The channel of the text, for models whose answers have several messages (gpt-oss: `analysis`, `commentary`,
    /// `final`).
    pub channel: Option<&'a str>,
    /// The log-probability of the token, if [`SamplerOptions::logprobs`] asks for it.
    pub logprobs: Option<&'a Logprobs>,
}

impl Piece<'_> {
    /// Neither a token nor text.
    fn empty() -> Self {
        Piece { token: None, text: "", segments: &[], channel: None, logprobs: None }
    }
}

/// Statistics of a generation.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Tokens of the prompt that were computed.
    pub prompt_tokens: usize,
    /// Tokens before them that were there already.
    pub cached_tokens: usize,
    /// The time for the prompt.
    pub prompt_time: Duration,
    /// Generated tokens, including the one that ended the text.
    pub tokens: usize,
    /// The time from the first generated token to the last.
    pub time: Duration,
    /// Tokens that were drafted, and those of them that the model would have chosen ([`generate_speculating`]).
    pub drafted: (usize, usize),
    /// Why generation ended.
    pub ending: Ending,
}

/// Feeds the prompt's tokens to the session and generates up to `limit` tokens after them, or until another [`Ending`].
/// `show` gets each piece as it is generated; between the parts of a long prompt it gets a piece without token and
/// text. `false` stops.
///
/// The last shown token may not be in the session yet: a conversation feeds it with the next turn.
///
/// Stops that the model's files name count as well, and tokens that it never writes by its files are not drawn. A stop may be, or contain, the text of a control token.
///
/// With a constraint, the generated text follows it up to its end if the ending is [`Ending::Constraint`] or
/// [`Ending::Token`]. Other endings leave the beginning of such a text. Tokens that the constraint leaves no choice about
/// are computed together.
///
/// # Errors
/// As [`Session::feed`]; [`ErrorKind::Invalid`](crate::ErrorKind) if logits are not numbers, naming the position; errors
/// of the constraint and of processors.
pub fn generate(
    session: &mut Session,
    sampler: &mut Sampler,
    prompt: &[u32],
    limit: Option<usize>,
    stops: &[String],
    show: impl FnMut(Piece) -> bool,
) -> Result<Totals> {
    generate_with(session, sampler, prompt, (limit, stops, None), show)
}

/// As [`generate`], by speculation: the next tokens are drafted, and the model computes several of them in the time of
/// one or two. It draws from its own logits for each, and what differs from the draft counts, so the text is one that it
/// would have written. How long drafts are, and whether there are any, depends on the time that they take and on how many
/// were right. A text with a constraint has none.
///
/// With a [reproducible](crate::DecoderOptions::reproducible) decoder the text is that of [`generate`]. Otherwise logits
/// differ by rounding with the number of tokens that are computed together, so texts of one seed may differ.
///
/// A draft model follows the session's tokens, however they came there. If it fails, the text goes on without it
/// ([`Speculation::draft_error`]).
///
/// # Errors
/// As [`generate`]; [`ErrorKind::Invalid`](crate::ErrorKind) for a draft model that drafts for another model;
/// [`ErrorKind::Unsupported`](crate::ErrorKind) for a model that is divided over ranks.
pub fn generate_speculating(
    session: &mut Session,
    sampler: &mut Sampler,
    prompt: &[u32],
    limit: Option<usize>,
    stops: &[String],
    speculation: &mut Speculation,
    show: impl FnMut(Piece) -> bool,
) -> Result<Totals> {
    // How many tokens are drafted depends on measured times, which differ from rank to rank.
    session.decoder().check_whole("drafting tokens")?;
    speculation.prepare(session.decoder())?;
    generate_with(session, sampler, prompt, (limit, stops, Some(speculation)), show)
}

fn generate_with(
    session: &mut Session,
    sampler: &mut Sampler,
    prompt: &[u32],
    (limit, stops, speculation): (Option<usize>, &[String], Option<&mut Speculation>),
    mut show: impl FnMut(Piece) -> bool,
) -> Result<Totals> {
    let decoder = session.decoder().clone();
    let (begin, cached_tokens) = (Instant::now(), session.position());
    let (prompt_tokens, mut logits) = feed_prompt(session, prompt, &mut show)?;
    let mut speculation = speculation.filter(|_| !sampler.has_constraint() && limit.is_none_or(|limit| limit > 1));
    if let (Some(speculation), Some(_)) = (&mut speculation, &logits) {
        let go_on = speculation.begin(session.tokens(), || show(Piece::empty()));
        logits = logits.filter(|_| go_on);
    }
    let prompt_time = begin.elapsed();
    let totals = |tokens: usize, time: Duration, drafted: (usize, usize), ending: Ending| Totals {
        prompt_tokens,
        cached_tokens,
        prompt_time,
        tokens,
        time,
        drafted,
        ending,
    };
    let Some(logits) = logits else { return Ok(totals(0, Duration::ZERO, (0, 0), Ending::Interrupted)) };
    sampler.suppress(decoder.tokenizer().suppressed());
    sampler.begin(session.tokens());
    let begin = Instant::now();
    let answer = Answer::new(decoder.tokenizer(), limit, stops);
    let mut writer = Writer { session, sampler, answer, speculation, show };
    let ending = writer.write(logits)?;
    let time = begin.elapsed();
    writer.answer.finish(&ending, &mut writer.show);
    let drafted = writer.speculation.as_ref().map_or((0, 0), |speculation| speculation.drafts().all());
    Ok(totals(writer.answer.tokens(), time, drafted, ending))
}

/// The number of tokens fed, and the logits after them; no logits if `show` stopped it.
fn feed_prompt(
    session: &mut Session,
    prompt: &[u32],
    show: &mut impl FnMut(Piece) -> bool,
) -> Result<(usize, Option<Vec<f32>>)> {
    /// A conversation's next prompt often differs from this one in the last tokens already, which begin the answer.
    const BEFORE_ANSWER: usize = 16;
    session.check(prompt)?;
    let kept = if session.is_recurrent() { prompt.len().saturating_sub(BEFORE_ANSWER) } else { 0 };
    let (first, last) = prompt.split_at(kept);
    let (mut logits, mut fed) = (Vec::new(), 0);
    for tokens in [first, last].into_iter().filter(|tokens| !tokens.is_empty()) {
        for part in session.parts(tokens) {
            if fed > 0 && !show(Piece::empty()) {
                return Ok((fed, None));
            }
            logits = session.feed(part)?;
            fed += part.len();
        }
        if fed == kept {
            session.checkpoint();
        }
    }
    Ok((fed, Some(logits)))
}

/// Writes an answer after a prompt.
struct Writer<'a, F> {
    session: &'a mut Session,
    sampler: &'a mut Sampler,
    answer: Answer,
    speculation: Option<&'a mut Speculation>,
    show: F,
}

impl<F: FnMut(Piece) -> bool> Writer<'_, F> {
    /// Writes after these logits, to the end.
    fn write(&mut self, mut logits: Vec<f32>) -> Result<Ending> {
        loop {
            if let Some(ending) = self.answer.ended(self.sampler) {
                return Ok(ending);
            }
            let forced = self.sampler.forced(self.most())?;
            let written =
                if forced.is_empty() { self.write_drawn(&logits)? } else { self.write_forced(&forced, &logits)? };
            match written {
                Written::Next(next) => logits = next,
                Written::Ended(ending) => return Ok(ending),
            }
        }
    }

    /// The most tokens that may follow. The last one needs no place in the context.
    fn most(&self) -> usize {
        let room = self.session.decoder().context() - self.session.position() + 1;
        self.answer.left(room)
    }

    /// Draws a token, and computes it with drafts of those after it.
    fn write_drawn(&mut self, logits: &[f32]) -> Result<Written> {
        check(logits, self.session)?;
        let mut token = self.sampler.next(logits)?;
        if let Some(ending) = self.push(token, logits) {
            return Ok(Written::Ended(ending));
        }
        loop {
            if let Some(ending) = self.ended_before_computing(0, 0) {
                return Ok(Written::Ended(ending));
            }
            let computed = self.with_draft(token);
            let begin = Instant::now();
            let rows = match computed.len() {
                1 => self.session.feed(&computed)?,
                _ => self.session.feed_all(&computed)?,
            };
            if let Some(speculation) = &mut self.speculation {
                speculation.took(computed.len(), begin.elapsed());
            }
            match self.check_draft(&computed, &rows)? {
                Checked::Wrong(drawn) => token = drawn,
                Checked::Right => {
                    let last = rows.len() - self.session.decoder().vocabulary();
                    return Ok(Written::Next(rows[last..].to_vec()));
                }
                Checked::Ended(ending) => return Ok(Written::Ended(ending)),
            }
        }
    }

    /// A drawn token, followed by its draft.
    fn with_draft(&mut self, token: u32) -> Vec<u32> {
        let mut computed = vec![token];
        // Each token that is right takes a place in the context, and counts.
        let room = self.session.decoder().context() - self.session.position() - 1;
        let room = room.min(self.answer.left(usize::MAX).saturating_sub(1));
        if let Some(speculation) = &mut self.speculation {
            computed.extend(speculation.draft(self.sampler.tokens(), room));
        }
        computed
    }

    /// Draws the tokens of a draft from the logits of each. From the first that is another one on, the session forgets
    /// the draft.
    fn check_draft(&mut self, computed: &[u32], rows: &[f32]) -> Result<Checked> {
        let (drafted, first) = (computed.len() - 1, self.session.position() - computed.len());
        let vocabulary = self.session.decoder().vocabulary();
        for (i, logits) in rows.chunks_exact(vocabulary).take(drafted).enumerate() {
            check(logits, self.session)?;
            let token = self.sampler.next(logits)?;
            let is_right = token == computed[i + 1];
            let ending = self.push(token, logits);
            if is_right && ending.is_none() {
                continue;
            }
            // The token that was drawn is not in the session yet.
            self.session.rewind_exactly(first + 1 + i)?;
            if let Some(speculation) = &mut self.speculation {
                speculation.checked(drafted, i + usize::from(is_right));
            }
            return Ok(ending.map_or(Checked::Wrong(token), Checked::Ended));
        }
        if let Some(speculation) = self.speculation.as_mut().filter(|_| drafted > 0) {
            speculation.checked(drafted, drafted);
        }
        Ok(Checked::Right)
    }

    /// Writes tokens that were not drawn, and computes them together.
    fn write_forced(&mut self, tokens: &[u32], logits: &[f32]) -> Result<Written> {
        let (n, first) = (logits.len(), self.session.position());
        let ending = self.ended_before_computing(tokens.len() - 1, tokens.len());
        // The last token of an answer is not computed.
        let computed = &tokens[..tokens.len() - usize::from(ending.is_some())];
        let wants_all = self.sampler.logprobs().is_some();
        let after = match computed {
            [] => Vec::new(),
            _ if wants_all => self.session.feed_all(computed)?,
            _ => self.session.feed(computed)?,
        };
        for (i, token) in tokens.iter().enumerate() {
            let before = match i {
                0 => logits,
                _ if wants_all => &after[(i - 1) * n..i * n],
                _ => &[],
            };
            if let Some(ending) = self.push(*token, before) {
                self.session.rewind_exactly(first + i)?;
                return Ok(Written::Ended(ending));
            }
        }
        Ok(match ending {
            Some(ending) => Written::Ended(ending),
            None => Written::Next(after[after.len() - n..].to_vec()),
        })
    }

    /// The ending that spares the last token from being computed, after `computed` further tokens in the session and with
    /// `uncounted` of those not counted yet.
    fn ended_before_computing(&self, computed: usize, uncounted: usize) -> Option<Ending> {
        let is_full = self.session.position() + computed >= self.session.decoder().context();
        if self.sampler.is_complete() {
            return Some(Ending::Constraint);
        }
        if is_full {
            return Some(Ending::Context);
        }
        (self.answer.left(usize::MAX) <= uncounted).then_some(Ending::Length)
    }

    /// Counts and shows a token. `logits` are those before it.
    fn push(&mut self, token: u32, logits: &[f32]) -> Option<Ending> {
        let tokenizer = self.session.decoder().tokenizer();
        self.answer.write(tokenizer, (token, logits), self.sampler, &mut self.show)
    }
}

/// What follows a token, or several.
enum Written {
    /// The logits of the next one.
    Next(Vec<f32>),
    Ended(Ending),
}

/// How a draft compares with what was drawn.
enum Checked {
    /// All of it was drawn.
    Right,
    /// This token was drawn instead of one of it.
    Wrong(u32),
    Ended(Ending),
}

/// Refuses logits that allow no choice. A token with an infinite logit is certain.
fn check(logits: &[f32], session: &Session) -> Result<()> {
    match no_choice(logits) {
        Some(what) => Err(session.not_finite(&what)),
        None => Ok(()),
    }
}

/// Why logits allow no choice, if so.
pub(crate) fn no_choice(logits: &[f32]) -> Option<String> {
    if let Some(token) = logits.iter().position(|logit| logit.is_nan()) {
        return Some(format!("the logit of token {token} is NaN"));
    }
    let is_nothing = logits.iter().all(|logit| *logit == f32::NEG_INFINITY);
    is_nothing.then(|| "all logits are -infinity".into())
}
