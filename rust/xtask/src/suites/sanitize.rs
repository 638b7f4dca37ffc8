//! The C++ and C suites, built with AddressSanitizer and UBSan, on each level.

use crate::builds::Builds;
use crate::suite::Run;

/// The first report ends the program.
pub const UBSAN: (&str, &str) = ("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1");

/// Leaks count. Absurd sizes must come back as NULL, as they do from the C library's malloc.
const OPTIONS: [(&str, &str); 2] =
    [("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1"), UBSAN];

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = Builds::sanitized(run, "address,undefined")?;
    run.for_each_isa(|run, isa| {
        let envs = [&[("TENSORLIB_ISA", isa)], &OPTIONS[..]].concat();
        super::c::programs(run, &build, &envs)?;
        super::cpp::all_programs(run, &build, &envs)
    })
}
