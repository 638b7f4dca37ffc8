//! The C++ and C suites as another platform would build them: plain C++ kernels, no CPUID, nothing specific to Linux.

use crate::builds;
use crate::suite::Run;

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::portable(run)?;
    let envs = [("TENSORLIB_ISA", "baseline")];
    super::c::programs(run, &build, &envs)?;
    super::cpp::all_programs(run, &build, &envs)
}
