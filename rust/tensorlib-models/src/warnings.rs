//! Collects oddities of a model's files that are no errors.

use std::sync::{Arc, Mutex, PoisonError};

/// Lines for standard error, each once. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds a line unless it is there already.
    pub(crate) fn add(&self, message: impl Into<String>) {
        let (message, mut list) = (message.into(), self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !list.contains(&message) {
            list.push(message);
        }
    }

    /// All lines so far.
    pub(crate) fn list(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
