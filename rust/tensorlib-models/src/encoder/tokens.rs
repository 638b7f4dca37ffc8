//! Weights and vectors of tokens, from the heads that BGE-M3 has in files of their own (Chen and others, 2024).

use super::vectors::unit;
use super::{Encoder, Line};
use crate::modules::{Loading, Tail};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The heads of a folder.
pub struct TokenHeads {
    sparse: TokenHead,
    vectors: TokenHead,
}

/// A head with a file of its own.
enum TokenHead {
    Missing(&'static str),
    /// The file is one of PyTorch, which is not read.
    Torch(PathBuf),
    Loaded(Box<Tail>),
}

/// The weights of a text's tokens, by ascending ids.
type SparseVector = Vec<(u32, f32)>;

impl TokenHeads {
    /// Loads those of a folder, for vectors of `width` elements.
    pub fn load(folder: Option<&Path>, width: i64, loading: &Loading) -> Result<Self> {
        let sparse = TokenHead::load(folder, "sparse_linear", width, true, loading)?;
        if let TokenHead::Loaded(tail) = &sparse {
            if tail.outputs() != 1 {
                let message = format!("sparse_linear.safetensors: makes {} numbers of a token", tail.outputs());
                return Err(Error::format(message + ": one is valid"));
            }
        }
        Ok(TokenHeads { sparse, vectors: TokenHead::load(folder, "colbert_linear", width, false, loading)? })
    }

    /// The loaded weights.
    pub fn weights(&self) -> impl Iterator<Item = &Tail> {
        [&self.sparse, &self.vectors].into_iter().filter_map(|head| match head {
            TokenHead::Loaded(tail) => Some(&**tail),
            TokenHead::Missing(_) | TokenHead::Torch(_) => None,
        })
    }
}

impl TokenHead {
    fn load(folder: Option<&Path>, name: &'static str, width: i64, rectified: bool, loading: &Loading) -> Result<Self> {
        let Some(folder) = folder else { return Ok(TokenHead::Missing(name)) };
        let [ours, torch] = ["safetensors", "pt"].map(|end| folder.join(format!("{name}.{end}")));
        Ok(match (ours.exists(), torch.exists()) {
            (true, _) => TokenHead::Loaded(Box::new(Tail::of_file(&ours, name, width, rectified, loading)?)),
            (false, true) => TokenHead::Torch(torch),
            (false, false) => TokenHead::Missing(name),
        })
    }

    fn tail(&self) -> Result<&Tail> {
        match self {
            TokenHead::Loaded(tail) => Ok(tail),
            TokenHead::Missing(name) => {
                let message = format!("the model has no head for this: its folder has no file {name}.safetensors");
                Err(Error::invalid(message).with_hint("BGE-M3 has such files"))
            }
            TokenHead::Torch(path) => {
                let name = path.with_extension("safetensors");
                let message = format!("{}: files of PyTorch are programs, and are not read", path.display());
                Err(Error::unsupported(message).with_hint(format!(
                    "convert it: python3 -c \"import sys, torch; from safetensors.torch import save_file; \
                     save_file(torch.load(sys.argv[1], weights_only=True), sys.argv[2])\" {} {}",
                    path.display(),
                    name.display()
                )))
            }
        }
    }
}

impl Encoder {
    /// How much each token of a text matters, for searches by words: pairs of a token and a weight above 0, by ascending
    /// ids. A token that occurs several times has its largest weight; special ones are left out. Texts that are too long
    /// are cut.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without such a head (`sparse_linear.safetensors`),
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if its file is one of PyTorch; as [`Encoder::embed`].
    pub fn embed_sparse<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<SparseVector>> {
        let lines = self.lines(texts)?;
        self.embed_sparse_lines(0, &lines, |_| true)
    }

    /// [`Encoder::embed_sparse`] for lists of tokens, with errors that number lines from `first` on. `progress(lines
    /// done)` is called from time to time; `false` stops the work.
    ///
    /// # Errors
    /// As [`Encoder::embed_sparse`] and [`Encoder::embed_lines`].
    pub fn embed_sparse_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<SparseVector>> {
        let tail = self.token_heads.sparse.tail()?;
        let mut found = vec![Vec::new(); lines.len()];
        self.each_token(tail, (first, lines), progress, |line, weights| {
            let mut largest: BTreeMap<u32, f32> = BTreeMap::new();
            for (id, weight) in lines[line].iter().zip(weights) {
                let weight = weight.first().map_or(0.0, |weight| *weight as f32);
                if weight > 0.0 && !self.is_special(*id) {
                    let kept = largest.entry(*id).or_insert(weight);
                    *kept = kept.max(weight);
                }
            }
            found[line] = largest.into_iter().collect();
        })?;
        Ok(found)
    }

    /// A vector of length 1 for each token of a text but the first one, which stands for the text, for searches that
    /// compare tokens with tokens. Texts that are too long are cut.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without such a head (`colbert_linear.safetensors`),
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if its file is one of PyTorch; as [`Encoder::embed`].
    pub fn embed_each_token<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<Vec<f32>>>> {
        let lines = self.lines(texts)?;
        self.embed_each_token_lines(0, &lines, |_| true)
    }

    /// [`Encoder::embed_each_token`] for lists of tokens, with errors that number lines from `first` on.
    /// `progress(lines done)` is called from time to time; `false` stops the work.
    ///
    /// # Errors
    /// As [`Encoder::embed_each_token`] and [`Encoder::embed_lines`].
    pub fn embed_each_token_lines(
        &self,
        first: usize,
        lines: &[Vec<u32>],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<Vec<f32>>>> {
        let tail = self.token_heads.vectors.tail()?;
        let mut found = vec![Vec::new(); lines.len()];
        self.each_token(tail, (first, lines), progress, |line, vectors| {
            found[line] = vectors.iter().skip(1).map(|vector| unit(vector, tail.outputs())).collect();
        })?;
        Ok(found)
    }

    fn lines<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<u32>>> {
        texts.iter().map(|text| Ok(self.tokenize(text.as_ref())?.0)).collect()
    }

    /// Whether a token is no part of a text's words.
    fn is_special(&self, id: u32) -> bool {
        let tokenizer = &self.tokenizer;
        let named = [tokenizer.bos(), tokenizer.eos(), tokenizer.pad(), tokenizer.unknown()];
        tokenizer.is_control(id) || named.contains(&Some(id))
    }

    /// Calls `take` with a line's number and a head's results for each of its tokens.
    fn each_token(
        &self,
        tail: &Tail,
        (first, lines): (usize, &[Vec<u32>]),
        progress: impl FnMut(usize) -> bool,
        mut take: impl FnMut(usize, &[Vec<f64>]),
    ) -> Result<()> {
        let width = usize::try_from(self.shape.width).unwrap_or(1).max(1);
        let all: Vec<Line> = lines.iter().map(|ids| Line { ids, types: &[] }).collect();
        self.each_batch(first, &all, progress, |ctx, batch| {
            let rows = self.rows(ctx, (first, &all), batch, false)?;
            let vectors: Vec<Vec<f64>> = rows
                .iter()
                .flat_map(|rows| rows.chunks_exact(width))
                .map(|row| row.iter().map(|x| f64::from(*x)).collect())
                .collect();
            let results = tail.apply(&vectors)?;
            for (line, range) in batch.places() {
                take(line, &results[range]);
            }
            Ok(())
        })
    }
}
