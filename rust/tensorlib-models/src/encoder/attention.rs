//! Attention of lines to themselves: the batch has lines of several lengths, and a window hides far tokens.

use super::batches::Group;
use super::distances::ProjectedDistances;
use super::layer::Run;
use super::shape::{Positions, Shape, Windows};
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::{Context, DType, FlashAttnExtOptions, Tensor};

/// Queries of a window's piece of a line.
const PIECE: i64 = 128;

/// What is added to products of queries and keys by their distance: the mask [keys, queries] of a piece of a line. Key
/// `i` of the mask is `reach - i` tokens before the first query.
pub struct NearMask {
    mask: Tensor,
    /// The largest distance of keys that are read.
    reach: i64,
}

impl NearMask {
    /// The mask of a batch whose longest line has this number of tokens, if the model needs one.
    pub fn of(ctx: &Context, shape: &Shape, longest: usize) -> Result<Option<Self>> {
        let longest = longest as i64;
        match (&shape.positions, &shape.windows) {
            (_, Some(windows)) if longest > windows.distance + 1 => {
                let distance = windows.distance;
                let near = |far: i64| if far.abs() <= distance { 0.0 } else { f32::NEG_INFINITY };
                Ok(Some(NearMask { mask: near_mask(ctx, distance, longest, near)?, reach: distance }))
            }
            (Positions::Slopes(_), _) => {
                let reach = (longest - 1).max(0);
                Ok(Some(NearMask { mask: near_mask(ctx, reach, longest, |far| -(far.abs() as f32))?, reach }))
            }
            _ => Ok(None),
        }
    }

    /// The part for these keys and queries of a line.
    fn part(&self, keys: &Range<i64>, queries: &Range<i64>) -> Result<Tensor> {
        let start = keys.start - (queries.start - self.reach);
        Ok(self.mask.slice([start, 0], [keys.end - keys.start, queries.end - queries.start])?)
    }
}

/// A mask of the values of distances up to `reach`, and beyond for queries that are not the first.
fn near_mask(ctx: &Context, reach: i64, longest: i64, value: impl Fn(i64) -> f32) -> Result<Tensor> {
    let queries = PIECE.min(longest);
    let keys = queries + 2 * reach;
    let values: Vec<f32> =
        (0..queries).flat_map(|query| (0..keys).map(move |key| key - reach - query)).map(value).collect();
    let mask = ctx.zeros(DType::F32, [keys, queries])?;
    mask.write(&values)?;
    Ok(mask)
}

/// A layer's attention of lines to themselves.
pub struct Attention<'a> {
    pub run: &'a Run<'a>,
    /// The layer's windows, if it has them.
    pub windows: Option<&'a Windows>,
    /// The layer's keys and queries of distances, if it has them.
    pub distances: Option<ProjectedDistances<'a>>,
    /// Queries, keys and values, [head, heads, tokens].
    pub qkv: [&'a Tensor; 3],
}

impl Attention<'_> {
    /// Attention of each line to itself: lines of one length form the batch of one node, without padding. With a window,
    /// each piece of a line attends to the tokens near it.
    pub fn of_all(&self) -> Result<Tensor> {
        let run = self.run;
        let width = run.shape.heads * run.shape.head;
        let of_group = |group: &Group| {
            let (length, lines) = (group.length as i64, group.lines as i64);
            let attend = |queries: Range<i64>, keys: Range<i64>, mask: Option<&Tensor>| {
                let q = part(self.qkv[0], group.start, group.length, lines, queries)?;
                self.attend(group, q, keys, mask)
            };
            let c = match self.near() {
                Some(near) if near.reach + 1 < length || self.windows.is_none() => {
                    let piece = |first: i64| {
                        let queries = first..(first + PIECE).min(length);
                        let keys = (first - near.reach).max(0)..(queries.end + near.reach).min(length);
                        let mask = near.part(&keys, &queries)?;
                        attend(queries, keys, Some(&mask))
                    };
                    joined((0..length).step_by(PIECE as usize).map(piece).collect::<Result<_>>()?)?
                }
                _ => attend(0..length, 0..length, self.biases(length, length)?.as_ref())?,
            };
            Ok(c.reshape([width, length * lines])?)
        };
        joined(run.batch.groups.iter().map(of_group).collect::<Result<_>>()?)
    }

    /// Attention of each line's first token to the line. The queries are those of first tokens alone.
    pub fn of_firsts(&self) -> Result<Tensor> {
        let run = self.run;
        let (mut all, mut before) = (Vec::new(), 0);
        for group in &run.batch.groups {
            let (length, lines) = (group.length as i64, group.lines as i64);
            let near = self.windows.map_or(length, |windows| length.min(windows.distance + 1));
            let q = part(self.qkv[0], before, 1, lines, 0..1)?;
            let mask = match self.near().filter(|_| self.windows.is_none()) {
                Some(slopes) => Some(slopes.part(&(0..near), &(0..1))?),
                None => self.biases(near, 1)?,
            };
            let c = self.attend(group, q, 0..near, mask.as_ref())?;
            all.push(c.reshape([run.shape.heads * run.shape.head, lines])?);
            before += group.lines;
        }
        joined(all)
    }

    /// The mask by distance in a layer with a window, or in each layer of a model with slopes.
    fn near(&self) -> Option<&NearMask> {
        let has_slopes = matches!(self.run.shape.positions, Positions::Slopes(_));
        self.run.near.as_ref().filter(|_| self.windows.is_some() || has_slopes)
    }

    /// The attention of these queries of a group's lines, [head, queries, heads, lines], to some of its keys: [elements
    /// of all heads, queries, lines].
    fn attend(&self, group: &Group, q: Tensor, keys: Range<i64>, mask: Option<&Tensor>) -> Result<Tensor> {
        let (run, lines) = (self.run, group.lines as i64);
        let of = |t: &Tensor| part(t, group.start, group.length, lines, keys.clone());
        let (k, v) = (of(self.qkv[1])?, of(self.qkv[2])?);
        let mut options = FlashAttnExtOptions::new().scale(run.shape.attention_scale);
        if let Positions::Slopes(steepness) = run.shape.positions {
            options = options.max_bias(steepness);
        }
        let products = self.distances.as_ref().map(|distances| distances.mask(&q, &k)).transpose()?;
        let c = q.flash_attn_ext(&k, &v, products.as_ref().or(mask), None, options)?;
        Ok(c.reshape([run.shape.heads * run.shape.head, -1, lines])?)
    }

    /// The biases of the first keys and queries.
    fn biases(&self, keys: i64, queries: i64) -> Result<Option<Tensor>> {
        let part = |all: &Tensor| {
            let heads = all.shape().get(2).copied().unwrap_or(1);
            all.slice([0, 0, 0], [keys, queries, heads])
        };
        Ok(self.run.biases.as_ref().map(part).transpose()?)
    }
}

/// These tokens of `lines` lines as [head, tokens, heads, lines]: lines of `length` tokens, from the token `start` of t,
/// [head, heads, tokens], on.
fn part(t: &Tensor, start: usize, length: usize, lines: i64, tokens: Range<i64>) -> Result<Tensor> {
    let (shape, strides) = (t.shape(), t.strides());
    let (of_head, of_token) = (strides[1], strides[2]);
    let first = of_token * (start + tokens.start as usize);
    let (shape, strides) =
        ([shape[0], tokens.end - tokens.start, shape[1], lines], [of_token, of_head, of_token * length]);
    Ok(t.view(shape, &strides, first)?)
}

/// Joins tensors along dimension 1, neighbours first, so that each element is copied only log2(parts) times.
pub fn joined(mut parts: Vec<Tensor>) -> Result<Tensor> {
    while parts.len() > 1 {
        let pairs = parts.chunks(2);
        parts = pairs
            .map(|pair| match pair {
                [a, b] => Ok(a.concat(b, 1)?),
                one => Ok(one[0].clone()),
            })
            .collect::<Result<_>>()?;
    }
    parts.pop().ok_or_else(|| Error::internal("a batch without lines"))
}
