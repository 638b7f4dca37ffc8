//! Options for opening an encoder.

use crate::placement::Placement;
use crate::sentences::Pooling;
use std::path::{Path, PathBuf};
use tensorlib::DType;

/// Options for opening an encoder.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    pub(crate) stored_as: Option<DType>,
    pub(crate) pooling: Option<Pooling>,
    pub(crate) prompt: Option<String>,
    pub(crate) task: Option<String>,
    /// Paths of adapters, with the factors of what they add.
    pub(crate) adapters: Vec<(PathBuf, f64)>,
    pub(crate) dimensions: Option<usize>,
    pub(crate) exact: bool,
    pub(crate) placement: Placement,
}

impl EncoderOptions {
    /// The defaults: weights as they are stored, and the model's own pooling, or the mean if it has none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts matrices to this type when they are loaded: a float type or a quantised type such as Q8_0. Quantised
    /// matrices are converted too. A matrix whose rows are not whole blocks of the type stays as it is.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// Overrides the model's pooling.
    #[must_use]
    pub fn pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// Puts the text of this name before each text, instead of the default. Folders name such texts in
    /// `config_sentence_transformers.json`; queries and documents often have different ones.
    #[must_use]
    pub fn prompt(mut self, name: impl Into<String>) -> Self {
        self.prompt = Some(name.into());
        self
    }

    /// Adapts the model to the task of this name, and puts the task's text before each text unless
    /// [`EncoderOptions::prompt`] names another one. Jina's encoder of version 3 has tasks such as `retrieval.query`. A
    /// GGUF model takes the file `lora-TASK-MODEL.gguf` next to it, which converters write. Without a task, the folder's
    /// `default_task` is taken, or none, but no task's text.
    #[must_use]
    pub fn task(mut self, name: impl Into<String>) -> Self {
        self.task = Some(name.into());
        self
    }

    /// Adds an adapter (LoRA) to those given before: a GGUF file for a GGUF model, PEFT's folder for a hub folder. Its
    /// additions are multiplied by `scale`. The text that a GGUF file puts before each text
    /// (`adapter.lora.prompt_prefix`) is honoured.
    #[must_use]
    pub fn adapter(mut self, path: impl AsRef<Path>, scale: f64) -> Self {
        self.adapters.push((path.as_ref().to_path_buf(), scale));
        self
    }

    /// Keeps this many elements of each vector, of which it keeps the direction with length 1, instead of what the
    /// folder's `truncate_dim` says. Models trained for that (Matryoshka) lose little by it.
    #[must_use]
    pub fn dimensions(mut self, n: usize) -> Self {
        self.dimensions = Some(n);
        self
    }

    /// Forbids products that round activations to fewer bits, as those with quantised weights do.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// The device of a joined backend on which each tensor lies ([`fit`](crate::fit)); by default all lie on the first.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }
}
