//! Feed-forward blocks with experts, of which each token uses some.

use super::division::{Neurons, Ranks};
use super::expert_cache::{Matrices, Way};
use super::ffn::{GatedFfn, PlainFfn};
use super::layer::scaled;
use super::run::Run;
use super::shape::{ExpertGroups, Experts, GroupScores, Scores, Shape, Shared};
use crate::experts::{product, sum, weighted};
use crate::weights::{TensorPart, Weights};
use crate::Result;
use tensorlib::nn::{Linear, LowRank, Module};
use tensorlib::{DType, ScaleOptions, Tensor};

/// A matrix per expert, and a bias per expert if the model has biases.
struct ExpertLinear {
    weight: Tensor,
    /// Adapters, whose matrices are stacks too: one per expert.
    adapters: Vec<LowRank>,
    bias: Option<Tensor>,
    exact: bool,
}

impl ExpertLinear {
    /// Loads a part of each expert's matrix, of this shape with all experts.
    fn load(weights: &Weights, name: &str, shape: [i64; 3], part: &TensorPart) -> Result<Self> {
        let (matrices, [_, outputs, experts]) = (format!("{name}.weight"), shape);
        let weight = weights.get_part(&matrices, &shape, Some(part))?;
        Ok(ExpertLinear {
            adapters: weights.adapters_of_part(&matrices, &shape, Some(part))?,
            bias: weights.bias_part(&format!("{name}.bias"), &[outputs, experts], part)?,
            exact: weights.is_exact(&weight),
            weight,
        })
    }

    /// Multiplies x, [inputs, 1 or used, tokens], to [outputs, used, tokens], without the bias. `way.ids` selects
    /// matrices of `weight`, and `way.own` those of the adapters, by the experts' own numbers.
    fn forward(&self, weight: &Tensor, x: &Tensor, way: &Way) -> Result<Tensor> {
        let mut sum = product(weight, x, &way.ids, self.exact)?;
        for LowRank { a, b, scale, exact } in &self.adapters {
            let inner = product(a, x, &way.own, *exact)?.scale(*scale, ScaleOptions::new())?;
            sum = (&sum + &product(b, &inner, &way.own, *exact)?)?;
        }
        Ok(sum)
    }

    fn with_bias(&self, sum: Tensor, ids: &Tensor) -> Result<Tensor> {
        Ok(match &self.bias {
            Some(bias) => sum.add_id(bias, ids)?,
            None => sum,
        })
    }
}

/// A block of all tokens' expert.
enum SharedFfn {
    Gated(GatedFfn),
    Plain(PlainFfn),
}

/// The expert that all tokens use.
struct SharedExpert {
    ffn: SharedFfn,
    /// The row of a matrix whose product is the gate of the result: [width, 1].
    scale: Option<Linear>,
}

impl SharedExpert {
    /// Loads these of the expert's neurons.
    fn load(weights: &Weights, shape: &Shape, shared: Shared, number: usize, own: &Neurons) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let scale = || weights.linear(&name("ffn_gate_inp_shexp"), shape.width, 1);
        let of_expert = |part: &str| name(&format!("{part}_shexp"));
        Ok(SharedExpert {
            ffn: match shape.gated_ffn {
                true => SharedFfn::Gated(GatedFfn::load(weights, shape.width, own, of_expert)?),
                false => SharedFfn::Plain(PlainFfn::load(weights, shape.width, own, of_expert)?),
            },
            scale: shared.gated.then(scale).transpose()?,
        })
    }

    /// The expert's result for x, [width, tokens], times its gate.
    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let result = match &self.ffn {
            SharedFfn::Gated(ffn) => ffn.forward(run, x)?.0,
            SharedFfn::Plain(ffn) => ffn.forward(run, x)?,
        };
        match &self.scale {
            Some(scale) => Ok((&result * &scale.forward(x, &run.pass)?.sigmoid()?)?),
            None => Ok(result),
        }
    }
}

/// A layer's experts and their router.
pub struct ExpertFfn {
    number: usize,
    experts: Experts,
    ranks: Ranks,
    router: Linear,
    /// What the choice adds to the scores: [experts].
    bias: Option<Tensor>,
    /// The factors of the router's input, whose norm has none: [width].
    router_factors: Option<Tensor>,
    /// The factors of the experts' results: [experts].
    factors: Option<Tensor>,
    gate: Option<ExpertLinear>,
    up: ExpertLinear,
    down: ExpertLinear,
    /// The matrices before the experts and after the sum of their results, for experts that are narrower than the layer.
    narrow: Option<[Linear; 2]>,
    shared: Option<SharedExpert>,
}

impl ExpertFfn {
    /// Loads the experts of layer `number`, with this rank's part of each one's neurons.
    pub fn load(weights: &Weights, shape: &Shape, experts: &Experts, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let ranks = shape.ranks_of_ffn(number, false);
        let own = |down: &str, n: i64| shape.own_neurons(weights, ranks, &name(down), n);
        let neurons = own("ffn_down_exps", experts.ffn)?;
        let load = |part: &str, inputs, outputs, of: &TensorPart| {
            ExpertLinear::load(weights, &name(part), [inputs, outputs, experts.count], of)
        };
        let shared = |shared: Shared| {
            let load = || SharedExpert::load(weights, shape, shared, number, &own("ffn_down_shexp", shared.ffn)?);
            match own("ffn_down_shexp", shared.ffn)?.own.is_empty() {
                false => load().map(Some),
                true => weights.elsewhere(load).map(|_| None),
            }
        };
        let width = experts.width.unwrap_or(shape.width);
        let narrow = || -> Result<[Linear; 2]> {
            let linear = |part: &str, inputs, outputs| weights.linear(&name(part), inputs, outputs);
            Ok([linear("ffn_latent_down", shape.width, width)?, linear("ffn_latent_up", width, shape.width)?])
        };
        Ok(ExpertFfn {
            number,
            experts: experts.clone(),
            ranks,
            // A router that rounds may choose other experts.
            router: weights.linear(&name("ffn_gate_inp"), shape.width, experts.count)?.exact(true),
            bias: match experts.routing.biased {
                true if weights.is_hub() => Some(weights.get(&name("exp_probs_b.bias"), &[experts.count])?),
                true => weights.find(&name("exp_probs_b.bias"), &[experts.count])?,
                false => None,
            },
            router_factors: match experts.with_dense {
                true => Some(weights.get(&name("ffn_gate_inp.scale"), &[shape.width])?),
                false => None,
            },
            factors: match experts.with_dense {
                true => weights.find(&name("ffn_down_exps.scale"), &[experts.count])?,
                false => None,
            },
            gate: shape.gated_ffn.then(|| load("ffn_gate_exps", width, experts.ffn, &neurons.rows())).transpose()?,
            up: load("ffn_up_exps", width, experts.ffn, &neurons.rows())?,
            down: load("ffn_down_exps", experts.ffn, width, &neurons.columns())?,
            narrow: experts.width.is_some().then(narrow).transpose()?,
            shared: experts.shared.map(shared).transpose()?.flatten(),
        })
    }

    /// Gate, up and down projections, [.., .., experts].
    pub fn matrices(&self) -> Matrices<'_> {
        let gate = self.gate.as_ref().map(|gate| &gate.weight);
        Matrices { gate, up: &self.up.weight, down: &self.down.weight }
    }

    /// The block's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        self.forward_routed(run, x, x)
    }

    /// The block's result for x, whose experts the router chooses by `routed`.
    pub fn forward_routed(&self, run: &Run, x: &Tensor, routed: &Tensor) -> Result<Tensor> {
        let n = run.tokens;
        let (ids, shares) = self.route(run, routed)?;
        let ways = match run.experts {
            Some(cache) => cache.ways(self.number, self.matrices(), &ids)?,
            None => vec![Way::in_place(self.matrices(), &ids)],
        };
        if ways.len() > 1 {
            run.chosen.borrow_mut().push((self.number, ids.clone()));
        }
        let shared = self.shared.as_ref().map(|shared| shared.forward(run, x)).transpose()?;
        let x = match &self.narrow {
            Some([before, _]) => before.forward(x, &run.pass)?,
            None => x.clone(),
        };
        let width = x.shape()[0];
        let (x, weighs_inputs) = (x.reshape([width, 1, n])?, self.experts.routing.weighs_inputs);
        let x = match weighs_inputs {
            true => weighted(&x.repeat([width, self.experts.used, n])?, &shares)?,
            false => x,
        };
        let mut results = self.results(run, &x, &ids, &ways[0])?;
        for way in &ways[1..] {
            results = (&results + &self.results(run, &x, &ids, way)?)?;
        }
        let results = self.down.with_bias(results, &ids)?;
        let sum = sum(&if weighs_inputs { results } else { weighted(&results, &shares)? })?;
        let sum = match &self.narrow {
            Some([_, after]) => after.forward(&sum, &run.pass)?,
            None => sum,
        };
        match shared {
            Some(shared) => Ok((&sum + &shared)?),
            None => Ok(sum),
        }
    }

    /// The experts that each token uses, and their shares of the result, both [used, tokens].
    fn route(&self, run: &Run, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let (n, Experts { count, used, routing, .. }) = (run.tokens, self.experts.clone());
        let normed = match &self.router_factors {
            Some(factors) => {
                let scaled =
                    x.rms_norm(run.shape.eps)?.scale(1.0 / (run.shape.width as f64).sqrt(), ScaleOptions::new())?;
                (&scaled * &factors.cast(DType::F32)?)?
            }
            None => x.clone(),
        };
        let logits = self.router.forward(&normed, &run.pass)?;
        let scores = match routing.scores {
            Scores::Softmax => logits.soft_max()?,
            Scores::Sigmoid => logits.sigmoid()?,
            Scores::SoftmaxOfUsed => logits.clone(),
        };
        let ids = match (&self.bias, routing.groups) {
            // Equal scores of different logits must not change the choice.
            (None, None) => logits.top_k(used)?,
            (bias, groups) => {
                let by = bias.as_ref().map_or_else(|| Ok(scores.clone()), |bias| &scores + &bias.cast(DType::F32)?)?;
                groups.map_or_else(|| Ok(by.top_k(used)?), |groups| best_of_groups(&by, groups, used))?
            }
        };
        // A column of single elements for each token, so that rows can be selected from it.
        let mut shares = scores.reshape([1, count, n])?.get_rows(&ids)?.reshape([used, n])?;
        if routing.scores == Scores::SoftmaxOfUsed {
            shares = shares.soft_max()?;
        }
        if let Some(added) = routing.normalised {
            let sum = shares.sum_rows()?;
            let sum = if added == 0.0 { sum } else { sum.scale(1.0, ScaleOptions::new().bias(added))? };
            shares = (&shares / &sum)?;
        }
        let shares = scaled(shares, routing.scale)?;
        let (ids, shares) = match self.ranks {
            Ranks::Together => (run.agreed(ids)?, run.agreed(shares)?),
            Ranks::Alone | Ranks::One(_) => (ids, shares),
        };
        let shares = match &self.factors {
            // Their row of single elements is read as the logits are.
            Some(factors) => {
                let all = factors.cast(DType::F32)?.reshape([1, count])?;
                let own = all.get_rows(&ids.reshape([used * n])?)?.reshape([used, n])?;
                (&shares * &own)?
            }
            None => shares,
        };
        Ok((ids, shares))
    }

    /// The results of the experts that one way computes, [width, used, tokens], without the last bias; zeros for the
    /// others.
    fn results(&self, run: &Run, x: &Tensor, ids: &Tensor, way: &Way) -> Result<Tensor> {
        let Matrices { gate, up, down } = way.matrices;
        let project = |layer: &ExpertLinear, weight| layer.with_bias(layer.forward(weight, x, way)?, ids);
        let (up, activation) = (project(&self.up, up)?, run.shape.activation);
        let hidden = match (&self.gate, gate) {
            (Some(layer), Some(gate)) => activation.gated(&project(layer, gate)?, &up)?,
            _ => activation.of(&up)?,
        };
        self.down.forward(down, &hidden, way)
    }
}

/// The best experts of each token's best groups, by scores [experts, tokens]: [used, tokens].
fn best_of_groups(scores: &Tensor, groups: ExpertGroups, used: i64) -> Result<Tensor> {
    let (count, n) = (scores.shape()[0], scores.shape()[1]);
    let of_group = count / groups.count;
    let by_group = scores.reshape([of_group, groups.count, n])?;
    let best = by_group.top_k(if groups.scores == GroupScores::TwoBest { 2 } else { 1 })?;
    let k = best.shape()[0];
    let single = scores.reshape([1, of_group, groups.count * n])?;
    let best = single.get_rows(&best.reshape([k, groups.count * n])?)?.reshape([k, groups.count * n])?;
    let chosen = best.sum_rows()?.reshape([groups.count, n])?.top_k(groups.used)?;
    let numbers: Vec<i32> = (0..count as i32).collect();
    let numbers = scores.context().tensor_of([of_group, groups.count], &numbers)?;
    // Scores and numbers of the experts in chosen groups, as columns of single elements.
    let all = of_group * groups.used;
    let near = by_group.get_rows(&chosen)?.reshape([all, n])?.top_k(used)?;
    let numbers = numbers.get_rows(&chosen.reshape([groups.used * n])?)?.reshape([1, all, n])?;
    Ok(numbers.get_rows(&near)?.reshape([used, n])?)
}
