//! A convolution over the tokens of lines, which DeBERTa 2 adds to its first layer (He and others, 2021).

use super::attention::joined;
use super::batches::{Batch, Group};
use super::head::activated;
use super::shape::{HeadActivation, Shape};
use crate::norm::Norm;
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::Pass;
use tensorlib::{Context, Conv1dOptions, Tensor};

/// Its numbers.
#[derive(Clone, Copy, Debug)]
pub struct ConvolutionShape {
    /// Tokens that a result depends on: an odd number.
    pub tokens: i64,
    /// Groups of elements, each of which depends only on the group itself.
    pub groups: i64,
    pub activation: HeadActivation,
}

/// Its weights.
pub struct Convolution {
    of: ConvolutionShape,
    /// [tokens, inputs of a group, outputs]
    kernel: Tensor,
    bias: Tensor,
    norm: Norm,
}

impl Convolution {
    /// Loads the tensors `conv.*`.
    pub fn load(weights: &Weights, shape: &Shape, of: ConvolutionShape) -> Result<Self> {
        Ok(Convolution {
            of,
            kernel: weights.get("conv.weight", &[of.tokens, shape.width / of.groups, shape.width])?,
            bias: weights.get("conv.bias", &[shape.width])?,
            norm: Norm::load(weights, (shape.norm, shape.eps), "conv_norm", shape.width)?,
        })
    }

    /// The norm of the sum of the layer's results and of what the convolution makes of its inputs, both [width, tokens].
    /// Tokens before and after a line count as zeros, as padding does in the published code.
    pub fn forward(&self, ctx: &Context, batch: &Batch, x: &Tensor, results: &Tensor, pass: &Pass) -> Result<Tensor> {
        let of_group = |group: &Group| self.of_lines(ctx, group, x);
        let made = joined(batch.groups.iter().map(of_group).collect::<Result<_>>()?)?;
        let made = activated(&(&made + &self.bias)?, self.of.activation)?;
        self.norm.forward(&(results + &made)?, pass)
    }

    fn of_lines(&self, ctx: &Context, group: &Group, x: &Tensor) -> Result<Tensor> {
        let (width, length, lines) = (x.shape()[0], group.length as i64, group.lines as i64);
        let x = x.narrow(1, group.start as i64, length * lines)?.reshape([width, length, lines])?;
        // Signals of one element each, [length, width, lines].
        let signals = x.permute([1, 0, 2, 3])?.cont()?;
        let (inputs, options) = (width / self.of.groups, Conv1dOptions::new().p((self.of.tokens - 1) / 2));
        let mut parts = Vec::new();
        for number in 0..self.of.groups {
            // The view is a node of this context, because the weights' takes no more.
            let kernel = ctx.within(|| self.kernel.narrow(2, number * inputs, inputs))?;
            let signals = match self.of.groups {
                1 => signals.clone(),
                _ => signals.narrow(1, number * inputs, inputs)?.cont()?,
            };
            parts.push(kernel.conv_1d(&signals, options)?);
        }
        Ok(joined(parts)?.permute([1, 0, 2, 3])?.cont()?.reshape([width, length * lines])?)
    }
}
