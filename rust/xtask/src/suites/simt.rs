//! The CUDA backend on the simulated GPU of tests/simt. For every change: the simulator's own tests, and the C++ and C
//! programs, which run every kernel. With `--deep`: all languages on `cuda:0`, joined devices, and the package of `cargo
//! xtask gpu`; `sanitize-all` repeats the C++ and C part. Needs no GPU and no nvcc.

use std::path::Path;

use super::expect::expect;
use super::{cpp, devices};
use crate::builds;
use crate::gpu;
use crate::suite::Run;

/// The simulated device.
pub const DEVICE: &str = "cuda:0";

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::simt(run)?;
    simulator(run, &build, &[])?;
    devices::c_and_cpp(run, &build, &[("TENSORLIB_DEVICE", DEVICE)])
}

/// `--deep`.
pub fn languages(run: &mut Run) -> Result<(), String> {
    let build = builds::simt(run)?;
    let prefix = builds::installed(run, "prefix-simt", &build)?;
    devices::other_languages(run, &build, &prefix, DEVICE)?;
    devices::joined_cases(run, &build, &prefix, &format!("cpu+{DEVICE}"))?;
    package(run, &build, &prefix)
}

/// The tests of the simulator itself.
pub fn simulator(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    cpp::some_programs(run, &build.join("tests/simt"), |name| name.starts_with("simt_"), &[envs.to_vec()])
}

/// The package of `cargo xtask gpu`, made for the simulated GPU, so that its script is tested without a GPU.
fn package(run: &mut Run, build: &Path, prefix: &Path) -> Result<(), String> {
    let out = run.ws.out.join("gpu-package-simt");
    let contents = gpu::Contents { what: "the simulated GPU", sanitizer: false, optimised: false };
    let packed = gpu::pack(run, build, prefix, &out, &contents);
    run.check("gpu: the package", packed.clone().map(drop));
    packed?;
    // From another folder, and with nothing of this tree in the environment.
    let script = run.ws.cmd(out.join("run.sh")).arg("--tiny").dir(&std::env::temp_dir());
    let ran = run.step(script).and_then(|ran| {
        expect(&ran.text, "| zig_cases-cuda0 |")?;
        expect(&ran.text, "of the limit")?;
        expect(&ran.text, " passed, 0 failed, ")
    });
    run.check("gpu: run.sh", ran);
    Ok(())
}
