//! Text encoders: a vector for each text.

mod batches;
mod bert;

use crate::package::{Package, Pooling};
use crate::parts::{Linear, Norm, NormKind};
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use crate::{Error, Result};
use batches::{batches, Batch};
use std::path::Path;
use tensorlib::{Backend, Context, DType, FlashAttnExtOptions, Graph, Tensor};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activation {
    Gelu,
    GeluErf,
    Relu,
}

/// The extents of an encoder.
struct Shape {
    layers: i64,
    width: i64,
    heads: i64,
    ffn: i64,
    /// Rows of the matrix of positions, and the first of them that a token has.
    position_rows: i64,
    first_position: i64,
    eps: f64,
    activation: Activation,
}

/// How an encoder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    stored_as: Option<DType>,
    pooling: Option<Pooling>,
    exact: bool,
}

impl EncoderOptions {
    /// The defaults: weights as they are stored, pooling as the model says, else the mean.
    pub fn new() -> Self {
        Self::default()
    }

    /// The type that matrices are converted to when they are loaded, as Q8_0.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// Pooling, whatever the model says.
    #[must_use]
    pub fn pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// No product may round an activation to fewer bits, as those with quantised weights do.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    output_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

/// A model that turns texts into vectors of length 1. It may be used from several threads; they wait for each other.
pub struct Encoder {
    shape: Shape,
    tokens: Tensor,
    positions: Tensor,
    types: Option<Tensor>,
    norm: Norm,
    layers: Vec<Layer>,
    vocabulary: i64,
    tokenizer: Tokenizer,
    /// The special tokens at the end of each text.
    last: Option<u32>,
    pooling: Pooling,
    max_tokens: usize,
    exact: bool,
    backend: Backend,
}

impl Encoder {
    /// Opens a hub folder (config.json, tokenizer.json, model.safetensors or its shards) or a GGUF file of architecture
    /// bert, which is read into memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the file, setting or tensor and
    /// what was expected, [`ErrorKind::Unsupported`](crate::ErrorKind) naming what is known,
    /// [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options)
    }

    /// [`Encoder::open`], but a GGUF file is mapped: its pages are loaded when they are touched.
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

    fn from_package(package: Package, backend: &Backend, options: &EncoderOptions) -> Result<Self> {
        let settings = &package.settings;
        if !bert::NAMES.contains(&settings.architecture()) {
            let (name, known) = (settings.architecture(), bert::NAMES.join(", "));
            return Err(Error::unsupported(format!("architecture '{name}' is no encoder that is known: {known} are")));
        }
        let shape = bert::shape(settings)?;
        let tokenizer = package.tokenizer()?;
        let sentence = package.sentence_settings(options.pooling)?;
        let mut max_tokens = usize::try_from(shape.position_rows - shape.first_position).unwrap_or(0);
        max_tokens = sentence.max_tokens.map_or(max_tokens, |n| n.min(max_tokens));
        let weights = Weights::new(package.files, bert::names(), backend, options.stored_as)?;
        let (width, ffn) = (shape.width, shape.ffn);
        let norm = |name: &str| Norm::load(&weights, name, width, NormKind::Layer, shape.eps);
        let layer = |i: i64| -> Result<Layer> {
            let linear =
                |part: &str, inputs, outputs| Linear::load(&weights, &format!("blk.{i}.{part}"), inputs, outputs);
            Ok(Layer {
                query: linear("attn_q", width, width)?,
                key: linear("attn_k", width, width)?,
                value: linear("attn_v", width, width)?,
                output: linear("attn_output", width, width)?,
                output_norm: norm(&format!("blk.{i}.attn_output_norm"))?,
                up: linear("ffn_up", width, ffn)?,
                down: linear("ffn_down", ffn, width)?,
                norm: norm(&format!("blk.{i}.layer_output_norm"))?,
            })
        };
        let vocabulary = weights.vocabulary(width)?;
        let types = match weights.shape_of("token_types.weight") {
            Some(found) => {
                let rows = found.get(1).copied().unwrap_or(1);
                weights.find("token_types.weight", &[width, rows])?
            }
            None => None,
        };
        let empty = tokenizer.encode("", true, false)?;
        let encoder = Encoder {
            tokens: weights.get("token_embd.weight", &[width, vocabulary])?,
            positions: weights.get("position_embd.weight", &[width, shape.position_rows])?,
            types,
            norm: norm("token_embd_norm")?,
            layers: (0..shape.layers).map(layer).collect::<Result<_>>()?,
            vocabulary,
            tokenizer,
            last: (empty.len() > 1).then(|| empty[empty.len() - 1]),
            pooling: sentence.pooling.unwrap_or(Pooling::Mean),
            max_tokens,
            exact: options.exact,
            backend: backend.clone(),
            shape,
        };
        weights.context().freeze();
        Ok(encoder)
    }

    /// Elements of a vector.
    pub fn width(&self) -> usize {
        usize::try_from(self.shape.width).unwrap_or(0)
    }

    /// The most tokens of a text, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// How vectors are made of those of tokens.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// The tokens of a text, special ones included, and whether it was cut to [`Encoder::max_tokens`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) where the tokenizer refuses the text.
    pub fn tokenize(&self, text: &str) -> Result<(Vec<u32>, bool)> {
        let mut tokens = self.tokenizer.encode(text, true, false)?;
        if tokens.len() <= self.max_tokens {
            return Ok((tokens, false));
        }
        tokens.truncate(self.max_tokens);
        if let (Some(last), Some(at)) = (self.last, tokens.last_mut()) {
            *at = last;
        }
        Ok((tokens, true))
    }

    /// The vectors of these texts, in their order. Overlong ones are cut.
    ///
    /// # Errors
    /// As [`Encoder::tokenize`] and [`Encoder::embed_tokens`].
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>> {
        let lines = texts.iter().map(|text| Ok(self.tokenize(text.as_ref())?.0)).collect::<Result<Vec<_>>>()?;
        self.embed_tokens(&lines, |_| true)
    }

    /// The vectors of these lists of tokens, in their order; that of an empty list is zero. `progress(lines done)` is called
    /// now and then; `false` stops the work.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a token that is none, too many of them in a line, or where `progress`
    /// returned `false`; [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn embed_tokens(&self, lines: &[Vec<u32>], mut progress: impl FnMut(usize) -> bool) -> Result<Vec<Vec<f32>>> {
        for (i, line) in lines.iter().enumerate() {
            let (n, most) = (line.len(), self.max_tokens);
            if n > most {
                return Err(Error::invalid(format!("line {i}: {n} tokens: up to {most} are valid")));
            }
            if let Some(token) = line.iter().find(|token| i64::from(**token) >= self.vocabulary) {
                let message = format!("line {i}: token {token}: 0 to {} are valid", self.vocabulary - 1);
                return Err(Error::invalid(message));
            }
        }
        let lengths: Vec<usize> = lines.iter().map(Vec::len).collect();
        let mut vectors = vec![vec![0.0; self.width()]; lines.len()];
        let mut ctx = Context::on(&self.backend);
        let mut done = lines.iter().filter(|line| line.is_empty()).count();
        for batch in batches(&lengths) {
            done += batch.lines.len();
            let batch = batch.with_two_columns();
            let hidden = self.compute(&ctx, lines, &batch)?;
            for (line, range) in batch.places() {
                let rows = &hidden[range.start * self.width()..range.end * self.width()];
                vectors[line] = pooled(rows, self.width(), self.pooling);
            }
            if !progress(done) {
                return Err(Error::invalid(format!("stopped after {done} of {} lines", lines.len())));
            }
            ctx.reset()?;
        }
        Ok(vectors)
    }

    /// The last layer's rows of a batch, token by token.
    fn compute(&self, ctx: &Context, lines: &[Vec<u32>], batch: &Batch) -> Result<Vec<f32>> {
        let (mut ids, mut positions) = (Vec::new(), Vec::new());
        for (line, _) in batch.places() {
            ids.extend(lines[line].iter().map(|id| i32::try_from(*id).unwrap_or(i32::MAX)));
            positions.extend((0..lines[line].len()).map(|i| (self.shape.first_position + i as i64) as i32));
        }
        let n = [ids.len() as i64];
        let (ids, positions) = (ctx.tensor_of(n, &ids)?, ctx.tensor_of(n, &positions)?);
        let mut x = ctx.get_rows(&self.tokens, &ids)?;
        x = ctx.add(&x, &ctx.get_rows(&self.positions, &positions)?)?;
        if let Some(types) = &self.types {
            // All tokens are of the first type.
            x = ctx.add(&x, &ctx.narrow(types, 1, 0, 1)?)?;
        }
        x = self.norm.of(ctx, &x)?;
        for layer in &self.layers {
            x = self.layer(ctx, layer, &x, batch)?;
        }
        Graph::new(&[&x])?.compute(&self.backend)?;
        Ok(x.to_vec::<f32>()?)
    }

    fn layer(&self, ctx: &Context, layer: &Layer, x: &Tensor, batch: &Batch) -> Result<Tensor> {
        let linear = |part: &Linear, x: &Tensor| part.of(ctx, x, self.exact);
        let (q, k, v) = (linear(&layer.query, x)?, linear(&layer.key, x)?, linear(&layer.value, x)?);
        let attended = self.attention(ctx, &q, &k, &v, batch)?;
        let sum = ctx.add(&linear(&layer.output, &attended)?, x)?;
        let x = layer.output_norm.of(ctx, &sum)?;
        let up = linear(&layer.up, &x)?;
        let up = match self.shape.activation {
            Activation::Gelu => ctx.gelu(&up)?,
            Activation::GeluErf => ctx.gelu_erf(&up)?,
            Activation::Relu => ctx.relu(&up)?,
        };
        let sum = ctx.add(&linear(&layer.down, &up)?, &x)?;
        layer.norm.of(ctx, &sum)
    }

    /// Each line by itself: those of one length as a batch of one node, without padding and masks.
    fn attention(&self, ctx: &Context, q: &Tensor, k: &Tensor, v: &Tensor, batch: &Batch) -> Result<Tensor> {
        let (width, heads) = (self.shape.width, self.shape.heads);
        let (head, row) = (width / heads, self.width() * std::mem::size_of::<f32>());
        let mut parts = Vec::new();
        for group in &batch.groups {
            let (length, lines) = (group.length as i64, group.lines as i64);
            let strides = [row, row / heads as usize, row * group.length];
            let part = |t: &Tensor| ctx.view(t, [head, length, heads, lines], &strides, row * group.start);
            let (q, k, v) = (part(q)?, part(k)?, part(v)?);
            let c = ctx.flash_attn_ext(&q, &k, &v, None, None, FlashAttnExtOptions::new())?;
            parts.push(ctx.reshape(&c, [width, length * lines])?);
        }
        // Neighbours first, so that an element is copied as often as the number of parts can be halved.
        while parts.len() > 1 {
            let pairs = parts.chunks(2);
            parts = pairs
                .map(|pair| match pair {
                    [a, b] => Ok(ctx.concat(a, b, 1)?),
                    one => Ok(one[0].clone()),
                })
                .collect::<Result<_>>()?;
        }
        parts.pop().ok_or_else(|| Error::internal("a batch without lines"))
    }
}

/// A line's vector of its tokens', of length 1. Sums are in `f64`.
fn pooled(rows: &[f32], width: usize, pooling: Pooling) -> Vec<f32> {
    let mut sums = vec![0.0f64; width];
    let rows = match pooling {
        Pooling::Mean => rows,
        Pooling::Cls => &rows[..width],
    };
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
    sums.iter().map(|x| (x / length) as f32).collect()
}
