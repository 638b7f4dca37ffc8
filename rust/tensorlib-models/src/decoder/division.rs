//! How a model is divided over the ranks of a group (Shoeybi and others, Megatron-LM, 2019).
//!
//! Each rank has some of the heads of attention and some of the neurons of feed-forward blocks. What they compute is a
//! term of the block's result, and the ranks add their terms. A block that cannot be divided lies on one rank, which sends its
//! result to the others. Everything between the blocks is computed on all ranks.

use super::run::Run;
use super::shape::{FfnKind, HeadNorms, Recurrence, Shape};
use crate::weights::{TensorPart, Weights};
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::{shard_range, DType, Tensor};

/// Who computes a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// This process, without others.
    Alone,
    /// All ranks, whose terms are added.
    Together,
    /// One rank.
    One(usize),
}

/// What a rank has of a model.
#[derive(Clone, Debug)]
pub struct Division {
    pub rank: usize,
    pub ranks: usize,
    layers: usize,
    /// The heads of keys in layers whose heads are divided.
    heads: Vec<Range<i64>>,
}

impl Division {
    /// Divides a model of this shape and with these weights.
    pub fn new(weights: &Weights, shape: &Shape, (rank, ranks): (usize, usize)) -> Result<Self> {
        if matches!(shape.recurrence, Some(Recurrence::Rwkv(_))) {
            let message = "rwkv7 over several ranks: its layers read values of the first one";
            return Err(Error::unsupported(message).with_hint("open it in one process"));
        }
        let layers = usize::try_from(shape.layers).unwrap_or(0);
        let block = |layer: usize| weights.column_block(&format!("blk.{layer}.attn_output.weight"));
        // Layers that read another layer's keys have the same heads as it has.
        let block = (0..layers).filter(|layer| shape.blocks_of(*layer).attention).map(block).max().unwrap_or(1);
        let heads = |layer: usize| {
            let keys = shape.keys_of(layer);
            let columns = shape.heads / keys.count.max(1) * keys.value.max(1);
            Ok(shard_range(keys.count, block / common_divisor(block, columns), rank, ranks)?)
        };
        Ok(Division { rank, ranks, layers, heads: (0..layers).map(heads).collect::<Result<_>>()? })
    }

    /// What each rank has of n.
    pub fn of_all_ranks(&self, n: i64) -> Result<Vec<Range<i64>>> {
        Ok((0..self.ranks).map(|rank| shard_range(n, 1, rank, self.ranks)).collect::<tensorlib::Result<_>>()?)
    }

    /// The rank of a layer's blocks that cannot be divided.
    fn rank_of(&self, layer: usize) -> usize {
        layer * self.ranks / self.layers.max(1)
    }
}

fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 {
        a
    } else {
        common_divisor(b, a % b)
    }
}

impl Shape {
    fn ranks_of(&self, layer: usize, can_be_divided: bool) -> Ranks {
        match &self.division {
            None => Ranks::Alone,
            Some(_) if can_be_divided => Ranks::Together,
            Some(division) => Ranks::One(division.rank_of(layer)),
        }
    }

    /// Who computes a layer's attention. Norms of all heads together need the results of all of them.
    pub fn ranks_of_attention(&self, layer: usize) -> Ranks {
        let by_head = !matches!(self.head_norms, HeadNorms::Whole | HeadNorms::Own);
        self.ranks_of(layer, by_head && !self.inner_norms && self.latent.is_none())
    }

    /// Who computes a layer's block with a state.
    pub fn ranks_of_recurrence(&self, layer: usize) -> Ranks {
        self.ranks_of(layer, false)
    }

    /// Who computes a layer's feed-forward block. `transposed`: whether its down projection is.
    pub fn ranks_of_ffn(&self, layer: usize, transposed: bool) -> Ranks {
        let has_cut = self.altup.as_ref().is_some_and(|altup| altup.cuts.get(layer).copied().flatten().is_some());
        let can_be_divided = match self.blocks_of(layer).ffn {
            FfnKind::Dense => !self.inner_norms && !has_cut && !transposed,
            FfnKind::Experts => self.experts.as_ref().is_some_and(|experts| experts.width.is_none()),
            FfnKind::None | FfnKind::Shifted => false,
        };
        self.ranks_of(layer, can_be_divided)
    }

    /// Whether this rank computes a block, or a part of it.
    pub fn is_here(&self, ranks: Ranks) -> bool {
        match (ranks, &self.division) {
            (Ranks::One(rank), Some(division)) => rank == division.rank,
            _ => true,
        }
    }

    /// The heads of a layer's keys that this rank has.
    pub fn own_heads(&self, layer: usize) -> Range<i64> {
        let all = 0..self.keys_of(layer).count;
        match (self.ranks_of_attention(layer), &self.division) {
            (Ranks::Together, Some(division)) => division.heads.get(layer).cloned().unwrap_or(all),
            (ranks, _) if self.is_here(ranks) => all,
            _ => 0..0,
        }
    }

    /// This rank's part of `n` neurons whose down projection has this name: all of them where a block is not divided, and
    /// where another rank's block is loaded.
    pub fn own_neurons(&self, weights: &Weights, ranks: Ranks, down: &str, n: i64) -> Result<Neurons> {
        let own = match self.division.as_ref().filter(|_| ranks == Ranks::Together && !weights.is_elsewhere()) {
            Some(Division { rank, ranks, .. }) => {
                shard_range(n, weights.column_block(&format!("{down}.weight")), *rank, *ranks)?
            }
            None => 0..n,
        };
        Ok(Neurons { all: n, own })
    }
}

/// Neurons of a feed-forward block, and which of them this rank has.
#[derive(Clone, Debug)]
pub struct Neurons {
    pub all: i64,
    pub own: Range<i64>,
}

impl Neurons {
    /// The neurons' rows of a matrix that makes them.
    pub fn rows(&self) -> TensorPart {
        TensorPart::rows([self.own.clone()])
    }

    /// The neurons' columns of a matrix that reads them.
    pub fn columns(&self) -> TensorPart {
        TensorPart::columns(self.own.clone())
    }
}

/// A block of a layer, if this rank computes it or a part of it.
pub struct Placed<T> {
    block: Option<T>,
    ranks: Ranks,
}

impl<T> Placed<T> {
    /// Loads a block. What other ranks have is checked. `is_here`: whether this rank has a part of it.
    pub fn load(weights: &Weights, ranks: Ranks, is_here: bool, load: impl FnOnce() -> Result<T>) -> Result<Self> {
        let block = match is_here {
            true => Some(load()?),
            false => weights.elsewhere(|| load().map(drop)).map(|()| None)?,
        };
        Ok(Placed { block, ranks })
    }

    /// The block, if this rank has it.
    pub fn block(&self) -> Option<&T> {
        self.block.as_ref()
    }

    /// The block's result, [width, tokens], on all ranks.
    pub fn forward(&self, run: &Run, compute: impl FnOnce(&T) -> Result<Tensor>) -> Result<Tensor> {
        run.joined(self.ranks, self.block.as_ref().map(compute).transpose()?)
    }
}

impl Run<'_> {
    /// The result of a block, [width, tokens], on all ranks, from what this rank has computed of it.
    pub fn joined(&self, ranks: Ranks, own: Option<Tensor>) -> Result<Tensor> {
        let nothing = || Ok::<_, Error>(self.positions.context().zeros(DType::F32, [self.shape.width, self.tokens])?);
        match (ranks, self.group) {
            (Ranks::Alone, _) | (_, None) => own.ok_or_else(|| Error::internal("a block that no rank computes")),
            (Ranks::Together, Some(group)) => Ok(own.map_or_else(nothing, Ok)?.all_sum(group)?),
            (Ranks::One(rank), Some(group)) => Ok(own.map_or_else(nothing, Ok)?.broadcast(rank as i64, group)?),
        }
    }

    /// What the first rank has computed, on all ranks. Ranks whose processors differ could round differently, and choose
    /// differently.
    pub fn agreed(&self, x: Tensor) -> Result<Tensor> {
        match self.group {
            Some(group) => Ok(x.broadcast(0, group)?),
            None => Ok(x),
        }
    }
}
