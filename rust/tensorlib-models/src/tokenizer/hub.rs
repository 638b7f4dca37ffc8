//! Tokenizers from folders of model hubs.

use super::charsmap::{check_charsmap, from_base64};
use super::decoder::{Decoder, Step};
use super::expressions::Weight;
use super::guard::guarded;
use super::hub_settings::Settings;
use super::model::Model;
use super::pairs::{Pair, Part};
use super::steps::{Normalizers, PreTokenizers};
use super::tables::{MODEL, TOKENIZER};
use super::vocabulary::{Kind, Roles, Vocabulary, MAX_TOKENS};
use super::Parts;
use crate::settings::{check_fields, read_json};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value;
use std::path::Path;
use tokenizers::models::ModelWrapper;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{AddedToken, Encoding, Model as _, PostProcessor, Token};

/// The most steps of a decoder, of which published ones have up to five, and by how much the steps may lengthen a
/// token's text.
const MAX_STEPS: usize = 32;
const MAX_GROWTH: usize = 64;

pub(super) fn read(folder: &Path, warnings: &Warnings) -> Result<Parts> {
    let path = folder.join("tokenizer.json");
    let mut json = read_json(&path)?;
    let file = path.display().to_string();
    let settings = Settings::read(folder, warnings)?;
    check_known(&file, &json, warnings)?;
    check_precompiled(&file, &json["normalizer"])?;
    let mut part = |name: &str| json.get_mut(name).map(Value::take).unwrap_or_default();
    let mut weight = Weight::default();
    let normalizers = Normalizers::read(&format!("{file}: normalizer"), part("normalizer"), &mut weight)?;
    let cuts = format!("{file}: pre_tokenizer");
    let pre_tokenizers = PreTokenizers::read(&cuts, part("pre_tokenizer"), &mut weight)?;
    let special = part("added_tokens");
    let mut description = part("model");
    hide_special(&mut description, &special);
    let model: ModelWrapper = guarded(&format!("{file}: model"), || Ok(serde_json::from_value(description)?))?;
    let added = added_tokens(&file, &special, &settings, &model)?;
    let decoder = decoder(&file, &part("decoder"))?;

    let vocabulary = vocabulary(&file, &model, &added)?;
    let role = |name: &str| settings.role(name).and_then(|text| vocabulary.id(text));
    let roles = Roles { bos: role("bos").or(role("cls")), eos: role("eos"), pad: role("pad"), unknown: role("unk") };
    // The post-processor decides, as in transformers 5, even if tokenizer_config.json says otherwise.
    let processor = part("post_processor");
    let (prefix, suffix) = around(&file, processor.clone())?;
    let mut pair = around_pair(&file, processor)?;
    if !settings.has_types {
        pair.iter_mut().for_each(|(_, kind)| *kind = 0);
    }
    warn_if_contradicted(&file, &settings, &roles, (&prefix, &suffix), warnings);
    let of_pair = pair.iter().filter_map(|(part, _)| match part {
        Part::Token(id) => Some(id),
        Part::First | Part::Second => None,
    });
    if let Some(id) = prefix.iter().chain(&suffix).chain(of_pair).find(|id| **id as usize >= vocabulary.len()) {
        let n = vocabulary.len();
        return Err(Error::format(format!("{file}: post_processor: no token {id}; ids are 0 to {}", n - 1)));
    }
    let usage = settings.usage(folder, vocabulary.len())?;
    Ok(Parts {
        vocabulary,
        added,
        normalizers,
        pre_tokenizers,
        model: Model::Crate(Box::new(model)),
        decoder,
        prefix,
        suffix,
        pair,
        roles,
        usage,
    })
}

/// Checks the fields that nothing reads.
fn check_known(file: &str, json: &Value, warnings: &Warnings) -> Result<()> {
    for (what, object, fields) in
        [(file.to_string(), json, &TOKENIZER), (format!("{file}: model"), &json["model"], &MODEL)]
    {
        let all = object.as_object().into_iter().flatten();
        // Vocabularies are long, and only the values of rules are checked.
        let value =
            |name: &str| object.get(name).filter(|_| fields.only.iter().any(|(known, _)| *known == name)).cloned();
        check_fields(
            &[fields],
            &what,
            all.map(|(name, _)| (name.as_str(), value(name).unwrap_or_default())),
            warnings,
        )?;
    }
    Ok(())
}

/// Warns if the settings want other tokens before and after a text than the post-processor's.
fn warn_if_contradicted(
    file: &str,
    settings: &Settings,
    roles: &Roles,
    (prefix, suffix): (&[u32], &[u32]),
    warnings: &Warnings,
) {
    for (name, wanted, token, at) in
        [("add_bos_token", settings.add_bos, roles.bos, prefix), ("add_eos_token", settings.add_eos, roles.eos, suffix)]
    {
        let is_there = token.is_some_and(|token| at.contains(&token));
        if let Some(wanted) = wanted.filter(|wanted| *wanted != is_there) {
            warnings
                .add(format!("tokenizer_config.json: {name}: is {wanted}, and {file} says otherwise, which counts"));
        }
    }
}

/// Removes the texts of special tokens from a unigram vocabulary, whose model would otherwise produce these tokens for
/// ordinary text. The replacement contains a space and never matches, because such models see marks instead of spaces.
fn hide_special(model: &mut Value, added: &Value) {
    if model["type"] != "Unigram" {
        return;
    }
    let unknown = model["unk_id"].as_u64();
    for entry in added.as_array().into_iter().flatten().filter(|entry| entry["special"] == true) {
        let Some(id) = entry["id"].as_u64().filter(|id| Some(*id) != unknown) else { continue };
        let piece =
            usize::try_from(id).ok().and_then(|id| model["vocab"].get_mut(id)).and_then(|piece| piece.get_mut(0));
        if let Some(text) = piece.filter(|text| **text == entry["content"]) {
            *text = Value::String(format!(" {id}"));
        }
    }
}

/// Checks tables of characters before the crate reads them; see [`check_charsmap`].
fn check_precompiled(file: &str, normalizer: &Value) -> Result<()> {
    if let Some(text) = normalizer["precompiled_charsmap"].as_str() {
        check_charsmap(&format!("{file}: precompiled_charsmap"), &from_base64(text))?;
    }
    // The JSON parser has limited the depth.
    for inner in normalizer["normalizers"].as_array().into_iter().flatten() {
        check_precompiled(file, inner)?;
    }
    Ok(())
}

/// Tokens that are cut out of the text, with their ids: first those of the file, then those that only the settings
/// have.
fn added_tokens(file: &str, list: &Value, settings: &Settings, model: &ModelWrapper) -> Result<Vec<(u32, AddedToken)>> {
    let mut added: Vec<(u32, AddedToken)> = Vec::new();
    for (i, entry) in list.as_array().into_iter().flatten().enumerate() {
        let what = format!("{file}: added_tokens: element {i}");
        let id = entry["id"].as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| Error::format(format!("{what}: 'id' is no number of a token")))?;
        let token: AddedToken =
            serde_json::from_value(entry.clone()).map_err(|error| Error::format(format!("{what}: {error}")))?;
        // A token that the model knows under another id keeps that id, as in the crate.
        added.push((model.token_to_id(&token.content).unwrap_or(id), token));
    }
    for (id, token) in &settings.added {
        if !added.iter().any(|(_, other)| other.content == token.content) {
            added.push((model.token_to_id(&token.content).unwrap_or(*id), token.clone()));
        }
    }
    Ok(added)
}

fn vocabulary(file: &str, model: &ModelWrapper, added: &[(u32, AddedToken)]) -> Result<Vocabulary> {
    let vocab = model.get_vocab();
    let ids = vocab.values().chain(added.iter().map(|(id, _)| id));
    let n = ids.max().map_or(0, |id| *id as usize + 1);
    if n > MAX_TOKENS {
        return Err(Error::format(format!(
            "{file}: a token has the id {}; at most {} is expected",
            n - 1,
            MAX_TOKENS - 1
        )));
    }
    let mut texts = vec![Box::<str>::default(); n];
    let mut kinds = vec![Kind::Unused; n];
    for (text, id) in vocab {
        texts[id as usize] = text.into();
        kinds[id as usize] = Kind::Normal;
    }
    for (id, token) in added {
        texts[*id as usize] = token.content.as_str().into();
        kinds[*id as usize] = if token.special { Kind::Control } else { Kind::UserDefined };
    }
    Vocabulary::new(texts, kinds)
}

/// No token has this id, so it marks the position of a text.
const TEXT: u32 = u32::MAX;

/// The tokens that the post-processor puts before and after a text.
fn around(file: &str, description: Value) -> Result<(Vec<u32>, Vec<u32>)> {
    let ids = guarded(&format!("{file}: post_processor"), || {
        let Some(processor) = serde_json::from_value::<Option<PostProcessorWrapper>>(description)? else {
            return Ok(vec![TEXT]);
        };
        let text = Encoding::from_tokens(vec![Token::new(TEXT, String::new(), (0, 0))], 0);
        Ok(processor.process(text, None, true)?.get_ids().to_vec())
    })?;
    match ids.iter().position(|id| *id == TEXT) {
        Some(at) => Ok((ids[..at].to_vec(), ids[at + 1..].to_vec())),
        None => Err(Error::format(format!("{file}: post_processor: it leaves out the text"))),
    }
}

/// The parts of a pair of texts, as the post-processor puts them together; none if it leaves one of them out.
fn around_pair(file: &str, description: Value) -> Result<Pair> {
    const SECOND: u32 = TEXT - 1;
    let parts = guarded(&format!("{file}: post_processor"), || {
        let Some(processor) = serde_json::from_value::<Option<PostProcessorWrapper>>(description)? else {
            return Ok(vec![(Part::First, 0), (Part::Second, 1)]);
        };
        let text = |id, kind| Encoding::from_tokens(vec![Token::new(id, String::new(), (0, 0))], kind);
        let pair = processor.process(text(TEXT, 0), Some(text(SECOND, 1)), true)?;
        let part = |id: &u32| match *id {
            TEXT => Part::First,
            SECOND => Part::Second,
            id => Part::Token(id),
        };
        Ok(pair.get_ids().iter().map(part).zip(pair.get_type_ids().iter().copied()).collect())
    })?;
    let has = |text: Part| parts.iter().any(|(part, _)| *part == text);
    Ok(if has(Part::First) && has(Part::Second) { parts } else { Pair::new() })
}

/// The decoders of a file as steps.
fn decoder(file: &str, description: &Value) -> Result<Decoder> {
    let mut decoder = Decoder::default();
    let (mut steps, mut growth) = (vec![description], 1);
    while let Some(step) = steps.pop() {
        if decoder.steps.len() + steps.len() >= MAX_STEPS {
            return Err(Error::format(format!("{file}: decoder: more than {MAX_STEPS} steps")));
        }
        let text_or = |name: &str, usual: &str| text_of(step, name).unwrap_or(usual.into());
        match step["type"].as_str().unwrap_or_default() {
            "Sequence" => steps.extend(step["decoders"].as_array().into_iter().flatten().rev()),
            "ByteLevel" => decoder.steps.push(Step::ByteLevel),
            "ByteFallback" => decoder.steps.push(Step::ByteTokens),
            // It joins tokens, which are always joined here.
            "Fuse" => {}
            "Replace" => decoder.steps.push(replacement(file, step, &mut growth)?),
            "Strip" => decoder.strip_start |= strips_start(file, step)?,
            "Metaspace" => {
                decoder.steps.push(Step::Replace(text_or("replacement", "\u{2581}"), " ".into()));
                decoder.strip_start = step["prepend_scheme"] != "never" && step["add_prefix_space"] != false;
            }
            "WordPiece" => {
                let tidy = step["cleanup"].as_bool().unwrap_or(true);
                decoder.steps.push(Step::Words { prefix: text_or("prefix", "##"), tidy });
                decoder.strip_start = true;
            }
            "BPEDecoder" => {
                decoder.steps.push(Step::Replace(text_or("suffix", "</w>"), " ".into()));
                decoder.strip_end = true;
            }
            "" if description.is_null() => {
                decoder.steps.push(Step::Spaced);
                decoder.strip_start = true;
            }
            other => return Err(unknown_decoder(file, &format!("'{other}'"))),
        }
    }
    Ok(decoder)
}

fn text_of(step: &Value, name: &str) -> Option<String> {
    step[name].as_str().map(str::to_string)
}

fn unknown_decoder(file: &str, what: &str) -> Error {
    Error::unsupported(format!(
        "{file}: decoder: no {what}; there are BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace of a \
         string, Sequence, Strip of a space at the start, WordPiece"
    ))
}

/// The step of a `Replace`. `growth`: by how much the steps up to this one may lengthen a text.
fn replacement(file: &str, step: &Value, growth: &mut usize) -> Result<Step> {
    let from = step["pattern"]["String"].as_str().filter(|from| !from.is_empty());
    let texts = from.zip(text_of(step, "content"));
    let (from, to) = texts.ok_or_else(|| unknown_decoder(file, "Replace of a regular expression"))?;
    // Each step may find text that the one before it made.
    *growth *= to.len().div_ceil(from.len()).clamp(1, MAX_GROWTH + 1);
    if *growth > MAX_GROWTH {
        let message = format!("{file}: decoder: its steps make a text more than {MAX_GROWTH} times as long");
        return Err(Error::format(message));
    }
    Ok(Step::Replace(from.into(), to))
}

/// Whether a `Strip` removes a space from the text's start.
fn strips_start(file: &str, step: &Value) -> Result<bool> {
    let start = step["start"].as_u64();
    if step["content"] != " " || start > Some(1) || step["stop"] != 0 {
        return Err(unknown_decoder(file, "other Strip"));
    }
    Ok(start == Some(1))
}
