//! Embeddings: vectors looked up by index.

use super::{Init, Module, Parameters, Pass};
use crate::{Result, Tensor};

/// A vector for each index: maps I32 or I64 `[tokens, n]` to F32 `[width, tokens, n]`.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[width, numbers]`, a row per index.
    pub weight: Tensor,
}

impl Embedding {
    /// Makes the layer with the parameter `weight`, normally distributed with this standard
    /// deviation.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, numbers: i64, width: i64, deviation: f64) -> Result<Self> {
        Ok(Self::of(parameters.make("weight", [width, numbers], Init::Normal { deviation })?))
    }

    /// Makes the layer from an existing table, such as a file's, of any type that [`Tensor::get_rows`] takes.
    ///
    /// ```
    /// use tensorlib::nn::{Embedding, Module, Pass};
    /// use tensorlib::{Backend, Context};
    /// let table = Context::new().tensor([2, 3], &[1f32, 2., 3., 4., 5., 6.])?;
    /// let tokens = Context::new().tensor_of([2], &[2i32, 0])?;
    /// let vectors = Embedding::of(table).forward(&tokens, &Pass::evaluation())?;
    /// Backend::cpu()?.compute(&[&vectors])?;
    /// assert_eq!(vectors.to_vec::<f32>()?, [5., 6., 1., 2.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn of(weight: Tensor) -> Self {
        Self { weight }
    }
}

impl Module for Embedding {
    /// Looks up the vectors of the indices x.
    ///
    /// # Errors
    /// As [`Tensor::get_rows`]; computing fails for an index without a row.
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        let mut shape = x.shape();
        if shape.len() == 1 {
            return self.weight.get_rows(x);
        }
        let rows = self.weight.get_rows(&x.reshape([-1])?)?;
        shape.insert(0, -1);
        rows.reshape(shape)
    }
}
