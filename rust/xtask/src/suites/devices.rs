//! The cases and the examples on one device, in all five languages, for the suites with a simulated or real GPU.

use std::path::Path;

use super::{c, cpp, examples, go, rust, zig};
use crate::suite::Run;

/// The tests of C++ and C, then the cases in the other languages, the digits in all five, and the encoder. The C and C++
/// programs are those of `build`; the others use `prefix`, to which that build was installed.
pub fn all_languages(run: &mut Run, build: &Path, prefix: &Path, device: &str) -> Result<(), String> {
    c_and_cpp(run, build, &[("TENSORLIB_DEVICE", device)])?;
    other_languages(run, build, prefix, device)
}

/// [`all_languages`] after the tests of C++ and C.
pub fn other_languages(run: &mut Run, build: &Path, prefix: &Path, device: &str) -> Result<(), String> {
    let envs = [("TENSORLIB_DEVICE", device)];
    let ws = run.ws;
    let system = ["--features", "system"];
    let cargo = rust::against(ws, prefix)?;
    rust::cases(run, cargo.clone(), &system, &envs)?;
    let (go, zig) = (go::Go::new(run, prefix)?, zig::Zig::new(run, prefix)?);
    go.cases(run, &envs)?;
    zig.cases(run, &envs)?;

    examples::digits_on(run, "C", device, &ws.cmd(build.join("examples/c/tl_c_digits")))?;
    examples::digits_on(run, "C++", device, &ws.cmd(build.join("examples/cpp/tl_cpp_digits")))?;
    examples::digits_on(run, "Rust", device, &rust::example(cargo.clone(), &system, "digits"))?;
    go.digits(run, device)?;
    zig.digits(run, device)?;

    // The C program ran together with its other programs.
    let cpp = ws.cmd(build.join("examples/cpp/tl_cpp_encoder"));
    let (go, zig) = (go.encoder(run)?, zig.encoder(run)?);
    let programs = [("C++", cpp), ("Rust", rust::example(cargo, &system, "encoder")), ("Go", go), ("Zig", zig)];
    programs.iter().try_for_each(|(language, program)| examples::vectors(run, language, program, &envs))
}

/// The cases in the five languages with leafs on each of these devices in turn; the devices are joined.
pub fn joined_cases(run: &mut Run, build: &Path, prefix: &Path, devices: &str) -> Result<(), String> {
    let envs = [("TENSORLIB_DEVICE", devices)];
    cpp::some_programs(run, &build.join("tests/cpp"), |name| name == "cases_test", &[envs.to_vec()])?;
    c::cases(run, build, &envs)?;
    rust::cases(run, rust::against(run.ws, prefix)?, &["--features", "system"], &envs)?;
    let (go, zig) = (go::Go::new(run, prefix)?, zig::Zig::new(run, prefix)?);
    go.cases(run, &envs)?;
    zig.cases(run, &envs)
}

/// The C++ tests of the CUDA backend, the cases in C and C++, the reference's vectors, and the other C programs that
/// use a GPU.
pub fn c_and_cpp(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let chosen = |name: &str| {
        ["cases_test", "custom_test", "joined_test", "op_vectors_test"].contains(&name) || name.starts_with("cuda_")
    };
    cpp::some_programs(run, &build.join("tests/cpp"), chosen, &[envs.to_vec()])?;
    c::programs(run, build, envs)
}

/// The devices that a build finds on this machine, except the CPU.
pub fn found(run: &Run, build: &Path) -> Result<Vec<String>, String> {
    let names = run.ws.cmd(build.join("tests/capi/tl_c_devices")).capture()?;
    Ok(names.lines().filter(|name| *name != "cpu").map(String::from).collect())
}
