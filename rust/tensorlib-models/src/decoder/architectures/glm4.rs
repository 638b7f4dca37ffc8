//! GLM 4: norms before and after each block, half of each head turns in pairs of neighbours, and one matrix makes gate
//! and up projections.

use super::names;
use crate::decoder::keys::{HEAD, KV_HEADS};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{Norms, Shape};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::Result;

const PARTIAL: Key = Key("", "partial_rotary_factor");

/// Reads the settings. Biases of queries, keys and values are optional tensors.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(HEAD, 128.into()), (KV_HEADS, 2.into())])?;
    let settings = &rope::with_older_names(settings, 1e4)?.with_values(&[(PARTIAL, 0.5.into())])?;
    let rope = Rope::read(settings, Shape::head(settings)?, false)?.of_neighbours();
    Ok(Shape { norms: Norms::BeforeAndAfter, fused_ffn: true, ..Shape::read(settings, rope)? })
}

/// Llama's names, with those of norms after the blocks.
pub fn hub_names() -> HubNames {
    names::with(part, false)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "post_attention_norm" => "post_self_attn_layernorm",
        "post_ffw_norm" => "post_mlp_layernorm",
        "ffn_up" => "mlp.gate_up_proj",
        _ => return None,
    })
}
