//! CMake builds that several suites use, each made once per run.

use std::path::{Path, PathBuf};

use crate::build_cache;
use crate::process::on_path;
use crate::suite::Run;
use crate::tools;
use crate::workspace::{jobs, remove_dir};

/// The name of the build of [`tests`].
pub const TESTS_NAME: &str = "tests";

/// Shared, with all tests and examples, and with warnings as errors.
const TESTS: [&str; 3] = ["-DBUILD_SHARED_LIBS=ON", "-DBUILD_TESTING=ON", WERROR];
const WERROR: &str = "-DTENSORLIB_WERROR=ON";

/// For a package for machines with a GPU: its programs do not use the machine's C++ runtime, and unused parts of the
/// linked runtime are dropped, because they would need a later C library (std::random_device of Debian 12 needs
/// arc4random of 2.36).
pub const LINK_FLAGS: [&str; 2] = [
    "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--gc-sections",
    "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--gc-sections",
];

/// For a sanitizer: as [`TESTS`], with line numbers for its reports. Instrumented code takes three times as long to
/// compile with -O2 as with -O1. Warnings are no errors here, because instrumentation itself causes some.
const INSTRUMENTED: [&str; 4] = [
    "-DBUILD_SHARED_LIBS=ON",
    "-DBUILD_TESTING=ON",
    "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG",
];

/// The shared library with all C and C++ tests and examples.
pub fn tests(run: &mut Run) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    cmake(run, TESTS_NAME, &TESTS)
}

/// All tests without code for this processor or system: the build of other platforms.
pub fn portable(run: &mut Run) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    cmake(run, "portable", &[&TESTS[..], &["-DTENSORLIB_PORTABLE=ON"]].concat())
}

/// The shared library for 64-bit Windows, by MinGW-w64.
pub fn windows(run: &mut Run) -> Result<PathBuf, String> {
    let mut options: Vec<String> = [
        ("C_COMPILER", MINGW_C),
        ("CXX_COMPILER", MINGW_CXX),
        ("SYSTEM_NAME", "Windows"),
        ("SYSTEM_PROCESSOR", "x86_64"),
        ("FIND_ROOT_PATH_MODE_PROGRAM", "NEVER"),
    ]
    .iter()
    .map(|(name, value)| format!("-DCMAKE_{name}={value}"))
    .collect();
    options.extend(["-DBUILD_SHARED_LIBS=ON", "-DBUILD_TESTING=OFF", WERROR].map(String::from));
    cmake(run, "windows", &options.iter().map(String::as_str).collect::<Vec<_>>())
}

/// With POSIX threads, which std::thread needs.
pub const MINGW_C: &str = "x86_64-w64-mingw32-gcc-posix";
const MINGW_CXX: &str = "x86_64-w64-mingw32-g++-posix";

/// The programs that reach devices, with the CUDA backend for these architectures. `more` has options of the caller.
pub fn cuda(run: &mut Run, name: &str, architectures: &str, more: &[&str]) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    let options = cuda_options(Some(architectures))?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    targets(run, name, &[&TESTS[..], &options, more].concat(), Some(reaches_devices))
}

/// The library alone with the CUDA backend; None builds the shipped architectures.
pub fn cuda_library(run: &mut Run, name: &str, architectures: Option<&str>, shared: bool) -> Result<PathBuf, String> {
    let options = cuda_options(architectures)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let linkage = if shared { "-DBUILD_SHARED_LIBS=ON" } else { "-DBUILD_SHARED_LIBS=OFF" };
    let library = [linkage, "-DBUILD_TESTING=OFF", WERROR];
    cmake(run, name, &[&library[..], &options].concat())
}

/// The programs that reach devices, with the CUDA backend on the simulated GPU of tests/simt. Also used to test the
/// packing for a GPU machine.
pub fn simt(run: &mut Run) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    let options = [&TESTS[..], &["-DTENSORLIB_CUDA=simt"], &LINK_FLAGS].concat();
    targets(run, "simt", &options, Some(reaches_devices))
}

/// The library alone, as users build it, except that warnings are errors, as in the tests' build, so that both have the
/// same objects.
pub fn library(run: &mut Run, shared: bool) -> Result<PathBuf, String> {
    let (name, linkage) = if shared { ("shared", "ON") } else { ("static", "OFF") };
    cmake(run, name, &[&format!("-DBUILD_SHARED_LIBS={linkage}"), "-DBUILD_TESTING=OFF", WERROR])
}

/// Some targets with AddressSanitizer and UBSan, for one ISA in addition to baseline: an ISA's simd code takes minutes to
/// compile with instrumentation.
pub fn address_sanitized(run: &mut Run, isa: &str, wanted: fn(&str) -> bool) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    let isas = format!("-DTENSORLIB_ISAS={}", if isa == "baseline" { "none" } else { isa });
    targets(run, "address-undefined", &[&INSTRUMENTED[..], &[ADDRESS_SANITIZER, &isas]].concat(), Some(wanted))
}

/// All tests with AddressSanitizer and UBSan, for all ISAs and the simulated GPU.
pub fn all_address_sanitized(run: &mut Run) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    cmake(run, "address-undefined-all", &[&INSTRUMENTED[..], &["-DTENSORLIB_CUDA=simt", ADDRESS_SANITIZER]].concat())
}

const ADDRESS_SANITIZER: &str = "-DTENSORLIB_SANITIZE=address,undefined";

/// All tests with ThreadSanitizer, without the simulated GPU, which would take its place.
pub fn thread_sanitized(run: &mut Run) -> Result<PathBuf, String> {
    tools::google_test(run.ws)?;
    cmake(run, "thread", &[&INSTRUMENTED[..], &["-DTENSORLIB_SANITIZE=thread"]].concat())
}

/// The fuzz targets alone, built by a clang with libFuzzer, with AddressSanitizer and UBSan.
pub fn fuzz(run: &mut Run) -> Result<PathBuf, String> {
    let (c, cxx) = tools::clang_with_fuzzer()?;
    let compilers = [format!("-DCMAKE_C_COMPILER={}", c.display()), format!("-DCMAKE_CXX_COMPILER={}", cxx.display())];
    let fuzz = ["-DTENSORLIB_FUZZ=ON", "-DTENSORLIB_SANITIZE=address,undefined", "-DBUILD_TESTING=OFF"];
    let options = [&INSTRUMENTED[2..], &[compilers[0].as_str(), &compilers[1]], &fuzz].concat();
    targets(run, "fuzz", &options, Some(|name| name.ends_with("_fuzz")))
}

/// The prefix that the shared library was installed to, for the bindings.
pub fn prefix(run: &mut Run) -> Result<PathBuf, String> {
    let build = library(run, true)?;
    installed(run, "prefix", &build)
}

/// A build installed to the prefix of this name, which is emptied first.
pub fn installed(run: &mut Run, name: &str, build: &Path) -> Result<PathBuf, String> {
    run.once(name, |run| {
        let prefix = run.ws.out.join(name);
        remove_dir(&prefix)?;
        run.step(run.ws.cmd("cmake").arg("--install").arg(build).arg("--prefix").arg(&prefix))?;
        Ok(prefix)
    })
}

fn cmake(run: &mut Run, name: &str, options: &[&str]) -> Result<PathBuf, String> {
    targets(run, name, options, None)
}

/// All targets, or those whose names `wanted` accepts.
fn targets(run: &mut Run, name: &str, options: &[&str], wanted: Option<fn(&str) -> bool>) -> Result<PathBuf, String> {
    run.once(name, |run| {
        tools::native(run.ws)?;
        run.timed(&format!("building {name}"), || configure_and_build(run, name, options, wanted))
    })
}

/// A CMake build below target/xtask/build, configured and built.
fn configure_and_build(
    run: &Run,
    name: &str,
    options: &[&str],
    wanted: Option<fn(&str) -> bool>,
) -> Result<PathBuf, String> {
    let build = run.ws.out.join("build").join(name);
    let mut configure = run.ws.cmd("cmake").arg("-S").arg(&run.ws.root).arg("-B").arg(&build);
    // Some systems use lib64; the suites that check a prefix expect lib.
    configure = configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib"]).args(options);
    if on_path("ninja").is_some() && !build.join("CMakeCache.txt").exists() {
        configure = configure.args(["-G", "Ninja"]);
    }
    run.step(build_cache::shared(run.ws, configure))?;
    let mut make = run.ws.cmd("cmake").arg("--build").arg(&build).args(["-j", &jobs()]);
    if let Some(wanted) = wanted {
        let help = run.ws.cmd("cmake").arg("--build").arg(&build).args(["--target", "help"]).capture()?;
        make = make.arg("--target").args(target_names(&help).into_iter().filter(|name| wanted(name)));
    }
    run.step(build_cache::shared(run.ws, make))?;
    Ok(build)
}

/// The names in CMake's list of targets: `NAME: phony` with Ninja, `... NAME` with make.
fn target_names(help: &str) -> Vec<&str> {
    let lines = help.lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_suffix(": phony").or(line.strip_prefix("... ")));
    names.filter(|name| !name.contains('/')).collect()
}

/// The other tests of the engine use the CPU only, and take most of the time of an instrumented build.
fn reaches_devices(target: &str) -> bool {
    let tests = target.ends_with("_test") && (target.starts_with("cuda_") || target.starts_with("simt_"));
    let c = target.starts_with("tl_c_") || target.starts_with("tl_cpp_");
    tests
        || c
        || ["tensorlib", "tensorlib_cpp", "api_test", "cases_test", "custom_test", "op_vectors_test", "tl_bench_gpu"]
            .contains(&target)
}

fn cuda_options(architectures: Option<&str>) -> Result<Vec<String>, String> {
    let mut options = vec!["-DTENSORLIB_CUDA=ON".into(), format!("-DCMAKE_CUDA_COMPILER={}", tools::cuda()?.display())];
    options.extend(architectures.map(|list| format!("-DTENSORLIB_CUDA_ARCHITECTURES={list}")));
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::{reaches_devices, target_names};

    #[test]
    fn targets_that_reach_devices() {
        let ninja = "[1/1] All primary targets available:\ncases_test: phony\napi_test: phony\ntests/all: phony\n";
        let make =
            "The following are some of the valid targets for this Makefile:\n... all (the default)\n... simt_x_test\n";
        assert_eq!(target_names(ninja), ["cases_test", "api_test"]);
        assert!(target_names(make).contains(&"simt_x_test"));
        for wanted in [
            "cases_test",
            "op_vectors_test",
            "cuda_kernels_test",
            "simt_x_test",
            "tl_c_cases",
            "tl_cpp_digits",
            "tl_cpp_encoder",
            "tensorlib",
        ] {
            assert!(reaches_devices(wanted), "{wanted}");
        }
        for other in ["arena_test", "tl_bench_micro", "simt_test_kernels", "test", "all"] {
            assert!(!reaches_devices(other), "{other}");
        }
    }
}
