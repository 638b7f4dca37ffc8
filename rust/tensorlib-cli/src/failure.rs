//! The early end of a command: an exit code, a message, and a hint.

use crate::terminal::rank;
use crate::terminal::text::printable;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// The result of a command.
pub type Outcome<T> = Result<T, Failure>;

/// How the process ends. The numbers are documented in `--help`, the man page and the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded, or nobody reads the output any more.
    Success = 0,
    /// A comparison failed, or the data do not allow the command.
    Refused = 1,
    /// Wrong usage; clap's own errors have this code too.
    Usage = 2,
    /// A file cannot be read or written.
    Io = 3,
    /// A file's contents violate its format.
    Format = 4,
    /// Memory is exhausted.
    Memory = 5,
    /// Another process of those that compute a model together failed.
    Group = 6,
    /// A defect of this program or the library.
    Internal = 70,
    /// SIGHUP: the terminal was closed.
    HungUp = 129,
    /// Ctrl-C.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

/// A failure that ends a command.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// One line for the user.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), hint: None }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A failure for a file that the system does not open, read or write.
    pub fn io(path: &Path, doing: &str, error: &io::Error) -> Self {
        let failure = Failure::new(Exit::Io, format!("{}: cannot be {doing}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::NotFound => failure.hint("look for a typing mistake, and from which folder it is seen"),
            io::ErrorKind::PermissionDenied => failure.hint("look at the permissions of the file and its folder"),
            _ => failure,
        }
    }

    /// Prints the failure to standard error.
    pub fn report(&self) {
        if self.message.is_empty() {
            return;
        }
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!("\n  hint: {}", printable(hint)));
        let rank = rank::rank().map_or(String::new(), |rank| format!("rank {rank}: "));
        let _ = writeln!(io::stderr(), "tensorlib: {rank}{}{hint}", printable(&self.message));
        // if that fails there is nobody to tell
    }

    /// Prefixes the subject of the failure: `tensor 'x': ...`.
    pub fn about(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl From<tensorlib_models::Error> for Failure {
    fn from(error: tensorlib_models::Error) -> Self {
        use tensorlib_models::ErrorKind as Kind;
        let exit = match error.kind() {
            Kind::Io => Exit::Io,
            Kind::Format => Exit::Format,
            Kind::Memory => Exit::Memory,
            Kind::Group => Exit::Group,
            Kind::Internal => Exit::Internal,
            _ => Exit::Refused,
        };
        Failure { exit, message: error.to_string(), hint: error.hint().map(String::from) }
    }
}

impl From<tensorlib::Error> for Failure {
    fn from(error: tensorlib::Error) -> Self {
        tensorlib_models::Error::from(error).into()
    }
}

/// Errors of standard output; files use [`Failure::io`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Exit::Success, ""); // `| head` has seen enough
        }
        Failure::new(Exit::Io, format!("standard output: cannot be written: {error}"))
    }
}

/// Prints a warning to standard error and goes on.
pub fn warn(message: impl fmt::Display) {
    if rank::is_silent() {
        return;
    }
    let _ = writeln!(io::stderr(), "tensorlib: warning: {}", printable(&message.to_string()));
    // if that fails there is nobody to tell
}
