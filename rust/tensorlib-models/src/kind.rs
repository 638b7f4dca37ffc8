//! What a model is for.

use crate::package::Package;
use crate::{encoder, Result};
use std::path::Path;

/// What a model is for, by its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// It generates texts: a [`Decoder`](crate::Decoder), or a model of an architecture that is not known.
    Decoder,
    /// It turns texts into vectors: an [`Encoder`](crate::Encoder).
    Encoder,
}

impl ModelKind {
    /// The kind of a hub folder or GGUF file. Loads no tensor.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind), and
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a file that is no model.
    ///
    /// # Safety
    /// Nobody may change the file until this returns.
    pub unsafe fn of_mapped(path: impl AsRef<Path>) -> Result<Self> {
        // SAFETY: as the caller promises.
        let package = unsafe { Package::open_mapped(path.as_ref())? };
        Ok(match encoder::is_encoder(package.settings.architecture()) {
            true => ModelKind::Encoder,
            false => ModelKind::Decoder,
        })
    }
}
