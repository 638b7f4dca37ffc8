//! A language model's weights, and the graph of its logits.

use super::altup::Streams;
use super::attend::{Keys, Pages};
use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::experts::ExpertFfn;
use super::layer::{scaled, Layer};
use super::layer_inputs::LayerInputs;
use super::pool::Pool;
use super::prefix_tree::PAGE;
use super::run::Run;
use super::shape::{Shape, Stated};
use super::state_slots::RunStates;
use super::states::States;
use crate::activity::{Activity, Tested};
use crate::norm::{normed, Norm};
use crate::weights::{DeviceMap, TensorPart, Weights};
use crate::{Error, Result};
use std::cell::RefCell;
use std::ops::Range;
use tensorlib::nn::{Embedding, Linear, Module, Pass};
use tensorlib::{Context, DType, Group, ScaleOptions, Tensor};

/// What a model computes after a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Results {
    /// Logits of the vocabulary.
    #[default]
    Vocabulary,
    /// Logits of the head's labels; of the vocabulary if the model has no head.
    Head,
    /// The vector from which logits would be computed.
    Vectors,
}

/// The matrix of a head with a row for each label.
const HEAD: &str = "cls.output.weight";

/// The weights of a model and the settings that its graph depends on.
pub struct Network {
    pub shape: Shape,
    embeddings: Embedding,
    embedding_norm: Option<Norm>,
    layer_inputs: Option<LayerInputs>,
    streams: Option<Streams>,
    layers: Vec<Layer>,
    norm: Norm,
    /// The product that makes logits; without it, results are the vectors before it.
    output: Option<Linear>,
    /// Whether the matrix of `output` is that of the embeddings.
    tied: bool,
    /// The number of tokens in the vocabulary.
    pub vocabulary: i64,
    /// The number of results after a token: the vocabulary's size, that of a head, or the width.
    pub logits: i64,
    has_head: bool,
    /// The most tokens of a session.
    pub context: usize,
    /// The group over whose ranks the model is divided, if it is.
    group: Option<Group>,
    /// The tokens whose rows of the embeddings, and of the product that makes logits, each rank has.
    tokens: Option<Vec<Range<i64>>>,
}

impl Network {
    /// Loads a model's weights, for sessions of up to `context` tokens. `group`: the one of the shape's division.
    pub fn load(
        weights: &Weights,
        shape: Shape,
        context: usize,
        (activity, group): (Option<&Activity>, Option<Group>),
        results: Results,
    ) -> Result<Self> {
        let vocabulary = weights.vocabulary(shape.width)?;
        let tokens = shape.division.as_ref().filter(|division| vocabulary >= division.ranks as i64);
        let own = tokens.map(|division| division.rank);
        let tokens = tokens.map(|division| division.of_all_ranks(vocabulary)).transpose()?;
        let own_tokens = tokens.as_ref().zip(own).map_or(0..vocabulary, |(tokens, own)| tokens[own].clone());
        let own_rows = TensorPart::rows([own_tokens.clone()]);
        let embeddings = weights.get_part("token_embd.weight", &[shape.width, vocabulary], Some(&own_rows))?;
        let embeddings = Embedding::of(embeddings);
        if let Some(said) = shape.stated.vocabulary.filter(|said| weights.is_hub() && *said != vocabulary) {
            let name = weights.called("token_embd.weight");
            return Err(Error::format(format!("tensor '{name}' has {vocabulary} rows, and vocab_size is {said}")));
        }
        // A folder whose embeddings make the logits may also contain the matrix that they were tied to.
        let has_output = weights.shape_of("output.weight").is_some();
        let head =
            weights.shape_of(HEAD).filter(|_| results == Results::Head).map(|shape| shape.get(1).copied().unwrap_or(1));
        if shape.stated.tied == Some(false) && !has_output && results == Results::Vocabulary {
            let name = weights.called("output.weight");
            return Err(Error::format(format!("tensor '{name}' is missing, and tie_word_embeddings is false")));
        }
        let tied = shape.stated.tied.unwrap_or(!has_output);
        if results == Results::Vectors {
            weights.leave("output.weight");
        }
        let output = match (head, tied) {
            _ if results == Results::Vectors => None,
            (Some(n), _) => Some(weights.linear("cls.output", shape.width, n)?),
            // Only the matrix is tied.
            (None, true) => Some(Linear {
                bias: weights.bias_part("output.bias", &[vocabulary], &own_rows)?,
                ..weights.matrix(embeddings.weight.clone())
            }),
            (None, false) => Some(weights.linear_part("output", shape.width, vocabulary, Some(&own_rows))?),
        };
        let norm_of = |name: &str| {
            let norm = Norm::load(weights, (shape.norm_kind, shape.eps), name, shape.width)?;
            Stated::check_bias(shape.stated.norm_bias, weights, &format!("{name}.bias")).map(|()| norm)
        };
        let embedding_norm = shape.embedding_norm.then(|| norm_of("token_embd_norm")).transpose()?;
        let layer_inputs = LayerInputs::load(weights, &shape, vocabulary)?;
        let streams = Streams::load(weights, &shape)?;
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
        for layer in shape.layers..shape.layers + shape.drafting_layers {
            weights.leave_layer(layer);
        }
        let norm = norm_of(shape.output_norm)?;
        let logits = match results {
            Results::Vectors => shape.width,
            Results::Vocabulary | Results::Head => head.unwrap_or(vocabulary),
        };
        let tied = tied && head.is_none() && results != Results::Vectors;
        Ok(Network {
            shape,
            embeddings,
            embedding_norm,
            layer_inputs,
            streams,
            layers,
            norm,
            output,
            tied,
            vocabulary,
            logits,
            has_head: head.is_some(),
            context,
            group,
            tokens,
        })
    }

    /// Whether a layer has a transposed down projection.
    pub fn has_neurons(&self) -> bool {
        self.layers.iter().any(Layer::has_neurons)
    }

    /// Whether a head makes the logits.
    pub fn has_head(&self) -> bool {
        self.has_head
    }

    /// Whether the embeddings make the logits.
    pub fn is_tied(&self) -> bool {
        self.tied
    }

    /// Appends the nodes that compute the logits after the last token, or after all tokens.
    pub fn logits(&self, ctx: &Context, kept: &Kept, tokens: &[u32], wanted: Wanted) -> Result<Logits> {
        let Kept { cache, states, experts } = *kept;
        let (first, n) = (cache.used(), tokens.len() as i64);
        let positions: Vec<i32> = (first..first + n).map(|position| position as i32).collect();
        let keys = Keys::of_cache(ctx, cache, n, self.shape.window.as_ref())?;
        let states = states.map(|states| states.run(tokens.len(), wanted.states)).transpose()?;
        let run = Run { experts: Some(experts), observed: wanted.observed, ..self.run(ctx, &positions, keys, states)? };
        let rows = if wanted.all { Rows::All } else { Rows::Last };
        ctx.within(|| self.logits_of(ctx, run, tokens, rows))
    }

    /// Appends the nodes that compute the logits after the last token of each part that wants them, in the order of the
    /// parts. `most`: the pages that a sequence may have.
    pub fn batch_logits(
        &self,
        ctx: &Context,
        (pool, states): (&Pool, Option<RunStates>),
        parts: &[Part],
        most: usize,
    ) -> Result<Logits> {
        let (mut tokens, mut positions, mut rows, mut wanted) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            for (i, token) in part.tokens.iter().enumerate() {
                let position = part.first + i;
                tokens.push(*token);
                positions.push(position as i32);
                rows.push((part.pages[position / PAGE] as usize * PAGE + position % PAGE) as i32);
            }
            if part.wants_logits {
                wanted.push(tokens.len() as i32 - 1);
            }
        }
        let n = tokens.len() as i64;
        let keys = Keys::Paged {
            pool,
            rows: ctx.tensor_of([n], &rows)?,
            pages: pages(ctx, parts, most, None)?,
            chunks: self.shape.chunk().map(|chunk| pages(ctx, parts, most, Some(chunk))).transpose()?,
        };
        // Where nobody wants logits, one token's are computed, as the output of a graph that stores keys and values.
        let rows = match wanted.is_empty() {
            true => Rows::Last,
            false => Rows::These(ctx.tensor_of([wanted.len() as i64], &wanted)?),
        };
        let run = self.run(ctx, &positions, keys, states)?;
        ctx.within(|| self.logits_of(ctx, run, &tokens, rows))
    }

    /// A run of tokens at these positions.
    fn run<'a>(
        &'a self,
        ctx: &Context,
        positions: &[i32],
        keys: Keys<'a>,
        states: Option<RunStates<'a>>,
    ) -> Result<Run<'a>> {
        let n = positions.len() as i64;
        let factors = self.shape.temperature.map(|temperature| {
            let of: Vec<f32> = positions.iter().map(|position| temperature.at(*position)).collect();
            ctx.tensor_of([1, 1, n], &of)
        });
        Ok(Run {
            shape: &self.shape,
            positions: ctx.tensor_of([n], positions)?,
            query_factors: factors.transpose()?,
            keys,
            shared: RefCell::default(),
            first_values: RefCell::default(),
            states,
            stored: RefCell::default(),
            tokens: n,
            pass: Pass::evaluation(),
            experts: None,
            group: self.group.as_ref(),
            chosen: RefCell::default(),
            observed: None,
            neurons: RefCell::default(),
        })
    }

    fn logits_of(&self, ctx: &Context, run: Run, tokens: &[u32], rows: Rows) -> Result<Logits> {
        let ids: Vec<i32> = tokens.iter().map(|id| *id as i32).collect();
        let ids = ctx.tensor_of([run.tokens], &ids)?;
        self.logits_of_ids(run, &ids, tokens, rows)
    }

    /// Appends the nodes that compute the logits after each token of sequences of one length, whose tokens are the
    /// columns of `ids`: [vocabulary, tokens of all sequences]. Nothing is cached.
    pub fn sequence_logits(&self, ids: &Tensor) -> Result<Tensor> {
        let (ctx, shape) = (ids.context(), ids.shape());
        let (n, count) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
        let positions: Vec<i32> = (0..n * count).map(|token| (token % n) as i32).collect();
        let keys = Keys::of_sequences(ctx, n, count, self.shape.window.as_ref())?;
        let run = self.run(ctx, &positions, keys, None)?;
        Ok(self.logits_of_ids(run, &ids.reshape([n * count])?, &[], Rows::All)?.logits)
    }

    /// `tokens`: what `ids` holds, for models whose layers get vectors of tokens.
    fn logits_of_ids(&self, run: Run, ids: &Tensor, tokens: &[u32], rows: Rows) -> Result<Logits> {
        let (shape, n) = (&self.shape, run.tokens);
        let mut x = scaled(self.embedded(&run, ids, tokens)?, shape.embedding_scale)?;
        x = normed(self.embedding_norm.as_ref(), &x, &run.pass)?;
        let inputs = self.layer_inputs.as_ref().map(|inputs| inputs.forward(&run, tokens, &x)).transpose()?;
        match &self.streams {
            Some(streams) => {
                let mut all = streams.divide(&x)?;
                for layer in &self.layers {
                    all = layer.forward_streams(&run, &all, inputs.as_ref())?;
                }
                x = streams.merge(&all)?;
            }
            None => {
                for layer in &self.layers {
                    x = layer.forward(&run, &x, inputs.as_ref())?;
                }
            }
        }
        match rows {
            Rows::All => {}
            Rows::Last => x = x.narrow(1, n - 1, 1)?,
            Rows::These(rows) => x = x.get_rows(&rows)?,
        }
        x = self.norm.forward(&x, &run.pass)?;
        let mut logits = match &self.output {
            Some(output) if self.has_head => output.forward(&x, &run.pass)?,
            Some(output) => self.of_all_tokens(output.forward(&x, &run.pass)?)?,
            None => x,
        };
        if self.output.is_some() && !self.has_head {
            logits = scaled(logits, shape.logit_scale)?;
        }
        if shape.final_softcap > 0.0 && self.output.is_some() {
            let small = logits.scale(1.0 / shape.final_softcap, ScaleOptions::new())?.tanh()?;
            logits = small.scale(shape.final_softcap, ScaleOptions::new())?;
        }
        let (chosen, neurons) = (run.chosen.into_inner(), run.neurons.into_inner());
        Ok(Logits { logits, chosen, neurons, stored: run.stored.into_inner() })
    }

    /// The embeddings of tokens, [width, tokens]. `ids`: the tokens as a tensor.
    fn embedded(&self, run: &Run, ids: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        let (Some(group), Some(of_ranks)) = (&self.group, &self.tokens) else {
            return Ok(self.embeddings.forward(ids, &run.pass)?);
        };
        let own = &of_ranks[group.rank()];
        let own_ids: Vec<i32> = tokens.iter().map(|id| i64::from(*id) - own.start).map(|id| id as i32).collect();
        let is_elsewhere = |id: &i32| !(0..own.end - own.start).contains(&i64::from(*id));
        let elsewhere: Vec<f32> = own_ids.iter().map(|id| f32::from(u8::from(is_elsewhere(id)))).collect();
        let own_ids: Vec<i32> = own_ids.into_iter().map(|id| if is_elsewhere(&id) { 0 } else { id }).collect();
        let ctx = ids.context();
        let rows = self.embeddings.forward(&ctx.tensor_of([run.tokens], &own_ids)?, &run.pass)?;
        Ok(rows.masked_fill(&ctx.tensor_of([1, run.tokens], &elsewhere)?, 0.0)?.all_sum(group)?)
    }

    /// The logits of all tokens from those of this rank's tokens.
    fn of_all_tokens(&self, own: Tensor) -> Result<Tensor> {
        let (Some(group), Some(of_ranks)) = (&self.group, &self.tokens) else { return Ok(own) };
        let count = |tokens: &Range<i64>| tokens.end - tokens.start;
        // The first ranks have one token more than the last ones, at most.
        let (most, n) = (count(&of_ranks[0]), own.shape().get(1).copied().unwrap_or(1));
        let own = match most - own.shape()[0] {
            0 => own,
            missing => Tensor::cat(&[&own, &own.context().zeros(DType::F32, [missing, n])?], 0)?,
        };
        let all = own.all_gather(0, group)?;
        if of_ranks.iter().all(|tokens| count(tokens) == most) {
            return Ok(all);
        }
        let parts = (0..).zip(of_ranks).map(|(rank, tokens)| all.narrow(0, rank * most, count(tokens)));
        Ok(Tensor::cat(&parts.collect::<tensorlib::Result<Vec<_>>>()?, 0)?)
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

/// The pages of the sequences of these parts, of which each has at most `most`, or of the chunks in
/// which the parts' tokens are. `chunk`: the tokens of a chunk.
fn pages(ctx: &Context, parts: &[Part], most: usize, chunk: Option<usize>) -> Result<Pages> {
    let chunk_pages = chunk.map_or(most, |chunk| (chunk / PAGE).min(most));
    let (mut pages, mut positions, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    let mut count = 0;
    for part in parts {
        let mut last = None;
        for position in part.first..part.first + part.tokens.len() {
            let (number, inside) = chunk.map_or((0, position), |chunk| (position / chunk, position % chunk));
            if last != Some(number) {
                // Tables of one size keep the graph's plan.
                let page = |i: usize| part.pages.get(number * chunk_pages + i).map_or(-1, |page| *page as i32);
                pages.extend((0..chunk_pages).map(page));
                (last, count) = (Some(number), count + 1);
            }
            positions.push(inside as i32);
            sequences.push(count as i32 - 1);
        }
    }
    let n = positions.len() as i64;
    Ok(Pages {
        pages: ctx.tensor_of([chunk_pages as i64, count], &pages)?,
        positions: ctx.tensor_of([n], &positions)?,
        sequences: ctx.tensor_of([n], &sequences)?,
    })
}

/// What a session keeps between runs.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    pub cache: &'a Cache,
    /// The states of recurrent layers, if there are such layers.
    pub states: Option<&'a States>,
    pub experts: &'a ExpertCache,
}

/// The tokens of a run whose logits are computed.
enum Rows {
    All,
    Last,
    These(Tensor),
}

/// Some tokens of a sequence of a batch.
pub struct Part<'a> {
    pub tokens: &'a [u32],
    /// The position of the first token.
    pub first: usize,
    /// The sequence's pages, at least up to that of the last token.
    pub pages: &'a [u32],
    pub wants_logits: bool,
}

/// What a run has to compute.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Logits after each token, not only after the last.
    pub all: bool,
    /// The value to observe of each layer's neurons.
    pub observed: Option<Tested>,
    /// The number of last tokens after which the states of recurrent layers are kept.
    pub states: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { all: false, observed: None, states: 1 }
    }
}

/// The nodes that a run computes.
pub struct Logits {
    pub logits: Tensor,
    /// The experts that tokens use, for layers with cached experts.
    pub chosen: Vec<(usize, Tensor)>,
    /// The observed values of neurons for each layer, [neurons, tokens].
    pub neurons: Vec<(usize, Tensor)>,
    /// What stores the states of recurrent layers.
    pub stored: Vec<Tensor>,
}
