//! GTE (Zhang and others, mGTE, 2024), which calls itself "new": BERT with rotary positions and gates.

use super::{modernbert, names};
use crate::encoder::shape::{Activation, Counts, GateRows, Positions, Shape, EPS, POSITIONS};
use crate::norm::NormKind;
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::{RopeMode, RopeOptions};

const ACTIVATION: Key = Key("", "hidden_act");
const POSITION_KIND: Key = Key("", "position_embedding_type");
const NORM: Key = Key("", "layer_norm_type");
const PACKED: Key = Key("", "pack_qkv");
const BASE: Key = Key("", "rope_theta");
const SCALING: Key = Key("", "rope_scaling.type");
const FACTOR: Key = Key("", "rope_scaling.factor");
const MIXED: Key = Key("", "rope_scaling.mixed_b");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if !settings.is_hub() {
        let message = format!("architecture '{}': GGUF files have no such architecture", settings.architecture());
        return Err(Error::unsupported(message).with_hint("a hub folder of the model is read"));
    }
    settings.expect_text(POSITION_KIND, &["rope"])?;
    settings.expect_text(NORM, &["layer_norm", "rms_norm"])?;
    let is_layer = settings.text_if(NORM)?.is_none_or(|name| name == "layer_norm");
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    Ok(Shape {
        activation: Activation::Gated(modernbert::gate(settings, ACTIVATION)?),
        gate: GateRows::Second,
        positions: Positions::Turned(rope(settings, shape.head)?),
        norm: if is_layer { NormKind::Layer } else { NormKind::RootMeanSquare },
        fused: settings.flag_if(PACKED)?.unwrap_or(true),
        ..shape
    })
}

/// The rotation of heads with `head` elements. Stretched by a factor s, the frequencies are those of s times the base,
/// divided by s^(2 / head).
fn rope(settings: &Settings, head: i64) -> Result<RopeOptions> {
    if head % 2 != 0 {
        return Err(Error::format(format!("heads of {head} elements cannot be rotated: an even number is valid")));
    }
    let base = settings.number_if(BASE)?.unwrap_or(10_000.0);
    if base < 1.0 {
        return Err(settings.refuse(BASE, format!("is {base}: a number from 1 on is valid")));
    }
    settings.expect_text(SCALING, &["ntk"])?;
    let factor = settings.number_if(FACTOR)?.filter(|_| settings.text_if(SCALING).is_ok_and(|kind| kind.is_some()));
    let factor = factor.unwrap_or(1.0);
    if factor < 1.0 {
        return Err(settings.refuse(FACTOR, format!("is {factor}: a number from 1 on is valid")));
    }
    if settings.number_if(MIXED)?.is_some() {
        return Err(Error::unsupported(format!("{}: null is supported", settings.name(MIXED))));
    }
    let scale = factor.powf(-2.0 / head as f64);
    Ok(RopeOptions::new().mode(RopeMode::Neox).n_dims(head).freq_base(base * factor).freq_scale(scale))
}

/// GTE's own names.
pub fn hub_names() -> HubNames {
    names::with(&["", "new.", "gte."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else { return names::bert(None, part) };
    let part = match part {
        "attn_qkv" => "attention.qkv_proj",
        "attn_q" => "attention.q_proj",
        "attn_k" => "attention.k_proj",
        "attn_v" => "attention.v_proj",
        "attn_output" => "attention.o_proj",
        "attn_output_norm" => "attn_ln",
        "ffn_up" => "mlp.up_gate_proj",
        "ffn_down" => "mlp.down_proj",
        "layer_output_norm" => "mlp_ln",
        _ => return None,
    };
    Some(format!("encoder.layer.{layer}.{part}"))
}
