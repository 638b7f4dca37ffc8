//! Nemotron H: layers with a state, with attention or with a feed-forward block, of which each has one. Nothing rotates.

use super::mamba;
use crate::decoder::activation::Activation;
use crate::decoder::keys::{CONTEXT, FFN, HEAD, HEADS, KV_HEADS, VALUE_HEAD};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{check_heads, Blocks, FfnKind, KeyHeads, Recurrence, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
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

/// Settings of experts, which layers of these kinds do not have.
const EXPERTS: [Key; 12] = [
    Key("", "n_routed_experts"),
    Key("", "n_shared_experts"),
    Key("", "num_experts_per_tok"),
    Key("", "moe_intermediate_size"),
    Key("", "moe_shared_expert_intermediate_size"),
    Key("", "moe_shared_expert_overlap"),
    Key("", "moe_latent_size"),
    Key("", "routed_scaling_factor"),
    Key("", "norm_topk_prob"),
    Key("", "n_group"),
    Key("", "topk_group"),
    Key("", "num_nextn_predict_layers"),
];

const STATE: Blocks = Blocks { attention: false, recurrence: true, ffn: FfnKind::None };
const ATTENTION: Blocks = Blocks { attention: true, recurrence: false, ffn: FfnKind::None };
const FEED: Blocks = Blocks { attention: false, recurrence: false, ffn: FfnKind::Dense };

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &with_defaults(settings)?;
    settings.expect_text(ACTIVATION, &["relu2"])?;
    settings.expect_text(STATE_ACTIVATION, &["silu"])?;
    for key in ROTATION.iter().chain(&EXPERTS) {
        settings.value_if(*key)?;
    }
    let (blocks, count, ffn) = blocks(settings)?;
    let head = Shape::head(settings)?;
    let keys = KeyHeads { count, key: head, value: settings.count_if(VALUE_HEAD)?.unwrap_or(head) };
    check_heads(settings, settings.count(HEADS)?, keys)?;
    let rope = Rope::plain(1e4, head / 2 * 2, true);
    let has_own = settings.is_hub() || settings.number_if(EPS)?.is_some();
    settings.value_if(GGUF_EPS)?;
    let eps = if has_own { EPS } else { GGUF_EPS };
    let mut shape = Shape::with(settings, rope, keys, ffn, (NormKind::RootMeanSquare, eps))?;
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
    settings
        .with_values(&[(HEAD, older(OLD_HEAD)?), (EPS, older(OLD_EPS)?), (KINDS, older(NEWER_KINDS)?)])?
        .with_defaults(&[
            (KV_HEADS, 8.into()),
            (HEAD, 128.into()),
            (CONTEXT, 4096.into()),
            (EPS, 1e-5.into()),
            (KEYS.heads, 128.into()),
            (KEYS.head, 64.into()),
            (KEYS.state, 128.into()),
            (KEYS.groups, 8.into()),
            (KEYS.taps, 4.into()),
        ])
}

/// The blocks of each layer, the heads of keys of those with attention, and the neurons of the others.
fn blocks(settings: &Settings) -> Result<(Vec<Blocks>, i64, i64)> {
    let layers = Shape::layers(settings)?;
    if settings.is_hub() {
        return Ok((listed(settings, layers)?, settings.count(KV_HEADS)?, settings.count(FFN)?));
    }
    let ((heads, count), (ffns, ffn)) =
        (settings.zero_or_one_number(KV_HEADS, layers)?, settings.zero_or_one_number(FFN, layers)?);
    let of_layer = |(heads, ffn): (&i64, &i64)| match (heads, ffn) {
        (0, 0) => Ok(STATE),
        (_, 0) => Ok(ATTENTION),
        (0, _) => Ok(FEED),
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
        other => {
            let what =
                format!("has '{other}': M, * and -, for states, attention and feed-forward blocks, are supported");
            Err(Error::unsupported(format!("{}: {what}", settings.name(PATTERN))))
        }
    };
    pattern.chars().map(of_letter).collect()
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    mamba::backbone(|part| {
        Some(match part {
            "attn_q" => "q_proj",
            "attn_k" => "k_proj",
            "attn_v" => "v_proj",
            "attn_output" => "o_proj",
            "ffn_up" => "up_proj",
            "ffn_down" => "down_proj",
            _ => return None,
        })
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    // Layers have a state, attention or neurons, so both numbers are lists.
    let of = |has: fn(&Blocks) -> bool, n: i64| {
        shape.blocks.iter().map(|blocks| if has(blocks) { n } else { 0 }).collect::<Vec<_>>()
    };
    keys.counts(KV_HEADS, &of(|blocks| blocks.attention, shape.keys.count));
    keys.number(GGUF_EPS, shape.eps);
    keys.counts(FFN, &of(|blocks| blocks.ffn != FfnKind::None, shape.ffn));
    Ok(())
}
