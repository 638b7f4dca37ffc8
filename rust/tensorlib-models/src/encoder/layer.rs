//! One layer of an encoder: attention and feed-forward, each with a norm.

use super::batches::{Batch, Group};
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

/// The first token of each line, for a last layer of which nobody reads the other tokens.
pub struct Firsts {
    rows: Tensor,
    lines: i64,
}

impl Firsts {
    /// Those of a batch.
    pub fn of(ctx: &Context, batch: &Batch) -> Result<Self> {
        let mut rows: Vec<i32> = batch.places().map(|(_, range)| range.start as i32).collect();
        let lines = rows.len() as i64;
        // A single line has two columns, because products with quantised weights round a single one differently.
        if lines == 1 {
            rows.push(rows[0]);
        }
        Ok(Firsts { rows: ctx.tensor_of([rows.len() as i64], &rows)?, lines })
    }

    /// The column of each line, doubled if there is one.
    fn columns(&self, x: Tensor) -> Result<Tensor> {
        match self.lines {
            1 => joined(vec![x.clone(), x]),
            _ => Ok(x),
        }
    }
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

    /// The layer's result for x, [width, tokens]: for all tokens, or for these.
    pub fn forward(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<Tensor> {
        let wanted = match firsts {
            Some(firsts) => x.get_rows(&firsts.rows)?,
            None => x.clone(),
        };
        match run.shape.norms {
            Norms::After => {
                let sum = (&self.attention(run, x, firsts)? + &wanted)?;
                let x = self.normed(run, &sum)?;
                let sum = (&self.feed(run, &x)? + &x)?;
                Ok(self.feed_norm.forward(&sum, &run.pass)?)
            }
            Norms::Before => {
                let x = (&self.attention(run, &self.normed(run, x)?, firsts)? + &wanted)?;
                let fed = self.feed(run, &self.feed_norm.forward(&x, &run.pass)?)?;
                Ok((&fed + &x)?)
            }
        }
    }

    fn normed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        match &self.attention_norm {
            Some(norm) => Ok(norm.forward(x, &run.pass)?),
            None => Ok(x.clone()),
        }
    }

    fn attention(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<Tensor> {
        let (mut q, mut k, v) = self.project(run, x, firsts)?;
        let windows = run.shape.windows.as_ref().filter(|_| self.has_window);
        let rope = match (&run.shape.positions, windows) {
            (_, Some(windows)) => Some(&windows.rope),
            (Positions::Turned(rope), None) => Some(rope),
            (Positions::Rows { .. }, None) => None,
        };
        if let Some(options) = rope {
            k = k.rope(run.positions, None, *options)?;
            // First tokens have position 0, at which nothing is rotated.
            if firsts.is_none() {
                q = q.rope(run.positions, None, *options)?;
            }
        }
        let c = match firsts {
            Some(firsts) => firsts.columns(attended_first(run, windows, [&q, &k, &v])?)?,
            None => attended(run, windows, [&q, &k, &v])?,
        };
        Ok(self.output.forward(&c, &run.pass)?)
    }

    /// Queries, keys and values as [head, heads, tokens]; queries of these tokens alone.
    fn project(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<(Tensor, Tensor, Tensor)> {
        let shape = run.shape;
        let (head, heads, tokens) = (shape.head(), shape.heads, run.batch.tokens() as i64);
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let of = |part: &Linear| part.forward(x, &run.pass)?.reshape([head, heads, tokens]);
                let q = match firsts {
                    Some(firsts) => {
                        let q = query.forward(&x.get_rows(&firsts.rows)?, &run.pass)?;
                        q.narrow(1, 0, firsts.lines)?.reshape([head, heads, firsts.lines])?
                    }
                    None => of(query)?,
                };
                Ok((q, of(key)?, of(value)?))
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?;
                let part = |all: &Tensor, i: i64| {
                    let heads_of_all = all.reshape([head, 3 * heads, all.shape().get(1).copied().unwrap_or(1)])?;
                    heads_of_all.narrow(1, i * heads, heads)
                };
                let q = match firsts {
                    Some(firsts) => part(&all.get_rows(&firsts.rows)?.narrow(1, 0, firsts.lines)?, 0)?,
                    None => part(&all, 0)?,
                };
                Ok((q, part(&all, 1)?, part(&all, 2)?))
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
    let width = run.shape.width;
    let of_group = |group: &Group| {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let attend = |queries: Range<i64>, keys: Range<i64>, mask: Option<&Tensor>| {
            let q = part(run, q, group.start, group.length, lines, queries)?;
            attend(run, group, q, [k, v], keys, mask)
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
                joined((0..length).step_by(PIECE as usize).map(piece).collect::<Result<_>>()?)?
            }
            _ => attend(0..length, 0..length, biases(run, length, length)?.as_ref())?,
        };
        Ok(c.reshape([width, length * lines])?)
    };
    joined(run.batch.groups.iter().map(of_group).collect::<Result<_>>()?)
}

/// Attention of each line's first token, of which `q` has the queries, to the line.
fn attended_first(run: &Run, windows: Option<&Windows>, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let (mut all, mut before) = (Vec::new(), 0);
    for group in &run.batch.groups {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let near = windows.map_or(length, |windows| length.min(windows.distance + 1));
        let q = part(run, q, before, 1, lines, 0..1)?;
        let c = attend(run, group, q, [k, v], 0..near, biases(run, near, 1)?.as_ref())?;
        all.push(c.reshape([run.shape.width, lines])?);
        before += group.lines;
    }
    joined(all)
}

/// These tokens of `lines` lines as [head, tokens, heads, lines]: lines of `length` tokens, from the token `start` of t,
/// [head, heads, tokens], on.
fn part(run: &Run, t: &Tensor, start: usize, length: usize, lines: i64, tokens: Range<i64>) -> Result<Tensor> {
    let strides = t.strides();
    let (of_head, of_token) = (strides[1], strides[2]);
    let first = of_token * (start + tokens.start as usize);
    let (shape, strides) =
        ([run.shape.head(), tokens.end - tokens.start, run.shape.heads, lines], [of_token, of_head, of_token * length]);
    Ok(t.view(shape, &strides, first)?)
}

/// The attention of these queries of a group's lines to some of its keys: [width, queries, lines].
fn attend(
    run: &Run,
    group: &Group,
    q: Tensor,
    [k, v]: [&Tensor; 2],
    keys: Range<i64>,
    mask: Option<&Tensor>,
) -> Result<Tensor> {
    let lines = group.lines as i64;
    let of = |t: &Tensor| part(run, t, group.start, group.length, lines, keys.clone());
    let c = q.flash_attn_ext(&of(k)?, &of(v)?, mask, None, FlashAttnExtOptions::new())?;
    Ok(c.reshape([run.shape.width, -1, lines])?)
}

/// The biases of the first keys and queries.
fn biases(run: &Run, keys: i64, queries: i64) -> Result<Option<Tensor>> {
    let part = |all: &Tensor| all.slice([0, 0, 0], [keys, queries, run.shape.heads]);
    Ok(run.biases.as_ref().map(part).transpose()?)
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
