//! Finds the known architecture that a model's settings name.

use crate::settings::{Fields, Settings};
use crate::weights::{HubNames, Quantization};
use crate::{speech, Error, Result};

/// An architecture: its names, how its settings are read, and its tensors' names in hub folders.
pub(crate) struct Architecture<Shape> {
    /// The values of `general.architecture` and `model_type`.
    pub names: &'static [&'static str],
    pub shape: fn(&Settings) -> Result<Shape>,
    pub hub_names: fn() -> HubNames,
}

/// Settings that are known although no code reads them.
pub(crate) struct Known<'a> {
    pub config: &'a [&'a Fields],
    pub gguf: &'a [&'a Fields],
}

/// Reads the model that the settings describe, and its tensors' names. `kind`: the kind of architectures, for the
/// message.
pub(crate) fn read<Shape>(
    all: &[Architecture<Shape>],
    kind: &str,
    settings: &Settings,
    known: &Known,
) -> Result<(Shape, HubNames)> {
    for found in all {
        if settings.is_one_of(found.names)? {
            let shape = (found.shape)(settings)?;
            let quantization = Quantization::read(settings)?;
            settings.finish(known.config, known.gguf)?;
            return Ok((shape, HubNames { quantization, ..(found.hub_names)() }));
        }
    }
    if settings.architecture() == speech::ARCHITECTURE {
        return Err(speech::other_reader());
    }
    let known: Vec<&str> = all.iter().flat_map(|a| a.names).copied().collect();
    let (name, known) = (settings.architecture(), known.join(", "));
    Err(Error::unsupported(format!("architecture '{name}' is no {kind} that is known: {known} are")))
}
