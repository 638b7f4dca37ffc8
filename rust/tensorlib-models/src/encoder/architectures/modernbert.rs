//! ModernBERT (Warner and others, 2024): rotary positions, norms before blocks, gates, and windows in most layers.

use super::names;
use crate::encoder::shape::{
    Activation, Counts, GateRows, HeadActivation, HeadPooling, HeadShape, Norms, Positions, Shape, Windows, POSITIONS,
};
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::{GluOp, RopeMode, RopeOptions};

const EPS: Key = Key("attention.layer_norm_epsilon", "norm_eps");
const ACTIVATION: Key = Key("hidden_activation", "hidden_activation");
const WINDOW: Key = Key("attention.sliding_window", "local_attention");
const EVERY: Key = Key("attention.sliding_window_pattern", "global_attn_every_n_layers");
const LAYER_TYPES: Key = Key("", "layer_types");
const BASE: Key = Key("rope.freq_base", "global_rope_theta");
const WINDOW_BASE: Key = Key("rope.freq_base_swa", "local_rope_theta");
/// Newer folders have both bases here, by the kind of layer.
const BASES: [Key; 2] =
    [Key("", "rope_parameters.full_attention.rope_theta"), Key("", "rope_parameters.sliding_attention.rope_theta")];
const ROPE_TYPES: [Key; 2] =
    [Key("", "rope_parameters.full_attention.rope_type"), Key("", "rope_parameters.sliding_attention.rope_type")];
const SCALING: Key = Key("rope.scaling.type", "");
const HEAD_ACTIVATION: Key = Key("", "classifier_activation");
const HEAD_POOLING: Key = Key("", "classifier_pooling");
/// 1 for the mean, 2 for the first token.
const HEAD_POOLING_TYPE: Key = Key("classifier.pooling_type", "");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    let head = shape.head;
    if head % 2 != 0 {
        return Err(Error::format(format!("heads of {head} elements cannot be rotated: an even number is valid")));
    }
    for key in ROPE_TYPES {
        settings.expect_text(key, &["default"])?;
    }
    let rope = |base: f64| RopeOptions::new().mode(RopeMode::Neox).n_dims(head).freq_base(base);
    let all = base(settings, BASES[0], BASE)?.unwrap_or(160_000.0);
    // A folder that sets the windows' base to null rotates all layers alike.
    let usual = if settings.is_null(WINDOW_BASE) { all } else { 10_000.0 };
    let near = base(settings, BASES[1], WINDOW_BASE)?.unwrap_or(usual);
    Ok(Shape {
        activation: Activation::Gated(gate(settings, ACTIVATION)?),
        positions: Positions::Turned(rope(all)),
        fused: true,
        gate: GateRows::First,
        norms: Norms::Before { first: false },
        windows: windows(settings, shape.layers, rope(near))?,
        classifier: Some(HeadShape { pooling: pooling(settings)?, activation: head_activation(settings)? }),
        ..shape
    })
}

fn base(settings: &Settings, newer: Key, older: Key) -> Result<Option<f64>> {
    let read = |key: Key| match settings.number_if(key)? {
        Some(base) if base < 1.0 => Err(settings.refuse(key, format!("is {base}: a number from 1 on is valid"))),
        found => Ok(found),
    };
    let (newer, older) = (read(newer)?, read(older)?);
    Ok(newer.or(older))
}

/// The gate of the function that a setting names.
pub fn gate(settings: &Settings, key: Key) -> Result<GluOp> {
    Ok(match settings.text_if(key)?.as_deref() {
        None | Some("gelu") => GluOp::GegluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => GluOp::Geglu,
        Some("silu" | "swish") => GluOp::Swiglu,
        Some("relu") => GluOp::Reglu,
        Some(other) => {
            let what = format!("is '{other}': gelu, gelu_new, gelu_pytorch_tanh, silu, swish and relu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(key))));
        }
    })
}

fn windows(settings: &Settings, layers: i64, rope: RopeOptions) -> Result<Option<Windows>> {
    let window = settings.whole_if(WINDOW, 0)?.unwrap_or(128);
    let every = settings.count_if(EVERY)?.unwrap_or(3);
    if let Some(types) = settings.texts_if(LAYER_TYPES)? {
        let wanted = |i: i64| if i % every == 0 { "full_attention" } else { "sliding_attention" };
        if !types.iter().map(String::as_str).eq((0..layers).map(wanted)) {
            let what = format!("full_attention in each layer whose number is a multiple of {every} is known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(LAYER_TYPES))));
        }
    }
    // A GGUF file without windows says 0.
    let layers = (0..layers).map(|i| i % every != 0).collect();
    Ok((settings.is_hub() || window > 0).then_some(Windows { distance: window / 2, layers, rope }))
}

fn pooling(settings: &Settings) -> Result<HeadPooling> {
    if let Some(kind) = settings.whole_if(HEAD_POOLING_TYPE, 0)? {
        return match kind {
            1 => Ok(HeadPooling::Mean),
            2 => Ok(HeadPooling::First),
            _ => {
                let what = format!("is {kind}: 1 (mean) and 2 (cls) are known");
                Err(Error::unsupported(format!("{}: {what}", settings.name(HEAD_POOLING_TYPE))))
            }
        };
    }
    settings.expect_text(HEAD_POOLING, &["cls", "mean"])?;
    // Files without it: folders mean the first token, and GGUF files come from models that take the mean.
    let first = match settings.text_if(HEAD_POOLING)? {
        Some(text) => text == "cls",
        None => settings.is_hub(),
    };
    Ok(if first { HeadPooling::First } else { HeadPooling::Mean })
}

fn head_activation(settings: &Settings) -> Result<HeadActivation> {
    Ok(match settings.text_if(HEAD_ACTIVATION)?.as_deref() {
        None | Some("gelu") => HeadActivation::GeluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => HeadActivation::Gelu,
        Some("tanh") => HeadActivation::Tanh,
        Some("relu") => HeadActivation::Relu,
        Some("silu" | "swish") => HeadActivation::Silu,
        Some(other) => {
            let what = format!("is '{other}': gelu, gelu_new, gelu_pytorch_tanh, tanh, relu, silu and swish are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(HEAD_ACTIVATION))));
        }
    })
}

/// ModernBERT's own names.
pub fn hub_names() -> HubNames {
    names::with(&["", "model."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        let name = match part {
            "token_embd" => "embeddings.tok_embeddings",
            "token_embd_norm" => "embeddings.norm",
            "output_norm" => "final_norm",
            "cls" => "head.dense",
            "cls.norm" => "head.norm",
            "cls.output" => "classifier",
            _ => return None,
        };
        return Some(name.into());
    };
    let part = match part {
        "attn_qkv" => "attn.Wqkv",
        "attn_output" => "attn.Wo",
        "attn_norm" => "attn_norm",
        "ffn_up" => "mlp.Wi",
        "ffn_down" => "mlp.Wo",
        "ffn_norm" => "mlp_norm",
        _ => return None,
    };
    Some(format!("layers.{layer}.{part}"))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    let name = match shape.activation {
        Activation::Gated(GluOp::GegluErf) => "gelu",
        Activation::Gated(GluOp::Swiglu) => "silu",
        _ => {
            let what = "GGUF files have gelu and silu";
            return Err(Error::unsupported(format!("{}: is another function: {what}", settings.name(ACTIVATION))));
        }
    };
    keys.set(ACTIVATION, name);
    let all = base(settings, BASES[0], BASE)?.unwrap_or(160_000.0);
    let usual = if settings.is_null(WINDOW_BASE) { all } else { 10_000.0 };
    keys.number(BASE, all);
    keys.number(WINDOW_BASE, base(settings, BASES[1], WINDOW_BASE)?.unwrap_or(usual));
    keys.count(WINDOW, settings.whole_if(WINDOW, 0)?.unwrap_or(128));
    keys.count(EVERY, settings.count_if(EVERY)?.unwrap_or(3));
    keys.set(SCALING, "none");
    Ok(())
}
