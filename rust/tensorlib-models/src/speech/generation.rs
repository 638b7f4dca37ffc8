//! What a folder's generation_config.json says about texts.

use super::languages::code;
use super::model::LEAST_TOKENS;
use super::options::SpeechTask;
use super::vocabulary::Vocabulary;
use crate::settings::{Fields, Object};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::path::Path;

const FILE: &str = "generation_config.json";

/// Fields that are read, that callers' own options decide, or that concern other programs. `alignment_heads` are for
/// the times of single words, which are not computed.
const FIELDS: Fields = Fields {
    known: &[
        "_from_model_config",
        "alignment_heads",
        "assistant_*",
        "begin_suppress_tokens",
        "bos_token_id",
        "decoder_start_token_id",
        "do_sample",
        "eos_token_id",
        "forced_decoder_ids",
        "is_assistant",
        "is_multilingual",
        "lang_to_id",
        "language",
        "max_initial_timestamp_index",
        "max_length",
        "max_new_tokens",
        "median_filter_width",
        "no_timestamps_token_id",
        "num_assistant_*",
        "num_beams",
        "pad_token_id",
        "prev_sot_token_id",
        "return_timestamps",
        "suppress_tokens",
        "task",
        "task_to_id",
        "temperature",
        "transformers_version",
        "use_cache",
    ],
    only: &[
        ("bad_words_ids", &[]),
        ("diversity_penalty", &["0"]),
        ("encoder_no_repeat_ngram_size", &["0"]),
        ("exponential_decay_length_penalty", &[]),
        ("forced_bos_token_id", &[]),
        ("forced_eos_token_id", &[]),
        ("length_penalty", &["1"]),
        ("min_length", &["0"]),
        ("no_repeat_ngram_size", &["0"]),
        ("num_beam_groups", &["1"]),
        ("repetition_penalty", &["1"]),
    ],
};

/// The file's settings; each is none if the file does not mention it.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    pub suppressed: Option<Vec<i64>>,
    pub suppressed_first: Option<Vec<i64>>,
    pub latest_first_timestamp: Option<u32>,
    pub is_multilingual: Option<bool>,
    /// Codes of languages and their tokens, in the order of these.
    pub languages: Option<Vec<(String, u32)>>,
    pub transcribe: Option<u32>,
    pub translate: Option<u32>,
    pub no_timestamps: Option<u32>,
    pub previous: Option<u32>,
    pub start: Option<u32>,
    pub end: Option<u32>,
    /// The most tokens of a text, with those before it.
    pub most_tokens: Option<usize>,
    /// The language and the task that a caller does not choose.
    language: Option<String>,
    task: Option<String>,
    /// The tokens that say so, with the one for no timestamps.
    forced: Vec<u32>,
}

impl Generation {
    /// Reads the file of a folder, if it has one.
    pub fn read(folder: &Path, warnings: &Warnings) -> Result<Self> {
        let Some(file) = Object::read(&folder.join(FILE), &FIELDS, warnings)? else { return Ok(Self::default()) };
        let mut made = Generation {
            suppressed: tokens(&file, "suppress_tokens")?,
            suppressed_first: tokens(&file, "begin_suppress_tokens")?,
            latest_first_timestamp: token(&file, "max_initial_timestamp_index")?,
            is_multilingual: file.flag_if("is_multilingual")?,
            languages: names(&file, "lang_to_id")?,
            no_timestamps: token(&file, "no_timestamps_token_id")?,
            previous: token(&file, "prev_sot_token_id")?,
            start: token(&file, "decoder_start_token_id")?,
            end: token(&file, "eos_token_id")?,
            most_tokens: match token(&file, "max_length")? {
                Some(n) if n < LEAST_TOKENS => {
                    return Err(file.wrong("max_length", &format!("a number from {LEAST_TOKENS} on")));
                }
                n => n.map(|n| n as usize),
            },
            language: file.text_if("language")?.map(code),
            task: file.text_if("task")?.map(String::from),
            forced: forced(&file)?,
            ..Self::default()
        };
        for (name, id) in names(&file, "task_to_id")?.unwrap_or_default() {
            match name.as_str() {
                "transcribe" => made.transcribe = Some(id),
                "translate" => made.translate = Some(id),
                _ => return Err(file.wrong("task_to_id", "an object with transcribe and translate")),
            }
        }
        Ok(made)
    }

    /// The language and the task that the file names for a vocabulary, of which some files have only the tokens.
    pub fn chosen(&self, vocabulary: &Vocabulary) -> Result<(Option<String>, Option<SpeechTask>)> {
        let (mut language, mut task) = (self.language.clone(), None);
        for token in self.forced.iter().copied().filter(|token| *token != vocabulary.no_timestamps) {
            let of_language = vocabulary.languages.iter().find(|(_, id)| *id == token);
            match of_language {
                Some((code, _)) => drop(language.get_or_insert_with(|| code.clone())),
                None if Some(token) == vocabulary.transcribe => task = Some(SpeechTask::Transcribe),
                None if Some(token) == vocabulary.translate => task = Some(SpeechTask::Translate),
                None => {
                    let message = format!("{FILE}: forced_decoder_ids: has the token {token}");
                    let valid = "those of languages, of tasks and of no timestamps are valid";
                    return Err(Error::format(format!("{message}: {valid}")));
                }
            }
        }
        if let Some(language) = language.as_deref().filter(|_| !vocabulary.languages.is_empty()) {
            vocabulary.language(language).map_err(|e| e.about(FILE))?;
        }
        let named = match self.task.as_deref() {
            None => None,
            Some("transcribe") => Some(SpeechTask::Transcribe),
            Some("translate") => Some(SpeechTask::Translate),
            Some(other) => {
                return Err(Error::format(format!("{FILE}: task: is '{other}': transcribe and translate are valid")));
            }
        };
        Ok((language, named.or(task)))
    }
}

/// Tokens that a text begins with, as pairs of a position and a token: a language, a task, and that there are no times,
/// which are asked for all the same. A null is a token that is not fixed.
fn forced(file: &Object) -> Result<Vec<u32>> {
    let name = "forced_decoder_ids";
    let wrong = || file.wrong(name, "null, or a list of pairs of a position from 1 to 3 and a token");
    let list = match &file.json[name] {
        Json::Null => return Ok(Vec::new()),
        list => list.as_array().ok_or_else(wrong)?,
    };
    let mut tokens = Vec::new();
    for pair in list {
        let is_place = matches!(pair[0].as_u64(), Some(1..=3));
        let token = pair[1].as_u64().and_then(|id| u32::try_from(id).ok());
        match token {
            Some(token) if is_place => tokens.push(token),
            None if is_place && pair[1].is_null() => {}
            _ => return Err(wrong()),
        }
    }
    Ok(tokens)
}

fn token(file: &Object, name: &str) -> Result<Option<u32>> {
    match &file.json[name] {
        Json::Null => Ok(None),
        value => {
            let token = value.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| *id < 1 << 20);
            token.map(Some).ok_or_else(|| file.wrong(name, "a whole number from 0 to 1048575"))
        }
    }
}

fn tokens(file: &Object, name: &str) -> Result<Option<Vec<i64>>> {
    match &file.json[name] {
        Json::Null => Ok(None),
        value => {
            let list: Option<Vec<i64>> =
                value.as_array().and_then(|list| list.iter().map(|id| id.as_i64().filter(|id| *id >= -1)).collect());
            list.map(Some).ok_or_else(|| file.wrong(name, "a list of tokens"))
        }
    }
}

/// The tokens of names, which may be written as tokens are: `<|en|>`.
fn names(file: &Object, name: &str) -> Result<Option<Vec<(String, u32)>>> {
    const VALID: &str = "an object of names with their tokens";
    let object = match &file.json[name] {
        Json::Null => return Ok(None),
        value => value.as_object().ok_or_else(|| file.wrong(name, VALID))?,
    };
    let entry = |(text, id): (&String, &Json)| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| file.wrong(name, VALID))?;
        Ok((code(text), id))
    };
    let mut all = object.iter().map(entry).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|(_, id)| *id);
    Ok(Some(all))
}
