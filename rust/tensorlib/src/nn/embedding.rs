//! Vectors looked up by number.

use super::{Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// A vector for each number: of I32 or I64 `[tokens, n]` gives F32 `[width, tokens, n]`.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[width, numbers]`, a row for each number.
    pub weight: Tensor,
}

impl Embedding {
    /// With the parameter `weight`, normally distributed with this deviation.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, numbers: i64, width: i64, deviation: f64) -> Result<Self> {
        Ok(Self { weight: parameters.make("weight", [width, numbers], Init::Normal { deviation })? })
    }
}

impl Module for Embedding {
    /// # Errors
    /// As [`Tensor::get_rows`]; computing fails for a number that has no row.
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let mut shape = x.shape();
        let rows = self.weight.get_rows(&x.reshape([-1])?)?;
        shape.insert(0, -1);
        rows.reshape(shape)
    }
}
