//! Generates code and documentation from descriptions. Those of the operations (`cpp/ops/*.toml`) give their functions
//! in all languages, the engine's tables, the case runners' lines and `docs/ops.md`; `rust/tensorlib-sys` gives the C
//! header and its reference.
//!
//! The crate only makes texts. `cargo xtask ops` and `cargo xtask header` run each language's formatter on them and
//! store them.

// Only xtask uses this crate; fields of descriptions have the names of the TOML files, which docs/adding-an-op.md
// explains.
#![allow(missing_docs)]

pub mod description;
pub mod document;
mod fields;
pub mod header;
mod model;
pub mod names;
pub mod reference;
mod shared;
mod templates;
mod text;

pub use templates::regions;

use description::Family;

/// The sentence in the head of each file.
pub const HEAD: &str = "Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.";

/// The generated files: their paths and texts, before they are formatted.
///
/// # Errors
/// What a template does wrong, with its line.
pub fn files(families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    let mut files = templates::files(families)?;
    files.push(("docs/ops.md", document::text(families)));
    Ok(files)
}

/// A file with its region replaced.
///
/// # Errors
/// A file without the two lines that mark a region.
pub fn with_region(file: &str, lines: &str) -> Result<String, String> {
    const BEGIN: &str = "Written by `cargo xtask ops`";
    const END: &str = "End of what `cargo xtask ops` writes";
    let begin = file.find(BEGIN).ok_or(format!("no line says {BEGIN:?}"))?;
    let first = file[begin..].find('\n').map_or(file.len(), |length| begin + length + 1);
    let end = first + file[first..].find(END).ok_or(format!("no line says {END:?} after the first"))?;
    let last = file[..end].rfind('\n').map_or(0, |at| at + 1);
    Ok(format!("{}{lines}{}", &file[..first], &file[last..]))
}

#[cfg(test)]
mod tests {
    use super::with_region;

    #[test]
    fn regions_are_replaced() {
        let file = "a\n// Written by `cargo xtask ops` from x.\nold\n  // End of what `cargo xtask ops` writes.\nb\n";
        let fresh = with_region(file, "new\n").unwrap();
        assert_eq!(fresh, file.replace("old", "new"));
        assert_eq!(with_region(&fresh, "new\n").unwrap(), fresh);
        assert!(with_region("a\n", "").unwrap_err().contains("no line says"));
        assert!(with_region("Written by `cargo xtask ops`\n", "").unwrap_err().contains("after the first"));
    }
}
