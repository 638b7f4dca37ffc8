//! Gradient accumulation over several batches.

use crate::nn::invalid;
use crate::{Context, DType, Result, Tensor};

/// Sums of the gradients of several small batches, for one optimiser step as of a large batch.
///
/// Compute [`Accumulator::first`] or [`Accumulator::more`] for each small batch, then
/// [`Optimiser::steps_by`](super::Optimiser::steps_by) of [`Accumulator::sums`] once after the last. To weigh the
/// gradient of a mean by the batch's fraction of all samples, pass that fraction as the seed of the gradients.
#[derive(Debug)]
pub struct Accumulator {
    sums: Vec<Tensor>,
}

impl Accumulator {
    /// Makes the sums: F32 leafs of the parameters' shapes in `state`, a context on the parameters' device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn new(state: &Context, parameters: &[Tensor]) -> Result<Self> {
        let sums = parameters.iter().map(|p| state.zeros(DType::F32, p.shape())).collect::<Result<_>>()?;
        Ok(Self { sums })
    }

    /// Sums that are views of a few leafs, the buckets, of at most `most` bytes or one sum.
    pub(super) fn in_buckets(state: &Context, parameters: &[Tensor], most: usize) -> Result<(Self, Vec<Tensor>)> {
        let (mut sums, mut buckets) = (Vec::new(), Vec::new());
        let mut rest = parameters;
        while let Some(first) = rest.first() {
            let mut n = first.n_elements();
            let mut taken = 1;
            while let Some(next) = rest.get(taken).filter(|next| (n + next.n_elements()) * size_of::<f32>() <= most) {
                n += next.n_elements();
                taken += 1;
            }
            let bucket = state.zeros(DType::F32, [n as i64])?;
            let mut begin = 0;
            for parameter in &rest[..taken] {
                let n = parameter.n_elements() as i64;
                sums.push(bucket.narrow(0, begin, n)?.reshape(parameter.shape())?);
                begin += n;
            }
            buckets.push(bucket);
            rest = &rest[taken..];
        }
        Ok((Self { sums }, buckets))
    }

    /// The sums, one per parameter.
    pub fn sums(&self) -> &[Tensor] {
        &self.sums
    }

    /// Sets all sums to 0.
    pub(super) fn clear(&self) -> Result<()> {
        self.sums.iter().try_for_each(|sum| sum.write_bytes(0, &vec![0; sum.nbytes()]))
    }

    /// Appends nodes that set the sums to these gradients.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a wrong number of gradients; as [`Tensor::cpy`].
    pub fn first(&self, ctx: &Context, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        ctx.within(|| self.each(gradients, |sum, gradient| gradient.cpy(sum)))
    }

    /// Appends nodes that add these gradients to the sums.
    ///
    /// # Errors
    /// As [`Accumulator::first`].
    pub fn more(&self, ctx: &Context, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        ctx.within(|| self.each(gradients, |sum, gradient| sum.add(gradient)?.cpy(sum)))
    }

    fn each(&self, gradients: &[Tensor], add: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
        if gradients.len() != self.sums.len() {
            let (found, wanted) = (gradients.len(), self.sums.len());
            return Err(invalid(format!("Accumulator: {found} gradients, {wanted} sums: as many are valid")));
        }
        self.sums.iter().zip(gradients).map(|(sum, gradient)| add(sum, gradient)).collect()
    }
}
