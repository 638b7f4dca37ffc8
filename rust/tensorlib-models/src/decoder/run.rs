//! The data that the layers of one run share.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::shape::Shape;
use crate::activity::Tested;
use crate::Result;
use std::cell::RefCell;
use tensorlib::nn::Pass;
use tensorlib::Tensor;

/// The data that all layers of a run share.
pub struct Run<'a> {
    pub shape: &'a Shape,
    pub cache: &'a Cache,
    /// The tokens' positions, which are also their rows in the cache.
    pub positions: Tensor,
    /// Which keys each token sees: [keys, tokens].
    pub mask: Tensor,
    /// The mask of layers with a window.
    pub window_mask: Option<Tensor>,
    pub tokens: i64,
    pub keys: i64,
    /// The pass of all layers, which is for evaluation.
    pub pass: Pass,
    /// The cache of experts, if there is one.
    pub experts: Option<&'a ExpertCache>,
    /// The experts that each token uses, [used, tokens], for layers with cached experts.
    pub chosen: RefCell<Vec<(usize, Tensor)>>,
    /// The value of neurons to observe, if any.
    pub observed: Option<Tested>,
    /// The observed values of each layer, [neurons, tokens].
    pub neurons: RefCell<Vec<(usize, Tensor)>>,
}

impl Run<'_> {
    /// Keeps the observed value of a layer's neurons, taken from the gates before the activation or from the products.
    pub fn observe(&self, layer: usize, gate: &Tensor, hidden: &Tensor) -> Result<()> {
        let found = match self.observed {
            None => return Ok(()),
            Some(Tested::Hidden) => hidden.clone(),
            Some(Tested::Gate | Tested::Positive) => self.shape.activation.of(gate)?,
        };
        self.neurons.borrow_mut().push((layer, found));
        Ok(())
    }
}
