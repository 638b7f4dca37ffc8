//! Products with a matrix.

use super::{Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// weight x + bias: of x `[inputs, ..]` gives `[outputs, ..]`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`, a row for each output; any type that [`Tensor::mul_mat`] takes as a.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// With the parameters `weight` and `bias`, both from [`Init::inputs`].
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64) -> Result<Self> {
        let mut layer = Self::without_bias(parameters, inputs, outputs)?;
        layer.bias = Some(parameters.make("bias", [outputs], Init::inputs(inputs))?);
        Ok(layer)
    }

    /// With `weight` alone.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn without_bias(parameters: &Parameters, inputs: i64, outputs: i64) -> Result<Self> {
        Self::with(parameters, inputs, outputs, Init::inputs(inputs))
    }

    /// With `weight` alone, whose first values you choose.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn with(parameters: &Parameters, inputs: i64, outputs: i64, init: Init) -> Result<Self> {
        Ok(Self { weight: parameters.make("weight", [inputs, outputs], init)?, bias: None })
    }
}

impl Module for Linear {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let product = self.weight.mul_mat(x)?;
        match &self.bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }
}
