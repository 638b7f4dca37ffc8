//! The keys of a GGUF file that describe its tokenizer. Errors name the key that is invalid.

use super::tables::GGUF;
use crate::files::check_size;
use crate::settings::{check_fields, json_of};
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::collections::BTreeSet;
use tensorlib::{Array, Gguf, Value};

/// The tokenizer's part of a file's metadata.
pub(super) struct Metadata<'a>(pub(super) &'a Gguf);

fn found(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Bool(_) => "a bool",
        Value::F32(_) | Value::F64(_) => "a float",
        Value::Array(Array::String(_)) => "an array of strings",
        Value::Array(Array::F32(_) | Array::F64(_)) => "an array of floats",
        Value::Array(_) => "another array",
        _ => "an integer",
    }
}

fn misshapen(key: &str, expected: &str, value: &Value) -> Error {
    Error::format(format!("{key}: {expected} is expected, not {}", found(value)))
}

pub(super) fn missing(key: &str, expected: &str) -> Error {
    Error::format(format!("{key}: missing; {expected} is expected"))
}

impl Metadata<'_> {
    fn get(&self, key: &str) -> Result<Option<Value>> {
        // Parsing takes several times as much memory.
        check_size(key, self.0.raw_value(key).map_or(0, <[u8]>::len) as u64)?;
        Ok(self.0.get(key))
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>> {
        match self.get(key)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(misshapen(key, "a string", &other)),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key)? {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(misshapen(key, "a bool", &other)),
        }
    }

    /// The id of a token, checked against the number of tokens.
    pub(super) fn id(&self, key: &str, n_tokens: usize) -> Result<Option<u32>> {
        if self.says_none(key) {
            return Ok(None);
        }
        let Some(value) = self.get(key)? else { return Ok(None) };
        let id = self.0.i64(key).map_err(|_| misshapen(key, "the id of a token", &value))?;
        match usize::try_from(id).ok().filter(|id| *id < n_tokens) {
            Some(id) => Ok(Some(id as u32)),
            None => Err(Error::format(format!("{key}: no token {id}; ids are 0 to {}", n_tokens.saturating_sub(1)))),
        }
    }

    /// Whether the key exists and says that there is no such token: by -1, or its bits as an unsigned number.
    pub(super) fn says_none(&self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::U32(id)) => id == u32::MAX,
            Some(Value::U64(id)) => id == u64::MAX || id == u64::from(u32::MAX),
            Some(Value::I32(id)) => id == -1,
            Some(Value::I64(id)) => id == -1 || id == i64::from(u32::MAX),
            Some(Value::I16(id)) => id == -1,
            Some(Value::I8(id)) => id == -1,
            _ => false,
        }
    }

    /// Checks the tokenizer's keys that nothing reads.
    pub(super) fn check_keys(&self, warnings: &Warnings) -> Result<()> {
        let keys = self.0.keys().filter(|key| key.starts_with("tokenizer."));
        // Only the values of rules are checked, and those are short.
        let value = |key: &str| match GGUF.only.iter().any(|(known, _)| *known == key) {
            true => self.0.get(key).map(json_of).unwrap_or_default(),
            false => serde_json::Value::Bool(true),
        };
        check_fields(&[&GGUF], "GGUF", keys.map(|key| (key, value(key))), warnings)
    }

    pub(super) fn strings(&self, key: &str) -> Result<Option<Vec<String>>> {
        match self.get(key)? {
            None => Ok(None),
            Some(Value::Array(Array::String(texts))) => Ok(Some(texts)),
            Some(other) => Err(misshapen(key, "an array of strings", &other)),
        }
    }

    /// One number per token, finite or infinite.
    pub(super) fn scores(&self, key: &str, n_tokens: usize) -> Result<Vec<f32>> {
        let expected = "an array with a float for each token";
        let scores = match self.get(key)? {
            None => return Err(missing(key, expected)),
            Some(Value::Array(Array::F32(scores))) => scores,
            Some(Value::Array(Array::F64(scores))) => scores.into_iter().map(|score| score as f32).collect(),
            Some(other) => return Err(misshapen(key, expected, &other)),
        };
        check_length(key, scores.len(), n_tokens)?;
        match scores.iter().position(|score| score.is_nan()) {
            Some(id) => Err(Error::format(format!("{key}: the score of token {id} is not a number"))),
            None => Ok(scores),
        }
    }

    /// One integer per token.
    pub(super) fn integers(&self, key: &str, n_tokens: usize) -> Result<Option<Vec<i64>>> {
        let numbers = self.list(key, "an array with an integer for each token")?;
        if let Some(numbers) = &numbers {
            check_length(key, numbers.len(), n_tokens)?;
        }
        Ok(numbers)
    }

    /// The ids of some tokens, sorted; none if there is no such key.
    pub(super) fn ids(&self, key: &str, n_tokens: usize) -> Result<Vec<u32>> {
        let ids = self.list(key, "an array of ids of tokens")?.unwrap_or_default();
        sorted_ids(key, &ids, n_tokens)
    }

    fn list(&self, key: &str, expected: &str) -> Result<Option<Vec<i64>>> {
        let numbers: Vec<i64> = match self.get(key)? {
            None => return Ok(None),
            Some(Value::Array(Array::U8(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::I8(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::U16(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::I16(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::U32(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::I32(n))) => n.into_iter().map(i64::from).collect(),
            Some(Value::Array(Array::I64(n))) => n,
            Some(other) => return Err(misshapen(key, expected, &other)),
        };
        Ok(Some(numbers))
    }

    /// Bytes, which some writers store as signed integers.
    pub(super) fn bytes(&self, key: &str) -> Result<Option<&[u8]>> {
        match self.get(key)? {
            None => Ok(None),
            Some(Value::Array(Array::U8(_) | Array::I8(_))) => Ok(self.0.raw_value(key)),
            Some(other) => Err(misshapen(key, "an array of bytes", &other)),
        }
    }
}

/// Ids without repetitions, checked against the number of tokens.
pub(super) fn sorted_ids(what: &str, ids: &[i64], n_tokens: usize) -> Result<Vec<u32>> {
    let id = |id: &i64| u32::try_from(*id).ok().filter(|id| (*id as usize) < n_tokens).ok_or(*id);
    let sorted: std::result::Result<BTreeSet<u32>, i64> = ids.iter().map(id).collect();
    let wrong = |id| Error::format(format!("{what}: no token {id}; ids are 0 to {}", n_tokens.saturating_sub(1)));
    Ok(sorted.map_err(wrong)?.into_iter().collect())
}

fn check_length(key: &str, n: usize, n_tokens: usize) -> Result<()> {
    if n == n_tokens {
        return Ok(());
    }
    Err(Error::format(format!("{key}: {n} elements for {n_tokens} tokens")))
}
