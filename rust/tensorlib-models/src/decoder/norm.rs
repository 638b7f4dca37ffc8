//! Norms of one of two kinds.

use super::shape::{NormKind, Shape};
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{LayerNorm, Module, Pass, RmsNorm};
use tensorlib::Tensor;

/// A norm of rows.
pub enum Norm {
    Rms(RmsNorm),
    Variance(LayerNorm),
}

impl Norm {
    /// The norm of the model's kind of `NAME.weight`, [n].
    pub fn load(weights: &Weights, shape: &Shape, name: &str, n: i64) -> Result<Self> {
        Ok(match shape.norm_kind {
            NormKind::Rms => Norm::Rms(weights.rms_norm(name, n, shape.eps)?),
            NormKind::Variance => Norm::Variance(weights.layer_norm(name, n, shape.eps)?),
        })
    }

    /// The norm of each head of `NAME.weight`, whose shape is [head, heads].
    pub fn of_heads(weights: &Weights, shape: &Shape, name: &str, heads: [i64; 2]) -> Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &heads)?;
        Ok(match shape.norm_kind {
            NormKind::Rms => Norm::Rms(RmsNorm::of(weight, shape.eps)),
            NormKind::Variance => Norm::Variance(LayerNorm::of(weight, None, shape.eps)),
        })
    }

    /// The normalised rows of x.
    pub fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(match self {
            Norm::Rms(norm) => norm.forward(x, pass)?,
            Norm::Variance(norm) => norm.forward(x, pass)?,
        })
    }
}
