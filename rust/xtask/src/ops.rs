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
    for (file, text) in files(ws, &description::read(&ws.root)?)? {
        std::fs::write(ws.root.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Fails if a committed file differs from the descriptions.
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
