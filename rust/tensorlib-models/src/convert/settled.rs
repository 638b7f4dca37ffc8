//! The keys of a GGUF file that its reader asks for, and what they mean to it.

use super::compare::difference;
use super::header::read_back;
use crate::modules::Kind;
use crate::package::Package;
use crate::sentences::{Pooling, SentenceSettings};
use crate::settings::{Key, Keys, Settings};
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::fmt::Debug;
use tensorlib::Value;

/// Keys that no reader needs and that other programs look for.
const KEPT: [&str; 4] = ["vocab_size", "pooling_type", "attention.causal", "rope.scaling.type"];

/// The keys of a file of this architecture, and what they mean. `whole`: keys that do not begin with its name. Keys
/// that `shape` does not read are left out.
pub fn settled<Shape>(
    architecture: &'static str,
    keys: Keys,
    whole: &[(String, Value)],
    shape: impl Fn(&Settings) -> Result<Shape>,
    check: impl Fn(&Settings) -> Result<()>,
) -> Result<(Vec<(String, Value)>, Shape)> {
    let name: (String, Value) = ("general.architecture".into(), architecture.into());
    let keys = keys.into_all();
    let full = |key: &str| format!("{architecture}.{key}");
    let named: Vec<(String, Value)> = keys.iter().map(|(key, value)| (full(key), value.clone())).collect();
    let read = |named: &[(String, Value)]| {
        let all = std::iter::once(&name).chain(named).chain(whole);
        Settings::of_gguf(&read_back(all.map(|(key, value)| (key.as_str(), value)))?, &Warnings::default())
    };
    let settings = read(&named)?;
    let found = shape(&settings)?;
    let is_kept = |key: &str| settings.was_read(key) || KEPT.contains(&key);
    let kept: Vec<(String, Value)> =
        keys.into_iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (full(key), value)).collect();
    check(&read(&kept)?)?;
    Ok((kept, found))
}

/// Refuses a folder whose settings mean something else than the keys made from them.
pub fn check_same<Shape: Debug>(folder: &Shape, file: &Shape, architecture: &str) -> Result<()> {
    match difference(folder, file) {
        None => Ok(()),
        Some(what) => {
            let message = format!("GGUF files of architecture '{architecture}' do not express this model: {what}");
            Err(Error::unsupported(message).with_hint("the folder itself can be used"))
        }
    }
}

/// The pooling of vectors as a key. `usual`: that of the architecture if the folder has none. `most`: the most tokens of
/// a text.
pub fn pooling(package: &Package, usual: Option<Pooling>, most: i64) -> Result<Option<Keys>> {
    const POOLING_TYPE: Key = Key("pooling_type", "");
    let found: SentenceSettings = package.sentence_settings(None, None)?;
    if found.modules.modules.iter().any(|module| !matches!(module.kind, Kind::Normalize)) {
        let what = "modules.json: has modules with weights after the pooling, which are not written to GGUF files";
        return Err(Error::unsupported(what));
    }
    if found.lower_case {
        let what = "sentence_bert_config.json: do_lower_case: is true, which GGUF files do not express";
        return Err(Error::unsupported(what));
    }
    for (name, is_there) in [
        ("default prompt", !found.prompt.is_empty()),
        ("maximum length of texts", found.max_tokens.is_some_and(|n| (n as i64) < most)),
        ("number of elements that are kept", found.dimensions.is_some()),
        ("default task", found.default_task.is_some()),
    ] {
        if is_there {
            package.warnings.add(format!("the folder's {name} is left out: GGUF files have no key for it"));
        }
    }
    let Some(pooling) = found.pooling.or(usual) else { return Ok(None) };
    let mut keys = Keys::default();
    keys.count(
        POOLING_TYPE,
        match pooling {
            Pooling::Mean => 1,
            Pooling::Cls => 2,
            Pooling::Last => 3,
        },
    );
    Ok(Some(keys))
}
