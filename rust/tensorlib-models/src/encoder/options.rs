//! How an encoder is to be opened.

use crate::placement::Placement;
use crate::sentences::Pooling;
use tensorlib::DType;

/// How an encoder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    pub(super) stored_as: Option<DType>,
    pub(super) pooling: Option<Pooling>,
    pub(super) exact: bool,
    pub(super) placement: Placement,
}

impl EncoderOptions {
    /// The defaults: weights as they are stored, pooling as the model says, else the mean.
    pub fn new() -> Self {
        Self::default()
    }

    /// The type that matrices are converted to when they are loaded, as Q8_0: a float, or blocks of weights. Quantised ones are converted too.
    /// Where its blocks do not divide a row, that matrix stays as it is.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// Pooling, whatever the model says.
    #[must_use]
    pub fn pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// No product may round an activation to fewer bits, as those with quantised weights do.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Which device of a joined backend each tensor lies on ([`fit`](crate::fit)); all on the first one where nothing is said.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }
}
