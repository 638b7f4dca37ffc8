//! Dropout.

use super::{invalid, Module, Pass};
use crate::{Result, Tensor};

/// Dropout: in training each element is set to 0 with this probability, and the others are scaled up to keep the mean;
/// in evaluation x stays as it is (N. Srivastava and others, Dropout: A Simple Way to Prevent Neural Networks from
/// Overfitting, 2014).
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    p: f64,
}

impl Dropout {
    /// A layer that drops elements with probability `p`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a probability below 0 or at least 1.
    pub fn new(p: f64) -> Result<Self> {
        if !(0. ..1.).contains(&p) {
            return Err(invalid(format!("Dropout::new: {p}: a probability from 0 on and below 1 is valid")));
        }
        Ok(Self { p })
    }

    /// Whether the layer drops anything in training.
    pub(super) fn drops(&self) -> bool {
        self.p > 0.
    }
}

impl Module for Dropout {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        match pass.random() {
            Some((state, stream)) if self.p > 0. => x.dropout(state, self.p, stream),
            _ => Ok(x.clone()),
        }
    }
}
