//! Multi-head attention with masks, to a sequence itself or to another one.

use super::{invalid, Dropout, Init, Linear, Module, Parameters, Pass};
use crate::{FlashAttnExtOptions, Result, SoftMaxExtOptions, Tensor};

/// Multi-head attention with biases (A. Vaswani and others, Attention Is All You Need, 2017), with PyTorch's parameters.
/// [`Attention`](super::Attention) is the one of language models: rotary positions, shared heads of keys, no biases.
///
/// ```
/// use tensorlib::nn::{mask, Module, MultiHeadAttention, Parameters, Pass};
/// use tensorlib::{Context, DType};
/// let attention = MultiHeadAttention::new(&Parameters::new(1), 8, 2)?;
/// let ctx = Context::new();
/// let x = ctx.zeros(DType::F32, [8, 5, 3])?; // 3 sequences of 5 tokens
/// let y = attention.attend(&x, Some(&mask::causal(&ctx, 5)?), &Pass::evaluation())?;
/// assert_eq!(y.shape(), [8, 5, 3]);
/// let memory = ctx.zeros(DType::F32, [8, 7, 3])?;
/// assert_eq!(attention.attend_to(&x, &memory, None, &Pass::evaluation())?.shape(), [8, 5, 3]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MultiHeadAttention {
    /// `[width, 3 width]`: the rows of queries, of keys, then of values.
    pub in_proj_weight: Tensor,
    /// `[3 width]`.
    pub in_proj_bias: Tensor,
    /// `[width, width]`.
    pub out_proj: Linear,
    heads: i64,
    dropout: Dropout,
}

impl MultiHeadAttention {
    /// Makes the layer with the parameters `in_proj_weight`, initialised by [`Init::xavier`], `in_proj_bias`, zeros,
    /// `out_proj.weight`, initialised by [`Init::inputs`], and `out_proj.bias`, zeros.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a number of heads that does not divide the width; as
    /// [`Parameters::make`].
    pub fn new(parameters: &Parameters, width: i64, heads: i64) -> Result<Self> {
        if width < 1 || heads < 1 || width % heads != 0 {
            return Err(invalid(format!(
                "MultiHeadAttention::new: a width of {width} and {heads} heads: a number of heads that divides the width is valid"
            )));
        }
        let in_proj_weight = parameters.make("in_proj_weight", [width, 3 * width], Init::xavier(width, 3 * width))?;
        let in_proj_bias = parameters.make("in_proj_bias", [3 * width], Init::Zeros)?;
        let output = parameters.scope("out_proj");
        let mut out_proj = Linear::without_bias(&output, width, width)?;
        out_proj.bias = Some(output.make("bias", [width], Init::Zeros)?);
        Ok(Self { in_proj_weight, in_proj_bias, out_proj, heads, dropout: Dropout::new(0.)? })
    }

    /// Drops attention weights with this probability in training. The weights are then kept in memory for the backward
    /// pass; without dropout they are not.
    ///
    /// # Errors
    /// As [`Dropout::new`].
    pub fn dropout(mut self, p: f64) -> Result<Self> {
        self.dropout = Dropout::new(p)?;
        Ok(self)
    }

    /// Lets the tokens of x `[width, tokens, n]` attend to each other. A [mask](super::mask) has the shape
    /// `[tokens, tokens, heads, n]`; all dimensions but the first may have 1 element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an x or a mask of another shape; as [`Tensor::mul_mat`].
    pub fn attend(&self, x: &Tensor, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        self.check("x", x)?;
        x.node_context().within_or_younger(|| {
            let width = self.out_proj.weight.extent(0);
            // One product projects queries, keys and values.
            let all = self.project(x, 0, 3, pass)?;
            let part = |i: i64| all.narrow(0, i * width, width);
            self.answer([part(0)?, part(1)?, part(2)?], mask, x, pass)
        })
    }

    /// Lets the tokens of x `[width, tokens, n]` attend to those of memory `[width, keys, n]`. A [mask](super::mask)
    /// has the shape `[keys, tokens, heads, n]`; all dimensions but the first may have 1 element.
    ///
    /// # Errors
    /// As [`MultiHeadAttention::attend`].
    pub fn attend_to(&self, x: &Tensor, memory: &Tensor, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        self.check("x", x)?;
        self.check("memory", memory)?;
        if memory.extent(2) != x.extent(2) {
            let (of_x, of_memory) = (x.shape(), memory.shape());
            return Err(invalid(format!(
                "MultiHeadAttention: x {of_x:?}, memory {of_memory:?}: as many samples of both are valid"
            )));
        }
        x.node_context().within_or_younger(|| {
            let width = self.out_proj.weight.extent(0);
            let both = self.project(memory, 1, 2, pass)?;
            let part = |i: i64| both.narrow(0, i * width, width);
            self.answer([self.project(x, 0, 1, pass)?, part(0)?, part(1)?], mask, x, pass)
        })
    }

    fn check(&self, name: &str, t: &Tensor) -> Result<()> {
        let width = self.out_proj.weight.extent(0);
        if t.extent(0) == width && t.extent(3) == 1 {
            return Ok(());
        }
        let (shape, dtype) = (t.shape(), t.dtype());
        Err(invalid(format!("MultiHeadAttention: {name} is {shape:?} {dtype}: [{width}, tokens, n] is valid")))
    }

    /// Applies `n` of the three projections, from this one on.
    fn project(&self, x: &Tensor, first: i64, n: i64, pass: &Pass) -> Result<Tensor> {
        let width = self.out_proj.weight.extent(0);
        let weight = self.in_proj_weight.narrow(1, first * width, n * width)?;
        let bias = self.in_proj_bias.narrow(0, first * width, n * width)?;
        Linear::of(weight, Some(bias)).forward(x, pass)
    }

    /// Attention of projected queries, keys and values `[width, .., n]`, and its projection in the shape of x.
    fn answer(&self, projected: [Tensor; 3], mask: Option<&Tensor>, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let (tokens, keys, n) = (x.extent(1), projected[1].extent(1), x.extent(2));
        let size = x.extent(0) / self.heads;
        let mask = mask.map(|mask| self.whole_mask(mask, [keys, tokens, self.heads, n])).transpose()?;
        let of_heads = |t: &Tensor| t.reshape([size, self.heads, t.extent(1), n])?.permute([0, 2, 1, 3]);
        let [q, k, v] = [of_heads(&projected[0])?, of_heads(&projected[1])?, of_heads(&projected[2])?];
        let answer = if pass.is_training() && self.dropout.drops() {
            let options = SoftMaxExtOptions::new().scale(1. / (size as f64).sqrt());
            let weights = k.mul_mat(&q)?.soft_max_ext(mask.as_ref(), None, options)?;
            let values = v.permute([1, 0, 2, 3])?.cont()?; // [keys, size, heads, n]
            values.mul_mat(&self.dropout.forward(&weights, pass)?)?.permute([0, 2, 1, 3])?.cont()?
        } else {
            q.flash_attn_ext(&k, &v, mask.as_ref(), None, FlashAttnExtOptions::new())?
        };
        self.out_proj.forward(&answer.reshape(x.shape())?, pass)
    }

    /// Checks a mask, and repeats it for all queries if it has one row for them.
    fn whole_mask(&self, mask: &Tensor, wanted: [i64; 4]) -> Result<Tensor> {
        let fits = |d: usize| mask.extent(d) == wanted[d] || (d > 0 && mask.extent(d) == 1);
        if !(0..4).all(fits) {
            let (shape, dtype) = (mask.shape(), mask.dtype());
            return Err(invalid(format!(
                "MultiHeadAttention: the mask is {shape:?} {dtype}: {wanted:?} is valid, and 1 in place of all numbers but the first"
            )));
        }
        if mask.extent(1) == wanted[1] {
            return Ok(mask.clone());
        }
        mask.repeat([wanted[0], wanted[1], mask.extent(2), mask.extent(3)])
    }
}

impl Module for MultiHeadAttention {
    /// Lets all tokens of x attend to each other.
    ///
    /// # Errors
    /// As [`MultiHeadAttention::attend`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.attend(x, None, pass)
    }
}
