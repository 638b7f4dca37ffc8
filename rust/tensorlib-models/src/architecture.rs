//! Finds the known architecture that a model's settings name.

use crate::settings::{Fields, Keys, Settings};
use crate::weights::{HubNames, Quantization};
use crate::{speech, Error, Result};

/// An architecture: its names, how its settings are read, and its tensors' names in hub folders.
pub(crate) struct Architecture<Shape> {
    /// The values of `general.architecture` and `model_type`.
    pub names: &'static [&'static str],
    pub shape: fn(&Settings) -> Result<Shape>,
    pub hub_names: fn() -> HubNames,
    /// How a GGUF file says what a folder's settings say; `None` if there are no such files, or none that are read.
    pub written: Option<Written<Shape>>,
}

/// The GGUF form of an architecture's settings.
pub(crate) struct Written<Shape> {
    /// The value of `general.architecture`.
    pub name: &'static str,
    /// Adds the keys that not all architectures have. The settings are the folder's.
    pub keys: fn(&Shape, &Settings, &mut Keys) -> Result<()>,
}

impl<Shape> Written<Shape> {
    /// The form of an architecture that adds such keys.
    pub const fn with(name: &'static str, keys: fn(&Shape, &Settings, &mut Keys) -> Result<()>) -> Option<Self> {
        Some(Written { name, keys })
    }

    /// The form of an architecture that needs no further keys.
    pub const fn plain(name: &'static str) -> Option<Self> {
        Some(Written { name, keys: |_, _, _| Ok(()) })
    }
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

/// The GGUF form of the architecture that a folder's settings name.
pub(crate) fn written<'a, Shape>(all: &'a [Architecture<Shape>], settings: &Settings) -> Result<&'a Written<Shape>> {
    for found in all {
        if settings.is_one_of(found.names)? {
            return found.written.as_ref().ok_or_else(|| {
                let name = settings.architecture();
                let known: Vec<&str> =
                    all.iter().filter(|a| a.written.is_some()).flat_map(|a| a.names).copied().collect();
                Error::unsupported(format!(
                    "architecture '{name}' has no GGUF form that is known: {} have",
                    known.join(", ")
                ))
            });
        }
    }
    Err(Error::internal("the GGUF form of an architecture that is not known"))
}

/// What the settings mean, without a look at the settings that nothing reads.
pub(crate) fn shape<Shape>(all: &[Architecture<Shape>], settings: &Settings) -> Result<Shape> {
    for found in all {
        if settings.is_one_of(found.names)? {
            return (found.shape)(settings);
        }
    }
    Err(Error::internal("an architecture that is not known"))
}
