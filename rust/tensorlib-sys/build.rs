//! Finds or builds the native library.
//!
//! By default CMake builds the bundled C++ sources into a static archive. The feature `system` links an installed
//! libtensorlib instead. `TENSORLIB_NO_BUNDLE=1` forbids the bundled build, for distributions that must not compile
//! copies. The feature `cuda` adds the CUDA backend to the bundled build, which then needs nvcc; `nvcc.rs` looks for
//! it. The build writes only inside OUT_DIR and downloads nothing.

#[cfg(feature = "cuda")]
mod nvcc;

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

fn main() {
    for variable in ["TENSORLIB_NO_BUNDLE", "CXX", "CMAKE", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs only the declarations
    }
    if cfg!(feature = "system") {
        link_system();
    } else if env::var_os("TENSORLIB_NO_BUNDLE").is_some_and(|v| v != "0") {
        fail(
            "TENSORLIB_NO_BUNDLE forbids building the bundled C++ sources, and the feature `system` is off.\n\
             Enable the feature `system` to link an installed libtensorlib, or unset TENSORLIB_NO_BUNDLE.",
        );
    } else {
        build_bundled();
    }
}

/// Stops the build with a message that says what to do; a panic would bury it under a backtrace.
fn fail(message: &str) -> ! {
    eprintln!("\ntensorlib-sys: {message}\n");
    exit(1);
}

#[cfg(feature = "system")]
fn link_system() {
    if let Err(error) = pkg_config::Config::new().atleast_version("0.1").probe("tensorlib") {
        fail(&format!(
            "the feature `system` is on, but pkg-config does not find tensorlib 0.1 or later:\n{error}\n\
             Install it (cmake --install b --prefix PREFIX) and add PREFIX/lib/pkgconfig to PKG_CONFIG_PATH,\n\
             or turn the feature off to build the bundled sources."
        ));
    }
}

#[cfg(not(feature = "system"))]
fn link_system() {}

/// The folder of the C++ sources. A checkout has links and a package has real folders; a checkout without symbolic
/// links has text files instead, and then the sources are two levels up.
fn native_sources() -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let bundled = here.join("native");
    if bundled.join("cpp").is_dir() {
        bundled
    } else {
        here.join("../..")
    }
}

fn build_bundled() {
    let sources = native_sources();
    for part in ["CMakeLists.txt", "cmake", "cpp", "capi"] {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    check_tools();
    let mut config = cmake::Config::new(&sources);
    config
        .profile("Release")
        .define("BUILD_SHARED_LIBS", "OFF")
        .define("BUILD_TESTING", "OFF")
        .define("CMAKE_INSTALL_LIBDIR", "lib");
    if is_plain_linux() {
        // The flags of the crate `cmake` would repeat those of CMakeLists.txt, and defeat a compiler cache.
        config.define("CMAKE_CXX_FLAGS", "");
    }
    define_from_environment(&mut config, "TENSORLIB_WERROR");
    define_from_environment(&mut config, "TENSORLIB_ISAS");
    define_cuda(&mut config);
    let fingerprint = fingerprint(&sources);
    let installed = reused(&fingerprint).unwrap_or_else(|| config.build());
    // Written last, so that an interrupted build does not count.
    let written = std::fs::write(installed.join(FINGERPRINT), fingerprint);
    written.unwrap_or_else(|e| fail(&format!("{}: {e}", installed.display())));
    link_bundled(&installed);
}

/// The file of an installed build that identifies its inputs.
const FINGERPRINT: &str = "tensorlib-sys.fingerprint";

/// The inputs of the build: the sources, the target, the features and the environment, but not cargo's profile.
fn fingerprint(sources: &Path) -> String {
    let mut hash = DefaultHasher::new();
    for part in ["CMakeLists.txt", "cmake", "cpp", "capi"] {
        hash_files(&sources.join(part), &mut hash);
    }
    let counts = |name: &str| {
        ["CARGO_FEATURE_", "CMAKE", "CUDA", "CXX", "CC", "CFLAGS", "TENSORLIB_"]
            .iter()
            .any(|part| name.starts_with(part))
    };
    let mut environment: Vec<_> = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| {
            ["TARGET", "HOST", "PATH"].contains(&name.as_str()) || counts(name) || name.contains("CXXFLAGS")
        })
        .collect();
    environment.sort();
    environment.hash(&mut hash);
    format!("{:016x}\n", hash.finish())
}

fn hash_files(path: &Path, hash: &mut DefaultHasher) {
    path.file_name().hash(hash);
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            paths.iter().for_each(|path| hash_files(path, hash));
        }
        Err(_) => std::fs::read(path).unwrap_or_default().hash(hash),
    }
}

/// Copies the build of another profile in the same target folder: `cargo doc` and `cargo build --release` would
/// otherwise spend minutes on a second one.
fn reused(fingerprint: &str) -> Option<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let is_same = |made: &Path| std::fs::read_to_string(made.join(FINGERPRINT)).is_ok_and(|text| text == fingerprint);
    if is_same(&out) {
        return Some(out); // cargo runs the script again if only a file's time has changed
    }
    // TARGET_FOLDER/PROFILE/build/tensorlib-sys-HASH/out
    let target = out.ancestors().nth(4)?;
    let folders = |path: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let builds = folders(target).into_iter().flat_map(|profile| folders(&profile.join("build")));
    let made = builds.map(|build| build.join("out")).find(|made| is_same(made))?;
    ["lib", "include"].iter().try_for_each(|part| copy_all(&made.join(part), &out.join(part))).ok()?;
    Some(out)
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Whether the compiler's defaults suit this target and nobody sets flags. For other targets the crate `cmake` knows
/// flags that CMake does not.
fn is_plain_linux() -> bool {
    let target = env::var("TARGET").unwrap_or_default();
    let asked = env::vars_os().any(|(name, _)| name.to_string_lossy().contains("CXXFLAGS"));
    !asked && target.contains("-linux-gnu") && env::var("HOST").is_ok_and(|host| host == target)
}

/// Sets an option of CMakeLists.txt to the environment variable of the same name, if it is set.
fn define_from_environment(config: &mut cmake::Config, name: &str) {
    println!("cargo:rerun-if-env-changed={name}");
    if let Some(value) = env::var_os(name).filter(|v| !v.is_empty()) {
        config.define(name, value);
    }
}

/// Options of the CUDA backend: nvcc, and the architectures if the environment lists some.
#[cfg(feature = "cuda")]
fn define_cuda(config: &mut cmake::Config) {
    for variable in ["CUDACXX", "CUDA_HOME", "CUDA_PATH", "XDG_CACHE_HOME"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    config.define("TENSORLIB_CUDA", "ON").define("CMAKE_CUDA_COMPILER", find_nvcc());
    define_from_environment(config, "TENSORLIB_CUDA_ARCHITECTURES");
}

/// The system's nvcc, or the one that `cargo xtask cuda-toolkit` installed.
#[cfg(feature = "cuda")]
fn find_nvcc() -> PathBuf {
    let environment = |name: &str| env::var_os(name);
    let mut passed = Vec::new();
    let found = nvcc::find(&environment, &nvcc::USUAL, &mut passed).unwrap_or_else(|why| fail(&why));
    let found = found.or_else(|| nvcc::installed(&nvcc::cache_folder(&environment)?));
    let found = found.unwrap_or_else(|| {
        let passed: String = passed.iter().map(|why| format!("{why}\n")).collect();
        fail(&format!(
            "the feature `cuda` is on, and nvcc of CUDA 12.8 or later is not here.\n{passed}\
             Install the CUDA toolkit and put nvcc on the PATH, or set CUDACXX to its path; in a checkout of tensorlib\n\
             `cargo xtask cuda-toolkit` installs one without touching the system. No driver and no GPU are needed.\n\
             Without the feature `cuda` the build needs none of this."
        ))
    });
    found.path
}

#[cfg(not(feature = "cuda"))]
fn define_cuda(_: &mut cmake::Config) {}

/// Checks for cmake and a compiler first: CMake's own message for a missing compiler is pages long, these are one line.
fn check_tools() {
    let cmake = env::var("CMAKE").unwrap_or_else(|_| "cmake".into());
    if !runs(&cmake) {
        fail(&format!(
            "`{cmake}` is not there. Building the bundled C++ sources takes CMake 3.20 or later:\n\
             apt install cmake, dnf install cmake, brew install cmake; or set CMAKE to its path."
        ));
    }
    let compilers = match env::var("CXX") {
        Ok(compiler) => vec![compiler],
        Err(_) => vec!["c++".into(), "g++".into(), "clang++".into()],
    };
    if !compilers.iter().any(|c| runs(c)) && !cfg!(windows) {
        fail(&format!(
            "there is no C++ compiler ({}). Building the bundled C++ sources takes one with C++20:\n\
             apt install g++, dnf install gcc-c++, xcode-select --install; or set CXX to its path.",
            compilers.join(", ")
        ));
    }
}

fn runs(program: &str) -> bool {
    // CXX may include a wrapper or flags: its first word is the program.
    let first = program.split_whitespace().next().unwrap_or(program);
    Command::new(first).arg("--version").output().is_ok()
}

fn link_bundled(prefix: &Path) {
    println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
    println!("cargo:rustc-link-lib=static=tensorlib");
    let target = env::var("TARGET").unwrap_or_default();
    if target.contains("apple") || target.contains("freebsd") {
        println!("cargo:rustc-link-lib=c++");
    } else if !target.contains("msvc") {
        println!("cargo:rustc-link-lib=stdc++");
    }
    if cfg!(feature = "cuda") {
        // The installation contains a copy of the toolkit's archive. It loads the driver at its first use.
        println!("cargo:rustc-link-lib=static=cudart_static");
        for library in ["dl", "rt", "pthread"] {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    println!("cargo:include={}", prefix.join("include").display());
}
