//! What the layers of one run share.

use super::cache::Cache;
use super::expert_cache::ExpertCache;
use super::shape::{Activation, Shape};
use crate::Result;
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
}

/// The operation of an activation and a product.
pub fn glu_of(activation: Activation) -> GluOp {
    match activation {
        Activation::Silu => GluOp::Swiglu,
        Activation::Gelu => GluOp::Geglu,
        Activation::SwigluOai => GluOp::SwigluOai,
    }
}

/// The gate through the activation, times the rest.
pub fn gated(ctx: &Context, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    Ok(ctx.glu(gate, Some(up), glu_of(activation), GluOptions::new().split(true))?)
}
