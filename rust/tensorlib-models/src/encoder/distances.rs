//! Products of contents and distances, which attention adds to those of queries and keys (He and others, DeBERTa:
//! Decoding-enhanced BERT with Disentangled Attention, 2021).

use super::layer::Run;
use super::shape::{Relative, Shape};
use crate::norm::{normed, Norm};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, Pass};
use tensorlib::{Context, ScaleOptions, Tensor};

/// A vector for each distance.
pub struct Distances {
    relative: Relative,
    rows: Tensor,
    norm: Option<Norm>,
}

/// The distances within the lines of a batch.
pub struct LineDistances {
    /// Their vectors, [width, rows].
    vectors: Tensor,
    /// The row for each key and query, [keys, queries].
    numbers: Tensor,
    relative: Relative,
}

/// A layer's keys and queries of distances, [head, rows, heads].
pub struct ProjectedDistances<'a> {
    within: &'a LineDistances,
    keys: Option<Tensor>,
    queries: Option<Tensor>,
    scale: f64,
}

impl Distances {
    /// Loads the matrix `distance_embd.weight`, and its norm `distance_norm`.
    pub fn load(weights: &Weights, shape: &Shape, relative: Relative) -> Result<Self> {
        let rows = weights.get("distance_embd.weight", &[shape.width, 2 * relative.span])?;
        let norm = || Norm::load(weights, (shape.norm, shape.eps), "distance_norm", shape.width);
        Ok(Distances { relative, rows, norm: relative.norm.then(norm).transpose()? })
    }

    /// Those within lines of up to `longest` tokens.
    pub fn of(&self, ctx: &Context, longest: usize, pass: &Pass) -> Result<LineDistances> {
        let (relative, n) = (self.relative, longest.max(1) as i64);
        let row = |distance: i64| (bucket(&relative, distance) + relative.span).clamp(0, 2 * relative.span - 1);
        let small = |row: i64| i32::try_from(row).unwrap_or(i32::MAX);
        // The rows that are used: the first one is that of the last key, as the first query sees it.
        let (first, last) = (row(1 - n), row(n - 1));
        let of_distance: Vec<i32> = (1 - n..n).map(|distance| small(row(distance) - first)).collect();
        // Each query's row is the row of the query before it, from one distance on; keys come in the other order.
        let of_query = |query: usize| of_distance[query..query + n as usize].iter().rev();
        let numbers: Vec<i32> = (0..n as usize).flat_map(of_query).copied().collect();
        // As F32, like the contents, whatever the matrix holds.
        let used: Vec<i32> = (first..=last).map(small).collect();
        let vectors = ctx.within(|| self.rows.get_rows(&ctx.tensor_of([used.len() as i64], &used)?))?;
        Ok(LineDistances {
            vectors: normed(self.norm.as_ref(), &vectors, pass)?,
            numbers: ctx.tensor_of([n, n], &numbers)?,
            relative,
        })
    }
}

/// The distance of a query from a key, as it is counted: large ones in logarithmic steps.
fn bucket(relative: &Relative, distance: i64) -> i64 {
    let middle = relative.span / 2;
    let Some(farthest) = relative.farthest.filter(|_| distance.abs() > middle) else { return distance };
    let (middle, distance_of) = (middle as f64, distance.unsigned_abs() as f64);
    let steps = (distance_of / middle).ln() / ((farthest - 1) as f64 / middle).ln() * (middle - 1.0);
    ((steps.ceil() + middle) as i64) * distance.signum()
}

impl LineDistances {
    /// The keys and queries that a layer's matrices make of the vectors.
    pub fn projected(&self, run: &Run, [key, query]: [&Linear; 2]) -> Result<ProjectedDistances<'_>> {
        let Shape { head, heads, attention_scale, .. } = *run.shape;
        let of = |is_there: bool, maker: &Linear| -> Result<Option<Tensor>> {
            if !is_there {
                return Ok(None);
            }
            let all = maker.forward(&self.vectors, &run.pass)?.reshape([head, heads, -1])?;
            Ok(Some(all.permute([0, 2, 1, 3])?.cont()?))
        };
        Ok(ProjectedDistances {
            within: self,
            keys: of(self.relative.keys, key)?,
            queries: of(self.relative.queries, query)?,
            scale: attention_scale,
        })
    }
}

impl ProjectedDistances<'_> {
    /// What is added to the scaled products of these queries and keys, both [head, tokens, heads, lines] from a line's
    /// first token on: [keys, queries, heads, lines].
    pub fn mask(&self, q: &Tensor, k: &Tensor) -> Result<Tensor> {
        let (queries, keys) = (q.shape()[1], k.shape()[1]);
        let picked = |rows: &Tensor, contents: &Tensor, table: &Tensor, inner: i64| -> Result<Tensor> {
            let [outer, heads, lines] = [1, 2, 3].map(|dim| contents.shape().get(dim).copied().unwrap_or(1));
            let products = rows.mul_mat_exact(&contents.cont()?)?;
            let index = table.slice([0, 0], [inner, outer])?.expand([inner, outer, heads, lines])?;
            Ok(products.gather(&index, 0)?)
        };
        let (by_query, by_key) = (&self.within.numbers, self.within.numbers.transpose()?);
        let by_query = self.keys.as_ref().map(|rows| picked(rows, q, by_query, keys)).transpose()?;
        let by_key = self.queries.as_ref().map(|rows| picked(rows, k, &by_key, queries)).transpose()?;
        let by_key = by_key.map(|t| t.transpose()).transpose()?;
        let sum = match (by_query, by_key) {
            (Some(a), Some(b)) => (&a + &b)?,
            (Some(one), None) => one,
            (None, Some(one)) => one.cont()?,
            (None, None) => return Err(Error::internal("distances without keys and queries")),
        };
        Ok(sum.scale(self.scale, ScaleOptions::new())?)
    }
}
