//! Adapters to train, of some of a model's matrices.

use super::Weights;
use crate::Result;
use tensorlib::nn::{Linear, Parameters};

/// Which matrices get adapters, and of which rank.
pub struct Tuned {
    /// What the adapters' matrices are added to.
    pub parameters: Parameters,
    pub rank: i64,
    /// The factor of what adapters add is alpha / rank.
    pub alpha: f64,
    /// Parts of layers, such as `attn_q`.
    pub targets: Vec<String>,
}

impl Tuned {
    /// Adds an adapter to the layer of the matrix `NAME.weight`, if it is one of those.
    pub fn adapt(&self, layer: &mut Linear, name: &str) -> Result<()> {
        let part = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')).map(|(_, part)| part);
        if !part.is_some_and(|part| self.targets.iter().any(|target| target == part)) {
            return Ok(());
        }
        Ok(layer.adapt(&self.parameters.scope(format!("{name}.weight")), self.rank, self.alpha)?)
    }
}

impl Weights {
    /// Adds adapters to train to matrices loaded later.
    pub fn with_tuned(mut self, tuned: Tuned) -> Self {
        self.tuned = Some(tuned);
        self
    }
}
