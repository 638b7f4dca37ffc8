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
mod session;
mod shape;

use crate::activity::Activity;
use crate::package::Package;
use crate::placement::{Outline, Placement};
use crate::tokenizer::Tokenizer;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{Adapter, DeviceMap, HubNames, Loaded, Weights};
use crate::{Error, Result};
pub use cost::Cost;
pub use session::Session;

use cache::Cache;
use network::{Logits, Network, Wanted};
use shape::{Activation, Shape};
use std::fmt;
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

    /// The type that matrices are converted to when they are loaded, as Q8_0: a float, or blocks of weights. Quantised ones are converted too.
    /// Where its blocks do not divide a row, that matrix stays as it is.
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
    /// results change by as much as the thresholds allow. With [`Tested::Positive`](crate::Tested::Positive) they do not change. The model's down projections
    /// have to be transposed (`tensorlib transpose-down`).
    #[must_use]
    pub fn with_activity(mut self, activity: Activity) -> Self {
        self.activity = Some(Arc::new(activity));
        self
    }

    /// What [`DecoderOptions::with_activity`] was given.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_deref()
    }

    fn load(&self, package: Package, shape: Shape, names: HubNames, devices: &DeviceMap) -> Result<(Weights, Network)> {
        let context = match self.context {
            0 => usize::try_from(shape.context).unwrap_or(0).min(4096),
            n => n,
        };
        let trained = shape.rope.reach(shape.context);
        if context as i64 > trained {
            package.warnings.add(format!(
                "a context of {context} tokens: the model was trained for {trained}, and later ones may make no sense"
            ));
        }
        let activity = self.activity.as_deref();
        if let Some(activity) = activity {
            let (layers, neurons) = shape.neurons()?;
            activity.check(package.settings.architecture(), layers, neurons)?;
        }
        let (adapters, warnings) = (self.adapters.iter(), package.warnings.clone());
        let adapters = adapters
            .map(|(path, scale)| Adapter::open(path, *scale, &package.settings, &names, devices))
            .collect::<Result<_>>()?;
        let weights = Weights::new(package.files, names, devices.clone(), self.stored_as)?.with_adapters(adapters);
        let network = Network::load(&weights, shape, context, self.exact, activity)?;
        weights.finish(&warnings)?;
        Ok((weights, network))
    }
}

/// A language model. It never changes: any number of sessions, in any threads, may use it.
///
/// A `Decoder` is a handle: a clone shares the weights, which are freed with the last clone and the last session.
#[derive(Clone)]
pub struct Decoder(Arc<Opened>);

/// What the handles of a model share.
struct Opened {
    architecture: String,
    network: Network,
    cost: Cost,
    weight_memory: WeightMemory,
    tokenizer: Tokenizer,
    devices: DeviceMap,
    expert_slots: usize,
    /// Whether an activity says which neurons are computed.
    is_sparse: bool,
    warnings: Vec<String>,
    backend: Backend,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Decoder");
        all.field("architecture", &self.architecture()).field("vocabulary", &self.vocabulary());
        all.field("context", &self.context()).field("backend", self.backend()).finish_non_exhaustive()
    }
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
    /// Nobody may change the file while the decoder, a clone or a session of it exists.
    pub unsafe fn open_mapped(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::from_package(unsafe { Package::open_mapped(path.as_ref())? }, backend, options)
    }

    fn from_package(package: Package, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        let (shape, names) = architectures::read(&package.settings)?;
        let tokenizer = package.tokenizer()?;
        let devices = DeviceMap::new(backend, &options.placement);
        let architecture = package.settings.architecture().to_string();
        let warnings = package.warnings.clone();
        let (weights, network) = options.load(package, shape, names, &devices)?;
        let cost = Cost::new(&weights.loaded(), &network.shape, network.is_tied());
        let weight_memory = WeightMemory::new(weights.loaded(), weights.contexts(), backend);
        let (expert_slots, backend) = (options.expert_slots, backend.clone());
        let (is_sparse, warnings) = (options.activity.is_some(), warnings.list());
        let opened = Opened {
            architecture,
            network,
            cost,
            weight_memory,
            tokenizer,
            devices,
            expert_slots,
            is_sparse,
            warnings,
            backend,
        };
        Ok(Decoder(Arc::new(opened)))
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
        let devices = DeviceMap::new(backend, &options.placement).outline();
        let warnings = package.warnings.clone();
        let (weights, network) = options.load(package, shape, names, &devices)?;
        let mut cache = Cache::new(&network.shape, network.context as i64, cache, &devices)?;
        // A full prompt at the end of the context takes the most.
        let tokens = vec![0; BATCH.min(network.context)];
        cache.set_used((network.context - tokens.len()) as i64);
        let ctx = Context::on(backend);
        let experts = network.expert_cache(options.expert_slots, &devices)?;
        let mut runs = vec![network.logits(&ctx, (&cache, Some(&experts)), &tokens, Wanted::default())?];
        if network.has_neurons() {
            // Of these one token reads other packed copies than a prompt does.
            cache.set_used(network.context as i64 - 1);
            runs.push(network.logits(&ctx, (&cache, Some(&experts)), &tokens[..1], Wanted::default())?);
        }
        let graph = graph_of(&runs)?;
        let tensors = weights.loaded().iter().map(Loaded::placed).collect();
        Ok(Outline { tensors, bytes: graph.plan_bytes(backend)?, warnings: warnings.list() })
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.0.tokenizer
    }

    /// The name of the model's architecture, as its files say it.
    pub fn architecture(&self) -> &str {
        &self.0.architecture
    }

    /// What is odd about the model's files and stops nothing, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Layers, and neurons of each one's feed-forward part, of a model that can be observed.
    pub(crate) fn neurons(&self) -> Result<(usize, usize)> {
        if self.0.is_sparse {
            let message = "the model was opened with an activity, by which neurons are left out";
            return Err(Error::unsupported(message).with_hint("open it without one"));
        }
        self.0.network.shape.neurons()
    }

    /// Whether gates go through a ReLU.
    pub(crate) fn has_relu(&self) -> bool {
        self.0.network.shape.activation == Activation::Relu
    }

    /// How many tokens there are, and logits.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.0.network.vocabulary).unwrap_or(0)
    }

    /// The most tokens of a session.
    pub fn context(&self) -> usize {
        self.0.network.context
    }

    /// Where it computes.
    pub fn backend(&self) -> &Backend {
        &self.0.backend
    }

    /// What a token costs.
    pub fn cost(&self) -> &Cost {
        &self.0.cost
    }

    /// What the weights take now; less once something was computed, as originals of packed weights are given back.
    pub fn memory(&self) -> Memory {
        self.0.weight_memory.memory()
    }

    /// A session without tokens, which keeps the model alive: it may outlive this handle and go to another thread. It has room for keys and values of [`Decoder::context`] tokens of this type: F16, Q8_0 or F32.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for another type, [`ErrorKind::Unsupported`](crate::ErrorKind) for one whose blocks do not divide a head,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn session(&self, cache: DType) -> Result<Session> {
        let cache = Cache::new(&self.0.network.shape, self.0.network.context as i64, cache, &self.0.devices)?;
        let experts = self.0.network.expert_cache(self.0.expert_slots, &self.0.devices)?;
        Ok(Session::new(self.clone(), cache, experts))
    }
}

fn graph_of(runs: &[Logits]) -> Result<Graph> {
    let beside =
        |run: &'_ Logits| run.chosen.iter().chain(&run.neurons).map(|(_, tensor)| tensor.clone()).collect::<Vec<_>>();
    let outputs: Vec<_> = runs.iter().flat_map(|run| std::iter::once(run.logits.clone()).chain(beside(run))).collect();
    Ok(Graph::new(&outputs.iter().collect::<Vec<_>>())?)
}
