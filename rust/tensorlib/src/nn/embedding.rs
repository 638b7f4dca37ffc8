//! Embeddings: vectors looked up by index.

use super::{Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// A vector for each index: maps I32 or I64 `[tokens, n]` to F32 `[width, tokens, n]`.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[width, numbers]`, a row per index.
    pub weight: Tensor,
}

impl Embedding {
    /// Makes the layer with the parameter `weight`, normally distributed with this standard
    /// deviation.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, numbers: i64, width: i64, deviation: f64) -> Result<Self> {
        Ok(Self { weight: parameters.make("weight", [width, numbers], Init::Normal { deviation })? })
    }
}

impl Module for Embedding {
    /// Looks up the vectors of the indices x.
    ///
    /// # Errors
    /// As [`Tensor::get_rows`]; computing fails for an index without a row.
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let mut shape = x.shape();
        let rows = self.weight.get_rows(&x.reshape([-1])?)?;
        shape.insert(0, -1);
        rows.reshape(shape)
    }
}
