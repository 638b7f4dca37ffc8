//! Mamba 2, and what other families with such layers have in common.

use super::names;
use crate::decoder::keys::{ATTENTION_SCALE, CONTEXT, HEAD, HEADS, KV_HEADS, LAYERS, VALUE_HEAD, WIDTH};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{taps, Blocks, FfnKind, KeyHeads, Mamba, Recurrence, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames};
use crate::Result;

const EPS: Key = Key("attention.layer_norm_rms_epsilon", "layer_norm_epsilon");
const FFN: Key = Key("feed_forward_length", "");
const EXPAND: Key = Key("", "expand");
const NORMED: Key = Key("", "rms_norm");
const VOCABULARY_MULTIPLE: Key = Key("", "pad_vocab_size_multiple");

/// The names of a family's settings.
pub struct StateKeys {
    pub heads: Key,
    pub head: Key,
    pub state: Key,
    pub groups: Key,
    pub taps: Key,
    pub inner: Key,
    pub limits: Key,
    pub convolution_bias: Key,
    pub bias: Key,
}

impl StateKeys {
    pub const USUAL: StateKeys = StateKeys {
        heads: Key("ssm.time_step_rank", "num_heads"),
        head: Key("", "head_dim"),
        state: Key("ssm.state_size", "state_size"),
        groups: Key("ssm.group_count", "n_groups"),
        taps: Key("ssm.conv_kernel", "conv_kernel"),
        inner: Key("ssm.inner_size", ""),
        limits: Key("", "time_step_limit"),
        convolution_bias: Key("", "use_conv_bias"),
        bias: Key("", "use_bias"),
    };
}

/// The sizes of the layers' states; everything else as in Mamba 2.
pub fn read(settings: &Settings, keys: &StateKeys) -> Result<Mamba> {
    let (heads, groups) = (settings.count(keys.heads)?, settings.count_if(keys.groups)?.unwrap_or(1));
    if heads % groups != 0 {
        return Err(settings.refuse(keys.groups, format!("is {groups}: a divisor of the {heads} heads is valid")));
    }
    let inner = settings.count_if(keys.inner)?;
    let is_auto = settings.value_if(keys.head)?.is_some_and(|head| head == "auto");
    let said = if is_auto { None } else { settings.count_if(keys.head)? };
    let head = match (inner, said) {
        (Some(inner), None) if inner % heads == 0 => inner / heads,
        (Some(inner), Some(head)) if inner == heads * head => head,
        (None, Some(head)) => head,
        (None, None) => settings.count(keys.inner)?,
        (Some(inner), _) => {
            return Err(settings.refuse(keys.inner, format!("is {inner}: a multiple of the {heads} heads is valid")));
        }
    };
    Ok(Mamba {
        heads,
        head,
        state: settings.count(keys.state)?,
        groups,
        taps: taps(settings, keys.taps)?,
        normed: Some(true),
        gates_last: false,
        limits: settings.limits_if(keys.limits)?.unwrap_or((0.0, f64::INFINITY)),
        input_scale: 1.0,
        output_scale: 1.0,
        factors: None,
    })
}

/// Takes over which biases a folder states.
pub fn set_biases(settings: &Settings, keys: &StateKeys, shape: &mut Shape) -> Result<()> {
    if settings.is_hub() {
        shape.stated.mamba_bias = Some([settings.flag_if(keys.bias)?.unwrap_or(false); 2]);
        shape.stated.convolution_bias = Some(settings.flag_if(keys.convolution_bias)?.unwrap_or(true));
    }
    Ok(())
}

/// Reads the settings of Mamba 2, whose layers have a state and nothing else.
pub fn mamba2(settings: &Settings) -> Result<Shape> {
    const KEYS: &StateKeys = &StateKeys::USUAL;
    let settings = &settings.with_defaults(&[
        (KEYS.heads, 128.into()),
        (KEYS.head, 64.into()),
        (KEYS.state, 128.into()),
        (KEYS.groups, 8.into()),
        (KEYS.taps, 4.into()),
        (EPS, 1e-5.into()),
        (CONTEXT, (1 << 20).into()),
    ])?;
    let mut mamba = read(settings, KEYS)?;
    if let Some(expand) = settings.number_if(EXPAND)? {
        let width = settings.count(WIDTH)?;
        if (expand * width as f64) as i64 != mamba.inner() {
            let what = format!("is {expand}: {} elements of all heads for {width} are expected", mamba.inner());
            return Err(settings.refuse(EXPAND, what));
        }
    }
    mamba.normed = Some(settings.flag_if(NORMED)?.unwrap_or(true));
    // Converters write these although there is neither attention nor a feed-forward block.
    for key in [HEADS, FFN, ATTENTION_SCALE] {
        settings.value_if(key)?;
    }
    settings.whole_if(VOCABULARY_MULTIPLE, 1)?;
    let none = KeyHeads { count: 1, key: 2, value: 2 };
    let rope = Rope::plain(1e4, 2, true);
    let mut shape = Shape::with_heads(settings, rope, (1, none), 1, (NormKind::RootMeanSquare, EPS))?;
    set_biases(settings, KEYS, &mut shape)?;
    let layers = vec![true; usize::try_from(settings.count(LAYERS)?).unwrap_or(0)];
    shape = shape.with_recurrence(Recurrence::Mamba(mamba), &layers);
    shape.blocks.iter_mut().for_each(|blocks| *blocks = Blocks { ffn: FfnKind::None, ..*blocks });
    Ok(shape)
}

/// The name of a tensor without an ending in the block with a state.
pub fn number(part: &str) -> Option<&'static str> {
    Some(match part {
        "ssm_a" => "A_log",
        "ssm_d" => "D",
        "ssm_dt.bias" => "dt_bias",
        _ => return None,
    })
}

/// The name of another tensor there.
pub fn matrix(part: &str) -> Option<&'static str> {
    Some(match part {
        "ssm_in" => "in_proj",
        "ssm_conv1d" => "conv1d",
        "ssm_norm" => "norm",
        "ssm_out" => "out_proj",
        _ => return None,
    })
}

/// The names in folders where each layer has a norm and a mixer. `other`: the name of a part of a mixer.
pub fn backbone(other: fn(&str) -> Option<&'static str>) -> HubNames {
    HubNames::new(move |name| HubName::One(candidates(name, other)))
}

/// The names of Mamba 2.
pub fn hub_names() -> HubNames {
    backbone(|_| None)
}

/// The names of a tensor in the part of a folder that has all layers.
pub fn prefixed(name: &str) -> Vec<String> {
    ["backbone.", "model.backbone.", "model."].map(|prefix| format!("{prefix}{name}")).to_vec()
}

fn candidates(name: &str, other: fn(&str) -> Option<&'static str>) -> Vec<String> {
    let inside = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    match (name, inside) {
        ("token_embd.weight", _) => {
            ["embeddings.weight", "embedding.weight"].iter().flat_map(|name| prefixed(name)).collect()
        }
        ("output_norm.weight", _) => prefixed("norm_f.weight"),
        ("output.weight", _) => vec!["lm_head.weight".into(), "model.lm_head.weight".into()],
        (_, Some((layer, part))) if number(part).is_some() => {
            prefixed(&format!("layers.{layer}.mixer.{}", number(part).unwrap_or_default()))
        }
        _ => match names::layer_part(name) {
            Some((layer, "attn_norm", end)) => prefixed(&format!("layers.{layer}.norm.{end}")),
            Some((layer, part, end)) => {
                let part = matrix(part).or_else(|| other(part)).unwrap_or(part);
                prefixed(&format!("layers.{layer}.mixer.{part}.{end}"))
            }
            None => vec![name.into()],
        },
    }
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(_: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    // There is neither attention nor a feed-forward block.
    keys.count(HEADS, 0);
    keys.count(FFN, 0);
    for key in [KV_HEADS, HEAD, VALUE_HEAD] {
        keys.remove(key);
    }
    Ok(())
}
