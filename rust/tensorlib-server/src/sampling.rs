//! The fields of a request that say how tokens are drawn.

use crate::error::{ApiError, Result};
use crate::fields::{shortened, Fields};
use serde_json::Value;
use std::hash::{BuildHasher, Hasher};
use tensorlib_models::SamplerOptions;

/// The most tokens with a bias, texts that end an answer, and bytes of one of those.
const BIASES: usize = 1024;
const STOPS: usize = 16;
const STOP_BYTES: usize = 512;

/// The most likely tokens that a request may ask log-probabilities of.
pub const LOGPROBS: usize = 20;

/// Takes the fields of OpenAI's API, and those of llama.cpp's samplers. What a request does not say is as OpenAI's
/// documentation has it: a temperature of 1, and no other change. `logprobs` are taken by the routes, which differ.
pub fn read(fields: &mut Fields, vocabulary: usize) -> Result<SamplerOptions> {
    let usual = SamplerOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..SamplerOptions::default() };
    let mut number = |name, usual: f64, least: f64, most: f64| -> Result<f64> {
        Ok(fields.number(name, least..=most)?.unwrap_or(usual))
    };
    let mut made = SamplerOptions {
        temperature: number("temperature", usual.temperature, 0.0, 100.0)?,
        top_p: number("top_p", usual.top_p, 0.0, 1.0)?,
        min_p: number("min_p", usual.min_p, 0.0, 1.0)?,
        typical_p: number("typical_p", usual.typical_p, 0.0, 1.0)?,
        presence_penalty: number("presence_penalty", usual.presence_penalty, -2.0, 2.0)?,
        frequency_penalty: number("frequency_penalty", usual.frequency_penalty, -2.0, 2.0)?,
        repeat_penalty: number("repeat_penalty", usual.repeat_penalty, 1e-3, 1e3)?,
        dynatemp_range: number("dynatemp_range", usual.dynatemp_range, 0.0, 100.0)?,
        dynatemp_exponent: number("dynatemp_exponent", usual.dynatemp_exponent, 0.0, 1e3)?,
        xtc_probability: number("xtc_probability", usual.xtc_probability, 0.0, 1.0)?,
        xtc_threshold: number("xtc_threshold", usual.xtc_threshold, 0.0, 1.0)?,
        mirostat_tau: number("mirostat_tau", usual.mirostat_tau, 0.0, 100.0)?,
        mirostat_eta: number("mirostat_eta", usual.mirostat_eta, 0.0, 1.0)?,
        dry_multiplier: number("dry_multiplier", usual.dry_multiplier, 0.0, 1e6)?,
        dry_base: number("dry_base", usual.dry_base, 1.0, 1e6)?,
        ..usual.clone()
    };
    // OpenAI's penalties look at the whole text.
    let has_penalty = made.presence_penalty != 0.0 || made.frequency_penalty != 0.0;
    made.repeat_last_n = if has_penalty { -1 } else { usual.repeat_last_n };
    let bounded = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
    if let Some(n) = fields.integer("repeat_last_n", -1..=i64::from(i32::MAX))? {
        made.repeat_last_n = bounded(n);
    }
    if let Some(n) = fields.integer("dry_penalty_last_n", -1..=i64::from(i32::MAX))? {
        made.dry_penalty_last_n = bounded(n);
    }
    made.top_k = fields.count("top_k", 0..=vocabulary)?.unwrap_or(usual.top_k);
    made.dry_allowed_length = fields.count("dry_allowed_length", 1..=1 << 20)?.unwrap_or(usual.dry_allowed_length);
    if let Some(n) = fields.integer("mirostat", 0..=2)? {
        made.mirostat = match n {
            0 | 2 => n as u32,
            _ => return Err(fields.wrong("mirostat", "0 (off) and 2 are valid")),
        };
    }
    if let Some(breakers) = fields.list("dry_sequence_breakers", 64)? {
        made.dry_sequence_breakers = texts(fields, "dry_sequence_breakers", breakers)?;
    }
    made.logit_bias = biases(fields, vocabulary)?;
    made.seed = match fields.integer("seed", i64::MIN..=i64::MAX)? {
        Some(seed) => seed as u64,
        None => random(),
    };
    made.check().map_err(|e| ApiError::from(&e))?;
    Ok(made)
}

/// A random number: the standard library gives each map a random state.
pub fn random() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// `stop`: a text or several.
pub fn stops(fields: &mut Fields) -> Result<Vec<String>> {
    let found = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(values)) if values.len() <= STOPS => texts(fields, "stop", values)?,
        Some(_) => return Err(fields.wrong("stop", format!("a text, or a list of up to {STOPS} texts, is valid"))),
    };
    match found.iter().find(|text| text.is_empty() || text.len() > STOP_BYTES) {
        Some(_) => Err(fields.wrong("stop", format!("texts of 1 to {STOP_BYTES} bytes are valid"))),
        None => Ok(found),
    }
}

fn texts(fields: &Fields, name: &str, values: Vec<Value>) -> Result<Vec<String>> {
    let text = |value| match value {
        Value::String(text) if !text.is_empty() => Ok(text),
        _ => Err(fields.wrong(name, "a list of texts is valid")),
    };
    values.into_iter().map(text).collect()
}

/// `logit_bias`: an object from tokens to numbers.
fn biases(fields: &mut Fields, vocabulary: usize) -> Result<Vec<(u32, f64)>> {
    let Some(value) = fields.take("logit_bias") else { return Ok(Vec::new()) };
    let Value::Object(object) = value else {
        return Err(fields.wrong("logit_bias", "an object from tokens to numbers is valid"));
    };
    if object.len() > BIASES {
        return Err(fields.wrong("logit_bias", format!("has {} tokens: up to {BIASES} are valid", object.len())));
    }
    let bias = |(token, value): (String, Value)| {
        let found = token.parse().ok().filter(|token: &u32| (*token as usize) < vocabulary);
        let Some(id) = found else {
            let last = vocabulary.saturating_sub(1);
            let token = shortened(&token);
            return Err(fields.wrong("logit_bias", format!("'{token}' is no token: 0 to {last} are valid")));
        };
        match value.as_f64().filter(|bias| (-100.0..=100.0).contains(bias)) {
            // OpenAI's documentation: -100 bans a token.
            Some(bias) => Ok((id, if bias == -100.0 { f64::NEG_INFINITY } else { bias })),
            None => Err(fields.wrong("logit_bias", format!("{id}: a number from -100 to 100 is valid"))),
        }
    };
    object.into_iter().map(bias).collect()
}
