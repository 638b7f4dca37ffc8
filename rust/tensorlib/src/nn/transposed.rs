//! Transposed convolutions.

use super::convolution::by_channel;
use super::{Init, Module, Parameters, Pass};
use crate::{ConvTranspose1dOptions, ConvTranspose2dOptions, Result, Tensor};

/// A 2-d transposed convolution with a square kernel: maps `[w, h, inputs, n]` to `[w', h', outputs, n]`. With a stride
/// it enlarges images: `w' = (w - 1) stride - 2 p0 + (k - 1) d0 + 1`.
///
/// ```
/// use tensorlib::nn::{ConvTranspose2d, Module, Parameters, Pass};
/// use tensorlib::{Context, DType};
/// let mut layer = ConvTranspose2d::new(&Parameters::new(1), 8, 3, 2)?;
/// layer.options = layer.options.stride(2); // twice as wide and as high
/// let x = Context::new().zeros(DType::F32, [5, 4, 8, 2])?;
/// assert_eq!(layer.forward(&x, &Pass::evaluation())?.shape(), [10, 8, 3, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvTranspose2d {
    /// `[k, k, outputs, inputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// The stride, and what is cut off and the dilation in both dimensions.
    pub options: ConvTranspose2dOptions,
}

impl ConvTranspose2d {
    /// Makes the layer with the parameters `weight` and `bias`, initialised by [`Init::inputs`] of k k outputs, as in
    /// PyTorch. The stride is 1, and nothing is cut off; set [`ConvTranspose2d::options`] for others.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64, k: i64) -> Result<Self> {
        let init = Init::inputs(k * k * outputs);
        let weight = parameters.make("weight", [k, k, outputs, inputs], init)?;
        let bias = Some(parameters.make("bias", [outputs], init)?);
        Ok(Self { weight, bias, options: ConvTranspose2dOptions::new() })
    }
}

impl Module for ConvTranspose2d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let c = self.weight.conv_transpose_2d(x, self.options)?;
        match &self.bias {
            Some(bias) => by_channel(&c, |c| c.add(&bias.reshape([1, -1])?)),
            None => Ok(c),
        }
    }
}

/// A 1-d transposed convolution: maps `[length, inputs, n]` to `[length', outputs, n]`, with
/// `length' = (length - 1) s - 2 p + (k - 1) d + 1`.
///
/// ```
/// use tensorlib::nn::{ConvTranspose1d, Module, Parameters, Pass};
/// use tensorlib::{Context, DType};
/// let mut layer = ConvTranspose1d::new(&Parameters::new(1), 8, 3, 4)?;
/// layer.options = layer.options.s(2).p(1); // twice as long
/// let x = Context::new().zeros(DType::F32, [5, 8, 2])?;
/// assert_eq!(layer.forward(&x, &Pass::evaluation())?.shape(), [10, 3, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvTranspose1d {
    /// `[k, outputs, inputs]`.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// Stride, what is cut off, and dilation.
    pub options: ConvTranspose1dOptions,
}

impl ConvTranspose1d {
    /// Makes the layer, as [`ConvTranspose2d::new`].
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64, k: i64) -> Result<Self> {
        let init = Init::inputs(k * outputs);
        let weight = parameters.make("weight", [k, outputs, inputs], init)?;
        let bias = Some(parameters.make("bias", [outputs], init)?);
        Ok(Self { weight, bias, options: ConvTranspose1dOptions::new() })
    }
}

impl Module for ConvTranspose1d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let c = self.weight.conv_transpose_1d(x, self.options)?;
        match &self.bias {
            Some(bias) => c.add(&bias.reshape([1, -1])?),
            None => Ok(c),
        }
    }
}
