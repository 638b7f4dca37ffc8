//! What a model is for.

use crate::package::Package;
use crate::settings::Settings;
use crate::{decoder, encoder, reranker, speech, Error, Result};
use std::path::Path;

/// What a model is for, by its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// It generates texts: a [`Decoder`](crate::Decoder), or a model of an architecture that is not known.
    Decoder,
    /// It turns texts into vectors, as a language model of a folder with modules.json or a GGUF file with a pooling: an
    /// [`Embedder`](crate::Embedder).
    Embedder,
    /// It turns texts into vectors, and with a head into scores: an [`Encoder`](crate::Encoder).
    Encoder,
    /// It generates texts, and was trained to judge them: a [`Reranker`](crate::Reranker).
    Reranker,
    /// It turns speech into texts: a [`Transcriber`](crate::Transcriber).
    Transcriber,
}

/// Refuses an architecture that is neither an encoder nor a decoder.
pub(crate) fn check_known(settings: &Settings) -> Result<()> {
    let name = settings.architecture();
    if name == speech::ARCHITECTURE {
        return Err(speech::other_reader());
    }
    if encoder::names().chain(decoder::names()).any(|known| known == name) {
        return Ok(());
    }
    let (encoders, decoders): (Vec<&str>, Vec<&str>) = (encoder::names().collect(), decoder::names().collect());
    let (encoders, decoders) = (encoders.join(", "), decoders.join(", "));
    let message = format!("architecture '{name}' is not known: encoders are {encoders}; decoders are {decoders}");
    Err(Error::unsupported(message))
}

impl ModelKind {
    /// The kind of a hub folder or GGUF file. Loads no tensor. A folder of Qwen3-Reranker as published does not say what
    /// it is for, and is known by its name.
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
        let settings = &package.settings;
        if settings.architecture() == speech::ARCHITECTURE {
            return Ok(ModelKind::Transcriber);
        }
        if encoder::is_encoder(settings)? {
            return Ok(ModelKind::Encoder);
        }
        Ok(match settings.architecture() {
            "qwen3" if reranker::is_reranker(settings, path.as_ref())? => ModelKind::Reranker,
            _ if package.makes_vectors()? => ModelKind::Embedder,
            _ => ModelKind::Decoder,
        })
    }
}
