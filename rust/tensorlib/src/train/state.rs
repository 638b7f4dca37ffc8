//! The state of training that a checkpoint stores in addition to tensors.

use super::{Epoch, Stopped};
use crate::{Result, Tensor};

/// The state of training.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The completed epochs.
    pub(super) history: Vec<Epoch>,
    /// Completed batches of the next epoch, the sum of their samples' losses, and the number of these
    /// samples.
    pub(super) batches: usize,
    pub(super) loss: f64,
    pub(super) counted: usize,
    /// The rate of the last step.
    pub(super) rate: f64,
    pub(super) best: Option<Best>,
    /// Why training has ended, if it has.
    pub(super) stopped: Option<Stopped>,
}

/// The parameters and buffers of the best epoch.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) epoch: usize,
    pub(super) loss: f64,
    pub(super) parameters: Vec<Vec<u8>>,
}

pub(super) fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>> {
    let mut bytes = vec![0; tensor.nbytes()];
    tensor.read_bytes(0, &mut bytes)?;
    Ok(bytes)
}
