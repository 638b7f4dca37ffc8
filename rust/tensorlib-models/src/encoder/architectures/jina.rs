//! Jina's encoders of version 2 (Guenther and others, 2023): BERT with slopes by distance instead of positions, and
//! gates. The one for code also has norms of queries and keys, and a second norm after attention.

use super::{bert, names};
use crate::encoder::shape::{Activation, Counts, GateRows, Positions, QueryNorms, Shape, EPS, POSITIONS};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};
use tensorlib::GluOp;

const FEED: Key = Key("", "feed_forward_type");
const ACTIVATION: Key = Key("", "hidden_act");
const STEEPNESS: Key = Key("attention.max_alibi_bias", "");
/// The published code has no setting for it.
const KNOWN_STEEPNESS: f64 = 8.0;

/// Whether a folder that calls itself BERT has slopes.
pub fn is_jina(settings: &Settings) -> Result<bool> {
    let is_bert = settings.is_hub() && settings.architecture() == "bert";
    Ok(is_bert && settings.text_if(bert::POSITION_KIND)?.as_deref() == Some("alibi"))
}

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let steepness = settings.number_if(STEEPNESS)?.unwrap_or(KNOWN_STEEPNESS);
    if !(steepness > 0.0 && steepness <= 10_000.0) {
        return Err(settings.refuse(STEEPNESS, format!("is {steepness}: a number above 0, up to 10000, is valid")));
    }
    // The gate has the function of its type, whatever `hidden_act` says.
    settings.text_if(ACTIVATION)?;
    let gate = match settings.text_if(FEED)?.as_deref() {
        Some("geglu") => GluOp::GegluErf,
        Some("reglu") => GluOp::Reglu,
        None if !settings.is_hub() => GluOp::GegluErf,
        other => {
            let is = other.map_or("is missing".into(), |other| format!("is '{other}'"));
            let message = format!("{}: {is}: geglu and reglu are known", settings.name(FEED));
            return Err(Error::unsupported(message));
        }
    };
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    Ok(Shape {
        activation: Activation::Gated(gate),
        gate: GateRows::First,
        positions: Positions::Slopes(steepness),
        query_norms: QueryNorms::WholeIfStored,
        ..shape
    })
}

/// The names of both kinds of folders.
pub fn hub_names() -> HubNames {
    names::with_either(&bert::PREFIXES, name, code_name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(number) = layer else { return names::bert(None, part) };
    let part = match part {
        "ffn_up" => "mlp.gated_layers",
        "ffn_down" => "mlp.wo",
        "layer_output_norm" => "mlp.layernorm",
        _ => return names::bert(layer, part),
    };
    Some(format!("encoder.layer.{number}.{part}"))
}

/// The names of the encoder for code.
fn code_name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(number) = layer else { return names::bert(None, part) };
    let part = match part {
        "attn_q_norm" => "attention.self.layer_norm_q",
        "attn_k_norm" => "attention.self.layer_norm_k",
        "attn_norm_2" => "layer_norm_1",
        "ffn_up" => "mlp.up_gated_layer",
        "ffn_down" => "mlp.down_layer",
        "layer_output_norm" => "layer_norm_2",
        _ => return names::bert(layer, part),
    };
    Some(format!("encoder.layer.{number}.{part}"))
}
