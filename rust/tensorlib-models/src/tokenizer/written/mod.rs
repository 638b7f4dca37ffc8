//! The tokenizer of a folder as the keys of a GGUF file.
//!
//! GGUF files name a kind of vocabulary and a few choices, where tokenizer.json describes steps. What fits is found by
//! the file's steps, and checked: the tokenizer that is read from the keys has to give the same tokens for some texts.

mod family;
mod same;
mod scores;

use super::pretokenizers;
use super::vocabulary::Kind;
use super::{world, Tokenizer};
use crate::convert::read_back;
use crate::settings::read_json;
use crate::warnings::Warnings;
use crate::{Error, Result};
use family::Family;
use serde_json::Value as Json;
use std::path::Path;
use tensorlib::Value;

type Pairs = Vec<(String, Value)>;

/// The keys `tokenizer.*` of a GGUF file of this architecture, for embeddings with this number of rows.
///
/// # Errors
/// As [`Tokenizer::from_hub`]; [`ErrorKind::Unsupported`](crate::ErrorKind) for a tokenizer that GGUF files, or this
/// crate, do not express.
pub(crate) fn gguf_keys(folder: &Path, architecture: &str, rows: i64, warnings: &Warnings) -> Result<Pairs> {
    let tokenizer = Tokenizer::of_folder(folder, warnings)?;
    let world = world::file_in(folder);
    let path = world.clone().unwrap_or_else(|| folder.join("tokenizer.json"));
    let file = path.display().to_string();
    let (json, family) = match world {
        Some(_) => (Json::Null, Family::Longest),
        None => {
            let json = read_json(&path)?;
            let family = Family::of(&json, architecture).map_err(|e| e.about(&file))?;
            (json, family)
        }
    };
    let mut common = vec![
        ("general.architecture".into(), architecture.into()),
        ("tokenizer.ggml.model".into(), family.name().into()),
    ];
    add_tokens(&tokenizer, family, rows, &mut common);
    add_special(&tokenizer, family, &file, &mut common)?;
    add_template(&tokenizer, &mut common);
    let mut first = None;
    for choice in family.choices(folder, &json, &tokenizer, architecture).map_err(|e| e.about(&file))? {
        let keys: Pairs = common.iter().chain(&choice).cloned().collect();
        let read = read_back(keys.iter().map(|(key, value)| (key.as_str(), value)))?;
        let made = Tokenizer::of_gguf(&read, &Warnings::default())?;
        match same::first_difference(&tokenizer, &made)? {
            None => {
                same::warn_of_added(&tokenizer, &made, warnings)?;
                // The architecture's own key is set with the model's.
                return Ok(keys.into_iter().skip(1).collect());
            }
            Some(text) => first = first.or(Some(text)),
        }
    }
    let text = first.unwrap_or_default();
    let message = format!("{file}: GGUF files do not express this tokenizer: the tokens of {text:?} would be others");
    Err(Error::unsupported(message).with_hint("the folder itself can be used"))
}

/// Texts and kinds of all tokens. Rows of the embeddings without a token get a name that nothing encodes to.
fn add_tokens(tokenizer: &Tokenizer, family: Family, rows: i64, keys: &mut Pairs) {
    let vocabulary = &tokenizer.parts.vocabulary;
    let n = vocabulary.len().max(usize::try_from(rows).unwrap_or(0));
    let (mut texts, mut kinds) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for id in 0..n {
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        let text = vocabulary.text(id).unwrap_or_default();
        let kind = if text.is_empty() {
            Kind::Unused
        } else {
            family.kind(vocabulary.kind(id), text, tokenizer.unknown() == Some(id))
        };
        texts.push(if text.is_empty() { format!("[PAD{id}]") } else { family.text(text, kind) });
        kinds.push(kind as i32);
    }
    keys.push(("tokenizer.ggml.tokens".into(), texts.into()));
    keys.push(("tokenizer.ggml.token_type".into(), kinds.into()));
}

/// Tokens with a role, and those that are put around a text.
fn add_special(tokenizer: &Tokenizer, family: Family, file: &str, keys: &mut Pairs) -> Result<()> {
    let parts = &tokenizer.parts;
    let one = |tokens: &[u32], where_: &str| match tokens {
        [] => Ok(None),
        [token] => Ok(Some(*token)),
        _ => {
            let message =
                format!("{file}: post_processor: puts {} tokens {where_} a text: GGUF files have one", tokens.len());
            Err(Error::unsupported(message))
        }
    };
    let (before, after) = (one(&parts.prefix, "before")?, one(&parts.suffix, "after")?);
    let (mut bos, mut eos) = (before.or(parts.roles.bos), parts.roles.eos);
    let mut put = |name: &str, id: Option<u32>| {
        if let Some(id) = id {
            keys.push((format!("tokenizer.ggml.{name}_token_id"), id.into()));
        }
    };
    if family == Family::Words {
        put("cls", before);
        put("seperator", after);
        (bos, eos) = (bos, eos.or(after));
    } else if after.is_some() && eos != after {
        if eos.is_some() {
            let message = format!("{file}: post_processor: puts another token than eos_token after a text");
            return Err(Error::unsupported(message + ", which GGUF files do not express"));
        }
        eos = after;
    }
    put("bos", bos);
    put("eos", eos);
    put("padding", parts.roles.pad);
    put("unknown", parts.roles.unknown);
    let usual = super::vocabulary::ends(&parts.vocabulary, eos);
    let mut others =
        parts.usage.ends.iter().copied().filter(|id| !usual.contains(id) && parts.vocabulary.text(*id).is_some());
    put("eot", others.next());
    put("eom", others.next());
    if others.next().is_some() {
        tokenizer.warnings.add("more than three tokens end a text: GGUF files name three of them");
    }
    keys.push(("tokenizer.ggml.add_bos_token".into(), Value::Bool(before.is_some())));
    keys.push(("tokenizer.ggml.add_eos_token".into(), Value::Bool(after.is_some())));
    if !parts.usage.suppressed.is_empty() {
        let ids: Vec<i32> = parts.usage.suppressed.iter().map(|id| i32::try_from(*id).unwrap_or(i32::MAX)).collect();
        keys.push(("tokenizer.ggml.suppress_tokens".into(), ids.into()));
    }
    if !parts.usage.stops.is_empty() {
        tokenizer.warnings.add("generation_config.json: stop_strings: are left out: GGUF files have no key for them");
    }
    Ok(())
}

fn add_template(tokenizer: &Tokenizer, keys: &mut Pairs) {
    if let Some(template) = tokenizer.chat_template() {
        keys.push(("tokenizer.chat_template".into(), template.into()));
    }
}

/// The names of `tokenizer.ggml.pre` for the steps of a tokenizer.json, the best first.
fn pre_names(json: &Json, architecture: &str) -> Result<Vec<&'static str>> {
    let names = pretokenizers::written::names(json, architecture);
    match names.is_empty() {
        false => Ok(names),
        true => {
            let known = pretokenizers::names().join(", ");
            Err(Error::unsupported(format!(
                "pre_tokenizer: its steps are those of none of the names that GGUF files have: {known}"
            )))
        }
    }
}
