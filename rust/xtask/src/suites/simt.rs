//! The CUDA backend on the simulated GPU of tests/simt: its own tests, then all languages on `cuda:0`, then the C and
//! C++ part under AddressSanitizer and UBSan. Needs no GPU and no nvcc.

use std::path::Path;

use super::{cpp, devices, sanitize};
use crate::builds::Builds;
use crate::suite::Run;

/// The simulated device.
pub const DEVICE: &str = "cuda:0";

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = Builds::simt(run, None)?;
    simulator(run, &build, &[])?;
    let prefix = Builds::installed(run, "prefix-simt", &build)?;
    devices::all_languages(run, &build, &prefix, DEVICE)?;

    let build = Builds::simt(run, Some("address,undefined"))?;
    simulator(run, &build, &sanitize::OPTIONS)?;
    devices::c_and_cpp(run, &build, &[&[("TENSORLIB_DEVICE", DEVICE)], &sanitize::OPTIONS[..]].concat())
}

/// The tests of the simulator itself.
fn simulator(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    cpp::some_programs(run, &build.join("tests/simt"), |_| true, envs)
}
