//! Errors of reading and running models.

use std::fmt;
use std::io;
use std::path::Path;

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read.
    Io,
    /// A file's contents violate its format or contradict the model's hyperparameters.
    Format,
    /// This crate does not support the model, type or setting.
    Unsupported,
    /// An argument is invalid, in general or for this model.
    Invalid,
    /// Memory is exhausted.
    Memory,
    /// Another thread is using the model or context. The same call may succeed later.
    Busy,
    /// Another rank of the group failed, left, did something else or did not come in time.
    Group,
    /// A defect of this crate or of the engine, or a device failure.
    Internal,
}

/// A failure: a line that says what was wrong and what would be valid, and a hint.
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

    /// An error of the kind [`ErrorKind::Invalid`], such as one of a caller's own
    /// [`LogitsProcessor`](crate::LogitsProcessor).
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn memory(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Memory, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// An error for a path that exists but is not a file to read from.
    pub(crate) fn no_file(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// An error for a file that the system does not open or read.
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

    /// Prefixes the subject of the failure: `tensor 'x': ...`.
    #[must_use]
    pub fn about(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to try, if there is a hint.
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
            E::Group(_) => ErrorKind::Group,
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

/// The hint for a file that the engine does not read: a file of another version is not damaged.
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
