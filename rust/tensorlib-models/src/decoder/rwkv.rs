//! Time mixing of RWKV 7 (Peng and others, RWKV-7 "Goose" with Expressive Dynamic State Evolution, 2025).

use super::channel_mix::OF_TIME;
use super::layer::scaled;
use super::run::Run;
use super::shape::{Rwkv, Shape};
use super::state_slots::{Group, RunStates};
use super::token_shift::changes;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{LayerNorm, Linear, Module, Pass};
use tensorlib::{DType, Tensor};

/// The inputs of a layer that are mixed with those of the token before: what is read from the state, decays, keys, values
/// and rates, in the order of the tensor with their shares. Gates come last if there are some.
const MIXED: i64 = 5;

/// The smallest length that a key is divided by.
const SMALLEST_LENGTH: f64 = 1e-12;

/// Two small matrices instead of a large one, and what is added to the product.
struct Narrow {
    down: Linear,
    up: Linear,
    bias: Option<Tensor>,
}

impl Narrow {
    /// Loads the matrices 1 and 2 of this letter and, if there is `bias`, the vector 0.
    fn load(weights: &Weights, name: &str, width: i64, rank: i64, has_bias: bool) -> Result<Self> {
        Ok(Narrow {
            down: weights.linear(&format!("{name}1"), width, rank)?,
            up: weights.linear(&format!("{name}2"), rank, width)?,
            bias: has_bias.then(|| weights.get(&format!("{name}0.weight"), &[width])).transpose()?,
        })
    }

    /// The result for x, with this function in the middle.
    fn forward(&self, x: &Tensor, pass: &Pass, inside: impl Fn(Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let product = self.up.forward(&inside(self.down.forward(x, pass)?)?, pass)?;
        match &self.bias {
            Some(bias) => Ok((&product + &bias.cast(DType::F32)?)?),
            None => Ok(product),
        }
    }
}

/// A layer's weights.
pub struct TimeMix {
    number: usize,
    rwkv: Rwkv,
    /// How much of the token before the channels of each input have: [width, inputs].
    shares: Tensor,
    receptance: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    decay: Narrow,
    rate: Narrow,
    gate: Option<Narrow>,
    /// How much of the first layer's values the others have.
    first_share: Option<Narrow>,
    /// Factors of keys that are forgotten, of the part of a key that depends on rates, and of what a token reads of itself.
    forgotten: Tensor,
    rated: Tensor,
    /// [head, heads].
    own: Tensor,
    norm: Option<LayerNorm>,
}

impl TimeMix {
    /// Loads the tensors of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, rwkv: &Rwkv, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.time_mix_{part}");
        let (width, in_heads) = (shape.width, [rwkv.head, rwkv.heads]);
        let vector = |part: &str| weights.get(&name(part), &[width]);
        let matrix = |part: &str| weights.linear(&name(part), width, width);
        let narrow =
            |letter: &str, rank: i64, has_bias: bool| Narrow::load(weights, &name(letter), width, rank, has_bias);
        let mixed = MIXED + i64::from(rwkv.gate_rank.is_some());
        // Files of either kind have this tensor in the shape in which its writers had it.
        let (shares, own) = match weights.is_hub() {
            true => (vec![width, mixed], in_heads.to_vec()),
            false => (vec![width, 1, 1, mixed], vec![width]),
        };
        let is_first = number == 0;
        if is_first {
            // Writers put tensors here that nothing reads.
            ["v0", "v1", "v2"].iter().for_each(|part| weights.leave(&name(&format!("{part}.weight"))));
        }
        let is_normed = rwkv.normed.unwrap_or(weights.shape_of(&name("ln.weight")).is_some());
        let norm = || -> Result<LayerNorm> {
            let bias = vector("ln.bias")?.reshape(in_heads)?;
            Ok(LayerNorm::of(vector("ln.weight")?.reshape(in_heads)?, Some(bias), rwkv.head_eps))
        };
        Ok(TimeMix {
            number,
            rwkv: rwkv.clone(),
            shares: weights.get(&name("lerp_fused.weight"), &shares)?.reshape([width, mixed])?,
            receptance: matrix("receptance")?,
            key: matrix("key")?,
            value: matrix("value")?,
            output: matrix("output")?,
            decay: narrow("w", rwkv.decay_rank, true)?,
            rate: narrow("a", rwkv.rate_rank, true)?,
            gate: rwkv.gate_rank.map(|rank| narrow("g", rank, false)).transpose()?,
            first_share: (!is_first).then(|| narrow("v", rwkv.value_rank, true)).transpose()?,
            forgotten: vector("k_k.weight")?,
            rated: vector("k_a.weight")?,
            own: weights.get(&name("r_k.weight"), &own)?.reshape(in_heads)?,
            norm: is_normed.then(norm).transpose()?,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let Some(states) = &run.states else { return Err(Error::internal("a recurrent layer without states")) };
        let (pass, n) = (&run.pass, run.tokens);
        let changes = changes(run, (self.number, OF_TIME), x)?;
        let shares = self.shares.cast(DType::F32)?;
        let input = |i: i64| -> Result<Tensor> { Ok((&(&changes * &shares.narrow(1, i, 1)?)? + x)?) };
        let in_heads = |x: Tensor| -> Result<Tensor> { Ok(x.reshape([self.rwkv.head, self.rwkv.heads, n])?) };

        let r = in_heads(self.receptance.forward(&input(0)?, pass)?)?;
        let w = self.decay.forward(&input(1)?, pass, |x| Ok(x.tanh()?))?.sigmoid()?;
        let w = in_heads(scaled(w, -(-0.5f64).exp())?.exp()?)?;
        let value_input = input(3)?;
        let v = in_heads(self.mixed_value(run, &value_input)?)?;
        let rate = self.rate.forward(&input(4)?, pass, Ok)?.sigmoid()?;

        let k = self.key.forward(&input(2)?, pass)?;
        let direction = in_heads((&k * &self.forgotten.cast(DType::F32)?)?)?.l2_norm(SMALLEST_LENGTH)?;
        let rated = (&k * &self.rated.cast(DType::F32)?)?;
        let k = in_heads((&k + &(&(&rate * &rated)? - &rated)?)?)?;
        let replaced = (&direction * &in_heads(rate)?)?;

        let vectors = [r.clone(), w, k.clone(), v.clone(), direction.neg()?, replaced];
        let y = states.of_groups(2, |group| self.recur(run, (states, group), &vectors))?;
        let read = (&(&k * &r)? * &self.own.cast(DType::F32)?)?.sum_rows()?;
        let y = match &self.norm {
            Some(norm) => norm.forward(&y, pass)?,
            None => y,
        };
        let y = (&y + &(&v * &read)?)?.reshape([run.shape.width, n])?;
        let gated = match &self.gate {
            Some(gate) => (&y * &gate.forward(&input(MIXED)?, pass, |x| Ok(x.sigmoid()?))?)?,
            None => y,
        };
        Ok(self.output.forward(&gated, pass)?)
    }

    /// The values for this input, mixed with those of the first layer.
    fn mixed_value(&self, run: &Run, input: &Tensor) -> Result<Tensor> {
        let v = self.value.forward(input, &run.pass)?;
        let Some(share) = &self.first_share else {
            *run.first_values.borrow_mut() = Some(v.clone());
            return Ok(v);
        };
        let first = run.first_values.borrow().clone();
        let first = first.ok_or_else(|| Error::internal("a layer before the first"))?;
        let share = share.forward(input, &run.pass, Ok)?.sigmoid()?;
        Ok((&v + &(&(&first - &v)? * &share)?)?)
    }

    /// The results for a group's tokens, [head, heads, tokens of all sequences], of vectors of all of the run's tokens.
    fn recur(&self, run: &Run, (states, group): (&RunStates, &Group), vectors: &[Tensor; 6]) -> Result<Tensor> {
        let Rwkv { heads, head, .. } = self.rwkv;
        let (sequences, kept) = (group.sequences(), group.states());
        let mut matrices = states.matrices(self.number, group)?.cont()?.reshape([head * head * heads, sequences])?;
        let (mut results, mut stored): (Option<Tensor>, Option<Tensor>) = (None, None);
        // The operation gives the state after its last token, so tokens whose states are kept come one by one.
        let first = group.tokens - kept + 1;
        let parts = std::iter::once((0, first * sequences)).chain((first..group.tokens).map(|token| (token, 1)));
        for (from, count) in parts {
            let part = |x: &Tensor| x.narrow(2, group.first + from, count);
            let [r, w, k, v, a, b] = vectors;
            let y = part(r)?.rwkv_wkv7(&part(w)?, &part(k)?, &part(v)?, &part(a)?, &part(b)?, &matrices)?;
            matrices = y.result(1)?;
            let y = y.reshape([head, heads, count])?;
            let state = matrices.reshape([head, head, heads, sequences])?;
            // Those of the last token come first.
            stored = Some(match stored {
                Some(others) => state.concat(&others, 3)?,
                None => state,
            });
            results = Some(match results {
                Some(before) => before.concat(&y, 2)?,
                None => y,
            });
        }
        let (Some(results), Some(stored)) = (results, stored) else { return Err(Error::internal("no tokens")) };
        run.stored.borrow_mut().push(states.store_matrices(self.number, group, &stored)?);
        Ok(results)
    }
}
