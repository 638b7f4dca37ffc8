//! One layer of a decoder: attention or a recurrence, and feed-forward.

use super::attention::Attention;
use super::delta::DeltaNet;
use super::experts::ExpertFfn;
use super::ffn::Ffn;
use super::latent::LatentAttention;
use super::layer_inputs::LayerInput;
use super::run::Run;
use super::shape::{Norms, Recurrence, Shape, Stated};
use super::short_convolution::ShortConvolution;
use crate::activity::Activity;
use crate::norm::{normed, Norm};
use crate::weights::Weights;
use crate::Result;
use tensorlib::{DType, ScaleOptions, Tensor};

/// How a layer lets tokens see those before them.
enum Mixer {
    Attention(Box<Attention>),
    Latent(Box<LatentAttention>),
    Delta(Box<DeltaNet>),
    ShortConvolution(Box<ShortConvolution>),
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
        let mixer = match shape.recurrence.as_ref().filter(|_| shape.blocks_of(number).recurrence) {
            Some(Recurrence::Delta(delta)) => Mixer::Delta(Box::new(DeltaNet::load(weights, shape, delta, number)?)),
            Some(Recurrence::ShortConvolution { taps }) => {
                Mixer::ShortConvolution(Box::new(ShortConvolution::load(weights, shape, *taps, number)?))
            }
            None => match &shape.latent {
                Some(latent) => {
                    Mixer::Latent(Box::new(LatentAttention::load(weights, shape, latent, number, factors)?))
                }
                None => Mixer::Attention(Box::new(Attention::load(weights, shape, number, factors)?)),
            },
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
        let input = normed(self.norm.as_ref(), x, &run.pass)?;
        let mixed = match &self.mixer {
            Mixer::Attention(attention) => attention.forward(run, &input)?,
            Mixer::Latent(attention) => attention.forward(run, &input)?,
            Mixer::Delta(delta) => delta.forward(run, &input)?,
            Mixer::ShortConvolution(convolution) => convolution.forward(run, &input)?,
        };
        let scale = run.shape.residual_scale;
        let sum = (&scaled(normed(self.post_norm.as_ref(), &mixed, &run.pass)?, scale)? + x)?;
        let fed = match self.parallel {
            true => self.ffn.forward(run, self.number, x, &input)?,
            false => self.ffn.forward(run, self.number, &sum, &normed(self.ffn_norm.as_ref(), &sum, &run.pass)?)?,
        };
        let mut x = (&scaled(normed(self.post_ffn_norm.as_ref(), &fed, &run.pass)?, scale)? + &sum)?;
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
        self.ffn.experts()
    }
}

/// x times a factor.
pub fn scaled(x: Tensor, factor: f64) -> Result<Tensor> {
    match factor == 1.0 {
        true => Ok(x),
        false => Ok(x.scale(factor, ScaleOptions::new())?),
    }
}
