//! A language model's weights, and the graph of its logits.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::experts::ExpertFfn;
use super::layer::Layer;
use super::run::Run;
use super::shape::Shape;
use crate::activity::{Activity, Tested};
use crate::parts::{product, Linear, Norm, NormKind};
use crate::weights::{DeviceMap, Weights};
use crate::{Error, Result};
use std::cell::RefCell;
use tensorlib::{f16, Context, ScaleOptions, Tensor};

/// The weights of a model and the settings that its graph depends on.
pub struct Network {
    pub shape: Shape,
    embeddings: Tensor,
    layers: Vec<Layer>,
    norm: Norm,
    /// `None` if the embeddings make the logits.
    output: Option<Linear>,
    /// The number of tokens in the vocabulary.
    pub vocabulary: i64,
    /// The most tokens of a session.
    pub context: usize,
    exact: bool,
}

impl Network {
    /// Loads a model's weights, for sessions of up to `context` tokens.
    pub fn load(
        weights: &Weights,
        shape: Shape,
        context: usize,
        exact: bool,
        activity: Option<&Activity>,
    ) -> Result<Self> {
        let vocabulary = weights.vocabulary(shape.width)?;
        let embeddings = weights.get("token_embd.weight", &[shape.width, vocabulary])?;
        if let Some(said) = shape.stated.vocabulary.filter(|said| weights.is_hub() && *said != vocabulary) {
            let name = weights.called("token_embd.weight");
            return Err(Error::format(format!("tensor '{name}' has {vocabulary} rows, and vocab_size is {said}")));
        }
        // A folder whose embeddings make the logits may also contain the matrix that they were tied to.
        let output = match shape.stated.tied {
            Some(true) => None,
            Some(false) => Some(weights.shape_of("output.weight").ok_or_else(|| {
                let name = weights.called("output.weight");
                Error::format(format!("tensor '{name}' is missing, and tie_word_embeddings is false"))
            })?),
            None => weights.shape_of("output.weight"),
        };
        let output = output.map(|_| Linear::load(weights, "output", shape.width, vocabulary)).transpose()?;
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
        let norm = Norm::load(weights, "output_norm", shape.width, NormKind::Rms, shape.eps)?;
        Ok(Network { shape, embeddings, layers, norm, output, vocabulary, context, exact })
    }

    /// Whether a layer has a transposed down projection.
    pub fn has_neurons(&self) -> bool {
        self.layers.iter().any(Layer::has_neurons)
    }

    /// Whether the embeddings make the logits.
    pub fn is_tied(&self) -> bool {
        self.output.is_none()
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
            ctx,
            shape,
            cache,
            positions: ctx.tensor_of([n], &positions)?,
            mask: mask(ctx, first, n, keys, i64::MAX)?,
            window_mask: shape.window.as_ref().map(|window| mask(ctx, first, n, keys, window.keys)).transpose()?,
            tokens: n,
            keys,
            exact: self.exact,
            experts,
            chosen: RefCell::default(),
            observed: wanted.observed,
            neurons: RefCell::default(),
        };
        let mut x = ctx.get_rows(&self.embeddings, &ctx.tensor_of([n], &ids)?)?;
        if shape.embedding_scale != 1.0 {
            x = ctx.scale(&x, shape.embedding_scale, ScaleOptions::new())?;
        }
        for layer in &self.layers {
            x = layer.forward(&run, &x)?;
        }
        if !wanted.all {
            x = ctx.narrow(&x, 1, n - 1, 1)?;
        }
        x = self.norm.forward(ctx, &x)?;
        let mut logits = match &self.output {
            Some(output) => output.forward(ctx, &x, self.exact)?,
            None => product(ctx, &self.embeddings, &x, self.exact)?,
        };
        if shape.final_softcap > 0.0 {
            let small = ctx.tanh(&ctx.scale(&logits, 1.0 / shape.final_softcap, ScaleOptions::new())?)?;
            logits = ctx.scale(&small, shape.final_softcap, ScaleOptions::new())?;
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
