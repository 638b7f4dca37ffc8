//! Every GoogleTest program below tests/cpp of the build, on each level.

use std::path::{Path, PathBuf};

use crate::builds::Builds;
use crate::counts::Style;
use crate::suite::Run;

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = Builds::tests(run)?;
    let levels = run.levels()?;
    let envs: Vec<_> = levels.iter().map(|isa| vec![("TENSORLIB_ISA", isa.as_str())]).collect();
    some_programs(run, &build.join("tests/cpp"), |_| true, &envs)?;
    super::c::digits(run, "C++ digits", &build.join("examples/cpp/tl_cpp_digits"))
}

/// Runs each program with these variables set.
pub fn all_programs(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    some_programs(run, &build.join("tests/cpp"), |_| true, &[envs.to_vec()])
}

/// Runs the programs in a folder whose names `chosen` takes, with each of these sets of variables; none is an error.
pub fn some_programs(
    run: &mut Run,
    dir: &Path,
    chosen: impl Fn(&str) -> bool,
    envs: &[Vec<(&str, &str)>],
) -> Result<(), String> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = programs(dir)?;
    found.retain(|path| chosen(&name(path)));
    if found.is_empty() {
        return Err(format!("none of the programs that were meant is in {}", dir.display()));
    }
    let ws = run.ws;
    let of = |program: &PathBuf, envs: &Vec<(&str, &str)>| {
        let cmd = ws.cmd(program).arg("--gtest_color=no").limit(super::TEST_LIMIT).envs(envs);
        (format!("{} {}", name(program), super::c::title_of(envs)), cmd)
    };
    let commands: Vec<_> = envs.iter().flat_map(|envs| found.iter().map(move |program| of(program, envs))).collect();
    run.tests_together(Style::GoogleTest, &commands)
}

/// The programs that a build has left in a folder.
pub fn programs(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        // An executable has no ending, and neither Makefile nor a folder is one.
        let plain = path.is_file() && path.extension().is_none() && !path.ends_with("Makefile");
        if plain && is_executable(&path) {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("no test programs in {}", dir.display()));
    }
    Ok(found)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}
