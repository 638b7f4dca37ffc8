//! What layers are made of: products with weights, norms.

use crate::adapter::LowRank;
use crate::weights::Weights;
use crate::Result;
use tensorlib::{Context, DType, Tensor};

/// Whether a product with this matrix must not round x. With BF16 it never may: columns of 8 bits' precision cost a
/// few layers 1 % of the logits, which is more than people expect of 16-bit weights, and F32 columns are as fast as with
/// F16.
pub fn is_exact(weight: &Tensor, asked: bool) -> bool {
    asked || weight.dtype() == DType::BF16
}

/// The product of a matrix and x's columns.
pub fn product(ctx: &Context, weight: &Tensor, x: &Tensor, exact: bool) -> Result<Tensor> {
    Ok(match is_exact(weight, exact) {
        true => ctx.mul_mat_exact(weight, x)?,
        false => ctx.mul_mat(weight, x)?,
    })
}

/// A product with a matrix, and a bias where there is one.
pub struct Linear {
    weight: Tensor,
    additions: Vec<LowRank>,
    bias: Option<Tensor>,
}

impl Linear {
    /// `NAME.weight`, [inputs, outputs], and `NAME.bias`, [outputs], where it is there.
    pub fn load(weights: &Weights, name: &str, inputs: i64, outputs: i64) -> Result<Self> {
        let (matrix, shape) = (format!("{name}.weight"), [inputs, outputs]);
        Ok(Linear {
            weight: weights.get(&matrix, &shape)?,
            additions: weights.additions(&matrix, &shape)?,
            bias: weights.find(&format!("{name}.bias"), &[outputs])?,
        })
    }

    /// Of x's columns. `exact`: no kernel may round them.
    pub fn of(&self, ctx: &Context, x: &Tensor, exact: bool) -> Result<Tensor> {
        let mut sum = product(ctx, &self.weight, x, exact)?;
        for addition in &self.additions {
            sum = addition.add_to(ctx, &sum, x, |a, x| product(ctx, a, x, exact))?;
        }
        Ok(match &self.bias {
            Some(bias) => ctx.add(&sum, bias)?,
            None => sum,
        })
    }
}

/// The kinds of norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Rows less their mean, by their standard deviation.
    Layer,
    /// Rows by the root of their mean square.
    Rms,
}

/// A norm with its factors, and a bias where there is one.
pub struct Norm {
    kind: NormKind,
    eps: f64,
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Norm {
    /// `NAME.weight` and, where it is there, `NAME.bias`, [n] both.
    pub fn load(weights: &Weights, name: &str, n: i64, kind: NormKind, eps: f64) -> Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[n])?;
        Ok(Norm { kind, eps, weight, bias: weights.find(&format!("{name}.bias"), &[n])? })
    }

    /// Of x's rows.
    pub fn of(&self, ctx: &Context, x: &Tensor) -> Result<Tensor> {
        let scaled = match self.kind {
            NormKind::Layer => ctx.norm(x, self.eps)?,
            NormKind::Rms => ctx.rms_norm(x, self.eps)?,
        };
        let product = ctx.mul(&scaled, &self.weight)?;
        Ok(match &self.bias {
            Some(bias) => ctx.add(&product, bias)?,
            None => product,
        })
    }
}
