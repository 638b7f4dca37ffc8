//! The activations of feed-forward blocks.

use crate::{Error, Result};
use tensorlib::{GluOp, GluOptions, Tensor};

/// The activation of gates, or of up projections in blocks without gates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    Silu,
    Gelu,
    Relu,
    /// The square of [`Activation::Relu`].
    ReluSquared,
    /// The activation of gpt-oss.
    SwigluOai,
}

impl Activation {
    /// The activated tensor alone.
    pub fn of(self, gate: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Activation::Silu => gate.silu()?,
            Activation::Gelu => gate.gelu()?,
            Activation::Relu => gate.relu()?,
            Activation::ReluSquared => gate.relu()?.sqr()?,
            Activation::SwigluOai => return Err(Error::internal("gpt-oss' gates are no factors")),
        })
    }

    /// The activated gate times the up projection.
    pub fn gated(self, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
        match self {
            Activation::ReluSquared => Ok((&self.of(gate)? * up)?),
            _ => Ok(gate.glu(Some(up), self.glu_op()?, GluOptions::new().split(true))?),
        }
    }

    /// [`Activation::gated`] for a tensor whose rows consist of a gate and an up projection.
    pub fn gated_halves(self, both: &Tensor) -> Result<Tensor> {
        Ok(both.glu(None, self.glu_op()?, GluOptions::new())?)
    }

    fn glu_op(self) -> Result<GluOp> {
        Ok(match self {
            Activation::Silu => GluOp::Swiglu,
            Activation::Gelu => GluOp::Geglu,
            Activation::Relu => GluOp::Reglu,
            Activation::SwigluOai => GluOp::SwigluOai,
            Activation::ReluSquared => return Err(Error::internal("an activation of blocks with gates apart")),
        })
    }
}

/// xIELU with a layer's own numbers (arXiv 2411.13010).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Xielu {
    alpha_n: f64,
    alpha_p: f64,
    beta: f64,
    eps: f64,
}

impl Xielu {
    /// From numbers as files have them: the factors follow by a softplus.
    pub fn of_stored(alpha_n: f64, alpha_p: f64, beta: f64, eps: f64) -> Self {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        Xielu { alpha_n: beta + softplus(alpha_n), alpha_p: softplus(alpha_p), beta, eps }
    }

    /// The activated tensor.
    pub fn of(self, x: &Tensor) -> Result<Tensor> {
        Ok(x.xielu(self.alpha_n, self.alpha_p, self.beta, self.eps)?)
    }
}
