//! Ranks that train one model: each computes the gradients of its share of every batch.

use super::state::bytes_of;
use super::{Accumulator, Optimiser};
use crate::nn::invalid;
use crate::{Backend, Context, DType, Graph, Group, Result, Tensor};
use std::ops::Range;

/// The gradients of this many bytes are exchanged at once: enough for the full speed of a network.
const BUCKET: usize = 4 << 20;

/// How many numbers [`Ranks::sum`] adds at once.
const NUMBERS: usize = 4;

/// The ranks, of which this is one.
pub(super) struct Ranks {
    group: Group,
    own: Tensor,
    total: Tensor,
    graph: Graph,
}

impl Ranks {
    pub(super) fn new(backend: &Backend, group: &Group) -> Result<Self> {
        let ctx = Context::on(backend);
        let own = ctx.zeros(DType::F64, [NUMBERS as i64])?;
        let total = own.all_sum(group)?;
        let graph = Graph::new(&[&total])?;
        Ok(Self { group: group.clone(), own, total, graph })
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Whether this rank writes files and shows progress.
    pub(super) fn is_first(&self) -> bool {
        self.group.rank() == 0
    }

    /// This rank's part of `n` things: their sizes differ by at most one, and the first ranks have the larger ones.
    pub(super) fn share(&self, n: usize) -> Range<usize> {
        let (rank, size) = (self.group.rank(), self.group.size());
        let begin = |rank: usize| rank * (n / size) + rank.min(n % size);
        begin(rank)..begin(rank + 1)
    }

    /// The sums of all ranks' numbers, of which there are at most [`NUMBERS`].
    pub(super) fn sum<const N: usize>(&self, backend: &Backend, numbers: [f64; N]) -> Result<[f64; N]> {
        let mut all = [0.; NUMBERS];
        all[..N].copy_from_slice(&numbers);
        self.own.write(&all)?;
        self.graph.compute(backend)?;
        let total = self.total.to_vec::<f64>()?;
        Ok(std::array::from_fn(|i| total[i]))
    }

    /// On how many ranks this is so.
    pub(super) fn count(&self, backend: &Backend, is_so: bool) -> Result<f64> {
        self.sum(backend, [flag(is_so)]).map(|[n]| n)
    }

    /// The bytes of rank 0.
    pub(super) fn first_bytes(&self, backend: &Backend, bytes: &[u8]) -> Result<Vec<u8>> {
        let length = |n: usize| if self.is_first() { n as f64 } else { 0. };
        let [n] = self.sum(backend, [length(bytes.len())])?;
        let ctx = Context::on(backend);
        let own = ctx.zeros(DType::U8, [n as i64])?;
        if self.is_first() {
            own.write_bytes(0, bytes)?;
        }
        let first = own.broadcast(0, &self.group)?;
        Graph::new(&[&first])?.compute(backend)?;
        bytes_of(&first)
    }

    /// Gives all ranks the values that these tensors have on rank 0.
    pub(super) fn take_from_first(&self, backend: &Backend, tensors: &[Tensor]) -> Result<()> {
        let ctx = Context::on(backend);
        let copies = ctx.within(|| -> Result<Vec<Tensor>> {
            tensors.iter().map(|tensor| tensor.broadcast(0, &self.group)?.cpy(tensor)).collect()
        })?;
        match copies.is_empty() {
            true => Ok(()),
            false => Graph::new(&copies.iter().collect::<Vec<_>>())?.compute(backend),
        }
    }

    /// An error on all ranks if one of them has another text than rank 0.
    pub(super) fn check_alike(&self, backend: &Backend, text: &str) -> Result<()> {
        let first = self.first_bytes(backend, text.as_bytes())?;
        let differs = first != text.as_bytes();
        let n = self.count(backend, differs)?;
        if n == 0. {
            return Ok(());
        }
        let detail = match differs {
            true => format!("rank {} has {text}", self.group.rank()),
            false => format!("{n} of {} ranks have other ones", self.group.size()),
        };
        Err(invalid(format!(
            "Trainer: the ranks of the group differ: rank 0 has {}, {detail}: the same is valid on all ranks",
            String::from_utf8_lossy(&first)
        )))
    }
}

/// A number for [`Ranks::sum`].
pub(super) fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// The sums of gradients and the averages of buffers over the ranks, and how they are computed.
pub(super) struct Exchange {
    /// This rank's fraction of the batch's samples.
    weight: Tensor,
    graph: Graph,
}

impl Exchange {
    /// The accumulator's sums lie in buckets, which are exchanged as they are.
    pub(super) fn new(backend: &Backend, ranks: &Ranks, optimiser: &Optimiser) -> Result<(Accumulator, Self)> {
        let ctx = &Context::on(backend);
        let (sums, buckets) = Accumulator::in_buckets(ctx, &optimiser.parameters(), BUCKET)?;
        let weight = ctx.zeros(DType::F32, [1])?;
        let of_exchange = Context::on(backend);
        let nodes = of_exchange.within(|| -> Result<Vec<Tensor>> {
            let mut nodes = Vec::new();
            for bucket in &buckets {
                nodes.push(bucket.all_sum(ranks.group())?.cpy(bucket)?);
            }
            // Counters, which are integers, are alike on all ranks.
            for buffer in optimiser.buffers().iter().filter(|buffer| buffer.dtype() == DType::F32) {
                nodes.push(buffer.mul(&weight)?.all_sum(ranks.group())?.cpy(buffer)?);
            }
            Ok(nodes)
        })?;
        let graph = Graph::new(&nodes.iter().collect::<Vec<_>>())?;
        Ok((sums, Self { weight, graph }))
    }

    /// `weight` is this rank's fraction of the samples.
    pub(super) fn compute(&self, backend: &Backend, weight: f32) -> Result<()> {
        self.weight.write(&[weight])?;
        self.graph.compute(backend)
    }
}
