//! What is particular to each architecture: a file each.

mod bert;
mod mpnet;
mod names;
mod nomic;

use super::shape::Shape;
use crate::settings::Settings;
use crate::weights::HubNames;
use crate::{Error, Result};

/// An architecture: its names, what its settings say, and the names of its tensors in hub folders.
struct Architecture {
    /// As `general.architecture` and `model_type` have it.
    names: &'static [&'static str],
    shape: fn(&Settings) -> Result<Shape>,
    hub_names: fn() -> HubNames,
}

const ALL: [Architecture; 3] = [
    Architecture {
        names: &["bert", "roberta", "xlm-roberta", "camembert"],
        shape: bert::shape,
        hub_names: names::plain,
    },
    Architecture { names: &["mpnet"], shape: mpnet::shape, hub_names: mpnet::hub_names },
    Architecture { names: &["nomic-bert", "nomic_bert"], shape: nomic::shape, hub_names: nomic::hub_names },
];

/// The encoder that the settings describe, and its names.
pub fn read(settings: &Settings) -> Result<(Shape, HubNames)> {
    for found in &ALL {
        if settings.is_one_of(found.names)? {
            return Ok(((found.shape)(settings)?, (found.hub_names)()));
        }
    }
    let known: Vec<&str> = ALL.iter().flat_map(|a| a.names).copied().collect();
    let (name, known) = (settings.architecture(), known.join(", "));
    Err(Error::unsupported(format!("architecture '{name}' is no encoder that is known: {known} are")))
}
