//! Llama, Mistral and Mixtral.

use super::names;
use crate::decoder::keys::{ACTIVATION, KV_HEADS, WINDOW};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{Activation, Routing, Shape};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use serde_json::Value as Json;

const EXPERTS: Key = Key("expert_count", "num_local_experts");
const ROPE_BASE: Key = Key("", "rope_theta");
const EXPERT_FFN: Key = Key("expert_feed_forward_length", "");

/// Reads the settings. GGUF files reorder queries and keys so that rotated pairs are neighbours.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&unsaid(settings))?;
    let rope = Rope::read(settings, Shape::head(settings)?, false)?;
    let mut shape = Shape::read(settings, rope)?;
    // The published code of Llama ignores windows.
    if settings.architecture() != "llama" || !settings.is_hub() {
        shape = shape.with_window(settings, |_| true)?;
    }
    let shape = Shape { activation: activation(settings)?, ..shape };
    shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing::Normalised)
}

/// Defaults of the published code for settings that folders leave out.
fn unsaid(settings: &Settings) -> Vec<(Key, Json)> {
    match settings.architecture() {
        "mistral" => vec![(KV_HEADS, 8.into()), (WINDOW, 4096.into())],
        "mixtral" => vec![(KV_HEADS, 8.into()), (ROPE_BASE, 1e6.into())],
        _ => Vec::new(),
    }
}

/// SiLU, except for models that were retrained with ReLU. GGUF has no key for it: `feed_forward_activation` is
/// tensorlib's own.
fn activation(settings: &Settings) -> Result<Activation> {
    match settings.text_if(ACTIVATION)?.as_deref() {
        None | Some("silu" | "swish") => Ok(Activation::Silu),
        Some("relu") => Ok(Activation::Relu),
        Some(other) => {
            let what = format!("is '{other}': silu and relu are known");
            Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))))
        }
    }
}

/// Mixtral's experts are separate matrices.
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
