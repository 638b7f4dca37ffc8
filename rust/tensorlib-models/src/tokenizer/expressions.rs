//! Regular expressions from files, limited in size and in the steps that they may take for a text. The crate's own
//! limit is a million steps for each position of a text, and it stops without an error when that is not enough.

use super::oniguruma::translated;
use crate::{Error, Result};
use fancy_regex::{Regex, RegexBuilder};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use tokenizers::pattern::Pattern;
use tokenizers::Offsets;

/// The most bytes of an expression: about four times the longest published one.
const LONGEST: usize = 8 << 10;
/// The most weight of all expressions of a file; published ones weigh up to a few hundred. A unit takes about 40 KB.
const HEAVIEST: usize = 1024;
/// Limits of backtracking steps for a search: if the first is not enough, the search restarts with the next. The last
/// is the crate's own.
const LIMITS: [u64; 4] = [1 << 8, 1 << 12, 1 << 16, 1_000_000];
/// Limits of the steps that a text may take beyond the first limit of each search: steps per byte, and steps for any
/// text. A run of spaces takes two per space.
const STEPS_PER_BYTE: u64 = 256;
const STEPS: u64 = 4 << 20;

/// The steps left for a text.
pub(super) struct Work(AtomicU64);

impl Work {
    /// The steps for a text of `bytes` bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Work(AtomicU64::new((bytes as u64).saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS)))
    }

    /// Takes this number of steps; returns whether they were left.
    fn spend(&self, steps: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(steps)).is_ok()
    }
}

/// The total weight of a file's expressions so far.
#[derive(Default)]
pub(super) struct Weight(usize);

impl Weight {
    /// Adds an expression. Character classes take the memory, times the number of their repetitions.
    fn add(&mut self, pattern: &str) -> Result<()> {
        if pattern.len() > LONGEST {
            return Err(Error::format(format!("an expression of {} bytes: up to {LONGEST} are valid", pattern.len())));
        }
        let (mut classes, mut times, mut characters) = (1 + pattern.len() / 16, 1usize, pattern.chars().peekable());
        while let Some(character) = characters.next() {
            match character {
                '\\' => classes += characters.next().map_or(0, |c| usize::from(c.is_ascii_alphabetic())),
                '[' | '.' => classes += 1,
                '{' => times = times.saturating_mul(largest_number(&mut characters).max(1)),
                _ => {}
            }
        }
        self.0 = self.0.saturating_add(classes.saturating_mul(times));
        if self.0 > HEAVIEST {
            return Err(Error::format(format!(
                "the expression '{}': it and those before it have too many classes of characters, or repeat them too often",
                shown(pattern)
            )));
        }
        Ok(())
    }
}

/// The largest number before the closing brace.
fn largest_number(characters: &mut std::iter::Peekable<std::str::Chars>) -> usize {
    let (mut largest, mut number) = (0, 0usize);
    while let Some(c) = characters.next_if(|c| c.is_ascii_digit() || *c == ',') {
        number = c.to_digit(10).map_or(0, |digit| number.saturating_mul(10).saturating_add(digit as usize));
        largest = largest.max(number);
    }
    largest
}

/// An expression from a file.
pub(super) struct Expression {
    pattern: String,
    /// A compiled expression for each of [`LIMITS`], compiled when it is needed.
    compiled: Box<[OnceLock<Option<Regex>>]>,
}

impl Expression {
    /// Reads the field `pattern` of a file: a text or an expression.
    pub(super) fn read(json: &serde_json::Value, weight: &mut Weight) -> Result<Self> {
        match (json["String"].as_str(), json["Regex"].as_str()) {
            (Some(text), None) => {
                let pattern = fancy_regex::escape(text).into_owned();
                weight.add(&pattern)?;
                Self::compiled(pattern)
            }
            (None, Some(pattern)) => Self::of(pattern, weight),
            _ => Err(Error::format("'pattern' has neither a String nor a Regex")),
        }
    }

    /// An expression in Oniguruma's syntax.
    pub(super) fn of(pattern: &str, weight: &mut Weight) -> Result<Self> {
        weight.add(pattern)?;
        Self::compiled(translated(pattern))
    }

    fn compiled(pattern: String) -> Result<Self> {
        let first = compile(&pattern, LIMITS[0])?;
        let later = LIMITS[1..].iter().map(|_| OnceLock::new());
        let compiled = std::iter::once(OnceLock::from(Some(first))).chain(later).collect();
        Ok(Expression { pattern, compiled })
    }

    /// The first match at or after a position.
    fn find(&self, text: &str, from: usize, work: &Work) -> tokenizers::Result<Option<Offsets>> {
        for (compiled, limit) in self.compiled.iter().zip(LIMITS) {
            if limit > LIMITS[0] && !work.spend(limit) {
                break;
            }
            let regex = compiled.get_or_init(|| compile(&self.pattern, limit).ok());
            if let Some(Ok(found)) = regex.as_ref().map(|regex| regex.find_from_pos(text, from)) {
                return Ok(found.map(|found| (found.start(), found.end())));
            }
        }
        let pattern = shown(&self.pattern);
        Err(format!("the expression '{pattern}' takes too many steps for a text of {} bytes", text.len()).into())
    }

    /// Divides a text into matches and the parts between them.
    pub(super) fn parts(&self, text: &str, work: &Work) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        if text.is_empty() {
            return Ok(vec![((0, 0), false)]);
        }
        let (mut parts, mut from, mut end, mut last) = (Vec::new(), 0, 0, None);
        while from <= text.len() {
            let Some((start, stop)) = self.find(text, from, work)? else { break };
            from = stop;
            if start == stop {
                from += text[stop..].chars().next().map_or(1, char::len_utf8);
                // Skips an empty match directly after another match.
                if last == Some(stop) {
                    continue;
                }
            }
            last = Some(stop);
            if end != start {
                parts.push(((end, start), false));
            }
            parts.push(((start, stop), true));
            end = stop;
        }
        if end != text.len() {
            parts.push(((end, text.len()), false));
        }
        Ok(parts)
    }
}

fn compile(pattern: &str, limit: u64) -> Result<Regex> {
    let regex = RegexBuilder::new(pattern).backtrack_limit(usize::try_from(limit).unwrap_or(usize::MAX)).build();
    regex.map_err(|error| Error::format(format!("the expression '{}': {error}", shown(pattern))))
}

/// The beginning of an expression, for messages.
fn shown(pattern: &str) -> String {
    pattern.chars().take(60).collect()
}

/// Parts in the form that the crate expects.
pub(super) struct Found(pub(super) Vec<(Offsets, bool)>);

impl Pattern for &Found {
    fn find_matches(&self, _: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        Ok(self.0.clone())
    }
}
