//! How a text's vector follows from its tokens' vectors, as the files of sentence-transformers or a GGUF file define
//! it.

use crate::modules::ModuleList;
use crate::settings::{optional_json, Fields, Key, Object, Settings};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::path::Path;

/// How a text's vector follows from its tokens' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The vector of the first token.
    Cls,
    /// The vector of the last token.
    Last,
}

/// A model's settings for sentences.
#[derive(Debug, Default)]
pub(crate) struct SentenceSettings {
    pub pooling: Option<Pooling>,
    pub max_tokens: Option<usize>,
    /// The elements that are kept of a vector, for models whose first elements are vectors of their own (Matryoshka).
    pub dimensions: Option<usize>,
    /// The text put before each text.
    pub prompt: String,
    /// The file that wants the prompt's tokens left out of the pooling.
    pub excludes_prompt: Option<String>,
    /// The task that a folder's first module takes.
    pub default_task: Option<String>,
    /// Whether texts are converted to lower case first.
    pub lower_case: bool,
    /// What a file says that means that the model gives scores and no vectors.
    pub scores_alone: Option<String>,
    /// The modules after the pooling.
    pub modules: ModuleList,
}

/// GGUF's setting.
const POOLING_TYPE: Key = Key("pooling_type", "");
/// Its value for a head that computes scores.
const RANK: i64 = 4;

/// The settings of the first module; older folders have its model in the name.
const TRANSFORMER_FILES: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

const TRANSFORMER: Fields = Fields {
    known: &["do_lower_case", "max_seq_length", "modality_config", "model_args", "unpad_inputs"],
    only: &[
        ("config_args", &["{}"]),
        ("config_kwargs", &["{}"]),
        ("document_length", &[]),
        ("method_output_name", &["\"last_hidden_state\""]),
        ("model_kwargs", &["{}"]),
        ("module_output_name", &["\"token_embeddings\""]),
        ("processing_kwargs", &["{}"]),
        ("processor_kwargs", &["{}"]),
        ("query_expansion", &[]),
        ("query_length", &[]),
        ("tokenizer_args", &["{}"]),
        ("transformer_task", &["\"feature-extraction\""]),
    ],
};
const MODALITY: Fields =
    Fields { known: &[], only: &[("method", &["\"forward\""]), ("method_output_name", &["\"last_hidden_state\""])] };
/// What the first module's code gets; newer versions do not read whether it may be run.
const MODEL_ARGS: Fields = Fields { known: &["default_task", "trust_remote_code"], only: &[] };
const POOLING: Fields = Fields {
    known: &["embedding_dimension", "include_prompt", "pooling_mode", "pooling_mode_*", "word_embedding_dimension"],
    only: &[],
};
const SENTENCE: Fields = Fields {
    known: &["__version__", "activation_fn", "default_prompt_name", "prompts", "similarity_fn_name", "truncate_dim"],
    only: &[("model_type", &["\"SentenceTransformer\"", "\"CrossEncoder\""])],
};

impl SentenceSettings {
    /// Whether a GGUF file says that the vectors of tokens are pooled.
    pub(crate) fn has_pooling(settings: &Settings) -> Result<bool> {
        const POOLINGS: [f64; 3] = [1.0, 2.0, 3.0];
        Ok(settings.number_if(POOLING_TYPE)?.is_some_and(|n| POOLINGS.contains(&n)))
    }

    /// Whether a GGUF file says that its model gives scores.
    pub(crate) fn gives_scores(settings: &Settings) -> Result<bool> {
        Ok(settings.number_if(POOLING_TYPE)? == Some(RANK as f64))
    }

    /// Reads the settings of a GGUF file. Its pooling is ignored if one was `chosen`.
    pub(crate) fn of_gguf(settings: &Settings, chosen: Option<Pooling>) -> Result<Self> {
        /// "Unspecified", as a signed and an unsigned number.
        const UNSPECIFIED: [i64; 2] = [-1, 0xFFFF_FFFF];
        if chosen.is_some() {
            return Ok(SentenceSettings { pooling: chosen, ..Self::default() });
        }
        let found = settings.number_if(POOLING_TYPE)?.map(|n| n as i64);
        let pooling = match found.filter(|n| !UNSPECIFIED.contains(n)) {
            Some(1) => Some(Pooling::Mean),
            Some(2) => Some(Pooling::Cls),
            Some(3) => Some(Pooling::Last),
            Some(0) => {
                let name = settings.name(POOLING_TYPE);
                settings.warnings().add(format!("{name}: is 0, a vector for each token: their mean is taken"));
                None
            }
            None => None,
            Some(RANK) => {
                let what = format!("{}: is 4 (rank)", settings.name(POOLING_TYPE));
                return Ok(SentenceSettings { scores_alone: Some(what), ..Self::default() });
            }
            Some(other) => {
                let message = format!(
                    "{}: is {other}: 1 (mean), 2 (cls), 3 (last) and 4 (rank) are known",
                    settings.name(POOLING_TYPE)
                );
                return Err(Error::unsupported(message));
            }
        };
        Ok(SentenceSettings { pooling, ..Self::default() })
    }

    /// A text in lower case, if the files want that.
    pub(crate) fn cased<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.lower_case {
            true => text.to_lowercase().into(),
            false => text.into(),
        }
    }

    /// A text as the model gets it, after the prompt.
    pub(crate) fn whole<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.prompt.is_empty() {
            true => self.cased(text),
            false => format!("{}{}", self.prompt, self.cased(text)).into(),
        }
    }

    /// The number of elements of a vector: those that were `chosen` or that the files keep, of the model's `width`.
    pub(crate) fn kept(&self, chosen: Option<usize>, width: usize) -> Result<usize> {
        let kept = chosen.or(self.dimensions).unwrap_or(width);
        match (1..=width).contains(&kept) {
            true => Ok(kept),
            false => {
                let what =
                    if chosen.is_some() { "dimensions" } else { "config_sentence_transformers.json: truncate_dim" };
                Err(Error::invalid(format!("{what}: is {kept}: 1 to {width} are valid")))
            }
        }
    }

    /// Refuses vectors of a model that its file gives no pooling for them.
    pub(crate) fn check_vectors(&self) -> Result<()> {
        let Some(what) = &self.scores_alone else { return Ok(()) };
        let message = format!("{what}: the model gives scores, no vectors");
        Err(Error::unsupported(message)
            .with_hint("rerank and classify use its head; --pooling mean, cls or last gives vectors"))
    }

    /// Reads the settings of a folder. The prompt is the one of this name, or the default.
    pub(crate) fn of_folder(
        folder: &Path,
        chosen: Option<Pooling>,
        named: Option<&str>,
        warnings: &Warnings,
    ) -> Result<Self> {
        let (pooling_folder, modules) = ModuleList::of_folder(folder, warnings)?;
        let pooling_file = folder.join(pooling_folder).join("config.json");
        let mut found = SentenceSettings { pooling: chosen, modules, ..Self::default() };
        let transformer = TRANSFORMER_FILES.iter().map(|name| folder.join(name)).find(|path| path.exists());
        if let Some(file) = transformer.map(|path| Object::read(&path, &TRANSFORMER, warnings)).transpose()?.flatten() {
            found.lower_case = file.flag("do_lower_case")?;
            found.max_tokens = length(&file, "max_seq_length")?;
            let args = &file.json["model_args"];
            let what = format!("{}: model_args", file.path);
            if !args.is_null() && !args.is_object() {
                return Err(file.wrong("model_args", "an object"));
            }
            file.check(&what, args, &MODEL_ARGS, warnings)?;
            found.default_task = match &args["default_task"] {
                Json::Null => None,
                task => Some(
                    task.as_str()
                        .map(String::from)
                        .ok_or_else(|| file.wrong("model_args", "a default_task that is a text"))?,
                ),
            };
            for (kind, modality) in file.json["modality_config"].as_object().into_iter().flatten() {
                let what = format!("{}: modality_config.{kind}", file.path);
                if kind == "text" {
                    file.check(&what, modality, &MODALITY, warnings)?;
                }
            }
        }
        if found.max_tokens.is_none() {
            let path = folder.join("tokenizer_config.json");
            let json = optional_json(&path)?.unwrap_or_default();
            found.max_tokens = length(&Object { json, path: path.display().to_string() }, "model_max_length")?;
        }
        let pooling = Object::read(&pooling_file, &POOLING, warnings)?;
        if let (Some(file), true) = (&pooling, chosen.is_none() || found.modules.gives_scores()) {
            let said = pooling_of(file, found.modules.depends_on_length())?;
            found.modules.pooling = said;
            found.pooling = chosen.or(said);
        }
        if chosen.is_none() {
            found.scores_alone = found.modules.scores_said(folder);
        }
        let path = folder.join("config_sentence_transformers.json");
        if let Some(file) = Object::read(&path, &SENTENCE, warnings)? {
            found.prompt = prompt(&file, named)?;
            found.dimensions = length(&file, "truncate_dim")?;
            found.modules.activation = file.text_if("activation_fn")?.map(String::from);
        } else if let Some(name) = named {
            return Err(Error::invalid(format!(
                "prompt '{name}': {} does not exist, which has prompts",
                path.display()
            )));
        }
        found.excludes_prompt = pooling.filter(|file| file.json["include_prompt"] == false).map(|file| file.path);
        found.check_prompt()?;
        Ok(found)
    }

    /// Puts this text before each text.
    pub(crate) fn set_prompt(&mut self, prompt: &str) -> Result<()> {
        self.prompt = prompt.to_string();
        self.check_prompt()
    }

    fn check_prompt(&self) -> Result<()> {
        let Some(path) = self.excludes_prompt.as_ref().filter(|_| !self.prompt.is_empty()) else { return Ok(()) };
        let message = format!("{path}: include_prompt: is false, and a prompt is put before each text");
        Err(Error::unsupported(message + ": true is supported"))
    }
}

/// A number of tokens or elements; null, or a number that nothing reaches, means no limit.
fn length(file: &Object, name: &str) -> Result<Option<usize>> {
    let value = &file.json[name];
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_f64().filter(|n| *n >= 1.0 && n.fract() == 0.0);
    let number = number.ok_or_else(|| file.wrong(name, "a whole number from 1 on, or null,"))?;
    Ok((number < 1e9).then_some(number as usize))
}

/// The text of this name, or the one that `default_prompt_name` names.
fn prompt(file: &Object, named: Option<&str>) -> Result<String> {
    if let Some(name) = named {
        let found = file.json["prompts"][name].as_str().map(String::from);
        return found.ok_or_else(|| {
            let prompts = file.json["prompts"].as_object().into_iter().flatten();
            let mut known: Vec<&str> = prompts.map(|(name, _)| name.as_str()).collect();
            known.sort_unstable();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            Error::invalid(format!("{}: prompts: has no '{name}': {known} can be chosen", file.path))
        });
    }
    let Some(name) = file.json["default_prompt_name"].as_str() else { return Ok(String::new()) };
    let text = file.json["prompts"][name].as_str().map(String::from);
    text.ok_or_else(|| {
        Error::format(format!("{}: default_prompt_name: is '{name}', and prompts has no text of that name", file.path))
    })
}

/// `by_length`: modules follow whose results depend on the vector's length, and not on its direction alone.
fn pooling_of(file: &Object, by_length: bool) -> Result<Option<Pooling>> {
    // Newer files name one mode or list several; older ones have a flag for each.
    let named = match &file.json["pooling_mode"] {
        Json::Null => None,
        Json::String(mode) => Some(vec![mode.clone()]),
        Json::Array(modes) => modes.iter().map(|mode| mode.as_str().map(String::from)).collect::<Option<Vec<_>>>(),
        _ => return Err(file.wrong("pooling_mode", "a text, or a list of texts,")),
    };
    let flags = file.json.as_object().into_iter().flatten();
    let on = flags.filter(|(name, value)| name.starts_with("pooling_mode_") && **value == true);
    let modes = named.unwrap_or_else(|| on.map(|(name, _)| name.clone()).collect());
    let modes: Vec<&str> = modes.iter().map(String::as_str).collect();
    match modes[..] {
        [] => Ok(None),
        ["mean_sqrt_len_tokens" | "pooling_mode_mean_sqrt_len_tokens"] if by_length => {
            let message = format!("{}: has mean_sqrt_len_tokens before modules with weights", file.path);
            Err(Error::unsupported(message + ": one of mean, cls and lasttoken is known there"))
        }
        // Divided by the root of the number of tokens: the direction is the same, and vectors have length 1.
        ["mean" | "pooling_mode_mean_tokens" | "mean_sqrt_len_tokens" | "pooling_mode_mean_sqrt_len_tokens"] => {
            Ok(Some(Pooling::Mean))
        }
        ["cls" | "pooling_mode_cls_token"] => Ok(Some(Pooling::Cls)),
        ["lasttoken" | "pooling_mode_lasttoken"] => Ok(Some(Pooling::Last)),
        _ => {
            let message = format!("{}: has {}: one of mean, cls and lasttoken is known", file.path, modes.join(", "));
            Err(Error::unsupported(message)
                .with_hint("say --pooling mean, cls or last to choose one of these all the same"))
        }
    }
}
