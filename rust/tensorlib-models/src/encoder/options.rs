//! Options for opening an encoder.

use crate::placement::Placement;
use crate::sentences::Pooling;
use tensorlib::DType;

/// Options for opening an encoder.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    pub(crate) stored_as: Option<DType>,
    pub(crate) pooling: Option<Pooling>,
    pub(crate) prompt: Option<String>,
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
