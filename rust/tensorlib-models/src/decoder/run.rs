//! The data that the layers of one run share.

use super::attend::Keys;
use super::expert_cache::ExpertCache;
use super::shape::Shape;
use super::state_slots::{self, RunStates};
use crate::activity::Tested;
use crate::Result;
use std::cell::RefCell;
use std::collections::HashMap;
use tensorlib::nn::Pass;
use tensorlib::{Group, Tensor};

/// The data that all layers of a run share.
pub struct Run<'a> {
    pub shape: &'a Shape,
    /// The tokens' positions in their sequences.
    pub positions: Tensor,
    /// The factors of queries by their positions, [1, 1, tokens].
    pub query_factors: Option<Tensor>,
    /// Where keys and values lie, and which of them each token sees.
    pub keys: Keys<'a>,
    /// The keys and values that layers read which have none of their own, by the number of the layer that has them.
    pub shared: RefCell<HashMap<usize, (Tensor, Tensor)>>,
    /// The values of the first layer, which those after it mix with their own (RWKV 7).
    pub first_values: RefCell<Option<Tensor>>,
    /// The states of recurrent layers, if the model has such layers.
    pub states: Option<RunStates<'a>>,
    /// The nodes that store states.
    pub stored: RefCell<Vec<Tensor>>,
    pub tokens: i64,
    /// The pass of all layers, which is for evaluation.
    pub pass: Pass,
    /// The cache of experts, if there is one.
    pub experts: Option<&'a ExpertCache>,
    /// The group over whose ranks the model is divided, if it is.
    pub group: Option<&'a Group>,
    /// The experts that each token uses, [used, tokens], for layers with cached experts.
    pub chosen: RefCell<Vec<(usize, Tensor)>>,
    /// The value of neurons to observe, if any.
    pub observed: Option<Tested>,
    /// The observed values of each layer, [neurons, tokens].
    pub neurons: RefCell<Vec<(usize, Tensor)>>,
}

impl Run<'_> {
    /// What a part of a layer kept of the tokens before a group's, followed by the group's columns of x, [channels, tokens
    /// of the run]: [channels, kept columns + tokens, sequences]. Stores what it keeps next.
    pub fn read_columns(
        &self,
        part: (usize, usize),
        (states, group): (&RunStates, &state_slots::Group),
        x: &Tensor,
    ) -> Result<Tensor> {
        let (channels, t, sequences) = (x.shape()[0], group.tokens, group.sequences());
        let new = x.narrow(1, group.first, t * sequences)?.reshape([channels, t, sequences])?;
        let read = states.columns(part, group)?.concat(&new, 1)?;
        self.stored.borrow_mut().push(states.store_columns(part, group, &read)?);
        Ok(read)
    }

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
