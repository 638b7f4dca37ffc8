//! `cargo xtask bench`: builds benches/ for measuring and runs it on each ISA of this CPU.

mod bars;
mod report;
mod roofline;
mod rows;
mod svg;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build_cache;
use crate::mpi;
use crate::process::on_path;
use crate::tools;
use crate::workspace::{jobs, make_dir, Workspace};

const TARGET: &str = "tl_bench_micro";
const GROUPS: &str = "tl_bench_groups";
const NETWORK: &str = "tl_bench_network";
/// The sections whose rows a report draws.
const DRAWN: [&str; 2] = ["products", "weights"];

const CRITERION: &str = "
The same shapes through the Rust API, with criterion's statistics and a report in target/criterion/report/index.html:
  cargo bench --package tensorlib-benches                      all
  cargo bench --package tensorlib-benches -- mul_mat/n1        those whose names have it
  TENSORLIB_ISA=avx2 cargo bench --package tensorlib-benches   another ISA
docs/performance/method.md explains the columns; docs/performance/README.md says what came out.";

/// Builds in Release, then runs the program once per ISA (or on the one of `--isa`) with the given `options`.
/// `--report` draws the results, `--report FILE...` draws earlier ones.
pub fn run(ws: &Workspace, options: &[&str]) -> Result<(), String> {
    let out = ws.out.join("bench");
    if let ["--report", files @ ..] = options {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let files = if files.is_empty() { measured(ws, &out)? } else { files };
        return report::write(&files, &out.join("report"));
    }
    let (isa, options) = match options {
        ["--isa", isa, rest @ ..] => (Some(*isa), rest),
        rest => (None, rest),
    };
    if options == ["--only", "groups"] {
        return groups(ws);
    }
    if options == ["--only", "network"] {
        println!("{}", ws.cmd(build(ws, NETWORK)?).capture()?);
        return Ok(());
    }
    let program = build(ws, TARGET)?;
    for name in isas(ws, &program, isa)? {
        measure(&program, &name, options)?;
    }
    println!("{CRITERION}");
    Ok(())
}

/// A file of rows for each ISA: `avx2.json`.
fn measured(ws: &Workspace, out: &Path) -> Result<Vec<PathBuf>, String> {
    make_dir(out)?;
    let program = build(ws, TARGET)?;
    let mut files = Vec::new();
    for name in isas(ws, &program, None)? {
        let file = out.join(format!("{name}.json"));
        let path = file.to_string_lossy().into_owned();
        let sections = DRAWN.map(|section| ["--only", section]).concat();
        measure(&program, &name, &[&sections[..], &["--json", &path]].concat())?;
        files.push(file);
    }
    Ok(files)
}

/// Groups of two processes, next to each MPI library's own calls.
fn groups(ws: &Workspace) -> Result<(), String> {
    let program = build(ws, GROUPS)?;
    for mpi in &mpi::ALL {
        let cmd = ws.cmd(mpi.launcher()?).envs(&mpi::ENVS).args(mpi.options).args(["-n", "2"]).arg(&program);
        println!("{}", cmd.capture()?);
    }
    Ok(())
}

fn build(ws: &Workspace, target: &str) -> Result<PathBuf, String> {
    tools::native(ws)?;
    // BUILD_TESTING, which adds benches/, also adds the GoogleTest programs; they are not built here.
    tools::google_test(ws)?;
    let build = ws.out.join("build/bench");
    let mut configure = ws.cmd("cmake").arg("-S").arg(&ws.root).arg("-B").arg(&build);
    configure = configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=ON", "-DBUILD_SHARED_LIBS=OFF"]);
    if on_path("ninja").is_some() && !build.join("CMakeCache.txt").exists() {
        configure = configure.args(["-G", "Ninja"]);
    }
    build_cache::shared(ws, configure.arg("-DTENSORLIB_WERROR=ON")).capture()?;
    let make = ws.cmd("cmake").arg("--build").arg(&build).args(["--target", target, "-j", &jobs()]);
    build_cache::shared(ws, make).capture()?;
    Ok(build.join("benches").join(target))
}

/// The ISAs of this CPU, or the requested one.
fn isas(ws: &Workspace, program: &Path, wanted: Option<&str>) -> Result<Vec<String>, String> {
    let all = ws.cmd(program).arg("--isas").capture()?;
    let names: Vec<String> = all.lines().filter(|name| wanted.is_none_or(|w| w == *name)).map(String::from).collect();
    if names.is_empty() {
        let there = all.split_whitespace().collect::<Vec<_>>().join(", ");
        return Err(format!("no ISA {}: this CPU has {there}", wanted.unwrap_or_default()));
    }
    Ok(names)
}

/// A process per ISA, because OpenBLAS chooses its kernels once, when it is loaded.
fn measure(program: &Path, isa: &str, options: &[&str]) -> Result<(), String> {
    // `Cmd` would keep the output until the end, and a run takes minutes.
    let mut command = Command::new(program);
    command.args(options).env("TENSORLIB_ISA", isa).stdin(Stdio::null());
    let status = command.status().map_err(|e| format!("{}: {e}", program.display()))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{TARGET} on {isa}: {status}"))
}
