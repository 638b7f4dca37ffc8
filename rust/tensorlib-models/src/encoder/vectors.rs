//! Vectors of texts: the pooled vectors of their tokens.

use super::batches::Batch;
use super::{Encoder, Line};
use crate::sentences::Pooling;
use crate::Result;
use std::borrow::Cow;
use std::ops::Range;
use tensorlib::nn::{Linear, Module};
use tensorlib::Context;

impl Encoder {
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
        let lines = &self.padded(lines);
        let rows: Vec<Line> = lines.iter().map(|ids| Line { ids, types: &[] }).collect();
        let mut vectors = vec![vec![0.0; self.kept]; lines.len()];
        self.each_batch(first, &rows, progress, |ctx, batch| {
            let mut pooled = self.pooled(ctx, (first, &rows), batch, self.pooling())?;
            if let Some(tail) = &self.tail {
                pooled = tail.apply(&pooled)?;
            }
            if let Some(projection) = &self.projection {
                pooled = self.projected(ctx, projection, &pooled)?;
            }
            for (line, vector) in batch.lines.iter().zip(pooled) {
                vectors[*line] = unit(&vector, self.kept);
            }
            Ok(())
        })?;
        Ok(vectors)
    }

    /// These lines, with the tokens after short ones that the model was trained with.
    fn padded<'a>(&self, lines: &'a [Vec<u32>]) -> Cow<'a, [Vec<u32>]> {
        let Some((length, token)) = self.shape.padding else { return lines.into() };
        let padded = |line: &Vec<u32>| {
            let mut line = line.clone();
            if !line.is_empty() && line.len() < length {
                line.resize(length, token);
            }
            line
        };
        lines.iter().map(padded).collect()
    }

    /// The products of these vectors with a matrix, whose rounding does not depend on their number.
    fn projected(&self, ctx: &Context, matrix: &Linear, vectors: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let values: Vec<f32> = vectors.iter().flatten().map(|x| *x as f32).collect();
        let columns = ctx.tensor([self.shape.width, vectors.len() as i64], &values)?;
        let made = self.read(&matrix.forward(&columns, &self.pass())?)?;
        let n = made.len() / vectors.len().max(1);
        Ok(made.chunks(n.max(1)).map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect())
    }

    /// The pooled vectors of a batch's lines, in the batch's order. Errors number lines from `first` on.
    pub(super) fn pooled(
        &self,
        ctx: &Context,
        (first, lines): (usize, &[Line]),
        batch: &Batch,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f64>>> {
        let firsts = pooling == Pooling::Cls;
        let rows = self.rows(ctx, (first, lines), batch, firsts)?;
        let width = usize::try_from(self.shape.width).unwrap_or(0);
        Ok(rows.iter().map(|rows| pooled(rows, width, pooling)).collect())
    }

    /// The vectors of each line's tokens, or with `firsts` of its first token alone, in the batch's order.
    pub(super) fn rows(
        &self,
        ctx: &Context,
        (first, lines): (usize, &[Line]),
        batch: &Batch,
        firsts: bool,
    ) -> Result<Vec<Vec<f32>>> {
        let width = usize::try_from(self.shape.width).unwrap_or(0);
        let hidden = self.read(&self.hidden(ctx, lines, batch, firsts)?)?;
        let of_line = |(i, (line, range)): (usize, (usize, Range<usize>))| {
            let range = if firsts { i..i + 1 } else { range };
            let rows = &hidden[range.start * width..range.end * width];
            if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
                let (line, token, value) = (first + line, at / width, rows[at]);
                let what = format!("line {line}: the vector of its token {token} holds {value}, which is no vector");
                return Err(self.not_finite(what));
            }
            Ok(rows.to_vec())
        };
        batch.places().enumerate().map(of_line).collect()
    }
}

/// Pools the vectors of a line's tokens, of `width` elements, in `f64`.
pub fn pooled(rows: &[f32], width: usize, pooling: Pooling) -> Vec<f64> {
    let mut sums = vec![0.0f64; width];
    let rows = match pooling {
        Pooling::Mean => rows,
        Pooling::Cls => &rows[..width],
        Pooling::Last => &rows[rows.len() - width..],
    };
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let n = (rows.len() / width).max(1) as f64;
    sums.iter_mut().for_each(|sum| *sum /= n);
    sums
}

/// The first `kept` elements of a vector, with length 1.
pub fn unit(vector: &[f64], kept: usize) -> Vec<f32> {
    let vector = &vector[..kept.min(vector.len())];
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
    vector.iter().map(|x| (x / length) as f32).collect()
}
