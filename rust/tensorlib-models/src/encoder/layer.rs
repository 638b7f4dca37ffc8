//! One layer of an encoder: attention and feed-forward, each with a norm.

use super::batches::Batch;
use super::shape::{Activation, Norms, Positions, Shape, Windows};
use crate::weights::Weights;
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::nn::{LayerNorm, Linear, Module, Pass};
use tensorlib::{Context, DType, FlashAttnExtOptions, GluOptions, Tensor};

/// The data that all layers of a computation share.
pub struct Run<'a> {
    pub shape: &'a Shape,
    pub batch: &'a Batch,
    /// Each token's position in its line.
    pub positions: &'a Tensor,
    /// Biases by distance, for the longest line.
    pub biases: Option<Tensor>,
    /// The mask of [`window_mask`], if a line is long enough for one.
    pub window: Option<Tensor>,
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
    /// The norm before or after attention.
    attention_norm: Option<LayerNorm>,
    up: Linear,
    gate: Option<Linear>,
    down: Linear,
    /// The norm before or after the feed-forward block.
    feed_norm: LayerNorm,
    /// Whether tokens attend only to near ones.
    has_window: bool,
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`.
    pub fn load(weights: &Weights, shape: &Shape, number: i64) -> Result<Self> {
        let Shape { width, ffn, .. } = *shape;
        let name = |part: &str| format!("blk.{number}.{part}");
        let linear = |part: &str, inputs, outputs| weights.linear(&name(part), inputs, outputs);
        let norm = |part: &str| weights.layer_norm(&name(part), width, shape.eps);
        let has_gate = matches!(shape.activation, Activation::Gated(_)) && !shape.fused_gate;
        let (attention_norm, feed_norm) = match shape.norms {
            Norms::After => (Some(norm("attn_output_norm")?), norm("layer_output_norm")?),
            Norms::Before => ((number > 0).then(|| norm("attn_norm")).transpose()?, norm("ffn_norm")?),
        };
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
            attention_norm,
            up: linear("ffn_up", width, if shape.fused_gate { 2 * ffn } else { ffn })?,
            gate: has_gate.then(|| linear("ffn_gate", width, ffn)).transpose()?,
            down: linear("ffn_down", ffn, width)?,
            feed_norm,
            has_window: shape.windows.as_ref().is_some_and(|windows| number % windows.every != 0),
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let normed = |norm: &Option<LayerNorm>, x: &Tensor| match norm {
            Some(norm) => norm.forward(x, &run.pass),
            None => Ok(x.clone()),
        };
        match run.shape.norms {
            Norms::After => {
                let x = normed(&self.attention_norm, &(&self.attention(run, x)? + x)?)?;
                let sum = (&self.feed(run, &x)? + &x)?;
                Ok(self.feed_norm.forward(&sum, &run.pass)?)
            }
            Norms::Before => {
                let x = (&self.attention(run, &normed(&self.attention_norm, x)?)? + x)?;
                let fed = self.feed(run, &self.feed_norm.forward(&x, &run.pass)?)?;
                Ok((&fed + &x)?)
            }
        }
    }

    fn attention(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (mut q, mut k, v) = self.project(run, x)?;
        let windows = run.shape.windows.as_ref().filter(|_| self.has_window);
        let rope = match (&run.shape.positions, windows) {
            (_, Some(windows)) => Some(&windows.rope),
            (Positions::Turned(rope), None) => Some(rope),
            (Positions::Rows { .. }, None) => None,
        };
        if let Some(options) = rope {
            let turned = |t: &Tensor| t.rope(run.positions, None, *options);
            (q, k) = (turned(&q)?, turned(&k)?);
        }
        Ok(self.output.forward(&attended(run, windows, [&q, &k, &v])?, &run.pass)?)
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
            (Activation::Gated(op), None) => up.glu(None, op, GluOptions::new())?,
            (Activation::Gelu, _) => up.gelu()?,
            (Activation::GeluErf, _) => up.gelu_erf()?,
            (Activation::Relu, _) => up.relu()?,
        };
        Ok(self.down.forward(&hidden, &run.pass)?)
    }
}

/// Queries of a window's piece of a line.
const PIECE: i64 = 128;

/// The mask [keys, queries] of a piece of a line that attends to keys at a distance of up to a window's: key `i` of the
/// mask is `distance - i` tokens before the first query.
pub fn window_mask(ctx: &Context, windows: &Windows, longest: usize) -> Result<Tensor> {
    let queries = PIECE.min(longest as i64);
    let keys = queries + 2 * windows.distance;
    let near = |query: i64, key: i64| (query..=query + 2 * windows.distance).contains(&key);
    let of_query = |query| (0..keys).map(move |key| if near(query, key) { 0.0 } else { f32::NEG_INFINITY });
    let values: Vec<f32> = (0..queries).flat_map(of_query).collect();
    let mask = ctx.zeros(DType::F32, [keys, queries])?;
    mask.write(&values)?;
    Ok(mask)
}

/// Attention of each line to itself: lines of one length form the batch of one node, without padding. With a window,
/// each piece of a line attends to the tokens near it.
fn attended(run: &Run, windows: Option<&Windows>, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let shape = run.shape;
    let mut parts = Vec::new();
    for group in &run.batch.groups {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let part = |t: &Tensor, tokens: Range<i64>| {
            let strides = t.strides();
            let (of_head, of_token) = (strides[1], strides[2]);
            let strides = [of_token, of_head, of_token * group.length];
            let first = of_token * (group.start + tokens.start as usize);
            t.view([shape.head(), tokens.end - tokens.start, shape.heads, lines], &strides, first)
        };
        let attend = |queries: Range<i64>, keys: Range<i64>, mask: Option<&Tensor>| -> Result<Tensor> {
            let (n, options) = (queries.end - queries.start, FlashAttnExtOptions::new());
            let (q, k, v) = (part(q, queries)?, part(k, keys.clone())?, part(v, keys)?);
            Ok(q.flash_attn_ext(&k, &v, mask, None, options)?.reshape([shape.width, n, lines])?)
        };
        let c = match (windows, &run.window) {
            (Some(windows), Some(mask)) if length > windows.distance + 1 => {
                let piece = |first: i64| {
                    let queries = first..(first + PIECE).min(length);
                    let keys = (first - windows.distance).max(0)..(queries.end + windows.distance).min(length);
                    let start = keys.start - (first - windows.distance);
                    let sizes = [keys.end - keys.start, queries.end - queries.start];
                    attend(queries, keys, Some(&mask.slice([start, 0], sizes)?))
                };
                let pieces = (0..length).step_by(PIECE as usize).map(piece).collect::<Result<_>>()?;
                joined(pieces)?
            }
            _ => {
                let mask = run.biases.as_ref();
                let mask = mask.map(|all| all.slice([0, 0, 0], [length, length, shape.heads])).transpose()?;
                attend(0..length, 0..length, mask.as_ref())?
            }
        };
        parts.push(c.reshape([shape.width, length * lines])?);
    }
    joined(parts)
}

/// Joins tensors along dimension 1, neighbours first, so that each element is copied only log2(parts) times.
pub fn joined(mut parts: Vec<Tensor>) -> Result<Tensor> {
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
