//! `cargo xtask ops`: writes what follows from the operations' descriptions (`cpp/ops/*.toml`).

pub mod by_hand;
mod c;
mod cpp;
mod cpp_api;
mod description;
mod document;
mod fields;
mod go;
mod names;
mod rust;
mod text;
#[cfg(test)]
mod trial;
mod zig;

use std::path::Path;

use crate::tools;
use crate::workspace::{first_difference, make_dir, Workspace};
use description::{Family, Op};

/// What stands at the head of each file.
const HEAD: &str = "Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.";

/// The operations whose functions are written here, by their families.
fn generated(families: &[Family]) -> impl Iterator<Item = &Op> {
    families.iter().flat_map(|family| &family.ops).filter(|op| !op.by_hand)
}

/// The files that are written whole, and what is in them.
fn whole(families: &[Family]) -> Vec<(&'static str, String)> {
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

/// Has each language's formatter lay out the lines, in a folder of the tree, so that it finds the tree's settings. zig fmt only checks
/// what `listed` has broken.
fn laid_out(ws: &Workspace, files: &mut [(&'static str, String)], folder: &Path) -> Result<(), String> {
    let formatters = [
        (&[".cpp", ".hpp", ".h"][..], tools::clang_format()?.arg("-i")),
        (&[".rs"], ws.cmd("rustfmt").args(["--edition", "2021"])),
        (&[".go"], ws.cmd(tools::gofmt(ws)?).arg("-w")),
    ];
    for (endings, formatter) in formatters {
        let mut written = Vec::new();
        for (file, text) in files.iter_mut().filter(|(file, _)| endings.iter().any(|ending| file.ends_with(ending))) {
            let path = folder.join(*file);
            make_dir(path.parent().unwrap_or(folder))?;
            std::fs::write(&path, &*text).map_err(|e| format!("{}: {e}", path.display()))?;
            written.push((path, text));
        }
        formatter.args(written.iter().map(|(path, _)| path)).capture()?;
        for (path, text) in written {
            *text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// The files of which a region is written, and what is in it.
fn regions(families: &[Family]) -> Vec<(&'static str, String)> {
    vec![("bindings/zig/src/context.zig", zig::aliases(families))]
}

/// All of them, as they are to be.
fn files(ws: &Workspace, families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    let mut files = whole(families);
    laid_out(ws, &mut files, &ws.out.join("ops"))?;
    for (file, text) in regions(families) {
        let now = std::fs::read_to_string(ws.root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        files.push((file, with_region(&now, &text).map_err(|e| format!("{file}: {e}"))?));
    }
    Ok(files)
}

/// A file with the lines between the two that mark a region replaced.
fn with_region(file: &str, lines: &str) -> Result<String, String> {
    const BEGIN: &str = "Written by `cargo xtask ops`";
    const END: &str = "End of what `cargo xtask ops` writes";
    let begin = file.find(BEGIN).ok_or(format!("no line says {BEGIN:?}"))?;
    let first = file[begin..].find('\n').map_or(file.len(), |length| begin + length + 1);
    let end = first + file[first..].find(END).ok_or(format!("no line says {END:?} after the first"))?;
    let last = file[..end].rfind('\n').map_or(0, |at| at + 1);
    Ok(format!("{}{lines}{}", &file[..first], &file[last..]))
}

/// Writes them.
pub fn write(ws: &Workspace) -> Result<(), String> {
    for (file, text) in files(ws, &description::read(&ws.root)?)? {
        std::fs::write(ws.root.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Fails where one is not what the descriptions say.
pub fn check(ws: &Workspace) -> Result<(), String> {
    for (file, fresh) in files(ws, &description::read(&ws.root)?)? {
        let committed = std::fs::read_to_string(ws.root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        if let Some(line) = first_difference(&committed, &fresh) {
            let folder = description::FOLDER;
            return Err(format!("{file}:{line} differs from {folder}/*.toml: run `cargo xtask ops`"));
        }
    }
    Ok(())
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
