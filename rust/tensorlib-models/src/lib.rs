//! Models from the files that people have: GGUF files and folders as model hubs lay them out, computed by
//! [`tensorlib`].
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod error;
pub mod files;
pub mod tokenizer;

pub use error::{Error, ErrorKind, Result};
