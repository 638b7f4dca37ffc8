//! EmbeddingGemma (Vera and others, 2025): the layers of Gemma 3, of which each token attends to the tokens before and
//! after it.

use super::names;
use crate::decoder::{gemma3, gemma3_keys, DecoderShape};
use crate::encoder::shape::{Activation, GateRows, Norms, Positions, QueryNorms, Shape, Windows};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::GluOp;

const BOTH_WAYS: Key = Key("", "use_bidirectional_attention");
const ROPE_KIND: Key = Key("", "rope_parameters.full_attention");
const VALUE_HEAD: Key = Key("attention.value_length", "");

/// Whether a folder of Gemma 3 is an encoder.
pub fn is_encoder(settings: &Settings) -> Result<bool> {
    Ok(!settings.is_hub() || settings.flag_if(BOTH_WAYS)? == Some(true))
}

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if !is_encoder(settings)? {
        let message = format!("{}: is not true: an encoder's is", settings.name(BOTH_WAYS));
        return Err(
            Error::unsupported(message).with_hint("such a model is a language model, which may make vectors too")
        );
    }
    let found = gemma3(settings)?;
    let (DecoderShape { layers, width, heads, keys, .. }, head) = (&found, found.keys.key);
    if keys.value != head {
        return Err(settings.refuse(VALUE_HEAD, format!("is {}: {head} is valid", keys.value)));
    }
    let (layers, width, heads, kv_heads) = (*layers, *width, *heads, keys.count);
    let window_rope = found.window_rope.as_ref().unwrap_or(&found.rope);
    if found.rope.has_listed_factors() || window_rope.has_listed_factors() {
        let message = format!("{}: rotations with a factor for each pair are not known", settings.name(ROPE_KIND));
        return Err(Error::unsupported(message));
    }
    Ok(Shape {
        layers,
        width,
        embedding: width,
        heads,
        kv_heads,
        head,
        attention_scale: found.attention_scale,
        query_norms: QueryNorms::Heads,
        ffn: found.ffn,
        norm: NormKind::RootMeanSquare,
        eps: found.eps,
        embedding_scale: found.embedding_scale,
        embedding_norm: false,
        norm_after_project: false,
        activation: Activation::Gated(GluOp::Geglu),
        positions: Positions::Turned(found.rope.options()),
        max_tokens: found.context,
        buckets: None,
        relative: None,
        convolution: None,
        fused: false,
        gate: GateRows::Own,
        experts: None,
        norms: Norms::Around,
        // The window's keys are those of both directions together.
        windows: found.window.map(|window| Windows {
            distance: window.keys / 2,
            layers: window.layers,
            rope: window_rope.options(),
        }),
        classifier: None,
        has_modules: true,
        prefix: "",
        causal: false,
        pooling: None,
        projection: None,
        padding: None,
        images: None,
        tasks: None,
    })
}

/// The names of Gemma's folders; the factors of norms are stored less 1.
pub fn hub_names() -> HubNames {
    HubNames { less_one: |name| name.ends_with("norm.weight"), ..names::with(&["", "model."], name) }
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        return match part {
            "token_embd" => Some("embed_tokens".into()),
            "output_norm" => Some("norm".into()),
            _ => None,
        };
    };
    let part = match part {
        "attn_norm" => "input_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "attn_output" => "self_attn.o_proj",
        "post_attention_norm" => "post_attention_layernorm",
        "ffn_norm" => "pre_feedforward_layernorm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        "post_ffw_norm" => "post_feedforward_layernorm",
        _ => return None,
    };
    Some(format!("layers.{layer}.{part}"))
}

/// The keys of GGUF files: those of the language model that it was made from.
pub fn add_keys(_: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    keys.extend(gemma3_keys(settings)?);
    Ok(())
}
