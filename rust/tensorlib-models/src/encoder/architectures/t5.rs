//! The encoder of T5 (Raffel and others, Exploring the Limits of Transfer Learning, 2020), as Sentence-T5 and GTR use it:
//! norms before blocks, and biases by distance instead of positions.

use super::names;
use crate::encoder::shape::{Activation, Counts, Norms, Positions, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::GluOp;

const COUNTS: Counts = Counts {
    width: Key("embedding_length", "d_model"),
    layers: Key("block_count", "num_layers"),
    heads: Key("attention.head_count", "num_heads"),
    ffn: Key("feed_forward_length", "d_ff"),
};
const EPS: Key = Key("attention.layer_norm_rms_epsilon", "layer_norm_epsilon");
/// The longest texts of training. Biases by distance have no limit.
const TOKENS: Key = Key("context_length", "n_positions");
const DEFAULT_TOKENS: i64 = 512;
const DEFAULT_EPS: f64 = 1e-6;
const HEAD: Key = Key("attention.key_length", "d_kv");
const VALUE_HEAD: Key = Key("attention.value_length", "");
const ACTIVATION: Key = Key("", "feed_forward_proj");
const BUCKETS: Key = Key("attention.relative_buckets_count", "relative_attention_num_buckets");
const FARTHEST: Key = Key("", "relative_attention_max_distance");
const WHOLE: Key = Key("", "is_encoder_decoder");
/// All published models have these.
const KNOWN_BUCKETS: i64 = 32;
const KNOWN_FARTHEST: i64 = 128;

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(TOKENS, DEFAULT_TOKENS.into()), (EPS, DEFAULT_EPS.into())])?;
    // The whole model has a decoder, which is not read.
    settings.flag_if(WHOLE)?;
    let head = settings.count_if(HEAD)?.unwrap_or(64);
    for (key, known) in [(VALUE_HEAD, head), (BUCKETS, KNOWN_BUCKETS), (FARTHEST, KNOWN_FARTHEST)] {
        if let Some(found) = settings.count_if(key)?.filter(|found| *found != known) {
            return Err(Error::unsupported(format!("{}: is {found}: {known} is known", settings.name(key))));
        }
    }
    let shape = Shape::with_heads(settings, &COUNTS, EPS, (TOKENS, 0), head)?;
    Ok(Shape {
        // Products are not scaled: training starts with small weights instead.
        attention_scale: 1.0,
        norm: NormKind::RootMeanSquare,
        embedding_norm: false,
        activation: activation(settings)?,
        positions: Positions::Distances,
        buckets: Some(KNOWN_BUCKETS),
        norms: Norms::Before { first: true },
        classifier: None,
        ..shape
    })
}

/// GGUF files do not say it: models with a gate have GELU, and others ReLU, which the tensors decide.
fn activation(settings: &Settings) -> Result<Activation> {
    if !settings.is_hub() {
        return Ok(Activation::GatedIfStored(GluOp::Geglu));
    }
    Ok(match settings.text_if(ACTIVATION)?.as_deref() {
        None | Some("relu") => Activation::Relu,
        Some("gelu") => Activation::GeluErf,
        Some("gelu_new") => Activation::Gelu,
        Some("gated-gelu" | "gated-gelu_new") => Activation::Gated(GluOp::Geglu),
        Some("gated-silu") => Activation::Gated(GluOp::Swiglu),
        Some("gated-relu") => Activation::Gated(GluOp::Reglu),
        Some(other) => {
            let known = "relu, gelu, gelu_new, gated-gelu, gated-gelu_new, gated-silu and gated-relu are known";
            return Err(Error::unsupported(format!("{}: is '{other}': {known}", settings.name(ACTIVATION))));
        }
    })
}

/// The names in folders of the encoder, and of the whole model.
pub fn hub_names() -> HubNames {
    HubNames { in_gguf, ..names::with_either(&["", "model."], name, older_name) }
}

/// GGUF files mark the encoder's tensors, because whole models also have a decoder's.
fn in_gguf(name: &str) -> Option<String> {
    match name {
        "attn_rel_b.weight" => Some(format!("enc.blk.0.{name}")),
        _ if name.starts_with("blk.") || name.starts_with("output_norm.") => Some(format!("enc.{name}")),
        _ => None,
    }
}

/// The names of models without gates, and of encoders without a decoder.
fn older_name(layer: Option<&str>, part: &str) -> Option<String> {
    match (layer, part) {
        (None, "token_embd") => Some("encoder.embed_tokens".into()),
        (Some(layer), "ffn_up") => Some(format!("encoder.block.{layer}.layer.1.DenseReluDense.wi")),
        _ => name(layer, part),
    }
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        return match part {
            "token_embd" => Some("shared".into()),
            "output_norm" => Some("encoder.final_layer_norm".into()),
            "attn_rel_b" => Some("encoder.block.0.layer.0.SelfAttention.relative_attention_bias".into()),
            _ => None,
        };
    };
    let part = match part {
        "attn_q" => "layer.0.SelfAttention.q",
        "attn_k" => "layer.0.SelfAttention.k",
        "attn_v" => "layer.0.SelfAttention.v",
        "attn_output" => "layer.0.SelfAttention.o",
        "attn_norm" => "layer.0.layer_norm",
        "ffn_gate" => "layer.1.DenseReluDense.wi_0",
        "ffn_up" => "layer.1.DenseReluDense.wi_1",
        "ffn_down" => "layer.1.DenseReluDense.wo",
        "ffn_norm" => "layer.1.layer_norm",
        _ => return None,
    };
    Some(format!("encoder.block.{layer}.{part}"))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    if !matches!(shape.activation, Activation::Relu | Activation::Gated(GluOp::Geglu)) {
        let what = "is another function: GGUF files have relu and gated-gelu";
        return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
    }
    keys.count(HEAD, shape.head);
    keys.count(VALUE_HEAD, shape.head);
    keys.count(BUCKETS, KNOWN_BUCKETS);
    Ok(())
}
