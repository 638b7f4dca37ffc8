//! Self-attention.

use super::{invalid, Init, Linear, Module, Parameters, Pass};
use crate::{DType, FlashAttnExtOptions, Result, RopeMode, RopeOptions, Tensor};

/// Options of an [`Attention`].
#[derive(Clone, Copy, Debug)]
pub struct AttentionOptions {
    width: i64,
    heads: i64,
    kv_heads: i64,
    causal: bool,
    rope: Option<f64>,
    init: Init,
}

impl AttentionOptions {
    /// `heads` heads that divide the width, each with keys and values of its own; each token attends to all tokens; no
    /// positions; no biases.
    pub fn new(width: i64, heads: i64) -> Self {
        Self { width, heads, kv_heads: heads, causal: false, rope: None, init: Init::inputs(width) }
    }

    /// Lets a token attend only to itself and to earlier tokens.
    #[must_use]
    pub fn causal(mut self) -> Self {
        self.causal = true;
        self
    }

    /// The number of heads of keys and values, which divides the number of query heads (J. Ainslie and others, GQA,
    /// 2023).
    #[must_use]
    pub fn kv_heads(mut self, kv_heads: i64) -> Self {
        self.kv_heads = kv_heads;
        self
    }

    /// Rotary positions that rotate neighbouring elements, as in llama. `base` is the base of the frequencies, usually
    /// 10,000 (J. Su and others, RoFormer, 2021).
    #[must_use]
    pub fn rope(mut self, base: f64) -> Self {
        self.rope = Some(base);
        self
    }

    /// Initial values of the four weights; the default is [`Init::inputs`] of the width.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// Inputs and outputs of query, key, value and output.
    fn shapes(&self) -> Result<[[i64; 2]; 4]> {
        let Self { width, heads, kv_heads, .. } = *self;
        if heads < 1 || kv_heads < 1 || width < 1 || width % heads != 0 || heads % kv_heads != 0 {
            let what = format!("a width of {width}, {heads} heads and {kv_heads} heads of keys");
            return Err(invalid(format!("Attention: {what}: each a divisor of the one before is valid")));
        }
        let size = width / heads;
        if self.rope.is_some() && size % 2 != 0 {
            return Err(invalid(format!("Attention: heads of {size} with rotation: an even size is valid")));
        }
        Ok([[width, width], [width, kv_heads * size], [width, kv_heads * size], [width, width]])
    }
}

/// Softmax self-attention (A. Vaswani and others, Attention Is All You Need, 2017): maps `[width, tokens, n]` to the
/// same shape.
#[derive(Clone, Debug)]
pub struct Attention {
    /// `[width, heads * size]`.
    pub query: Linear,
    /// `[width, kv_heads * size]`.
    pub key: Linear,
    /// `[width, kv_heads * size]`.
    pub value: Linear,
    /// `[heads * size, width]`.
    pub output: Linear,
    options: AttentionOptions,
}

impl Attention {
    /// Makes the layer with the parameters `query.weight`, `key.weight`, `value.weight` and `output.weight`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for numbers that do not divide each other, or an odd head size with
    /// rotation; as [`Parameters::make`].
    pub fn new(parameters: &Parameters, options: AttentionOptions) -> Result<Self> {
        let [query, key, value, output] = options.shapes()?;
        let linear = |name: &str, [inputs, outputs]: [i64; 2]| {
            Linear::with(&parameters.scope(name), inputs, outputs, options.init)
        };
        Ok(Self {
            query: linear("query", query)?,
            key: linear("key", key)?,
            value: linear("value", value)?,
            output: linear("output", output)?,
            options,
        })
    }

    /// Makes the layer from existing layers: query, key, value and output.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) as [`Attention::new`], and for weights of wrong shapes.
    pub fn of(options: AttentionOptions, layers: [Linear; 4]) -> Result<Self> {
        for (layer, wanted) in layers.iter().zip(options.shapes()?) {
            let (name, shape) = (layer.weight.name(), layer.weight.shape());
            if shape != wanted {
                return Err(invalid(format!("Attention::of: '{name}' is {shape:?}: {wanted:?} is valid")));
            }
        }
        let [query, key, value, output] = layers;
        Ok(Self { query, key, value, output, options })
    }
}

impl Module for Attention {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let AttentionOptions { width, heads, causal, rope, .. } = self.options;
        let shape = x.shape();
        let (tokens, n) = (shape.get(1).copied().unwrap_or(1), shape.get(2).copied().unwrap_or(1));
        let ctx = x.context();
        let positions = rope.map(|_| ctx.arange(0., tokens as f64, 1.)?.cast(DType::I32)).transpose()?;
        let heads_of = |projected: Tensor, turned: bool| {
            let t = projected.reshape([width / heads, -1, tokens, n])?;
            let t = match (rope, &positions) {
                (Some(base), Some(positions)) if turned => {
                    t.rope(positions, None, RopeOptions::new().mode(RopeMode::Normal).freq_base(base))?
                }
                _ => t,
            };
            t.permute([0, 2, 1, 3]) // [size, tokens, heads, n]
        };
        let q = heads_of(self.query.forward(x, pass)?, true)?;
        let k = heads_of(self.key.forward(x, pass)?, true)?;
        let v = heads_of(self.value.forward(x, pass)?, false)?;
        let mask = if causal { Some(ctx.zeros(DType::F32, [tokens, tokens])?.diag_mask_inf(0)?) } else { None };
        let c = q.flash_attn_ext(&k, &v, mask.as_ref(), None, FlashAttnExtOptions::new())?;
        self.output.forward(&c.reshape(shape)?, pass)
    }
}
