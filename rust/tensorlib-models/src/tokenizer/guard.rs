//! Turns panics of the crate `tokenizers` into errors. The crate panics on some invalid descriptions, such as merges
//! that are longer than every token, and descriptions come from files.

use crate::{Error, Result};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Returns the result of `work`; a panic becomes an [`ErrorKind::Format`](crate::ErrorKind). `what` is the start of its
/// message.
///
/// The crate's state is safe to use afterwards: a tokenizer under construction is dropped, and one in use changes only
/// caches, as its last action.
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
