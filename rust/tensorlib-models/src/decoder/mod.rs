//! Language models: the logits of the next token.

mod architectures;
mod cache;
mod cost;
mod expert_cache;
mod experts;
mod keys;
mod layer;
mod network;
mod neurons;
mod rope;
mod run;
mod shape;

use crate::activity::{Activity, Tested};
use crate::originals::{Memory, Originals};
use crate::package::Package;
use crate::placement::{Outline, Placement};
use crate::tokenizer::Tokenizer;
use crate::weights::{Adapter, Home, HubNames, Loaded, Weights};
use crate::{Error, Result};
pub use cost::Cost;

use cache::Cache;
use expert_cache::ExpertCache;
use network::{Logits, Network, Wanted};
use shape::{Activation, Shape};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tensorlib::{Backend, Context, DType, Graph};

/// Tokens of a prompt that are computed together.
pub const BATCH: usize = 512;

/// How a decoder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct DecoderOptions {
    stored_as: Option<DType>,
    exact: bool,
    context: usize,
    adapters: Vec<(PathBuf, f64)>,
    placement: Placement,
    expert_slots: usize,
    activity: Option<Arc<Activity>>,
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

    /// Which device of a joined backend each tensor lies on ([`fit`](crate::fit)); all on the first one where nothing is said. A
    /// layer's keys and values are where the matrix is that makes its keys.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// For each layer whose experts lie on another device, room on the first one for copies of so many, in each session: those that were
    /// used last. The others are computed where they lie. 0: none.
    #[must_use]
    pub fn expert_slots(mut self, slots: usize) -> Self {
        self.expert_slots = slots;
        self
    }

    /// Feed-forward neurons are left out of a token's sums where they stay below the activity's thresholds: fewer weights are read, and
    /// results change by as much as the thresholds allow. With [`Tested::Positive`] they do not change. The model's down projections
    /// have to be transposed (`tensorlib transpose-down`).
    #[must_use]
    pub fn activity(mut self, activity: Activity) -> Self {
        self.activity = Some(Arc::new(activity));
        self
    }

    /// What [`DecoderOptions::activity`] was given.
    pub fn its_activity(&self) -> Option<&Activity> {
        self.activity.as_deref()
    }

    fn load(&self, package: Package, shape: Shape, names: HubNames, home: &Home) -> Result<(Weights, Network)> {
        let context = match self.context {
            0 => usize::try_from(shape.context).unwrap_or(0).min(4096),
            n => n,
        };
        let activity = self.activity.as_deref();
        if let Some(activity) = activity {
            let (layers, neurons) = shape.neurons()?;
            activity.check(package.settings.architecture(), layers, neurons)?;
        }
        let adapters = self.adapters.iter();
        let adapters = adapters
            .map(|(path, scale)| Adapter::open(path, *scale, &package.settings, &names, home))
            .collect::<Result<_>>()?;
        let weights = Weights::new(package.files, names, home.clone(), self.stored_as)?.with_adapters(adapters);
        let network = Network::load(&weights, shape, context, self.exact, activity)?;
        weights.finish()?;
        Ok((weights, network))
    }
}

/// A language model. It never changes: any number of sessions, in any threads, may use it.
pub struct Decoder {
    architecture: String,
    network: Network,
    cost: Cost,
    originals: Originals,
    tokenizer: Tokenizer,
    home: Home,
    expert_slots: usize,
    /// Whether an activity says which neurons are computed.
    is_sparse: bool,
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
        let home = Home::new(backend, &options.placement);
        let architecture = package.settings.architecture().to_string();
        let (weights, network) = options.load(package, shape, names, &home)?;
        let cost = Cost::new(&weights.loaded(), &network.shape, network.is_tied());
        let originals = Originals::new(weights.loaded(), weights.contexts(), backend);
        let (expert_slots, backend) = (options.expert_slots, backend.clone());
        let is_sparse = options.activity.is_some();
        Ok(Decoder { architecture, network, cost, originals, tokenizer, home, expert_slots, is_sparse, backend })
    }

    /// What a model would take of each of the backend's devices, with a session whose cache is of this type: nothing is loaded for it.
    ///
    /// # Errors
    /// As [`Decoder::open`].
    ///
    /// # Safety
    /// As [`Decoder::open_mapped`], until it returns.
    pub unsafe fn outline(
        path: impl AsRef<Path>,
        backend: &Backend,
        options: &DecoderOptions,
        cache: DType,
    ) -> Result<Outline> {
        // SAFETY: as the caller promises.
        let package = unsafe { Package::open_mapped(path.as_ref())? };
        let (shape, names) = architectures::read(&package.settings)?;
        let home = Home::new(backend, &options.placement).outline();
        let (weights, network) = options.load(package, shape, names, &home)?;
        let mut cache = Cache::new(&network.shape, network.context as i64, cache, &home)?;
        // A full prompt at the end of the context takes the most.
        let tokens = vec![0; BATCH.min(network.context)];
        cache.set_used((network.context - tokens.len()) as i64);
        let ctx = Context::on(backend);
        let experts = network.expert_cache(options.expert_slots, &home)?;
        let mut runs = vec![network.logits(&ctx, (&cache, Some(&experts)), &tokens, Wanted::default())?];
        if network.has_neurons() {
            // Of these one token reads other packed copies than a prompt does.
            cache.set_used(network.context as i64 - 1);
            runs.push(network.logits(&ctx, (&cache, Some(&experts)), &tokens[..1], Wanted::default())?);
        }
        let graph = graph_of(&runs)?;
        let tensors = weights.loaded().iter().map(Loaded::placed).collect();
        Ok(Outline { tensors, bytes: graph.plan_bytes(backend)? })
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The name of the model's architecture, as its files say it.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// Layers, and neurons of each one's feed-forward part, of a model that can be observed.
    pub(crate) fn neurons(&self) -> Result<(usize, usize)> {
        if self.is_sparse {
            let message = "the model was opened with an activity, by which neurons are left out";
            return Err(Error::unsupported(message).with_hint("open it without one"));
        }
        self.network.shape.neurons()
    }

    /// Whether gates go through a ReLU.
    pub(crate) fn has_relu(&self) -> bool {
        self.network.shape.activation == Activation::Relu
    }

    /// How many tokens there are, and logits.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.network.vocabulary).unwrap_or(0)
    }

    /// The most tokens of a session.
    pub fn context(&self) -> usize {
        self.network.context
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
        let cache = Cache::new(&self.network.shape, self.network.context as i64, cache, &self.home)?;
        let experts = self.network.expert_cache(self.expert_slots, &self.home)?;
        Ok(Session { decoder: self, cache, experts, ctx: Context::on(&self.backend) })
    }
}

/// A text in the making: the keys and values of its tokens so far.
pub struct Session<'a> {
    decoder: &'a Decoder,
    cache: Cache,
    experts: ExpertCache,
    ctx: Context,
}

fn graph_of(runs: &[Logits]) -> Result<Graph> {
    let beside =
        |run: &'_ Logits| run.chosen.iter().chain(&run.neurons).map(|(_, tensor)| tensor.clone()).collect::<Vec<_>>();
    let outputs: Vec<_> = runs.iter().flat_map(|run| std::iter::once(run.logits.clone()).chain(beside(run))).collect();
    Ok(Graph::new(&outputs.iter().collect::<Vec<_>>())?)
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

    /// Bytes of copies of experts on the first device; how often an expert was among them when it was used, and how often not.
    pub fn expert_cache(&self) -> (usize, u64, u64) {
        let (hits, misses) = self.experts.hits();
        (self.experts.nbytes(), hits, misses)
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
            logits = self.compute(part, Wanted::default(), &mut |_, _| ())?;
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
            logits.extend(self.compute(part, Wanted { all: true, observed: None }, &mut |_, _| ())?);
        }
        Ok(logits)
    }

    /// Takes these tokens in, and calls take(layer, of each token what its neurons are) for each layer.
    pub(crate) fn feed_observed(
        &mut self,
        tokens: &[u32],
        tested: Tested,
        take: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<()> {
        self.check(tokens)?;
        let wanted = Wanted { all: false, observed: Some(tested) };
        tokens.chunks(BATCH).try_for_each(|part| self.compute(part, wanted, take).map(drop))
    }

    /// Whether [`Session::feed`] would take these.
    pub(crate) fn check(&self, tokens: &[u32]) -> Result<()> {
        let (n, used, most) = (tokens.len(), self.len(), self.decoder.network.context);
        if n == 0 {
            return Err(Error::invalid("no tokens: at least one is valid"));
        }
        if let Some(token) = tokens.iter().find(|token| i64::from(**token) >= self.decoder.network.vocabulary) {
            let last = self.decoder.network.vocabulary - 1;
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

    fn compute(&mut self, tokens: &[u32], wanted: Wanted, observe: &mut dyn FnMut(usize, &[f32])) -> Result<Vec<f32>> {
        self.ctx.reset()?;
        let network = &self.decoder.network;
        let run = network.logits(&self.ctx, (&self.cache, Some(&self.experts)), tokens, wanted)?;
        graph_of(std::slice::from_ref(&run))?.compute(&self.decoder.backend)?;
        self.decoder.originals.give_back();
        let values = run.logits.to_vec::<f32>()?;
        for (layer, ids) in &run.chosen {
            network.used(&mut self.experts, *layer, &ids.to_vec::<i32>()?)?;
        }
        for (layer, neurons) in &run.neurons {
            observe(*layer, &neurons.to_vec::<f32>()?);
        }
        self.cache.set_used(self.cache.used() + tokens.len() as i64);
        Ok(values)
    }
}
