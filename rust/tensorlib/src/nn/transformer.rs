//! Transformer encoder and decoder layers.

use super::{Dropout, LayerNorm, Linear, Module, MultiHeadAttention, Parameters, Pass};
use crate::{Result, Tensor};

/// Options of a [`TransformerEncoderLayer`] or a [`TransformerDecoderLayer`].
#[derive(Clone, Copy, Debug)]
pub struct TransformerOptions {
    width: i64,
    heads: i64,
    hidden: i64,
    dropout: f64,
    norm_first: bool,
    activation: fn(&Tensor) -> Result<Tensor>,
}

impl TransformerOptions {
    /// `heads` heads that divide the width, and feed-forward blocks of `hidden` neurons with relu; each part is followed
    /// by its norm; no dropout.
    pub fn new(width: i64, heads: i64, hidden: i64) -> Self {
        Self { width, heads, hidden, dropout: 0., norm_first: false, activation: Tensor::relu }
    }

    /// The probability with which attention weights, neurons and the result of each part are dropped in training.
    #[must_use]
    pub fn dropout(mut self, p: f64) -> Self {
        self.dropout = p;
        self
    }

    /// Normalises what each part reads, not the sums that it is added to: deep stacks then learn without a warm-up (R.
    /// Xiong and others, On Layer Normalization in the Transformer Architecture, 2020). The output of the last layer
    /// has no norm then.
    #[must_use]
    pub fn norm_first(mut self) -> Self {
        self.norm_first = true;
        self
    }

    /// The activation of feed-forward blocks, such as [`Tensor::gelu_erf`].
    #[must_use]
    pub fn activation(mut self, activation: fn(&Tensor) -> Result<Tensor>) -> Self {
        self.activation = activation;
        self
    }

    fn attention(&self, parameters: &Parameters, name: &str) -> Result<MultiHeadAttention> {
        MultiHeadAttention::new(&parameters.scope(name), self.width, self.heads)?.dropout(self.dropout)
    }
}

/// The feed-forward block of a layer.
#[derive(Clone, Debug)]
pub struct FeedForward {
    /// `[width, hidden]`.
    pub linear1: Linear,
    /// `[hidden, width]`.
    pub linear2: Linear,
}

/// What both kinds of layers have in common: a feed-forward block, and how parts are joined.
#[derive(Clone, Debug)]
struct Block {
    options: TransformerOptions,
    dropout: Dropout,
}

impl Block {
    /// Adds a part's result to x, and normalises what it reads or the sum.
    fn add(
        &self,
        x: &Tensor,
        norm: &LayerNorm,
        pass: &Pass,
        part: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let add = |read: &Tensor| x.add(&self.dropout.forward(&part(read)?, pass)?);
        if self.options.norm_first {
            add(&norm.forward(x, pass)?)
        } else {
            norm.forward(&add(x)?, pass)
        }
    }

    fn feed(&self, block: &FeedForward, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let neurons = (self.options.activation)(&block.linear1.forward(x, pass)?)?;
        block.linear2.forward(&self.dropout.forward(&neurons, pass)?, pass)
    }

    fn new(options: TransformerOptions) -> Result<Self> {
        Ok(Self { options, dropout: Dropout::new(options.dropout)? })
    }
}

fn feed_forward(parameters: &Parameters, options: &TransformerOptions) -> Result<FeedForward> {
    let TransformerOptions { width, hidden, .. } = *options;
    let linear1 = Linear::new(&parameters.scope("linear1"), width, hidden)?;
    Ok(FeedForward { linear1, linear2: Linear::new(&parameters.scope("linear2"), hidden, width)? })
}

/// A layer of an encoder: self-attention and a feed-forward block, each added to what it reads (A. Vaswani and others,
/// Attention Is All You Need, 2017). It maps `[width, tokens, n]` to the same shape.
///
/// ```
/// use tensorlib::nn::{mask, Module, Parameters, Pass, TransformerEncoderLayer, TransformerOptions};
/// use tensorlib::{Context, DType};
/// let options = TransformerOptions::new(8, 2, 32).dropout(0.1);
/// let layer = TransformerEncoderLayer::new(&Parameters::new(1), options)?;
/// let ctx = Context::new();
/// let x = ctx.zeros(DType::F32, [8, 5, 2])?;
/// let mask = mask::padding(&ctx.tensor_of([2], &[5i32, 3])?, 5)?; // samples of 5 and 3 tokens
/// assert_eq!(layer.encode(&x, Some(&mask), &Pass::evaluation())?.shape(), [8, 5, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransformerEncoderLayer {
    /// Attention of the tokens to each other.
    pub self_attn: MultiHeadAttention,
    /// The norm of the attention.
    pub norm1: LayerNorm,
    /// The feed-forward block.
    pub feed_forward: FeedForward,
    /// The norm of the feed-forward block.
    pub norm2: LayerNorm,
    block: Block,
}

impl TransformerEncoderLayer {
    /// Makes the layer with PyTorch's parameters: those of `self_attn`, `linear1`, `linear2`, `norm1` and `norm2`.
    ///
    /// # Errors
    /// As [`MultiHeadAttention::new`] and [`Dropout::new`].
    pub fn new(parameters: &Parameters, options: TransformerOptions) -> Result<Self> {
        let norm = |name: &str| LayerNorm::new(&parameters.scope(name), options.width);
        Ok(Self {
            block: Block::new(options)?,
            self_attn: options.attention(parameters, "self_attn")?,
            feed_forward: feed_forward(parameters, &options)?,
            norm1: norm("norm1")?,
            norm2: norm("norm2")?,
        })
    }

    /// Computes the layer. A [mask](super::mask) hides keys from tokens, as in [`MultiHeadAttention::attend`].
    ///
    /// # Errors
    /// As [`MultiHeadAttention::attend`].
    pub fn encode(&self, x: &Tensor, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        let x = self.block.add(x, &self.norm1, pass, |x| self.self_attn.attend(x, mask, pass))?;
        self.block.add(&x, &self.norm2, pass, |x| self.block.feed(&self.feed_forward, x, pass))
    }
}

impl Module for TransformerEncoderLayer {
    /// Computes the layer without a mask.
    ///
    /// # Errors
    /// As [`TransformerEncoderLayer::encode`].
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.encode(x, None, pass)
    }
}

/// A layer of a decoder: self-attention, attention to the output of an encoder, and a feed-forward block, each added to
/// what it reads.
///
/// ```
/// use tensorlib::nn::{mask, Parameters, Pass, TransformerDecoderLayer, TransformerOptions};
/// use tensorlib::{Context, DType};
/// let layer = TransformerDecoderLayer::new(&Parameters::new(1), TransformerOptions::new(8, 2, 32).norm_first())?;
/// let ctx = Context::new();
/// let (x, memory) = (ctx.zeros(DType::F32, [8, 5, 2])?, ctx.zeros(DType::F32, [8, 7, 2])?);
/// let y = layer.decode(&x, &memory, Some(&mask::causal(&ctx, 5)?), None, &Pass::evaluation())?;
/// assert_eq!(y.shape(), [8, 5, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransformerDecoderLayer {
    /// Attention of the tokens to each other.
    pub self_attn: MultiHeadAttention,
    /// The norm of the self-attention.
    pub norm1: LayerNorm,
    /// Attention of the tokens to the memory.
    pub multihead_attn: MultiHeadAttention,
    /// The norm of the attention to the memory.
    pub norm2: LayerNorm,
    /// The feed-forward block.
    pub feed_forward: FeedForward,
    /// The norm of the feed-forward block.
    pub norm3: LayerNorm,
    block: Block,
}

impl TransformerDecoderLayer {
    /// Makes the layer with PyTorch's parameters: those of `self_attn`, `multihead_attn`, `linear1`, `linear2`, `norm1`,
    /// `norm2` and `norm3`.
    ///
    /// # Errors
    /// As [`MultiHeadAttention::new`] and [`Dropout::new`].
    pub fn new(parameters: &Parameters, options: TransformerOptions) -> Result<Self> {
        let norm = |name: &str| LayerNorm::new(&parameters.scope(name), options.width);
        Ok(Self {
            block: Block::new(options)?,
            self_attn: options.attention(parameters, "self_attn")?,
            multihead_attn: options.attention(parameters, "multihead_attn")?,
            feed_forward: feed_forward(parameters, &options)?,
            norm1: norm("norm1")?,
            norm2: norm("norm2")?,
            norm3: norm("norm3")?,
        })
    }

    /// Computes the layer for x `[width, tokens, n]` and the encoder's output `[width, keys, n]`. `mask` hides tokens
    /// from each other, and `memory_mask` hides the encoder's output from tokens, as in [`MultiHeadAttention`].
    ///
    /// # Errors
    /// As [`MultiHeadAttention::attend_to`].
    pub fn decode(
        &self,
        x: &Tensor,
        memory: &Tensor,
        mask: Option<&Tensor>,
        memory_mask: Option<&Tensor>,
        pass: &Pass,
    ) -> Result<Tensor> {
        let x = self.block.add(x, &self.norm1, pass, |x| self.self_attn.attend(x, mask, pass))?;
        let reads = |x: &Tensor| self.multihead_attn.attend_to(x, memory, memory_mask, pass);
        let x = self.block.add(&x, &self.norm2, pass, reads)?;
        self.block.add(&x, &self.norm3, pass, |x| self.block.feed(&self.feed_forward, x, pass))
    }
}
