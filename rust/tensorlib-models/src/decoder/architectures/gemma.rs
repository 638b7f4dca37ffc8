//! Gemma 2 and 3: norms before and after each block, embeddings scaled by the root of the width, windows in most
//! layers.

use super::names;
use crate::decoder::activation::Activation;
use crate::decoder::keys::{ATTENTION_SCALE, CONTEXT, EPS, HEAD, HEADS, KV_HEADS, WINDOW};
use crate::decoder::rope::Rope;
use crate::decoder::shape::{HeadNorms, Norms, Shape};
use crate::settings::{Key, Keys, Settings};
use crate::weights::HubNames;
use crate::Result;
use serde_json::Value as Json;

const ATTENTION_CAP: Key = Key("attn_logit_softcapping", "attn_logit_softcapping");
const FINAL_CAP: Key = Key("final_logit_softcapping", "final_logit_softcapping");
const QUERY_SCALE: Key = Key("", "query_pre_attn_scalar");
const LOCAL_BASE: Key = Key("rope.freq_base_swa", "rope_local_base_freq");
const ROPE_BASE: Key = Key("", "rope_theta");
const ROPE_SCALING: Key = Key("", "rope_scaling");
const PATTERN: Key = Key("", "sliding_window_pattern");
const SAVED_PATTERN: Key = Key("", "_sliding_window_pattern");
const ACTIVATION: Key = Key("", "hidden_activation");
/// An older name, which the published code no longer reads.
const OLD_ACTIVATION: Key = Key("", "hidden_act");

/// Gemma 2: every second layer has a window, starting with the first.
pub fn gemma2(settings: &Settings) -> Result<Shape> {
    // The first published files do not mention the caps; a null means no cap.
    let settings = &settings.with_defaults(&[
        (KV_HEADS, 4.into()),
        (HEAD, 256.into()),
        (WINDOW, 4096.into()),
        (QUERY_SCALE, 256.into()),
        (ATTENTION_CAP, 50.0.into()),
        (FINAL_CAP, 30.0.into()),
    ])?;
    let mut shape = common(settings, 46)?.with_window(settings, |layer| layer % 2 == 0)?;
    let unsaid = |cap: f64| if settings.is_hub() { 0.0 } else { cap };
    shape.attention_softcap = settings.number_if(ATTENTION_CAP)?.unwrap_or(unsaid(50.0));
    shape.final_softcap = settings.number_if(FINAL_CAP)?.unwrap_or(unsaid(30.0));
    Ok(shape)
}

/// Gemma 3: five of six layers have a window, and a rotation of their own.
pub fn gemma3(settings: &Settings) -> Result<Shape> {
    let settings = &settings.with_values(&rotations(settings)?)?.with_defaults(&unsaid())?;
    let every = settings.count_if(PATTERN)?.or(settings.count_if(SAVED_PATTERN)?).unwrap_or(6);
    let shape = common(settings, 62)?.with_window(settings, |layer| (layer + 1) % every != 0)?;
    let base = settings.number_if(LOCAL_BASE)?.unwrap_or(10_000.0);
    let window_rope = Some(Rope::plain(base, shape.keys.key, true));
    Ok(Shape { head_norms: HeadNorms::BeforeRotation, window_rope, ..shape })
}

/// Defaults of the published code for settings that folders of multimodal models leave out.
fn unsaid() -> Vec<(Key, Json)> {
    vec![
        (HEADS, 8.into()),
        (KV_HEADS, 4.into()),
        (HEAD, 256.into()),
        (CONTEXT, 131_072.into()),
        (EPS, 1e-6.into()),
        (WINDOW, 4096.into()),
        (QUERY_SCALE, 256.into()),
    ]
}

/// Newer folders list rotations by kind of layer.
pub fn rotations(settings: &Settings) -> Result<Vec<(Key, Json)>> {
    let rotation = |of| -> Result<Json> { Ok(settings.value_if(Key("", of))?.unwrap_or_default()) };
    let (full, windowed) =
        (rotation("rope_parameters.full_attention")?, rotation("rope_parameters.sliding_attention")?);
    let or = |value: &Json, else_: f64| if value.is_null() { else_.into() } else { value.clone() };
    Ok(vec![
        (LOCAL_BASE, or(&windowed["rope_theta"], 1e4)),
        (ROPE_BASE, or(&full["rope_theta"], 1e6)),
        (ROPE_SCALING, full),
    ])
}

/// `largest`: the number of layers of the largest model, which scales products by width / heads instead of the head
/// size.
fn common(settings: &Settings, largest: i64) -> Result<Shape> {
    settings.expect_text(ACTIVATION, &["gelu_pytorch_tanh", "gelu_new"])?;
    settings.value_if(OLD_ACTIVATION)?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    let of_file = if shape.layers == largest { shape.width / shape.heads } else { shape.keys.key };
    let scale = settings.number_if(QUERY_SCALE)?.unwrap_or(of_file as f64);
    if scale <= 0.0 {
        return Err(settings.refuse(QUERY_SCALE, format!("is {scale}: a number above 0 is valid")));
    }
    let attention_scale = match settings.number_if(ATTENTION_SCALE)? {
        Some(said) if said != 0.0 => said,
        _ => 1.0 / scale.sqrt(),
    };
    Ok(Shape {
        attention_scale,
        embedding_scale: (shape.width as f64).sqrt(),
        activation: Activation::Gelu,
        norms: Norms::BeforeAndAfter,
        ..shape
    })
}

/// Folders store the factors of norms less 1.
pub fn hub_names() -> HubNames {
    names::with(part, true)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "post_attention_norm" => "post_attention_layernorm",
        "ffn_norm" => "pre_feedforward_layernorm",
        "post_ffw_norm" => "post_feedforward_layernorm",
        _ => return None,
    })
}

/// The keys of GGUF files that not all architectures have.
pub fn add_keys(shape: &Shape, _: &Settings, keys: &mut Keys) -> Result<()> {
    for (key, cap) in [(ATTENTION_CAP, shape.attention_softcap), (FINAL_CAP, shape.final_softcap)] {
        if cap > 0.0 {
            keys.number(key, cap);
        }
    }
    if let Some(rope) = &shape.window_rope {
        keys.number(LOCAL_BASE, rope.base());
    }
    Ok(())
}

/// All keys of Gemma 3.
pub fn gemma3_keys(settings: &Settings) -> Result<Keys> {
    let shape = gemma3(settings)?;
    let mut keys = shape.keys();
    add_keys(&shape, settings, &mut keys)?;
    Ok(keys)
}
