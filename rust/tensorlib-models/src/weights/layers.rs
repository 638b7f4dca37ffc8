//! Layers of a model's tensors.

use super::{Rows, TensorPart, Weights};
use crate::{Error, Result};
use tensorlib::nn::{Embedding, LayerNorm, Linear, LowRank, RmsNorm};
use tensorlib::{DType, Tensor};

impl Weights {
    /// Forbids products with the matrices loaded later to round, whatever their types are.
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Whether a product with this matrix must not round x. With BF16 it never may round: columns of 8 bits would
    /// change the logits by 1 % after a few layers, more than people expect of 16-bit weights, and F32 columns are as
    /// fast as with F16.
    pub fn is_exact(&self, matrix: &Tensor) -> bool {
        self.exact || matrix.dtype() == DType::BF16
    }

    /// The layer of `NAME.weight`, [inputs, outputs], of its adapters, and of `NAME.bias`, [outputs], if it exists.
    pub fn linear(&self, name: &str, inputs: i64, outputs: i64) -> Result<Linear> {
        self.linear_rows(name, inputs, outputs, None)
    }

    /// [`Weights::linear`] with only these rows of the matrix, or with all of them.
    pub fn linear_rows(&self, name: &str, inputs: i64, outputs: i64, rows: Option<&Rows>) -> Result<Linear> {
        let (matrix, shape) = (format!("{name}.weight"), [inputs, outputs]);
        if rows.is_some() && self.shape_of(&format!("{name}.bias")).is_some() {
            let message = format!("tensor '{name}.bias': matrices whose rows lie on two devices have none");
            return Err(Error::unsupported(message).with_hint("put the layer on one device"));
        }
        let layer = self.matrix(self.rows(&matrix, &shape, rows)?).with_adapters(self.adapters(&matrix, &shape)?);
        let mut layer = Linear { bias: self.find(&format!("{name}.bias"), &[outputs])?, ..layer };
        if let Some(tuned) = &self.tuned {
            tuned.adapt(&mut layer, name)?;
        }
        Ok(layer)
    }

    /// The product with a matrix, without adapters or a bias.
    pub fn matrix(&self, weight: Tensor) -> Linear {
        let exact = self.is_exact(&weight);
        Linear::of(weight, None).exact(exact)
    }

    /// The adapters of the matrix of this name and shape, or of each matrix of a stack.
    pub fn adapters(&self, name: &str, shape: &[i64]) -> Result<Vec<LowRank>> {
        self.adapters_of_part(name, shape, None)
    }

    /// [`Weights::adapters`] of a part of the matrix, or of each matrix of a stack.
    pub fn adapters_of_part(&self, name: &str, shape: &[i64], part: Option<&TensorPart>) -> Result<Vec<LowRank>> {
        let found = self.adapters.iter().filter_map(|adapter| adapter.find(name, shape, part).transpose());
        found
            .map(|adapter| {
                let adapter = adapter?;
                let exact = self.is_exact(&adapter.a) || self.is_exact(&adapter.b);
                Ok(LowRank { exact, ..adapter })
            })
            .collect()
    }

    /// The adapters of the rows of the table of this name and shape, [width, rows].
    pub fn row_adapters(&self, name: &str, shape: [i64; 2]) -> Result<Vec<LowRank>> {
        let found = self.adapters.iter().filter_map(|adapter| adapter.find_rows(name, shape).transpose());
        found.map(|adapter| Ok(LowRank { exact: true, ..adapter? })).collect()
    }

    /// The table `NAME.weight`, [width, rows].
    pub fn embedding(&self, name: &str, width: i64, rows: i64) -> Result<Embedding> {
        Ok(Embedding::of(self.get(&format!("{name}.weight"), &[width, rows])?))
    }

    /// The norm of `NAME.weight`, [n]. Refuses `NAME.bias`, which would change results.
    pub fn rms_norm(&self, name: &str, n: i64, epsilon: f64) -> Result<RmsNorm> {
        let bias = format!("{name}.bias");
        if self.shape_of(&bias).is_some() {
            let message = format!("tensor '{}': norms by the root mean square have no bias", self.called(&bias));
            return Err(Error::unsupported(message).with_hint("the file is of another kind of model than it says"));
        }
        Ok(RmsNorm::of(self.get(&format!("{name}.weight"), &[n])?, epsilon))
    }

    /// The norm of `NAME.weight` and, if it exists, `NAME.bias`, both [n].
    pub fn layer_norm(&self, name: &str, n: i64, epsilon: f64) -> Result<LayerNorm> {
        let weight = self.get(&format!("{name}.weight"), &[n])?;
        Ok(LayerNorm::of(weight, self.find(&format!("{name}.bias"), &[n])?, epsilon))
    }
}
