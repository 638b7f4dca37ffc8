//! One layer of an encoder: attention and feed-forward, each with norms.

use super::attention::{joined, Attention, NearMask};
use super::batches::Batch;
use super::distances::LineDistances;
use super::feed::Feed;
use super::shape::{GateRows, Norms, Positions, QueryNorms, Shape};
use crate::norm::{normed, Norm};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, Pass};
use tensorlib::{Context, Tensor};

/// The data that all layers of a computation share.
pub struct Run<'a> {
    pub shape: &'a Shape,
    pub batch: &'a Batch,
    /// Each token's position in its line.
    pub positions: &'a Tensor,
    /// Biases by distance, for the longest line.
    pub biases: Option<Tensor>,
    /// What attention adds by distance in all layers, or in those with a window.
    pub near: Option<NearMask>,
    /// The vectors of distances, which attention multiplies with contents.
    pub distances: Option<LineDistances>,
    /// The pass of all layers, which is for evaluation.
    pub pass: Pass,
}

/// The first token of each line, for a last layer of which nobody reads the other tokens.
pub struct Firsts {
    rows: Tensor,
    lines: i64,
}

impl Firsts {
    /// Their columns of x, [width, tokens].
    pub fn of(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.get_rows(&self.rows)?)
    }

    /// Those of a batch.
    pub fn new(ctx: &Context, batch: &Batch) -> Result<Self> {
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
    /// The norms of each head's queries and keys.
    head_norms: Option<(Norm, Norm)>,
    /// The norms of all heads' queries and keys together.
    whole_norms: Option<(Norm, Norm)>,
    output: Linear,
    /// The norm before attention, or after its sum.
    attention_norm: Option<Norm>,
    /// The norm of attention's result, before the sum.
    attention_end: Option<Norm>,
    /// The norm of a second sum with the layer's input.
    attention_again: Option<Norm>,
    feed: Feed,
    /// The norm before the feed-forward block, or after its sum.
    feed_norm: Norm,
    /// The norm of the feed-forward block's result, before the sum.
    feed_end: Option<Norm>,
    /// Whether tokens attend only to near ones.
    has_window: bool,
    /// What makes keys and queries of distances, if the layer's own matrices do not.
    of_distances: [Option<Linear>; 2],
}

impl Projections {
    fn load(weights: &Weights, shape: &Shape, number: i64) -> Result<Self> {
        let linear = |part: &str, outputs| weights.linear(&shape.name(number, part), shape.width, outputs);
        let (queries, keys) = (shape.heads * shape.head, shape.kv_heads * shape.head);
        Ok(match shape.fused {
            true => Projections::Fused(linear("attn_qkv", queries + 2 * keys)?),
            false => Projections::Apart {
                query: linear("attn_q", queries)?,
                key: linear("attn_k", keys)?,
                value: linear("attn_v", keys)?,
            },
        })
    }
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`.
    pub fn load(weights: &Weights, shape: &Shape, number: i64) -> Result<Self> {
        let Shape { width, head, heads, .. } = *shape;
        let name = |part: &str| shape.name(number, part);
        let norm = |part: &str, n| Norm::load(weights, (shape.norm, shape.eps), &name(part), n);
        let pair = |n| -> Result<(Norm, Norm)> { Ok((norm("attn_q_norm", n)?, norm("attn_k_norm", n)?)) };
        let is_stored = weights.shape_of(&name("attn_q_norm.weight")).is_some();
        let is_whole = shape.query_norms == QueryNorms::WholeIfStored && is_stored;
        let rows = if is_whole { GateRows::Second } else { shape.gate };
        let is_around = shape.norms == Norms::Around;
        let (attention_norm, feed_norm) = match shape.norms {
            Norms::After => (Some(norm("attn_output_norm", width)?), norm("layer_output_norm", width)?),
            Norms::Before { .. } | Norms::Around => (
                (shape.norms != Norms::Before { first: false } || number > 0)
                    .then(|| norm("attn_norm", width))
                    .transpose()?,
                norm("ffn_norm", width)?,
            ),
        };
        let end = |part: &str| is_around.then(|| norm(part, width)).transpose();
        Ok(Layer {
            projections: Projections::load(weights, shape, number)?,
            head_norms: (shape.query_norms == QueryNorms::Heads).then(|| pair(head)).transpose()?,
            whole_norms: is_whole.then(|| pair(heads * head)).transpose()?,
            output: weights.linear(&name("attn_output"), heads * head, width)?,
            attention_norm,
            attention_end: end("post_attention_norm")?,
            attention_again: is_whole.then(|| norm("attn_norm_2", width)).transpose()?,
            feed: Feed::load(weights, shape, number, rows)?,
            feed_norm,
            feed_end: end("post_ffw_norm")?,
            has_window: shape.windows.as_ref().is_some_and(|windows| windows.has(number)),
            of_distances: match shape.relative.filter(|relative| !relative.shared) {
                Some(relative) => {
                    let own = |is_there: bool, part: &str| {
                        is_there.then(|| weights.linear(&name(part), width, heads * head)).transpose()
                    };
                    [own(relative.keys, "attn_distance_k")?, own(relative.queries, "attn_distance_q")?]
                }
                None => [None, None],
            },
        })
    }

    /// The layer's result for x, [width, tokens]: for all tokens, or for these.
    pub fn forward(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<Tensor> {
        let wanted = match firsts {
            Some(firsts) => firsts.of(x)?,
            None => x.clone(),
        };
        let norm = self.attention_norm.as_ref();
        match run.shape.norms {
            Norms::After => {
                let sum = (&self.attention(run, x, firsts)? + &wanted)?;
                let mut x = normed(norm, &sum, &run.pass)?;
                if let Some(norm) = &self.attention_again {
                    x = norm.forward(&(&x + &wanted)?, &run.pass)?;
                }
                let sum = (&self.feed.forward(run, &x)? + &x)?;
                self.feed_norm.forward(&sum, &run.pass)
            }
            Norms::Before { .. } | Norms::Around => {
                let attended = self.attention(run, &normed(norm, x, &run.pass)?, firsts)?;
                let x = (&normed(self.attention_end.as_ref(), &attended, &run.pass)? + &wanted)?;
                let fed = self.feed.forward(run, &self.feed_norm.forward(&x, &run.pass)?)?;
                Ok((&normed(self.feed_end.as_ref(), &fed, &run.pass)? + &x)?)
            }
        }
    }

    fn attention(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<Tensor> {
        let (mut q, mut k, v) = self.project(run, x, firsts)?;
        if let Some((query, key)) = &self.head_norms {
            (q, k) = (query.forward(&q, &run.pass)?, key.forward(&k, &run.pass)?);
        }
        let windows = run.shape.windows.as_ref().filter(|_| self.has_window);
        let rope = match (&run.shape.positions, windows) {
            (_, Some(windows)) => Some(&windows.rope),
            (Positions::Turned(rope), None) => Some(rope),
            (Positions::Rows { .. } | Positions::Slopes(_) | Positions::Distances, None) => None,
        };
        if let Some(options) = rope {
            k = k.rope(run.positions, None, *options)?;
            // First tokens have position 0, at which nothing is rotated.
            if firsts.is_none() {
                q = q.rope(run.positions, None, *options)?;
            }
        }
        let distances = run
            .distances
            .as_ref()
            .map(|distances| distances.projected(run, self.makers_of_distances()?))
            .transpose()?;
        let attention = Attention { run, windows, distances, qkv: [&q, &k, &v] };
        let c = match firsts {
            Some(firsts) => firsts.columns(attention.of_firsts()?)?,
            None => attention.of_all()?,
        };
        Ok(self.output.forward(&c, &run.pass)?)
    }

    /// The matrices that make keys and queries of distances.
    fn makers_of_distances(&self) -> Result<[&Linear; 2]> {
        match (&self.projections, &self.of_distances) {
            (Projections::Apart { query, key, .. }, [own_key, own_query]) => {
                Ok([own_key.as_ref().unwrap_or(key), own_query.as_ref().unwrap_or(query)])
            }
            (Projections::Fused(_), _) => Err(Error::internal("distances in a layer with one matrix")),
        }
    }

    /// Queries, keys and values as [head, heads, tokens]; queries of these tokens alone.
    fn project(&self, run: &Run, x: &Tensor, firsts: Option<&Firsts>) -> Result<(Tensor, Tensor, Tensor)> {
        let Shape { head, heads, kv_heads, .. } = *run.shape;
        let tokens = run.batch.tokens() as i64;
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let norms = self.whole_norms.as_ref();
                let of = |part: &Linear, norm, heads| -> Result<Tensor> {
                    Ok(normed(norm, &part.forward(x, &run.pass)?, &run.pass)?.reshape([head, heads, tokens])?)
                };
                let query_norm = norms.map(|(query, _)| query);
                let q = match firsts {
                    Some(firsts) => {
                        let q = query.forward(&x.get_rows(&firsts.rows)?, &run.pass)?;
                        let q = normed(query_norm, &q, &run.pass)?;
                        q.narrow(1, 0, firsts.lines)?.reshape([head, heads, firsts.lines])?
                    }
                    None => of(query, query_norm, heads)?,
                };
                Ok((q, of(key, norms.map(|(_, key)| key), kv_heads)?, of(value, None, kv_heads)?))
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?;
                let part = |all: &Tensor, first: i64, n: i64| {
                    let columns = all.shape().get(1).copied().unwrap_or(1);
                    all.reshape([head, heads + 2 * kv_heads, columns])?.narrow(1, first, n)
                };
                let q = match firsts {
                    Some(firsts) => part(&all.get_rows(&firsts.rows)?.narrow(1, 0, firsts.lines)?, 0, heads)?,
                    None => part(&all, 0, heads)?,
                };
                Ok((q, part(&all, heads, kv_heads)?, part(&all, heads + kv_heads, kv_heads)?))
            }
        }
    }
}
