//! Tables of vectors, to whose rows adapters may add.

use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{Embedding, LowRank, Module, Pass};
use tensorlib::{ScaleOptions, Tensor};

/// A table of vectors, a row per number.
pub struct Table {
    rows: Embedding,
    /// Low-rank additions: products of b with rows of a.
    added: Vec<LowRank>,
}

impl Table {
    /// Loads the table `NAME.weight`, [width, rows], and what the adapters add to it.
    pub fn load(weights: &Weights, name: &str, width: i64, rows: i64) -> Result<Self> {
        let added = weights.row_adapters(&format!("{name}.weight"), [width, rows])?;
        Ok(Table { rows: weights.embedding(name, width, rows)?, added })
    }

    /// The rows of these numbers.
    pub fn forward(&self, numbers: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut rows = self.rows.forward(numbers, pass)?;
        for LowRank { a, b, scale, .. } in &self.added {
            let inner = a.get_rows(numbers)?.scale(*scale, ScaleOptions::new())?;
            rows = (&rows + &b.mul_mat_exact(&inner)?)?;
        }
        Ok(rows)
    }
}

/// The rows of the small table `NAME`, [width, rows], with what the adapters add to them; none if the files have no such
/// table.
pub fn small_table(weights: &Weights, name: &str, width: i64) -> Result<Option<Tensor>> {
    let Some(found) = weights.shape_of(name) else { return Ok(None) };
    let shape = [width, found.get(1).copied().unwrap_or(1)];
    let Some(stored) = weights.find(name, &shape)? else { return Ok(None) };
    let added = weights.adapters(name, &shape)?;
    if added.is_empty() || weights.is_outline() {
        return Ok(Some(stored));
    }
    let mut values = stored.to_f32_vec()?;
    for LowRank { a, b, scale, .. } in &added {
        let (of_rank, of_row) = (a.to_f32_vec()?, b.to_f32_vec()?);
        let (width, rank) = (usize::try_from(width).unwrap_or(1), usize::try_from(b.shape()[0]).unwrap_or(1));
        for (row, factors) in values.chunks_exact_mut(width).zip(of_row.chunks_exact(rank)) {
            for (part, factor) in of_rank.chunks_exact(width).zip(factors) {
                row.iter_mut().zip(part).for_each(|(x, a)| *x += *scale as f32 * factor * a);
            }
        }
    }
    Ok(Some(weights.made_as(&values, &shape)?))
}
