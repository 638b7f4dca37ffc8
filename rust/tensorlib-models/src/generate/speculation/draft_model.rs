//! Drafts by a second, smaller model with the same vocabulary.

use super::pace::{Average, Source};
use super::NEWEST;
use crate::generate::no_choice;
use crate::{Decoder, Error, Result, Session};
use std::time::{Duration, Instant};

/// The shares that are expected of a model before it drafted.
const EXPECTED: f64 = 0.7;
/// From this many tokens on, the time of a run counts per token.
const MANY: usize = 16;
/// The most tokens for which guesses pause after misses.
const LONGEST_PAUSE: usize = 16;

/// A session of a draft model, which follows a text.
#[derive(Debug)]
pub(super) struct DraftModel {
    /// The model that it drafts for.
    model: Decoder,
    pub(super) session: Session,
    /// The tokens from this one on are not tokens of both models.
    common: u32,
    p_min: f32,
    /// Why it cannot draft any more.
    pub(super) error: Option<Error>,
    /// The time of all its runs since the text began, but for the prompt.
    pub(super) time: Duration,
    sure: f64,
    right: f64,
    /// Seconds of a run of one token or two, and per token of a run of many.
    run: Average,
    column: Average,
    /// A token that it guessed, with its position.
    guessed: Option<(usize, u32)>,
    /// Drafts and guesses without a right token since the last one with one.
    misses: u32,
    /// For how many further tokens it guesses nothing.
    pause: usize,
}

impl DraftModel {
    pub(super) fn new(model: &Decoder, session: Session, p_min: f32) -> Result<Self> {
        let draft = session.decoder();
        if let Some(what) = model.tokenizer().difference(draft.tokenizer()) {
            let message = format!("the draft model has another vocabulary: {what}");
            let hint = "a smaller model with the same tokenizer is valid, usually one of the same family";
            return Err(Error::invalid(message).with_hint(hint));
        }
        let common = [model, draft].map(|one| one.vocabulary().min(one.tokenizer().n_tokens())).into_iter().min();
        Ok(DraftModel {
            model: model.clone(),
            common: common.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            session,
            p_min,
            error: None,
            time: Duration::ZERO,
            sure: EXPECTED,
            right: EXPECTED,
            run: Average::default(),
            column: Average::default(),
            guessed: None,
            misses: 0,
            pause: 0,
        })
    }

    /// Begins a text of this model: what is known of the last one counts half. Refuses a model other than the one that
    /// the vocabularies were compared for.
    pub(super) fn prepare(&mut self, model: &Decoder) -> Result<()> {
        if !self.model.is_same(model) {
            let message = "the draft model drafts for another model than the session's";
            return Err(Error::invalid(message).with_hint("Speculation::with_draft takes the session's own decoder"));
        }
        (self.error, self.time) = (None, Duration::ZERO);
        (self.guessed, self.misses, self.pause) = (None, 0, 0);
        for share in [&mut self.sure, &mut self.right] {
            *share = (*share + EXPECTED) / 2.0;
        }
        Ok(())
    }

    /// Computes the tokens of a prompt, part by part, and calls `go_on` between the parts. Whether all calls gave `true`.
    pub(super) fn read(&mut self, prompt: &[u32], mut go_on: impl FnMut() -> bool) -> bool {
        let Some(same) = self.same(prompt) else { return true };
        let position = self.session.rewind(same);
        let (begin, rest) = (Instant::now(), &prompt[position..]);
        let mut fed = 0;
        for part in self.session.parts(rest) {
            if fed > 0 && !go_on() {
                return false;
            }
            if let Err(error) = self.session.feed(part) {
                self.error = Some(error);
                return true;
            }
            fed += part.len();
        }
        if fed >= MANY {
            let seconds = begin.elapsed().as_secs_f64() / fed as f64;
            self.column.add(seconds);
        }
        true
    }

    /// The number of first tokens of the text that the session has; `None` if it cannot have the text.
    fn same(&self, text: &[u32]) -> Option<usize> {
        if self.error.is_some() || text.len() > self.session.decoder().context() {
            return None;
        }
        let same = text.iter().zip(self.session.tokens()).take_while(|(a, b)| a == b).count();
        text[same..].iter().all(|token| *token < self.common).then_some(same)
    }

    /// The seconds that it takes to compute what the session lacks of the text, and with that the first token of a
    /// draft; `None` if it cannot draft after this text. `one` are the seconds of a run of the model.
    pub(super) fn first_seconds(&self, text: &[u32], one: f64) -> Option<f64> {
        let missing = text.len() - self.same(text)?.min(text.len() - 1);
        let run = self.source(one).seconds;
        Some(self.column.seconds().map_or(run, |column| run.max(missing as f64 * column)))
    }

    /// What is known about its drafts. Until its runs were measured, they are expected to take the time of a run of the
    /// model as far as they read fewer weights.
    pub(super) fn source(&self, one: f64) -> Source {
        let bytes = |decoder: &Decoder| decoder.cost().weight_bytes;
        let expected = || one * bytes(self.session.decoder()) / bytes(&self.model).max(1.0);
        Source { sure: self.sure, right: self.right, seconds: self.run.seconds().unwrap_or_else(expected) }
    }

    /// Whether it may guess this token, although its drafts are not expected to pay.
    pub(super) fn is_due(&mut self) -> bool {
        self.pause = self.pause.saturating_sub(1);
        self.pause == 0
    }

    /// Draws the next token for [`DraftModel::compare`], so that its share of right tokens stays known. Returns no draft.
    pub(super) fn guess(&mut self, text: &[u32]) -> (Vec<u32>, f64) {
        let (drafted, seconds) = self.draft(text, 1);
        self.guessed = drafted.first().map(|token| (text.len(), *token));
        (Vec::new(), seconds)
    }

    /// Compares the last guess with the token that came.
    pub(super) fn compare(&mut self, text: &[u32]) {
        if let Some((position, token)) = self.guessed.take() {
            self.checked(1, usize::from(text.get(position) == Some(&token)));
        }
    }

    /// Draws up to `most` tokens after the text, the most likely one each time, while they are likely enough. Returns
    /// them, and the seconds that count of the time that they took.
    pub(super) fn draft(&mut self, text: &[u32], most: usize) -> (Vec<u32>, f64) {
        let (mut drafted, mut seconds) = (Vec::new(), 0.0);
        let Some(same) = self.same(text).filter(|_| !text.is_empty()) else { return (drafted, seconds) };
        let position = self.session.rewind(same.min(text.len() - 1));
        let mut next = text[position..].to_vec();
        // The last token of a draft is not computed, so it needs no place in the context.
        let most = most.min(self.session.decoder().context() - text.len() + 1);
        while drafted.len() < most {
            let begin = Instant::now();
            let drawn = self.session.feed(&next).and_then(|logits| self.likeliest(&logits));
            if drafted.is_empty() {
                // The tokens after this position may be wrong.
                self.session.checkpoint();
            }
            self.time += begin.elapsed();
            seconds += self.took(next.len(), begin.elapsed().as_secs_f64());
            let token = match drawn {
                Ok((token, p)) if p >= self.p_min && token < self.common => token,
                Ok(_) => {
                    self.sure -= NEWEST * self.sure;
                    break;
                }
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            };
            self.sure += NEWEST * (1.0 - self.sure);
            drafted.push(token);
            next = vec![token];
        }
        if drafted.is_empty() {
            self.missed();
        }
        (drafted, seconds)
    }

    /// Records a run's time, and returns the seconds that count of it.
    fn took(&mut self, tokens: usize, seconds: f64) -> f64 {
        match tokens {
            1 | 2 => self.run.add(seconds),
            MANY.. => tokens as f64 * self.column.add(seconds / tokens as f64),
            _ => seconds,
        }
    }

    /// The most likely token and its probability. Of equally likely tokens the first counts.
    fn likeliest(&self, logits: &[f32]) -> Result<(u32, f32)> {
        if let Some(what) = no_choice(logits) {
            return Err(self.session.not_finite(&what));
        }
        let (mut token, mut most) = (0, f32::NEG_INFINITY);
        for (i, logit) in logits.iter().enumerate() {
            if *logit > most {
                (token, most) = (i as u32, *logit);
            }
        }
        if most == f32::INFINITY {
            return Ok((token, 1.0));
        }
        Ok((token, 1.0 / logits.iter().map(|logit| (logit - most).exp()).sum::<f32>()))
    }

    /// Records how many tokens of a draft were right.
    pub(super) fn checked(&mut self, drafted: usize, right: usize) {
        // The tokens after the first wrong one were not looked at.
        for i in 0..(right + 1).min(drafted) {
            self.right += NEWEST * (f64::from(u8::from(i < right)) - self.right);
        }
        match right {
            0 => self.missed(),
            _ => self.misses = 0,
        }
    }

    /// After misses in a row, guesses pause for longer and longer.
    fn missed(&mut self) {
        self.misses = self.misses.saturating_add(1);
        self.pause = LONGEST_PAUSE.min(1 << self.misses.min(16));
    }
}
