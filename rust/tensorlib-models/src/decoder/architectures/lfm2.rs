//! LFM2, with and without experts: most layers have a short convolution between gates instead of attention.

use super::names::{self, ExpertNames};
use crate::decoder::keys::{CONTEXT, EXPERT_FFN, FFN, HEADS, KV_HEADS, LAYER_TYPES, TIED, VALUE_HEAD};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{check_heads, taps, FfnKind, HeadNorms, KeyHeads, Recurrence, Routing, Scores, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};

const EPS: Key = Key("attention.layer_norm_rms_epsilon", "norm_eps");
const TAPS: Key = Key("shortconv.l_cache", "conv_L_cache");
const CONVOLUTION_BIAS: Key = Key("", "conv_bias");
/// The layers with attention, in older folders.
const ATTENTION_LAYERS: Key = Key("", "full_attn_idxs");
/// Older names of settings.
const OLD_BASE: Key = Key("", "theta");
const BASE: Key = Key("", "rope_theta");
const OLD_FFN: Key = Key("", "block_ff_dim");
const OLD_TIED: Key = Key("", "tie_embedding");
/// How the number of neurons follows from that of the settings.
const ADJUSTS_FFN: Key = Key("", "block_auto_adjust_ff_dim");
const FFN_FACTOR: Key = Key("", "block_ffn_dim_multiplier");
const FFN_MULTIPLE: Key = Key("", "block_multiple_of");
const EXPERTS: Key = Key("expert_count", "num_experts");
const LEADING: Key = Key("leading_dense_block_count", "num_dense_layers");
const BIASED: Key = Key("", "use_expert_bias");
const NORMALISED: Key = Key("expert_weights_norm", "norm_topk_prob");
const SCALE: Key = Key("expert_weights_scale", "routed_scaling_factor");
const SCORES: Key = Key("expert_gating_func", "");

/// LFM2 without experts.
pub fn lfm2(settings: &Settings) -> Result<Shape> {
    let ffn = match settings.is_hub() {
        true => ffn(settings)?,
        false => settings.count(FFN)?,
    };
    read(settings, ffn)
}

/// LFM2 with experts in all layers but the first.
pub fn lfm2moe(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_defaults(&[(LEADING, 2.into())])?;
    let shape = read(settings, settings.count(FFN)?)?;
    let scores = match settings.count_or_none(SCORES)? {
        None | Some(2) => Scores::Sigmoid,
        Some(1) => Scores::Softmax,
        Some(other) => {
            let what = format!("is {other}: 1, a softmax, and 2, a sigmoid, are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(SCORES))));
        }
    };
    let routing = Routing {
        scores,
        normalised: settings.flag_if(NORMALISED)?.unwrap_or(true).then_some(1e-6),
        scale: settings.number_if(SCALE)?.filter(|scale| settings.is_hub() || *scale != 0.0).unwrap_or(1.0),
        biased: settings.flag_if(BIASED)?.unwrap_or(true),
        ..Routing::PLAIN
    };
    shape.with_experts(settings, EXPERTS, EXPERT_FFN, routing)?.with_leading_dense(settings, LEADING)
}

/// The settings of both, for this number of neurons.
fn read(settings: &Settings, ffn: i64) -> Result<Shape> {
    let settings = &settings.with_defaults(&unsaid())?;
    let settings = &with_newer_names(settings)?;
    let rope = Rope::read(settings, Shape::head(settings)?, true)?;
    let heads = settings.count(HEADS)?;
    let (convolves, count) = layers(settings, Shape::layers(settings)?)?;
    let head = Shape::head(settings)?;
    let keys = KeyHeads { count, key: head, value: settings.count_if(VALUE_HEAD)?.unwrap_or(head) };
    check_heads(settings, heads, keys)?;
    let mut shape = Shape::with(settings, rope, keys, ffn, (NormKind::RootMeanSquare, EPS))?;
    if settings.is_hub() {
        shape.stated.convolution_bias = Some(settings.flag_if(CONVOLUTION_BIAS)?.unwrap_or(false));
    }
    let recurrence = Recurrence::ShortConvolution { taps: taps(settings, TAPS)? };
    Ok(Shape {
        head_norms: HeadNorms::BeforeRotation,
        output_norm: "token_embd_norm",
        ..shape.with_recurrence(recurrence, &convolves)
    })
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, serde_json::Value)> {
    vec![
        (HEADS, 32.into()),
        (KV_HEADS, 8.into()),
        (CONTEXT, 128_000.into()),
        (EPS, 1e-5.into()),
        (TAPS, 3.into()),
        (TIED, true.into()),
    ]
}

/// These settings with values under the names that newer folders use.
fn with_newer_names(settings: &Settings) -> Result<Settings> {
    let older = |key: Key| Ok::<_, Error>(settings.value_if(key)?.unwrap_or_default());
    let settings = settings.with_values(&[(BASE, older(OLD_BASE)?)])?;
    if let Some(other) = settings.flag_if(OLD_TIED)? {
        let said = settings.flag_if(TIED)?.unwrap_or(other);
        if said != other {
            let what = format!("is {other}, and tie_word_embeddings is {said}: one value is valid");
            return Err(settings.refuse(OLD_TIED, what));
        }
    }
    rope::with_older_names(&settings, 1e6)
}

/// The number of neurons in folders, where the settings may have a number from which it follows.
fn ffn(settings: &Settings) -> Result<i64> {
    let ffn = settings.count_if(OLD_FFN)?.map_or_else(|| settings.count(FFN), Ok)?;
    settings.whole_if(FFN, 1)?;
    let (factor, multiple) = (settings.number_if(FFN_FACTOR)?, settings.count_if(FFN_MULTIPLE)?.unwrap_or(256));
    if !settings.flag_if(ADJUSTS_FFN)?.unwrap_or(true) {
        return Ok(ffn);
    }
    let ffn = 2 * ffn / 3;
    let factor = match factor {
        None if settings.is_null(FFN_FACTOR) => return Ok(ffn),
        said => said.unwrap_or(1.0),
    };
    let scaled = (factor * ffn as f64) as i64;
    match (1..=1 << 20).contains(&scaled) {
        true => Ok((scaled + multiple - 1) / multiple * multiple),
        false => {
            Err(settings.refuse(FFN_FACTOR, format!("is {factor}: a number above 0 that leaves neurons is valid")))
        }
    }
}

/// Which layers have a convolution, and the number of heads of keys in the others.
fn layers(settings: &Settings, layers: i64) -> Result<(Vec<bool>, i64)> {
    if !settings.is_hub() {
        let (counts, first) = settings.zero_or_one_number(KV_HEADS, layers)?;
        return Ok((counts.iter().map(|count| *count == 0).collect(), first));
    }
    let kinds = [("conv", true), ("full_attention", false)];
    let listed = settings.numbers_if(ATTENTION_LAYERS)?;
    let convolves = match (settings.kinds_of_layers(LAYER_TYPES, layers, &kinds)?, listed) {
        (Some(kinds), _) => kinds,
        (None, Some(listed)) => (0..layers).map(|layer| !listed.contains(&(layer as f64))).collect(),
        (None, None) => vec![false; usize::try_from(layers).unwrap_or(0)],
    };
    Ok((convolves, settings.count(KV_HEADS)?))
}

const EXPERT_NAMES: ExpertNames = ExpertNames {
    experts: "feed_forward.experts",
    fused: "feed_forward.experts",
    transposed: false,
    gate: "w1",
    up: "w3",
    down: "w2",
    routers: &["feed_forward.gate"],
    bias: "feed_forward.expert_bias",
};

/// The folder's names.
pub fn hub_names() -> HubNames {
    let others = names::with_experts(part, &EXPERT_NAMES).of;
    HubNames::new(move |name| match name {
        "token_embd_norm.weight" => HubName::One(names::behind_prefixes("embedding_norm.weight")),
        _ => others(name),
    })
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_norm" => "operator_norm",
        "attn_output" => "self_attn.out_proj",
        "attn_q_norm" => "self_attn.q_layernorm",
        "attn_k_norm" => "self_attn.k_layernorm",
        "shortconv.in_proj" => "conv.in_proj",
        "shortconv.conv" => "conv.conv",
        "shortconv.out_proj" => "conv.out_proj",
        "ffn_norm" => "ffn_norm",
        "ffn_gate" => "feed_forward.w1",
        "ffn_up" => "feed_forward.w3",
        "ffn_down" => "feed_forward.w2",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    let Some(experts) = &shape.experts else { return Ok(()) };
    let dense = shape.blocks.iter().take_while(|blocks| blocks.ffn == FfnKind::Dense).count();
    keys.count(LEADING, i64::try_from(dense).unwrap_or(0));
    keys.count(SCORES, if experts.routing.scores == Scores::Sigmoid { 2 } else { 1 });
    keys.number(SCALE, experts.routing.scale);
    Ok(())
}
