//! What can go wrong between a file and its model's answer.

use std::fmt;
use std::path::Path;

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure: what was wrong and what would be valid, in one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    Io(String),
    /// A file's contents are not what its format, or the model's own hyperparameters, allow.
    Format(String),
    /// A model, a tokenizer or a setting that this crate does not know.
    Unsupported(String),
    /// An argument that is not valid for this model.
    Invalid(String),
    /// Of the tensor library.
    Engine(tensorlib::Error),
}

impl Error {
    /// A file that the system will not open or read.
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Error::Io(format!("{}: cannot be read: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(text) | Error::Format(text) | Error::Unsupported(text) | Error::Invalid(text) => {
                f.write_str(text)
            }
            Error::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<tensorlib::Error> for Error {
    fn from(error: tensorlib::Error) -> Self {
        Error::Engine(error)
    }
}
