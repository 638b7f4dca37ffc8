//! `cargo xtask fmt`: each language's own formatter, in pinned versions where the output depends on the version.

use crate::build_cache;
use crate::tools;
use crate::workspace::Workspace;

/// Formats everything, or checks that formatting would change nothing.
pub fn run_all(ws: &Workspace, check: bool) -> Result<(), String> {
    let outcomes = [c(ws, check), rust(ws, check), go(ws, check), zig(ws, check)];
    let wrong: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n"))
}

/// clang-format over C, C++ and CUDA; the generated header stays as its generator writes it.
pub fn c(ws: &Workspace, check: bool) -> Result<(), String> {
    let endings = [".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"];
    let mut files = ws.files_of(&endings, &["cpp", "capi", "tests", "examples", "benches"])?;
    files.retain(|f| f != "capi/include/tensorlib/tensorlib.h" && f != "capi/prologue.h");
    let format = tools::clang_format()?.dir(&ws.root);
    if !check {
        return format.arg("-i").args(files).capture().map(drop);
    }
    // Its report fills a screen per file; the names are enough, and `fmt` does the rest.
    let report = match format.args(["--dry-run", "--Werror"]).args(&files).capture() {
        Ok(_) => return Ok(()),
        Err(report) => report,
    };
    let wrong: Vec<_> = files.iter().filter(|f| report.contains(&format!("\n{f}:"))).map(String::as_str).collect();
    Err(if wrong.is_empty() { report } else { format!("clang-format would change: {}", wrong.join(", ")) })
}

/// rustfmt over the workspace.
pub fn rust(ws: &Workspace, check: bool) -> Result<(), String> {
    let cmd = build_cache::cargo(ws).args(["fmt", "--all"]);
    if check { cmd.args(["--", "--check", "-l"]) } else { cmd }.capture().map(drop)
}

/// gofmt.
pub fn go(ws: &Workspace, check: bool) -> Result<(), String> {
    let files = ws.files_of(&[".go"], &[])?;
    if files.is_empty() {
        return Err("no Go files in the tree".into());
    }
    let listed = ws.cmd(tools::gofmt(ws)?).arg(if check { "-l" } else { "-w" }).args(files).capture()?;
    if listed.is_empty() {
        return Ok(());
    }
    Err(format!("gofmt would change: {}", listed.split_whitespace().collect::<Vec<_>>().join(", ")))
}

/// zig fmt.
pub fn zig(ws: &Workspace, check: bool) -> Result<(), String> {
    let files = ws.files_of(&[".zig", ".zon"], &[])?;
    if files.is_empty() {
        return Err("no Zig files in the tree".into());
    }
    let cmd = tools::zig()?.dir(&ws.root).arg("fmt");
    if check { cmd.arg("--check") } else { cmd }.args(files).capture().map(drop)
}
