//! DeBERTa of versions 2 and 3 (He and others, 2021): BERT whose attention also multiplies contents with vectors for
//! distances.

use super::{bert, names};
use crate::encoder::convolution::ConvolutionShape;
use crate::encoder::shape::{
    Counts, HeadActivation, HeadPooling, HeadShape, Positions, Relative, Shape, EPS, POSITIONS,
};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const DEFAULT_EPS: f64 = 1e-7;
const DEFAULT_POSITIONS: i64 = 512;
const EMBEDDING: Key = Key("", "embedding_size");
const HEAD: Key = Key("", "attention_head_size");
const RELATIVE: Key = Key("", "relative_attention");
const FARTHEST: Key = Key("", "max_relative_positions");
const BUCKETS: Key = Key("", "position_buckets");
const BIASED_INPUT: Key = Key("", "position_biased_input");
const KINDS: Key = Key("", "pos_att_type");
const SHARED: Key = Key("", "share_att_key");
const NORM: Key = Key("", "norm_rel_ebd");
const CONVOLUTION: Key = Key("", "conv_kernel_size");
const CONVOLUTION_GROUPS: Key = Key("", "conv_groups");
const CONVOLUTION_ACTIVATION: Key = Key("", "conv_act");
const HEAD_ACTIVATION: Key = Key("", "pooler_hidden_act");
const HEAD_WIDTH: Key = Key("", "pooler_hidden_size");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if !settings.is_hub() {
        let message = format!("architecture '{}': GGUF files have no such architecture", settings.architecture());
        return Err(Error::unsupported(message).with_hint("a hub folder of the model is read"));
    }
    let settings = &settings.with_defaults(&[(EPS, DEFAULT_EPS.into()), (POSITIONS, DEFAULT_POSITIONS.into())])?;
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    expect(settings, HEAD, shape.head)?;
    expect(settings, HEAD_WIDTH, shape.width)?;
    let relative = relative(settings)?;
    let products = relative.map_or(1, |relative| 1 + i64::from(relative.keys) + i64::from(relative.queries));
    let has_rows = settings.flag_if(BIASED_INPUT)?.unwrap_or(true);
    Ok(Shape {
        activation: bert::hidden_act(settings)?,
        embedding: settings.count_if(EMBEDDING)?.unwrap_or(shape.width),
        attention_scale: 1.0 / ((shape.head * products) as f64).sqrt(),
        norm_after_project: true,
        positions: if has_rows { shape.positions } else { Positions::Distances },
        relative: relative.filter(|relative| relative.keys || relative.queries),
        convolution: convolution(settings, shape.width)?,
        classifier: Some(HeadShape { pooling: HeadPooling::First, activation: head_activation(settings)? }),
        ..shape
    })
}

/// Refuses another value than this one.
fn expect(settings: &Settings, key: Key, wanted: i64) -> Result<()> {
    match settings.count_if(key)?.filter(|found| *found != wanted) {
        Some(found) => Err(Error::unsupported(format!("{}: is {found}: {wanted} is known", settings.name(key)))),
        None => Ok(()),
    }
}

/// The convolution after the first layer, if the model has one.
fn convolution(settings: &Settings, width: i64) -> Result<Option<ConvolutionShape>> {
    // A number below 1 means none.
    let tokens = settings.number_if(CONVOLUTION)?.map_or(0, |n| n as i64);
    let groups = settings.count_if(CONVOLUTION_GROUPS)?.unwrap_or(1);
    settings.expect_text(CONVOLUTION_ACTIVATION, &["tanh", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu"])?;
    let activation = match settings.text_if(CONVOLUTION_ACTIVATION)?.as_deref() {
        None | Some("tanh") => HeadActivation::Tanh,
        Some("gelu") => HeadActivation::GeluErf,
        Some("relu") => HeadActivation::Relu,
        Some("silu") => HeadActivation::Silu,
        Some(_) => HeadActivation::Gelu,
    };
    if tokens < 1 {
        return Ok(None);
    }
    if tokens % 2 == 0 {
        return Err(settings.refuse(CONVOLUTION, format!("is {tokens}: an odd number, or 0, is valid")));
    }
    if width % groups != 0 {
        let what = format!("is {groups}: a divisor of the {width} elements is valid");
        return Err(settings.refuse(CONVOLUTION_GROUPS, what));
    }
    Ok(Some(ConvolutionShape { tokens, groups, activation }))
}

fn head_activation(settings: &Settings) -> Result<HeadActivation> {
    settings.expect_text(HEAD_ACTIVATION, &["gelu", "tanh", "relu"])?;
    Ok(match settings.text_if(HEAD_ACTIVATION)?.as_deref() {
        Some("tanh") => HeadActivation::Tanh,
        Some("relu") => HeadActivation::Relu,
        _ => HeadActivation::GeluErf,
    })
}

/// The products with distances, of which there are none without relative attention. Without `pos_att_type` they are
/// counted in the scale as none.
fn relative(settings: &Settings) -> Result<Option<Relative>> {
    let kinds = kinds(settings)?;
    let shared = settings.flag_if(SHARED)?.unwrap_or(false);
    let norm = settings.text_if(NORM)?.unwrap_or_else(|| "none".into()).to_lowercase();
    if !norm.split('|').all(|part| ["none", "layer_norm", ""].contains(&part.trim())) {
        let what = format!("is '{norm}': layer_norm and none are known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(NORM))));
    }
    // A number below 1 means none.
    let buckets = settings.number_if(BUCKETS)?.map_or(0, |n| n as i64);
    let farthest = match settings.number_if(FARTHEST)?.map_or(0, |n| n as i64) {
        n if n < 1 => settings.count(POSITIONS)?,
        n => n,
    };
    if !settings.flag_if(RELATIVE)?.unwrap_or(false) {
        return match kinds {
            (false, false) => Ok(None),
            // The published code divides by the root of their number in either case.
            _ => Err(Error::unsupported(format!(
                "{}: is false, although {} names products: true is known",
                settings.name(RELATIVE),
                KINDS.1
            ))),
        };
    }
    if buckets > 0 && farthest <= buckets / 2 + 1 {
        let what = format!("is {farthest}: more than {} is valid with {buckets} position_buckets", buckets / 2 + 1);
        return Err(settings.refuse(FARTHEST, what));
    }
    Ok(Some(Relative {
        span: if buckets > 0 { buckets } else { farthest },
        farthest: (buckets > 0).then_some(farthest),
        keys: kinds.0,
        queries: kinds.1,
        shared,
        norm: norm.split('|').any(|part| part.trim() == "layer_norm"),
    }))
}

/// Whether queries are multiplied with keys of distances (c2p), and keys with queries of distances (p2c).
fn kinds(settings: &Settings) -> Result<(bool, bool)> {
    let named = match settings.value_if(KINDS)? {
        None => Vec::new(),
        Some(serde_json::Value::String(text)) => {
            text.to_lowercase().split('|').map(|kind| kind.trim().to_string()).collect()
        }
        Some(_) => settings.texts_if(KINDS)?.unwrap_or_default(),
    };
    match named.iter().find(|kind| !["c2p", "p2c"].contains(&kind.as_str())) {
        Some(other) => {
            let what = format!("has '{other}': c2p and p2c are known");
            Err(Error::unsupported(format!("{}: {what}", settings.name(KINDS))))
        }
        None => Ok((named.iter().any(|kind| kind == "c2p"), named.iter().any(|kind| kind == "p2c"))),
    }
}

/// DeBERTa's own names.
pub fn hub_names() -> HubNames {
    names::with(&["", "deberta."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(number) = layer else {
        return match part {
            "distance_embd" => Some("encoder.rel_embeddings".into()),
            "distance_norm" => Some("encoder.LayerNorm".into()),
            "embeddings_project" => Some("embeddings.embed_proj".into()),
            "conv" => Some("encoder.conv.conv".into()),
            "conv_norm" => Some("encoder.conv.LayerNorm".into()),
            _ => names::bert(None, part),
        };
    };
    let part = match part {
        "attn_q" => "attention.self.query_proj",
        "attn_k" => "attention.self.key_proj",
        "attn_v" => "attention.self.value_proj",
        "attn_distance_k" => "attention.self.pos_key_proj",
        "attn_distance_q" => "attention.self.pos_query_proj",
        _ => return names::bert(layer, part),
    };
    Some(format!("encoder.layer.{number}.{part}"))
}
