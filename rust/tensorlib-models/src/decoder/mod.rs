//! Language models: the logits of the next token.

mod architectures;
mod cache;
mod cost;
mod experts;
mod keys;
mod layer;
mod rope;
mod run;
mod shape;

use crate::adapter::Adapter;
use crate::originals::{Memory, Originals};
use crate::package::Package;
use crate::parts::{product, Linear, Norm, NormKind};
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use crate::{Error, Result};
pub use cost::Cost;

use cache::Cache;
use layer::Layer;
use run::Run;
use shape::Shape;
use std::path::{Path, PathBuf};
use tensorlib::{f16, Backend, Context, DType, Graph, ScaleOptions, Tensor};

/// Tokens of a prompt that are computed together.
pub const BATCH: usize = 512;

/// How a decoder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct DecoderOptions {
    stored_as: Option<DType>,
    exact: bool,
    context: usize,
    adapters: Vec<(PathBuf, f64)>,
}

impl DecoderOptions {
    /// The defaults: weights as they are stored, the model's own context, at most 4,096 tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// The type that matrices are converted to when they are loaded, as Q8_0.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// No product may round an activation to fewer bits, as those with quantised weights do.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// The most tokens of a session; 0: the model's own number, at most 4,096. Some models turn positions in another way
    /// beyond the context that they were trained for, so this is said when a model is opened.
    #[must_use]
    pub fn context(mut self, tokens: usize) -> Self {
        self.context = tokens;
        self
    }

    /// An adapter (LoRA) beside those before: a GGUF file for a GGUF model, for a folder the one that PEFT writes. What it
    /// adds to each matrix is multiplied by its own alpha / rank, and by `scale`.
    #[must_use]
    pub fn adapter(mut self, path: impl AsRef<Path>, scale: f64) -> Self {
        self.adapters.push((path.as_ref().to_path_buf(), scale));
        self
    }
}

/// A language model. It never changes: any number of sessions, in any threads, may use it.
pub struct Decoder {
    shape: Shape,
    embeddings: Tensor,
    layers: Vec<Layer>,
    norm: Norm,
    /// Nothing where it is the embeddings.
    output: Option<Linear>,
    vocabulary: i64,
    context: usize,
    cost: Cost,
    originals: Originals,
    tokenizer: Tokenizer,
    exact: bool,
    backend: Backend,
}

impl Decoder {
    /// Opens a GGUF file, which is read into memory, or a hub folder.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the file, setting or tensor and
    /// what was expected, [`ErrorKind::Unsupported`](crate::ErrorKind) naming what is known,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options)
    }

    /// [`Decoder::open`], but a GGUF file is mapped: its pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Decoder::open`].
    ///
    /// # Safety
    /// Nobody may change the file while the decoder exists.
    pub unsafe fn open_mapped(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::from_package(unsafe { Package::open_mapped(path.as_ref())? }, backend, options)
    }

    fn from_package(package: Package, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        let (shape, names) = architectures::read(&package.settings)?;
        let tokenizer = package.tokenizer()?;
        let context = match options.context {
            0 => usize::try_from(shape.context).unwrap_or(0).min(4096),
            n => n,
        };
        let adapters = options.adapters.iter();
        let adapters = adapters
            .map(|(path, scale)| Adapter::open(path, *scale, &package.settings, &names, backend))
            .collect::<Result<_>>()?;
        let weights = Weights::new(package.files, names, backend, options.stored_as)?.with_adapters(adapters);
        let vocabulary = weights.vocabulary(shape.width)?;
        let embeddings = weights.get("token_embd.weight", &[shape.width, vocabulary])?;
        let output = weights.shape_of("output.weight");
        let output = output.map(|_| Linear::load(&weights, "output", shape.width, vocabulary)).transpose()?;
        let factors = shape.rope.factors(&weights, context as i64)?;
        let window_factors = match &shape.window_rope {
            Some(rope) => rope.factors(&weights, context as i64)?,
            None => factors.clone(),
        };
        let layer = |i: usize| {
            let factors = if shape.is_windowed(i) { &window_factors } else { &factors };
            Layer::load(&weights, &shape, i, factors.clone())
        };
        let layers = (0..usize::try_from(shape.layers).unwrap_or(0)).map(layer).collect::<Result<_>>()?;
        let norm = Norm::load(&weights, "output_norm", shape.width, NormKind::Rms, shape.eps)?;
        weights.finish()?;
        let cost = Cost::new(&weights.loaded(), &shape, output.is_none());
        let originals = Originals::new(weights.loaded(), weights.context(), backend);
        let (exact, backend) = (options.exact, backend.clone());
        Ok(Decoder {
            shape,
            embeddings,
            layers,
            norm,
            output,
            vocabulary,
            context,
            cost,
            originals,
            tokenizer,
            exact,
            backend,
        })
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// How many tokens there are, and logits.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.vocabulary).unwrap_or(0)
    }

    /// The most tokens of a session.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Where it computes.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// What a token costs.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// What the weights take now; less once something was computed, as originals of packed weights are given back.
    pub fn memory(&self) -> Memory {
        self.originals.memory()
    }

    /// A session without tokens, with room for keys and values of [`Decoder::context`] tokens of this type: F16, Q8_0 or F32.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for a type whose blocks do not divide a head,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn session(&self, cache: DType) -> Result<Session<'_>> {
        let cache = Cache::new(&self.shape, self.context as i64, cache, &self.backend)?;
        Ok(Session { decoder: self, cache, ctx: Context::on(&self.backend) })
    }
}

/// A text in the making: the keys and values of its tokens so far.
pub struct Session<'a> {
    decoder: &'a Decoder,
    cache: Cache,
    ctx: Context,
}

impl<'a> Session<'a> {
    /// The model.
    pub fn decoder(&self) -> &'a Decoder {
        self.decoder
    }

    /// Tokens so far.
    pub fn len(&self) -> usize {
        usize::try_from(self.cache.used()).unwrap_or(0)
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of keys and values.
    pub fn cache_memory(&self) -> usize {
        self.cache.nbytes()
    }

    /// Forgets all tokens but the first `n`.
    pub fn truncate(&mut self, n: usize) {
        self.cache.set_used((n as i64).min(self.cache.used()));
    }

    /// Takes these tokens in; the logits of the token behind the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for no tokens, one that is none, or more than there is room for: nothing is
    /// taken in then; [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn feed(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        let mut logits = Vec::new();
        for part in tokens.chunks(BATCH) {
            logits = self.compute(part, false)?;
        }
        Ok(logits)
    }

    /// Takes these tokens in; the logits behind each of them, [`Decoder::vocabulary`] of each.
    ///
    /// # Errors
    /// As [`Session::feed`].
    pub fn feed_all(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        let mut logits = Vec::new();
        for part in tokens.chunks(BATCH) {
            logits.extend(self.compute(part, true)?);
        }
        Ok(logits)
    }

    /// Whether [`Session::feed`] would take these.
    pub(crate) fn check(&self, tokens: &[u32]) -> Result<()> {
        let (n, used, most) = (tokens.len(), self.len(), self.decoder.context);
        if n == 0 {
            return Err(Error::invalid("no tokens: at least one is valid"));
        }
        if let Some(token) = tokens.iter().find(|token| i64::from(**token) >= self.decoder.vocabulary) {
            let last = self.decoder.vocabulary - 1;
            return Err(Error::invalid(format!("token {token}: 0 to {last} are valid")));
        }
        if n > most - used.min(most) {
            let message = format!("{n} tokens behind {used}: the context has room for {most}");
            return Err(
                Error::invalid(message).with_hint("a larger context can be asked for, at the cost of its memory")
            );
        }
        Ok(())
    }

    fn compute(&mut self, tokens: &[u32], all: bool) -> Result<Vec<f32>> {
        self.ctx.reset()?;
        let logits = self.logits(tokens, all)?;
        Graph::new(&[&logits])?.compute(&self.decoder.backend)?;
        self.decoder.originals.give_back();
        let values = logits.to_vec::<f32>()?;
        self.cache.set_used(self.cache.used() + tokens.len() as i64);
        Ok(values)
    }

    /// The node of the logits behind the last token, or behind all of them.
    fn logits(&self, tokens: &[u32], all: bool) -> Result<Tensor> {
        let (model, ctx, first) = (self.decoder, &self.ctx, self.cache.used());
        let (shape, n) = (&model.shape, tokens.len() as i64);
        let ids: Vec<i32> = tokens.iter().map(|id| *id as i32).collect();
        let positions: Vec<i32> = (first..first + n).map(|position| position as i32).collect();
        let keys = self.cache.keys_with(n);
        let run = Run {
            ctx,
            shape,
            cache: &self.cache,
            positions: ctx.tensor_of([n], &positions)?,
            mask: self.mask(first, n, keys, i64::MAX)?,
            window_mask: shape.window.as_ref().map(|window| self.mask(first, n, keys, window.keys)).transpose()?,
            tokens: n,
            keys,
            exact: model.exact,
        };
        let mut x = ctx.get_rows(&model.embeddings, &ctx.tensor_of([n], &ids)?)?;
        if shape.embedding_scale != 1.0 {
            x = ctx.scale(&x, shape.embedding_scale, ScaleOptions::new())?;
        }
        for layer in &model.layers {
            x = layer.of(&run, &x)?;
        }
        if !all {
            x = ctx.narrow(&x, 1, n - 1, 1)?;
        }
        x = model.norm.of(ctx, &x)?;
        let mut logits = match &model.output {
            Some(output) => output.of(ctx, &x, model.exact)?,
            None => product(ctx, &model.embeddings, &x, model.exact)?,
        };
        if shape.final_softcap > 0.0 {
            let small = ctx.tanh(&ctx.scale(&logits, 1.0 / shape.final_softcap, ScaleOptions::new())?)?;
            logits = ctx.scale(&small, shape.final_softcap, ScaleOptions::new())?;
        }
        Ok(logits)
    }

    /// 0 where a token sees a key, -infinity elsewhere: keys up to its own, the last `window` of them.
    fn mask(&self, first: i64, tokens: i64, keys: i64, window: i64) -> Result<Tensor> {
        let sees = |token: i64, key: i64| key <= first + token && first + token - key < window;
        let of = |token| (0..keys).map(move |key| if sees(token, key) { f16::ZERO } else { f16::NEG_INFINITY });
        let mask: Vec<f16> = (0..tokens).flat_map(of).collect();
        Ok(self.ctx.tensor_of([keys, tokens], &mask)?)
    }
}
