//! Nemotron H and Nemotron 3: layers with a state, with attention, with a feed-forward block or with experts, of which each
//! has one. Nothing rotates.

use super::mamba;
use super::names::layer_part;
use crate::decoder::activation::Activation;
use crate::decoder::keys::{CONTEXT, EXPERTS_USED, EXPERT_FFN, FFN, HEAD, HEADS, KV_HEADS, LAYERS, VALUE_HEAD};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{
    check_heads, Blocks, ExpertGroups, FfnKind, GroupScores, KeyHeads, Recurrence, Routing, Scores, Shape, Shared,
};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames, Stack};
use crate::{Error, Result};

const KEYS: &mamba::StateKeys = &mamba::StateKeys {
    heads: Key("ssm.time_step_rank", "mamba_num_heads"),
    head: Key("", "mamba_head_dim"),
    state: Key("ssm.state_size", "ssm_state_size"),
    bias: Key("", "mamba_proj_bias"),
    ..mamba::StateKeys::USUAL
};
const EPS: Key = Key("attention.layer_norm_rms_epsilon", "layer_norm_epsilon");
/// The key that llama.cpp's converter writes for newer folders, which its readers demand.
const GGUF_EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_epsilon");
const OLD_EPS: Key = Key("", "rms_norm_eps");
const OLD_HEAD: Key = Key("", "attention_head_dim");
const OLD_BIAS: Key = Key("", "use_bias");
/// A letter for each layer, or a name.
const PATTERN: Key = Key("", "hybrid_override_pattern");
const KINDS: Key = Key("", "layers_block_type");
const NEWER_KINDS: Key = Key("", "layer_types");
const ACTIVATION: Key = Key("", "mlp_hidden_act");
const STATE_ACTIVATION: Key = Key("", "mamba_hidden_act");
/// Settings of the rotation that converters write although nothing rotates.
const ROTATION: [Key; 2] = [Key("rope.dimension_count", "rope_theta"), Key("rope.freq_base", "partial_rotary_factor")];

const EXPERTS: Key = Key("expert_count", "n_routed_experts");
const SHARED: Key = Key("expert_shared_count", "n_shared_experts");
const SHARED_FFN: Key = Key("expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size");
const EXPERT_WIDTH: Key = Key("moe_latent_size", "moe_latent_size");
const NORMALISED: Key = Key("expert_weights_norm", "norm_topk_prob");
const SCALE: Key = Key("expert_weights_scale", "routed_scaling_factor");
const SCORES: Key = Key("expert_gating_func", "");
const GROUPS: Key = Key("expert_group_count", "n_group");
const GROUPS_USED: Key = Key("expert_group_used_count", "topk_group");
/// Layers after the others, which draft tokens.
const DRAFTING: Key = Key("nextn_predict_layers", "num_nextn_predict_layers");
/// Says how a program schedules the shared expert.
const OVERLAP: Key = Key("", "moe_shared_expert_overlap");

const STATE: Blocks = Blocks { attention: false, recurrence: true, ffn: FfnKind::None };
const ATTENTION: Blocks = Blocks { attention: true, recurrence: false, ffn: FfnKind::None };
const FEED: Blocks = Blocks { attention: false, recurrence: false, ffn: FfnKind::Dense };
const OF_EXPERTS: Blocks = Blocks { attention: false, recurrence: false, ffn: FfnKind::Experts };

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &with_defaults(settings)?;
    settings.expect_text(ACTIVATION, &["relu2"])?;
    settings.expect_text(STATE_ACTIVATION, &["silu"])?;
    for key in ROTATION {
        settings.value_if(key)?;
    }
    let (blocks, count, ffn) = blocks(settings)?;
    let head = Shape::head(settings)?;
    let keys = KeyHeads { count, key: head, value: settings.count_if(VALUE_HEAD)?.unwrap_or(head) };
    check_heads(settings, settings.count(HEADS)?, keys)?;
    let rope = Rope::plain(1e4, head / 2 * 2, true);
    let has_own = settings.is_hub() || settings.number_if(EPS)?.is_some();
    settings.value_if(GGUF_EPS)?;
    let eps = if has_own { EPS } else { GGUF_EPS };
    let shape = Shape::with(settings, rope, keys, ffn, (NormKind::RootMeanSquare, eps))?;
    let mut shape = with_experts(settings, shape.without_drafting(settings, DRAFTING)?, &blocks)?;
    mamba::set_biases(settings, KEYS, &mut shape)?;
    if settings.flag_if(OLD_BIAS)? == Some(true) {
        shape.stated.mamba_bias = Some([true; 2]);
    }
    let recurrence = blocks.iter().any(|blocks| blocks.recurrence);
    let recurrence = recurrence.then(|| mamba::read(settings, KEYS)).transpose()?.map(Recurrence::Mamba);
    let rotated = Some(vec![false; blocks.len()]);
    Ok(Shape { blocks, recurrence, rotated, activation: Activation::ReluSquared, gated_ffn: false, ..shape })
}

/// Defaults of the published code, and values under newer names.
fn with_defaults(settings: &Settings) -> Result<Settings> {
    let older = |key: Key| Ok::<_, Error>(settings.value_if(key)?.unwrap_or_default());
    let settings = settings.with_values(&[(KINDS, older(NEWER_KINDS)?)])?;
    // Newer folders need not say how many layers they list.
    let listed = settings.value_if(KINDS)?.and_then(|list| list.as_array().map(Vec::len));
    settings.with_values(&[(HEAD, older(OLD_HEAD)?), (EPS, older(OLD_EPS)?), (LAYERS, listed.into())])?.with_defaults(
        &[
            (KV_HEADS, 8.into()),
            (HEAD, 128.into()),
            (CONTEXT, 4096.into()),
            (EPS, 1e-5.into()),
            (KEYS.heads, 128.into()),
            (KEYS.head, 64.into()),
            (KEYS.state, 128.into()),
            (KEYS.groups, 8.into()),
            (KEYS.taps, 4.into()),
            (EXPERTS, 8.into()),
            (SHARED, 1.into()),
            (EXPERT_FFN, 7688.into()),
            (SHARED_FFN, 7688.into()),
            (EXPERTS_USED, 2.into()),
            (SCALE, 1.into()),
            (GROUPS, 1.into()),
            (GROUPS_USED, 1.into()),
            (NORMALISED, true.into()),
        ],
    )
}

/// Adds the experts of those layers that have some.
fn with_experts(settings: &Settings, shape: Shape, blocks: &[Blocks]) -> Result<Shape> {
    let (shared, shared_ffn) = (settings.count_or_none(SHARED)?, settings.count_if(SHARED_FFN)?);
    let (groups, groups_used) = (settings.count_or_none(GROUPS)?, settings.count_or_none(GROUPS_USED)?);
    let scale = settings.number_if(SCALE)?.filter(|scale| settings.is_hub() || *scale != 0.0);
    let normalised = settings.flag_if(NORMALISED)?.unwrap_or(false);
    let (width, ffn) = (settings.count_or_none(EXPERT_WIDTH)?, settings.count_if(EXPERT_FFN)?);
    settings.value_if(OVERLAP)?;
    if let Some(other) = settings.count_or_none(SCORES)?.filter(|scores| *scores != 2) {
        let what = format!("is {other}: 2, a sigmoid, is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(SCORES))));
    }
    if blocks.iter().all(|blocks| blocks.ffn != FfnKind::Experts) {
        settings.count_or_none(EXPERTS)?;
        settings.count_or_none(EXPERTS_USED)?;
        return Ok(shape);
    }
    let groups = groups.filter(|count| *count > 1).map(|count| ExpertGroups {
        count,
        used: groups_used.unwrap_or(count),
        scores: GroupScores::TwoBest,
    });
    let routing = Routing {
        scores: Scores::Sigmoid,
        normalised: normalised.then_some(1e-20),
        scale: scale.unwrap_or(1.0),
        biased: true,
        groups,
        ..Routing::PLAIN
    };
    let mut shape = shape.with_experts(settings, EXPERTS, EXPERT_FFN, routing)?;
    let only_experts = blocks.iter().all(|blocks| blocks.ffn != FfnKind::Dense);
    let Some(experts) = &mut shape.experts else { return Err(settings.refuse(EXPERTS, "is 0: 1 or more is valid")) };
    experts.check_groups(settings, GROUPS)?;
    experts.width = width;
    // Older files have the neurons of all experts of a token as those of a layer.
    experts.ffn = ffn.unwrap_or(shape.ffn / experts.used);
    experts.shared = match (shared, shared_ffn) {
        (_, None) => return Err(settings.refuse(SHARED_FFN, "is missing: a whole number is expected")),
        (None, _) if settings.is_hub() => {
            // The published code makes a shared expert whatever this says.
            return Err(settings.refuse(SHARED, "is 0: 1 is valid"));
        }
        (_, Some(ffn)) => Some(Shared { ffn, gated: false }),
    };
    if only_experts {
        shape.ffn = experts.ffn;
    }
    Ok(shape)
}

/// The blocks of each layer, the heads of keys of those with attention, and the neurons of the others.
fn blocks(settings: &Settings) -> Result<(Vec<Blocks>, i64, i64)> {
    let layers = Shape::layers(settings)?;
    if settings.is_hub() {
        let listed = listed(settings, layers)?;
        let has_neurons = listed.iter().any(|blocks| blocks.ffn == FfnKind::Dense);
        let ffn = if has_neurons { settings.count(FFN)? } else { settings.count_if(FFN)?.unwrap_or(1) };
        return Ok((listed, settings.count(KV_HEADS)?, ffn));
    }
    let layers = (layers - settings.whole_if(DRAFTING, 0)?.unwrap_or(0)).max(0);
    let ((heads, count), (ffns, ffn)) =
        (settings.zero_or_one_number(KV_HEADS, layers)?, settings.zero_or_one_number(FFN, layers)?);
    let feed = if settings.count_or_none(EXPERTS)?.is_some() { OF_EXPERTS } else { FEED };
    let of_layer = |(heads, ffn): (&i64, &i64)| match (heads, ffn) {
        (0, 0) => Ok(STATE),
        (_, 0) => Ok(ATTENTION),
        (0, _) => Ok(feed),
        _ => Err(settings.refuse(FFN, "layers with attention have 0 neurons")),
    };
    let blocks = heads.iter().zip(&ffns).map(of_layer).collect::<Result<_>>()?;
    Ok((blocks, count, ffn))
}

/// The blocks that a folder lists.
fn listed(settings: &Settings, layers: i64) -> Result<Vec<Blocks>> {
    let kinds = [
        ("mamba", STATE),
        ("linear_attention", STATE),
        ("attention", ATTENTION),
        ("full_attention", ATTENTION),
        ("mlp", FEED),
        ("moe", OF_EXPERTS),
    ];
    if let Some(listed) = settings.kinds_of_layers(KINDS, layers, &kinds)? {
        settings.value_if(PATTERN)?;
        return Ok(listed);
    }
    let Some(pattern) = settings.text_if(PATTERN)? else {
        return Err(settings.refuse(KINDS, "is missing: a name for each of the layers is expected"));
    };
    if pattern.chars().count() as i64 != layers {
        return Err(settings.refuse_length(PATTERN, pattern.chars().count(), layers));
    }
    let of_letter = |letter: char| match letter {
        'M' => Ok(STATE),
        '*' => Ok(ATTENTION),
        '-' => Ok(FEED),
        'E' => Ok(OF_EXPERTS),
        other => {
            let what =
                format!("has '{other}': M, *, - and E, for states, attention, neurons and experts, are supported");
            Err(Error::unsupported(format!("{}: {what}", settings.name(PATTERN))))
        }
    };
    pattern.chars().map(of_letter).collect()
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    let others = mamba::backbone(part).of;
    HubNames::new(move |name| match layer_part(name) {
        Some((layer, "ffn_up_exps", "weight")) => experts(layer, "up_proj"),
        Some((layer, "ffn_down_exps", "weight")) => experts(layer, "down_proj"),
        Some((layer, "exp_probs_b", "bias")) => {
            let gate = format!("layers.{layer}.mixer.gate.e_score_correction");
            HubName::One([mamba::prefixed(&format!("{gate}_bias")), mamba::prefixed(&format!("{gate}.bias"))].concat())
        }
        _ => others(name),
    })
}

/// The matrices of all experts: a tensor for each, or one for all.
fn experts(layer: &str, matrix: &'static str) -> HubName {
    let folder = format!("layers.{layer}.mixer.experts");
    let fused = mamba::prefixed(&format!("{folder}.{matrix}"));
    let of = Box::new(move |i| mamba::prefixed(&format!("{folder}.{i}.{matrix}.weight")));
    HubName::Stack(Stack { of, fused, half: None, transposed: false })
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_q" => "q_proj",
        "attn_k" => "k_proj",
        "attn_v" => "v_proj",
        "attn_output" => "o_proj",
        "ffn_up" => "up_proj",
        "ffn_down" => "down_proj",
        "ffn_gate_inp" => "gate",
        "ffn_up_shexp" => "shared_experts.up_proj",
        "ffn_down_shexp" => "shared_experts.down_proj",
        "ffn_latent_down" => "fc1_latent_proj",
        "ffn_latent_up" => "fc2_latent_proj",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    // Layers have a state, attention, or neurons or experts, so both numbers are lists.
    let of = |has: fn(&Blocks) -> bool, n: i64| {
        shape.blocks.iter().map(|blocks| if has(blocks) { n } else { 0 }).collect::<Vec<_>>()
    };
    keys.counts(KV_HEADS, &of(|blocks| blocks.attention, shape.keys.count));
    keys.number(GGUF_EPS, shape.eps);
    keys.counts(FFN, &of(|blocks| blocks.ffn != FfnKind::None, shape.ffn));
    let Some(experts) = &shape.experts else { return Ok(()) };
    keys.count(SHARED, 1);
    keys.number(SCALE, experts.routing.scale);
    keys.count(GROUPS, experts.routing.groups.map_or(1, |groups| groups.count));
    if let Some(groups) = experts.routing.groups {
        keys.count(GROUPS_USED, groups.used);
    }
    if let Some(width) = experts.width {
        keys.count(EXPERT_WIDTH, width);
    }
    Ok(())
}
