//! One layer of a decoder: attention or a recurrence, and feed-forward.

use super::activation::Xielu;
use super::attention::Attention;
use super::delta::DeltaNet;
use super::experts::ExpertFfn;
use super::layer_inputs::LayerInput;
use super::neurons::NeuronFfn;
use super::run::Run;
use super::shape::{Norms, Shape, Stated, XieluNumbers};
use crate::activity::Activity;
use crate::norm::Norm;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{DType, ScaleOptions, Tensor};

/// Gate, up and down projections.
struct GatedFfn {
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl GatedFfn {
    fn load(weights: &Weights, width: i64, ffn: i64, number: usize) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        Ok(GatedFfn {
            gate: linear("ffn_gate", width, ffn)?,
            up: linear("ffn_up", width, ffn)?,
            down: linear("ffn_down", ffn, width)?,
        })
    }

    fn forward(&self, run: &Run, number: usize, x: &Tensor) -> Result<Tensor> {
        let (gate, up) = (self.gate.forward(x, &run.pass)?, self.up.forward(x, &run.pass)?);
        let hidden = run.shape.activation.gated(&gate, &up)?;
        run.observe(number, &gate, &hidden)?;
        Ok(self.down.forward(&hidden, &run.pass)?)
    }
}

/// A block without experts next to one with experts. Each has norms of its own.
struct MixedFfn {
    dense: GatedFfn,
    dense_norm: RmsNorm,
    experts: ExpertFfn,
    before: RmsNorm,
    after: RmsNorm,
}

enum Ffn {
    Gated(GatedFfn),
    Mixed(Box<MixedFfn>),
    Fused { gate_up: Linear, down: Linear },
    Ungated { up: Linear, down: Linear, xielu: Option<Xielu> },
    Neurons(Box<NeuronFfn>),
    Experts(Box<ExpertFfn>),
}

impl Ffn {
    fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let (width, ffn) = (shape.width, shape.ffn_of(number));
        Ok(match (&shape.experts, shape.fused_ffn) {
            (Some(experts), _) if experts.with_dense => {
                let norm = |part: &str| weights.rms_norm(&format!("blk.{number}.{part}"), width, shape.eps);
                Ffn::Mixed(Box::new(MixedFfn {
                    dense: GatedFfn::load(weights, width, ffn, number)?,
                    dense_norm: norm("post_ffw_norm_1")?,
                    experts: ExpertFfn::load(weights, shape, experts, number)?,
                    before: norm("pre_ffw_norm_2")?,
                    after: norm("post_ffw_norm_2")?,
                }))
            }
            (Some(experts), _) => Ffn::Experts(Box::new(ExpertFfn::load(weights, shape, experts, number)?)),
            _ if weights.shape_of(&NeuronFfn::down_of(number)).is_some() => {
                Ffn::Neurons(Box::new(NeuronFfn::load(weights, shape, number, activity)?))
            }
            _ if activity.is_some() => {
                let down = NeuronFfn::down_of(number);
                let message = format!("tensor '{down}' is missing, of which active neurons' rows would be read");
                return Err(Error::unsupported(message).with_hint("`tensorlib transpose-down` makes such a model"));
            }
            _ if !shape.gated_ffn => Ffn::Ungated {
                up: linear("ffn_up", width, ffn)?,
                down: linear("ffn_down", ffn, width)?,
                xielu: xielu(weights, shape, number)?,
            },
            (None, true) => {
                Ffn::Fused { gate_up: linear("ffn_up", width, 2 * ffn)?, down: linear("ffn_down", ffn, width)? }
            }
            (None, false) => Ffn::Gated(GatedFfn::load(weights, width, ffn, number)?),
        })
    }
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

/// How a layer lets tokens see those before them.
enum Mixer {
    Attention(Box<Attention>),
    Delta(Box<DeltaNet>),
}

/// A layer's weights.
pub struct Layer {
    number: usize,
    norm: Option<Norm>,
    mixer: Mixer,
    post_norm: Option<Norm>,
    /// Attention and the feed-forward block take one input.
    parallel: bool,
    ffn_norm: Option<Norm>,
    ffn: Ffn,
    post_ffn_norm: Option<Norm>,
    input: Option<LayerInput>,
    /// The factor of the layer's result.
    factor: Option<Tensor>,
}

impl Layer {
    /// Loads the tensors `blk.NUMBER.*`; `factors` are the frequency factors of its rotation.
    pub fn load(
        weights: &Weights,
        shape: &Shape,
        number: usize,
        factors: Option<Tensor>,
        activity: Option<&Activity>,
    ) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let ffn_norm = format!("{}.weight", name(shape.ffn_norm));
        let (before, after, parallel) = match shape.norms {
            Norms::Before => (true, false, false),
            Norms::BeforeAndAfter => (true, true, false),
            Norms::After => (false, true, false),
            Norms::Shared => (true, false, true),
            Norms::BeforeOrShared => (true, false, weights.shape_of(&ffn_norm).is_none()),
        };
        let norm = |part: &str, is_there: bool| {
            is_there.then(|| Norm::load(weights, (shape.norm_kind, shape.eps), &name(part), shape.width)).transpose()
        };
        let mixer = match shape.delta.as_ref().filter(|_| shape.is_recurrent(number)) {
            Some(delta) => Mixer::Delta(Box::new(DeltaNet::load(weights, shape, delta, number)?)),
            None => Mixer::Attention(Box::new(Attention::load(weights, shape, number, factors)?)),
        };
        Stated::check_bias(shape.stated.ffn_bias, weights, &name("ffn_up.bias"))?;
        let ffn = Ffn::load(weights, shape, number, activity)?;
        Ok(Layer {
            number,
            norm: norm("attn_norm", before)?,
            mixer,
            post_norm: norm("post_attention_norm", after)?,
            parallel,
            ffn_norm: norm(shape.ffn_norm, before && !parallel)?,
            ffn,
            post_ffn_norm: norm("post_ffw_norm", after)?,
            input: LayerInput::load(weights, shape, number)?,
            factor: match shape.output_factors {
                true => weights.find(&name("layer_output_scale.weight"), &[1])?,
                false => None,
            },
        })
    }

    /// The layer's result for x, [width, tokens]. `inputs`: what all layers get in addition, if they get something.
    pub fn forward(&self, run: &Run, x: &Tensor, inputs: Option<&Tensor>) -> Result<Tensor> {
        let normed = |norm: &Option<Norm>, x: &Tensor| match norm {
            Some(norm) => norm.forward(x, &run.pass),
            None => Ok(x.clone()),
        };
        let input = normed(&self.norm, x)?;
        let mixed = match &self.mixer {
            Mixer::Attention(attention) => attention.forward(run, &input)?,
            Mixer::Delta(delta) => delta.forward(run, &input)?,
        };
        let scale = run.shape.residual_scale;
        let sum = (&scaled(normed(&self.post_norm, &mixed)?, scale)? + x)?;
        let fed = match self.parallel {
            true => self.feed(run, x, &input)?,
            false => self.feed(run, &sum, &normed(&self.ffn_norm, &sum)?)?,
        };
        let mut x = (&scaled(normed(&self.post_ffn_norm, &fed)?, scale)? + &sum)?;
        if let (Some(input), Some(all)) = (&self.input, inputs) {
            x = input.forward(run, &x, all)?;
        }
        if let Some(factor) = &self.factor {
            x = (&x * &factor.cast(DType::F32)?)?;
        }
        Ok(x)
    }

    /// Whether the layer's down projection is transposed.
    pub fn has_neurons(&self) -> bool {
        matches!(self.ffn, Ffn::Neurons(_))
    }

    /// The layer's experts, if it has any.
    pub fn experts(&self) -> Option<&ExpertFfn> {
        match &self.ffn {
            Ffn::Experts(experts) => Some(experts),
            Ffn::Mixed(mixed) => Some(&mixed.experts),
            _ => None,
        }
    }

    /// The block's result for `x`, which is the norm of `before`.
    fn feed(&self, run: &Run, before: &Tensor, x: &Tensor) -> Result<Tensor> {
        let activation = run.shape.activation;
        match &self.ffn {
            Ffn::Gated(gated) => gated.forward(run, self.number, x),
            Ffn::Mixed(mixed) => {
                let dense = mixed.dense_norm.forward(&mixed.dense.forward(run, self.number, x)?, &run.pass)?;
                let to_experts = mixed.before.forward(before, &run.pass)?;
                let chosen = mixed.experts.forward_routed(run, &to_experts, before)?;
                Ok((&dense + &mixed.after.forward(&chosen, &run.pass)?)?)
            }
            Ffn::Fused { gate_up, down } => {
                let both = gate_up.forward(x, &run.pass)?;
                let hidden = activation.gated_halves(&both)?;
                run.observe(self.number, &both.narrow(0, 0, run.shape.ffn)?, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Ungated { up, down, xielu } => {
                let up = up.forward(x, &run.pass)?;
                let hidden = xielu.map_or_else(|| activation.of(&up), |xielu| xielu.of(&up))?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Neurons(neurons) => neurons.forward(run, x),
            Ffn::Experts(experts) => experts.forward(run, x),
        }
    }
}

/// x times a factor.
pub fn scaled(x: Tensor, factor: f64) -> Result<Tensor> {
    match factor == 1.0 {
        true => Ok(x),
        false => Ok(x.scale(factor, ScaleOptions::new())?),
    }
}
