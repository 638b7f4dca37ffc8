//! Building blocks of layers: products with weights, and norms.

use crate::weights::{LowRank, Rows, Weights};
use crate::{Error, Result};
use tensorlib::{Context, DType, Tensor};

/// Whether a product with this matrix must not round x. With BF16 it never may round: columns of 8 bits would change
/// the logits by 1 % after a few layers, more than people expect of 16-bit weights, and F32 columns are as fast as with
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

/// A product with a matrix, with its adapters and an optional bias.
pub struct Linear {
    weight: Tensor,
    additions: Vec<LowRank>,
    bias: Option<Tensor>,
}

impl Linear {
    /// Loads `NAME.weight`, [inputs, outputs], and `NAME.bias`, [outputs], if it exists.
    pub fn load(weights: &Weights, name: &str, inputs: i64, outputs: i64) -> Result<Self> {
        Self::load_rows(weights, name, inputs, outputs, None)
    }

    /// [`Linear::load`] with only these rows of the matrix, or with all of them.
    pub fn load_rows(weights: &Weights, name: &str, inputs: i64, outputs: i64, rows: Option<&Rows>) -> Result<Self> {
        let (matrix, shape) = (format!("{name}.weight"), [inputs, outputs]);
        if rows.is_some() && weights.shape_of(&format!("{name}.bias")).is_some() {
            let message = format!("tensor '{name}.bias': matrices whose rows lie on two devices have none");
            return Err(Error::unsupported(message).with_hint("put the layer on one device"));
        }
        let weight = weights.rows(&matrix, &shape, rows)?;
        let (additions, bias) =
            (weights.additions(&matrix, &shape)?, weights.find(&format!("{name}.bias"), &[outputs])?);
        Ok(Linear { weight, additions, bias })
    }

    /// Whether an adapter adds to the product.
    pub fn has_additions(&self) -> bool {
        !self.additions.is_empty()
    }

    /// The matrix, if its product is the whole result and may round x; `exact` forbids rounding.
    pub fn plain(&self, exact: bool) -> Option<&Tensor> {
        let is_plain = self.additions.is_empty() && self.bias.is_none() && !is_exact(&self.weight, exact);
        is_plain.then_some(&self.weight)
    }

    /// The result for x's columns. `exact`: no kernel may round them.
    pub fn forward(&self, ctx: &Context, x: &Tensor, exact: bool) -> Result<Tensor> {
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
    /// Subtracts each row's mean and divides by its standard deviation.
    Layer,
    /// Divides each row by its root mean square.
    Rms,
}

/// A norm with its factors, and an optional bias.
pub struct Norm {
    kind: NormKind,
    eps: f64,
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Norm {
    /// Loads `NAME.weight` and, if it exists, `NAME.bias`, both [n].
    pub fn load(weights: &Weights, name: &str, n: i64, kind: NormKind, eps: f64) -> Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[n])?;
        Ok(Norm { kind, eps, weight, bias: weights.find(&format!("{name}.bias"), &[n])? })
    }

    /// The result for x's rows.
    pub fn forward(&self, ctx: &Context, x: &Tensor) -> Result<Tensor> {
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
