//! Gemma 3n: several streams between layers, a product of low rank next to attention, vectors for each layer, gates that are
//! cut, and layers that read others' keys.

use super::{gemma, gemma4};
use crate::decoder::activation::Activation;
use crate::decoder::keys::{CONTEXT, EPS, FFN, HEAD, HEADS, KV_HEADS, VALUE_HEAD, WINDOW, WINDOW_PATTERN};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{check_heads, AltUp, HeadNorms, KeyHeads, Norms, Shape};
use crate::norm::NormKind;
use crate::settings::{Key, Keys, Settings};
use crate::weights::{HubName, HubNames, Stack};
use crate::Result;

const FINAL_CAP: Key = Key("final_logit_softcapping", "final_logit_softcapping");
const ACTIVATION: Key = Key("", "hidden_activation");
const LOCAL_BASE: Key = Key("rope.freq_base_swa", "rope_local_base_freq");
const SHARING: Key = Key("attention.shared_kv_layers", "num_kv_shared_layers");
const INPUTS: Key = Key("embedding_length_per_layer_input", "hidden_size_per_layer_input");
const INPUT_TOKENS: Key = Key("", "vocab_size_per_layer_input");
const STREAMS: Key = Key("altup.num_inputs", "altup_num_inputs");
const ACTIVE: Key = Key("altup.active_idx", "altup_active_idx");
const SCALED: Key = Key("", "altup_correct_scale");
/// Settings of training.
const TRAINING: [Key; 2] = [Key("", "altup_coef_clip"), Key("", "altup_lr_multiplier")];
const RANK: Key = Key("", "laurel_rank");
/// The share of gates that are cut in each layer, in folders, and how many standard deviations that are in GGUF.
const SHARES: Key = Key("", "activation_sparsity_pattern");
const DEVIATIONS: Key = Key("activation_sparsity_scale", "");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_values(&gemma::rotations(settings)?)?.with_defaults(&unsaid())?;
    settings.expect_text(ACTIVATION, &["gelu_pytorch_tanh"])?;
    settings.whole_if(INPUT_TOKENS, 1)?;
    for key in TRAINING {
        settings.value_if(key)?;
    }
    let layers = Shape::layers(settings)?;
    let sharing = settings.whole_if(SHARING, 0)?.unwrap_or(0);
    if sharing >= layers {
        return Err(settings.refuse(SHARING, format!("is {sharing}: less than the {layers} layers is valid")));
    }
    let (head, ffns) = (Shape::head(settings)?, settings.counts(FFN, layers)?);
    if let Some(other) = settings.count_if(VALUE_HEAD)?.filter(|n| *n != head) {
        return Err(settings.refuse(VALUE_HEAD, format!("is {other}: {head} is valid")));
    }
    let keys = KeyHeads { count: settings.count(KV_HEADS)?, key: head, value: head };
    check_heads(settings, settings.count(HEADS)?, keys)?;
    let ffn = ffns.first().copied().unwrap_or(1);
    let rope = Rope::read(settings, head, true)?;
    let shape = Shape::with(settings, rope, keys, ffn, (NormKind::RootMeanSquare, EPS))?;
    let shape = shape.with_window(settings, |layer| (layer + 1) % 5 != 0)?;
    let shape = Shape {
        layer_ffns: ffns.iter().any(|other| *other != ffn).then_some(ffns),
        window_rope: Some(Rope::plain(settings.number_if(LOCAL_BASE)?.unwrap_or(1e4), head, true)),
        sharing_layers: sharing,
        value_norms: true,
        head_norms: HeadNorms::BeforeRotation,
        norms: Norms::BeforeAndAfter,
        attention_scale: 1.0,
        final_softcap: settings.number_if(FINAL_CAP)?.unwrap_or(if settings.is_hub() { 0.0 } else { 30.0 }),
        embedding_scale: (shape.width as f64).sqrt(),
        layer_inputs: settings.count_or_none(INPUTS)?,
        activation: Activation::Gelu,
        altup: Some(altup(settings, layers)?),
        ..shape
    };
    gemma4::check_sources(settings, &shape)?;
    Ok(shape)
}

/// Defaults of the published code.
fn unsaid() -> Vec<(Key, serde_json::Value)> {
    vec![
        (HEADS, 8.into()),
        (KV_HEADS, 2.into()),
        (HEAD, 256.into()),
        (CONTEXT, 32_768.into()),
        (EPS, 1e-6.into()),
        (WINDOW, 512.into()),
        (INPUTS, 256.into()),
        (SHARING, 15.into()),
        (FINAL_CAP, 30.0.into()),
    ]
}

fn altup(settings: &Settings, layers: i64) -> Result<AltUp> {
    let streams = settings.count_if(STREAMS)?.unwrap_or(4);
    let active = settings.whole_if(ACTIVE, 0)?.unwrap_or(0);
    if streams < 2 {
        return Err(settings.refuse(STREAMS, format!("is {streams}: 2 or more is valid")));
    }
    if active >= streams {
        return Err(settings.refuse(ACTIVE, format!("is {active}: less than the {streams} streams is valid")));
    }
    let scaled = settings.flag_if(SCALED)?.unwrap_or(true);
    let rank = settings.count_if(RANK)?;
    let rank = if settings.is_hub() { Some(rank.unwrap_or(64)) } else { None };
    Ok(AltUp { streams, active, scaled, rank, cuts: cuts(settings, layers)? })
}

/// How many standard deviations above their mean gates must be, in the layers that cut some.
fn cuts(settings: &Settings, layers: i64) -> Result<Vec<Option<f64>>> {
    let n = usize::try_from(layers).unwrap_or(0);
    let key = if settings.is_hub() { SHARES } else { DEVIATIONS };
    let list = match settings.value_if(key)? {
        // The first ten layers cut 95 % of their gates.
        None => (0..n).map(|layer| (layer < 10 && n > 10).then_some(QUANTILE_95)).collect(),
        Some(serde_json::Value::Array(list)) => {
            if list.len() < n {
                return Err(settings.refuse_length(key, list.len(), layers));
            }
            let of_share = |share: f64| match (share == 0.0, settings.is_hub()) {
                (true, true) => Ok(None),
                (false, true) if share > 0.0 && share < 1.0 => Ok(Some(quantile(share))),
                (_, false) => Ok(Some(share)),
                _ => Err(settings.refuse(key, format!("has {share}: shares from 0 to less than 1 are valid"))),
            };
            // GGUF files have minus infinity for layers that cut nothing.
            let cut = |value: &serde_json::Value| match value.as_f64() {
                Some(number) => of_share(number),
                None if !settings.is_hub() => Ok(None),
                None => Err(settings.refuse(key, format!("has {value}: numbers are valid"))),
            };
            list[..n].iter().map(cut).collect::<Result<_>>()?
        }
        Some(other) if settings.is_hub() => match other.as_f64() {
            Some(share) if (0.0..1.0).contains(&share) => vec![(share > 0.0).then(|| quantile(share)); n],
            _ => {
                return Err(
                    settings.refuse(key, format!("is {other}: a share from 0 to less than 1, or a list, is valid"))
                )
            }
        },
        Some(other) => return Err(settings.refuse(key, format!("is {other}: numbers are valid"))),
    };
    Ok(list)
}

/// The number of standard deviations below which 95 % of normally distributed numbers are.
const QUANTILE_95: f64 = 1.644_853_626_951_472_7;

/// The number of standard deviations below which this share of normally distributed numbers is: by halving an interval
/// until it has no numbers inside.
fn quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if normal(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The share of normally distributed numbers below x, by a series that converges everywhere (Marsaglia, 2004).
fn normal(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return f64::from(u8::from(x > 0.0));
    }
    let (mut sum, mut term, mut i) = (x, x, 1.0);
    while sum != sum + term {
        i += 2.0;
        term *= x * x / i;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The folder's names.
pub fn hub_names() -> HubNames {
    let others = gemma4::hub_names().of;
    HubNames::new(move |name| match name.split_once('.') {
        Some(("altup_proj", "weight")) => stack("altup_projections"),
        Some(("altup_unembd_proj", "weight")) => stack("altup_unembed_projections"),
        _ => match part_of_layer(name) {
            Some((layer, part)) => super::names::in_layer(layer, part),
            None => others(name),
        },
    })
}

/// A matrix for each stream but the first.
fn stack(name: &'static str) -> HubName {
    HubName::Stack(Stack {
        of: Box::new(move |i| super::names::behind_prefixes(&format!("{name}.{i}.weight"))),
        fused: Vec::new(),
        half: None,
        transposed: false,
    })
}

fn part_of_layer(name: &str) -> Option<(&str, &'static str)> {
    let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
    let part = match part {
        "altup_router.weight" => "altup.modality_router.weight",
        "altup_router_norm.weight" => "altup.router_norm.weight",
        "altup_predict_coef.weight" => "altup.prediction_coefs.weight",
        "altup_correct_coef.weight" => "altup.correction_coefs.weight",
        "altup_correct_scale.weight" => "altup.correct_output_scale",
        "laurel_l.weight" => "laurel.linear_left.weight",
        "laurel_r.weight" => "laurel.linear_right.weight",
        "laurel_post_norm.weight" => "laurel.post_laurel_norm.weight",
        _ => return None,
    };
    Some((layer, part))
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    if let Some(rope) = &shape.window_rope {
        keys.number(LOCAL_BASE, rope.base());
    }
    keys.number(FINAL_CAP, shape.final_softcap);
    keys.flags(WINDOW_PATTERN, &shape.windowed_layers());
    keys.count(SHARING, shape.sharing_layers);
    if let Some(inputs) = shape.layer_inputs {
        keys.count(INPUTS, inputs);
    }
    if let Some(altup) = &shape.altup {
        keys.count(STREAMS, altup.streams);
        keys.count(ACTIVE, altup.active);
        let cuts = altup.cuts.iter().map(|cut| cut.map_or(f32::NEG_INFINITY, |cut| cut as f32));
        keys.set(DEVIATIONS, cuts.collect::<Vec<f32>>());
    }
    Ok(())
}
