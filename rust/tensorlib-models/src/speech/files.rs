//! Opens the files of a model: a hub folder, a GGUF file next to a folder's settings, or a file for whisper.cpp.

use super::features::slaney_bands;
use super::generation::Generation;
use super::ggml;
use super::model::{hub_names, Shape};
use super::preparation;
use super::vocabulary::Vocabulary;
use crate::files::{tensors_of, Source};
use crate::hub;
use crate::settings::Settings;
use crate::warnings::Warnings;
use crate::weights::{HubNames, Quantization};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use tensorlib::Gguf;

/// The value of `model_type`.
pub const ARCHITECTURE: &str = "whisper";
/// A tensor by which a GGUF file is known that keeps a folder's names. Such files have no settings.
const KNOWN_BY: &str = "model.encoder.conv1.weight";

/// What a model's files hold.
pub struct Files {
    pub shape: Shape,
    pub source: Source,
    pub names: HubNames,
    pub vocabulary: Vocabulary,
    pub generation: Generation,
    /// The bands of the features.
    pub bands: Vec<f32>,
    pub warnings: Warnings,
}

/// Whether a GGUF file is Whisper's with a folder's names.
pub fn is_whisper(file: &Gguf) -> bool {
    file.tensor_info(KNOWN_BY).is_some()
}

impl Files {
    /// Opens a model; GGUF files are read into memory.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_by(path, Source::open)
    }

    /// Opens a model as [`Files::open`] does, but maps GGUF files.
    ///
    /// # Safety
    /// As for [`Source::open_mapped`].
    pub unsafe fn open_mapped(path: &Path) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::open_by(path, |path| unsafe { Source::open_mapped(path) })
    }

    fn open_by(path: &Path, open: impl FnOnce(&Path) -> Result<Source>) -> Result<Self> {
        if path.is_dir() {
            let folder = &hub::resolved(path)?;
            let config = folder.join("config.json");
            return Self::of_config(&config, &folder.join("tokenizer.json"), |_| open(&tensors_of(folder)?));
        }
        if ggml::is_ggml(path)? {
            return ggml::open(path);
        }
        match open(path)? {
            Source::Gguf(file) if is_whisper(&file) => {
                let (config, tokenizer) = settings_of(path)?;
                Self::of_config(&config, &tokenizer, |_| Ok(Source::Gguf(file)))
            }
            Source::Gguf(file) => Err(other_gguf(path, &file)),
            Source::Safetensors(_) => {
                let message =
                    format!("{}: tensors alone are no model: a hub folder or a GGUF file is valid", path.display());
                Err(Error::invalid(message)
                    .with_hint("name the folder that it lies in, with config.json and tokenizer.json"))
            }
        }
    }

    fn of_config(config: &Path, tokenizer: &Path, open: impl FnOnce(&Shape) -> Result<Source>) -> Result<Self> {
        let warnings = Warnings::default();
        let settings = Settings::of_config(config, &warnings)?;
        if settings.architecture() != ARCHITECTURE {
            let (name, path) = (settings.architecture(), config.display());
            let message = format!("{path}: model_type '{name}' is no model of speech that is known: whisper is");
            return Err(Error::unsupported(message));
        }
        let quantization = Quantization::read(&settings)?;
        let shape = Shape::read(&settings)?;
        let folder = config.parent().unwrap_or(Path::new(""));
        preparation::check(folder, &shape, &warnings)?;
        let generation = Generation::read(folder, &warnings)?;
        let size = usize::try_from(shape.vocabulary).unwrap_or(0);
        let mels = usize::try_from(shape.mels).unwrap_or(0);
        Ok(Files {
            source: open(&shape)?,
            names: HubNames { quantization, ..hub_names() },
            vocabulary: Vocabulary::of_file(tokenizer, size, &generation)?,
            generation,
            bands: slaney_bands(mels),
            warnings,
            shape,
        })
    }
}

/// The settings and the tokenizer of a GGUF file: config.json and tokenizer.json in its folder, or for
/// `model-NAME-TYPE.gguf` config-NAME.json and tokenizer-NAME.json, as candle's folders have them.
fn settings_of(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = stem.strip_prefix("model-").and_then(|rest| rest.rsplit_once('-')).map(|(name, _)| name);
    let pair = |end: &str| (folder.join(format!("config{end}.json")), folder.join(format!("tokenizer{end}.json")));
    let pairs = name.map(|name| pair(&format!("-{name}"))).into_iter().chain([pair("")]);
    pairs.into_iter().find(|(config, _)| config.exists()).ok_or_else(|| {
        let message = format!("{}: holds tensors alone, and its folder has no config.json", path.display());
        Error::no_file(message).with_hint("put config.json and tokenizer.json of the model next to it")
    })
}

fn other_gguf(path: &Path, file: &Gguf) -> Error {
    let name = file.string("general.architecture").unwrap_or_else(|_| "none".into());
    let message = format!("{}: a GGUF file of the architecture '{name}'", path.display());
    let hint = "speech is read by Whisper: a hub folder, a GGUF file with the folder's names such as \
                model.encoder.conv1.weight, or a file for whisper.cpp, ggml-*.bin";
    Error::unsupported(format!("{message}: Whisper with the names of its hub folder is supported")).with_hint(hint)
}
