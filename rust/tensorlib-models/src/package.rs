//! Opens the files of a model's path: settings, tensors, tokenizer.

use crate::files::{tensors_of, Source};
use crate::hub;
use crate::modules::ModuleList;
use crate::sentences::{Pooling, SentenceSettings};
use crate::settings::{optional_json, Settings};
use crate::tokenizer::Tokenizer;
use crate::warnings::Warnings;
use crate::{speech, Error, Result};
use std::path::{Path, PathBuf};
use tensorlib::Gguf;

/// A model's files, opened.
pub struct Package {
    pub settings: Settings,
    pub files: Source,
    /// Oddities of the files found so far.
    pub warnings: Warnings,
    folder: Option<PathBuf>,
    path: PathBuf,
}

impl Package {
    /// Opens a hub folder, or a GGUF file, which is read into memory.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_by(path, Source::open)
    }

    /// Opens a model as [`Package::open`] does, but maps GGUF files.
    ///
    /// # Safety
    /// As for [`Source::open_mapped`].
    pub unsafe fn open_mapped(path: &Path) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::open_by(path, |path| unsafe { Source::open_mapped(path) })
    }

    fn open_by(path: &Path, open: impl FnOnce(&Path) -> Result<Source>) -> Result<Self> {
        let warnings = Warnings::default();
        if path.is_dir() {
            let path = &hub::resolved(path)?;
            let settings = Settings::of_folder(path, &warnings)?;
            let files = open(&tensors_of(path)?)?;
            return Ok(Package { settings, files, warnings, folder: Some(path.clone()), path: path.clone() });
        }
        match open(path)? {
            // It has no settings.
            Source::Gguf(file) if speech::is_whisper(&file) => Err(speech::other_reader()),
            Source::Gguf(file) => {
                let settings = Settings::of_gguf(&file, &warnings)?;
                Ok(Package { settings, files: Source::Gguf(file), warnings, folder: None, path: path.to_path_buf() })
            }
            Source::Safetensors(_) => {
                let message =
                    format!("{}: tensors alone are no model: a hub folder or a GGUF file is valid", path.display());
                Err(Error::invalid(message)
                    .with_hint("name the folder that it lies in, with config.json and tokenizer.json"))
            }
        }
    }

    /// The model's file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model's folder, if it is one of a hub.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The model's file, if it is one of GGUF.
    pub fn gguf(&self) -> Option<Gguf> {
        match &self.files {
            Source::Gguf(file) => Some(file.clone()),
            Source::Safetensors(_) => None,
        }
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        match (&self.files, &self.folder) {
            (Source::Gguf(file), _) => Tokenizer::of_gguf(file, &self.warnings),
            (_, Some(folder)) => Tokenizer::of_folder(folder, &self.warnings),
            (_, None) => Err(Error::internal("a model of no file")),
        }
    }

    /// Whether a folder's tokenizer is of the class of SigLIP 2, which turns texts into lower case whatever tokenizer.json
    /// says.
    pub fn has_lower_case_tokenizer(&self) -> Result<bool> {
        let Some(folder) = &self.folder else { return Ok(false) };
        let json = optional_json(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
        Ok(json["tokenizer_class"].as_str().is_some_and(|class| class.starts_with("Siglip2Tokenizer")))
    }

    /// How vectors of sentences are made. The files' pooling is ignored if one was `chosen`. `prompt`: the name of the
    /// text before each text.
    pub fn sentence_settings(&self, chosen: Option<Pooling>, prompt: Option<&str>) -> Result<SentenceSettings> {
        match (&self.folder, prompt) {
            (None, Some(name)) => Err(Error::invalid(format!("prompt '{name}': GGUF files have none: folders do"))),
            (None, None) => {
                let settings = SentenceSettings::of_gguf(&self.settings, chosen)?;
                let file = self.gguf();
                let modules =
                    file.map(|file| ModuleList::of_gguf(&file, &self.settings)).transpose()?.unwrap_or_default();
                Ok(SentenceSettings { modules, ..settings })
            }
            (Some(folder), prompt) => SentenceSettings::of_folder(folder, chosen, prompt, &self.warnings),
        }
    }

    /// Whether the files say how vectors of sentences are made.
    pub fn makes_vectors(&self) -> Result<bool> {
        match &self.folder {
            Some(folder) => Ok(folder.join("modules.json").exists()),
            None => SentenceSettings::has_pooling(&self.settings),
        }
    }
}
