//! Attention of a layer: its projections, norms and rotation.

use super::run::Run;
use super::shape::{KeyHeads, Shape, Stated};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
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
    fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let linear = |part: &str, outputs| weights.linear(&name(part), shape.width, outputs);
        let is_there = |part: &str| weights.shape_of(&name(&format!("{part}.weight"))).is_some();
        let KeyHeads { count, key, value } = shape.keys_of(number);
        let queries = shape.heads * key * if shape.gated_attention { 2 } else { 1 };
        // Converters may join the matrices of any model.
        if shape.fused || !weights.is_hub() && is_there("attn_qkv") {
            return Ok(Projections::Fused(linear("attn_qkv", queries + count * (key + value))?));
        }
        let query = linear("attn_q", queries)?;
        let own = match shape.source_of(number) == number {
            true => Some(OwnKeys {
                key: linear("attn_k", count * key)?,
                value: match shape.keys_as_values && !is_there("attn_v") {
                    true => None,
                    false => Some(linear("attn_v", count * value)?),
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
    heads: KeyHeads,
    projections: Projections,
    query_norm: Option<RmsNorm>,
    key_norm: Option<RmsNorm>,
    sinks: Option<Tensor>,
    output: Linear,
    rope: RopeOptions,
    factors: Option<Tensor>,
    windowed: bool,
}

impl Attention {
    /// Loads the tensors of layer `number`; `factors` are the frequency factors of its rotation.
    pub fn load(weights: &Weights, shape: &Shape, number: usize, factors: Option<Tensor>) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let (width, heads) = (shape.width, shape.keys_of(number));
        let norm = |part: &str| weights.rms_norm(&name(part), heads.key, shape.eps);
        let projections = Projections::load(weights, shape, number)?;
        let query = if matches!(projections, Projections::Fused(_)) { "attn_qkv" } else { "attn_q" };
        Stated::check_bias(shape.stated.attention_bias, weights, &name(&format!("{query}.bias")))?;
        let (windowed, has_keys) = (shape.is_windowed(number), shape.source_of(number) == number);
        if !has_keys {
            // Published files may have them, and the models ignore them.
            ["attn_k", "attn_v", "attn_k_norm"].iter().for_each(|part| weights.leave(&name(&format!("{part}.weight"))));
        }
        let rope = shape.window_rope.as_ref().filter(|_| windowed).unwrap_or(&shape.rope).options();
        Ok(Attention {
            number,
            heads,
            projections,
            query_norm: shape.head_norms.then(|| norm("attn_q_norm")).transpose()?,
            key_norm: (shape.head_norms && has_keys).then(|| norm("attn_k_norm")).transpose()?,
            sinks: shape.sinks.then(|| weights.get(&name("attn_sinks.weight"), &[shape.heads])).transpose()?,
            output: weights.linear(&name("attn_output"), shape.heads * heads.value, width)?,
            rope,
            factors,
            windowed,
        })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let heads = run.shape.heads;
        let Projected { mut q, own, gate } = self.project(run, x)?;
        if let Some(norm) = &self.query_norm {
            q = norm.forward(&q, &run.pass)?;
        }
        let q = self.turned(run, &q)?.permute([0, 2, 1, 3])?;
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
        let c = c.reshape([heads * self.heads.value, run.tokens])?;
        Ok(self.output.forward(&c, &run.pass)?)
    }

    fn turned(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        Ok(x.rope(&run.positions, self.factors.as_ref(), self.rope)?)
    }

    /// Stores keys, [head, heads, tokens], and values, [elements of all heads, tokens]. Returns all that attention reads.
    fn store(&self, run: &Run, (mut k, mut v): (Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        let KeyHeads { count, key, value } = self.heads;
        if let Some(norm) = &self.key_norm {
            k = norm.forward(&k, &run.pass)?;
        }
        if run.shape.value_norms {
            let by_head = v.reshape([value, count, run.tokens])?.rms_norm(run.shape.eps)?;
            v = by_head.reshape([count * value, run.tokens])?;
        }
        let k = self.turned(run, &k)?.reshape([count * key, run.tokens])?;
        let all = run.keys.store(run, self.number, (&k, &v))?;
        if run.shape.sharing_layers > 0 {
            run.shared.borrow_mut().insert(self.number, all.clone());
        }
        Ok(all)
    }

    fn project(&self, run: &Run, x: &Tensor) -> Result<Projected> {
        let (shape, n, KeyHeads { count, key, value }) = (run.shape, run.tokens, self.heads);
        match &self.projections {
            Projections::Apart { query, own } => {
                let q = query.forward(x, &run.pass)?;
                let (q, gate) = match shape.gated_attention {
                    true => {
                        // A head's gate follows its query.
                        let both = q.reshape([2 * key, shape.heads, n])?;
                        (both.narrow(0, 0, key)?, Some(both.narrow(0, key, key)?))
                    }
                    false => (q.reshape([key, shape.heads, n])?, None),
                };
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
                let (row, head) = (all.strides()[1], key as usize * all.strides()[0]);
                let queries = shape.heads * if shape.gated_attention { 2 } else { 1 };
                let part = |first: i64, heads: i64, step: usize| {
                    all.view([key, heads, n], &[step * head, row], first as usize * head)
                };
                let (q, gate) = match shape.gated_attention {
                    true => (part(0, shape.heads, 2)?, Some(part(1, shape.heads, 2)?)),
                    false => (part(0, shape.heads, 1)?, None),
                };
                let own = match shape.source_of(self.number) == self.number {
                    true => Some((part(queries, count, 1)?, all.narrow(0, (queries + count) * key, count * value)?)),
                    false => None,
                };
                Ok(Projected { q, own, gate })
            }
        }
    }
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
