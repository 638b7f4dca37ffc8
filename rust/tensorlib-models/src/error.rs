//! What can go wrong between a file and its model's answer.

use std::fmt;
use std::io;
use std::path::Path;

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// What a failure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read.
    Io,
    /// A file's contents are not what its format, or the model's own hyperparameters, allow.
    Format,
    /// A model, a type or a setting that this crate does not know.
    Unsupported,
    /// An argument that is not valid, or not for this model.
    Invalid,
    /// No memory.
    Memory,
    /// Another thread uses what is needed. The same call may succeed later.
    Busy,
    /// A defect of this crate or of the engine, or a device that failed.
    Internal,
}

/// A failure: in one line what was wrong and what would be valid, and what to try.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<tensorlib::Error>>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), hint: None, source: None }
    }

    pub(crate) fn format(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Format, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn memory(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Memory, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// A file that is there and is not one to read from.
    pub(crate) fn no_file(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// A file that the system will not open or read.
    pub(crate) fn io(path: &Path, doing: &str, error: &io::Error) -> Self {
        let failure = Self::new(ErrorKind::Io, format!("{}: cannot be {doing}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::NotFound => failure.with_hint("look for a typing mistake, and from which folder it is seen"),
            io::ErrorKind::PermissionDenied => failure.with_hint("look at the permissions of the file and its folder"),
            _ => failure,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names what was worked on: `tensor 'x': ...`.
    #[must_use]
    pub fn about(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to try, where there is something.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| &**error as _)
    }
}

impl From<tensorlib::Error> for Error {
    fn from(error: tensorlib::Error) -> Self {
        use tensorlib::Error as E;
        let kind = match &error {
            E::Io(_) => ErrorKind::Io,
            E::Format(_) => ErrorKind::Format,
            E::OutOfMemory(_) => ErrorKind::Memory,
            E::Busy(_) => ErrorKind::Busy,
            E::Internal(_) | E::Other { .. } | E::Device(_) => ErrorKind::Internal,
            E::Unsupported(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        };
        let made = Self::new(kind, error.to_string());
        let hint = match kind {
            ErrorKind::Format => hint_of_format(&made.message),
            ErrorKind::Memory => "close other programs, or use a machine with more memory",
            ErrorKind::Internal => "please report this",
            _ => return Error { source: Some(Box::new(error)), ..made },
        };
        Error { source: Some(Box::new(error)), ..made.with_hint(hint) }
    }
}

/// What to try with a file that the engine does not read: a file of another version is not a damaged one.
fn hint_of_format(message: &str) -> &'static str {
    if message.contains("big-endian") {
        return "get the little-endian file of the model, or convert it again on a little-endian machine";
    }
    if message.contains("version 1,") {
        return "convert the model again from its source: nothing writes version 1 any more";
    }
    if message.contains(": versions 2 and 3 are valid") {
        return "the file is newer than this program, or is no GGUF file: look for a newer version of this program";
    }
    "the file is damaged, or was not copied to its end: get it again"
}
