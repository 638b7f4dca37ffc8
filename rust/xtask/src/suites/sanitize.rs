//! Programs built with AddressSanitizer and UBSan, in two suites of `--deep`. `sanitize` is short: the C suite, the
//! operations' vectors and random calls, on this machine's best ISA; run it after a change of the engine. `sanitize-all`
//! has the C++ and C suites on each ISA and on the simulated GPU. Instrumented, the tests in C++ take ten minutes to
//! compile on two cores, and those of the simulated GPU ten more.

use std::path::Path;

use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::suite::Run;
use crate::suites::{c, cpp, devices, examples, fuzz_seconds, simt};

/// Ends the program at the first report.
const UBSAN: (&str, &str) = ("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1");

/// Leaks count. Absurd sizes must return NULL, as they do from the C library's malloc.
const CPU: [(&str, &str); 2] =
    [("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1"), UBSAN];

/// As for the CPU, without checks for uses of a stack frame after its return: each lane is a fiber, and a shadow stack
/// for each takes ten times as long (100 s instead of 10 s for the cases in C).
const GPU: [(&str, &str); 3] = [
    ("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=0"),
    UBSAN,
    ("TENSORLIB_DEVICE", simt::DEVICE),
];

/// Draws random calls for as long as it is told to.
const RANDOM_CALLS: &str = "random_calls_test";

/// Every operation with every attribute.
const VECTORS: &str = "op_vectors_test";

/// Whether the short suite needs a target.
fn is_quick(target: &str) -> bool {
    target.starts_with("tl_c_") || ["tensorlib", RANDOM_CALLS, VECTORS].contains(&target)
}

pub fn run(run: &mut Run) -> Result<(), String> {
    let isas = isas::all(run)?;
    let best = isas.first().ok_or("this machine has no ISA")?;
    let build = builds::address_sanitized(run, best, is_quick)?;
    c_programs(run, &build, best)?;
    let envs = [&[("TENSORLIB_ISA", best.as_str())], &CPU[..]].concat();
    cpp::some_programs(run, &build.join("tests/cpp"), |name| name == VECTORS, &[envs])?;
    random_calls(run, &build, best, 60)
}

/// `sanitize-all`.
pub fn all(run: &mut Run) -> Result<(), String> {
    let build = builds::all_address_sanitized(run)?;
    let isas = isas::all(run)?;
    isas.iter().try_for_each(|isa| c_programs(run, &build, isa))?;
    cpp::on_isas(run, &build, &isas, &CPU, &[RANDOM_CALLS])?;
    random_calls(run, &build, isas.first().ok_or("this machine has no ISA")?, 600)?;
    simt::simulator(run, &build, &GPU)?;
    devices::c_and_cpp(run, &build, &GPU)
}

fn random_calls(run: &mut Run, build: &Path, isa: &str, seconds: u64) -> Result<(), String> {
    let seconds = fuzz_seconds(seconds)?;
    let text = seconds.to_string();
    let envs = [&[("TENSORLIB_ISA", isa), ("TENSORLIB_FUZZ_SECONDS", text.as_str())], &CPU[..]].concat();
    let cmd = run.ws.cmd(build.join("tests/cpp").join(RANDOM_CALLS)).arg("--gtest_color=no");
    run.tests(&format!("{RANDOM_CALLS} for {seconds} s"), Style::GoogleTest, cmd.limit(seconds + 120).envs(&envs))
}

fn c_programs(run: &mut Run, build: &Path, isa: &str) -> Result<(), String> {
    c::programs(run, build, &[&[("TENSORLIB_ISA", isa)], &CPU[..]].concat())?;
    examples::leakless(run, &build.join("examples/c/tl_c_digits_network"), &CPU)
}
