//! Attention of lines to themselves: the batch has lines of several lengths, and a window hides far tokens.

use super::batches::Group;
use super::layer::Run;
use super::shape::Windows;
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::{Context, DType, FlashAttnExtOptions, Tensor};

/// Queries of a window's piece of a line.
const PIECE: i64 = 128;

/// The mask [keys, queries] of a piece of a line that attends to keys at a distance of up to a window's: key `i` of the
/// mask is `distance - i` tokens before the first query.
pub fn window_mask(ctx: &Context, windows: &Windows, longest: usize) -> Result<Tensor> {
    let queries = PIECE.min(longest as i64);
    let keys = queries + 2 * windows.distance;
    let near = |query: i64, key: i64| (query..=query + 2 * windows.distance).contains(&key);
    let of_query = |query| (0..keys).map(move |key| if near(query, key) { 0.0 } else { f32::NEG_INFINITY });
    let values: Vec<f32> = (0..queries).flat_map(of_query).collect();
    let mask = ctx.zeros(DType::F32, [keys, queries])?;
    mask.write(&values)?;
    Ok(mask)
}

/// Attention of each line to itself: lines of one length form the batch of one node, without padding. With a window,
/// each piece of a line attends to the tokens near it.
pub fn attended(run: &Run, windows: Option<&Windows>, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let width = run.shape.heads * run.shape.head;
    let of_group = |group: &Group| {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let attend = |queries: Range<i64>, keys: Range<i64>, mask: Option<&Tensor>| {
            let q = part(q, group.start, group.length, lines, queries)?;
            attend(run, group, q, [k, v], keys, mask)
        };
        let c = match (windows, &run.window) {
            (Some(windows), Some(mask)) if length > windows.distance + 1 => {
                let piece = |first: i64| {
                    let queries = first..(first + PIECE).min(length);
                    let keys = (first - windows.distance).max(0)..(queries.end + windows.distance).min(length);
                    let start = keys.start - (first - windows.distance);
                    let sizes = [keys.end - keys.start, queries.end - queries.start];
                    attend(queries, keys, Some(&mask.slice([start, 0], sizes)?))
                };
                joined((0..length).step_by(PIECE as usize).map(piece).collect::<Result<_>>()?)?
            }
            _ => attend(0..length, 0..length, biases(run, length, length)?.as_ref())?,
        };
        Ok(c.reshape([width, length * lines])?)
    };
    joined(run.batch.groups.iter().map(of_group).collect::<Result<_>>()?)
}

/// Attention of each line's first token, of which `q` has the queries, to the line.
pub fn attended_first(run: &Run, windows: Option<&Windows>, [q, k, v]: [&Tensor; 3]) -> Result<Tensor> {
    let (mut all, mut before) = (Vec::new(), 0);
    for group in &run.batch.groups {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let near = windows.map_or(length, |windows| length.min(windows.distance + 1));
        let q = part(q, before, 1, lines, 0..1)?;
        let c = attend(run, group, q, [k, v], 0..near, biases(run, near, 1)?.as_ref())?;
        all.push(c.reshape([run.shape.heads * run.shape.head, lines])?);
        before += group.lines;
    }
    joined(all)
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

/// The attention of these queries of a group's lines to some of its keys: [elements of all heads, queries, lines].
fn attend(
    run: &Run,
    group: &Group,
    q: Tensor,
    [k, v]: [&Tensor; 2],
    keys: Range<i64>,
    mask: Option<&Tensor>,
) -> Result<Tensor> {
    let lines = group.lines as i64;
    let of = |t: &Tensor| part(t, group.start, group.length, lines, keys.clone());
    let c =
        q.flash_attn_ext(&of(k)?, &of(v)?, mask, None, FlashAttnExtOptions::new().scale(run.shape.attention_scale))?;
    Ok(c.reshape([run.shape.heads * run.shape.head, -1, lines])?)
}

/// The biases of the first keys and queries.
fn biases(run: &Run, keys: i64, queries: i64) -> Result<Option<Tensor>> {
    let part = |all: &Tensor| all.slice([0, 0, 0], [keys, queries, run.shape.heads]);
    Ok(run.biases.as_ref().map(part).transpose()?)
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
