//! Where training is: what a checkpoint has of it beside tensors.

use super::{Epoch, Stopped};
use crate::{Result, Tensor};

/// Where training is.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Epochs that are done.
    pub(super) history: Vec<Epoch>,
    /// Batches of the next one that are done, the sum of their samples' losses, and how many these are.
    pub(super) batches: usize,
    pub(super) loss: f64,
    pub(super) counted: usize,
    /// The last step's.
    pub(super) rate: f64,
    pub(super) best: Option<Best>,
    /// Where it has ended.
    pub(super) stopped: Option<Stopped>,
}

/// The parameters of the best epoch.
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
