//! Layers that convolve each channel over the last tokens, between two gates (LFM2, Liquid AI, 2025).

use super::convolution::Convolution;
use super::run::Run;
use super::shape::{Shape, Stated};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module};
use tensorlib::Tensor;

/// A layer's weights.
pub struct ShortConvolution {
    number: usize,
    /// Makes the gates of what is convolved, those of the results, and the values, one after the other.
    input: Linear,
    convolution: Convolution,
    output: Linear,
}

impl ShortConvolution {
    /// Loads the tensors of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, taps: i64, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.shortconv.{part}");
        for part in ["in_proj.bias", "conv.bias", "out_proj.bias"] {
            Stated::check_bias(shape.stated.convolution_bias, weights, &name(part))?;
        }
        Ok(ShortConvolution {
            number,
            input: weights.linear(&name("in_proj"), shape.width, 3 * shape.width)?,
            convolution: Convolution::load(weights, &name("conv"), taps, shape.width)?,
            output: weights.linear(&name("out_proj"), shape.width, shape.width)?,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let Some(states) = &run.states else { return Err(Error::internal("a recurrent layer without states")) };
        let (all, width) = (self.input.forward(x, &run.pass)?, run.shape.width);
        let part = |i: i64| all.narrow(0, i * width, width);
        let (gate, result_gate, values) = (part(0)?, part(1)?, part(2)?);
        let gated = (&gate * &values)?;
        let convolved =
            states.of_groups(1, |group| self.convolution.forward(run, self.number, (states, group), &gated))?;
        Ok(self.output.forward(&(&result_gate * &convolved)?, &run.pass)?)
    }
}
