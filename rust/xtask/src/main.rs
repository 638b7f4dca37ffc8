//! tensorlib's chores: `cargo xtask help` lists them.
//!
//! `test` is the most important one: it builds and runs everything on a machine that has a C++20 compiler, CMake and
//! Rust, and fetches the other tools (`tools.rs`). A suite is a file in `suites/` and a row of [`suites::ALL`].

mod bench;
mod build_cache;
mod builds;
mod cases;
mod counts;
mod cuda_toolkit;
mod format;
mod gpu;
mod header;
mod isas;
mod lint;
mod mpi;
#[path = "../../tensorlib-sys/nvcc.rs"]
mod nvcc;
mod ops;
mod process;
mod python;
mod report;
mod site;
mod suite;
mod suites;
mod system;
mod tools;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  test [--only A,B] [--deep] [--list]   builds and runs the suites (--list names them)
  header [--check]                      writes capi/include/tensorlib/tensorlib.h from tensorlib-sys
  ops [--check]                         writes what follows from the operations' descriptions, cpp/ops/*.toml
  cases [--check]                       writes tests/cases/*.cases
  docs                                  builds the site into target/xtask/site and follows its links
  fmt [--check]                         formats C, C++, Rust, Go and Zig
  bench [--isa ISA] [OPTIONS]           measures limits, kernels and operations on each ISA (docs/performance)
  bench --only groups                   measures groups of processes next to MPI's own calls
  bench --only network                  measures exchanges on a simulated network next to their formula
  bench --report [FILE...]              draws and tabulates a run of its own, or what --json FILE has kept of others
  cuda-toolkit                          finds nvcc, or installs the pinned CUDA toolkit; its path is the last line
  gpu [--arch N] [--also N] [--out DIR] [--with-sanitizer]
                                        packs a folder of tests and benchmarks for a machine with a GPU
  setup                                 gets the tools that the other commands would get when they need them

--check changes nothing and fails where something differs. What is built goes to target/xtask/.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match command(&words) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn command(words: &[&str]) -> Result<ExitCode, String> {
    let ws = Workspace::find()?;
    let done = match words {
        ["header"] => header::write(&ws.root),
        ["header", "--check"] => header::check(&ws.root),
        ["ops"] => ops::write(&ws),
        ["ops", "--check"] => ops::check(&ws),
        ["cases"] => cases::write(&ws),
        ["cases", "--check"] => cases::check(&ws),
        ["docs"] => site::build(&ws),
        ["fmt"] => format::run_all(&ws, false),
        ["fmt", "--check"] => format::run_all(&ws, true),
        ["bench", options @ ..] => bench::run(&ws, options),
        ["cuda-toolkit"] => cuda_toolkit::run(),
        ["gpu", options @ ..] => gpu::run(&ws, options),
        ["setup"] => tools::setup(&ws),
        ["test", options @ ..] => return suites::test(&ws, options),
        ["help" | "--help" | "-h"] | [] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown command: {}\n\n{HELP}", words.join(" "))),
    };
    done.map(|()| ExitCode::SUCCESS)
}
