//! The kinds of vocabulary that GGUF files have.

use super::{pre_names, scores, Pairs};
use crate::tokenizer::charsmap::from_base64;
use crate::tokenizer::sentencepiece::{byte_token, SPACE_MARK};
use crate::tokenizer::vocabulary::Kind;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::path::Path;
use tensorlib::{Array, Value};

/// A kind of vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Byte pairs of characters for bytes.
    Bytes,
    /// Pieces joined by score.
    Pieces,
    /// Pieces joined in the order of a list.
    OrderedPieces,
    /// The most likely pieces.
    Unigram,
    /// Longest words first.
    Words,
    /// The longest tokens of bytes.
    Longest,
}

impl Family {
    /// The kind that tokenizer.json describes.
    pub fn of(json: &Json, architecture: &str) -> Result<Self> {
        let model = &json["model"];
        // Older files do not name byte pairs.
        let kind = model["type"].as_str().unwrap_or(if model["merges"].is_array() { "BPE" } else { "none" });
        match kind {
            "BPE" if has_step(&json["pre_tokenizer"], "ByteLevel") => Ok(Family::Bytes),
            "BPE" if model["byte_fallback"] == true && architecture == "gemma4" => Ok(Family::OrderedPieces),
            "BPE" if model["byte_fallback"] == true => Ok(Family::Pieces),
            "Unigram" => Ok(Family::Unigram),
            "WordPiece" => Ok(Family::Words),
            other => {
                let message = format!(
                    "model: is {other}: GGUF files have BPE of bytes or with byte_fallback, Unigram and WordPiece"
                );
                Err(Error::unsupported(message))
            }
        }
    }

    /// The value of `tokenizer.ggml.model`.
    pub fn name(self) -> &'static str {
        match self {
            Family::Bytes => "gpt2",
            Family::Pieces => "llama",
            Family::OrderedPieces => "gemma4",
            Family::Unigram => "t5",
            Family::Words => "bert",
            Family::Longest => "rwkv",
        }
    }

    fn has_pieces(self) -> bool {
        matches!(self, Family::Pieces | Family::OrderedPieces | Family::Unigram)
    }

    /// The kind of a token in the file.
    pub fn kind(self, kind: Kind, text: &str, is_unknown: bool) -> Kind {
        match kind {
            _ if is_unknown && self.has_pieces() => Kind::Unknown,
            Kind::Normal if self.has_pieces() && self != Family::Unigram && byte_token(text).is_some() => Kind::Byte,
            other => other,
        }
    }

    /// The text of a token in the file: words are marked at their beginning, and not where they go on.
    pub fn text(self, text: &str, kind: Kind) -> String {
        let is_named = text.len() > 2 && text.starts_with('[') && text.ends_with(']');
        if self != Family::Words || kind.is_special() || is_named {
            return text.into();
        }
        match text.strip_prefix("##") {
            Some(rest) if !rest.is_empty() => rest.into(),
            _ => format!("{SPACE_MARK}{text}"),
        }
    }

    /// What else the file may say, the likeliest first.
    pub fn choices(self, folder: &Path, json: &Json, tokenizer: &Tokenizer, architecture: &str) -> Result<Vec<Pairs>> {
        let text = |key: &str, value: Value| (format!("tokenizer.ggml.{key}"), value);
        let flag = |key: &str, flag: bool| text(key, Value::Bool(flag));
        let n = tokenizer.parts.vocabulary.len();
        match self {
            Family::Bytes => {
                let merges = text("merges", merges(&json["model"])?.into());
                let prefix = add_prefix_space(&json["pre_tokenizer"]);
                let of = |name: &'static str| {
                    let mut keys = vec![text("pre", name.into()), merges.clone()];
                    keys.extend(prefix.then(|| flag("add_space_prefix", true)));
                    keys
                };
                Ok(pre_names(json, architecture)?.into_iter().map(of).collect())
            }
            Family::OrderedPieces => {
                Ok(vec![vec![text("merges", merges(&json["model"])?.into()), flag("add_space_prefix", false)]])
            }
            Family::Pieces => {
                let scores = text("scores", scores::of_pieces(folder, json, tokenizer)?.into());
                let prefix = has_step(&json["normalizer"], "Prepend") || has_step(&json["pre_tokenizer"], "Metaspace");
                Ok([prefix, !prefix]
                    .map(|prefix| vec![scores.clone(), text("pre", "default".into()), flag("add_space_prefix", prefix)])
                    .into())
            }
            Family::Unigram => {
                let mut common = vec![text("scores", scores::of_unigram(json, n)?.into())];
                if let Some(map) = charsmap(&json["normalizer"]) {
                    common.push(text("precompiled_charsmap", Value::Array(Array::U8(from_base64(map)))));
                }
                let choices = [(true, true), (true, false), (false, true), (false, false)];
                let with = |(prefix, collapse)| {
                    let own = [flag("add_space_prefix", prefix), flag("remove_extra_whitespaces", collapse)];
                    common.iter().cloned().chain(own).collect()
                };
                Ok(choices.map(with).into())
            }
            Family::Words | Family::Longest => Ok(vec![vec![]]),
        }
    }
}

/// Whether one of a file's steps is of this type.
fn has_step(steps: &Json, kind: &str) -> bool {
    let inner = ["normalizers", "pretokenizers"].iter().flat_map(|name| steps[*name].as_array().into_iter().flatten());
    steps["type"] == kind || inner.into_iter().any(|step| has_step(step, kind))
}

/// Whether steps put a space before a text.
fn add_prefix_space(steps: &Json) -> bool {
    let inner = steps["pretokenizers"].as_array().into_iter().flatten();
    (steps["type"] == "ByteLevel" && steps["add_prefix_space"] == true) || inner.into_iter().any(add_prefix_space)
}

fn charsmap(steps: &Json) -> Option<&str> {
    let inner = steps["normalizers"].as_array().into_iter().flatten();
    steps["precompiled_charsmap"].as_str().or_else(|| inner.into_iter().find_map(charsmap))
}

/// The pairs of a model as texts with a space between the two.
fn merges(model: &Json) -> Result<Vec<String>> {
    Ok(pairs(model)?.into_iter().map(|(left, right)| format!("{left} {right}")).collect())
}

/// The pairs of a model, in their order.
pub fn pairs(model: &Json) -> Result<Vec<(String, String)>> {
    let wrong = || Error::format("model.merges: pairs of texts are expected");
    let list = model["merges"].as_array().ok_or_else(wrong)?;
    let pair = |pair: &Json| {
        let of_text = pair.as_str().and_then(|text| text.split_once(' '));
        let both = of_text.or(pair[0].as_str().zip(pair[1].as_str()));
        both.map(|(left, right)| (left.to_string(), right.to_string())).ok_or_else(wrong)
    };
    list.iter().map(pair).collect()
}
