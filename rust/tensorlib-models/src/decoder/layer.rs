//! One layer of a decoder: attention or a recurrence, and feed-forward.

use super::altup::AltUpLayer;
use super::attention::Attention;
use super::delta::DeltaNet;
use super::division::Placed;
use super::experts::ExpertFfn;
use super::ffn::Ffn;
use super::latent::LatentAttention;
use super::layer_inputs::LayerInput;
use super::mamba::MambaLayer;
use super::run::Run;
use super::rwkv::TimeMix;
use super::shape::{FfnKind, Norms, Recurrence, Shape, Stated};
use super::short_convolution::ShortConvolution;
use crate::activity::Activity;
use crate::norm::{normed, Norm};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::{DType, ScaleOptions, Tensor};

/// Attention of a layer.
enum Attending {
    Keys(Box<Attention>),
    Latent(Box<LatentAttention>),
}

impl Attending {
    fn load(weights: &Weights, shape: &Shape, number: usize, factors: Option<Tensor>) -> Result<Self> {
        Ok(match &shape.latent {
            Some(latent) => {
                Attending::Latent(Box::new(LatentAttention::load(weights, shape, latent, number, factors)?))
            }
            None => Attending::Keys(Box::new(Attention::load(weights, shape, number, factors)?)),
        })
    }

    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let [of_input, of_result] = run.shape.attention_factors;
        let x = scaled(x.clone(), of_input)?;
        let result = match self {
            Attending::Keys(attention) => attention.forward(run, &x)?,
            Attending::Latent(attention) => attention.forward(run, &x)?,
        };
        scaled(result, of_result)
    }
}

/// A block with a state.
enum Recurring {
    Delta(Box<DeltaNet>),
    ShortConvolution(Box<ShortConvolution>),
    Mamba(Box<MambaLayer>),
    Rwkv(Box<TimeMix>),
}

impl Recurring {
    fn load(weights: &Weights, shape: &Shape, recurrence: &Recurrence, number: usize) -> Result<Self> {
        Ok(match recurrence {
            Recurrence::Delta(delta) => Recurring::Delta(Box::new(DeltaNet::load(weights, shape, delta, number)?)),
            Recurrence::ShortConvolution { taps } => {
                Recurring::ShortConvolution(Box::new(ShortConvolution::load(weights, shape, *taps, number)?))
            }
            Recurrence::Mamba(mamba) => Recurring::Mamba(Box::new(MambaLayer::load(weights, shape, mamba, number)?)),
            Recurrence::Rwkv(rwkv) => Recurring::Rwkv(Box::new(TimeMix::load(weights, shape, rwkv, number)?)),
        })
    }

    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        match self {
            Recurring::Delta(delta) => delta.forward(run, x),
            Recurring::ShortConvolution(convolution) => convolution.forward(run, x),
            Recurring::Mamba(mamba) => mamba.forward(run, x),
            Recurring::Rwkv(rwkv) => rwkv.forward(run, x),
        }
    }
}

/// What lets tokens see those before them: attention, a state or both, whose results are added.
struct Mixer {
    attention: Option<Placed<Attending>>,
    recurrence: Option<Placed<Recurring>>,
}

impl Mixer {
    /// `None` for a layer that is a feed-forward block alone.
    fn load(weights: &Weights, shape: &Shape, number: usize, factors: Option<Tensor>) -> Result<Option<Self>> {
        let blocks = shape.blocks_of(number);
        let attention = || {
            let is_here = !shape.own_heads(number).is_empty();
            let load = || Attending::load(weights, shape, number, factors);
            Placed::load(weights, shape.ranks_of_attention(number), is_here, load)
        };
        let attention = blocks.attention.then(attention).transpose()?;
        let recurrence = |kind: &Recurrence| {
            let ranks = shape.ranks_of_recurrence(number);
            Placed::load(weights, ranks, shape.is_here(ranks), || Recurring::load(weights, shape, kind, number))
        };
        let recurrence = shape.recurrence.as_ref().filter(|_| blocks.recurrence).map(recurrence).transpose()?;
        let is_there = attention.is_some() || recurrence.is_some();
        Ok(is_there.then_some(Mixer { attention, recurrence }))
    }

    fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let attention = self.attention.as_ref().map(|placed| placed.forward(run, |block| block.forward(run, x)));
        let recurrence = self.recurrence.as_ref().map(|placed| placed.forward(run, |block| block.forward(run, x)));
        let (attention, recurrence) = (attention.transpose()?, recurrence.transpose()?);
        match (attention, recurrence) {
            (Some(a), Some(b)) => Ok((&a + &b)?),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => Err(Error::internal("a layer that mixes nothing")),
        }
    }
}

/// A layer's weights.
pub struct Layer {
    number: usize,
    norm: Option<Norm>,
    mixer: Option<Mixer>,
    post_norm: Option<Norm>,
    /// Attention and the feed-forward block take one input.
    parallel: bool,
    ffn_norm: Option<Norm>,
    ffn: Option<Ffn>,
    post_ffn_norm: Option<Norm>,
    input: Option<LayerInput>,
    altup: Option<AltUpLayer>,
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
        let (before, after, parallel) = match shape.norms {
            Norms::Before => (true, false, false),
            Norms::BeforeAndAfter => (true, true, false),
            Norms::After => (false, true, false),
            Norms::Shared => (true, false, true),
            Norms::BeforeOrShared => {
                (true, false, weights.shape_of(&format!("{}.weight", name(shape.ffn_norm))).is_none())
            }
        };
        let norm = |part: &str, is_there: bool| -> Result<Option<Norm>> {
            if !is_there {
                return Ok(None);
            }
            let norm = Norm::load(weights, (shape.norm_kind, shape.eps), &name(part), shape.width)?;
            Stated::check_bias(shape.stated.norm_bias, weights, &name(&format!("{part}.bias")))?;
            Ok(Some(norm))
        };
        let mixer = Mixer::load(weights, shape, number, factors)?;
        // A feed-forward block alone has the one norm that each layer has.
        let ffn_norm = if mixer.is_some() { shape.ffn_norm } else { "attn_norm" };
        let has_ffn = shape.blocks_of(number).ffn != FfnKind::None;
        if has_ffn {
            let is_shared = shape.blocks_of(number).ffn == FfnKind::Experts
                && shape.experts.as_ref().is_some_and(|experts| experts.shared.is_some());
            let of = if is_shared { "ffn_up_shexp.bias" } else { "ffn_up.bias" };
            Stated::check_bias(shape.stated.ffn_bias, weights, &name(of))?;
        }
        let ffn = has_ffn.then(|| Ffn::load(weights, shape, number, activity)).transpose()?;
        Ok(Layer {
            number,
            norm: norm("attn_norm", before && mixer.is_some())?,
            mixer,
            post_norm: norm("post_attention_norm", after)?,
            parallel,
            ffn_norm: norm(ffn_norm, before && !parallel && has_ffn)?,
            ffn,
            post_ffn_norm: norm("post_ffw_norm", after)?,
            input: LayerInput::load(weights, shape, number)?,
            altup: AltUpLayer::load(weights, shape, number)?,
            factor: match shape.output_factors {
                true => weights.find(&name("layer_output_scale.weight"), &[1])?,
                false => None,
            },
        })
    }

    /// The layer's result for x, [width, tokens]. `inputs`: what all layers get in addition, if they get something.
    pub fn forward(&self, run: &Run, x: &Tensor, inputs: Option<&Tensor>) -> Result<Tensor> {
        let mut x = self.computed(run, x)?;
        if let (Some(input), Some(all)) = (&self.input, inputs) {
            x = input.forward(run, &x, all)?;
        }
        if let Some(factor) = &self.factor {
            x = (&x * &factor.cast(DType::F32)?)?;
        }
        Ok(x)
    }

    /// [`Layer::forward`] for several streams.
    pub fn forward_streams(&self, run: &Run, streams: &[Tensor], inputs: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let Some(altup) = &self.altup else { return Err(Error::internal("a layer of one stream")) };
        let predicted = altup.predict(run, streams)?;
        let computed = self.computed(run, &predicted[altup.active()])?;
        let mut all = altup.correct(run, &predicted, &computed)?;
        if let (Some(input), Some(vectors)) = (&self.input, inputs) {
            let added = input.added(run, &altup.scaled(&all[altup.active()])?, vectors)?;
            for stream in &mut all[1..] {
                *stream = (&*stream + &added)?;
            }
        }
        Ok(all)
    }

    /// What the layer's blocks make of x.
    fn computed(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let (input, scale) = (normed(self.norm.as_ref(), x, &run.pass)?, run.shape.residual_scale);
        let sum = match &self.mixer {
            Some(mixer) => {
                let mixed = mixer.forward(run, &input)?;
                (&scaled(normed(self.post_norm.as_ref(), &mixed, &run.pass)?, scale)? + x)?
            }
            None => x.clone(),
        };
        let sum = match &self.altup {
            Some(altup) => altup.joined(run, &input, &sum)?,
            None => sum,
        };
        let Some(ffn) = &self.ffn else { return Ok(sum) };
        let fed = match self.parallel {
            true => ffn.forward(run, self.number, x, &input)?,
            false => ffn.forward(run, self.number, &sum, &normed(self.ffn_norm.as_ref(), &sum, &run.pass)?)?,
        };
        Ok((&scaled(normed(self.post_ffn_norm.as_ref(), &fed, &run.pass)?, scale)? + &sum)?)
    }

    /// Whether the layer's down projection is transposed.
    pub fn has_neurons(&self) -> bool {
        self.ffn.as_ref().is_some_and(Ffn::has_neurons)
    }

    /// The layer's experts, if it has any.
    pub fn experts(&self) -> Option<&ExpertFfn> {
        self.ffn.as_ref().and_then(Ffn::experts)
    }
}

/// x times a factor.
pub fn scaled(x: Tensor, factor: f64) -> Result<Tensor> {
    match factor == 1.0 {
        true => Ok(x),
        false => Ok(x.scale(factor, ScaleOptions::new())?),
    }
}
