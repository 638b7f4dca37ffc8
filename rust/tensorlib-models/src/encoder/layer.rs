//! One layer of an encoder: attention and feed-forward, each followed by a norm.

use super::batches::Batch;
use super::shape::{Activation, Positions, Shape};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{LayerNorm, Linear, Module, Pass};
use tensorlib::{FlashAttnExtOptions, GluOptions, Tensor};

/// The data that all layers of a computation share.
pub struct Run<'a> {
    pub shape: &'a Shape,
    pub batch: &'a Batch,
    /// Each token's position in its line.
    pub positions: &'a Tensor,
    /// Biases by distance, for the longest line.
    pub biases: Option<Tensor>,
    /// The pass of all layers, which is for evaluation.
    pub pass: Pass,
}

enum Projections {
    Apart { query: Linear, key: Linear, value: Linear },
    Fused(Linear),
}

/// A layer's weights.
pub struct Layer {
    projections: Projections,
    output: Linear,
    output_norm: LayerNorm,
    up: Linear,
    gate: Option<Linear>,
    down: Linear,
    norm: LayerNorm,
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`.
    pub fn load(weights: &Weights, shape: &Shape, number: i64) -> Result<Self> {
        let Shape { width, ffn, .. } = *shape;
        let name = |part: &str| format!("blk.{number}.{part}");
        let linear = |part: &str, inputs, outputs| weights.linear(&name(part), inputs, outputs);
        let norm = |part: &str| weights.layer_norm(&name(part), width, shape.eps);
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
        let sum = (&self.attention(run, x)? + x)?;
        let x = self.output_norm.forward(&sum, &run.pass)?;
        let sum = (&self.feed(run, &x)? + &x)?;
        Ok(self.norm.forward(&sum, &run.pass)?)
    }

    fn attention(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (mut q, mut k, v) = self.project(run, x)?;
        if let Positions::Turned(options) = &run.shape.positions {
            let turned = |t: &Tensor| t.rope(run.positions, None, *options);
            (q, k) = (turned(&q)?, turned(&k)?);
        }
        Ok(self.output.forward(&attended(run, [&q, &k, &v])?, &run.pass)?)
    }

    /// Queries, keys and values as [head, heads, tokens].
    fn project(&self, run: &Run, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let shape = run.shape;
        let (head, heads, tokens) = (shape.head(), shape.heads, run.batch.tokens() as i64);
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let of = |part: &Linear| -> Result<Tensor> {
                    Ok(part.forward(x, &run.pass)?.reshape([head, heads, tokens])?)
                };
                Ok((of(query)?, of(key)?, of(value)?))
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?.reshape([head, 3 * heads, tokens])?;
                let part = |i: i64| all.narrow(1, i * heads, heads);
                Ok((part(0)?, part(1)?, part(2)?))
            }
        }
    }

    fn feed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let up = self.up.forward(x, &run.pass)?;
        let hidden = match (run.shape.activation, &self.gate) {
            (Activation::Gated(op), Some(gate)) => {
                gate.forward(x, &run.pass)?.glu(Some(&up), op, GluOptions::new().split(true))?
            }
            (Activation::Gelu, _) => up.gelu()?,
            (Activation::GeluErf, _) => up.gelu_erf()?,
            (Activation::Relu, _) => up.relu()?,
            (Activation::Gated(_), None) => return Err(Error::internal("a gated layer without its gate")),
        };
        Ok(self.down.forward(&hidden, &run.pass)?)
    }
}

/// Attention of each line to itself: lines of one length form the batch of one node, without padding.
fn attended(run: &Run, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let shape = run.shape;
    let mut parts = Vec::new();
    for group in &run.batch.groups {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let part = |t: &Tensor| {
            let strides = t.strides();
            let (of_head, of_token) = (strides[1], strides[2]);
            let strides = [of_token, of_head, of_token * group.length];
            t.view([shape.head(), length, shape.heads, lines], &strides, of_token * group.start)
        };
        let mask = match &run.biases {
            Some(all) => Some(all.slice([0, 0, 0], [length, length, shape.heads])?),
            None => None,
        };
        let options = FlashAttnExtOptions::new();
        let c = part(q)?.flash_attn_ext(&part(k)?, &part(v)?, mask.as_ref(), None, options)?;
        parts.push(c.reshape([shape.width, length * lines])?);
    }
    // Joins neighbours first, so that each element is copied only log2(parts) times.
    while parts.len() > 1 {
        let pairs = parts.chunks(2);
        parts = pairs
            .map(|pair| match pair {
                [a, b] => Ok(a.concat(b, 1)?),
                one => Ok(one[0].clone()),
            })
            .collect::<Result<_>>()?;
    }
    parts.pop().ok_or_else(|| Error::internal("a batch without lines"))
}
