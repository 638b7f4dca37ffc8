//! Attention of a layer: its projections, norms and rotation.

use super::cache::NewRows;
use super::run::Run;
use super::shape::{HeadNorms, KeyHeads, Shape, Stated};
use crate::norm::{self, Norm};
use crate::weights::{TensorPart, Weights};
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::nn::{Linear, Module};
use tensorlib::{RopeOptions, Tensor};

enum Projections {
    Apart {
        query: Linear,
        own: Option<OwnKeys>,
    },
    /// One matrix makes queries, keys and values.
    Fused(Linear),
}

/// The projections of a layer that has keys and values of its own.
struct OwnKeys {
    key: Linear,
    /// Without it, keys are values too.
    value: Option<Linear>,
}

impl Projections {
    /// Loads the rows of these heads of keys, and of the queries that see them.
    fn load(weights: &Weights, shape: &Shape, number: usize, heads: &Range<i64>) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let linear = |part: &str, outputs, rows: Vec<Range<i64>>| {
            weights.linear_part(&name(part), shape.width, outputs, Some(&TensorPart::rows(rows)))
        };
        let is_there = |part: &str| weights.shape_of(&name(&format!("{part}.weight"))).is_some();
        let KeyHeads { count, key, value } = shape.keys_of(number);
        let queries = shape.heads * key * if shape.gated_attention { 2 } else { 1 };
        let [of_queries, of_keys, of_values] =
            [queries / count, key, value].map(|rows| heads.start * rows..heads.end * rows);
        // Converters may join the matrices of any model.
        if shape.fused_attention || !weights.is_hub() && is_there("attn_qkv") {
            let after = |rows: &Range<i64>, first: i64| first + rows.start..first + rows.end;
            let rows = [of_queries, after(&of_keys, queries), after(&of_values, queries + count * key)];
            return Ok(Projections::Fused(linear("attn_qkv", queries + count * (key + value), rows.into())?));
        }
        let query = linear("attn_q", queries, vec![of_queries])?;
        let own = match shape.source_of(number) == number {
            true => Some(OwnKeys {
                key: linear("attn_k", count * key, vec![of_keys])?,
                value: match shape.keys_as_values && !is_there("attn_v") {
                    true => None,
                    false => Some(linear("attn_v", count * value, vec![of_values])?),
                },
            }),
            false => None,
        };
        Ok(Projections::Apart { query, own })
    }
}

/// A layer's weights for attention.
pub struct Attention {
    number: usize,
    /// The heads of queries, and of keys.
    queries: i64,
    heads: KeyHeads,
    projections: Projections,
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    sinks: Option<Tensor>,
    /// A norm of the results of all heads.
    inner_norm: Option<Norm>,
    output: Linear,
    /// The rotation, if the layer has one.
    rope: Option<RopeOptions>,
    factors: Option<Tensor>,
    windowed: bool,
}

impl Attention {
    /// Loads the tensors of layer `number`, with this rank's part of the heads; `factors` are the frequency factors of its
    /// rotation.
    pub fn load(weights: &Weights, shape: &Shape, number: usize, factors: Option<Tensor>) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let (width, all, norms) = (shape.width, shape.keys_of(number), (shape.norm_kind, shape.eps));
        let own = if weights.is_elsewhere() { 0..all.count } else { shape.own_heads(number) };
        let heads = KeyHeads { count: own.end - own.start, ..all };
        let of_key = shape.heads / all.count;
        let part = |of_query: i64| TensorPart::columns(own.start * of_key * of_query..own.end * of_key * of_query);
        let projections = Projections::load(weights, shape, number, &own)?;
        let query = if matches!(projections, Projections::Fused(_)) { "attn_qkv" } else { "attn_q" };
        Stated::check_bias(shape.stated.attention_bias, weights, &name(&format!("{query}.bias")))?;
        Stated::check_bias(shape.stated.output_bias, weights, &name("attn_output.bias"))?;
        if shape.source_of(number) != number {
            // Published files may have them, and the models ignore them.
            ["attn_k", "attn_v", "attn_k_norm"].iter().for_each(|part| weights.leave(&name(&format!("{part}.weight"))));
        }
        let windowed = shape.is_windowed(number);
        let rope = shape.window_rope.as_ref().filter(|_| windowed).unwrap_or(&shape.rope);
        let (query_norm, key_norm) = head_norms(weights, shape, number)?;
        Ok(Attention {
            number,
            queries: heads.count * of_key,
            heads,
            projections,
            query_norm,
            key_norm,
            sinks: match shape.sinks {
                true => Some(weights.get_part(&name("attn_sinks.weight"), &[shape.heads], Some(&part(1)))?),
                false => None,
            },
            inner_norm: shape
                .inner_norms
                .then(|| Norm::load(weights, norms, &name("attn_sub_norm"), shape.heads * heads.value))
                .transpose()?,
            output: weights.linear_part(
                &name("attn_output"),
                shape.heads * all.value,
                width,
                Some(&part(all.value)),
            )?,
            rope: shape.is_rotated(number).then(|| rope.options()),
            factors,
            windowed,
        })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let Projected { q, own, gate } = self.project(run, x)?;
        let mut q = self.placed(run, q, self.query_norm.as_ref())?;
        let unrotated = run.shape.temperature.is_some_and(|temperature| temperature.unrotated);
        if let Some(factors) = run.query_factors.as_ref().filter(|_| !unrotated || self.rope.is_none()) {
            q = (&q * factors)?;
        }
        let q = q.permute([0, 2, 1, 3])?;
        let keys = match own {
            Some(own) => self.store(run, own)?,
            None => {
                let shared = run.shared.borrow().get(&run.shape.source_of(self.number)).cloned();
                shared.ok_or_else(|| Error::internal("keys that no layer before has made"))?
            }
        };
        let mut c = run.keys.attend(run, self.windowed, &q, &keys, self.sinks.as_ref())?;
        if let Some(gate) = gate {
            c = (&c * &gate.sigmoid()?)?;
        }
        let c = c.reshape([self.queries * self.heads.value, run.tokens])?;
        let c = norm::normed(self.inner_norm.as_ref(), &c, &run.pass)?;
        Ok(self.output.forward(&c, &run.pass)?)
    }

    /// Queries or keys, [head, heads, tokens], normalised and rotated.
    fn placed(&self, run: &Run, x: Tensor, norm: Option<&Norm>) -> Result<Tensor> {
        match run.shape.head_norms {
            HeadNorms::AfterRotation => normed(run, self.turned(run, x)?, norm),
            HeadNorms::PlainAfterRotation if self.rope.is_some() => Ok(self.turned(run, x)?.rms_norm(run.shape.eps)?),
            _ => self.turned(run, normed(run, x, norm)?),
        }
    }

    fn turned(&self, run: &Run, x: Tensor) -> Result<Tensor> {
        match self.rope {
            Some(rope) => Ok(x.rope(&run.positions, self.factors.as_ref(), rope)?),
            None => Ok(x),
        }
    }

    /// Stores keys, [head, heads, tokens], and values, [elements of all heads, tokens]. Returns what attention
    /// reads.
    fn store(&self, run: &Run, (k, mut v): (Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        let KeyHeads { count, key, value } = self.heads;
        if run.shape.value_norms {
            let by_head = v.reshape([value, count, run.tokens])?.rms_norm(run.shape.eps)?;
            v = by_head.reshape([count * value, run.tokens])?;
        }
        let k = self.placed(run, k, self.key_norm.as_ref())?.reshape([count * key, run.tokens])?;
        let all = run.keys.store(run, self.number, &NewRows::Apart(&k, &v))?;
        if run.shape.sharing_layers > 0 {
            run.shared.borrow_mut().insert(self.number, all.clone());
        }
        Ok(all)
    }

    fn project(&self, run: &Run, x: &Tensor) -> Result<Projected> {
        let (shape, n, KeyHeads { count, key, value }) = (run.shape, run.tokens, self.heads);
        match &self.projections {
            Projections::Apart { query, own } => {
                let (q, gate) = self.queries(run, &query.forward(x, &run.pass)?)?;
                let own = match own {
                    Some(OwnKeys { key: keys, value }) => {
                        let k = keys.forward(x, &run.pass)?;
                        let v = value.as_ref().map_or_else(|| Ok(k.clone()), |value| value.forward(x, &run.pass))?;
                        Some((k.reshape([key, count, n])?, v))
                    }
                    None => None,
                };
                Ok(Projected { q, own, gate })
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?;
                let (q, gate) = self.queries(run, &all)?;
                let queries = self.queries * if shape.gated_attention { 2 } else { 1 };
                let own = match shape.source_of(self.number) == self.number {
                    true => {
                        let v = all.narrow(0, (queries + count) * key, count * value)?;
                        Some((by_head(&all, key, (queries, count, 1))?, v))
                    }
                    false => None,
                };
                Ok(Projected { q, own, gate })
            }
        }
    }

    /// Queries and gates in the first rows of a product, both [head, heads, tokens]. A head's gate follows its query.
    fn queries(&self, run: &Run, all: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let (head, heads) = (self.heads.key, self.queries);
        match run.shape.gated_attention {
            true => Ok((by_head(all, head, (0, heads, 2))?, Some(by_head(all, head, (1, heads, 2))?))),
            false => Ok((by_head(all, head, (0, heads, 1))?, None)),
        }
    }
}

/// `heads` of the heads of a product, [head, heads, tokens]: from head `first` on, each `step`-th.
fn by_head(all: &Tensor, head: i64, (first, heads, step): (i64, i64, i64)) -> Result<Tensor> {
    let (row, of_head) = (all.strides()[1], head as usize * all.strides()[0]);
    Ok(all.view([head, heads, all.shape()[1]], &[step as usize * of_head, row], first as usize * of_head)?)
}

/// Queries or keys, [head, heads, tokens], after this norm.
fn normed(run: &Run, x: Tensor, norm: Option<&Norm>) -> Result<Tensor> {
    let Some(norm) = norm else { return Ok(x) };
    if run.shape.head_norms != HeadNorms::Whole {
        return norm.forward(&x, &run.pass);
    }
    let [head, heads, n] = [0, 1, 2].map(|i| x.shape()[i]);
    let together = norm.forward(&x.reshape([head * heads, n])?, &run.pass)?;
    Ok(together.reshape([head, heads, n])?)
}

/// The norms of a layer's queries and keys. Layers that read others' keys have none of keys.
fn head_norms(weights: &Weights, shape: &Shape, number: usize) -> Result<(Option<Norm>, Option<Norm>)> {
    let KeyHeads { count, key, .. } = shape.keys_of(number);
    let [query_name, key_name] = ["attn_q_norm", "attn_k_norm"].map(|part| format!("blk.{number}.{part}"));
    let is_there = weights.is_hub() || weights.shape_of(&format!("{query_name}.weight")).is_some();
    let load = |name: &str, heads: i64| {
        Ok::<_, Error>(match shape.head_norms {
            HeadNorms::None | HeadNorms::PlainAfterRotation => None,
            HeadNorms::BeforeRotation | HeadNorms::AfterRotation => {
                Some(Norm::load(weights, (shape.norm_kind, shape.eps), name, key)?)
            }
            HeadNorms::Whole => Some(Norm::load(weights, (shape.norm_kind, shape.eps), name, heads * key)?),
            HeadNorms::Own if !is_there => None,
            HeadNorms::Own => Some(Norm::of_heads(weights, (shape.norm_kind, shape.eps), name, [key, heads])?),
        })
    };
    let of_queries = load(&query_name, shape.heads)?;
    let of_keys = if shape.source_of(number) == number { load(&key_name, count)? } else { None };
    Ok((of_queries, of_keys))
}

/// What attention computes from a layer's input.
struct Projected {
    /// Queries, [head, heads, tokens].
    q: Tensor,
    /// Keys, [head, heads, tokens], and values, [elements of all heads, tokens], if the layer has its own.
    own: Option<(Tensor, Tensor)>,
    /// Gates of the results before the sigmoid, [head, heads, tokens].
    gate: Option<Tensor>,
}
