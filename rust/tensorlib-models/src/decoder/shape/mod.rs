//! A decoder described by numbers and choices. The files of `architectures` fill it in; no other code knows the names
//! of architectures.

mod altup;
mod experts;
mod latent;
mod recurrence;
mod stated;
mod temperature;
mod windows;
mod written;

pub use altup::AltUp;
pub use experts::{ExpertGroups, Experts, GroupScores, Routing, Scores, Shared};
pub use latent::Latent;
pub use recurrence::{taps, Delta, Mamba, Recurrence, Rwkv};
pub use stated::Stated;
pub use temperature::Temperature;
pub use windows::Window;

use super::activation::{Activation, Xielu};
use super::division::Division;
use super::keys::*;
use super::rope::Rope;
use crate::norm::NormKind;
use crate::settings::{Key, Settings};
use crate::{Error, Result};

/// A layer's feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FfnKind {
    None,
    Dense,
    Experts,
    /// Neurons that also read what the token before had: channel mixing.
    Shifted,
}

/// The blocks of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub attention: bool,
    /// A block with a state, [`Shape::recurrence`].
    pub recurrence: bool,
    pub ffn: FfnKind,
}

impl Blocks {
    /// Attention and a feed-forward block without experts.
    pub const USUAL: Blocks = Blocks { attention: true, recurrence: false, ffn: FfnKind::Dense };
}

/// The heads of a layer's keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHeads {
    pub count: i64,
    /// Elements of a head of keys, and of one of queries.
    pub key: i64,
    /// Elements of a head of values.
    pub value: i64,
}

/// Where a layer has norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// Before attention and before the feed-forward block.
    Before,
    /// Before them, and of their results before these are added.
    BeforeAndAfter,
    /// After them alone, of their results before these are added.
    After,
    /// One, whose result both blocks take. Both are added to the layer's input.
    Shared,
    /// As [`Norms::Before`] or [`Norms::Shared`], by the tensors that the layer has.
    BeforeOrShared,
}

/// Where the numbers of each layer's xIELU are.
#[derive(Clone, Debug)]
pub enum XieluNumbers {
    OfLayers(Vec<Xielu>),
    /// In tensors of each layer.
    InTensors,
}

/// Norms of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadNorms {
    None,
    /// Head by head, with weights for all heads.
    BeforeRotation,
    /// As [`HeadNorms::BeforeRotation`], after the rotation.
    AfterRotation,
    /// Head by head, without weights, after the rotation, in layers that rotate.
    PlainAfterRotation,
    /// All heads together, before the rotation.
    Whole,
    /// Head by head, with weights of each head, before the rotation. GGUF files may have none.
    Own,
}

/// A decoder. Its layers are: norm, attention, sum; norm, feed-forward, sum.
#[derive(Clone, Debug)]
pub struct Shape {
    pub layers: i64,
    /// Layers after those, which other programs use to draft tokens. They are not loaded.
    pub drafting_layers: i64,
    pub width: i64,
    pub heads: i64,
    /// The heads of keys and values, and those of layers with a window if they differ.
    pub keys: KeyHeads,
    pub window_keys: Option<KeyHeads>,
    /// The last layers, as many as this, read the keys and values of the last layer before them that has a window, or
    /// none, as they do.
    pub sharing_layers: i64,
    /// A layer without a matrix for values takes its keys before norm and rotation as values.
    pub keys_as_values: bool,
    /// Values are normalised, head by head, without factors.
    pub value_norms: bool,
    /// Neurons of the feed-forward blocks, and of each layer's if they differ.
    pub ffn: i64,
    pub layer_ffns: Option<Vec<i64>>,
    /// Elements of a vector that each layer gets for each token, in addition to the result of the layer before it.
    pub layer_inputs: Option<i64>,
    /// Several streams between layers.
    pub altup: Option<AltUp>,
    /// The result of a layer may be multiplied by a factor, a tensor of one element.
    pub output_factors: bool,
    /// The most tokens that the model was made for.
    pub context: i64,
    pub eps: f64,
    pub rope: Rope,
    /// The rotation of layers with a window, if it differs.
    pub window_rope: Option<Rope>,
    pub window: Option<Window>,
    /// Which layers rotate queries and keys; without a list, all do.
    pub rotated: Option<Vec<bool>>,
    pub temperature: Option<Temperature>,
    /// Attention reads latent vectors, if it does not read keys and values.
    pub latent: Option<Latent>,
    /// The blocks of each layer.
    pub blocks: Vec<Blocks>,
    /// What layers with a state compute.
    pub recurrence: Option<Recurrence>,
    /// The results of attention are multiplied by the sigmoid of gates, which the matrix of the queries makes.
    pub gated_attention: bool,
    pub attention_scale: f64,
    /// Soft cap of attention logits; 0 disables it.
    pub attention_softcap: f64,
    /// Soft cap of the final logits; 0 disables it.
    pub final_softcap: f64,
    pub embedding_scale: f64,
    /// Embeddings have a norm before the first layer.
    pub embedding_norm: bool,
    /// The factor of what attention and feed-forward give, before it is added.
    pub residual_scale: f64,
    /// The factors of attention's input and result.
    pub attention_factors: [f64; 2],
    /// The factors of gates before the activation, and of the block's result.
    pub ffn_factors: [f64; 2],
    pub logit_scale: f64,
    pub activation: Activation,
    /// Feed-forward blocks multiply the up projection by an activated gate; otherwise it is activated itself.
    pub gated_ffn: bool,
    /// The activation of blocks without gates, if it is xIELU.
    pub xielu: Option<XieluNumbers>,
    pub experts: Option<Experts>,
    /// One matrix makes queries, keys and values.
    pub fused_attention: bool,
    /// One matrix makes gate and up projections.
    pub fused_ffn: bool,
    pub head_norms: HeadNorms,
    pub norms: Norms,
    pub norm_kind: NormKind,
    /// Results of attention, and neurons, have norms before their last matrix.
    pub inner_norms: bool,
    /// Each head has an attention sink, a logit without a key.
    pub sinks: bool,
    /// The name of the norm before the feed-forward block.
    pub ffn_norm: &'static str,
    /// The name of the norm after all layers.
    pub output_norm: &'static str,
    pub stated: Stated,
    /// What this rank has of the model, if the model is divided over ranks.
    pub division: Option<Division>,
}

impl Shape {
    /// The number of layers.
    pub fn layers(settings: &Settings) -> Result<i64> {
        settings.count(LAYERS)
    }

    /// The settings that all decoders have; everything else as in Llama.
    pub fn read(settings: &Settings, rope: Rope) -> Result<Self> {
        Self::read_with(settings, rope, NormKind::RootMeanSquare, EPS)
    }

    /// [`Shape::read`] for norms of this kind, whose epsilon has this name.
    pub fn read_with(settings: &Settings, rope: Rope, norm_kind: NormKind, eps: Key) -> Result<Self> {
        let (_, heads) = (Self::layers(settings)?, settings.count(HEADS)?);
        let head = Self::head(settings)?;
        let value = settings.count_if(VALUE_HEAD)?.unwrap_or(head);
        let keys = KeyHeads { count: settings.count_if(KV_HEADS)?.unwrap_or(heads), key: head, value };
        check_heads(settings, heads, keys)?;
        // Files of models whose layers all have experts may say nothing about other neurons.
        let ffn = match settings.count_if(FFN)? {
            Some(ffn) => ffn,
            None => settings.count_if(EXPERT_FFN)?.map_or_else(|| settings.count(FFN), Ok)?,
        };
        Self::with(settings, rope, keys, ffn, (norm_kind, eps))
    }

    /// [`Shape::read_with`] with these heads of keys and this number of neurons.
    pub fn with(settings: &Settings, rope: Rope, keys: KeyHeads, ffn: i64, norms: (NormKind, Key)) -> Result<Self> {
        Self::with_heads(settings, rope, (settings.count(HEADS)?, keys), ffn, norms)
    }

    /// [`Shape::with`] with these heads of queries and keys.
    pub fn with_heads(
        settings: &Settings,
        rope: Rope,
        (heads, keys): (i64, KeyHeads),
        ffn: i64,
        (norm_kind, eps): (NormKind, Key),
    ) -> Result<Self> {
        let (layers, width) = (settings.count(LAYERS)?, settings.count(WIDTH)?);
        let scale = settings.number_if(ATTENTION_SCALE)?.filter(|scale| *scale != 0.0);
        Ok(Shape {
            layers,
            drafting_layers: 0,
            width,
            heads,
            keys,
            window_keys: None,
            sharing_layers: 0,
            keys_as_values: false,
            value_norms: false,
            ffn,
            context: settings.count(CONTEXT)?,
            eps: settings.number(eps)?,
            layer_ffns: None,
            layer_inputs: None,
            altup: None,
            output_factors: false,
            rope,
            window_rope: None,
            window: None,
            rotated: None,
            temperature: None,
            latent: None,
            blocks: vec![Blocks::USUAL; usize::try_from(layers).unwrap_or(0)],
            recurrence: None,
            gated_attention: false,
            attention_scale: scale.unwrap_or(1.0 / (keys.key as f64).sqrt()),
            attention_softcap: 0.0,
            final_softcap: 0.0,
            embedding_scale: 1.0,
            embedding_norm: false,
            residual_scale: 1.0,
            attention_factors: [1.0; 2],
            ffn_factors: [1.0; 2],
            logit_scale: 1.0,
            activation: Activation::Silu,
            gated_ffn: true,
            xielu: None,
            experts: None,
            fused_attention: false,
            fused_ffn: false,
            head_norms: HeadNorms::None,
            norms: Norms::Before,
            norm_kind,
            inner_norms: false,
            sinks: false,
            ffn_norm: "ffn_norm",
            output_norm: "output_norm",
            stated: Stated::read(settings)?,
            division: None,
        })
    }

    /// Elements of a head.
    pub fn head(settings: &Settings) -> Result<i64> {
        if let Some(head) = settings.count_if(HEAD)? {
            return Ok(head);
        }
        let (width, heads) = (settings.count(WIDTH)?, settings.count(HEADS)?);
        if width % heads != 0 {
            return Err(settings.refuse(WIDTH, format!("is {width}: a multiple of the {heads} heads is valid")));
        }
        Ok(width / heads)
    }

    /// The number of layers, and of neurons in each feed-forward block; fails for models with experts or without gates.
    pub fn neurons(&self) -> Result<(usize, usize)> {
        if self.blocks.iter().any(|blocks| blocks.ffn == FfnKind::None) {
            return Err(Error::unsupported("a model with layers that have no feed-forward block"));
        }
        if self.layer_ffns.is_some() {
            return Err(Error::unsupported("a model whose feed-forward blocks differ in their number of neurons"));
        }
        if self.experts.is_some() {
            return Err(Error::unsupported("a model with experts: its router says what is computed, not its neurons"));
        }
        if !self.gated_ffn {
            return Err(Error::unsupported(
                "a model whose feed-forward blocks have no gates: Llama's blocks are valid",
            ));
        }
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        Ok((count(self.layers), count(self.ffn)))
    }

    /// Sets apart the layers at the end of a file that draft tokens. Folders do not count them among the others.
    pub fn without_drafting(mut self, settings: &Settings, key: Key) -> Result<Self> {
        let drafting = settings.whole_if(key, 0)?.unwrap_or(0);
        if !settings.is_hub() {
            if drafting >= self.layers {
                let what = format!("is {drafting}: less than the {} layers of the file is valid", self.layers);
                return Err(settings.refuse(key, what));
            }
            self.layers -= drafting;
        }
        self.drafting_layers = drafting;
        Ok(self)
    }

    /// The blocks of a layer.
    pub fn blocks_of(&self, layer: usize) -> Blocks {
        self.blocks.get(layer).copied().unwrap_or(Blocks::USUAL)
    }

    /// Gives these layers states instead of attention.
    pub fn with_recurrence(mut self, recurrence: Recurrence, layers: &[bool]) -> Self {
        self.recurrence = layers.contains(&true).then_some(recurrence);
        for (blocks, is_recurrent) in self.blocks.iter_mut().zip(layers) {
            (blocks.attention, blocks.recurrence) = (!is_recurrent, *is_recurrent);
        }
        self
    }

    /// The heads of a layer's keys and values.
    pub fn keys_of(&self, layer: usize) -> KeyHeads {
        self.window_keys.filter(|_| self.is_windowed(layer)).unwrap_or(self.keys)
    }

    /// The heads of a layer's keys and values that this rank has.
    pub fn own_keys_of(&self, layer: usize) -> KeyHeads {
        let own = self.own_heads(layer);
        KeyHeads { count: own.end - own.start, ..self.keys_of(layer) }
    }

    /// Neurons of a layer's feed-forward block.
    pub fn ffn_of(&self, layer: usize) -> i64 {
        self.layer_ffns.as_ref().and_then(|all| all.get(layer).copied()).unwrap_or(self.ffn)
    }

    /// The layer whose keys and values a layer reads.
    pub fn source_of(&self, layer: usize) -> usize {
        let own = usize::try_from(self.layers - self.sharing_layers).unwrap_or(0);
        match layer < own {
            true => layer,
            false => (0..own).rfind(|i| self.is_windowed(*i) == self.is_windowed(layer)).unwrap_or(layer),
        }
    }

    /// Whether keys and values are kept for this layer.
    pub fn has_rows(&self, layer: usize) -> bool {
        self.blocks_of(layer).attention && self.source_of(layer) == layer
    }

    /// Whether this layer rotates queries and keys.
    pub fn is_rotated(&self, layer: usize) -> bool {
        self.rotated.as_ref().is_none_or(|layers| layers.get(layer).copied().unwrap_or(true))
    }

    /// The tokens of a chunk, if layers are divided into chunks.
    pub fn chunk(&self) -> Option<usize> {
        let window = self.window.as_ref().filter(|window| window.is_chunk);
        window.map(|window| usize::try_from(window.keys).unwrap_or(0))
    }

    /// Which layers have a window.
    pub fn windowed_layers(&self) -> Vec<bool> {
        (0..usize::try_from(self.layers).unwrap_or(0)).map(|layer| self.is_windowed(layer)).collect()
    }

    /// Whether this layer has a window.
    pub fn is_windowed(&self, layer: usize) -> bool {
        self.window.as_ref().is_some_and(|window| window.layers.get(layer).copied().unwrap_or(false))
    }
}

/// Refuses heads of queries that do not divide evenly among those of keys.
pub fn check_heads(settings: &Settings, heads: i64, keys: KeyHeads) -> Result<()> {
    match heads % keys.count {
        0 => Ok(()),
        _ => Err(settings.refuse(KV_HEADS, format!("is {}: a divisor of the {heads} heads is valid", keys.count))),
    }
}

/// A list of true and false, or of 1 and 0, with an entry for each layer or more; `None` for another value.
pub fn flags_of_layers(value: &serde_json::Value, layers: i64) -> Option<Vec<bool>> {
    let flag = |value: &serde_json::Value| value.as_bool().or(value.as_i64().map(|n| n != 0));
    let listed = value.as_array()?.get(..usize::try_from(layers).unwrap_or(0))?;
    listed.iter().map(flag).collect()
}
