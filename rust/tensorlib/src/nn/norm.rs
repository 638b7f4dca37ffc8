//! Normalisation layers.

use super::convolution::by_channel;
use super::{invalid, Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// Layer normalisation: subtracts each row's mean and divides by its standard deviation, then multiplies by weight and
/// adds the bias (J. L. Ba, J. R. Kiros, G. E. Hinton, Layer Normalization, 2016).
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// `[width]`.
    pub bias: Option<Tensor>,
    /// Added to the variance.
    pub epsilon: f64,
}

impl LayerNorm {
    /// Makes the layer with the parameters `weight`, ones, and `bias`, zeros; epsilon is 1e-5.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, width: i64) -> Result<Self> {
        let (weight, bias) = weight_and_bias(parameters, width)?;
        Ok(Self::of(weight, Some(bias), 1e-5))
    }

    /// Makes the layer from existing tensors, such as those of a file.
    pub fn of(weight: Tensor, bias: Option<Tensor>, epsilon: f64) -> Self {
        Self { weight, bias, epsilon }
    }
}

impl Module for LayerNorm {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let scaled = x.norm(self.epsilon)?.mul(&self.weight)?;
        match &self.bias {
            Some(bias) => scaled.add(bias),
            None => Ok(scaled),
        }
    }
}

/// RMS normalisation: divides each row by its root mean square and multiplies by weight (B. Zhang, R. Sennrich, Root
/// Mean Square Layer Normalization, 2019).
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// Added to the mean square.
    pub epsilon: f64,
}

impl RmsNorm {
    /// Makes the layer with the parameter `weight`, ones; epsilon is 1e-5.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, width: i64) -> Result<Self> {
        Ok(Self::of(parameters.make("weight", [width], Init::Ones)?, 1e-5))
    }

    /// Makes the layer from an existing tensor, such as a file's.
    pub fn of(weight: Tensor, epsilon: f64) -> Self {
        Self { weight, epsilon }
    }
}

impl Module for RmsNorm {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        x.rms_norm(self.epsilon)?.mul(&self.weight)
    }
}

/// Group normalisation of images `[w, h, channels, n]`: subtracts the mean of each group of channels and divides by its
/// standard deviation, then applies each channel's weight and bias (Y. Wu, K. He, Group Normalization, 2018).
#[derive(Clone, Debug)]
pub struct GroupNorm {
    /// `[channels]`.
    pub weight: Tensor,
    /// `[channels]`.
    pub bias: Tensor,
    /// The number of groups, which divides the channels.
    pub groups: i64,
    /// Added to the variance.
    pub epsilon: f64,
}

impl GroupNorm {
    /// Makes the layer with the parameters `weight`, ones, and `bias`, zeros; epsilon is 1e-5.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if the groups do not divide the channels; as [`Parameters::make`].
    pub fn new(parameters: &Parameters, groups: i64, channels: i64) -> Result<Self> {
        if groups < 1 || channels % groups != 0 {
            return Err(invalid(format!(
                "GroupNorm::new: {groups} groups of {channels} channels: a number of groups that divides them is valid"
            )));
        }
        let (weight, bias) = weight_and_bias(parameters, channels)?;
        Ok(Self { weight, bias, groups, epsilon: 1e-5 })
    }
}

impl Module for GroupNorm {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let of_row = |t: &Tensor| t.reshape([1, -1]);
        by_channel(&x.group_norm(self.groups, self.epsilon)?, |x| {
            x.mul(&of_row(&self.weight)?)?.add(&of_row(&self.bias)?)
        })
    }
}

fn weight_and_bias(parameters: &Parameters, n: i64) -> Result<(Tensor, Tensor)> {
    Ok((parameters.make("weight", [n], Init::Ones)?, parameters.make("bias", [n], Init::Zeros)?))
}
