//! The differences between architectures, a file each.

mod bert;
mod mpnet;
mod names;
mod nomic;

use super::shape::Shape;
use crate::architecture::{self, Architecture, Known};
use crate::settings::{Settings, ENCODER_CONFIG, ENCODER_GGUF, NOMIC_CONFIG};
use crate::weights::HubNames;
use crate::Result;

const ALL: [Architecture<Shape>; 3] = [
    Architecture {
        names: &["bert", "roberta", "xlm-roberta", "camembert"],
        shape: bert::shape,
        hub_names: names::plain,
    },
    Architecture { names: &["mpnet"], shape: mpnet::shape, hub_names: mpnet::hub_names },
    Architecture { names: &["nomic-bert", "nomic_bert"], shape: nomic::shape, hub_names: nomic::hub_names },
];

/// Whether an architecture of this name is an encoder.
pub fn is_encoder(architecture: &str) -> bool {
    ALL.iter().any(|known| known.names.contains(&architecture))
}

/// Reads the encoder that the settings describe, and its tensors' names.
pub fn read(settings: &Settings) -> Result<(Shape, HubNames)> {
    let config: &[_] = match settings.architecture() {
        "nomic_bert" => &[&ENCODER_CONFIG, &NOMIC_CONFIG],
        _ => &[&ENCODER_CONFIG],
    };
    architecture::read(&ALL, "encoder", settings, &Known { config, gguf: &[&ENCODER_GGUF] })
}
