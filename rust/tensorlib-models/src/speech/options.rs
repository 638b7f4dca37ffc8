//! Options for opening a model of speech, and for a transcript.

use crate::{Error, Result};
use tensorlib::DType;

/// Options for opening a [`Transcriber`](crate::Transcriber).
#[derive(Clone, Debug, Default)]
pub struct TranscriberOptions {
    pub(super) stored_as: Option<DType>,
    pub(super) exact: bool,
}

impl TranscriberOptions {
    /// The defaults: weights as they are stored.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts matrices to this type when they are loaded: a float type or a quantised type such as Q8_0. A matrix whose
    /// rows are not whole blocks of the type stays as it is.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// Forbids products that round activations to fewer bits, and keeps keys and values as F32 instead of F16.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

/// What is made of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeechTask {
    /// Its text, in its language.
    Transcribe,
    /// Its text, in English.
    Translate,
}

/// Options of a transcript. The defaults are those of Whisper's authors.
#[derive(Clone, Debug)]
pub struct TranscriptOptions {
    pub(super) language: Option<String>,
    pub(super) task: Option<SpeechTask>,
    pub(super) beams: usize,
    pub(super) draws: usize,
    pub(super) temperatures: Vec<f64>,
    pub(super) most_compressed: f64,
    pub(super) least_average: f64,
    pub(super) no_speech: f64,
    pub(super) reads_previous: bool,
    pub(super) seed: u64,
}

impl Default for TranscriptOptions {
    fn default() -> Self {
        TranscriptOptions {
            language: None,
            task: None,
            beams: 5,
            draws: 5,
            temperatures: vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
            most_compressed: 2.4,
            least_average: -1.0,
            no_speech: 0.6,
            reads_previous: true,
            seed: 0,
        }
    }
}

impl TranscriptOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The language that is spoken: a code such as `de`, or its English name. By default that of the model's files, or
    /// the likeliest one of the first window.
    #[must_use]
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// What is made of the speech; by default what the model's files say, or its text in its language.
    #[must_use]
    pub fn task(mut self, task: SpeechTask) -> Self {
        self.task = Some(task);
        self
    }

    /// The number of beams, 1 to 64; by default 5. One takes the likeliest token each time.
    #[must_use]
    pub fn beams(mut self, beams: usize) -> Self {
        self.beams = beams;
        self
    }

    /// The number of texts, 1 to 64, that are drawn at a temperature above 0; by default 5. The likeliest one counts.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// The temperatures, from 0 to 10, that are tried until a window's text is good: by default 0 to 1 in steps of 0.2.
    /// At 0 beams are searched; above, texts are drawn.
    #[must_use]
    pub fn temperatures(mut self, temperatures: impl Into<Vec<f64>>) -> Self {
        self.temperatures = temperatures.into();
        self
    }

    /// A text whose bytes zlib makes this many times fewer repeats itself, and is not good; by default 2.4.
    #[must_use]
    pub fn compression_threshold(mut self, ratio: f64) -> Self {
        self.most_compressed = ratio;
        self
    }

    /// A text is not good if the mean of the logarithms of its tokens' probabilities is below this; by default -1.
    #[must_use]
    pub fn average_threshold(mut self, average: f64) -> Self {
        self.least_average = average;
        self
    }

    /// A window is silent if the probability of that is above this, and its text is not good by the mean; by default
    /// 0.6.
    #[must_use]
    pub fn no_speech_threshold(mut self, probability: f64) -> Self {
        self.no_speech = probability;
        self
    }

    /// Whether the model reads its text so far before that of a window; by default it does. Without it texts of windows
    /// fit each other less, and a mistake is not repeated.
    #[must_use]
    pub fn reads_previous_text(mut self, reads: bool) -> Self {
        self.reads_previous = reads;
        self
    }

    /// The seed of what is drawn; by default 0. The same seed gives the same text.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        const MOST: usize = 64;
        for (what, n) in [("beams", self.beams), ("draws", self.draws)] {
            if !(1..=MOST).contains(&n) {
                return Err(Error::invalid(format!("{n} {what}: 1 to {MOST} are valid")));
            }
        }
        if self.temperatures.is_empty() {
            return Err(Error::invalid("no temperatures: at least one, such as 0, is valid"));
        }
        if let Some(t) = self.temperatures.iter().find(|t| !(0.0..=10.0).contains(*t)) {
            return Err(Error::invalid(format!("a temperature of {t}: 0 to 10 are valid")));
        }
        let thresholds =
            [("compression", self.most_compressed), ("average", self.least_average), ("no speech", self.no_speech)];
        match thresholds.into_iter().find(|(_, value)| value.is_nan()) {
            Some((what, _)) => Err(Error::invalid(format!("a threshold of {what} that is NaN: numbers are valid"))),
            None => Ok(()),
        }
    }
}
