//! Gradients of several batches, added up.

use crate::nn::invalid;
use crate::{Context, DType, Result, Tensor};

/// Sums of gradients of several small batches, for one step as of a large one.
///
/// [`Accumulator::first`] and [`Accumulator::more`] are computed for each small batch, [`Optimiser::steps_by`](super::Optimiser::steps_by) of
/// [`Accumulator::sums`] once behind the last. Gradients of means are weighed by the batch's part of all samples: differentiate by a
/// seed of that.
#[derive(Debug)]
pub struct Accumulator {
    sums: Vec<Tensor>,
}

impl Accumulator {
    /// F32 leafs in `state`, a context on the parameters' device, of their shapes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn new(state: &Context, parameters: &[Tensor]) -> Result<Self> {
        let sums = parameters.iter().map(|p| state.zeros(DType::F32, p.shape())).collect::<Result<_>>()?;
        Ok(Self { sums })
    }

    /// The sums, one for each parameter.
    pub fn sums(&self) -> &[Tensor] {
        &self.sums
    }

    /// The nodes that begin sums with these gradients.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for another number of gradients; as [`Context::cpy`].
    pub fn first(&self, ctx: &Context, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        self.each(gradients, |sum, gradient| ctx.cpy(gradient, sum))
    }

    /// The nodes that add these gradients to the sums.
    ///
    /// # Errors
    /// As [`Accumulator::first`].
    pub fn more(&self, ctx: &Context, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        self.each(gradients, |sum, gradient| ctx.cpy(&ctx.add(sum, gradient)?, sum))
    }

    fn each(&self, gradients: &[Tensor], add: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
        if gradients.len() != self.sums.len() {
            let (found, wanted) = (gradients.len(), self.sums.len());
            return Err(invalid(format!("Accumulator: {found} gradients, {wanted} sums: as many are valid")));
        }
        self.sums.iter().zip(gradients).map(|(sum, gradient)| add(sum, gradient)).collect()
    }
}
