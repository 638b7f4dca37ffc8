//! Texts as vectors, by encoders and by language models.

use crate::encoder::{pooled, unit};
use crate::kind::check_known;
use crate::modules::{Loading, Tail};
use crate::package::Package;
use crate::sentences::{Pooling, SentenceSettings};
use crate::weight_memory::Memory;
use crate::weights::DeviceMap;
use crate::{Decoder, DecoderOptions, Encoder, EncoderOptions, Error, Result, TokenizedText};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use tensorlib::{Backend, DType};

/// Turns texts into vectors of length 1: an [`Encoder`] or an [`Embedder`].
pub trait EmbedTexts {
    /// The tokens of a text, after the prompt that the files or the options name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the tokenizer refuses the text.
    fn tokenize_text(&self, text: &str) -> Result<TokenizedText>;

    /// The vectors of these lists of tokens, in their order; an empty list gives zeros. Errors number lines from `first`
    /// on. `progress(lines done)` is called from time to time; `false` stops the work.
    ///
    /// # Errors
    /// As [`Encoder::embed_tokens`].
    fn embed_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>>;

    /// The number of elements of a vector.
    fn width(&self) -> usize;

    /// The most tokens of a text, including special ones.
    fn max_tokens(&self) -> usize;

    /// The number of tokens of the vocabulary.
    fn vocabulary(&self) -> usize;

    /// The memory that the weights take now.
    fn memory(&self) -> Memory;
}

impl EmbedTexts for Encoder {
    fn tokenize_text(&self, text: &str) -> Result<TokenizedText> {
        Encoder::tokenize_text(self, text)
    }

    fn embed_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        Encoder::embed_lines(self, first, lines, progress)
    }

    fn width(&self) -> usize {
        Encoder::width(self)
    }

    fn max_tokens(&self) -> usize {
        Encoder::max_tokens(self)
    }

    fn vocabulary(&self) -> usize {
        Encoder::vocabulary(self)
    }

    fn memory(&self) -> Memory {
        Encoder::memory(self)
    }
}

/// A language model that turns texts into vectors of length 1, such as Qwen3-Embedding: the vector before the matrix of
/// the logits, of the last token or as the files say. Several threads may use it; their calls wait for each other.
pub struct Embedder {
    decoder: Decoder,
    sentences: SentenceSettings,
    pooling: Pooling,
    /// The modules after the pooling.
    tail: Option<Tail>,
    warnings: Vec<String>,
    max_tokens: usize,
    /// The elements that are kept of a vector.
    kept: usize,
    /// Lines are computed one by one, so a line's vector does not depend on the others.
    session: Mutex<crate::Session>,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Embedder");
        all.field("decoder", &self.decoder).field("pooling", &self.pooling).finish_non_exhaustive()
    }
}

impl Embedder {
    /// Opens a hub folder, or a GGUF file, which is read into memory. `context` is the most tokens of a text; 0: those
    /// of the model, at most 4,096.
    ///
    /// # Errors
    /// As [`Decoder::open`]; [`ErrorKind::Invalid`](crate::ErrorKind) if neither the files nor the options say how the
    /// vectors of tokens are pooled.
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &EncoderOptions, context: usize) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options, context)
    }

    /// Opens a model as [`Embedder::open`] does, but maps a GGUF file: its pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Embedder::open`].
    ///
    /// # Safety
    /// Nobody may change the file while the model exists.
    pub unsafe fn open_mapped(
        path: impl AsRef<Path>,
        backend: &Backend,
        options: &EncoderOptions,
        context: usize,
    ) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::from_package(unsafe { Package::open_mapped(path.as_ref())? }, backend, options, context)
    }

    fn from_package(package: Package, backend: &Backend, options: &EncoderOptions, context: usize) -> Result<Self> {
        check_known(&package.settings)?;
        let sentences = package.sentence_settings(options.pooling, options.prompt.as_deref())?;
        sentences.check_vectors()?;
        let Some(pooling) = sentences.pooling else {
            return Err(Error::invalid("the files of this language model do not say how its vectors are pooled")
                .with_hint("say --pooling last, mean or cls"));
        };
        let mut load = DecoderOptions::new().exact(options.exact).context(context).placement(options.placement.clone());
        if let Some(dtype) = options.stored_as {
            load = load.stored_as(dtype);
        }
        if let Some(name) = options.task.as_ref().or(sentences.default_task.as_ref()) {
            return Err(Error::unsupported(format!(
                "task '{name}': encoders alone have tasks, and this is a language model"
            )));
        }
        for (path, scale) in &options.adapters {
            load = load.adapter(path, *scale);
        }
        let (file, warnings) = (package.gguf(), package.warnings.clone());
        let decoder = Decoder::from_package(package, backend, &load.with_vectors())?;
        let loading = Loading {
            devices: DeviceMap::new(backend, &options.placement),
            stored_as: options.stored_as,
            exact: options.exact,
            backend,
            warnings: &warnings,
        };
        let width = decoder.n_logits();
        let tail = Tail::load(&sentences.modules, file.as_ref(), width as i64, &loading)?;
        let max_tokens = sentences.max_tokens.map_or(decoder.context(), |n| n.min(decoder.context()));
        let kept = sentences.kept(options.dimensions, tail.as_ref().map_or(width, Tail::outputs))?;
        let session = Mutex::new(decoder.session(DType::F16)?);
        Ok(Embedder { decoder, sentences, pooling, tail, warnings: warnings.list(), max_tokens, kept, session })
    }

    /// How the vectors of tokens are pooled.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Oddities of the model's files that are no errors, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The vectors of these texts, in their order. Texts that are too long are cut.
    ///
    /// # Errors
    /// As [`EmbedTexts::tokenize_text`] and [`EmbedTexts::embed_lines`].
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>> {
        let lines = texts.iter().map(|text| Ok(self.tokenize_text(text.as_ref())?.ids)).collect::<Result<Vec<_>>>()?;
        self.embed_lines(0, &lines, &mut |_| true)
    }

    fn vector(&self, line: &[u32]) -> Result<Vec<f32>> {
        let (n, most) = (line.len(), self.max_tokens);
        if n == 0 {
            return Ok(vec![0.0; self.width()]);
        }
        if n > most {
            return Err(Error::invalid(format!("{n} tokens: up to {most} are valid")));
        }
        // A panic of an earlier call may have left tokens in it; they are removed like those of any line.
        let mut session = self.session.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        session.rewind(0);
        let rows = match self.pooling {
            Pooling::Last => session.feed(line)?,
            Pooling::Cls => session.feed(&line[..1])?,
            Pooling::Mean => session.feed_all(line)?,
        };
        match rows.iter().find(|x| !x.is_finite()) {
            Some(value) => Err(session.not_finite(&format!("the vector of a token holds {value}"))),
            None => {
                let mut vectors = vec![pooled(&rows, self.decoder.n_logits(), self.pooling)];
                if let Some(tail) = &self.tail {
                    vectors = tail.apply(&vectors)?;
                }
                Ok(unit(vectors.first().map_or(&[], Vec::as_slice), self.kept))
            }
        }
    }
}

impl EmbedTexts for Embedder {
    fn tokenize_text(&self, text: &str) -> Result<TokenizedText> {
        let tokenizer = self.decoder.tokenizer();
        let mut ids = tokenizer.encode(&self.sentences.whole(text), true, false)?;
        let was_cut = tokenizer.cut(&mut ids, self.max_tokens);
        Ok(TokenizedText { ids, types: Vec::new(), was_cut })
    }

    fn embed_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(lines.len());
        for (i, line) in lines.iter().enumerate() {
            vectors.push(self.vector(line).map_err(|e| e.about(format_args!("line {}", first + i)))?);
            if !progress(i + 1) {
                return Err(Error::invalid(format!("stopped after {} of {} lines", i + 1, lines.len())));
            }
        }
        Ok(vectors)
    }

    fn width(&self) -> usize {
        self.kept
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn vocabulary(&self) -> usize {
        self.decoder.vocabulary()
    }

    fn memory(&self) -> Memory {
        let memory = self.decoder.memory();
        self.tail.iter().fold(memory, |memory, tail| tail.with_memory(memory))
    }
}
