//! DistilBERT (Sanh and others, 2019): BERT with half of the layers, without token types and pooler.

use super::{bert, names};
use crate::encoder::shape::{Counts, HeadActivation, HeadPooling, HeadShape, Shape, EPS, POSITIONS};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const COUNTS: Counts = Counts {
    width: Key("", "dim"),
    layers: Key("", "n_layers"),
    heads: Key("", "n_heads"),
    ffn: Key("", "hidden_dim"),
};
const ACTIVATION: Key = Key("", "activation");
/// The published code adds this to variances, whatever the settings say.
const KNOWN_EPS: f64 = 1e-12;

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if !settings.is_hub() {
        return Err(Error::unsupported("architecture 'distilbert': GGUF files have it as bert")
            .with_hint("a hub folder of the model is read"));
    }
    let with_eps = settings.with_values(&[(EPS, KNOWN_EPS.into())])?;
    let shape = Shape::read(&with_eps, &COUNTS, EPS, POSITIONS, 0)?;
    let head = HeadShape { pooling: HeadPooling::First, activation: HeadActivation::Relu };
    Ok(Shape { activation: bert::activation(settings, ACTIVATION)?, classifier: Some(head), ..shape })
}

/// DistilBERT's own names.
pub fn hub_names() -> HubNames {
    names::with(&["", "distilbert."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        return match part {
            "cls" => Some("pre_classifier".into()),
            _ => names::bert(None, part),
        };
    };
    let part = match part {
        "attn_q" => "attention.q_lin",
        "attn_k" => "attention.k_lin",
        "attn_v" => "attention.v_lin",
        "attn_output" => "attention.out_lin",
        "attn_output_norm" => "sa_layer_norm",
        "ffn_up" => "ffn.lin1",
        "ffn_down" => "ffn.lin2",
        "layer_output_norm" => "output_layer_norm",
        _ => return None,
    };
    Some(format!("transformer.layer.{layer}.{part}"))
}
