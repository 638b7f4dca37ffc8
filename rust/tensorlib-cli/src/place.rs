//! Where a model computes.

use crate::args::Place;
use crate::failure::Outcome;
use tensorlib::{Backend, BackendOptions};

/// Opens the device that the options name.
pub fn backend(options: &Place) -> Outcome<Backend> {
    Ok(BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open(&options.device)?)
}
