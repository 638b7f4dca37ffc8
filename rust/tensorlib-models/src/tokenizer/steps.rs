//! The steps that a text goes through before the model: normalizers and pre-tokenizers from files, limited in number
//! and in the length of their results.

use super::expressions::{Expression, Found, Weight, Work};
use super::guard::guarded;
use crate::{Error, Result};
use serde_json::Value;
use std::sync::OnceLock;
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::pattern::Invert;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::{NormalizedString, Normalizer, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior};

/// The most steps of each kind; published files have up to seven.
const MOST: usize = 32;
/// The most pre-tokenizers that lengthen a text, each by up to four times.
const MOST_GROWING: usize = 2;
/// The most bytes that a text may become: this many per byte, plus a number for any text. Unicode's longest
/// compatibility mapping makes 33 bytes of 3, and marks for spaces and bytes add some more.
const GROWTH: usize = 32;
const ANY: usize = 1024;
/// The most bytes of a text put before each part.
const LONGEST_PREFIX: usize = 64;

enum Normal {
    Crate(Box<NormalizerWrapper>),
    Replace(Expression, String),
}

/// Normalizers, in order.
#[derive(Default)]
pub(super) struct Normalizers(Vec<Normal>);

impl Normalizers {
    /// A normalizer of the crate.
    pub(super) fn of(normalizer: Option<NormalizerWrapper>) -> Self {
        Normalizers(normalizer.map(|one| Normal::Crate(Box::new(one))).into_iter().collect())
    }

    /// Reads the normalizers of a file. `what` is the start of messages.
    pub(super) fn read(what: &str, json: Value, weight: &mut Weight) -> Result<Self> {
        let mut steps = Vec::new();
        for json in flat(what, json, "normalizers")? {
            steps.push(match json["type"].as_str() {
                Some("Replace") => {
                    let expression = Expression::read(&json["pattern"], weight).map_err(|e| e.about(what))?;
                    let content = json["content"].as_str();
                    let content = content.ok_or_else(|| Error::format(format!("{what}: Replace has no 'content'")))?;
                    Normal::Replace(expression, content.into())
                }
                kind => {
                    let prefix = json["prepend"].as_str().map_or(0, str::len);
                    if kind == Some("Prepend") && prefix > LONGEST_PREFIX {
                        let message = format!("{what}: Prepend of {prefix} bytes: up to {LONGEST_PREFIX} are valid");
                        return Err(Error::format(message));
                    }
                    Normal::Crate(Box::new(guarded(what, || Ok(serde_json::from_value(json)?))?))
                }
            });
        }
        Ok(Normalizers(steps))
    }

    fn apply(&self, text: &mut NormalizedString, work: &Work) -> tokenizers::Result<()> {
        let bytes = text.get().len();
        let most = bytes.saturating_mul(GROWTH).saturating_add(ANY);
        let fits = |n: usize| match n > most {
            true => Err(format!("the normalizer makes {n} bytes of {bytes}: up to {most} are valid")),
            false => Ok(()),
        };
        for step in &self.0 {
            match step {
                Normal::Crate(normalizer) => normalizer.normalize(text)?,
                Normal::Replace(expression, content) => {
                    let found = Found(expression.parts(text.get(), work)?);
                    let matches = found.0.iter().filter(|(_, is_match)| *is_match);
                    let (count, taken) = matches.fold((0, 0), |(n, taken), ((a, b), _)| (n + 1, taken + (b - a)));
                    fits(content.len().saturating_mul(count).saturating_add(text.get().len() - taken))?;
                    if count > 0 {
                        text.replace(&found, content)?;
                    }
                }
            }
            fits(text.get().len())?;
        }
        Ok(())
    }
}

/// The normalizers for one text. The crate drops their errors, so the first one is kept here.
pub(super) struct Watched<'a> {
    normalizers: &'a Normalizers,
    work: &'a Work,
    error: OnceLock<tokenizers::Error>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(normalizers: &'a Normalizers, work: &'a Work) -> Self {
        Watched { normalizers, work, error: OnceLock::new() }
    }

    /// The argument for the crate: `None` if there are no normalizers.
    pub(super) fn or_none(&self) -> Option<&Self> {
        (!self.normalizers.0.is_empty()).then_some(self)
    }

    /// The first error so far.
    pub(super) fn result(self) -> tokenizers::Result<()> {
        self.error.into_inner().map_or(Ok(()), Err)
    }
}

impl Normalizer for Watched<'_> {
    fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        if self.error.get().is_none() {
            if let Err(error) = self.normalizers.apply(text, self.work) {
                self.error.get_or_init(|| error);
            }
        }
        Ok(())
    }
}

enum Cut {
    Crate(PreTokenizerWrapper),
    Split { expression: Expression, behavior: SplitDelimiterBehavior, invert: bool },
}

/// Pre-tokenizers, in order.
#[derive(Default)]
pub(super) struct PreTokenizers(Vec<Cut>);

impl PreTokenizers {
    /// A pre-tokenizer of the crate.
    pub(super) fn of(pre_tokenizer: Option<PreTokenizerWrapper>) -> Self {
        PreTokenizers(pre_tokenizer.map(Cut::Crate).into_iter().collect())
    }

    /// Reads the pre-tokenizers of a file. `what` is the start of messages.
    pub(super) fn read(what: &str, json: Value, weight: &mut Weight) -> Result<Self> {
        let (mut cuts, mut growing) = (Vec::new(), 0);
        for mut json in flat(what, json, "pretokenizers")? {
            let kind = json["type"].as_str().unwrap_or_default();
            // A pre-tokenizer without a type may be any.
            growing += usize::from(["ByteLevel", "Metaspace", ""].contains(&kind));
            if growing > MOST_GROWING {
                let message =
                    format!("{what}: more than {MOST_GROWING} of ByteLevel and Metaspace, which make texts longer");
                return Err(Error::format(message));
            }
            cuts.push(match kind {
                "Split" => Cut::Split {
                    expression: Expression::read(&json["pattern"], weight).map_err(|e| e.about(what))?,
                    behavior: guarded(what, || Ok(serde_json::from_value(json["behavior"].take())?))?,
                    invert: guarded(what, || Ok(serde_json::from_value(json["invert"].take())?))?,
                },
                // The crate uses an expression here that is the same in all its builds.
                "Whitespace" => Cut::Split {
                    expression: Expression::of(r"\w+|[^\w\s]+", weight)?,
                    behavior: SplitDelimiterBehavior::Removed,
                    invert: true,
                },
                _ => Cut::Crate(guarded(what, || Ok(serde_json::from_value(json)?))?),
            });
        }
        Ok(PreTokenizers(cuts))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn apply(&self, text: &mut PreTokenizedString, work: &Work) -> tokenizers::Result<()> {
        for cut in &self.0 {
            match cut {
                Cut::Crate(pre_tokenizer) => pre_tokenizer.pre_tokenize(text)?,
                Cut::Split { expression, behavior, invert } => text.split(|_, part| {
                    let found = Found(expression.parts(part.get(), work)?);
                    match invert {
                        true => part.split(Invert(&found), *behavior),
                        false => part.split(&found, *behavior),
                    }
                })?,
            }
        }
        Ok(())
    }
}

/// The steps of a description, with nested sequences flattened. `list` names the field of a sequence's steps.
fn flat(what: &str, json: Value, list: &str) -> Result<Vec<Value>> {
    let (mut steps, mut rest) = (Vec::new(), vec![json]);
    while let Some(mut step) = rest.pop() {
        if step.is_null() && steps.is_empty() && rest.is_empty() {
            break;
        }
        if step["type"] == "Sequence" {
            let Value::Array(inner) = step[list].take() else {
                return Err(Error::format(format!("{what}: a Sequence has no list '{list}'")));
            };
            rest.extend(inner.into_iter().rev());
        } else if step.get(list).is_some() || (step.get("pattern").is_some() && step.get("type").is_none()) {
            return Err(Error::format(format!("{what}: a step has no 'type'")));
        } else {
            steps.push(step);
        }
        if steps.len() + rest.len() > MOST {
            return Err(Error::format(format!("{what}: more than {MOST} steps")));
        }
    }
    Ok(steps)
}
