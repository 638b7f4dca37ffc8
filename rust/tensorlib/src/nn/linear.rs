//! Linear layers and low-rank adapters.

use super::{invalid, Init, Module, Parameters, Pass};
use crate::{Result, ScaleOptions, Tensor};

/// A low-rank adapter of a matrix: adds `scale b (a x)` to the product of the matrix with x (E. J. Hu and others, LoRA,
/// 2021).
#[derive(Clone, Debug)]
pub struct LowRank {
    /// `[inputs, rank]`.
    pub a: Tensor,
    /// `[rank, outputs]`.
    pub b: Tensor,
    /// The factor of the adapter's product.
    pub scale: f64,
}

/// weight x + bias: maps x `[inputs, ..]` to `[outputs, ..]`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`, a row per output; any type that [`Tensor::mul_mat`] takes as its first operand.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// The adapter, if [`Linear::adapt`] has made one.
    pub adapter: Option<LowRank>,
}

impl Linear {
    /// Makes the layer with the parameters `weight` and `bias`, both initialised by [`Init::inputs`].
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn new(parameters: &Parameters, inputs: i64, outputs: i64) -> Result<Self> {
        let mut layer = Self::without_bias(parameters, inputs, outputs)?;
        layer.bias = Some(parameters.make("bias", [outputs], Init::inputs(inputs))?);
        Ok(layer)
    }

    /// Makes the layer with the parameter `weight` and no bias, initialised by [`Init::inputs`].
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn without_bias(parameters: &Parameters, inputs: i64, outputs: i64) -> Result<Self> {
        Self::with(parameters, inputs, outputs, Init::inputs(inputs))
    }

    /// Makes the layer with the parameter `weight` and no bias, initialised by `init`.
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn with(parameters: &Parameters, inputs: i64, outputs: i64, init: Init) -> Result<Self> {
        Ok(Self { weight: parameters.make("weight", [inputs, outputs], init)?, bias: None, adapter: None })
    }

    /// Makes the layer from existing tensors, such as those of a file.
    pub fn of(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight, bias, adapter: None }
    }

    /// Adds an adapter with the parameters `lora_a`, initialised by [`Init::inputs`], and `lora_b`, zeros. Training
    /// them changes the layer while the weight stays as it is, which is how quantised weights are fine-tuned. The
    /// adapter's factor is alpha / rank.
    ///
    /// ```
    /// use tensorlib::nn::{Linear, Parameters};
    /// use tensorlib::{Context, DType};
    /// let weight = Context::new().zeros(DType::Q8_0, [64, 32])?; // of a quantised model
    /// let mut layer = Linear::of(weight, None);
    /// let adapter = Parameters::new(1);
    /// layer.adapt(&adapter.scope("blk.0.attn_q.weight"), 4, 8.)?;
    /// assert_eq!(adapter.names(), ["blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a weight that is not a matrix, a rank below 1, an alpha that is not
    /// finite, and a layer that already has an adapter; as [`Parameters::make`].
    pub fn adapt(&mut self, parameters: &Parameters, rank: i64, alpha: f64) -> Result<()> {
        let (shape, name) = (self.weight.shape(), self.weight.name());
        let refuse = |what: String| Err(invalid(format!("Linear::adapt: '{name}' {shape:?}: {what}")));
        if shape.len() != 2 {
            return refuse("a matrix is valid".into());
        }
        if rank < 1 || !alpha.is_finite() {
            return refuse(format!("rank {rank}, alpha {alpha}: a rank of 1 or more and a finite alpha are valid"));
        }
        if self.adapter.is_some() {
            return refuse("there is an adapter: one is valid".into());
        }
        let a = parameters.make("lora_a", [shape[0], rank], Init::inputs(shape[0]))?;
        let b = parameters.make("lora_b", [rank, shape[1]], Init::Zeros)?;
        self.adapter = Some(LowRank { a, b, scale: alpha / rank as f64 });
        Ok(())
    }
}

impl Module for Linear {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        // All rows as one matrix: one product reads the weight once, where a product per sample would read it once
        // each.
        let mut shape = x.shape();
        let is_flattened = shape.len() > 2 && x.is_contiguous();
        let rows = if is_flattened { x.reshape([shape[0], -1])? } else { x.clone() };
        let mut y = self.weight.mul_mat(&rows)?;
        if let Some(LowRank { a, b, scale }) = &self.adapter {
            y = y.add(&b.mul_mat(&a.mul_mat(&rows)?.scale(*scale, ScaleOptions::new())?)?)?;
        }
        if let Some(bias) = &self.bias {
            y = y.add(bias)?;
        }
        if !is_flattened {
            return Ok(y);
        }
        shape[0] = -1;
        y.reshape(shape)
    }
}
