//! Layers with a selective state space (Dao and Gu, Transformers are SSMs, 2024: Mamba 2).

use super::convolution::Convolution;
use super::layer::scaled;
use super::run::Run;
use super::shape::{Mamba, Shape, Stated};
use super::state_slots::{Group, RunStates};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{DType, SsmScanOptions, Tensor};

/// A layer's weights.
pub struct MambaLayer {
    number: usize,
    mamba: Mamba,
    /// Makes gates, inputs of the convolution, and a step for each head, one after the other.
    input: Linear,
    /// Factors of what `input` makes.
    factors: Option<Tensor>,
    convolution: Convolution,
    /// Added to the steps: [heads].
    bias: Tensor,
    /// Minus the speed of each head's decay: [1, heads], or the logarithm of the speed.
    decay: Tensor,
    is_log: bool,
    /// The share of the inputs that goes around the states: [1, heads].
    direct: Tensor,
    /// A norm of each group of heads.
    norm: Option<RmsNorm>,
    output: Linear,
}

impl MambaLayer {
    /// Loads the tensors of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, mamba: &Mamba, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let (inner, heads, channels) = (mamba.inner(), mamba.heads, mamba.channels());
        for (i, part) in ["ssm_in.bias", "ssm_out.bias"].iter().enumerate() {
            Stated::check_bias(shape.stated.mamba_bias.map(|biases| biases[i]), weights, &name(part))?;
        }
        let is_normed = mamba.normed.unwrap_or(weights.shape_of(&name("ssm_norm.weight")).is_some());
        Stated::check_bias(shape.stated.convolution_bias, weights, &name("ssm_conv1d.bias"))?;
        // A GGUF file has these numbers as columns.
        let of_heads = |part: &str| match weights.is_hub() {
            true => Ok(weights.get(&name(part), &[heads])?.reshape([1, heads])?),
            false => weights.get(&name(part), &[1, heads]),
        };
        let group = [inner / mamba.groups, mamba.groups];
        let norm = || {
            let stored = if weights.is_hub() { vec![inner] } else { group.to_vec() };
            let weight = weights.get(&name("ssm_norm.weight"), &stored)?;
            Ok::<_, Error>(RmsNorm::of(weight.reshape(group)?, shape.eps))
        };
        Ok(MambaLayer {
            number,
            mamba: mamba.clone(),
            input: weights.linear(&name("ssm_in"), shape.width, inner + channels + heads)?,
            factors: mamba.factors.as_ref().map(|factors| weights.made(&mamba.spread(factors))).transpose()?,
            convolution: Convolution::load(weights, &name("ssm_conv1d"), mamba.taps, channels)?,
            bias: weights.get(&name("ssm_dt.bias"), &[heads])?,
            decay: of_heads("ssm_a")?,
            is_log: weights.is_hub(),
            direct: of_heads("ssm_d")?,
            norm: is_normed.then(norm).transpose()?,
            output: weights.linear(&name("ssm_out"), inner, shape.width)?,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let Some(states) = &run.states else { return Err(Error::internal("a recurrent layer without states")) };
        let Mamba { heads, head, groups, .. } = self.mamba;
        let (n, inner, channels) = (run.tokens, self.mamba.inner(), self.mamba.channels());
        let mut all = self.input.forward(&scaled(x.clone(), self.mamba.input_scale)?, &run.pass)?;
        if let Some(factors) = &self.factors {
            all = (&all * factors)?;
        }
        let steps = self.steps(&all.narrow(0, inner + channels, heads)?)?;
        let read = all.narrow(0, inner, channels)?;
        let decay = match self.is_log {
            true => self.decay.cast(DType::F32)?.exp()?.neg()?,
            false => self.decay.clone(),
        };
        let y = states.of_groups(2, |group| self.recur(run, (states, group), &read, &steps, &decay))?;
        let in_groups = |x: &Tensor| x.reshape([inner / groups, groups, n]);
        let gate = in_groups(&all.narrow(0, 0, inner)?.cont()?)?.silu()?;
        let y = in_groups(&y.reshape([head * heads, n])?)?;
        let gated = match (&self.norm, self.mamba.gates_last) {
            (Some(norm), true) => (&norm.forward(&y, &run.pass)? * &gate)?,
            (Some(norm), false) => norm.forward(&(&y * &gate)?, &run.pass)?,
            (None, _) => (&y * &gate)?,
        };
        scaled(self.output.forward(&gated.reshape([inner, n])?, &run.pass)?, self.mamba.output_scale)
    }

    /// The steps before their softplus, within the limits that those after it have: [heads, tokens].
    fn steps(&self, x: &Tensor) -> Result<Tensor> {
        let steps = (x + &self.bias.cast(DType::F32)?)?;
        let before = |limit: f64| limit.exp_m1().ln();
        match self.mamba.limits {
            (least, most) if least <= 0.0 && most == f64::INFINITY => Ok(steps),
            (least, most) => {
                let none = f64::from(f32::MAX);
                let least = if least <= 0.0 { -none } else { before(least) };
                // Above this number a softplus is the number itself, and its exponential would not be finite.
                let most = if most > 40.0 { most.min(none) } else { before(most) };
                Ok(steps.clamp(least, most)?)
            }
        }
    }

    /// The results for a group's tokens, [head, heads, tokens of all sequences].
    fn recur(
        &self,
        run: &Run,
        (states, group): (&RunStates, &Group),
        read: &Tensor,
        steps: &Tensor,
        decay: &Tensor,
    ) -> Result<Tensor> {
        let Mamba { heads, head, groups, state, .. } = self.mamba;
        let (t, sequences) = (group.tokens, group.sequences());
        let (n, inner) = (t * sequences, self.mamba.inner());
        let mixed = self.convolution.forward(run, self.number, (states, group), read)?.silu()?;
        let part = |first: i64, elements: i64, count: i64| -> Result<Tensor> {
            let rows = mixed.narrow(0, first, elements * count)?.cont()?;
            Ok(rows.reshape([elements, count, t, sequences])?)
        };
        let (x, b, c) =
            (part(0, head, heads)?, part(inner, state, groups)?, part(inner + groups * state, state, groups)?);
        let dt = steps.narrow(1, group.first, n)?.cont()?.reshape([heads, t, sequences])?;
        let ids: Vec<i32> = (0..sequences as i32).collect();
        let ids = run.positions.context().tensor_of([sequences], &ids)?;
        let options = SsmScanOptions::new().n_states(group.states());
        let y = states.matrices(self.number, group)?.ssm_scan(&x, &dt, decay, &b, &c, &ids, options)?;
        run.stored.borrow_mut().push(states.store_matrices(self.number, group, &y.result(1)?)?);
        let direct = (&x * &self.direct.cast(DType::F32)?)?;
        Ok((&y + &direct)?.reshape([head, heads, n])?)
    }
}
