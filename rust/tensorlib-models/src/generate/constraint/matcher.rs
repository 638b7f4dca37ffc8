//! A constraint, and how far a text has followed it.

use super::{lark, schema, vocabulary};
use crate::generate::sampler::{Candidate, Logits};
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use llguidance::api::{StopReason, TopLevelGrammar};
use llguidance::Matcher;
use std::fmt;

/// The most bytes of a schema, an expression or a grammar.
const LONGEST: usize = 1 << 20;

/// What a generated text must be: JSON that a schema accepts, a match of a regular expression, or a text of a grammar.
/// The crate `llguidance` finds the tokens that may come next; [`Sampler::set_constraint`] takes it.
///
/// A constraint is enforced from the first generated token on, or it is an error: whatever of it cannot be enforced is
/// refused when it is made, and a matcher that reaches a limit ends generation with an error. A token that ends a text is
/// allowed exactly where the constraint allows the text to end.
///
/// [`Sampler::set_constraint`]: crate::Sampler::set_constraint
#[derive(Clone)]
pub struct Constraint {
    /// Before the first token.
    fresh: Matcher,
    matcher: Matcher,
    ends: Vec<u32>,
    /// Whether a token ended the text.
    is_ended: bool,
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").field("is_complete", &self.is_complete()).finish_non_exhaustive()
    }
}

impl Constraint {
    /// JSON that this schema accepts: a value without anything before it, with at most 64 spaces or line breaks in a row.
    /// Strings have no `\u` escapes, so that a key has only one spelling. `docs/models.md` lists the keywords.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a text that is no JSON, and for a schema that is not valid, that
    /// nothing satisfies, or that is too large; [`ErrorKind::Unsupported`](crate::ErrorKind) for a keyword or a
    /// combination of keywords that cannot be enforced, naming its place.
    pub fn json_schema(tokenizer: &Tokenizer, text: &str) -> Result<Self> {
        check_length("JSON schema", text)?;
        let value = serde_json::from_str(text).map_err(|e| Error::invalid(format!("JSON schema: no JSON: {e}")))?;
        Self::new(tokenizer, "JSON schema", TopLevelGrammar::from_json_schema(schema::checked(value)?))
    }

    /// A match of this regular expression, from beginning to end, in the syntax of the crate `regex` without
    /// look-around, word boundaries and anchors.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for an expression that is not valid, that nothing matches, or that is
    /// too large.
    pub fn regex(tokenizer: &Tokenizer, text: &str) -> Result<Self> {
        check_length("regular expression", text)?;
        Self::new(tokenizer, "regular expression", TopLevelGrammar::from_regex(text))
    }

    /// A text of this grammar, in llguidance's variant of the language Lark. Schemas in it (`%json`) are checked as those
    /// of [`Constraint::json_schema`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a grammar that is not valid or too large;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for the attributes `temperature`, `stop` and `stop_capture`, and for
    /// schemas in it that cannot be enforced.
    pub fn lark(tokenizer: &Tokenizer, text: &str) -> Result<Self> {
        check_length("grammar", text)?;
        Self::new(tokenizer, "grammar", TopLevelGrammar::from_lark(lark::checked(text)?))
    }

    fn new(tokenizer: &Tokenizer, what: &str, grammar: TopLevelGrammar) -> Result<Self> {
        let grammars = vocabulary::grammars(tokenizer)?;
        let mut fresh = grammars.matcher(grammar);
        let refused = |message: String| Error::invalid(format!("{what}: {message}"));
        // No tokens: finds out whether the constraint is complete already.
        fresh.consume_tokens(&[]).map_err(|e| refused(reason(&e.to_string())))?;
        // llguidance warns where it enforces less than what is written.
        if let Some(warning) = fresh.grammar_warnings().first() {
            return Err(refused(reason(warning)));
        }
        let made = Constraint { matcher: fresh.clone(), fresh, ends: tokenizer.ends(), is_ended: false };
        if !made.is_complete() {
            // Limits and dead ends at the beginning.
            made.fresh.clone().compute_mask().map_err(|e| refused(reason(&e.to_string())))?;
        }
        Ok(made)
    }

    /// Goes back to the beginning.
    pub(in crate::generate) fn restart(&mut self) {
        self.matcher = self.fresh.clone();
        self.is_ended = false;
    }

    /// The tokens that may come next, in memory of other candidates.
    pub(in crate::generate) fn allowed(&mut self, buffer: Vec<Candidate>, logits: &[f32]) -> Result<Logits> {
        if self.is_complete() {
            return Err(Error::invalid("the constraint is complete, and no token may follow"));
        }
        let mask = self.matcher.compute_mask().map_err(failed)?;
        let n = mask.len() as u32;
        Ok(Logits::allowed(buffer, logits, |token| token < n && mask.is_allowed(token)))
    }

    /// Follows a token that was drawn.
    pub(in crate::generate) fn accept(&mut self, token: u32) -> Result<()> {
        if !self.ends.contains(&token) {
            return self.matcher.consume_token(token).map_err(failed);
        }
        if !self.matcher.is_accepting().map_err(failed)? {
            return Err(Error::invalid(format!("the grammar goes on after token {token}, which ends an answer")));
        }
        self.is_ended = true;
        Ok(())
    }

    /// Follows tokens that must come next, at most n, and returns them.
    pub(in crate::generate) fn forced(&mut self, n: usize) -> Result<Vec<u32>> {
        if self.is_complete() {
            return Ok(Vec::new());
        }
        let mut forced = self.matcher.compute_ff_tokens();
        if let Some(error) = self.matcher.get_error() {
            return Err(failed(error));
        }
        let text = forced.iter().take_while(|token| !self.ends.contains(token)).count();
        forced.truncate(text.min(n));
        if !forced.is_empty() {
            self.matcher.consume_tokens(&forced).map_err(failed)?;
        }
        Ok(forced)
    }

    /// Whether no token may follow.
    pub(in crate::generate) fn is_complete(&self) -> bool {
        let stopped = self.matcher.stop_reason();
        self.is_ended || (stopped != StopReason::NotStopped && stopped.is_ok())
    }
}

fn check_length(what: &str, text: &str) -> Result<()> {
    match text.len() {
        n if n > LONGEST => Err(Error::invalid(format!("{what}: has {n} bytes: at most {LONGEST} are valid"))),
        _ => Ok(()),
    }
}

/// An error of the matcher within a text.
fn failed(error: impl fmt::Display) -> Error {
    Error::invalid(format!("the constraint cannot be followed further: {}", reason(&error.to_string())))
}

/// An error's message without the marks that llguidance adds, on one line.
fn reason(message: &str) -> String {
    let message = message.split("\n<backtrace>").next().unwrap_or(message).replace("<non-verbose/>", "");
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.join("; ").as_str() {
        "NoExtensionBias" => "no token of the vocabulary can come next".into(),
        text => text.into(),
    }
}
