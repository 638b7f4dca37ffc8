//! `cargo xtask header`: stores the C header that rust/codegen makes from tensorlib-sys.

use std::path::Path;

use tensorlib_codegen::header::{generate, HEADER};

use crate::workspace::first_difference;

/// Writes the header.
pub fn write(root: &Path) -> Result<(), String> {
    std::fs::write(root.join(HEADER), generate(root)?).map_err(|e| format!("{HEADER}: {e}"))
}

/// Fails if the committed header differs from tensorlib-sys.
pub fn check(root: &Path) -> Result<(), String> {
    let committed = std::fs::read_to_string(root.join(HEADER)).map_err(|e| format!("{HEADER}: {e}"))?;
    let fresh = generate(root)?;
    match first_difference(&committed, &fresh) {
        Some(line) => Err(format!("{HEADER}:{line} differs from tensorlib-sys: run `cargo xtask header`")),
        None => Ok(()),
    }
}
