//! The `tokenizers` crate panics on some descriptions that are wrong, such as merges that are longer than every token.
//! Those come out of files, so they are errors here.

use crate::{Error, Result};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What `work` returns, with a panic in it as an [`ErrorKind::Format`](crate::ErrorKind). `what` is the start of its message.
///
/// The crate's state is safe to use afterwards: a tokenizer that is being made is dropped, and one in use has only
/// caches to change, which it changes last.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Error::format(format!("{what}: {error}"))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
            Err(Error::format(format!("{what}: the description contradicts itself ({text})")))
        }
    }
}
