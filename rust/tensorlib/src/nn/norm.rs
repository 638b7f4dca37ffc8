//! Normalisation.

use super::convolution::by_channel;
use super::{invalid, Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// Each row less its mean, divided by its deviation; times weight, plus bias (J. L. Ba, J. R. Kiros, G. E. Hinton, Layer
/// Normalization, 2016).
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// `[width]`.
    pub bias: Tensor,
    /// Added to the variance.
    pub epsilon: f64,
}

impl LayerNorm {
    /// With the parameters `weight`, ones, and `bias`, zeros; an epsilon of 1e-5.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, width: i64) -> Result<Self> {
        let (weight, bias) = weight_and_bias(parameters, width)?;
        Ok(Self { weight, bias, epsilon: 1e-5 })
    }
}

impl Module for LayerNorm {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        x.norm(self.epsilon)?.mul(&self.weight)?.add(&self.bias)
    }
}

/// Each row divided by its root mean square; times weight (B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019).
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// Added to the mean square.
    pub epsilon: f64,
}

impl RmsNorm {
    /// With the parameter `weight`, ones; an epsilon of 1e-5.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, width: i64) -> Result<Self> {
        Ok(Self { weight: parameters.make("weight", [width], Init::Ones)?, epsilon: 1e-5 })
    }
}

impl Module for RmsNorm {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        x.rms_norm(self.epsilon)?.mul(&self.weight)
    }
}

/// Of images `[w, h, channels, n]`, groups of channels less their mean, divided by their deviation; each channel times weight,
/// plus bias (Y. Wu, K. He, Group Normalization, 2018).
#[derive(Clone, Debug)]
pub struct GroupNorm {
    /// `[channels]`.
    pub weight: Tensor,
    /// `[channels]`.
    pub bias: Tensor,
    /// How many groups, which divide the channels.
    pub groups: i64,
    /// Added to the variance.
    pub epsilon: f64,
}

impl GroupNorm {
    /// With the parameters `weight`, ones, and `bias`, zeros; an epsilon of 1e-5.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) where the groups do not divide the channels; as [`Parameters::make`].
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
