//! How the architecture that a model's settings name is found among those that there are.

use crate::settings::{Fields, Settings};
use crate::weights::{HubNames, Quantization};
use crate::{Error, Result};

/// An architecture: its names, what its settings say, and the names of its tensors in hub folders.
pub(crate) struct Architecture<Shape> {
    /// As `general.architecture` and `model_type` have it.
    pub names: &'static [&'static str],
    pub shape: fn(&Settings) -> Result<Shape>,
    pub hub_names: fn() -> HubNames,
}

/// What is known of settings that no code asks for.
pub(crate) struct Known<'a> {
    pub config: &'a [&'a Fields],
    pub gguf: &'a [&'a Fields],
}

/// The model that the settings describe, and its names. `kind`: what the architectures are of, for the message.
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
    let known: Vec<&str> = all.iter().flat_map(|a| a.names).copied().collect();
    let (name, known) = (settings.architecture(), known.join(", "));
    Err(Error::unsupported(format!("architecture '{name}' is no {kind} that is known: {known} are")))
}
