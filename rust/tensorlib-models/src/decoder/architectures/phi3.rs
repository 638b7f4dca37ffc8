//! Phi 3: one matrix for queries, keys and values, and one for gate and up projections.

use super::names;
use crate::decoder::rope::Rope;
use crate::decoder::shape::Shape;
use crate::settings::Settings;
use crate::weights::HubNames;
use crate::Result;

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let shape = Shape::read(settings, rope)?.with_window(settings, |_| true)?;
    Ok(Shape { fused_attention: true, fused_ffn: true, ..shape })
}

/// Llama's names, with Phi 3's own for the fused matrices.
pub fn hub_names() -> HubNames {
    names::with(part, false)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_qkv" => "self_attn.qkv_proj",
        "ffn_up" => "mlp.gate_up_proj",
        _ => return None,
    })
}
