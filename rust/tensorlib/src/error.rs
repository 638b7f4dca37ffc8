//! Errors, and the results of functions that can fail.

use std::fmt;

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The details of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation or function that failed: `"mul_mat"`.
    pub op: String,
    /// The operands' shapes, if an operation failed.
    pub shapes: Vec<Vec<i64>>,
    /// The whole message: the operation, the shapes, and what would be valid.
    pub message: String,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of range, unknown, or contradicts another one.
    InvalidArgument(Failure),
    /// The operands' shapes do not fit the operation.
    ShapeMismatch(Failure),
    /// The operands' types do not fit the operation, or an element type is not the tensor's.
    TypeMismatch(Failure),
    /// The operands are on different devices, or contexts would refer to each other in a cycle.
    ContextMismatch(Failure),
    /// The call is valid, but this backend has no kernel for it.
    Unsupported(Failure),
    /// A device, driver or instruction set is not available.
    Unavailable(Failure),
    /// A limit or the machine's memory is exhausted.
    OutOfMemory(Failure),
    /// A running graph, a guard or another call is using the context.
    Busy(Failure),
    /// A callback stopped the run.
    Aborted(Failure),
    /// The operating system refused a file operation.
    Io(Failure),
    /// The file's contents violate its format.
    Format(Failure),
    /// The device failed.
    Device(Failure),
    /// The library has a defect.
    Internal(Failure),
    /// The ranks of a group disagree, or one of them failed, left or missed the deadline.
    Group(Failure),
    /// An error of code outside this crate, such as a layer of your own ([`Error::msg`]).
    Custom(Failure),
    /// A status that this version of the crate does not know.
    Other {
        /// The number of the status.
        code: i32,
        /// The details that came with it.
        failure: Failure,
    },
}

impl Error {
    /// From a status of the C ABI and its message, which begins with the operation's name.
    pub(crate) fn new(code: i32, message: String, shapes: Vec<Vec<i64>>) -> Self {
        let op = message.split(':').next().unwrap_or_default().to_string();
        let failure = Failure { op, shapes, message };
        match code {
            1 => Error::InvalidArgument(failure),
            2 => Error::ShapeMismatch(failure),
            3 => Error::TypeMismatch(failure),
            4 => Error::ContextMismatch(failure),
            5 => Error::Unsupported(failure),
            6 => Error::Unavailable(failure),
            7 => Error::OutOfMemory(failure),
            8 => Error::Busy(failure),
            9 => Error::Aborted(failure),
            10 => Error::Io(failure),
            11 => Error::Format(failure),
            12 => Error::Device(failure),
            13 => Error::Internal(failure),
            14 => Error::Group(failure),
            _ => Error::Other { code, failure },
        }
    }

    /// Makes an error for code outside this crate, such as your own layer or loss, so that it can return this crate's
    /// [`Result`].
    ///
    /// ```
    /// use tensorlib::nn::{Module, Pass};
    /// use tensorlib::{Error, Result, Tensor};
    /// struct FirstHalf;
    /// impl Module for FirstHalf {
    ///     fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
    ///         match x.shape()[0] {
    ///             n if n % 2 == 0 => x.narrow(0, 0, n / 2),
    ///             n => Err(Error::msg(format!("FirstHalf: {n} elements in a row: an even number is valid"))),
    ///         }
    ///     }
    /// }
    /// ```
    pub fn msg(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Error::Custom(Failure { op: String::new(), shapes: Vec::new(), message })
    }

    /// The status of the C ABI that stands for it.
    pub(crate) fn status(&self) -> tensorlib_sys::tl_status {
        tensorlib_sys::tl_status(match self {
            Error::InvalidArgument(_) => 1,
            Error::ShapeMismatch(_) => 2,
            Error::TypeMismatch(_) => 3,
            Error::ContextMismatch(_) => 4,
            Error::Unsupported(_) => 5,
            Error::Unavailable(_) => 6,
            Error::OutOfMemory(_) => 7,
            Error::Busy(_) => 8,
            Error::Aborted(_) | Error::Custom(_) => 9,
            Error::Io(_) => 10,
            Error::Format(_) => 11,
            Error::Device(_) => 12,
            Error::Internal(_) => 13,
            Error::Group(_) => 14,
            Error::Other { code, .. } => *code,
        })
    }

    /// The operation, the shapes and the message.
    pub fn failure(&self) -> &Failure {
        match self {
            Error::InvalidArgument(f)
            | Error::ShapeMismatch(f)
            | Error::TypeMismatch(f)
            | Error::ContextMismatch(f)
            | Error::Unsupported(f)
            | Error::Unavailable(f)
            | Error::OutOfMemory(f)
            | Error::Busy(f)
            | Error::Aborted(f)
            | Error::Io(f)
            | Error::Format(f)
            | Error::Device(f)
            | Error::Internal(f)
            | Error::Group(f)
            | Error::Custom(f)
            | Error::Other { failure: f, .. } => f,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure().message)
    }
}

impl std::error::Error for Error {}

/// Lets `?` convert errors of the standard library in functions that return this crate's [`Result`].
macro_rules! custom_from {
    ($($other:ty),*) => {$(
        impl From<$other> for Error {
            fn from(error: $other) -> Self {
                Error::msg(error)
            }
        }
    )*};
}
custom_from!(
    std::num::ParseIntError,
    std::num::ParseFloatError,
    std::num::TryFromIntError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::fmt::Error,
    Box<dyn std::error::Error + Send + Sync>
);

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(Failure { op: String::new(), shapes: Vec::new(), message: error.to_string() })
    }
}
