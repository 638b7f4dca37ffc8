//! Where a model computes, and the texts that it is given.

use crate::args::Place;
use crate::failure::{Exit, Failure, Outcome};
use std::io;
use std::path::Path;
use tensorlib::{Backend, BackendOptions};
use tensorlib_models::{Decoder, DecoderOptions};

/// Opens the device that the options name.
pub fn backend(options: &Place) -> Outcome<Backend> {
    Ok(BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open(&options.device)?)
}

/// Opens a language model there.
pub fn decoder(options: &Place, model: &Path, how: &DecoderOptions) -> Outcome<Decoder> {
    decoder_on(&backend(options)?, model, how)
}

/// Opens a language model on this backend.
pub fn decoder_on(backend: &Backend, model: &Path, how: &DecoderOptions) -> Outcome<Decoder> {
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    Ok(unsafe { Decoder::open_mapped(model, backend, how)? })
}

/// A text file, whole.
pub fn text_of(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => Failure::new(Exit::Format, format!("{}: is no UTF-8", path.display())),
        _ => Failure::io(path, "read", &e),
    })
}
