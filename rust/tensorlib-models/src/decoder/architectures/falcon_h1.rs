//! Falcon H1: attention and states side by side, and factors of most products, which GGUF files have in their matrices.

use super::{mamba, names};
use crate::decoder::keys::{ATTENTION_SCALE, CONTEXT, KV_HEADS, WIDTH};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{Recurrence, Shape};
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};

const KEYS: &mamba::StateKeys = &mamba::StateKeys {
    heads: Key("ssm.time_step_rank", "mamba_n_heads"),
    head: Key("", "mamba_d_head"),
    state: Key("ssm.state_size", "mamba_d_state"),
    groups: Key("ssm.group_count", "mamba_n_groups"),
    taps: Key("ssm.conv_kernel", "mamba_d_conv"),
    inner: Key("ssm.inner_size", "mamba_d_ssm"),
    limits: Key("", "time_step_limit"),
    convolution_bias: Key("", "mamba_conv_bias"),
    bias: Key("", "mamba_proj_bias"),
};
const EXPAND: Key = Key("", "mamba_expand");
const NORMED: Key = Key("", "mamba_rms_norm");
const GATES_LAST: Key = Key("", "mamba_norm_before_gate");
const PROJECTORS_BIAS: Key = Key("", "projectors_bias");
const EMBEDDING: Key = Key("", "embedding_multiplier");
const LOGITS: Key = Key("", "lm_head_multiplier");
const KEY_FACTOR: Key = Key("", "key_multiplier");
const ATTENTION_IN: Key = Key("", "attention_in_multiplier");
const ATTENTION_OUT: Key = Key("", "attention_out_multiplier");
const STATE_IN: Key = Key("", "ssm_in_multiplier");
const STATE_OUT: Key = Key("", "ssm_out_multiplier");
const STATE_PARTS: Key = Key("", "ssm_multipliers");
const FFN_PARTS: Key = Key("", "mlp_multipliers");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(&settings.with_defaults(&unsaid())?, 1e4)?;
    let settings = &match settings.is_null(KEYS.inner) {
        true => settings.with_values(&[(KEYS.inner, (settings.count(EXPAND)? * settings.count(WIDTH)?).into())])?,
        false => settings.clone(),
    };
    let factor = |key: Key| Ok::<_, Error>(settings.number_if(key)?.unwrap_or(1.0));
    let mut mamba = mamba::read(settings, KEYS)?;
    // GGUF files have norms, after the gates, if they have their tensors.
    mamba.normed = settings.is_hub().then_some(settings.flag_if(NORMED)?.unwrap_or(false));
    mamba.gates_last = settings.flag_if(GATES_LAST)?.unwrap_or(settings.is_hub());
    (mamba.input_scale, mamba.output_scale) = (factor(STATE_IN)?, factor(STATE_OUT)?);
    mamba.factors = factors(settings, STATE_PARTS)?;
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let mut shape = Shape::read(settings, rope)?;
    mamba::set_biases(settings, KEYS, &mut shape)?;
    if let Some([_, output]) = &mut shape.stated.mamba_bias {
        *output = settings.flag_if(PROJECTORS_BIAS)?.unwrap_or(false);
    }
    let layers = vec![true; usize::try_from(shape.layers).unwrap_or(0)];
    let mut shape = Shape {
        // The factor of keys is one of products with them.
        attention_scale: shape.attention_scale * factor(KEY_FACTOR)?,
        attention_factors: [factor(ATTENTION_IN)?, factor(ATTENTION_OUT)?],
        ffn_factors: factors(settings, FFN_PARTS)?.unwrap_or([1.0; 2]),
        embedding_scale: factor(EMBEDDING)?,
        logit_scale: factor(LOGITS)?,
        ..shape.with_recurrence(Recurrence::Mamba(mamba), &layers)
    };
    shape.blocks.iter_mut().for_each(|blocks| blocks.attention = true);
    Ok(shape)
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, serde_json::Value)> {
    vec![
        (KV_HEADS, 8.into()),
        (CONTEXT, 8192.into()),
        (KEYS.heads, 128.into()),
        (KEYS.inner, 1024.into()),
        (KEYS.state, 256.into()),
        (KEYS.groups, 1.into()),
        (KEYS.taps, 4.into()),
        (EXPAND, 2.into()),
    ]
}

/// A list of N factors, if a folder has it.
fn factors<const N: usize>(settings: &Settings, key: Key) -> Result<Option<[f64; N]>> {
    let Some(list) = settings.numbers_if(key)? else { return Ok(None) };
    let entries = list.len();
    let factors = list.try_into();
    factors.map(Some).map_err(|_| settings.refuse(key, format!("has {entries} entries: {N} numbers are valid")))
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    let others = names::with(part, false).of;
    let of = move |name: &str| match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        _ if name == "output_norm.weight" => HubName::One(names::behind_prefixes("final_layernorm.weight")),
        Some((layer, part)) => match mamba::number(part) {
            Some(number) => names::in_layer(layer, &format!("mamba.{number}")),
            None => others(name),
        },
        None => others(name),
    };
    HubNames { in_gguf, ..HubNames::new(of) }
}

/// llama.cpp's files name this norm without an ending.
fn in_gguf(name: &str) -> Option<String> {
    name.strip_suffix(".ffn_norm.weight").map(|layer| format!("{layer}.ffn_norm"))
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "ffn_norm" => "pre_ff_layernorm",
        "ffn_gate" => "feed_forward.gate_proj",
        "ffn_up" => "feed_forward.up_proj",
        "ffn_down" => "feed_forward.down_proj",
        "ssm_in" => "mamba.in_proj",
        "ssm_conv1d" => "mamba.conv1d",
        "ssm_norm" => "mamba.norm",
        "ssm_out" => "mamba.out_proj",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have. Factors are in the matrices there.
pub fn add_keys(_: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    keys.remove(ATTENTION_SCALE);
    Ok(())
}

/// A model whose matrices have all factors of products.
pub fn with_factors_in_matrices(shape: &Shape) -> Shape {
    let mut made = shape.clone();
    made.attention_scale = 1.0 / (shape.keys.key as f64).sqrt();
    (made.attention_factors, made.ffn_factors) = ([1.0; 2], [1.0; 2]);
    (made.embedding_scale, made.logit_scale) = (1.0, 1.0);
    if let Some(Recurrence::Mamba(mamba)) = &mut made.recurrence {
        (mamba.input_scale, mamba.output_scale, mamba.factors) = (1.0, 1.0, None);
    }
    made
}

/// The factors of the rows of a matrix that stand for those of products, if there are any: one for all rows, or one for
/// each. `part`: the name in a layer, or the whole name of a tensor outside of layers.
pub fn row_factors(shape: &Shape, part: &str) -> Vec<f32> {
    let [attention_in, attention_out] = shape.attention_factors;
    let of_keys = shape.attention_scale * (shape.keys.key as f64).sqrt();
    let mamba = match &shape.recurrence {
        Some(Recurrence::Mamba(mamba)) => Some(mamba),
        _ => None,
    };
    let factor = match part {
        "token_embd.weight" => shape.embedding_scale,
        "output.weight" => shape.logit_scale,
        "attn_q.weight" | "attn_v.weight" => attention_in,
        "attn_k.weight" => attention_in * of_keys,
        "attn_output.weight" => attention_out,
        "ffn_gate.weight" => shape.ffn_factors[0],
        "ffn_down.weight" => shape.ffn_factors[1],
        "ssm_out.weight" => mamba.map_or(1.0, |mamba| mamba.output_scale),
        "ssm_in.weight" => {
            let Some(mamba) = mamba else { return Vec::new() };
            let all = mamba.spread(&mamba.factors.unwrap_or([1.0; 5])).into_iter();
            return all.map(|factor| factor * mamba.input_scale as f32).collect();
        }
        _ => 1.0,
    };
    if factor == 1.0 {
        Vec::new()
    } else {
        vec![factor as f32]
    }
}
