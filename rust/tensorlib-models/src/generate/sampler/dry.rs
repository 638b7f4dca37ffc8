//! DRY: a penalty for continuing a repetition.

use super::logits::Logits;
use super::options::SamplerOptions;
use super::penalties::last;
use crate::tokenizer::{TokenTexts, Tokenizer};
use crate::{Error, Result};
use std::collections::HashMap;
use std::fmt;

/// Don't Repeat Yourself (p-e-w, text-generation-webui, pull request 5677, 2024). Of the last `dry_penalty_last_n`
/// tokens, let r(t) be the length of the longest repetition that token t would continue: the most tokens at the end of
/// the sequence that also stand, in this order, before an earlier t.
///
/// ```text
/// logit[t] -= dry_multiplier * dry_base ^ (r(t) - dry_allowed_length)     if r(t) >= dry_allowed_length
/// ```
///
/// A repetition does not reach across a sequence breaker: it consists of tokens that begin after the last breaker in
/// the text. Breakers are found in the text of the tokens, so they may be a part of a token or extend over several.
pub(super) struct Dry {
    multiplier: f64,
    base: f64,
    allowed_length: usize,
    last_n: i32,
    breakers: Vec<Vec<u8>>,
    texts: Option<TokenTexts>,
}

impl fmt::Debug for Dry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dry").field("multiplier", &self.multiplier).finish_non_exhaustive()
    }
}

impl Dry {
    /// `None` if the options turn it off.
    pub(super) fn new(options: &SamplerOptions, tokenizer: Option<&Tokenizer>) -> Result<Option<Self>> {
        if options.dry_multiplier == 0.0 || options.dry_penalty_last_n == 0 {
            return Ok(None);
        }
        let texts = match tokenizer {
            _ if options.dry_sequence_breakers.is_empty() => None,
            Some(tokenizer) => Some(tokenizer.texts()),
            None => {
                let message = "dry_sequence_breakers: has texts, which take a tokenizer: Sampler::with_tokenizer, \
                               or no texts, are valid";
                return Err(Error::invalid(message));
            }
        };
        Ok(Some(Dry {
            multiplier: options.dry_multiplier,
            base: options.dry_base,
            allowed_length: options.dry_allowed_length,
            last_n: options.dry_penalty_last_n,
            breakers: options.dry_sequence_breakers.iter().map(|text| text.clone().into_bytes()).collect(),
            texts,
        }))
    }

    pub(super) fn apply(&self, logits: &mut Logits, tokens: &[u32]) {
        let tokens = last(tokens, self.last_n);
        let limit = self.after_breaker(tokens);
        if limit < self.allowed_length {
            return;
        }
        // Reversed, the repetitions before a token are what its continuation has in common with the whole.
        let reversed: Vec<u32> = tokens.iter().rev().copied().collect();
        let mut longest: HashMap<u32, usize> = HashMap::new();
        for (i, length) in common_prefixes(&reversed).into_iter().enumerate().skip(1) {
            let length = length.min(limit);
            if length >= self.allowed_length {
                let before = longest.entry(reversed[i - 1]).or_default();
                *before = length.max(*before);
            }
        }
        for (token, length) in longest {
            let exponent = (length - self.allowed_length) as f64;
            // An infinite penalty would turn an infinite logit into NaN.
            let penalty = (self.multiplier * self.base.powf(exponent)).min(f64::MAX);
            logits.update(token, |logit| logit - penalty);
        }
    }

    /// How many of the last tokens begin after the last sequence breaker.
    fn after_breaker(&self, tokens: &[u32]) -> usize {
        let Some(texts) = &self.texts else { return tokens.len() };
        let longest = self.breakers.iter().map(Vec::len).max().unwrap_or(0);
        let (mut text, mut after): (Vec<u8>, Option<usize>) = (Vec::new(), None); // the text in reverse
        for token in tokens.iter().rev() {
            let known = text.len();
            text.extend(texts.get(*token).iter().rev());
            let found = self.breakers.iter().filter_map(|breaker| bytes_after(&text, breaker, known));
            after = found.chain(after).min();
            // A longer breaker may begin before the one that was found and end after it.
            if after.is_some_and(|after| text.len() >= after + longest) {
                break;
            }
        }
        let Some(after) = after else { return tokens.len() };
        let mut bytes = 0;
        let begin_after = tokens.iter().rev().take_while(|token| {
            bytes += texts.get(**token).len();
            bytes <= after
        });
        begin_after.count()
    }
}

/// The number of bytes after the last occurrence of a breaker in a text, which is given in reverse. Only occurrences that
/// do not lie within its first `known` bytes are looked for.
fn bytes_after(text: &[u8], breaker: &[u8], known: usize) -> Option<usize> {
    let begin = (known + 1).saturating_sub(breaker.len());
    let end = (text.len() + 1).saturating_sub(breaker.len());
    (begin..end).find(|at| text[*at..*at + breaker.len()].iter().eq(breaker.iter().rev()))
}

/// For each position, how many elements from it on equal those from the beginning on: Gusfield's Z algorithm
/// (Algorithms on Strings, Trees, and Sequences, 1997), in linear time. The first is 0.
fn common_prefixes(all: &[u32]) -> Vec<usize> {
    let mut lengths = vec![0; all.len()];
    let (mut left, mut right) = (0, 0); // the known match that reaches furthest
    for i in 1..all.len() {
        let mut length = if i < right { lengths[i - left].min(right - i) } else { 0 };
        while i + length < all.len() && all[length] == all[i + length] {
            length += 1;
        }
        if i + length > right {
            (left, right) = (i, i + length);
        }
        lengths[i] = length;
    }
    lengths
}
