//! Text encoders: a vector for each text.

mod architectures;
mod batches;
mod classify;
mod distances;
mod head;
mod layer;
mod options;
mod shape;

pub(crate) use architectures::{is_encoder, names};
pub use classify::TokenizedText;
pub use options::EncoderOptions;

use crate::package::Package;
use crate::placement::{Outline, Placed};
use crate::sentences::{Pooling, SentenceSettings};
use crate::tokenizer::Tokenizer;
use crate::warnings::Warnings;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{DeviceMap, Loaded, Weights};
use crate::{Error, Result};
use batches::{batches, Batch};
use distances::Biases;
use head::Head;
use layer::{window_mask, Firsts, Layer, Run};
use shape::{Norms, Positions, Shape};
use std::fmt;
use std::path::Path;
use tensorlib::nn::{Embedding, LayerNorm, Linear, Module, Pass};
use tensorlib::{Backend, Context, Graph, Tensor};

/// A model that turns texts into vectors of length 1, and with a head also into scores. Several threads may use it; their calls wait for each other.
pub struct Encoder {
    shape: Shape,
    tokens: Embedding,
    /// A vector for each position, if the model adds them.
    positions: Option<Embedding>,
    biases: Option<Biases>,
    types: Option<Tensor>,
    norm: LayerNorm,
    /// The product between embeddings and layers, if their widths differ.
    project: Option<Linear>,
    layers: Vec<Layer>,
    /// The norm after the last layer, if the layers' own norms lie before their blocks.
    last_norm: Option<LayerNorm>,
    head: Option<Head>,
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
        let warnings = encoder.warnings.list();
        Ok(Outline { tensors: encoder.loaded, bytes, warnings })
    }

    fn from_package(package: Package, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        Self::with_devices(package, backend, options, DeviceMap::new(backend, &options.placement))
    }

    fn with_devices(package: Package, backend: &Backend, options: &EncoderOptions, devices: DeviceMap) -> Result<Self> {
        let (shape, names) = architectures::read(&package.settings)?;
        let tokenizer = package.tokenizer()?;
        let sentence = package.sentence_settings(options.pooling, options.prompt.as_deref())?;
        let mut max_tokens = usize::try_from(shape.max_tokens).unwrap_or(0);
        max_tokens = sentence.max_tokens.map_or(max_tokens, |n| n.min(max_tokens));
        let weights = Weights::new(package.files, names, devices, options.stored_as)?.exact(options.exact);
        let kept = sentence.kept(options.dimensions, usize::try_from(shape.width).unwrap_or(0))?;
        let (width, embedding) = (shape.width, shape.embedding);
        let vocabulary = weights.vocabulary(embedding)?;
        let types = match weights.shape_of("token_types.weight") {
            Some(found) => {
                let rows = found.get(1).copied().unwrap_or(1);
                weights.find("token_types.weight", &[embedding, rows])?
            }
            None => None,
        };
        let encoder = Encoder {
            tokens: weights.embedding("token_embd", embedding, vocabulary)?,
            positions: match shape.positions {
                Positions::Rows { rows, .. } => Some(weights.embedding("position_embd", embedding, rows)?),
                Positions::Turned(_) => None,
            },
            biases: shape.buckets.map(|n| Biases::load(&weights, shape.heads, n)).transpose()?,
            types,
            norm: weights.layer_norm("token_embd_norm", embedding, shape.eps)?,
            project: match embedding == width {
                true => None,
                false => Some(weights.linear("embeddings_project", embedding, width)?),
            },
            layers: (0..shape.layers).map(|i| Layer::load(&weights, &shape, i)).collect::<Result<_>>()?,
            last_norm: match shape.norms {
                Norms::After => None,
                Norms::Before => Some(weights.layer_norm("output_norm", width, shape.eps)?),
            },
            head: Head::load(&weights, &package.settings, &shape)?,
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
        Ok(encoder)
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
        self.weight_memory.memory()
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

    /// The vectors of these texts, in their order. Texts that are too long are cut.
    ///
    /// # Errors
    /// As [`Encoder::tokenize`] and [`Encoder::embed_tokens`].
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>> {
        let lines = texts.iter().map(|text| Ok(self.tokenize(text.as_ref())?.0)).collect::<Result<Vec<_>>>()?;
        self.embed_tokens(&lines, |_| true)
    }

    /// The vectors of these lists of tokens, in their order; an empty list gives zeros. `progress(lines done)` is
    /// called from time to time; `false` stops the work.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for an invalid token, too many tokens in a line, a vector that is not
    /// finite, or if `progress` returned `false`; [`ErrorKind::Unsupported`](crate::ErrorKind) for a file that says that
    /// it gives scores alone, unless a pooling was chosen; [`ErrorKind::Memory`](crate::ErrorKind),
    /// [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn embed_tokens(&self, lines: &[Vec<u32>], progress: impl FnMut(usize) -> bool) -> Result<Vec<Vec<f32>>> {
        self.embed_lines(0, lines, progress)
    }

    /// [`Encoder::embed_tokens`] with errors that number lines from `first` on.
    ///
    /// # Errors
    /// As [`Encoder::embed_tokens`].
    pub fn embed_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        self.sentences.check_vectors()?;
        let width = usize::try_from(self.shape.width).unwrap_or(0);
        let rows: Vec<Line> = lines.iter().map(|ids| Line { ids, types: &[] }).collect();
        let mut vectors = vec![vec![0.0; self.kept]; lines.len()];
        self.each_batch(first, &rows, progress, |ctx, batch| {
            let firsts = self.pooling() == Pooling::Cls;
            let hidden = self.read(&self.hidden(ctx, &rows, batch, firsts)?)?;
            for (i, (line, range)) in batch.places().enumerate() {
                let range = if firsts { i..i + 1 } else { range };
                let rows = &hidden[range.start * width..range.end * width];
                if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
                    let (line, token, value) = (first + line, at / width, rows[at]);
                    let what =
                        format!("line {line}: the vector of its token {token} holds {value}, which is no vector");
                    return Err(self.not_finite(what));
                }
                vectors[line] = pooled(rows, (width, self.kept), self.pooling());
            }
            Ok(())
        })?;
        Ok(vectors)
    }

    /// Checks lines, and calls `compute` for batches of them; lines without tokens are in none.
    fn each_batch(
        &self,
        first: usize,
        lines: &[Line],
        mut progress: impl FnMut(usize) -> bool,
        mut compute: impl FnMut(&Context, &Batch) -> Result<()>,
    ) -> Result<()> {
        for (i, line) in lines.iter().enumerate() {
            self.check(line).map_err(|e| Error::invalid(format!("line {}: {e}", first + i)))?;
        }
        let lengths: Vec<usize> = lines.iter().map(|line| line.ids.len()).collect();
        let mut ctx = Context::on(&self.backend);
        let mut done = lengths.iter().filter(|length| **length == 0).count();
        for batch in batches(&lengths) {
            done += batch.lines.len();
            compute(&ctx, &batch.with_two_columns())?;
            if !progress(done) {
                return Err(Error::invalid(format!("stopped after {done} of {} lines", lines.len())));
            }
            ctx.reset()?;
        }
        Ok(())
    }

    fn check(&self, line: &Line) -> Result<()> {
        let (n, most) = (line.ids.len(), self.max_tokens);
        if n > most {
            return Err(Error::invalid(format!("{n} tokens: up to {most} are valid")));
        }
        if let Some(token) = line.ids.iter().find(|token| i64::from(**token) >= self.vocabulary) {
            return Err(Error::invalid(format!("token {token}: 0 to {} are valid", self.vocabulary - 1)));
        }
        if !line.types.is_empty() && line.types.len() != n {
            let what = format!("{} token types for {n} tokens: one for each, or none, is valid", line.types.len());
            return Err(Error::invalid(what));
        }
        let types = self.types.as_ref().and_then(|types| types.shape().get(1).copied()).unwrap_or(1);
        match line.types.iter().find(|kind| i64::from(**kind) >= types) {
            Some(kind) => Err(Error::invalid(format!("token type {kind}: 0 to {} are valid", types - 1))),
            None => Ok(()),
        }
    }

    fn not_finite(&self, what: String) -> Error {
        let because = self.weight_memory.not_finite().map_or(String::new(), |weight| format!("; {weight}"));
        Error::invalid(what + &because)
            .with_hint("a weight is damaged, or values are beyond F32's range: compare the file with its source")
    }

    /// Computes a node and reads it.
    fn read(&self, node: &Tensor) -> Result<Vec<f32>> {
        let graph = Graph::new(&[node])?;
        self.weight_memory.keep(|| Ok(graph.compute(&self.backend)?))?;
        self.weight_memory.give_back();
        Ok(node.to_vec::<f32>()?)
    }

    fn pass(&self) -> Pass {
        Pass::evaluation()
    }

    /// The vectors of a batch's tokens after the last layer, [width, tokens], or with `firsts` of each line's first token
    /// alone; a single line's has two columns then.
    fn hidden(&self, ctx: &Context, lines: &[Line], batch: &Batch, firsts: bool) -> Result<Tensor> {
        let first = match self.shape.positions {
            Positions::Rows { first, .. } => first,
            Positions::Turned(_) => 0,
        };
        let (mut ids, mut kinds, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let index = |id: &u32| i32::try_from(*id).unwrap_or(i32::MAX);
        for (line, _) in batch.places() {
            let Line { ids: of_line, types } = lines[line];
            ids.extend(of_line.iter().map(index));
            kinds.extend(types.iter().map(index));
            kinds.resize(ids.len(), 0);
            positions.extend((0..of_line.len()).map(|i| (first + i as i64) as i32));
        }
        let n = [ids.len() as i64];
        let (ids, positions) = (ctx.tensor_of(n, &ids)?, ctx.tensor_of(n, &positions)?);
        let pass = self.pass();
        let mut x = self.tokens.forward(&ids, &pass)?;
        if let Some(table) = &self.positions {
            x = (&x + &table.forward(&positions, &pass)?)?;
        }
        if let Some(types) = &self.types {
            let added = match kinds.iter().all(|kind| *kind == 0) {
                // The view is a node of this context, because the weights' takes no more.
                true => ctx.within(|| types.narrow(1, 0, 1))?,
                false => ctx.within(|| types.get_rows(&ctx.tensor_of(n, &kinds)?))?,
            };
            x = (&x + &added)?;
        }
        x = self.norm.forward(&x, &pass)?;
        if let Some(project) = &self.project {
            x = project.forward(&x, &pass)?;
        }
        let longest = batch.groups.iter().map(|group| group.length).max().unwrap_or(0);
        let run = Run {
            shape: &self.shape,
            batch,
            positions: &positions,
            biases: self.biases.as_ref().map(|biases| biases.mask(ctx, longest)).transpose()?,
            window: match &self.shape.windows {
                Some(windows) if longest as i64 > windows.distance + 1 => Some(window_mask(ctx, windows, longest)?),
                _ => None,
            },
            pass,
        };
        let firsts = if firsts { Some(Firsts::of(ctx, batch)?) } else { None };
        for (i, layer) in self.layers.iter().enumerate() {
            // Other tokens matter up to the last layer, to which they are keys and values.
            x = layer.forward(&run, &x, firsts.as_ref().filter(|_| i + 1 == self.layers.len()))?;
        }
        match &self.last_norm {
            Some(norm) => Ok(norm.forward(&x, &run.pass)?),
            None => Ok(x),
        }
    }
}

/// Pools the vectors of a line's tokens, of `width` elements, into one of length 1 with the first `kept`. Sums are in
/// `f64`.
pub fn pooled(rows: &[f32], (width, kept): (usize, usize), pooling: Pooling) -> Vec<f32> {
    let mut sums = vec![0.0f64; kept];
    let rows = match pooling {
        Pooling::Mean => rows,
        Pooling::Cls => &rows[..width],
        Pooling::Last => &rows[rows.len() - width..],
    };
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
    sums.iter().map(|x| (x / length) as f32).collect()
}
