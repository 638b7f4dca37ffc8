//! `cargo xtask ops`: stores the files that rust/codegen makes from the operations' descriptions (`cpp/ops/*.toml`).

#[cfg(test)]
mod trial;

use std::path::Path;

use tensorlib_codegen::description::{self, Family};
use tensorlib_codegen::{regions, with_region};

use crate::tools;
use crate::workspace::{first_difference, make_dir, Workspace};

/// Formats the lines with each language's formatter, in a folder of the tree, so that the formatter finds the tree's
/// settings. zig fmt only checks lines that `listed` has broken.
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

/// All generated files, formatted.
fn files(ws: &Workspace, families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    let mut files = tensorlib_codegen::files(families)?;
    laid_out(ws, &mut files, &ws.out.join("ops"))?;
    for (file, text) in regions(families)? {
        let now = std::fs::read_to_string(ws.root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        files.push((file, with_region(&now, &text).map_err(|e| format!("{file}: {e}"))?));
    }
    Ok(files)
}

/// Writes them.
pub fn write(ws: &Workspace) -> Result<(), String> {
    let families = description::read(&ws.root)?;
    for (file, text) in files(ws, &families)? {
        std::fs::write(ws.root.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    for name in without_rule(ws, &families)? {
        println!("{name} has no gradient rule yet: {RULES} needs `constexpr GradientRule {name}`");
    }
    Ok(())
}

const RULES: &str = "cpp/gradients";

/// The operations without a gradient rule, which would not link.
fn without_rule(ws: &Workspace, families: &[Family]) -> Result<Vec<String>, String> {
    let mut rules = String::new();
    for file in ws.files_of(&[".cpp"], &[RULES])? {
        rules += &ws.read(&file)?.ok_or(format!("{file} is not UTF-8"))?;
    }
    let ops = families.iter().flat_map(|family| &family.ops).filter(|op| !op.is_composed());
    Ok(ops.map(|op| op.name.clone()).filter(|name| !has_rule(&rules, name)).collect())
}

/// Whether these sources define the rule, as `constexpr GradientRule a = b, name = b;` or `constexpr GradientRule name{...`.
fn has_rule(sources: &str, name: &str) -> bool {
    let definitions = sources.split("constexpr GradientRule ").skip(1);
    let names = definitions.flat_map(|rest| rest.split([';', '{']).next().unwrap_or_default().split(','));
    names.map(|part| part.split('=').next().unwrap_or_default().trim()).any(|defined| defined == name)
}

/// Fails if README.md counts other operations than there are.
fn check_count(ws: &Workspace, families: &[Family]) -> Result<(), String> {
    let n: usize = families.iter().map(|family| family.ops.len()).sum();
    let line = format!("- **Operations**: {n}, ");
    match ws.read("README.md")?.is_some_and(|text| text.contains(&line)) {
        true => Ok(()),
        false => Err(format!("README.md lacks {line:?}: {n} operations are described")),
    }
}

/// Fails if a committed file differs from the descriptions, or an operation has no gradient rule.
pub fn check(ws: &Workspace) -> Result<(), String> {
    let families = description::read(&ws.root)?;
    let missing = without_rule(ws, &families)?;
    if !missing.is_empty() {
        return Err(format!("no gradient rule in {RULES}/*.cpp: {}", missing.join(", ")));
    }
    check_count(ws, &families)?;
    for (file, fresh) in files(ws, &families)? {
        let committed = std::fs::read_to_string(ws.root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        if let Some(line) = first_difference(&committed, &fresh) {
            let folder = description::FOLDER;
            return Err(format!("{file}:{line} differs from {folder}/*.toml: run `cargo xtask ops`"));
        }
    }
    Ok(())
}
