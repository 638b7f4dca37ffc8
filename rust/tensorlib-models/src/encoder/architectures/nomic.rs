//! Nomic's BERT (Nussbaum and others, 2024): rotary positions, and gates or experts.

use super::names;
use crate::encoder::shape::{Activation, Counts, Experts, Positions, Shape, FFN, HEADS, LAYERS, WIDTH};
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames};
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
pub const BASE: Key = Key("rope.freq_base", "rotary_emb_base");
const DIMS: Key = Key("rope.dimension_count", "");
const SHARE: Key = Key("", "rotary_emb_fraction");
const STRETCH: Key = Key("", "rotary_scaling_factor");
const TRAINED: Key = Key("", "max_trained_positions");
const EXPERTS: Key = Key("expert_count", "num_experts");
const EXPERTS_USED: Key = Key("expert_used_count", "moe_top_k");
const EVERY: Key = Key("moe_every_n_layers", "moe_every_n_layers");
const CAUSAL: Key = Key("attention.causal", "causal");
/// GGUF's architecture of models with experts.
const WITH_EXPERTS: &str = "nomic-bert-moe";
/// Options of the published code that no published model uses.
const OTHER_LAYERS: [Key; 4] =
    [Key("", "prenorm"), Key("", "parallel_block"), Key("", "use_rms_norm"), Key("", "rotary_emb_interleaved")];

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    for key in OTHER_LAYERS.into_iter().chain([CAUSAL]) {
        if settings.flag_if(key)? == Some(true) {
            return Err(Error::unsupported(format!("{}: is true: false is known", settings.name(key))));
        }
    }
    let activation = activation(settings)?;
    let shape = Shape::read(settings, &COUNTS, EPS, TOKENS, 0)?;
    let rope = RopeOptions::new().mode(RopeMode::Neox).n_dims(dims(settings, shape.head)?).freq_base(base(settings)?);
    let mut max_tokens = shape.max_tokens;
    // Beyond the trained positions such folders rotate with another base, which depends on the longest line of a batch.
    if settings.number_if(STRETCH)?.is_some() {
        max_tokens = max_tokens.min(settings.count_if(TRAINED)?.unwrap_or(2048));
    }
    Ok(Shape {
        activation,
        experts: experts(settings, activation)?,
        positions: Positions::Turned(rope),
        max_tokens,
        fused: true,
        classifier: None,
        ..shape
    })
}

/// The base of rotations.
pub fn base(settings: &Settings) -> Result<f64> {
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
    check_dims(settings, if settings.is_hub() { SHARE } else { DIMS }, dims, head)
}

/// Refuses a setting that makes another number of elements turn than heads may have.
pub fn check_dims(settings: &Settings, key: Key, dims: i64, head: i64) -> Result<i64> {
    if dims < 2 || dims % 2 != 0 || dims > head {
        let what = format!("{dims} of a head's {head} elements turn: an even number up to {head} is valid");
        return Err(settings.refuse(key, what));
    }
    Ok(dims)
}

/// The function of the feed-forward blocks. GGUF has none of gates where it has experts.
fn activation(settings: &Settings) -> Result<Activation> {
    Ok(match settings.text_if(ACTIVATION)?.as_deref() {
        Some("swiglu") => Activation::Gated(GluOp::Swiglu),
        None if settings.architecture() == WITH_EXPERTS => Activation::GeluErf,
        None => Activation::Gated(GluOp::Swiglu),
        Some("gelu") => Activation::GeluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::Gelu,
        Some(other) => {
            let what = format!("is '{other}': swiglu, gelu, gelu_new and gelu_pytorch_tanh are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
        }
    })
}

/// The experts, if the model has layers with them.
fn experts(settings: &Settings, activation: Activation) -> Result<Option<Experts>> {
    let (every, count) = (settings.count_or_none(EVERY)?, settings.count_or_none(EXPERTS)?);
    let used = settings.count_or_none(EXPERTS_USED)?;
    let Some(every) = every else {
        return match count {
            Some(_) => Err(settings.refuse(EVERY, "is missing: the model has experts, and it says in which layers")),
            None => Ok(None),
        };
    };
    let missing = |key: Key| settings.refuse(key, "is missing: a whole number is expected");
    let (count, used) = (count.ok_or_else(|| missing(EXPERTS))?, used.ok_or_else(|| missing(EXPERTS_USED))?);
    if used > count {
        return Err(settings.refuse(EXPERTS_USED, format!("is {used}: up to the {count} experts is valid")));
    }
    if matches!(activation, Activation::Gated(_)) {
        let what = "experts with gates are not known: gelu, gelu_new and gelu_pytorch_tanh are valid with experts";
        return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
    }
    if !settings.is_hub() {
        settings.warnings().add(
            "the file lacks the bias of the model's experts, which converters leave out: its vectors are not those of \
             the folder that it comes from",
        );
    }
    Ok(Some(Experts { count, used, every }))
}

/// The prefixes of the names in whole models; sentence encoders have none.
const PREFIXES: [&str; 2] = ["", "bert."];

/// Nomic's own names.
pub fn hub_names() -> HubNames {
    let plain = names::with_either(&PREFIXES, name, name_without_gate);
    HubNames::new(move |theirs: &str| match experts_name(theirs) {
        Some((name, transposed)) => {
            HubName::Rows { names: PREFIXES.iter().map(|prefix| format!("{prefix}{name}")).collect(), transposed }
        }
        None => (plain.of)(theirs),
    })
}

/// The name of all experts' matrices, and whether these are stored transposed.
fn experts_name(theirs: &str) -> Option<(String, bool)> {
    let (layer, part) = theirs.strip_prefix("blk.")?.split_once('.')?;
    let (part, transposed) = match part {
        "ffn_up_exps.weight" => ("w1", false),
        "ffn_down_exps.weight" => ("w2", true),
        _ => return None,
    };
    Some((format!("encoder.layers.{layer}.mlp.experts.mlp.{part}"), transposed))
}

/// The names in blocks without a gate.
fn name_without_gate(layer: Option<&str>, part: &str) -> Option<String> {
    match (layer, part) {
        (Some(layer), "ffn_up") => Some(format!("encoder.layers.{layer}.mlp.fc1")),
        _ => name(layer, part),
    }
}

/// The names in blocks with a gate.
pub fn name(layer: Option<&str>, part: &str) -> Option<String> {
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
        "ffn_gate_inp" => "mlp.router.layer",
        "ffn_exps" => "mlp.experts",
        "ffn_up" => "mlp.fc11",
        "ffn_gate" => "mlp.fc12",
        "ffn_down" => "mlp.fc2",
        "layer_output_norm" => "norm2",
        _ => return None,
    };
    Some(format!("encoder.layers.{layer}.{part}"))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    if shape.experts.is_some() {
        let what = "the model has experts, whose bias GGUF files lack: without it the vectors would be others";
        return Err(Error::unsupported(format!("{}: {what}", settings.name(EXPERTS))));
    }
    keys.number(BASE, base(settings)?);
    keys.count(DIMS, dims(settings, shape.head)?);
    Ok(())
}
