//! RWKV 7: layers with time mixing, which has a state, and channel mixing. Folders are those of flash-linear-attention.
//! ARWKV 7 has time mixing in the place of another model's attention.

use super::names::layer_part;
use crate::decoder::activation::Activation;
use crate::decoder::keys::{CONTEXT, EPS as ROOT_EPS, FFN, HEADS, KV_HEADS, LAYERS, TIED, VALUE_HEAD, WIDTH};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{Blocks, FfnKind, KeyHeads, Recurrence, Rwkv, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames, Stack};
use crate::{Error, Result};

const EPS: Key = Key("attention.layer_norm_epsilon", "norm_eps");
const HEAD: Key = Key("wkv.head_size", "head_dim");
const HEAD_COUNT: Key = Key("", "num_heads");
const DECAY_RANK: Key = Key("attention.decay_lora_rank", "decay_low_rank_dim");
const RATE_RANK: Key = Key("attention.iclr_lora_rank", "a_low_rank_dim");
const VALUE_RANK: Key = Key("attention.value_residual_mix_lora_rank", "v_low_rank_dim");
const GATE_RANK: Key = Key("attention.gate_lora_rank", "gate_low_rank_dim");
/// The number of parts of a layer that read the token before.
const SHIFTS: Key = Key("token_shift_count", "");
const ACTIVATION: Key = Key("", "hidden_act");
const FFN_RATIO: Key = Key("", "hidden_ratio");
const HAS_FIRST_NORM: Key = Key("", "norm_first");
const HAS_NORM_BIASES: Key = Key("", "norm_bias");
const VALUES: Key = Key("", "value_dim");
/// Layers with attention.
const ATTENTION: Key = Key("", "attn");

/// What is added to the variances of heads in GGUF files, as in the code that the models were trained with.
const HEAD_EPS: f64 = 64e-5;
/// The context of converted files. States have no limit.
const ENDLESS: i64 = 1 << 20;

/// ARWKV 7: norms and feed-forward blocks are Llama's.
pub fn arwkv7(settings: &Settings) -> Result<Shape> {
    if settings.is_hub() {
        return Err(Error::unsupported("model_type 'arwkv7': folders are not read: a GGUF file is valid"));
    }
    check_shifts(settings, 1)?;
    settings.value_if(HEADS)?;
    let (width, none) = (settings.count(WIDTH)?, KeyHeads { count: 1, key: 2, value: 2 });
    let norms = (NormKind::RootMeanSquare, ROOT_EPS);
    let shape = Shape::with_heads(settings, Rope::plain(1e4, 2, true), (1, none), settings.count(FFN)?, norms)?;
    let rwkv = Rwkv { normed: None, mixes_channels: false, ..rwkv(settings, width, 0.0)? };
    let layers = vec![true; usize::try_from(settings.count(LAYERS)?).unwrap_or(0)];
    Ok(shape.with_recurrence(Recurrence::Rwkv(rwkv), &layers))
}

/// Refuses another number of parts of a layer that read the token before.
fn check_shifts(settings: &Settings, valid: i64) -> Result<()> {
    // Files of RWKV 7 do not say it.
    match settings.count_if(SHIFTS)?.unwrap_or(2) {
        shifts if shifts == valid => Ok(()),
        shifts => Err(settings.refuse(SHIFTS, format!("is {shifts}: {valid} is valid"))),
    }
}

/// Reads the settings of RWKV 7.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[
        (HEAD, 64.into()),
        (FFN_RATIO, 4.into()),
        (DECAY_RANK, 64.into()),
        (GATE_RANK, 128.into()),
        (RATE_RANK, 64.into()),
        (VALUE_RANK, 16.into()),
        (EPS, 1e-5.into()),
        (TIED, false.into()),
    ])?;
    settings.expect_text(ACTIVATION, &["sqrelu", "relu2"])?;
    if settings.value_if(ATTENTION)?.is_some() {
        return Err(Error::unsupported(format!(
            "{}: layers with attention are not supported: null is",
            settings.name(ATTENTION)
        )));
    }
    check_shifts(settings, 2)?;
    let (width, eps) = (settings.count(WIDTH)?, settings.number(EPS)?);
    let rwkv = rwkv(settings, width, eps)?;
    if rwkv.gate_rank.is_none() {
        return Err(settings.refuse(GATE_RANK, "is 0: 1 or more is valid"));
    }
    check_values(settings, width)?;
    // Converters write that there are no heads of attention.
    settings.value_if(HEADS)?;
    let none = KeyHeads { count: 1, key: 2, value: 2 };
    let settings = &settings.with_values(&[(CONTEXT, ENDLESS.into())])?;
    let norms = (NormKind::Layer, EPS);
    let mut shape = Shape::with_heads(settings, Rope::plain(1e4, 2, true), (1, none), ffn(settings, width)?, norms)?;
    if settings.is_hub() {
        // Folders have the length of texts in training, which limits nothing.
        shape.context = ENDLESS;
        shape.stated.norm_bias = Some(settings.flag_if(HAS_NORM_BIASES)?.unwrap_or(true));
    }
    let layers = usize::try_from(settings.count(LAYERS)?).unwrap_or(0);
    Ok(Shape {
        blocks: vec![Blocks { attention: false, recurrence: true, ffn: FfnKind::Shifted }; layers],
        recurrence: Some(Recurrence::Rwkv(rwkv)),
        embedding_norm: settings.flag_if(HAS_FIRST_NORM)?.unwrap_or(true),
        activation: Activation::ReluSquared,
        gated_ffn: false,
        ffn_norm: "attn_norm_2",
        ..shape
    })
}

/// The sizes of time mixing.
fn rwkv(settings: &Settings, width: i64, eps: f64) -> Result<Rwkv> {
    let count = settings.count_if(HEAD_COUNT)?;
    let head = match (settings.count_if(HEAD)?, count) {
        (None, Some(count)) if width % count == 0 => width / count,
        (None, Some(count)) => {
            return Err(settings.refuse(HEAD_COUNT, format!("is {count}: a divisor of the width {width} is valid")));
        }
        (head, _) => head.map_or_else(|| settings.count(HEAD), Ok)?,
    };
    if width % head != 0 {
        return Err(settings.refuse(HEAD, format!("is {head}: a divisor of the width {width} is valid")));
    }
    let heads = width / head;
    if let Some(count) = count.filter(|count| *count != heads) {
        // The published code reads it only where there is no size of heads.
        let what = format!("is {count}, and heads of {head} elements are {heads}, which counts");
        settings.warnings().add(format!("{}: {what}", settings.name(HEAD_COUNT)));
    }
    // The published code makes them multiples of 32 where a folder sets them to null.
    let rank = |key: Key, factor: f64| -> Result<i64> {
        let usual = (factor * (width as f64).sqrt() / 32.0).round_ties_even() as i64 * 32;
        match settings.is_hub() {
            true => Ok(settings.count_if(key)?.unwrap_or(usual.max(32))),
            false => settings.count(key),
        }
    };
    let of_head = head as f64 / 64.0;
    Ok(Rwkv {
        heads,
        head,
        decay_rank: rank(DECAY_RANK, 2.5 * of_head)?,
        rate_rank: rank(RATE_RANK, 2.5 * of_head)?,
        value_rank: rank(VALUE_RANK, 1.7 * of_head)?,
        gate_rank: match settings.is_hub() {
            true => Some(rank(GATE_RANK, 5.0)?),
            false => settings.count_or_none(GATE_RANK)?,
        },
        normed: Some(true),
        head_eps: if settings.is_hub() { head as f64 * eps } else { HEAD_EPS },
        mixes_channels: true,
    })
}

/// The number of neurons of channel mixing.
fn ffn(settings: &Settings, width: i64) -> Result<i64> {
    let ratio = settings.number_if(FFN_RATIO)?.unwrap_or(4.0);
    if let Some(ffn) = settings.count_if(FFN)? {
        return Ok(ffn);
    }
    let ffn = (width as f64 * ratio) as i64;
    match settings.is_hub() && (1..=1 << 20).contains(&ffn) {
        true => Ok((ffn + 31) / 32 * 32),
        false => settings.count(FFN),
    }
}

/// Refuses values with other numbers of elements than the width, for all layers or for each.
fn check_values(settings: &Settings, width: i64) -> Result<()> {
    let Some(value) = settings.value_if(VALUES)? else { return Ok(()) };
    let all = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
    match all.iter().find(|n| n.as_f64() != Some(width as f64)) {
        Some(other) => {
            let what = format!("has {other}: values of {width} elements, as wide as the layers, are supported");
            Err(Error::unsupported(format!("{}: {what}", settings.name(VALUES))))
        }
        None => Ok(()),
    }
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    HubNames::new(|name| match name {
        "token_embd.weight" => HubName::One(vec!["model.embeddings.weight".into()]),
        "output.weight" => HubName::One(vec!["lm_head.weight".into()]),
        _ => match (name.rsplit_once('.'), layer_part(name)) {
            (Some(("token_embd_norm", end)), _) => HubName::One(vec![format!("model.layers.0.pre_norm.{end}")]),
            (Some(("output_norm", end)), _) => HubName::One(vec![format!("model.norm.{end}")]),
            (_, Some((layer, "time_mix_lerp_fused", "weight"))) => shares(layer),
            (_, Some((layer, part, end))) => {
                HubName::One(vec![format!("model.layers.{layer}.{}", of_layer(part, end))])
            }
            _ => HubName::One(vec![name.into()]),
        },
    })
}

/// The shares of the token before: a tensor for each input, or one for all in older folders.
fn shares(layer: &str) -> HubName {
    let prefix = format!("model.layers.{layer}.attn.x_");
    let fused = vec![format!("{prefix}x")];
    let of = move |i: usize| ["r", "w", "k", "v", "a", "g"].get(i).map(|input| format!("{prefix}{input}"));
    let of = Box::new(move |i| of(i).into_iter().collect());
    HubName::Stack(Stack { of, fused, half: None, transposed: false })
}

/// The name of a part of a layer, with its ending.
fn of_layer(part: &str, end: &str) -> String {
    let whole = match part {
        "attn_norm" => "attn_norm",
        "attn_norm_2" => "ffn_norm",
        "time_mix_receptance" => "attn.r_proj",
        "time_mix_key" => "attn.k_proj",
        "time_mix_value" => "attn.v_proj",
        "time_mix_output" => "attn.o_proj",
        "time_mix_ln" => "attn.g_norm",
        "channel_mix_key" => "ffn.key",
        "channel_mix_value" => "ffn.value",
        _ => return of_vectors(part, end),
    };
    format!("{whole}.{end}")
}

/// The name of a vector, or of one of two small matrices.
fn of_vectors(part: &str, end: &str) -> String {
    let own = match part {
        "channel_mix_lerp_k" => Some("ffn.x_k"),
        "time_mix_k_k" => Some("attn.k_k"),
        "time_mix_k_a" => Some("attn.k_a"),
        "time_mix_r_k" => Some("attn.r_k"),
        _ => None,
    };
    let small = part.strip_prefix("time_mix_").and_then(|rest| rest.split_at_checked(1));
    match (own, small, end) {
        (Some(name), _, "weight") => name.into(),
        (_, Some((letter, "0")), "weight") => format!("attn.{letter}_lora.lora.2.bias"),
        (_, Some((letter, "1")), "weight") => format!("attn.{letter}_lora.lora.0.weight"),
        (_, Some((letter, "2")), "weight") => format!("attn.{letter}_lora.lora.2.weight"),
        _ => format!("{part}.{end}"),
    }
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(_: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    // There is no attention.
    keys.count(HEADS, 0);
    for key in [KV_HEADS, crate::decoder::keys::HEAD, VALUE_HEAD] {
        keys.remove(key);
    }
    Ok(())
}
