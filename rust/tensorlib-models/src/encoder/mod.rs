//! Text encoders: a vector for each text.

mod architectures;
mod attention;
mod batches;
mod biases;
mod classify;
mod convolution;
mod distances;
mod feed;
mod forward;
mod head;
#[cfg(feature = "images")]
mod images;
mod layer;
mod options;
mod shape;
mod table;
mod tasks;
mod tokens;
mod vectors;
mod written;

pub(crate) use architectures::{is_encoder, names};
pub use classify::TokenizedText;
#[cfg(feature = "images")]
pub use images::Image;
pub use options::EncoderOptions;
pub(crate) use vectors::{pooled, unit};
pub(crate) use written::{plan, plan_of_task};

use crate::modules::{Loading, Tail};
use crate::norm::Norm;
use crate::package::Package;
use crate::placement::{Outline, Placed};
use crate::sentences::{Pooling, SentenceSettings};
use crate::tokenizer::Tokenizer;
use crate::warnings::Warnings;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{DeviceMap, Loaded, Weights};
use crate::Result;
use batches::batches;
use biases::Biases;
use convolution::Convolution;
use distances::Distances;
use head::Head;
#[cfg(feature = "images")]
use images::{ImageTower, Preparation};
use layer::Layer;
use shape::{Norms, Positions, Shape};
use std::fmt;
use std::path::Path;
use table::{small_table, Table};
use tensorlib::nn::{Embedding, Linear};
use tensorlib::{Backend, Context, Graph, Tensor};
use tokens::TokenHeads;

/// A model that turns texts into vectors of length 1, and with a head also into scores. Several threads may use it; their calls wait for each other.
pub struct Encoder {
    shape: Shape,
    tokens: Table,
    /// A vector for each position, if the model adds them.
    positions: Option<Embedding>,
    biases: Option<Biases>,
    distances: Option<Distances>,
    /// The convolution that follows the first layer.
    convolution: Option<Convolution>,
    types: Option<Tensor>,
    norm: Option<Norm>,
    /// The product between embeddings and layers, if their widths differ.
    project: Option<Linear>,
    layers: Vec<Layer>,
    /// The norm after the last layer, if the layers' own norms lie before their blocks.
    last_norm: Option<Norm>,
    /// The product that follows the pooling.
    projection: Option<Linear>,
    #[cfg(feature = "images")]
    images: Option<ImageTower>,
    head: Option<Head>,
    /// The modules after the pooling.
    tail: Option<Tail>,
    token_heads: TokenHeads,
    vocabulary: i64,
    tokenizer: Tokenizer,
    sentences: SentenceSettings,
    max_tokens: usize,
    /// The elements that are kept of a vector.
    kept: usize,
    warnings: Warnings,
    weight_memory: WeightMemory,
    /// The loaded tensors and their bytes.
    loaded: Vec<Placed>,
    backend: Backend,
}

/// The tokens of a line.
#[derive(Clone, Copy)]
struct Line<'a> {
    ids: &'a [u32],
    /// The type of each token; none if all are 0.
    types: &'a [u32],
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Encoder");
        all.field("width", &self.width()).field("max_tokens", &self.max_tokens).field("pooling", &self.pooling());
        all.field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Encoder {
    /// Opens a hub folder (config.json, tokenizer.json, model.safetensors or its shards) or a GGUF file, which is read
    /// into memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the file, setting or tensor
    /// and what was expected, [`ErrorKind::Unsupported`](crate::ErrorKind) naming what is supported,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options)
    }

    /// Opens a model as [`Encoder::open`] does, but maps a GGUF file: its pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Encoder::open`].
    ///
    /// # Safety
    /// Nobody may change the file while the encoder exists.
    pub unsafe fn open_mapped(path: impl AsRef<Path>, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::from_package(unsafe { Package::open_mapped(path.as_ref())? }, backend, options)
    }

    /// The memory that a model would take on each of the backend's devices for one text of maximum length. Loads
    /// nothing.
    ///
    /// # Errors
    /// As [`Encoder::open`].
    ///
    /// # Safety
    /// As [`Encoder::open_mapped`], until it returns.
    pub unsafe fn outline(path: impl AsRef<Path>, backend: &Backend, options: &EncoderOptions) -> Result<Outline> {
        // SAFETY: as the caller promises.
        let package = unsafe { Package::open_mapped(path.as_ref())? };
        let encoder =
            Self::with_devices(package, backend, options, DeviceMap::new(backend, &options.placement).outline())?;
        let ids = vec![0; encoder.max_tokens.max(1)];
        let lines = [Line { ids: &ids, types: &[] }];
        let ctx = Context::on(backend);
        let mut bytes = vec![0; backend.devices().len()];
        for batch in batches(&[ids.len()]) {
            let hidden = encoder.hidden(&ctx, &lines, &batch.with_two_columns(), false)?;
            bytes = Graph::new(&[&hidden])?.plan_bytes(backend)?;
        }
        let mut tensors = encoder.loaded.clone();
        for placed in encoder.module_weights().flat_map(Tail::loaded).map(Loaded::placed) {
            bytes[placed.device] += placed.bytes;
            tensors.push(placed);
        }
        Ok(Outline { tensors, bytes, warnings: encoder.warnings.list() })
    }

    fn from_package(package: Package, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        Self::with_devices(package, backend, options, DeviceMap::new(backend, &options.placement))
    }

    fn with_devices(package: Package, backend: &Backend, options: &EncoderOptions, devices: DeviceMap) -> Result<Self> {
        Ok(Self::with_weights(package, backend, options, devices)?.0)
    }

    /// The encoder, and its weights by their names.
    fn with_weights(
        package: Package,
        backend: &Backend,
        options: &EncoderOptions,
        devices: DeviceMap,
    ) -> Result<(Self, Weights)> {
        let (mut shape, names) = architectures::read(&package.settings)?;
        let tokenizer = package.tokenizer()?;
        // The tokenizer decides; settings have the token of a class's defaults.
        if let (Some((_, token)), Some(padding)) = (&mut shape.padding, tokenizer.pad()) {
            *token = padding;
        }
        let mut sentence = package.sentence_settings(options.pooling, options.prompt.as_deref())?;
        sentence.pooling = sentence.pooling.or(shape.pooling);
        sentence.lower_case |= shape.padding.is_some() && package.has_lower_case_tokenizer()?;
        #[cfg(feature = "images")]
        let preparation = shape.images.as_ref().map(|of| Preparation::read(package.folder(), of, &package.warnings));
        let mut max_tokens = usize::try_from(shape.max_tokens).unwrap_or(0);
        max_tokens = sentence.max_tokens.map_or(max_tokens, |n| n.min(max_tokens));
        let (width, embedding) = (shape.width, shape.embedding);
        let loading = Loading {
            devices: devices.clone(),
            stored_as: options.stored_as,
            exact: options.exact,
            backend,
            warnings: &package.warnings,
        };
        let tail = Tail::load(&sentence.modules, package.gguf().as_ref(), width, &loading)?;
        let token_heads = TokenHeads::load(package.folder(), width, &loading)?;
        let adapters = tasks::adapters(&package, (&shape, &names), options, &devices, &mut sentence)?;
        let weights = Weights::new(package.files, names, devices, options.stored_as)?.exact(options.exact);
        let weights = weights.with_adapters(adapters);
        if shape.has_modules && tail.is_none() {
            package.warnings.add(
                "the files lack the Dense modules that follow the model's pooling, which some converters leave out: its \
                 vectors are not those of the published model",
            );
        }
        let (tail, module_head) = match sentence.modules.gives_scores() {
            true => (None, tail.map(|tail| Head::of_modules(tail, &sentence.modules, &package.settings)).transpose()?),
            false => (tail, None),
        };
        let of_model = usize::try_from(shape.projection.unwrap_or(width)).unwrap_or(0);
        let outputs = tail.as_ref().map_or(of_model, Tail::outputs);
        let kept = sentence.kept(options.dimensions, outputs)?;
        let vocabulary = weights.vocabulary(embedding)?;
        let encoder = Encoder {
            tokens: Table::load(&weights, "token_embd", embedding, vocabulary)?,
            positions: match shape.positions {
                Positions::Rows { rows, .. } => Some(weights.embedding("position_embd", embedding, rows)?),
                Positions::Turned(_) | Positions::Slopes(_) | Positions::Distances => None,
            },
            biases: shape.buckets.map(|n| Biases::load(&weights, shape.heads, n)).transpose()?,
            convolution: shape.convolution.map(|of| Convolution::load(&weights, &shape, of)).transpose()?,
            distances: shape.relative.map(|relative| Distances::load(&weights, &shape, relative)).transpose()?,
            types: small_table(&weights, "token_types.weight", embedding)?,
            norm: match shape.embedding_norm {
                true => {
                    let n = if shape.norm_after_project { width } else { embedding };
                    Some(Norm::load(&weights, (shape.norm, shape.eps), "token_embd_norm", n)?)
                }
                false => None,
            },
            project: match embedding == width {
                true => None,
                false => Some(weights.linear("embeddings_project", embedding, width)?),
            },
            layers: (0..shape.layers).map(|i| Layer::load(&weights, &shape, i)).collect::<Result<_>>()?,
            last_norm: match shape.norms {
                Norms::After => None,
                Norms::Before { .. } | Norms::Around => {
                    Some(Norm::load(&weights, (shape.norm, shape.eps), "output_norm", width)?)
                }
            },
            projection: match shape.projection {
                Some(n) => Some(weights.linear("text_projection", width, n)?.exact(true)),
                None => None,
            },
            #[cfg(feature = "images")]
            images: match (&shape.images, preparation.transpose()?) {
                (Some(of), Some(preparation)) => Some(ImageTower::load(&weights, of, shape.projection, preparation)?),
                _ => None,
            },
            head: match module_head {
                Some(head) => Some(head),
                None => Head::load(&weights, &package.settings, &shape)?,
            },
            tail,
            token_heads,
            vocabulary,
            tokenizer,
            sentences: sentence,
            max_tokens,
            kept,
            warnings: package.warnings,
            weight_memory: WeightMemory::new(weights.loaded(), weights.contexts(), backend),
            loaded: weights.loaded().iter().map(Loaded::placed).collect(),
            backend: backend.clone(),
            shape,
        };
        weights.finish(&encoder.warnings)?;
        Ok((encoder, weights))
    }

    /// The modules after the pooling, which make vectors or scores.
    fn module_weights(&self) -> impl Iterator<Item = &Tail> {
        self.tail.iter().chain(self.head.as_ref().and_then(Head::modules)).chain(self.token_heads.weights())
    }

    /// The number of elements of a vector.
    pub fn width(&self) -> usize {
        self.kept
    }

    /// The most tokens of a text, including special ones.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The number of tokens of the vocabulary.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.vocabulary).unwrap_or(0)
    }

    /// How the vectors of tokens are pooled.
    pub fn pooling(&self) -> Pooling {
        self.sentences.pooling.unwrap_or(Pooling::Mean)
    }

    /// Oddities of the model's files that are no errors, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.list()
    }

    /// The backend that computes the model.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The memory that the weights take now. It shrinks after computing, as packed copies replace the original weights.
    pub fn memory(&self) -> Memory {
        let memory = self.weight_memory.memory();
        self.module_weights().fold(memory, |memory, tail| tail.with_memory(memory))
    }

    /// The tokens of a text, including special ones and the folder's default prompt, and whether they were cut to
    /// [`Encoder::max_tokens`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the tokenizer refuses the text.
    pub fn tokenize(&self, text: &str) -> Result<(Vec<u32>, bool)> {
        let text = self.sentences.whole(text);
        let mut tokens = self.tokenizer.encode(&text, true, false)?;
        let was_cut = self.tokenizer.cut(&mut tokens, self.max_tokens);
        Ok((tokens, was_cut))
    }
}
