//! Convolutions, pooling and flattening.

use super::{Init, Module, Parameters, Pass};
use crate::{Conv1dOptions, Conv2dOptions, Pool2dOptions, PoolOp, Result, Tensor};

/// A 2-d convolution with a square kernel: maps `[w, h, inputs, n]` to `[w', h', outputs, n]`.
#[derive(Clone, Debug)]
pub struct Conv2d {
    /// `[k, k, inputs, outputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// Stride, padding and dilation of both dimensions.
    pub options: Conv2dOptions,
}

impl Conv2d {
    /// Makes the layer with the parameters `weight` and `bias`, initialised by [`Init::inputs`] of k k inputs. The
    /// stride is 1 and the padding (k - 1) / 2, which keeps the size of images for odd k; set [`Conv2d::options`] for
    /// others.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64, k: i64) -> Result<Self> {
        let init = Init::inputs(k * k * inputs);
        let weight = parameters.make("weight", [k, k, inputs, outputs], init)?;
        let bias = Some(parameters.make("bias", [outputs], init)?);
        Ok(Self { weight, bias, options: Conv2dOptions::new().p0((k - 1) / 2).p1((k - 1) / 2) })
    }
}

impl Module for Conv2d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let c = self.weight.conv_2d(x, self.options)?;
        match &self.bias {
            Some(bias) => by_channel(&c, |c| c.add(&bias.reshape([1, -1])?)),
            None => Ok(c),
        }
    }
}

/// Applies `f` to images `[w, h, channels, n]` as `[w h, channels, n]`: an operand that repeats over an image then
/// repeats along one row of all its pixels instead of many short rows.
pub(super) fn by_channel(images: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let shape = images.shape();
    let extent = |d: usize| shape.get(d).copied().unwrap_or(1);
    f(&images.reshape([extent(0) * extent(1), extent(2), extent(3)])?)?.reshape(&shape)
}

/// A 1-d convolution: maps `[length, inputs, n]` to `[length', outputs, n]`.
#[derive(Clone, Debug)]
pub struct Conv1d {
    /// `[k, inputs, outputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// Stride, padding and dilation.
    pub options: Conv1dOptions,
}

impl Conv1d {
    /// Makes the layer, as [`Conv2d::new`].
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64, k: i64) -> Result<Self> {
        let init = Init::inputs(k * inputs);
        let weight = parameters.make("weight", [k, inputs, outputs], init)?;
        let bias = Some(parameters.make("bias", [outputs], init)?);
        Ok(Self { weight, bias, options: Conv1dOptions::new().p((k - 1) / 2) })
    }
}

impl Module for Conv1d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let c = self.weight.conv_1d(x, self.options)?;
        match &self.bias {
            Some(bias) => c.add(&bias.reshape([1, -1])?),
            None => Ok(c),
        }
    }
}

/// The maximum of each k x k window of images `[w, h, channels, n]`; windows do not overlap.
///
/// # Errors
/// As [`Tensor::pool_2d`].
pub fn max_pool(x: &Tensor, k: i64) -> Result<Tensor> {
    x.pool_2d(PoolOp::Max, k, k, Pool2dOptions::new())
}

/// The mean of each k x k window of images `[w, h, channels, n]`; windows do not overlap.
///
/// # Errors
/// As [`Tensor::pool_2d`].
pub fn mean_pool(x: &Tensor, k: i64) -> Result<Tensor> {
    x.pool_2d(PoolOp::Avg, k, k, Pool2dOptions::new())
}

/// Joins all elements of a sample into a row: maps `[.., n]` to `[elements, n]`.
///
/// # Errors
/// As [`Tensor::reshape`].
pub fn flatten(x: &Tensor) -> Result<Tensor> {
    let n = x.shape().last().copied().unwrap_or(1);
    let x = x.cont()?;
    x.reshape([-1, n])
}
