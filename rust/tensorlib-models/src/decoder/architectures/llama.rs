//! Llama, Mistral and Mixtral.

use super::names;
use crate::decoder::rope::Rope;
use crate::decoder::shape::{Routing, Shape};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::Result;

const EXPERTS: Key = Key("expert_count", "num_local_experts");
const EXPERT_FFN: Key = Key("expert_feed_forward_length", "");

/// What the settings say. GGUF files have queries and keys in an order in which pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let rope = Rope::read(settings, Shape::head(settings)?, false)?;
    let shape = Shape::read(settings, rope)?.with_window(settings, |_| true)?;
    shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing::Normalised)
}

/// Mixtral's experts are matrices by themselves.
pub fn hub_names() -> HubNames {
    names::with_experts(expert, "block_sparse_moe.gate")
}

fn expert(part: &str) -> Option<(&'static str, &'static str)> {
    let matrix = match part {
        "ffn_gate_exps" => "w1",
        "ffn_down_exps" => "w2",
        "ffn_up_exps" => "w3",
        _ => return None,
    };
    Some(("block_sparse_moe.experts", matrix))
}
