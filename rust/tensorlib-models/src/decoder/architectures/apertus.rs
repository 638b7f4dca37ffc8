//! Apertus: as Llama, with norms of queries and keys, and feed-forward blocks without gates whose activation has
//! numbers of its own in each layer.

use super::names;
use crate::decoder::activation::Xielu;
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{HeadNorms, Shape, XieluNumbers};
use crate::settings::{Key, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};
use serde_json::json;

const ACTIVATION: Key = Key("", "hidden_act");
const NORMS: Key = Key("", "qk_norm");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    settings.expect_text(ACTIVATION, &["xielu"])?;
    if settings.flag_if(NORMS)? == Some(false) {
        let name = settings.name(NORMS);
        return Err(Error::unsupported(format!("{name}: is false: true, norms of queries and keys, is supported")));
    }
    let settings = &with_unsaid_rotation(settings)?;
    let shape = Shape::read(settings, Rope::read(settings, Shape::head(settings)?, true)?)?;
    let numbers = match settings.is_hub() {
        true => XieluNumbers::InTensors,
        false => XieluNumbers::OfLayers(of_layers(settings, shape.layers)?),
    };
    Ok(Shape { head_norms: HeadNorms::BeforeRotation, gated_ffn: false, xielu: Some(numbers), ..shape })
}

/// The rotation of the published code, if a folder does not mention one.
fn with_unsaid_rotation(settings: &Settings) -> Result<Settings> {
    let rotation = json!({
        "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    });
    rope::with_unsaid(settings, 12e6, rotation)
}

/// The activation of each layer of a GGUF file.
fn of_layers(settings: &Settings, layers: i64) -> Result<Vec<Xielu>> {
    let n = usize::try_from(layers).unwrap_or(0);
    let [alpha_n, alpha_p, beta, eps] =
        ["xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"].map(|key| settings.numbers_of_layers(key, n));
    let (alpha_n, alpha_p, beta, eps) = (alpha_n?, alpha_p?, beta?, eps?);
    Ok((0..n).map(|i| Xielu::of_stored(alpha_n[i], alpha_p[i], beta[i], eps[i])).collect())
}

/// Llama's names, with Apertus' own for norms and the activation.
pub fn hub_names() -> HubNames {
    let others = names::with(part, false).of;
    HubNames::new(move |name| match name.strip_prefix("blk.").and_then(|name| name.split_once(".xielu_")) {
        Some((layer, number)) => HubName::One(names::behind_prefixes(&format!("layers.{layer}.mlp.act_fn.{number}"))),
        None => others(name),
    })
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_norm" => "attention_layernorm",
        "ffn_norm" => "feedforward_layernorm",
        _ => return None,
    })
}
