//! Channel mixing of RWKV 7: neurons that read a token and the one before it.

use super::run::Run;
use super::shape::Shape;
use super::token_shift::changes;
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{Linear, Module};
use tensorlib::{DType, Tensor};

/// The columns of a layer's state that time mixing and channel mixing keep.
pub const OF_TIME: usize = 0;
const OF_CHANNELS: usize = 1;

/// A layer's weights.
pub struct ChannelMix {
    number: usize,
    /// How much of the token before each channel has: [width].
    share: Tensor,
    key: Linear,
    value: Linear,
}

impl ChannelMix {
    /// Loads the tensors of layer `number`.
    pub fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{number}.channel_mix_{part}");
        let (width, ffn) = (shape.width, shape.ffn_of(number));
        Ok(ChannelMix {
            number,
            share: weights.get(&name("lerp_k.weight"), &[width])?,
            key: weights.linear(&name("key"), width, ffn)?,
            value: weights.linear(&name("value"), ffn, width)?,
        })
    }

    /// The layer's result for x, [width, tokens].
    pub fn forward(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let changes = changes(run, (self.number, OF_CHANNELS), x)?;
        let mixed = (&(&changes * &self.share.cast(DType::F32)?)? + x)?;
        let hidden = run.shape.activation.of(&self.key.forward(&mixed, &run.pass)?)?;
        Ok(self.value.forward(&hidden, &run.pass)?)
    }
}
