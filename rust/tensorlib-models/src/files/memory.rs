//! The limit for files that are read whole: as large as memory allows.

use crate::{Error, Result};
use std::fmt::Display;

/// A parsed text takes up to this many times its bytes: JSON becomes values, and those become tables.
const GROWTH: u64 = 16;
const ALWAYS: u64 = 4 << 20;

/// Refuses a file, or a part of one, that cannot be parsed in the free memory.
pub(crate) fn check_size(what: impl Display, bytes: u64) -> Result<()> {
    // Every machine has this much memory.
    if bytes <= ALWAYS {
        return Ok(());
    }
    let free = tensorlib::devices().first().map_or(0, |cpu| cpu.memory_free);
    check(what, bytes, if free == 0 { u64::MAX } else { free / GROWTH })
}

fn check(what: impl Display, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!("{what}: {bytes} bytes: the memory that is free suffices for {most}");
    Err(Error::memory(message).with_hint("close other programs, or use a machine with more memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_bound() {
        assert!(check("f", 1000, 1000).is_ok());
        let error = check("f", 1001, 1000).unwrap_err();
        assert_eq!(error.to_string(), "f: 1001 bytes: the memory that is free suffices for 1000");
        assert_eq!(error.kind(), crate::ErrorKind::Memory);
        assert!(check_size("f", u64::MAX / 2).is_err() || tensorlib::devices()[0].memory_free == 0);
    }
}
