//! Nomic's BERT (Nussbaum and others, 2024): rotary positions, gates, no biases in products.

use super::names;
use crate::encoder::shape::{Activation, Counts, Positions, Shape, FFN, HEADS, LAYERS, WIDTH};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::{GluOp, RopeMode, RopeOptions};

const COUNTS: Counts = Counts {
    width: Key(WIDTH.0, "n_embd"),
    layers: Key(LAYERS.0, "n_layer"),
    heads: Key(HEADS.0, "n_head"),
    ffn: Key(FFN.0, "n_inner"),
};
const TOKENS: Key = Key("context_length", "n_positions");
const EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_epsilon");
const ACTIVATION: Key = Key("", "activation_function");
const BASE: Key = Key("rope.freq_base", "rotary_emb_base");
const DIMS: Key = Key("rope.dimension_count", "");
const SHARE: Key = Key("", "rotary_emb_fraction");
const STRETCH: Key = Key("", "rotary_scaling_factor");
const TRAINED: Key = Key("", "max_trained_positions");
const EXPERTS: Key = Key("", "num_experts");
const EVERY: Key = Key("moe_every_n_layers", "moe_every_n_layers");
const CAUSAL: Key = Key("attention.causal", "causal");
/// Options of the published code that no published model uses.
const OTHER_LAYERS: [Key; 4] =
    [Key("", "prenorm"), Key("", "parallel_block"), Key("", "use_rms_norm"), Key("", "rotary_emb_interleaved")];

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    refuse_experts(settings)?;
    for key in OTHER_LAYERS.into_iter().chain([CAUSAL]) {
        if settings.flag_if(key)? == Some(true) {
            return Err(Error::unsupported(format!("{}: is true: false is known", settings.name(key))));
        }
    }
    if let Some(other) = settings.text_if(ACTIVATION)?.filter(|name| name != "swiglu") {
        return Err(Error::unsupported(format!("{}: is '{other}': swiglu is known", settings.name(ACTIVATION))));
    }
    let shape = Shape::read(settings, &COUNTS, EPS, TOKENS, 0)?;
    let rope = RopeOptions::new().mode(RopeMode::Neox).n_dims(dims(settings, shape.head)?).freq_base(base(settings)?);
    let mut max_tokens = shape.max_tokens;
    // Beyond the trained positions such folders rotate with another base, which depends on the longest line of a batch.
    if settings.number_if(STRETCH)?.is_some() {
        max_tokens = max_tokens.min(settings.count_if(TRAINED)?.unwrap_or(2048));
    }
    Ok(Shape {
        activation: Activation::Gated(GluOp::Swiglu),
        positions: Positions::Turned(rope),
        max_tokens,
        fused: true,
        classifier: None,
        ..shape
    })
}

fn base(settings: &Settings) -> Result<f64> {
    // Every folder states it, and versions of the published code differ in their default.
    let base = match settings.is_hub() {
        true => settings.number(BASE)?,
        false => settings.number_if(BASE)?.unwrap_or(10_000.0),
    };
    if base < 1.0 {
        return Err(settings.refuse(BASE, format!("is {base}: a number from 1 on is valid")));
    }
    Ok(base)
}

/// The number of rotated elements of a head.
fn dims(settings: &Settings, head: i64) -> Result<i64> {
    let share = settings.number_if(SHARE)?.unwrap_or(1.0);
    let dims = settings.count_if(DIMS)?.unwrap_or((head as f64 * share) as i64);
    if dims < 2 || dims % 2 != 0 || dims > head {
        let key = if settings.is_hub() { SHARE } else { DIMS };
        let what = format!("{dims} of a head's {head} elements turn: an even number up to {head} is valid");
        return Err(settings.refuse(key, what));
    }
    Ok(dims)
}

fn refuse_experts(settings: &Settings) -> Result<()> {
    let every = settings.number_if(EVERY)?;
    if every.unwrap_or(0.0) > 0.0 || (every.is_none() && settings.number_if(EXPERTS)?.unwrap_or(0.0) > 0.0) {
        let key = if every.is_some() { EVERY } else { EXPERTS };
        let message = format!("{}: Nomic's encoders with experts are not known", settings.name(key));
        return Err(Error::unsupported(message).with_hint("those without are, such as nomic-embed-text-v1.5"));
    }
    Ok(())
}

/// Nomic's own names.
pub fn hub_names() -> HubNames {
    names::with(&["", "bert."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        return match part {
            "token_embd_norm" => Some("emb_ln".into()),
            _ => names::bert(None, part),
        };
    };
    let part = match part {
        "attn_qkv" => "attn.Wqkv",
        "attn_output" => "attn.out_proj",
        "attn_output_norm" => "norm1",
        "ffn_up" => "mlp.fc11",
        "ffn_gate" => "mlp.fc12",
        "ffn_down" => "mlp.fc2",
        "layer_output_norm" => "norm2",
        _ => return None,
    };
    Some(format!("encoder.layers.{layer}.{part}"))
}
