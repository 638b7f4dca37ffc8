//! What a model's path leads to: settings, tensors, tokenizer, and how a folder's sentences are to be treated.

use crate::files::Source;
use crate::settings::{read_json, Key, Settings, MAX_JSON};
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// Names of a hub folder's tensors, the first that is there.
const TENSORS: [&str; 2] = ["model.safetensors", "model.safetensors.index.json"];

/// A model's files, opened.
pub struct Package {
    pub settings: Settings,
    pub files: Source,
    folder: Option<PathBuf>,
}

/// How a text's vector comes from those of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first token.
    Cls,
}

/// What a folder says about sentences.
#[derive(Debug, Default)]
pub struct SentenceSettings {
    pub pooling: Option<Pooling>,
    pub max_tokens: Option<usize>,
}

impl Package {
    /// A hub folder or a GGUF file, which is read into memory.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_by(path, Source::open)
    }

    /// The same, with GGUF files mapped.
    ///
    /// # Safety
    /// That of [`Source::open_mapped`].
    pub unsafe fn open_mapped(path: &Path) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::open_by(path, |path| unsafe { Source::open_mapped(path) })
    }

    fn open_by(path: &Path, open: impl FnOnce(&Path) -> Result<Source>) -> Result<Self> {
        if path.is_dir() {
            let settings = Settings::of_folder(path)?;
            let Some(tensors) = TENSORS.iter().map(|name| path.join(name)).find(|file| file.exists()) else {
                let message = format!("{}: has neither {}", path.display(), TENSORS.join(" nor "));
                return Err(Error::no_file(message).with_hint(
                    "weights of PyTorch (pytorch_model.bin) are programs: convert them to safetensors before",
                ));
            };
            return Ok(Package { settings, files: open(&tensors)?, folder: Some(path.to_path_buf()) });
        }
        match open(path)? {
            Source::Gguf(file) => {
                let settings = Settings::of_gguf(&file)?;
                Ok(Package { settings, files: Source::Gguf(file), folder: None })
            }
            Source::Safetensors(_) => {
                let message =
                    format!("{}: tensors alone are no model: a hub folder or a GGUF file is valid", path.display());
                Err(Error::invalid(message)
                    .with_hint("name the folder that it lies in, with config.json and tokenizer.json"))
            }
        }
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        match (&self.files, &self.folder) {
            (Source::Gguf(file), _) => Tokenizer::from_gguf(file),
            (_, Some(folder)) => Tokenizer::from_hub(folder),
            (_, None) => Err(Error::internal("a model of no file")),
        }
    }

    /// How vectors of sentences are made. What is said of pooling is not looked at where it was `chosen`.
    pub fn sentence_settings(&self, chosen: Option<Pooling>) -> Result<SentenceSettings> {
        let Some(folder) = &self.folder else {
            if chosen.is_some() {
                return Ok(SentenceSettings { pooling: chosen, max_tokens: None });
            }
            let pooling = match self.settings.number_if(Key("pooling_type", ""))?.map(|n| n as i64) {
                Some(1) => Some(Pooling::Mean),
                Some(2) => Some(Pooling::Cls),
                Some(0) | None => None,
                Some(other) => {
                    let message = format!("{}: is {other}", self.settings.name(Key("pooling_type", "")));
                    return Err(Error::unsupported(message + ": 1 (mean) and 2 (cls) are known"));
                }
            };
            return Ok(SentenceSettings { pooling, max_tokens: None });
        };
        let modules = optional_json(&folder.join("modules.json"))?;
        let kinds = modules.iter().flat_map(|json| json.as_array()).flatten().filter_map(|m| m.get("type")?.as_str());
        // A further layer behind the pooling would make other vectors.
        if let Some(kind) = kinds.filter_map(|kind| kind.rsplit('.').next()).find(|kind| !KNOWN_MODULES.contains(kind))
        {
            let message = format!(
                "{}: module '{kind}': {} are known",
                folder.join("modules.json").display(),
                KNOWN_MODULES.join(", ")
            );
            return Err(Error::unsupported(message));
        }
        let sentence = optional_json(&folder.join("sentence_bert_config.json"))?;
        let max_tokens = sentence.as_ref().and_then(|json| json.get("max_seq_length")).and_then(Json::as_u64);
        let pooling = optional_json(&folder.join("1_Pooling/config.json"))?;
        let pooling = match (chosen, &pooling) {
            (None, Some(json)) => pooling_of(json, folder)?,
            _ => chosen,
        };
        Ok(SentenceSettings { pooling, max_tokens: max_tokens.map(|n| usize::try_from(n).unwrap_or(usize::MAX)) })
    }
}

const KNOWN_MODULES: [&str; 3] = ["Transformer", "Pooling", "Normalize"];

fn pooling_of(json: &Json, folder: &Path) -> Result<Option<Pooling>> {
    let modes = json.as_object().into_iter().flatten();
    let on: Vec<&str> = modes
        .filter(|(name, value)| name.starts_with("pooling_mode_") && value.as_bool() == Some(true))
        .map(|(name, _)| name.as_str())
        .collect();
    match on[..] {
        [] => Ok(None),
        ["pooling_mode_mean_tokens"] => Ok(Some(Pooling::Mean)),
        ["pooling_mode_cls_token"] => Ok(Some(Pooling::Cls)),
        _ => {
            let path = folder.join("1_Pooling/config.json");
            let message = format!(
                "{}: has {}: one of pooling_mode_mean_tokens and pooling_mode_cls_token is known",
                path.display(),
                on.join(", ")
            );
            Err(Error::unsupported(message).with_hint("say --pooling mean or cls to choose one of these all the same"))
        }
    }
}

fn optional_json(path: &Path) -> Result<Option<Json>> {
    path.exists().then(|| read_json(path, MAX_JSON)).transpose()
}
