//! The feed-forward block of a layer.

use super::activation::Xielu;
use super::channel_mix::ChannelMix;
use super::division::{Neurons, Placed};
use super::experts::ExpertFfn;
use super::layer::scaled;
use super::neurons::NeuronFfn;
use super::run::Run;
use super::shape::{FfnKind, Shape, XieluNumbers};
use crate::activity::Activity;
use crate::weights::{TensorPart, Weights};
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::Tensor;

/// Gate, up and down projections.
pub struct GatedFfn {
    gate: Linear,
    /// How many standard deviations above their mean gates count, less that bound.
    cut: Option<f64>,
    up: Linear,
    /// A norm of the neurons.
    norm: Option<RmsNorm>,
    down: Linear,
}

impl GatedFfn {
    /// Loads the matrices of these of `ffn` neurons. `name`: the name of a part.
    pub fn load(weights: &Weights, width: i64, neurons: &Neurons, name: impl Fn(&str) -> String) -> Result<Self> {
        let (ffn, rows) = (neurons.all, neurons.rows());
        Ok(GatedFfn {
            gate: weights.linear_part(&name("ffn_gate"), width, ffn, Some(&rows))?,
            cut: None,
            up: weights.linear_part(&name("ffn_up"), width, ffn, Some(&rows))?,
            norm: None,
            down: weights.linear_part(&name("ffn_down"), ffn, width, Some(&neurons.columns()))?,
        })
    }

    /// What these neurons make of x, [width, tokens], and the gates and neurons that make it.
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<(Tensor, [Tensor; 2])> {
        let [of_gate, of_result] = run.shape.ffn_factors;
        let gate = scaled(self.gate.forward(x, &run.pass)?, of_gate)?;
        let gate = self.cut.map_or_else(|| Ok(gate.clone()), |deviations| above(&gate, deviations))?;
        let up = self.up.forward(x, &run.pass)?;
        let hidden = run.shape.activation.gated(&gate, &up)?;
        let normed = match &self.norm {
            Some(norm) => norm.forward(&hidden, &run.pass)?,
            None => hidden.clone(),
        };
        Ok((scaled(self.down.forward(&normed, &run.pass)?, of_result)?, [gate, hidden]))
    }

    /// [`GatedFfn::forward`] for the block of layer `number`, whose neurons may be observed.
    fn observed(&self, run: &Run, number: usize, x: &Tensor) -> Result<Tensor> {
        let (result, [gate, hidden]) = self.forward(run, x)?;
        run.observe(number, &gate, &hidden)?;
        Ok(result)
    }
}

/// Up and down projections, without gates.
pub struct PlainFfn {
    up: Linear,
    down: Linear,
    /// The activation, if it is not the model's.
    xielu: Option<Xielu>,
}

impl PlainFfn {
    /// Loads the matrices of these of `ffn` neurons. `name`: the name of a part.
    pub fn load(weights: &Weights, width: i64, neurons: &Neurons, name: impl Fn(&str) -> String) -> Result<Self> {
        let up = weights.linear_part(&name("ffn_up"), width, neurons.all, Some(&neurons.rows()))?;
        let down = weights.linear_part(&name("ffn_down"), neurons.all, width, Some(&neurons.columns()))?;
        Ok(PlainFfn { up, down, xielu: None })
    }

    /// What these neurons make of x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let up = self.up.forward(x, &run.pass)?;
        let hidden = self.xielu.map_or_else(|| run.shape.activation.of(&up), |xielu| xielu.of(&up))?;
        Ok(self.down.forward(&hidden, &run.pass)?)
    }
}

/// What the elements of each row are above their mean and this many standard deviations; 0 for those below.
fn above(x: &Tensor, deviations: f64) -> Result<Tensor> {
    let mean_of = |x: &Tensor| scaled(x.sum_rows()?, 1.0 / x.shape()[0] as f64);
    let centred = (x - &mean_of(x)?)?;
    let bound = scaled(mean_of(&centred.sqr()?)?.sqrt()?, deviations)?;
    Ok((&centred - &bound)?.relu()?)
}

/// A block without experts next to one with experts. Each has norms of its own.
pub struct MixedFfn {
    dense: Placed<GatedFfn>,
    dense_norm: RmsNorm,
    experts: Placed<ExpertFfn>,
    before: RmsNorm,
    after: RmsNorm,
}

/// The kinds of feed-forward blocks. Each gives this rank's term of the result.
pub enum Kind {
    Gated(GatedFfn),
    Fused { gate_up: Linear, down: Linear },
    Plain(PlainFfn),
    Shifted(ChannelMix),
    Neurons(Box<NeuronFfn>),
    Experts(Box<ExpertFfn>),
}

/// A layer's feed-forward block.
pub enum Ffn {
    One(Box<Placed<Kind>>),
    Mixed(Box<MixedFfn>),
}

impl Kind {
    /// Loads this rank's part of the block of layer `number`, with these neurons if it has no experts.
    fn load(
        weights: &Weights,
        shape: &Shape,
        number: usize,
        neurons: &Neurons,
        activity: Option<&Activity>,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let width = shape.width;
        let experts = shape.experts.as_ref().filter(|_| shape.blocks_of(number).ffn == FfnKind::Experts);
        Ok(match (experts, shape.fused_ffn) {
            (Some(experts), _) => Kind::Experts(Box::new(ExpertFfn::load(weights, shape, experts, number)?)),
            _ if shape.blocks_of(number).ffn == FfnKind::Shifted => {
                Kind::Shifted(ChannelMix::load(weights, shape, number)?)
            }
            _ if is_transposed(weights, number) => {
                Kind::Neurons(Box::new(NeuronFfn::load(weights, shape, number, activity)?))
            }
            _ if activity.is_some() => {
                let down = NeuronFfn::down_of(number);
                let message = format!("tensor '{down}' is missing, of which active neurons' rows would be read");
                return Err(Error::unsupported(message).with_hint("`tensorlib transpose-down` makes such a model"));
            }
            _ if !shape.gated_ffn => {
                let xielu = xielu(weights, shape, number)?;
                Kind::Plain(PlainFfn { xielu, ..PlainFfn::load(weights, width, neurons, name)? })
            }
            (None, true) => {
                let Neurons { all: ffn, own } = neurons;
                let rows = TensorPart::rows([own.clone(), ffn + own.start..ffn + own.end]);
                Kind::Fused {
                    gate_up: weights.linear_part(&name("ffn_up"), width, 2 * ffn, Some(&rows))?,
                    down: weights.linear_part(&name("ffn_down"), *ffn, width, Some(&neurons.columns()))?,
                }
            }
            (None, false) => {
                let norm = || weights.rms_norm(&name("ffn_sub_norm"), neurons.all, shape.eps);
                let norm = shape.inner_norms.then(norm).transpose()?;
                let cut = shape.altup.as_ref().and_then(|altup| altup.cuts.get(number).copied().flatten());
                Kind::Gated(GatedFfn { norm, cut, ..GatedFfn::load(weights, width, neurons, name)? })
            }
        })
    }

    /// This rank's term of the result of layer `number` for x.
    fn forward(&self, run: &Run, number: usize, x: &Tensor) -> Result<Tensor> {
        match self {
            Kind::Gated(gated) => gated.observed(run, number, x),
            Kind::Fused { gate_up, down } => {
                let both = gate_up.forward(x, &run.pass)?;
                let hidden = run.shape.activation.gated_halves(&both)?;
                run.observe(number, &both.narrow(0, 0, hidden.shape()[0])?, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Kind::Plain(plain) => plain.forward(run, x),
            Kind::Shifted(mix) => mix.forward(run, x),
            Kind::Neurons(neurons) => neurons.forward(run, x),
            Kind::Experts(experts) => experts.forward(run, x),
        }
    }
}

impl Ffn {
    /// Loads the block of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let (width, ffn) = (shape.width, shape.ffn_of(number));
        let ranks = shape.ranks_of_ffn(number, is_transposed(weights, number));
        let neurons = || shape.own_neurons(weights, ranks, &name("ffn_down"), ffn);
        let has_neurons = shape.is_here(ranks) && !neurons()?.own.is_empty();
        let has_experts = shape.blocks_of(number).ffn == FfnKind::Experts;
        match shape.experts.as_ref().filter(|experts| has_experts && experts.with_dense) {
            Some(experts) => {
                let norm = |part: &str| weights.rms_norm(&name(part), width, shape.eps);
                let dense = || GatedFfn::load(weights, width, &neurons()?, name);
                let of_experts = || ExpertFfn::load(weights, shape, experts, number);
                Ok(Ffn::Mixed(Box::new(MixedFfn {
                    dense: Placed::load(weights, ranks, has_neurons, dense)?,
                    dense_norm: norm("post_ffw_norm_1")?,
                    experts: Placed::load(weights, ranks, shape.is_here(ranks), of_experts)?,
                    before: norm("pre_ffw_norm_2")?,
                    after: norm("post_ffw_norm_2")?,
                })))
            }
            None => {
                // All ranks have the router of experts.
                let is_here = if has_experts { shape.is_here(ranks) } else { has_neurons };
                let load = || Kind::load(weights, shape, number, &neurons()?, activity);
                Ok(Ffn::One(Box::new(Placed::load(weights, ranks, is_here, load)?)))
            }
        }
    }

    /// The result of layer `number` for `x`, which is the norm of `before`.
    pub fn forward(&self, run: &Run, number: usize, before: &Tensor, x: &Tensor) -> Result<Tensor> {
        match self {
            Ffn::One(placed) => placed.forward(run, |block| block.forward(run, number, x)),
            Ffn::Mixed(mixed) => {
                let dense = mixed.dense.forward(run, |dense| dense.observed(run, number, x))?;
                let to_experts = mixed.before.forward(before, &run.pass)?;
                let chosen = mixed.experts.forward(run, |experts| experts.forward_routed(run, &to_experts, before))?;
                let dense = mixed.dense_norm.forward(&dense, &run.pass)?;
                Ok((&dense + &mixed.after.forward(&chosen, &run.pass)?)?)
            }
        }
    }

    /// The experts, if there are some.
    pub fn experts(&self) -> Option<&ExpertFfn> {
        match self {
            Ffn::One(placed) => match placed.block() {
                Some(Kind::Experts(experts)) => Some(experts),
                _ => None,
            },
            Ffn::Mixed(mixed) => mixed.experts.block(),
        }
    }

    /// Whether the down projection is transposed.
    pub fn has_neurons(&self) -> bool {
        matches!(self, Ffn::One(placed) if matches!(placed.block(), Some(Kind::Neurons(_))))
    }
}

/// Whether the down projection of a layer is transposed.
fn is_transposed(weights: &Weights, number: usize) -> bool {
    weights.shape_of(&NeuronFfn::down_of(number)).is_some()
}

/// The numbers of a layer's xIELU, if the model has it.
fn xielu(weights: &Weights, shape: &Shape, number: usize) -> Result<Option<Xielu>> {
    let find = |name: &str| -> Result<Option<f64>> {
        let Some(found) = weights.find(&format!("blk.{number}.xielu_{name}"), &[1])? else { return Ok(None) };
        Ok(found.to_f32_vec()?.first().map(|x| f64::from(*x)))
    };
    let get = |name: &str| {
        let missing =
            || Error::format(format!("tensor '{}' is missing", weights.called(&format!("blk.{number}.xielu_{name}"))));
        find(name)?.ok_or_else(missing)
    };
    match &shape.xielu {
        None => Ok(None),
        Some(XieluNumbers::OfLayers(all)) => Ok(all.get(number).copied()),
        Some(XieluNumbers::InTensors) => {
            let (beta, eps) = (find("beta")?.unwrap_or(0.5), find("eps")?.unwrap_or(-1e-6));
            Ok(Some(Xielu::of_stored(get("alpha_n")?, get("alpha_p")?, beta, eps)))
        }
    }
}
