//! Norms of one of two kinds.

use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{LayerNorm, Module, Pass, RmsNorm};
use tensorlib::Tensor;

/// What a norm divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// The root of the mean square.
    RootMeanSquare,
    /// The standard deviation, after the mean is subtracted.
    Layer,
}

/// A norm of rows.
pub enum Norm {
    RootMeanSquare(RmsNorm),
    Layer(LayerNorm),
}

impl Norm {
    /// Loads `NAME.weight`, [n], and the bias of a layer norm that has one.
    pub fn load(weights: &Weights, (kind, eps): (NormKind, f64), name: &str, n: i64) -> Result<Self> {
        Ok(match kind {
            NormKind::RootMeanSquare => Norm::RootMeanSquare(weights.rms_norm(name, n, eps)?),
            NormKind::Layer => Norm::Layer(weights.layer_norm(name, n, eps)?),
        })
    }

    /// Loads a norm without a bias whose weights, `NAME.weight`, have the shape [head, heads].
    pub fn of_heads(weights: &Weights, (kind, eps): (NormKind, f64), name: &str, heads: [i64; 2]) -> Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &heads)?;
        Ok(match kind {
            NormKind::RootMeanSquare => Norm::RootMeanSquare(RmsNorm::of(weight, eps)),
            NormKind::Layer => Norm::Layer(LayerNorm::of(weight, None, eps)),
        })
    }

    /// The normalised rows of x.
    pub fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(match self {
            Norm::RootMeanSquare(norm) => norm.forward(x, pass)?,
            Norm::Layer(norm) => norm.forward(x, pass)?,
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
