//! The memory of a model's weights. A CPU multiplies with packed copies of them; once these exist, the original data
//! are freed, so that a model takes its size once and not twice.

use crate::weights::Loaded;
use crate::Result;
use std::sync::{Mutex, PoisonError, RwLock};
use tensorlib::{Backend, Context, Tensor};

/// The memory that the weights of a model take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The number of the model's tensors.
    pub tensors: usize,
    /// Their bytes, as stored or converted.
    pub stored: usize,
    /// The number of tensors that a packed copy has replaced.
    pub replaced_tensors: usize,
    /// Bytes of the original data of these tensors, which were released to the system, or to the cache of the file that
    /// they are mapped from.
    pub given_back: usize,
    /// Bytes of packed copies that the backend keeps, for all of its models, plus everything else that the model holds
    /// in memory. Pages of mapped files do not count.
    pub held: usize,
}

/// Weights whose original data may be released.
pub struct WeightMemory {
    backend: Backend,
    contexts: Vec<Context>,
    tensors: usize,
    stored: usize,
    state: Mutex<State>,
    /// Read-locked while the weights are used, write-locked while original data are released. The engine itself would
    /// fail an overlap with `Busy` instead of waiting.
    in_use: RwLock<()>,
}

struct State {
    left: Vec<Tensor>,
    given_back: usize,
    /// The backend's packed bytes when all remaining tensors were last tried.
    tried_at: usize,
}

impl WeightMemory {
    /// Manages these weights in these contexts.
    pub fn new(loaded: Vec<Loaded>, contexts: &[Context], backend: &Backend) -> Self {
        let left: Vec<Tensor> = loaded.into_iter().map(|loaded| loaded.tensor).collect();
        WeightMemory {
            backend: backend.clone(),
            contexts: contexts.to_vec(),
            tensors: left.len(),
            stored: left.iter().map(Tensor::nbytes).sum(),
            state: Mutex::new(State { left, given_back: 0, tried_at: 0 }),
            in_use: RwLock::new(()),
        }
    }

    /// Computes with the weights; no original data are released meanwhile. `compute` must not call this again.
    pub fn keep<T>(&self, compute: impl FnOnce() -> Result<T>) -> Result<T> {
        let _kept = self.in_use.read().unwrap_or_else(PoisonError::into_inner);
        compute()
    }

    /// Call it after a graph was computed: releases the original data of tensors that have copies since, after waiting
    /// for other threads' computations. Data that cannot be released stay; data that a caller's own graph is using are
    /// tried again the next time.
    pub fn give_back(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        // Only the CPU keeps copies, and without new copies there is nothing to release.
        if !self.backend.devices().iter().any(|device| device == "cpu")
            || self.backend.packed_memory() == state.tried_at
        {
            return;
        }
        let _alone = self.in_use.write().unwrap_or_else(PoisonError::into_inner);
        let (mut given_back, mut busy) = (0, false);
        state.left.retain(|tensor| match tensor.drop_original() {
            Ok(()) => {
                given_back += tensor.nbytes();
                false
            }
            Err(error) => {
                busy |= matches!(error, tensorlib::Error::Busy(_));
                true
            }
        });
        state.given_back += given_back;
        state.tried_at = if busy { 0 } else { self.backend.packed_memory() };
    }

    /// Names a value that is not finite among the weights that are still as they were loaded.
    pub fn not_finite(&self) -> Option<String> {
        let state = self.state.lock().ok()?;
        state.left.iter().find_map(|tensor| {
            let value = tensor.to_f32_vec().ok()?.into_iter().find(|value| !value.is_finite())?;
            Some(format!("tensor '{}' holds {value}", tensor.name()))
        })
    }

    /// The memory that the weights take now.
    pub fn memory(&self) -> Memory {
        self.added_to(Memory { held: self.backend.packed_memory(), ..Memory::default() })
    }

    /// This memory with that of these weights, but for the backend's packed copies, which count once.
    pub fn added_to(&self, other: Memory) -> Memory {
        let (left, given_back) =
            self.state.lock().map_or((self.tensors, 0), |state| (state.left.len(), state.given_back));
        Memory {
            tensors: other.tensors + self.tensors,
            stored: other.stored + self.stored,
            replaced_tensors: other.replaced_tensors + self.tensors - left,
            given_back: other.given_back + given_back,
            held: other.held + self.contexts.iter().map(Context::used_memory).sum::<usize>(),
        }
    }
}
