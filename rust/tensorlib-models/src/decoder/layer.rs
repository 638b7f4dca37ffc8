//! One layer of a decoder: attention or a recurrence, and feed-forward.

use super::attention::Attention;
use super::delta::DeltaNet;
use super::experts::ExpertFfn;
use super::layer_inputs::LayerInput;
use super::neurons::NeuronFfn;
use super::run::Run;
use super::shape::{Shape, Stated};
use crate::activity::Activity;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{DType, Tensor};

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
    Neurons(Box<NeuronFfn>),
    Experts(Box<ExpertFfn>),
}

impl Ffn {
    fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let (width, ffn) = (shape.width, shape.ffn_of(number));
        Ok(match (&shape.experts, shape.fused) {
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
            (None, true) => {
                Ffn::Fused { gate_up: linear("ffn_up", width, 2 * ffn)?, down: linear("ffn_down", ffn, width)? }
            }
            (None, false) => Ffn::Gated(GatedFfn::load(weights, width, ffn, number)?),
        })
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
    norm: RmsNorm,
    mixer: Mixer,
    post_norm: Option<RmsNorm>,
    ffn_norm: RmsNorm,
    ffn: Ffn,
    post_ffn_norm: Option<RmsNorm>,
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
        let norm = |part: &str, n| weights.rms_norm(&name(part), n, shape.eps);
        let width = shape.width;
        let mixer = match shape.delta.as_ref().filter(|_| shape.is_recurrent(number)) {
            Some(delta) => Mixer::Delta(Box::new(DeltaNet::load(weights, shape, delta, number)?)),
            None => Mixer::Attention(Box::new(Attention::load(weights, shape, number, factors)?)),
        };
        Stated::check_bias(shape.stated.ffn_bias, weights, &name("ffn_up.bias"))?;
        let ffn = Ffn::load(weights, shape, number, activity)?;
        let post = |part: &str| shape.post_norms.then(|| norm(part, width)).transpose();
        Ok(Layer {
            number,
            norm: norm("attn_norm", width)?,
            mixer,
            post_norm: post("post_attention_norm")?,
            ffn_norm: norm(shape.ffn_norm, width)?,
            ffn,
            post_ffn_norm: post("post_ffw_norm")?,
            input: LayerInput::load(weights, shape, number)?,
            factor: match shape.output_factors {
                true => weights.find(&name("layer_output_scale.weight"), &[1])?,
                false => None,
            },
        })
    }

    /// The layer's result for x, [width, tokens]. `inputs`: what all layers get in addition, if they get something.
    pub fn forward(&self, run: &Run, x: &Tensor, inputs: Option<&Tensor>) -> Result<Tensor> {
        let normed = self.norm.forward(x, &run.pass)?;
        let mut mixed = match &self.mixer {
            Mixer::Attention(attention) => attention.forward(run, &normed)?,
            Mixer::Delta(delta) => delta.forward(run, &normed)?,
        };
        if let Some(norm) = &self.post_norm {
            mixed = norm.forward(&mixed, &run.pass)?;
        }
        let x = (&mixed + x)?;
        let mut fed = self.feed(run, &x, &self.ffn_norm.forward(&x, &run.pass)?)?;
        if let Some(norm) = &self.post_ffn_norm {
            fed = norm.forward(&fed, &run.pass)?;
        }
        let mut x = (&fed + &x)?;
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
            Ffn::Neurons(neurons) => neurons.forward(run, x),
            Ffn::Experts(experts) => experts.forward(run, x),
        }
    }
}
