//! The differences between architectures, a file each.

mod bert;
mod distilbert;
mod modernbert;
mod mpnet;
mod names;
mod nomic;

use super::shape::Shape;
use crate::architecture::{self, Architecture, Known};
use crate::settings::{
    Settings, DISTILBERT_CONFIG, ELECTRA_CONFIG, ENCODER_CONFIG, ENCODER_GGUF, HEAD_CONFIG, MODERNBERT_CONFIG,
    NOMIC_CONFIG,
};
use crate::weights::HubNames;
use crate::Result;

const ALL: [Architecture<Shape>; 7] = [
    Architecture { names: &["bert"], shape: bert::shape, hub_names: bert::hub_names },
    Architecture {
        names: &["roberta", "xlm-roberta", "camembert"],
        shape: bert::roberta_shape,
        hub_names: bert::roberta_hub_names,
    },
    Architecture { names: &["electra"], shape: bert::electra_shape, hub_names: bert::roberta_hub_names },
    Architecture { names: &["distilbert"], shape: distilbert::shape, hub_names: distilbert::hub_names },
    Architecture { names: &["modernbert", "modern-bert"], shape: modernbert::shape, hub_names: modernbert::hub_names },
    Architecture { names: &["mpnet"], shape: mpnet::shape, hub_names: mpnet::hub_names },
    Architecture { names: &["nomic-bert", "nomic_bert"], shape: nomic::shape, hub_names: nomic::hub_names },
];

/// The names of all encoders.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|known| known.names).copied()
}

/// Whether an architecture of this name is an encoder.
pub fn is_encoder(architecture: &str) -> bool {
    names().any(|name| name == architecture)
}

/// Reads the encoder that the settings describe, and its tensors' names.
pub fn read(settings: &Settings) -> Result<(Shape, HubNames)> {
    let config: &[_] = match settings.architecture() {
        "nomic_bert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &NOMIC_CONFIG],
        "electra" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &ELECTRA_CONFIG],
        "distilbert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &DISTILBERT_CONFIG],
        "modernbert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &MODERNBERT_CONFIG],
        _ => &[&ENCODER_CONFIG, &HEAD_CONFIG],
    };
    architecture::read(&ALL, "encoder", settings, &Known { config, gguf: &[&ENCODER_GGUF] })
}
