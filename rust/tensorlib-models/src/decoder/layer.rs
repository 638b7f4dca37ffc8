//! One layer of a decoder: attention or a recurrence, and feed-forward.

use super::attention::Attention;
use super::delta::DeltaNet;
use super::experts::ExpertFfn;
use super::neurons::NeuronFfn;
use super::run::Run;
use super::shape::{Shape, Stated};
use crate::activity::Activity;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{ScaleOptions, Tensor};

enum Ffn {
    Gated { gate: Linear, up: Linear, down: Linear },
    Fused { gate_up: Linear, down: Linear },
    Ungated { up: Linear, down: Linear },
    Neurons(Box<NeuronFfn>),
    Experts(Box<ExpertFfn>),
}

impl Ffn {
    fn load(weights: &Weights, shape: &Shape, number: usize, activity: Option<&Activity>) -> Result<Self> {
        let linear = |part: &str, inputs, outputs| weights.linear(&format!("blk.{number}.{part}"), inputs, outputs);
        let Shape { width, ffn, .. } = *shape;
        Ok(match (&shape.experts, shape.fused) {
            (Some(experts), _) => Ffn::Experts(Box::new(ExpertFfn::load(weights, shape, experts, number)?)),
            _ if weights.shape_of(&NeuronFfn::down_of(number)).is_some() => {
                Ffn::Neurons(Box::new(NeuronFfn::load(weights, shape, number, activity)?))
            }
            _ if activity.is_some() => {
                let down = NeuronFfn::down_of(number);
                let message = format!("tensor '{down}' is missing, of which active neurons' rows would be read");
                return Err(Error::unsupported(message).with_hint("`tensorlib transpose-down` makes such a model"));
            }
            _ if !shape.gated_ffn => {
                Ffn::Ungated { up: linear("ffn_up", width, ffn)?, down: linear("ffn_down", ffn, width)? }
            }
            (None, true) => {
                Ffn::Fused { gate_up: linear("ffn_up", width, 2 * ffn)?, down: linear("ffn_down", ffn, width)? }
            }
            (None, false) => Ffn::Gated {
                gate: linear("ffn_gate", width, ffn)?,
                up: linear("ffn_up", width, ffn)?,
                down: linear("ffn_down", ffn, width)?,
            },
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
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let normed = self.norm.forward(x, &run.pass)?;
        let mut mixed = match &self.mixer {
            Mixer::Attention(attention) => attention.forward(run, &normed)?,
            Mixer::Delta(delta) => delta.forward(run, &normed)?,
        };
        if let Some(norm) = &self.post_norm {
            mixed = norm.forward(&mixed, &run.pass)?;
        }
        let factor = run.shape.residual_scale;
        let x = (&scaled(mixed, factor)? + x)?;
        let mut fed = self.feed(run, &self.ffn_norm.forward(&x, &run.pass)?)?;
        if let Some(norm) = &self.post_ffn_norm {
            fed = norm.forward(&fed, &run.pass)?;
        }
        Ok((&scaled(fed, factor)? + &x)?)
    }

    /// Whether the layer's down projection is transposed.
    pub fn has_neurons(&self) -> bool {
        matches!(self.ffn, Ffn::Neurons(_))
    }

    /// The layer's experts, if it has any.
    pub fn experts(&self) -> Option<&ExpertFfn> {
        match &self.ffn {
            Ffn::Experts(experts) => Some(experts),
            _ => None,
        }
    }

    fn feed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let activation = run.shape.activation;
        match &self.ffn {
            Ffn::Gated { gate, up, down } => {
                let (gate, up) = (gate.forward(x, &run.pass)?, up.forward(x, &run.pass)?);
                let hidden = activation.gated(&gate, &up)?;
                run.observe(self.number, &gate, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Fused { gate_up, down } => {
                let both = gate_up.forward(x, &run.pass)?;
                let hidden = activation.gated_halves(&both)?;
                run.observe(self.number, &both.narrow(0, 0, run.shape.ffn)?, &hidden)?;
                Ok(down.forward(&hidden, &run.pass)?)
            }
            Ffn::Ungated { up, down } => Ok(down.forward(&activation.of(&up.forward(x, &run.pass)?)?, &run.pass)?),
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
