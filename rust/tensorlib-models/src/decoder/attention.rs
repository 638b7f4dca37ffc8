//! Attention of a layer: its projections, norms and rotation.

use super::norm::Norm;
use super::run::Run;
use super::shape::{HeadNorms, Shape, Stated};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module};
use tensorlib::{RopeOptions, Tensor};

enum Projections {
    Apart { query: Linear, key: Linear, value: Linear },
    Fused(Linear),
}

impl Projections {
    fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let Shape { width, heads, kv_heads, head, value_head, .. } = *shape;
        let (keys, values) = (kv_heads * head, kv_heads * value_head);
        let queries = heads * head * if shape.gated_attention { 2 } else { 1 };
        Ok(match shape.fused_attention {
            true => Projections::Fused(linear("attn_qkv", width, queries + keys + values)?),
            false => Projections::Apart {
                query: linear("attn_q", width, queries)?,
                key: linear("attn_k", width, keys)?,
                value: linear("attn_v", width, values)?,
            },
        })
    }
}

/// A layer's weights for attention.
pub struct Attention {
    number: usize,
    projections: Projections,
    head_norms: Option<(Norm, Norm)>,
    sinks: Option<Tensor>,
    output: Linear,
    /// The rotation, if the layer has one.
    rope: Option<RopeOptions>,
    factors: Option<Tensor>,
    windowed: bool,
}

impl Attention {
    /// Loads the tensors of layer `number`; `factors` are the frequency factors of its rotation.
    pub fn load(weights: &Weights, shape: &Shape, number: usize, factors: Option<Tensor>) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let Shape { width, heads, value_head, .. } = *shape;
        let query = if shape.fused_attention { "attn_qkv" } else { "attn_q" };
        Stated::check_bias(shape.stated.attention_bias, weights, &name(&format!("{query}.bias")))?;
        Stated::check_bias(shape.stated.output_bias, weights, &name("attn_output.bias"))?;
        let windowed = shape.is_windowed(number);
        let rope = shape.window_rope.as_ref().filter(|_| windowed).unwrap_or(&shape.rope);
        Ok(Attention {
            number,
            projections: Projections::load(weights, shape, number)?,
            head_norms: head_norms(weights, shape, number)?,
            sinks: shape.sinks.then(|| weights.get(&name("attn_sinks.weight"), &[heads])).transpose()?,
            output: weights.linear(&name("attn_output"), heads * value_head, width)?,
            rope: shape.is_rotated(number).then(|| rope.options()),
            factors,
            windowed,
        })
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let shape = run.shape;
        let Projected { q, k, v, gate } = self.project(run, x)?;
        let (q, k) = self.placed(run, q, k)?;
        let q = match &run.query_factors {
            Some(factors) => (&q * factors)?,
            None => q,
        };
        let q = q.permute([0, 2, 1, 3])?;
        let k = k.reshape([shape.kv_heads * shape.head, run.tokens])?;
        let mut c = run.keys.attend(run, (self.number, self.windowed), (&q, &k, &v), self.sinks.as_ref())?;
        if let Some(gate) = gate {
            c = (&c * &gate.sigmoid()?)?;
        }
        let c = c.reshape([shape.heads * shape.value_head, run.tokens])?;
        Ok(self.output.forward(&c, &run.pass)?)
    }

    /// Queries and keys, normalised and rotated.
    fn placed(&self, run: &Run, q: Tensor, k: Tensor) -> Result<(Tensor, Tensor)> {
        let normed = |q: Tensor, k: Tensor| -> Result<_> {
            let Some((query, key)) = &self.head_norms else { return Ok((q, k)) };
            let of = |norm: &Norm, heads: &Tensor, n: i64| {
                if run.shape.head_norms != HeadNorms::Whole {
                    return norm.forward(heads, &run.pass);
                }
                let together = norm.forward(&heads.reshape([n * run.shape.head, run.tokens])?, &run.pass)?;
                Ok(together.reshape([run.shape.head, n, run.tokens])?)
            };
            Ok((of(query, &q, run.shape.heads)?, of(key, &k, run.shape.kv_heads)?))
        };
        let turned = |q: Tensor, k: Tensor| -> Result<_> {
            let Some(rope) = self.rope else { return Ok((q, k)) };
            let of = |t: &Tensor| t.rope(&run.positions, self.factors.as_ref(), rope);
            Ok((of(&q)?, of(&k)?))
        };
        if run.shape.head_norms == HeadNorms::AfterRotation {
            let (q, k) = turned(q, k)?;
            return normed(q, k);
        }
        let (q, k) = normed(q, k)?;
        turned(q, k)
    }

    fn project(&self, run: &Run, x: &Tensor) -> Result<Projected> {
        let (shape, n) = (run.shape, run.tokens);
        match &self.projections {
            Projections::Apart { query, key, value } => {
                let q = query.forward(x, &run.pass)?;
                let (q, gate) = match shape.gated_attention {
                    true => {
                        // A head's gate follows its query.
                        let both = q.reshape([2 * shape.head, shape.heads, n])?;
                        (both.narrow(0, 0, shape.head)?, Some(both.narrow(0, shape.head, shape.head)?))
                    }
                    false => (q.reshape([shape.head, shape.heads, n])?, None),
                };
                let k = key.forward(x, &run.pass)?.reshape([shape.head, shape.kv_heads, n])?;
                Ok(Projected { q, k, v: value.forward(x, &run.pass)?, gate })
            }
            Projections::Fused(all) => {
                let all = all.forward(x, &run.pass)?;
                let (row, head) = (all.strides()[1], shape.head as usize * all.dtype().size());
                let heads =
                    |first: i64, n_heads: i64| all.view([shape.head, n_heads, n], &[head, row], first as usize * head);
                let (q, k) = (heads(0, shape.heads)?, heads(shape.heads, shape.kv_heads)?);
                let first = (shape.heads + shape.kv_heads) * shape.head;
                let v = all.narrow(0, first, shape.kv_heads * shape.value_head)?;
                Ok(Projected { q, k, v, gate: None })
            }
        }
    }
}

/// The norms of a layer's queries and keys.
fn head_norms(weights: &Weights, shape: &Shape, number: usize) -> Result<Option<(Norm, Norm)>> {
    let Shape { heads, kv_heads, head, .. } = *shape;
    let [query, key] = ["attn_q_norm", "attn_k_norm"].map(|part| format!("blk.{number}.{part}"));
    let of = |name: &str, n| Norm::load(weights, shape, name, n);
    let of_heads = |name: &str, n| Norm::of_heads(weights, shape, name, n);
    Ok(match shape.head_norms {
        HeadNorms::None => None,
        HeadNorms::BeforeRotation | HeadNorms::AfterRotation => Some((of(&query, head)?, of(&key, head)?)),
        HeadNorms::Whole => Some((of(&query, heads * head)?, of(&key, kv_heads * head)?)),
        HeadNorms::Own => {
            let is_there = weights.is_hub() || weights.shape_of(&format!("{query}.weight")).is_some();
            is_there.then(|| Ok::<_, Error>((of_heads(&query, heads)?, of_heads(&key, kv_heads)?))).transpose()?
        }
    })
}

/// What attention computes from a layer's input.
struct Projected {
    /// Queries and keys, [head, heads, tokens].
    q: Tensor,
    k: Tensor,
    /// Values, [heads * head, tokens].
    v: Tensor,
    /// Gates of the results before the sigmoid, [head, heads, tokens].
    gate: Option<Tensor>,
}
