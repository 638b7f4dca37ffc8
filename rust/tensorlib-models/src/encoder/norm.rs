//! The norms of an encoder, of either kind.

use super::shape::{NormKind, Shape};
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{LayerNorm, Module, Pass, RmsNorm};
use tensorlib::Tensor;

/// A norm's weights.
pub enum Norm {
    Layer(LayerNorm),
    RootMeanSquare(RmsNorm),
}

impl Norm {
    /// Loads the norm `NAME` of `n` elements.
    pub fn load(weights: &Weights, shape: &Shape, name: &str, n: i64) -> Result<Self> {
        Ok(match shape.norm {
            NormKind::Layer => Norm::Layer(weights.layer_norm(name, n, shape.eps)?),
            NormKind::RootMeanSquare => Norm::RootMeanSquare(weights.rms_norm(name, n, shape.eps)?),
        })
    }

    /// The norm of each column of x.
    pub fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(match self {
            Norm::Layer(norm) => norm.forward(x, pass)?,
            Norm::RootMeanSquare(norm) => norm.forward(x, pass)?,
        })
    }
}

/// The norm of x, or x itself without one.
pub fn normed(norm: Option<&Norm>, x: &Tensor, pass: &Pass) -> Result<Tensor> {
    match norm {
        Some(norm) => norm.forward(x, pass),
        None => Ok(x.clone()),
    }
}
