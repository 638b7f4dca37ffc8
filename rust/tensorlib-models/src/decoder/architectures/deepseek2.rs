//! DeepSeek V2 and V3, and Kimi K2: latent attention, and experts of which groups are chosen first.

use super::names::{self, ExpertNames};
use crate::decoder::keys::{EPS, EXPERTS_USED, EXPERT_FFN, FFN, HEAD, HEADS, KV_HEADS, VALUE_HEAD};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{
    ExpertGroups, FfnKind, GroupScores, KeyHeads, Latent, Routing, Scores, Shape, Shared, Temperature,
};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use serde_json::{json, Value as Json};

const RANK: Key = Key("attention.kv_lora_rank", "kv_lora_rank");
const QUERY_RANK: Key = Key("attention.q_lora_rank", "q_lora_rank");
/// Elements of a head of queries in GGUF files, in newer ones and, as [`HEAD`], in older ones.
const KEY: Key = Key("attention.key_length_mla", "");
const VALUE: Key = Key("attention.value_length_mla", "v_head_dim");
const PLAIN: Key = Key("", "qk_nope_head_dim");
const ROTATED: Key = Key("rope.dimension_count", "qk_rope_head_dim");
const OTHER_HEAD: Key = Key("", "qk_head_dim");
const INTERLEAVED: Key = Key("", "rope_interleave");
/// The factor of YaRN's logarithm; a tenth of it in GGUF.
const LOGARITHM: Key = Key("rope.scaling.yarn_log_multiplier", "rope_scaling.mscale_all_dim");
const MAGNITUDE: Key = Key("rope.scaling.attn_factor", "");
const TEMPERATURE: Key = Key("attention.temperature_scale", "");
const TEMPERATURE_TOKENS: Key = Key("attention.temperature_length", "");
const TRAINED: Key = Key("rope.scaling.original_context_length", "");
const DRAFTING: Key = Key("nextn_predict_layers", "num_nextn_predict_layers");
const EXPERTS: Key = Key("expert_count", "n_routed_experts");
const SHARED: Key = Key("expert_shared_count", "n_shared_experts");
const SHARED_FFN: Key = Key("expert_shared_feed_forward_length", "");
const LEADING: Key = Key("leading_dense_block_count", "first_k_dense_replace");
const NORMALISED: Key = Key("expert_weights_norm", "norm_topk_prob");
const SCALE: Key = Key("expert_weights_scale", "routed_scaling_factor");
const SCORES: Key = Key("expert_gating_func", "scoring_func");
const GROUPS: Key = Key("expert_group_count", "n_group");
const GROUPS_USED: Key = Key("expert_group_used_count", "topk_group");
const METHOD: Key = Key("", "topk_method");

/// DeepSeek V2 and 2.5, and GGUF files of all of these models.
pub fn v2(settings: &Settings) -> Result<Shape> {
    read(&settings.with_defaults(&[
        (EXPERTS, 64.into()),
        (SHARED, 2.into()),
        (EXPERT_FFN, 1407.into()),
        (LEADING, 0.into()),
        (NORMALISED, false.into()),
        (SCALE, 1.into()),
        (SCORES, "softmax".into()),
        (METHOD, "greedy".into()),
    ])?)
}

/// DeepSeek V3, and Kimi K2.
pub fn v3(settings: &Settings) -> Result<Shape> {
    read(&settings.with_defaults(&[
        (EXPERTS, 256.into()),
        (EXPERTS_USED, 8.into()),
        (SHARED, 1.into()),
        (EXPERT_FFN, 2048.into()),
        (LEADING, 3.into()),
        (NORMALISED, true.into()),
        (SCALE, json!(2.5)),
        (SCORES, "sigmoid".into()),
        (METHOD, "noaux_tc".into()),
        (GROUPS, 8.into()),
        (GROUPS_USED, 4.into()),
    ])?)
}

fn read(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(&settings.with_defaults(&unsaid())?, 1e4)?;
    let latent = latent(settings)?;
    check_heads(settings, latent)?;
    let rope = Rope::read(settings, latent.rotated, false)?;
    let rope = match settings.flag_if(INTERLEAVED)? {
        Some(false) => rope,
        _ => rope.of_neighbours(),
    };
    let keys = KeyHeads { count: 1, key: latent.rank + latent.rotated, value: 0 };
    let ffn = settings.count(FFN)?;
    let mut shape = Shape::with(settings, rope, keys, ffn, (NormKind::RootMeanSquare, EPS))?
        .without_drafting(settings, DRAFTING)?;
    set_scales(settings, &mut shape, latent)?;
    shape.temperature = temperature(settings)?;
    shape.latent = Some(latent);
    with_experts(settings, shape)
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, Json)> {
    vec![
        (RANK, 512.into()),
        (QUERY_RANK, 1536.into()),
        (PLAIN, 128.into()),
        (ROTATED, 64.into()),
        (VALUE, 128.into()),
        (EPS, json!(1e-6)),
    ]
}

fn latent(settings: &Settings) -> Result<Latent> {
    let (rank, rotated) = (settings.count(RANK)?, settings.count(ROTATED)?);
    let query_rank = settings.count_or_none(QUERY_RANK)?;
    if settings.is_hub() {
        let (plain, value) = (settings.count(PLAIN)?, settings.count(VALUE)?);
        return Ok(Latent { rank, query_rank, rotated, plain, value });
    }
    // Newer files also state the lengths of cached rows.
    let (key, value) = match settings.count_if(KEY)? {
        Some(key) => (key, settings.count(VALUE)?),
        None => (settings.count(HEAD)?, settings.count(VALUE_HEAD)?),
    };
    if key <= rotated {
        return Err(settings.refuse(KEY, format!("is {key}: more than the {rotated} elements that rotate is valid")));
    }
    Ok(Latent { rank, query_rank, rotated, plain: key - rotated, value })
}

/// Refuses heads that contradict each other: all heads share latent vectors.
fn check_heads(settings: &Settings, latent: Latent) -> Result<()> {
    let heads = settings.count(HEADS)?;
    if let Some(other) = settings.count_if(KV_HEADS)?.filter(|n| *n != heads && (settings.is_hub() || *n != 1)) {
        return Err(settings.refuse(KV_HEADS, format!("is {other}: {heads}, the number of heads, is valid")));
    }
    let key = latent.plain + latent.rotated;
    let lengths = match settings.is_hub() {
        // Folders may repeat the elements that rotate, or all of a head, under these names.
        true => [(HEAD, vec![latent.rotated, key]), (OTHER_HEAD, vec![key])],
        false => [(HEAD, vec![key, latent.rank + latent.rotated]), (VALUE_HEAD, vec![latent.value, latent.rank])],
    };
    for (name, valid) in lengths {
        if let Some(other) = settings.count_if(name)?.filter(|n| !valid.contains(n)) {
            return Err(settings.refuse(name, format!("is {other}: {} is valid", valid[0])));
        }
    }
    Ok(())
}

/// Sets the factors of products and of rotated values. YaRN's factor of the logarithm scales products of whole heads, and
/// rotated values stay as they are.
fn set_scales(settings: &Settings, shape: &mut Shape, latent: Latent) -> Result<()> {
    let usual = 1.0 / ((latent.plain + latent.rotated) as f64).sqrt();
    let logarithm = settings.number_if(LOGARITHM)?.filter(|factor| *factor != 0.0);
    let Some((stretch, factor)) = shape.rope.stretch().zip(logarithm) else {
        shape.attention_scale = usual;
        return Ok(());
    };
    let factor = if settings.is_hub() { factor } else { 10.0 * factor };
    let magnitude = if stretch > 1.0 { 1.0 + 0.1 * factor * stretch.ln() } else { 1.0 };
    shape.attention_scale = usual * magnitude * magnitude;
    if !settings.is_hub() {
        // Files state one factor for both, so that their quotient is 1.
        shape.rope = shape.rope.clone().with_magnitude(1.0);
    }
    Ok(())
}

/// The growth of queries, which files of Mistral's large models have.
fn temperature(settings: &Settings) -> Result<Option<Temperature>> {
    let growth = settings.number_if(TEMPERATURE)?.filter(|growth| *growth != 0.0);
    let Some(growth) = growth else { return Ok(None) };
    let tokens = match settings.count_or_none(TEMPERATURE_TOKENS)? {
        Some(tokens) => tokens,
        None => settings.count(TRAINED)?,
    };
    Ok(Some(Temperature { growth, tokens, offset: 0, unrotated: false }))
}

fn with_experts(settings: &Settings, shape: Shape) -> Result<Shape> {
    let (routing, groups) = (routing(settings)?, groups(settings)?);
    let shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, Routing { groups, ..routing })?;
    let mut shape = shape.with_leading_dense(settings, LEADING)?;
    let (shared, ffn) = (settings.count_or_none(SHARED)?, settings.count_or_none(SHARED_FFN)?);
    if let Some(experts) = &mut shape.experts {
        experts.check_groups(settings, GROUPS)?;
        let ffn = |count: i64| ffn.unwrap_or(count * experts.ffn);
        experts.shared = shared.map(|count| Shared { ffn: ffn(count), gated: false });
    }
    Ok(shape)
}

fn routing(settings: &Settings) -> Result<Routing> {
    let said = settings.value_if(SCORES)?.unwrap_or(Json::Null);
    let scores = match (said.as_str(), said.as_i64()) {
        (Some("softmax"), _) | (_, Some(0 | 1)) => Scores::Softmax,
        (Some("sigmoid"), _) | (_, Some(2)) => Scores::Sigmoid,
        _ if said.is_null() => Scores::Softmax,
        _ => {
            let known = if settings.is_hub() { "softmax and sigmoid" } else { "1, a softmax, and 2, a sigmoid," };
            return Err(Error::unsupported(format!("{}: is {said}: {known} are known", settings.name(SCORES))));
        }
    };
    let scale = settings.number_if(SCALE)?.filter(|scale| settings.is_hub() || *scale != 0.0);
    Ok(Routing {
        scores,
        normalised: (settings.flag_if(NORMALISED)? == Some(true)).then_some(1e-20),
        scale: scale.unwrap_or(1.0),
        biased: !settings.is_hub() || settings.text_if(METHOD)?.as_deref() == Some("noaux_tc"),
        ..Routing::PLAIN
    })
}

/// The groups of experts, of which some are chosen first.
fn groups(settings: &Settings) -> Result<Option<ExpertGroups>> {
    let (count, used) = (settings.count_or_none(GROUPS)?, settings.count_or_none(GROUPS_USED)?);
    let scores = match settings.text_if(METHOD)?.as_deref() {
        Some("greedy" | "gready") => return Ok(None),
        Some("group_limited_greedy") => GroupScores::Best,
        Some("noaux_tc") => GroupScores::TwoBest,
        Some(other) => {
            let what = format!("is '{other}': greedy, group_limited_greedy and noaux_tc are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(METHOD))));
        }
        None if settings.value_if(SCORES)?.and_then(|n| n.as_i64()) == Some(2) => GroupScores::TwoBest,
        None => GroupScores::Best,
    };
    Ok(count.filter(|count| *count > 1).map(|count| ExpertGroups { count, used: used.unwrap_or(count), scores }))
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    names::with_experts(part, &ExpertNames::USUAL)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_q_a" => "self_attn.q_a_proj",
        "attn_q_a_norm" => "self_attn.q_a_layernorm",
        "attn_q_b" => "self_attn.q_b_proj",
        "attn_kv_a_mqa" => "self_attn.kv_a_proj_with_mqa",
        "attn_kv_a_norm" => "self_attn.kv_a_layernorm",
        "attn_kv_b" => "self_attn.kv_b_proj",
        "ffn_gate_shexp" => "mlp.shared_experts.gate_proj",
        "ffn_up_shexp" => "mlp.shared_experts.up_proj",
        "ffn_down_shexp" => "mlp.shared_experts.down_proj",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have: those of files with matrices for keys and for values.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    if let Some(latent) = shape.latent {
        keys.count(RANK, latent.rank);
        if let Some(rank) = latent.query_rank {
            keys.count(QUERY_RANK, rank);
        }
        keys.count(ROTATED, latent.rotated);
        keys.count(KV_HEADS, 1);
        keys.count(HEAD, latent.rank + latent.rotated);
        keys.count(VALUE_HEAD, latent.rank);
        keys.count(KEY, latent.plain + latent.rotated);
        keys.count(VALUE, latent.value);
        add_logarithm(shape, latent, keys);
    }
    let Some(experts) = &shape.experts else { return Ok(()) };
    let dense = shape.blocks.iter().take_while(|blocks| blocks.ffn == FfnKind::Dense).count();
    keys.count(LEADING, i64::try_from(dense).unwrap_or(0));
    keys.count(EXPERT_FFN, experts.ffn);
    keys.number(SCALE, experts.routing.scale);
    keys.count(SCORES, if experts.routing.scores == Scores::Sigmoid { 2 } else { 1 });
    if let Some(shared) = experts.shared {
        keys.remove(SHARED_FFN);
        keys.count(SHARED, shared.ffn / experts.ffn.max(1));
    }
    if let Some(groups) = experts.routing.groups {
        keys.count(GROUPS, groups.count);
        keys.count(GROUPS_USED, groups.used);
    }
    Ok(())
}

/// The factor of YaRN's logarithm, from the factor of products that follows from it.
fn add_logarithm(shape: &Shape, latent: Latent, keys: &mut Keys) {
    let Some(stretch) = shape.rope.stretch().filter(|stretch| *stretch > 1.0) else { return };
    let magnitude = (shape.attention_scale * ((latent.plain + latent.rotated) as f64).sqrt()).sqrt();
    let factor = (magnitude - 1.0) / (0.1 * stretch.ln());
    if factor > 1e-9 {
        keys.number(LOGARITHM, factor / 10.0);
        // Files with this key have rotated values as they are.
        keys.remove(MAGNITUDE);
    }
}
