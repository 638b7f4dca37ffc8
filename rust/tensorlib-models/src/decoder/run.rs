//! What the layers of one run share.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::shape::{Activation, Shape};
use crate::activity::Tested;
use crate::{Error, Result};
use std::cell::RefCell;
use tensorlib::{Context, GluOp, GluOptions, Tensor};

/// What all layers of a run share.
pub struct Run<'a> {
    pub ctx: &'a Context,
    pub shape: &'a Shape,
    pub cache: &'a Cache,
    /// The tokens' positions, which are their rows in the cache.
    pub positions: Tensor,
    /// Which keys each token sees: [keys, tokens].
    pub mask: Tensor,
    /// The same of layers with a window.
    pub window_mask: Option<Tensor>,
    pub tokens: i64,
    pub keys: i64,
    pub exact: bool,
    /// Copies of experts, where there are some.
    pub experts: Option<&'a ExpertCache>,
    /// Of layers with such copies, which experts each token uses, [used, tokens].
    pub chosen: RefCell<Vec<(usize, Tensor)>>,
    /// What is to be known of neurons, where something is.
    pub observed: Option<Tested>,
    /// That of each layer, [neurons, tokens].
    pub neurons: RefCell<Vec<(usize, Tensor)>>,
}

impl Run<'_> {
    /// Keeps what is to be known of a layer's neurons: of their gates before the activation, and of the products.
    pub fn observe(&self, layer: usize, gate: &Tensor, hidden: &Tensor) -> Result<()> {
        let found = match self.observed {
            None => return Ok(()),
            Some(Tested::Hidden) => hidden.clone(),
            Some(Tested::Gate | Tested::Positive) => activated(self.ctx, self.shape.activation, gate)?,
        };
        self.neurons.borrow_mut().push((layer, found));
        Ok(())
    }
}

/// The operation of an activation and a product.
pub fn glu_of(activation: Activation) -> GluOp {
    match activation {
        Activation::Silu => GluOp::Swiglu,
        Activation::Gelu => GluOp::Geglu,
        Activation::Relu => GluOp::Reglu,
        Activation::SwigluOai => GluOp::SwigluOai,
    }
}

/// The gate through the activation, of models that multiply by nothing but the rest.
pub fn activated(ctx: &Context, activation: Activation, gate: &Tensor) -> Result<Tensor> {
    Ok(match activation {
        Activation::Silu => ctx.silu(gate)?,
        Activation::Gelu => ctx.gelu(gate)?,
        Activation::Relu => ctx.relu(gate)?,
        Activation::SwigluOai => return Err(Error::internal("gpt-oss' gates are no factors")),
    })
}

/// The gate through the activation, times the rest.
pub fn gated(ctx: &Context, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    Ok(ctx.glu(gate, Some(up), glu_of(activation), GluOptions::new().split(true))?)
}
