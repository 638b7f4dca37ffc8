//! What the layers of both halves have in common.

use super::shape::Half;
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{LayerNorm, Linear, Module, Pass};
use tensorlib::Tensor;

/// Whisper's norms all have it, and its files do not name it.
pub const EPS: f64 = 1e-5;

/// The feed-forward block, with the norm before it.
pub struct Feed {
    norm: LayerNorm,
    up: Linear,
    down: Linear,
}

impl Feed {
    /// Loads `NAME.final_layer_norm`, `NAME.fc1` and `NAME.fc2`.
    pub fn load(weights: &Weights, name: &str, half: Half) -> Result<Self> {
        Ok(Feed {
            norm: weights.layer_norm(&format!("{name}.final_layer_norm"), half.width, EPS)?,
            up: weights.linear(&format!("{name}.fc1"), half.width, half.ffn)?,
            down: weights.linear(&format!("{name}.fc2"), half.ffn, half.width)?,
        })
    }

    /// x and the block's result.
    pub fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let hidden = self.up.forward(&self.norm.forward(x, pass)?, pass)?.gelu_erf()?;
        Ok((x + &self.down.forward(&hidden, pass)?)?)
    }
}
