//! Recurrent layers that use the gated delta rule (Yang and others, Gated Delta Networks, 2024).

use super::convolution::Convolution;
use super::run::Run;
use super::shape::{Delta, Recurrence, Shape};
use super::state_slots::{Group, RunStates};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{DType, GatedDeltaNetOptions, Tensor};

/// The products that make queries, keys and values, the gates of results, and of each head of values two numbers: how
/// much of the state decays, and how far it moves towards a value.
enum Projections {
    /// Matrices for queries, keys and values, for gates, and for each of the two numbers.
    Apart { qkv: Linear, gate: Linear, alpha: Linear, beta: Linear },
    /// Matrices for queries, keys and values, for gates, and for both numbers, `beta` before `alpha` for each head of keys.
    Numbers { qkv: Linear, gate: Linear, both: Linear },
    /// A matrix with the queries, keys, values and gates of each head of keys, and one for both numbers.
    Heads { all: Linear, both: Linear },
}

/// What the products of a layer's input make.
struct Projected {
    /// [channels, tokens].
    qkv: Tensor,
    /// [head * value heads, tokens].
    gate: Tensor,
    /// [value heads, tokens].
    alpha: Tensor,
    beta: Tensor,
}

impl Projections {
    fn load(weights: &Weights, shape: &Shape, delta: &Delta, number: usize) -> Result<Self> {
        let linear = |part: &str, outputs| weights.linear(&format!("blk.{number}.{part}"), shape.width, outputs);
        let is_there = |part: &str| weights.shape_of(&format!("blk.{number}.{part}.weight")).is_some();
        let (channels, values, heads) = (delta.channels(), delta.value_heads * delta.head, delta.value_heads);
        Ok(match (is_there("ssm_in"), is_there("ssm_ba")) {
            (true, _) => {
                Projections::Heads { all: linear("ssm_in", channels + values)?, both: linear("ssm_ba", 2 * heads)? }
            }
            (_, true) => Projections::Numbers {
                qkv: linear("attn_qkv", channels)?,
                gate: linear("attn_gate", values)?,
                both: linear("ssm_ba", 2 * heads)?,
            },
            _ => Projections::Apart {
                qkv: linear("attn_qkv", channels)?,
                gate: linear("attn_gate", values)?,
                alpha: linear("ssm_alpha", heads)?,
                beta: linear("ssm_beta", heads)?,
            },
        })
    }

    fn forward(&self, run: &Run, delta: &Delta, x: &Tensor) -> Result<Projected> {
        let product = |linear: &Linear| linear.forward(x, &run.pass);
        let per_key = delta.value_heads / delta.key_heads;
        let numbers = |both: &Linear| -> Result<(Tensor, Tensor)> {
            let both = product(both)?;
            let part = |first| of_each_key(delta, &both, first, per_key);
            Ok((part(per_key)?, part(0)?))
        };
        match self {
            Projections::Apart { qkv, gate, alpha, beta } => {
                Ok(Projected { qkv: product(qkv)?, gate: product(gate)?, alpha: product(alpha)?, beta: product(beta)? })
            }
            Projections::Numbers { qkv, gate, both } => {
                let (alpha, beta) = numbers(both)?;
                Ok(Projected { qkv: product(qkv)?, gate: product(gate)?, alpha, beta })
            }
            Projections::Heads { all, both } => {
                let (all, (alpha, beta)) = (product(all)?, numbers(both)?);
                let (head, values) = (delta.head, per_key * delta.head);
                let part = |first, n| of_each_key(delta, &all, first, n);
                let keys = part(0, head)?.concat(&part(head, head)?, 0)?;
                let qkv = keys.concat(&part(2 * head, values)?, 0)?;
                Ok(Projected { qkv, gate: part(2 * head + values, values)?, alpha, beta })
            }
        }
    }
}

/// `n` of the rows that each head of keys has, beginning with row `first`: [n * key heads, tokens].
fn of_each_key(delta: &Delta, all: &Tensor, first: i64, n: i64) -> Result<Tensor> {
    let (shape, strides) = (all.shape(), all.strides());
    let of_key = (shape[0] / delta.key_heads) as usize * strides[0];
    let part = all.view([n, delta.key_heads, shape[1]], &[of_key, strides[1]], first as usize * strides[0])?;
    Ok(part.cont()?.reshape([n * delta.key_heads, shape[1]])?)
}

/// A layer's weights.
pub struct DeltaNet {
    number: usize,
    projections: Projections,
    /// Added to `alpha`: [value heads].
    bias: Tensor,
    /// The factor of the decay: [value heads].
    decay: Tensor,
    /// Whether `decay` is the logarithm of minus the factor.
    is_log: bool,
    convolution: Convolution,
    norm: RmsNorm,
    output: Linear,
    eps: f64,
}

impl DeltaNet {
    /// Loads the tensors of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, delta: &Delta, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let values = delta.value_heads * delta.head;
        Ok(DeltaNet {
            number,
            projections: Projections::load(weights, shape, delta, number)?,
            bias: weights.get(&name("ssm_dt.bias"), &[delta.value_heads])?,
            decay: weights.get(&name("ssm_a"), &[delta.value_heads])?,
            is_log: weights.is_hub(),
            convolution: Convolution::load(weights, &name("ssm_conv1d"), delta.taps, delta.channels())?,
            norm: weights.rms_norm(&name("ssm_norm"), delta.head, shape.eps)?,
            output: weights.linear(&name("ssm_out"), values, shape.width)?,
            eps: shape.eps,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (Some(Recurrence::Delta(delta)), Some(states)) = (&run.shape.recurrence, &run.states) else {
            return Err(Error::internal("a recurrent layer without states"));
        };
        let (n, head, heads) = (run.tokens, delta.head, delta.value_heads);
        let Projected { qkv, gate, alpha, beta } = self.projections.forward(run, delta, x)?;
        let beta = in_tiles(delta, &beta.sigmoid()?, 1)?;
        let decay = match self.is_log {
            true => self.decay.cast(DType::F32)?.exp()?.neg()?,
            false => self.decay.clone(),
        };
        let alpha = (&alpha + &self.bias.cast(DType::F32)?)?.softplus()?;
        let decay = in_tiles(delta, &(&alpha * &decay)?, 1)?;
        let out = states.of_groups(2, |group| self.recur(run, (delta, states, group), &qkv, &decay, &beta))?;
        let out = self.norm.forward(&in_groups(delta, &out)?, &run.pass)?;
        let gate = gate.reshape([head, heads, n])?.silu()?;
        let gated = (&out * &gate)?.reshape([head * heads, n])?;
        Ok(self.output.forward(&gated, &run.pass)?)
    }

    /// The results for a group's tokens, [head, value heads, tokens of all sequences].
    fn recur(
        &self,
        run: &Run,
        (delta, states, group): (&Delta, &RunStates, &Group),
        qkv: &Tensor,
        decay: &Tensor,
        beta: &Tensor,
    ) -> Result<Tensor> {
        let (t, sequences) = (group.tokens, group.sequences());
        let (n, head, heads) = (t * sequences, delta.head, delta.value_heads);
        let matrices = states.matrices(self.number, group)?;
        let mixed = self.convolution.forward(run, self.number, (states, group), qkv)?.silu()?;
        let part = |first: i64, count: i64| -> Result<Tensor> { Ok(mixed.narrow(0, first * head, count * head)?) };
        let unit = |first: i64| -> Result<Tensor> {
            let heads = by_head(&part(first, delta.key_heads)?, head)?.l2_norm(self.eps)?;
            Ok(heads.reshape([head, delta.key_heads, t, sequences])?)
        };
        let (q, k) = (unit(0)?, unit(delta.key_heads)?);
        let v = by_head(&in_tiles(delta, &part(2 * delta.key_heads, heads)?, head)?, head)?;
        let v = match sequences {
            1 => v,
            _ => v.cont()?.reshape([head, heads, t, sequences])?,
        };
        let of_group =
            |all: &Tensor| -> Result<Tensor> { Ok(all.narrow(1, group.first, n)?.reshape([1, heads, t, sequences])?) };
        let options = GatedDeltaNetOptions::new().n_states(group.states());
        let out = q.gated_delta_net(&k, &v, &of_group(decay)?, &of_group(beta)?, &matrices, options)?;
        run.stored.borrow_mut().push(states.store_matrices(self.number, group, &out.result(1)?)?);
        Ok(out.reshape([head, heads, n])?)
    }
}

/// Values of value heads, [elements * value heads, tokens], in the order of the operation: a head's neighbour has
/// another key head.
fn in_tiles(delta: &Delta, x: &Tensor, elements: i64) -> Result<Tensor> {
    let per_key = delta.value_heads / delta.key_heads;
    if !delta.grouped || per_key == 1 {
        return Ok(x.clone());
    }
    let (n, strides) = (x.shape()[1], x.strides());
    let (head, key) = (elements as usize * strides[0], (elements * per_key) as usize * strides[0]);
    let heads = x.view([elements, per_key, delta.key_heads, n], &[head, key, strides[1]], 0)?;
    Ok(heads.permute([0, 2, 1, 3])?.cont()?.reshape([elements * delta.value_heads, n])?)
}

/// Values of value heads, [head, value heads, tokens], in the order of the model's matrices again.
fn in_groups(delta: &Delta, x: &Tensor) -> Result<Tensor> {
    let per_key = delta.value_heads / delta.key_heads;
    if !delta.grouped || per_key == 1 {
        return Ok(x.clone());
    }
    let n = x.shape()[2];
    let tiles = x.reshape([delta.head, delta.key_heads, per_key, n])?.permute([0, 2, 1, 3])?;
    Ok(tiles.cont()?.reshape([delta.head, delta.value_heads, n])?)
}

/// [head * heads, tokens] as [head, heads, tokens].
fn by_head(x: &Tensor, head: i64) -> Result<Tensor> {
    let (shape, strides) = (x.shape(), x.strides());
    Ok(x.view([head, shape[0] / head, shape[1]], &[head as usize * strides[0], strides[1]], 0)?)
}
