//! One layer of an encoder: attention and feed-forward, each followed by a norm.

use super::batches::Batch;
use super::shape::{Activation, Positions, Shape};
use crate::parts::{Linear, Norm, NormKind};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::{Context, FlashAttnExtOptions, GluOptions, Tensor};

/// The data that all layers of a computation share.
pub struct Run<'a> {
    pub ctx: &'a Context,
    pub shape: &'a Shape,
    pub batch: &'a Batch,
    /// Each token's position in its line.
    pub positions: &'a Tensor,
    /// Biases by distance, for the longest line.
    pub biases: Option<Tensor>,
    pub exact: bool,
}

enum Projections {
    Apart { query: Linear, key: Linear, value: Linear },
    Fused(Linear),
}

/// A layer's weights.
pub struct Layer {
    projections: Projections,
    output: Linear,
    output_norm: Norm,
    up: Linear,
    gate: Option<Linear>,
    down: Linear,
    norm: Norm,
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`.
    pub fn load(weights: &Weights, shape: &Shape, number: i64) -> Result<Self> {
        let Shape { width, ffn, .. } = *shape;
        let name = |part: &str| format!("blk.{number}.{part}");
        let linear = |part: &str, inputs, outputs| Linear::load(weights, &name(part), inputs, outputs);
        let norm = |part: &str| Norm::load(weights, &name(part), width, NormKind::Layer, shape.eps);
        let is_gated = matches!(shape.activation, Activation::Gated(_));
        Ok(Layer {
            projections: match shape.fused {
                true => Projections::Fused(linear("attn_qkv", width, 3 * width)?),
                false => Projections::Apart {
                    query: linear("attn_q", width, width)?,
                    key: linear("attn_k", width, width)?,
                    value: linear("attn_v", width, width)?,
                },
            },
            output: linear("attn_output", width, width)?,
            output_norm: norm("attn_output_norm")?,
            up: linear("ffn_up", width, ffn)?,
            gate: is_gated.then(|| linear("ffn_gate", width, ffn)).transpose()?,
            down: linear("ffn_down", ffn, width)?,
            norm: norm("layer_output_norm")?,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let ctx = run.ctx;
        let sum = ctx.add(&self.attention(run, x)?, x)?;
        let x = self.output_norm.forward(ctx, &sum)?;
        let sum = ctx.add(&self.feed(run, &x)?, &x)?;
        self.norm.forward(ctx, &sum)
    }

    fn attention(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (mut q, mut k, v) = self.project(run, x)?;
        if let Positions::Turned(options) = &run.shape.positions {
            let turned = |t: &Tensor| run.ctx.rope(t, run.positions, None, *options);
            (q, k) = (turned(&q)?, turned(&k)?);
        }
        self.output.forward(run.ctx, &attended(run, [&q, &k, &v])?, run.exact)
    }

    /// Queries, keys and values as [head, heads, tokens].
    fn project(&self, run: &Run, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let (ctx, shape) = (run.ctx, run.shape);
        let (head, heads, tokens) = (shape.head(), shape.heads, run.batch.tokens() as i64);
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let of = |part: &Linear| -> Result<Tensor> {
                    Ok(ctx.reshape(&part.forward(ctx, x, run.exact)?, [head, heads, tokens])?)
                };
                Ok((of(query)?, of(key)?, of(value)?))
            }
            Projections::Fused(all) => {
                let all = ctx.reshape(&all.forward(ctx, x, run.exact)?, [head, 3 * heads, tokens])?;
                let part = |i: i64| ctx.narrow(&all, 1, i * heads, heads);
                Ok((part(0)?, part(1)?, part(2)?))
            }
        }
    }

    fn feed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let ctx = run.ctx;
        let up = self.up.forward(ctx, x, run.exact)?;
        let hidden = match (run.shape.activation, &self.gate) {
            (Activation::Gated(op), Some(gate)) => {
                ctx.glu(&gate.forward(ctx, x, run.exact)?, Some(&up), op, GluOptions::new().split(true))?
            }
            (Activation::Gelu, _) => ctx.gelu(&up)?,
            (Activation::GeluErf, _) => ctx.gelu_erf(&up)?,
            (Activation::Relu, _) => ctx.relu(&up)?,
            (Activation::Gated(_), None) => return Err(Error::internal("a gated layer without its gate")),
        };
        self.down.forward(ctx, &hidden, run.exact)
    }
}

/// Attention of each line to itself: lines of one length form the batch of one node, without padding.
fn attended(run: &Run, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let (ctx, shape) = (run.ctx, run.shape);
    let mut parts = Vec::new();
    for group in &run.batch.groups {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let part = |t: &Tensor| {
            let strides = t.strides();
            let (of_head, of_token) = (strides[1], strides[2]);
            let strides = [of_token, of_head, of_token * group.length];
            ctx.view(t, [shape.head(), length, shape.heads, lines], &strides, of_token * group.start)
        };
        let mask = match &run.biases {
            Some(all) => Some(ctx.slice(all, [0, 0, 0], [length, length, shape.heads])?),
            None => None,
        };
        let options = FlashAttnExtOptions::new();
        let c = ctx.flash_attn_ext(&part(q)?, &part(k)?, &part(v)?, mask.as_ref(), None, options)?;
        parts.push(ctx.reshape(&c, [shape.width, length * lines])?);
    }
    // Joins neighbours first, so that each element is copied only log2(parts) times.
    while parts.len() > 1 {
        let pairs = parts.chunks(2);
        parts = pairs
            .map(|pair| match pair {
                [a, b] => Ok(ctx.concat(a, b, 1)?),
                one => Ok(one[0].clone()),
            })
            .collect::<Result<_>>()?;
    }
    parts.pop().ok_or_else(|| Error::internal("a batch without lines"))
}
