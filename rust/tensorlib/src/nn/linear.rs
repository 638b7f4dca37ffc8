//! Linear layers and low-rank adapters.

use super::{invalid, Init, Module, Parameters, Pass};
use crate::{Result, ScaleOptions, Tensor};

/// A low-rank adapter of a matrix: adds `scale b (a x)` to the product of the matrix with x (E. J. Hu and others, LoRA,
/// 2021). [`LowRank::forward`](Module::forward) computes what it adds.
#[derive(Clone, Debug)]
pub struct LowRank {
    /// `[inputs, rank]`.
    pub a: Tensor,
    /// `[rank, outputs]`.
    pub b: Tensor,
    /// The factor of the adapter's product.
    pub scale: f64,
    /// Whether its products must not round what they multiply with a and b ([`Tensor::mul_mat_exact`]).
    pub exact: bool,
}

impl LowRank {
    /// Makes an adapter from existing matrices, such as those of a file. Its products may round, as those of
    /// [`Tensor::mul_mat`] do.
    pub fn of(a: Tensor, b: Tensor, scale: f64) -> Self {
        Self { a, b, scale, exact: false }
    }
}

impl Module for LowRank {
    /// Computes `scale b (a x)`, which the adapter adds to the product of its matrix with x.
    ///
    /// # Errors
    /// As [`Tensor::mul_mat`].
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        of_rows(x, |rows| {
            // The rank is small, so this scales the smallest of the three tensors.
            let inner = product(&self.a, rows, self.exact)?.scale(self.scale, ScaleOptions::new())?;
            product(&self.b, &inner, self.exact)
        })
    }
}

/// weight x + bias: maps x `[inputs, ..]` to `[outputs, ..]`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`, a row per output; any type that [`Tensor::mul_mat`] takes as its first operand.
    pub weight: Tensor,
    /// `[outputs]`.
    pub bias: Option<Tensor>,
    /// Adapters, which are added in this order, before the bias.
    pub adapters: Vec<LowRank>,
    /// Whether the product with the weight must not round x ([`Tensor::mul_mat_exact`]). Adapters have their own flag.
    pub exact: bool,
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
        Ok(Self::of(parameters.make("weight", [inputs, outputs], init)?, None))
    }

    /// Makes the layer from existing tensors, such as those of a file. It has no adapters, and its product may round x,
    /// as [`Tensor::mul_mat`] does.
    pub fn of(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight, bias, adapters: Vec::new(), exact: false }
    }

    /// Forbids or allows the products of the layer and of its adapters to round what they multiply with their
    /// matrices. It matters for quantised and BF16 matrices; without rounding, products with these are slower.
    ///
    /// ```
    /// use tensorlib::nn::{Linear, Module, Pass};
    /// use tensorlib::{Backend, Context, DType};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let weight = cpu.quantize_tensor(&ctx.tensor([32, 1], &[127f32; 32])?, DType::Q8_0, None)?;
    /// let values: Vec<f32> = (0..32).map(|i| i as f32 / 100.).collect(); // most lie between two numbers of 8 bits
    /// let y = Linear::of(weight, None).exact(true).forward(&ctx.tensor([32], &values)?, &Pass::evaluation())?;
    /// cpu.compute(&[&y])?;
    /// assert!((y.to_vec::<f32>()?[0] - 127. * 4.96).abs() < 1e-3);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self.adapters.iter_mut().for_each(|adapter| adapter.exact = exact);
        self
    }

    /// Adds these adapters to those that the layer has, such as adapters of files. Each keeps its own flag
    /// [`LowRank::exact`].
    #[must_use]
    pub fn with_adapters(mut self, adapters: impl IntoIterator<Item = LowRank>) -> Self {
        self.adapters.extend(adapters);
        self
    }

    /// Adds an adapter with the parameters `lora_a`, initialised by [`Init::inputs`], and `lora_b`, zeros. Training
    /// them changes the layer while the weight stays as it is, which is how quantised weights are fine-tuned. The
    /// adapter's factor is alpha / rank. Its products round as the layer's do.
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
    /// finite, and a layer that already has adapters; as [`Parameters::make`].
    pub fn adapt(&mut self, parameters: &Parameters, rank: i64, alpha: f64) -> Result<()> {
        let (shape, name) = (self.weight.shape(), self.weight.name());
        let refuse = |what: String| Err(invalid(format!("Linear::adapt: '{name}' {shape:?}: {what}")));
        if shape.len() != 2 {
            return refuse("a matrix is valid".into());
        }
        if rank < 1 || !alpha.is_finite() {
            return refuse(format!("rank {rank}, alpha {alpha}: a rank of 1 or more and a finite alpha are valid"));
        }
        if !self.adapters.is_empty() {
            // Two adapters that are trained together are one adapter of a larger rank.
            return refuse("there is an adapter: a layer without one is valid".into());
        }
        let a = parameters.make("lora_a", [shape[0], rank], Init::inputs(shape[0]))?;
        let b = parameters.make("lora_b", [rank, shape[1]], Init::Zeros)?;
        self.adapters.push(LowRank { a, b, scale: alpha / rank as f64, exact: self.exact });
        Ok(())
    }
}

impl Module for Linear {
    /// Computes weight x, adds what the adapters add, then the bias.
    ///
    /// # Errors
    /// As [`Tensor::mul_mat`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        of_rows(x, |rows| {
            let mut y = product(&self.weight, rows, self.exact)?;
            for adapter in &self.adapters {
                y = y.add(&adapter.forward(rows, pass)?)?;
            }
            match &self.bias {
                Some(bias) => y.add(bias),
                None => Ok(y),
            }
        })
    }
}

fn product(matrix: &Tensor, x: &Tensor, exact: bool) -> Result<Tensor> {
    if exact {
        matrix.mul_mat_exact(x)
    } else {
        matrix.mul_mat(x)
    }
}

/// Applies f to all rows of x as one matrix: one product reads a weight once, where a product per sample would read it
/// once each.
fn of_rows(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let mut shape = x.shape();
    if shape.len() <= 2 || !x.is_contiguous() {
        return f(x);
    }
    let y = f(&x.reshape([shape[0], -1])?)?;
    shape[0] = y.extent(0);
    y.reshape(shape)
}
