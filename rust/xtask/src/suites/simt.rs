//! The CUDA backend on the simulated GPU of tests/simt: its own tests, then all languages on `cuda:0`, then the C and
//! C++ part under AddressSanitizer and UBSan. Needs no GPU and no nvcc.

use std::path::Path;

use super::c::expect;
use super::{cpp, devices, sanitize};
use crate::builds::Builds;
use crate::gpu;
use crate::suite::Run;

/// As in the suite `sanitize`, but for uses of a stack frame after its return: each lane is a fiber, and a shadow stack
/// for each takes seventeen times as long (112 s instead of 7 s for the cases in C).
const SANITIZER_OPTIONS: [(&str, &str); 2] =
    [("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=0"), sanitize::UBSAN];

/// The simulated device.
pub const DEVICE: &str = "cuda:0";

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = Builds::simt(run, None)?;
    simulator(run, &build, &[])?;
    let prefix = Builds::installed(run, "prefix-simt", &build)?;
    devices::all_languages(run, &build, &prefix, DEVICE)?;
    package(run, &build, &prefix)?;

    let build = Builds::simt(run, Some("address,undefined"))?;
    simulator(run, &build, &SANITIZER_OPTIONS)?;
    devices::c_and_cpp(run, &build, &[&[("TENSORLIB_DEVICE", DEVICE)], &SANITIZER_OPTIONS[..]].concat())
}

/// The tests of the simulator itself.
fn simulator(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    cpp::some_programs(run, &build.join("tests/simt"), |name| name.starts_with("simt_"), envs)
}

/// What `cargo xtask gpu` would pack, of the simulated GPU: its script must work before a GPU is to be had.
fn package(run: &mut Run, build: &Path, prefix: &Path) -> Result<(), String> {
    let out = run.ws.out.join("gpu-package-simt");
    let packed = gpu::pack(run, build, prefix, &out, "the simulated GPU", false);
    run.check("gpu: the package", packed.clone().map(drop));
    packed?;
    // From elsewhere, and with nothing of this tree in the environment.
    let script = run.ws.cmd(out.join("run.sh")).arg("--tiny").dir(&std::env::temp_dir());
    let ran = run.step(script).and_then(|ran| {
        expect(&ran.text, "| zig_cases-cuda0 |")?;
        expect(&ran.text, "of the limit")?;
        expect(&ran.text, " passed, 0 failed, ")
    });
    run.check("gpu: run.sh", ran);
    Ok(())
}
