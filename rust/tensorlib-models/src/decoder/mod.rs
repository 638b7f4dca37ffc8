//! Language models: the logits of the next token.

mod activation;
mod agreement;
mod altup;
mod architectures;
mod attend;
mod attention;
mod cache;
mod channel_mix;
mod convolution;
mod cost;
mod delta;
mod division;
mod expert_cache;
mod experts;
mod ffn;
mod fingerprint;
mod keys;
mod latent;
mod layer;
mod layer_inputs;
mod mamba;
mod network;
mod neurons;
mod options;
mod pool;
mod prefix_file;
mod prefix_store;
mod prefix_tree;
mod products;
mod rope;
mod run;
mod rwkv;
mod saved_file;
mod sequence_states;
mod sequences;
mod session;
mod session_file;
mod shape;
mod short_convolution;
mod state_slots;
mod states;
mod token_shift;
mod tuned;
mod written;

use crate::package::Package;
use crate::placement::Outline;
use crate::reranker;
use crate::tokenizer::Tokenizer;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{DeviceMap, Loaded};
use crate::{Error, Result};
pub(crate) use architectures::{gemma3, gemma3_keys, names};
pub use cost::Cost;
#[cfg(feature = "hub")]
pub(crate) use fingerprint::digits;
pub use options::DecoderOptions;
pub use prefix_store::PrefixStore;
pub(crate) use products::Product;
pub use sequences::{SequenceId, Sequences, SequencesOptions, Step};
pub use session::Session;
pub(crate) use shape::Shape as DecoderShape;
pub(crate) use tuned::TunedNetwork;
pub(crate) use written::plan;

use activation::Activation;
use cache::Cache;
use division::Division;
use network::{Kept, Logits, Network, Wanted};
use states::States;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tensorlib::{Backend, Context, DType, Graph};

/// How many tokens of a prompt are computed together. Blocks end at multiples of it, counted from the first token, so
/// that a token's block does not depend on where a prompt was divided there.
pub const PROMPT_BLOCK: usize = 512;

/// A language model. It never changes: any number of sessions may use it, in any threads.
///
/// A `Decoder` is a handle: clones share the weights, which are freed with the last clone and the last session.
#[derive(Clone)]
pub struct Decoder(Arc<Opened>);

/// The data that the handles of a model share.
struct Opened {
    architecture: String,
    network: Network,
    fingerprint: String,
    /// What computes the model, in words.
    computed: String,
    cost: Cost,
    weight_memory: WeightMemory,
    tokenizer: Tokenizer,
    /// The labels of the head that makes the logits.
    head_labels: Option<Vec<String>>,
    devices: DeviceMap,
    expert_slots: usize,
    /// Whether an activity decides which neurons are computed.
    is_sparse: bool,
    /// Whether graphs are batch-invariant.
    reproducible: bool,
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
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the file, setting or tensor
    /// and what was expected, [`ErrorKind::Unsupported`](crate::ErrorKind) naming what is supported,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options)
    }

    /// Opens a model as [`Decoder::open`] does, but maps a GGUF file: its pages are loaded when they are touched.
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

    pub(crate) fn from_package(package: Package, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        options.check(backend)?;
        let (shape, names) = architectures::read(&package.settings)?;
        let tokenizer = package.tokenizer()?;
        let devices = DeviceMap::new(backend, &options.placement);
        let architecture = package.settings.architecture().to_string();
        let warnings = package.warnings.clone();
        let settings = package.settings.clone();
        let (weights, network) = options.load(package, shape, names, &devices)?;
        let head_labels = match network.has_head() {
            true => Some(reranker::labels(&settings, usize::try_from(network.logits).unwrap_or(0))?),
            false => None,
        };
        let cost = Cost::new(&weights.loaded(), &network.shape, network.is_tied());
        let fingerprint = fingerprint::of(&architecture, &network, &weights)?;
        let computed = fingerprint::computed(options, backend, &weights);
        let weight_memory = WeightMemory::new(weights.loaded(), weights.contexts(), backend);
        let (expert_slots, backend) = (options.expert_slots, backend.clone());
        let (is_sparse, warnings) = (options.activity.is_some(), warnings.list());
        let opened = Opened {
            architecture,
            network,
            fingerprint,
            computed,
            cost,
            weight_memory,
            tokenizer,
            head_labels,
            devices,
            expert_slots,
            is_sparse,
            reproducible: options.reproducible,
            warnings,
            backend,
        };
        Ok(Decoder(Arc::new(opened)))
    }

    /// The memory that a model would take on each of the backend's devices, with a session whose cache has this type.
    /// Loads nothing.
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
        // A full prompt at the end of the context takes the most memory.
        let tokens = vec![0; PROMPT_BLOCK.min(network.context)];
        cache.set_used((network.context - tokens.len()) as i64);
        let experts = network.expert_cache(options.expert_slots, &devices)?;
        let states = States::new(&network.shape, &devices)?;
        // Nodes go into the youngest context of their operands, so this one is made last.
        let ctx = Context::on(backend);
        let states = states.as_ref();
        let kept = Kept { cache: &cache, states, experts: &experts };
        let mut runs = vec![network.logits(&ctx, &kept, &tokens, Wanted::default())?];
        if network.has_neurons() {
            // A single token reads other packed copies than a prompt does.
            cache.set_used(network.context as i64 - 1);
            let kept = Kept { cache: &cache, states, experts: &experts };
            runs.push(network.logits(&ctx, &kept, &tokens[..1], Wanted::default())?);
        }
        let graph = graph_of(&runs)?;
        let tensors = weights.loaded().iter().map(Loaded::placed).collect();
        Ok(Outline { tensors, bytes: graph.plan_bytes(backend)?, warnings: warnings.list() })
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.0.tokenizer
    }

    /// Fails if the model is divided over ranks, because `what` needs all of it.
    pub(crate) fn check_whole(&self, what: &str) -> Result<()> {
        match &self.0.network.shape.division {
            None => Ok(()),
            Some(Division { ranks, .. }) => {
                let message = format!("{what}: the model is divided over {ranks} ranks, and this one has a part of it");
                Err(Error::unsupported(message).with_hint("open it in one process"))
            }
        }
    }

    /// Whether both are handles of one model.
    pub(crate) fn is_same(&self, other: &Decoder) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The name of the model's architecture in its files.
    pub fn architecture(&self) -> &str {
        &self.0.architecture
    }

    /// Oddities of the model's files that are no errors, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// The number of layers, and of neurons in each feed-forward block; fails for models whose neurons cannot be
    /// observed.
    pub(crate) fn neurons(&self) -> Result<(usize, usize)> {
        self.check_whole("its neurons")?;
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

    /// The number of results after a token: [`Decoder::vocabulary`], a head's labels, or a vector's elements.
    pub(crate) fn n_logits(&self) -> usize {
        usize::try_from(self.0.network.logits).unwrap_or(0)
    }

    /// The labels of the head that makes the logits, if one does.
    pub(crate) fn head_labels(&self) -> Option<&[String]> {
        self.0.head_labels.as_deref()
    }

    /// The number of tokens in the vocabulary, which is the number of logits.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.0.network.vocabulary).unwrap_or(0)
    }

    /// The most tokens of a session.
    pub fn context(&self) -> usize {
        self.0.network.context
    }

    /// The backend that computes the model.
    pub fn backend(&self) -> &Backend {
        &self.0.backend
    }

    /// Lower bounds of the work per token.
    pub fn cost(&self) -> &Cost {
        &self.0.cost
    }

    /// The memory that the weights take now. It shrinks after computing, as packed copies replace the original weights.
    pub fn memory(&self) -> Memory {
        self.0.weight_memory.memory()
    }

    /// Makes an empty session, which keeps the model alive: it may outlive this handle and move to another thread. Its
    /// cache holds keys and values of [`Decoder::context`] tokens in this type: F16, Q8_0 or F32.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for another type, [`ErrorKind::Unsupported`](crate::ErrorKind) for a
    /// type whose blocks do not divide a head, [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn session(&self, cache: DType) -> Result<Session> {
        Session::new(self.clone(), cache)
    }

    /// Checks whether a sequence of `used` tokens can go on with these.
    fn check_tokens(&self, used: usize, tokens: &[u32]) -> Result<()> {
        let (n, most, vocabulary) = (tokens.len(), self.context(), self.vocabulary());
        if n == 0 {
            return Err(Error::invalid("no tokens: at least one is valid"));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            return Err(Error::invalid(format!("token {token}: 0 to {} are valid", vocabulary - 1)));
        }
        if n > most - used.min(most) {
            let message = format!("{n} tokens after {used}: the context has room for {most}");
            let hint = "a larger context can be asked for, at the cost of its memory";
            return Err(Error::invalid(message).with_hint(hint));
        }
        Ok(())
    }

    /// Whether logits do not depend on how tokens are grouped ([`DecoderOptions::reproducible`]).
    pub fn is_reproducible(&self) -> bool {
        self.0.reproducible
    }
}

fn graph_of(runs: &[Logits]) -> Result<Graph> {
    let beside = |run: &'_ Logits| {
        run.chosen.iter().chain(&run.neurons).map(|(_, tensor)| tensor).chain(&run.stored).cloned().collect::<Vec<_>>()
    };
    let outputs: Vec<_> = runs.iter().flat_map(|run| std::iter::once(run.logits.clone()).chain(beside(run))).collect();
    Ok(Graph::new(&outputs.iter().collect::<Vec<_>>())?)
}
