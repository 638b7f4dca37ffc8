//! Qwen 3.5 and Qwen 3 Next: three of four layers are recurrent, by the gated delta rule; in the others, gates scale
//! what attention gives, and a part of each head turns.

use super::names::{self, ExpertNames};
use super::qwen;
use crate::decoder::keys::{EXPERT_FFN, HEAD, LAYERS, LAYER_TYPES};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{flags_of_layers, taps, Delta, HeadNorms, Recurrence, Shape, Shared};
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const TAPS: Key = Key("ssm.conv_kernel", "linear_conv_kernel_dim");
const INNER: Key = Key("ssm.inner_size", "");
const STATE: Key = Key("ssm.state_size", "linear_key_head_dim");
const VALUE_STATE: Key = Key("", "linear_value_head_dim");
const VALUE_HEADS: Key = Key("ssm.time_step_rank", "linear_num_value_heads");
const KEY_HEADS: Key = Key("ssm.group_count", "linear_num_key_heads");
/// Every n-th layer is no recurrent one.
const INTERVAL: Key = Key("full_attention_interval", "full_attention_interval");
const RECURRENT: Key = Key("attention.recurrent_layers", "");
/// Layers at the end of a GGUF file that draft tokens.
const DRAFTING: Key = Key("nextn_predict_layers", "");
const SHARED_FFN: Key = Key("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
const PARTIAL: Key = Key("", "partial_rotary_factor");
/// How many pairs turn by each of three positions, which are equal for texts.
const SECTIONS: Key = Key("rope.dimension_sections", "rope_scaling.mrope_section");
const INTERLEAVED: Key = Key("", "rope_scaling.mrope_interleaved");
const GATED: Key = Key("", "attn_output_gate");

/// Qwen 3.5.
pub fn qwen35(settings: &Settings) -> Result<Shape> {
    // Newer folders state the part of a head that turns among the other settings of the rotation.
    let settings = &rope::with_older_names(settings, 1e4)?.with_values(&[(PARTIAL, 0.25.into())])?;
    let settings = &settings.with_defaults(&unsaid())?;
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    check_positions(settings)?;
    let shape = Shape::read(settings, rope)?.without_drafting(settings, DRAFTING)?;
    let recurrent = recurrent_layers(settings, shape.layers)?;
    Ok(Shape {
        gated_attention: true,
        head_norms: HeadNorms::BeforeRotation,
        ffn_norm: "post_attention_norm",
        ..shape.with_recurrence(Recurrence::Delta(delta(settings)?), &recurrent)
    })
}

/// Qwen 3.5 with experts.
pub fn qwen35moe(settings: &Settings) -> Result<Shape> {
    with_experts(qwen35(settings)?, settings)
}

/// Qwen 3 Next: as Qwen 3.5 with experts, whose value heads GGUF files have in the order of folders.
pub fn qwen3next(settings: &Settings) -> Result<Shape> {
    let mut shape = with_experts(qwen35(settings)?, settings)?;
    if let Some(Recurrence::Delta(delta)) = &mut shape.recurrence {
        delta.grouped = true;
    }
    Ok(shape)
}

/// Adds experts, of which all tokens use one.
fn with_experts(shape: Shape, settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(EXPERT_FFN, 512.into()), (SHARED_FFN, 512.into())])?;
    let mut shape = shape.with_experts(settings, qwen::EXPERTS, EXPERT_FFN, qwen::routing(settings, true)?)?;
    let Some(experts) = &mut shape.experts else {
        return Err(settings.refuse(qwen::EXPERTS, "is missing: a whole number is expected"));
    };
    let ffn = settings.count_or_none(SHARED_FFN)?.unwrap_or(shape.ffn);
    experts.shared = Some(Shared { ffn, gated: true });
    Ok(shape)
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, serde_json::Value)> {
    vec![
        (HEAD, 256.into()),
        (TAPS, 4.into()),
        (STATE, 128.into()),
        (VALUE_STATE, 128.into()),
        (KEY_HEADS, 16.into()),
        (VALUE_HEADS, 32.into()),
    ]
}

/// Texts have one position for each token, so it does not matter how the pairs are divided among several.
fn check_positions(settings: &Settings) -> Result<()> {
    settings.numbers_if(SECTIONS)?;
    settings.flag_if(INTERLEAVED)?;
    match settings.flag_if(GATED)? {
        Some(false) => {
            let name = settings.name(GATED);
            Err(Error::unsupported(format!("{name}: is false: true, gates of what attention gives, is supported")))
        }
        _ => Ok(()),
    }
}

/// The recurrent layers.
fn delta(settings: &Settings) -> Result<Delta> {
    let (head, value_heads, key_heads) =
        (settings.count(STATE)?, settings.count(VALUE_HEADS)?, settings.count(KEY_HEADS)?);
    if value_heads % key_heads != 0 {
        let what = format!("is {value_heads}: a multiple of the {key_heads} heads of keys is valid");
        return Err(settings.refuse(VALUE_HEADS, what));
    }
    if let Some(other) = settings.count_if(VALUE_STATE)?.filter(|n| *n != head) {
        let what = format!("is {other}: {head}, the elements of a head of keys, is supported");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(VALUE_STATE))));
    }
    if let Some(other) = settings.count_if(INNER)?.filter(|n| *n != head * value_heads) {
        let what = format!("is {other}: {value_heads} heads of {head} elements have {}", head * value_heads);
        return Err(settings.refuse(INNER, what));
    }
    let taps = taps(settings, TAPS)?;
    Ok(Delta { key_heads, value_heads, head, taps, grouped: settings.is_hub() })
}

/// Which layers are recurrent: those that the file lists, or all but every n-th.
fn recurrent_layers(settings: &Settings, layers: i64) -> Result<Vec<bool>> {
    let every = settings.count_if(INTERVAL)?.unwrap_or(4);
    let kinds = [("linear_attention", true), ("full_attention", false)];
    if let Some(listed) = settings.kinds_of_layers(LAYER_TYPES, layers, &kinds)? {
        return Ok(listed);
    }
    let Some(listed) = settings.value_if(RECURRENT)? else {
        return Ok((0..layers).map(|layer| (layer + 1) % every != 0).collect());
    };
    flags_of_layers(&listed, layers).ok_or_else(|| {
        settings.refuse(RECURRENT, format!("true or false for each of the {layers} layers of {} is valid", LAYERS.0))
    })
}

/// The names of a model without experts.
pub fn hub_names() -> HubNames {
    with_recurrent(names::with(part, false))
}

/// The names of a model with experts.
pub fn moe_names() -> HubNames {
    with_recurrent(names::with_experts(part, &ExpertNames::USUAL))
}

/// Adds names without an ending. Folders store the factors of norms less 1, except those of recurrent layers.
fn with_recurrent(plain: HubNames) -> HubNames {
    let less_one = |name: &str| name.ends_with("norm.weight") && !name.ends_with("ssm_norm.weight");
    let others = plain.of;
    let of = move |name: &str| match name.strip_prefix("blk.").and_then(|name| name.split_once('.')) {
        Some((layer, "ssm_a")) => names::in_layer(layer, "linear_attn.A_log"),
        Some((layer, "ssm_dt.bias")) => names::in_layer(layer, "linear_attn.dt_bias"),
        _ => others(name),
    };
    HubNames { less_one, ..HubNames::new(of) }
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "post_attention_norm" => "post_attention_layernorm",
        "attn_qkv" => "linear_attn.in_proj_qkv",
        "attn_gate" => "linear_attn.in_proj_z",
        "ssm_alpha" => "linear_attn.in_proj_a",
        "ssm_beta" => "linear_attn.in_proj_b",
        "ssm_conv1d" => "linear_attn.conv1d",
        "ssm_norm" => "linear_attn.norm",
        "ssm_out" => "linear_attn.out_proj",
        "ssm_in" => "linear_attn.in_proj_qkvz",
        "ssm_ba" => "linear_attn.in_proj_ba",
        "ffn_gate_shexp" => "mlp.shared_expert.gate_proj",
        "ffn_up_shexp" => "mlp.shared_expert.up_proj",
        "ffn_down_shexp" => "mlp.shared_expert.down_proj",
        "ffn_gate_inp_shexp" => "mlp.shared_expert_gate",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, settings: &Settings, keys: &mut Keys) -> Result<()> {
    let recurrent: Vec<bool> = shape.blocks.iter().map(|blocks| blocks.recurrence).collect();
    let every = settings.count_if(INTERVAL)?.unwrap_or(4);
    if recurrent.iter().zip(1..).all(|(recurrent, number)| *recurrent == (number % every != 0)) {
        keys.count(INTERVAL, every);
    } else {
        keys.flags(RECURRENT, &recurrent);
    }
    // A fourth kind of position has no pairs.
    let pairs = shape.rope.turning() / 2;
    let usual = [(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3].map(|n| n as f64).to_vec();
    let said = rope::with_older_names(settings, 1e4)?.numbers_if(SECTIONS)?.unwrap_or(usual);
    keys.set(SECTIONS, said.into_iter().chain([0.0; 4]).take(4).map(|n| n as i32).collect::<Vec<_>>());
    Ok(())
}
