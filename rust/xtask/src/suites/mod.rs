//! The suites, a file each. A new suite is a file with `pub fn run(run: &mut Run) -> Result<(), String>` and a row
//! here.

mod c;
mod cli;
pub mod cpp;
pub mod cuda;
mod deep;
mod devices;
mod examples;
mod expect;
pub mod export;
pub mod go;
mod groups;
mod install;
mod learning;
mod lint;
mod models;
mod package;
mod portable;
pub mod rust;
mod sanitize;
mod server;
mod simt;
mod targets;
pub mod zig;

use std::process::ExitCode;

use crate::report;
use crate::suite::{Made, Suite};
use crate::workspace::Workspace;

const fn suite(
    name: &'static str,
    about: &'static str,
    run: fn(&mut crate::suite::Run) -> Result<(), String>,
) -> Suite {
    Suite { name, about, deep: false, run }
}

const fn deep(name: &'static str, about: &'static str, run: fn(&mut crate::suite::Run) -> Result<(), String>) -> Suite {
    Suite { name, about, deep: true, run }
}

/// Three virtual CPUs, joined: each language's suite runs the cases on them, with leafs on each in turn.
pub const JOINED_CPUS: [(&str, &str); 2] =
    [("TENSORLIB_DEVICE", "cpu:0+cpu:1+cpu:2"), ("TENSORLIB_CPU_VIRTUAL_DEVICES", "3")];

/// The time limit of a native test program in seconds: each takes well under a minute, and under ten including
/// sanitizers and long runs, on a machine that does nothing else. Six times as long is a hang: other builds on the same
/// machine make a program four times slower.
pub const TEST_LIMIT: u64 = 3600;

/// In the order in which they run: suites that fail fast come first.
pub const ALL: &[Suite] = &[
    suite("lint", "generated files, formatters, clippy, rules of the tree", lint::run),
    suite("export", "symbols and dependencies of the shared library, SIMD objects", export::run),
    suite("cpp", "GoogleTest programs, the encoder and training on each ISA, digits", cpp::run),
    suite("c", "bad input, quickstart, cases, encoder and training on each ISA, digits", c::run),
    suite("rust", "unit, doc and feature tests, cases, encoder and training on each ISA, digits", rust::run),
    suite("learning", "the examples that learn, on each ISA, against known answers", learning::run),
    suite(
        "models",
        "language models and encoders compared with double precision, on each ISA; tokenizers",
        models::run,
    ),
    suite("cli", "the program `tensorlib`: commands, bad input, killed runs, man pages and completions", cli::run),
    suite("server", "the server over HTTP, a fuzzer, curl, OpenAI's package, the page in a browser", server::run),
    suite("go", "vet, tests with the race detector, cases, encoder and training on each ISA, digits", go::run),
    suite("zig", "tests, cases, encoder and training on each ISA, digits", zig::run),
    suite("groups", "groups of processes: 1, 2 and 4 ranks, and ranks that fail, with Open MPI and MPICH", groups::run),
    suite("install", "find_package and pkg-config programs against an installed prefix", install::run),
    suite("package", "the packaged crates in an empty project, offline", package::run),
    suite("simt", "the CUDA backend on a simulated GPU, in C++ and C", simt::run),
    deep("simt-languages", "the simulated GPU in all languages, joined with the CPU, and packed", simt::languages),
    deep(
        "sanitize",
        "AddressSanitizer and UBSan under the C suite and the operations' vectors, on the best ISA; random calls for a minute",
        sanitize::run,
    ),
    deep("portable", "the C++ and C suites without processor- or system-specific code", portable::run),
    deep("cuda", "the CUDA build for sm_90: no spills, no driver needed, and this machine's GPUs if any", cuda::run),
    deep(
        "sanitize-all",
        "AddressSanitizer and UBSan under the C++ and C suites, on every ISA and on the simulated GPU; random calls for ten minutes",
        sanitize::all,
    ),
    deep(
        "learning-all",
        "five seeds of the convolutional network; a transformer, its adapter and text; a sparse one",
        learning::all,
    ),
    deep("cli-installed", "the program `tensorlib` without downloads, and as `cargo install` makes it", cli::installed),
    deep("models-simt", "language models and encoders on the simulated GPU", models::simulated),
    deep("cuda-all", "the CUDA build for every architecture: no spills, its size", cuda::all),
    deep("targets", "the library for Windows, under Wine; 32-bit targets are refused", targets::run),
    deep("tsan", "ThreadSanitizer under the C++ and C suites", deep::tsan),
    deep("valgrind", "memcheck under the C suites", deep::valgrind),
    deep("server-soak", "the server with sixteen clients for ten minutes, and a fuzzer for ten", server::soak),
    deep("seeds", "the CUDA backend on the simulated GPU, in fifteen other orders", deep::seeds),
    deep("fuzz", "fuzz targets under sanitizers, a minute each (TENSORLIB_FUZZ_SECONDS)", deep::fuzz),
    deep("cases", "the case files, written again", deep::cases),
    deep("site", "the pages of `cargo xtask docs`, and every link in them", deep::site),
    deep("package-uncached", "the packaged crates without a compiler cache, as users build them", package::uncached),
    deep(
        "interop",
        "files exchanged with the Python packages of their formats; a published model compared with PyTorch",
        deep::interop,
    ),
    deep("long", "the suites' long runs (TENSORLIB_DEEP=1)", deep::long),
];

/// How long random tests run: TENSORLIB_FUZZ_SECONDS, or the suite's own time.
fn fuzz_seconds(otherwise: u64) -> Result<u64, String> {
    match std::env::var("TENSORLIB_FUZZ_SECONDS") {
        Ok(seconds) => seconds.parse().map_err(|e| format!("TENSORLIB_FUZZ_SECONDS is {seconds}: {e}")),
        Err(_) => Ok(otherwise),
    }
}

/// Fails if a file below `dir` names this source tree. `binaries` is grep's option for binary files: `-I` skips them,
/// `-a` searches them too.
fn names_no_tree(run: &crate::suite::Run, dir: &std::path::Path, binaries: &str) -> Result<(), String> {
    let tree = run.ws.root.to_string_lossy().into_owned();
    match run.ws.cmd("grep").args(["-rlF", binaries, "-e", &tree]).arg(dir).capture() {
        Ok(files) => Err(format!("these name {tree}:\n{files}")),
        // grep exits with 1 if nothing was found; any output of its own is an error.
        Err(message) if message.trim_end().ends_with("exit status: 1") => Ok(()),
        Err(message) => Err(message),
    }
}

/// `cargo xtask test`.
pub fn test(ws: &Workspace, options: &[&str]) -> Result<ExitCode, String> {
    let mut only: Option<Vec<&str>> = None;
    let mut with_deep = false;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--deep" => with_deep = true,
            "--only" => only = Some(options.next().ok_or("--only needs names: --only rust,go")?.split(',').collect()),
            "--list" => {
                for s in ALL {
                    println!("{:<14} {}{}", s.name, s.about, if s.deep { " (--deep)" } else { "" });
                }
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(format!("test does not know {other}: --only A,B, --deep, --list")),
        }
    }
    if let Some(unknown) = only.iter().flatten().find(|name| !ALL.iter().any(|s| s.name == **name)) {
        let names: Vec<_> = ALL.iter().map(|s| s.name).collect();
        return Err(format!("no suite is called {unknown:?}; there are {}", names.join(", ")));
    }
    let chosen = |s: &&Suite| match &only {
        Some(names) => names.contains(&s.name),
        None => !s.deep || with_deep,
    };
    let mut made = Made::default();
    let mut results: Vec<_> = ALL.iter().filter(chosen).map(|s| s.execute(ws, &mut made)).collect();
    results.extend(report::compare_cases(&results, crate::cases::count(ws)?));
    let sum = report::print(&results);
    Ok(if sum.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
