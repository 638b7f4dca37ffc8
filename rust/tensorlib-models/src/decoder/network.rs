//! A language model's weights, and the graph of its logits.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::experts::ExpertFfn;
use super::layer::Layer;
use super::run::Run;
use super::shape::Shape;
use crate::activity::{Activity, Tested};
use crate::weights::{DeviceMap, Weights};
use crate::{Error, Result};
use std::cell::RefCell;
use tensorlib::nn::{Embedding, Linear, Module, Pass, RmsNorm};
use tensorlib::{f16, Context, ScaleOptions, Tensor};

/// The weights of a model and the settings that its graph depends on.
pub struct Network {
    pub shape: Shape,
    embeddings: Embedding,
    layers: Vec<Layer>,
    norm: RmsNorm,
    output: Linear,
    /// Whether the matrix of `output` is that of the embeddings.
    tied: bool,
    /// The number of tokens in the vocabulary.
    pub vocabulary: i64,
    /// The most tokens of a session.
    pub context: usize,
}

impl Network {
    /// Loads a model's weights, for sessions of up to `context` tokens.
    pub fn load(weights: &Weights, shape: Shape, context: usize, activity: Option<&Activity>) -> Result<Self> {
        let vocabulary = weights.vocabulary(shape.width)?;
        let embeddings = weights.embedding("token_embd", shape.width, vocabulary)?;
        if let Some(said) = shape.stated.vocabulary.filter(|said| weights.is_hub() && *said != vocabulary) {
            let name = weights.called("token_embd.weight");
            return Err(Error::format(format!("tensor '{name}' has {vocabulary} rows, and vocab_size is {said}")));
        }
        // A folder whose embeddings make the logits may also contain the matrix that they were tied to.
        let has_output = weights.shape_of("output.weight").is_some();
        if shape.stated.tied == Some(false) && !has_output {
            let name = weights.called("output.weight");
            return Err(Error::format(format!("tensor '{name}' is missing, and tie_word_embeddings is false")));
        }
        let tied = shape.stated.tied.unwrap_or(!has_output);
        let output = match tied {
            // Only the matrix is tied.
            true => Linear {
                bias: weights.find("output.bias", &[vocabulary])?,
                ..weights.matrix(embeddings.weight.clone())
            },
            false => weights.linear("output", shape.width, vocabulary)?,
        };
        let factors = shape.rope.factors(weights, context as i64)?;
        let window_factors = match &shape.window_rope {
            Some(rope) => rope.factors(weights, context as i64)?,
            None => factors.clone(),
        };
        let layer = |i: usize| {
            let factors = if shape.is_windowed(i) { &window_factors } else { &factors };
            Layer::load(weights, &shape, i, factors.clone(), activity)
        };
        let layers = (0..usize::try_from(shape.layers).unwrap_or(0)).map(layer).collect::<Result<_>>()?;
        let norm = weights.rms_norm("output_norm", shape.width, shape.eps)?;
        Ok(Network { shape, embeddings, layers, norm, output, tied, vocabulary, context })
    }

    /// Whether a layer has a transposed down projection.
    pub fn has_neurons(&self) -> bool {
        self.layers.iter().any(Layer::has_neurons)
    }

    /// Whether the embeddings make the logits.
    pub fn is_tied(&self) -> bool {
        self.tied
    }

    /// Appends the nodes that compute the logits after the last token, or after all tokens.
    pub fn logits(
        &self,
        ctx: &Context,
        (cache, experts): (&Cache, Option<&ExpertCache>),
        tokens: &[u32],
        wanted: Wanted,
    ) -> Result<Logits> {
        let (shape, first, n) = (&self.shape, cache.used(), tokens.len() as i64);
        let ids: Vec<i32> = tokens.iter().map(|id| *id as i32).collect();
        let positions: Vec<i32> = (first..first + n).map(|position| position as i32).collect();
        let keys = cache.keys_with(n);
        let run = Run {
            shape,
            cache,
            positions: ctx.tensor_of([n], &positions)?,
            mask: mask(ctx, first, n, keys, i64::MAX)?,
            window_mask: shape.window.as_ref().map(|window| mask(ctx, first, n, keys, window.keys)).transpose()?,
            tokens: n,
            keys,
            pass: Pass::evaluation(),
            experts,
            chosen: RefCell::default(),
            observed: wanted.observed,
            neurons: RefCell::default(),
        };
        let mut x = self.embeddings.forward(&ctx.tensor_of([n], &ids)?, &run.pass)?;
        if shape.embedding_scale != 1.0 {
            x = x.scale(shape.embedding_scale, ScaleOptions::new())?;
        }
        for layer in &self.layers {
            x = layer.forward(&run, &x)?;
        }
        if !wanted.all {
            x = x.narrow(1, n - 1, 1)?;
        }
        x = self.norm.forward(&x, &run.pass)?;
        let mut logits = self.output.forward(&x, &run.pass)?;
        if shape.final_softcap > 0.0 {
            let small = logits.scale(1.0 / shape.final_softcap, ScaleOptions::new())?.tanh()?;
            logits = small.scale(shape.final_softcap, ScaleOptions::new())?;
        }
        Ok(Logits { logits, chosen: run.chosen.into_inner(), neurons: run.neurons.into_inner() })
    }

    /// Makes a cache of experts with `slots` slots per layer, for experts that do not lie on the first device.
    pub fn expert_cache(&self, slots: usize, devices: &DeviceMap) -> Result<ExpertCache> {
        let layers: Vec<_> = self.layers.iter().map(|layer| layer.experts().map(ExpertFfn::matrices)).collect();
        ExpertCache::new(&layers, slots, &self.shape, devices)
    }

    /// Call after a run: a layer used these experts.
    pub fn used(&self, cache: &mut ExpertCache, layer: usize, experts: &[i32]) -> Result<()> {
        match self.layers[layer].experts() {
            Some(ffn) => cache.used(layer, ffn.matrices(), experts),
            None => Ok(()),
        }
    }
}

/// What a run has to compute.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    /// Logits after each token, not only after the last.
    pub all: bool,
    /// The value to observe of each layer's neurons.
    pub observed: Option<Tested>,
}

/// The nodes that a run computes.
pub struct Logits {
    pub logits: Tensor,
    /// The experts that tokens use, for layers with cached experts.
    pub chosen: Vec<(usize, Tensor)>,
    /// The observed values of neurons for each layer, [neurons, tokens].
    pub neurons: Vec<(usize, Tensor)>,
}

/// 0 where a token sees a key, -infinity elsewhere: a token sees the last `window` keys up to its own.
fn mask(ctx: &Context, first: i64, tokens: i64, keys: i64, window: i64) -> Result<Tensor> {
    let sees = |token: i64, key: i64| key <= first + token && first + token - key < window;
    let of = |token| (0..keys).map(move |key| if sees(token, key) { f16::ZERO } else { f16::NEG_INFINITY });
    let mask: Vec<f16> = (0..tokens).flat_map(of).collect();
    Ok(ctx.tensor_of([keys, tokens], &mask)?)
}
