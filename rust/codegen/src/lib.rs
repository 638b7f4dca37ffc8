//! Generates code and documentation from descriptions. Those of the operations (`cpp/ops/*.toml`) give their functions
//! in all languages, the engine's tables, the case runners' lines and `docs/ops.md`; `rust/tensorlib-sys` gives the C
//! header and its reference.
//!
//! The crate only makes texts. `cargo xtask ops` and `cargo xtask header` run each language's formatter on them and
//! store them.

// Only xtask uses this crate; fields of descriptions have the names of the TOML files, which docs/adding-an-op.md
// explains.
#![allow(missing_docs)]

mod c;
mod cpp;
mod cpp_api;
pub mod description;
pub mod document;
mod fields;
mod go;
pub mod header;
pub mod names;
pub mod reference;
mod rust;
mod text;
mod zig;

use description::{Family, Op};

/// The first line of each file.
pub const HEAD: &str = "Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.";

/// The operations whose functions are generated, family by family.
fn generated(families: &[Family]) -> impl Iterator<Item = &Op> {
    families.iter().flat_map(|family| &family.ops).filter(|op| !op.by_hand)
}

/// The generated files: their paths and texts, before they are formatted.
pub fn files(families: &[Family]) -> Vec<(&'static str, String)> {
    vec![
        ("cpp/graph/gen/op_list.inc", cpp::list(families)),
        ("cpp/ops/gen/op_facts.hpp", cpp::facts(families)),
        ("docs/ops.md", document::text(families)),
        ("rust/tensorlib-sys/src/gen/op_functions.rs", c::declarations(families)),
        ("capi/src/gen/op_functions.cpp", c::definitions(families)),
        ("cpp/include/tensorlib/gen/op_functions.hpp", cpp_api::header(families)),
        ("cpp/api/gen/op_functions.cpp", cpp_api::definitions(families)),
        ("rust/tensorlib/src/gen/op_functions.rs", rust::methods(families)),
        ("bindings/go/op_functions.go", go::methods(families)),
        ("bindings/zig/src/gen/op_functions.zig", zig::functions(families)),
        ("bindings/zig/src/gen/c_ops.zig", zig::declarations(families)),
        ("tests/capi/gen/case_ops.h", c::cases(families)),
        ("tests/cpp/gen/case_ops.hpp", cpp_api::cases(families)),
        ("rust/tensorlib/tests/gen/case_ops.rs", rust::cases(families)),
        ("bindings/go/case_ops_test.go", go::cases(families)),
        ("bindings/zig/tests/gen/case_ops.zig", zig::cases(families)),
    ]
}

/// Hand-written files with a generated region: since Zig 0.15 a struct cannot take declarations from another file.
pub fn regions(families: &[Family]) -> Vec<(&'static str, String)> {
    vec![("bindings/zig/src/context.zig", zig::aliases(families))]
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
