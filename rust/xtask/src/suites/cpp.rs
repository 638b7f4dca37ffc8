//! Every GoogleTest program below tests/cpp of the build, on each ISA on which it may differ, and the C++ examples.

use std::path::{Path, PathBuf};

use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::{examples, expect};

/// Programs for which one run covers all ISAs: they compute nothing that depends on the ISA, or go through all ISAs
/// themselves if TENSORLIB_ISA is not set. All others run on each ISA.
const ONCE: [&str; 14] = [
    "api_test",
    "arena_test",
    "context_test",
    "data_test",
    "dtype_test",
    "encode_test",
    "formats_test",
    "gguf_corpus_test",
    "gguf_test",
    "gguf_writer_test",
    "graph_test",
    "op_def_test",
    "thread_pool_test",
    "trace_test",
];

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::tests(run)?;
    each_isa(run, &build, &[])?;
    some_programs(run, &build.join("tests/cpp"), |name| name == "cases_test", &[super::JOINED_CPUS.to_vec()])?;
    let ws = run.ws;
    let program = |name: &str| ws.cmd(build.join(format!("examples/cpp/tl_cpp_{name}")));
    examples::encoder(run, "C++", &program("encoder"))?;
    examples::digits(run, "C++", &program("digits"))?;
    examples::training(run, "C++", program)
}

/// Runs the programs that need no GPU with these variables set, on each ISA or once.
pub fn each_isa(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let isas = isas::all(run)?;
    on_isas(run, build, &isas, envs, &[])
}

/// [`each_isa`] on these ISAs, without some programs.
pub fn on_isas(
    run: &mut Run,
    build: &Path,
    isas: &[String],
    envs: &[(&str, &str)],
    without: &[&str],
) -> Result<(), String> {
    let dir = build.join("tests/cpp");
    let there: Vec<String> = programs(&dir)?.iter().map(|path| name_of(path)).collect();
    let gone: Vec<_> = ONCE.iter().filter(|name| !there.iter().any(|n| n == *name)).copied().collect();
    if !gone.is_empty() {
        return Err(format!("{} should run once, but is not in {}", gone.join(", "), dir.display()));
    }
    let on_each: Vec<_> = isas.iter().map(|isa| [&[("TENSORLIB_ISA", isa.as_str())], envs].concat()).collect();
    let mut commands = commands(run, &dir, |name| ONCE.contains(&name) && !without.contains(&name), &[envs.to_vec()])?;
    let other = |name: &str| !ONCE.contains(&name) && !without.contains(&name) && !name.starts_with("cuda_");
    commands.extend(self::commands(run, &dir, other, &on_each)?);
    run.tests_together(Style::GoogleTest, &commands)
}

/// Runs each program with these variables set.
pub fn all_programs(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    some_programs(run, &build.join("tests/cpp"), |_| true, &[envs.to_vec()])
}

/// Runs the programs in a folder whose names `chosen` accepts, with each of these sets of variables; no such program is
/// an error.
pub fn some_programs(
    run: &mut Run,
    dir: &Path,
    chosen: impl Fn(&str) -> bool,
    envs: &[Vec<(&str, &str)>],
) -> Result<(), String> {
    let commands = commands(run, dir, chosen, envs)?;
    run.tests_together(Style::GoogleTest, &commands)
}

/// A title and a command for each program that `chosen` accepts, with each of these sets of variables.
fn commands(
    run: &Run,
    dir: &Path,
    chosen: impl Fn(&str) -> bool,
    envs: &[Vec<(&str, &str)>],
) -> Result<Vec<(String, Cmd)>, String> {
    let mut found = programs(dir)?;
    found.retain(|path| chosen(&name_of(path)));
    if found.is_empty() {
        return Err(format!("none of the programs that were meant is in {}", dir.display()));
    }
    let ws = run.ws;
    let of = |program: &PathBuf, envs: &Vec<(&str, &str)>| {
        let cmd = ws.cmd(program).arg("--gtest_color=no").limit(super::TEST_LIMIT).envs(envs);
        (format!("{} {}", name_of(program), expect::title_of(envs)), cmd)
    };
    Ok(envs.iter().flat_map(|envs| found.iter().map(move |program| of(program, envs))).collect())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The programs that a build has made in a folder.
pub fn programs(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        // An executable has no file extension, unlike other files except Makefile.
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
