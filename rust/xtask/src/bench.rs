//! `cargo xtask bench`: builds benches/ for measuring and runs it on each level that this CPU has.

use std::process::{Command, Stdio};

use crate::process::on_path;
use crate::tools;
use crate::workspace::{jobs, Workspace};

const TARGET: &str = "tl_bench_micro";

const CRITERION: &str = "
The same shapes through the Rust API, with criterion's statistics and a report in target/criterion/report/index.html:
  cargo bench --package tensorlib-benches                      all
  cargo bench --package tensorlib-benches -- mul_mat/n1        those whose names have it
  TENSORLIB_ISA=avx2 cargo bench --package tensorlib-benches   another level
docs/performance.md explains the columns and keeps a run.";

/// Builds in Release, then runs the program once per level (or on the one of `--level`); `options` are its own.
pub fn run(ws: &Workspace, options: &[&str]) -> Result<(), String> {
    let (level, options) = match options {
        ["--level", level, rest @ ..] => (Some(*level), rest),
        rest => (None, rest),
    };
    tools::native(ws)?;
    // The root's BUILD_TESTING, which adds benches/, adds the GoogleTest programs too; they are not built here.
    tools::google_test(ws)?;
    let build = ws.out.join("build/bench");
    let mut configure = ws.cmd("cmake").arg("-S").arg(&ws.root).arg("-B").arg(&build);
    configure = configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=ON", "-DBUILD_SHARED_LIBS=OFF"]);
    if on_path("ninja").is_some() && !build.join("CMakeCache.txt").exists() {
        configure = configure.args(["-G", "Ninja"]);
    }
    configure.capture()?;
    ws.cmd("cmake").arg("--build").arg(&build).args(["--target", TARGET, "-j", &jobs()]).capture()?;

    let program = build.join("benches").join(TARGET);
    let all = ws.cmd(&program).arg("--levels").capture()?;
    // A process for each level: OpenBLAS chooses its kernels once, when it is loaded.
    for name in all.lines().filter(|name| level.is_none_or(|wanted| wanted == *name)) {
        // Not by `Cmd`, which keeps the output until the end: a run takes minutes.
        let mut command = Command::new(&program);
        command.args(options).env("TENSORLIB_ISA", name).stdin(Stdio::null());
        let status = command.status().map_err(|e| format!("{}: {e}", program.display()))?;
        if !status.success() {
            return Err(format!("{TARGET} on {name}: {status}"));
        }
    }
    match level {
        Some(wanted) if !all.lines().any(|name| name == wanted) => {
            Err(format!("no level {wanted}: this CPU has {}", all.split_whitespace().collect::<Vec<_>>().join(", ")))
        }
        _ => {
            println!("{CRITERION}");
            Ok(())
        }
    }
}
