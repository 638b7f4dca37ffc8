//! Speech: texts of sounds, by Whisper (Radford and others, Robust Speech Recognition via Large-Scale Weak Supervision,
//! 2022).

mod features;
mod files;
mod generation;
mod ggml;
mod languages;
mod model;
mod options;
mod preparation;
mod resample;
mod search;
mod session;
mod sound;
mod transcribe;
mod transcript;
mod vocabulary;

pub(crate) use files::{is_whisper, ARCHITECTURE};
pub use options::{SpeechTask, TranscriberOptions, TranscriptOptions};
pub use sound::Sound;
pub use transcript::{Transcript, TranscriptProgress, TranscriptSegment};

use crate::placement::Placement;
use crate::warnings::Warnings;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{DeviceMap, Weights};
use crate::{Error, Result};
use features::MelBank;
use files::Files;
use model::{Decoder, Encoder, Shape};
use search::Rules;
use session::Session;
use std::fmt;
use std::path::Path;
use tensorlib::{Backend, Graph};
use vocabulary::Vocabulary;

/// How many steps of 20 ms after its beginning a text begins at the latest, unless the files say so: a second.
const LATEST_FIRST: u32 = 50;

/// A model that turns speech into text. Several threads may use it; their calls wait for each other.
pub struct Transcriber {
    encoder: Encoder,
    decoder: Decoder,
    shape: Shape,
    vocabulary: Vocabulary,
    rules: Rules,
    bank: MelBank,
    /// The most tokens of a text, with those before it.
    tokens: usize,
    /// The language and the task that the files name.
    language: Option<String>,
    task: Option<SpeechTask>,
    exact: bool,
    devices: DeviceMap,
    warnings: Warnings,
    weight_memory: WeightMemory,
    backend: Backend,
}

impl fmt::Debug for Transcriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Transcriber");
        all.field("shape", &self.shape).field("languages", &self.vocabulary.languages.len());
        all.field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Transcriber {
    /// Opens a hub folder (config.json, tokenizer.json, model.safetensors or its shards), a GGUF file that keeps the
    /// folder's names, with config.json and tokenizer.json in its folder, or a file for whisper.cpp (`ggml-*.bin`). A GGUF
    /// file is read into memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the file, setting or tensor
    /// and what was expected, [`ErrorKind::Unsupported`](crate::ErrorKind) naming what is supported,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &TranscriberOptions) -> Result<Self> {
        Self::of_files(Files::open(path.as_ref())?, backend, options)
    }

    /// Opens a model as [`Transcriber::open`] does, but maps a GGUF file: its pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Transcriber::open`].
    ///
    /// # Safety
    /// Nobody may change the file while the model exists.
    pub unsafe fn open_mapped(path: impl AsRef<Path>, backend: &Backend, options: &TranscriberOptions) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::of_files(unsafe { Files::open_mapped(path.as_ref())? }, backend, options)
    }

    fn of_files(files: Files, backend: &Backend, options: &TranscriberOptions) -> Result<Self> {
        let Files { shape, source, names, vocabulary, generation, bands, warnings } = files;
        let devices = DeviceMap::new(backend, &Placement::default());
        let weights = Weights::new(source, names, devices.clone(), options.stored_as)?.exact(options.exact);
        let mels = usize::try_from(shape.mels).unwrap_or(0);
        let (language, task) = generation.chosen(&vocabulary)?;
        let most = usize::try_from(shape.tokens).unwrap_or(0);
        let model = Transcriber {
            encoder: Encoder::load(&weights, &shape)?,
            decoder: Decoder::load(&weights, &shape)?,
            rules: rules(&vocabulary, &shape, &generation)?,
            bank: MelBank::new(backend, mels, &bands)?,
            tokens: generation.most_tokens.map_or(most, |n| n.min(most)),
            language,
            task,
            exact: options.exact,
            warnings,
            weight_memory: WeightMemory::new(weights.loaded(), weights.contexts(), backend),
            backend: backend.clone(),
            devices,
            shape,
            vocabulary,
        };
        weights.finish(&model.warnings)?;
        Ok(model)
    }

    /// The codes of the languages that the model knows: English alone, or those of its tokens.
    pub fn languages(&self) -> Vec<&str> {
        match &self.vocabulary.languages[..] {
            [] => vec!["en"],
            all => all.iter().map(|(code, _)| code.as_str()).collect(),
        }
    }

    /// Oddities of the model's files that are no errors, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.list()
    }

    /// The backend that computes the model.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The memory that the model takes.
    pub fn memory(&self) -> Memory {
        self.weight_memory.memory()
    }

    /// The log-mel features of a sound: 80 or 128 numbers for every 10 ms.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn features(&self, sound: &Sound) -> Result<Vec<Vec<f32>>> {
        let features = self.bank.features(sound.samples())?;
        Ok(features.values.chunks(features.mels.max(1)).map(<[f32]>::to_vec).collect())
    }

    /// The logits after each of these tokens, for the first window of a sound: a row of the vocabulary's size for each.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for no tokens, more than the model takes, or one that it does not have;
    /// and as [`Transcriber::transcribe`].
    pub fn logits(&self, sound: &Sound, tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        let most = usize::try_from(self.shape.tokens).unwrap_or(0);
        if !(1..=most).contains(&tokens.len()) {
            return Err(Error::invalid(format!("{} tokens: 1 to {most} are valid", tokens.len())));
        }
        let size = self.vocabulary.size();
        if let Some(token) = tokens.iter().find(|token| **token as usize >= size) {
            return Err(Error::invalid(format!("token {token}: 0 to {} are valid", size - 1)));
        }
        let mut session = Session::new(self, 1)?;
        session.see(&self.window(&self.bank.features(sound.samples())?, 0))?;
        session.begin(tokens, &(0..tokens.len()).collect::<Vec<_>>())
    }

    /// The tokens that say what was said before: the last ones of a text, after a special one. At most half of the
    /// tokens are those before a window's text.
    fn previous(&self, before: &[u32]) -> Vec<u32> {
        let Some(previous) = self.vocabulary.previous.filter(|_| !before.is_empty()) else { return Vec::new() };
        let most = self.tokens / 2 - 1;
        [&[previous], &before[before.len().saturating_sub(most)..]].concat()
    }

    fn compute(&self, graph: &Graph) -> Result<()> {
        self.weight_memory.keep(|| Ok(graph.compute(&self.backend)?))?;
        self.weight_memory.give_back();
        Ok(())
    }

    fn check_finite(&self, rows: &[Vec<f32>]) -> Result<()> {
        let Some(value) = rows.iter().flatten().find(|x| !x.is_finite()) else { return Ok(()) };
        let because = self.weight_memory.not_finite().map_or(String::new(), |weight| format!("; {weight}"));
        Err(Error::invalid(format!("a logit is {value}{because}"))
            .with_hint("a weight is damaged, or values are beyond F32's range: compare the file with its source"))
    }
}

/// An error about a model of speech that is read as one of texts.
pub(crate) fn other_reader() -> Error {
    Error::unsupported(format!("architecture '{ARCHITECTURE}' turns speech into text, and reads no texts"))
        .with_hint("`tensorlib transcribe MODEL FILE.wav` takes it, and in a program Transcriber")
}

/// The rules that a model's files give.
fn rules(vocabulary: &Vocabulary, shape: &Shape, generation: &generation::Generation) -> Result<Rules> {
    let size = vocabulary.size();
    let id = |id: i64| match u32::try_from(id) {
        Ok(id) if (id as usize) < size => Ok(id),
        _ => {
            let message = format!("generation_config.json: suppressed token {id}: 0 to {} are valid", size - 1);
            Err(Error::format(message))
        }
    };
    let mut suppressed = Vec::new();
    let listed = generation.suppressed.clone().unwrap_or(vec![-1]);
    for token in listed {
        match token {
            -1 => suppressed.extend(vocabulary.not_spoken()),
            token => suppressed.push(id(token)?),
        }
    }
    let Vocabulary { start, transcribe, translate, start_of_lm, previous, no_speech, .. } = vocabulary;
    let special = [Some(*start), *transcribe, *translate, *start_of_lm, *previous, *no_speech];
    suppressed.extend(special.into_iter().flatten());
    let suppressed_first = match &generation.suppressed_first {
        Some(list) => list.iter().map(|token| id(*token)).collect::<Result<_>>()?,
        None => vocabulary.blank().into_iter().chain([vocabulary.end]).collect(),
    };
    let positions = u32::try_from(shape.positions).unwrap_or(0);
    Ok(Rules {
        suppressed,
        suppressed_first,
        end: vocabulary.end,
        no_timestamps: vocabulary.no_timestamps,
        first_timestamp: vocabulary.first_timestamp,
        last_timestamp: vocabulary.first_timestamp.saturating_add(positions).min(size as u32 - 1),
        latest_first: generation.latest_first_timestamp.unwrap_or(LATEST_FIRST),
    })
}
