//! External programs: against an installed prefix, by CMake's find_package and by pkg-config, shared and static, before
//! and after the prefix is moved; and with the sources inside another project.

use std::path::{Path, PathBuf};

use super::expect::{expect, QUICKSTART};
use super::zig::Zig;
use crate::builds;
use crate::process::Cmd;
use crate::suite::Run;
use crate::system;
use crate::tools;
use crate::workspace::{jobs, make_dir, remove_dir};

pub fn run(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    system::tool("pkg-config", "pkg-config")?;
    for shared in [true, false] {
        let build = builds::library(run, shared)?;
        strangers(run, if shared { "shared" } else { "static" }, &build)?;
    }
    let outcome = subdirectory(run);
    run.check("add_subdirectory from cpp", outcome);
    let outcome = lib64(run);
    run.check("lib64: find_package, pkg-config, Zig", outcome);
    let outcome = absolute_directories(run);
    run.check("absolute directories in tensorlib.pc", outcome);
    Ok(())
}

/// A project that contains the sources in a folder. It builds one ISA alone, which takes less time to compile.
fn subdirectory(run: &Run) -> Result<(), String> {
    let source = run.ws.root.join("tests/ffi/install/subdirectory");
    let build = run.ws.out.join("install").join("subdirectory");
    let library = format!("-DTENSORLIB_SOURCE={}", run.ws.root.display());
    let cmd = run.ws.cmd("cmake").arg("-S").arg(source).arg("-B").arg(&build).arg(library);
    run.step(cmd.args(["-DCMAKE_BUILD_TYPE=Release", "-DTENSORLIB_ISAS=none"]))?;
    run.step(run.ws.cmd("cmake").arg("--build").arg(&build).arg("--parallel").arg(jobs()))?;
    prints_product(run, run.ws.cmd(build.join("consumer")))
}

/// The folder of 64-bit libraries on some systems; no binding looks for it under another name.
fn lib64(run: &mut Run) -> Result<(), String> {
    let build = builds::library(run, true)?;
    let prefix = run.ws.out.join("install").join("lib64");
    remove_dir(&prefix)?;
    let to = |folder: &str| {
        run.step(run.ws.cmd("cmake").arg(format!("-DCMAKE_INSTALL_LIBDIR={folder}")).arg(&build)).map(drop)
    };
    to("lib64")?;
    let installed = run.step(run.ws.cmd("cmake").arg("--install").arg(&build).arg("--prefix").arg(&prefix));
    to("lib")?; // where the other suites look
    installed?;
    if prefix.join("lib").exists() {
        return Err("there is a lib next to lib64".into());
    }
    let builds = prefix.join("builds");
    // On a system without its own lib64, find_package looks elsewhere.
    let place = format!("-Dtensorlib_DIR={}", prefix.join("lib64/cmake/tensorlib").display());
    configure(run, &prefix, "c", &builds, &[&place])?;
    prints_product(run, run.ws.cmd(builds.join("consumer")))?;
    let program = pkg_config(run, false, &prefix, &builds, ("c", "tensorlib"))?;
    prints_product(run, run.ws.cmd(program).env("LD_LIBRARY_PATH", prefix.join("lib64")))?;
    let zig = Zig::new(run, &prefix)?;
    run.step(zig.build("bindings/zig", &["test"])).map(drop)
}

/// Distributions pass directories as absolute paths, which are then outside the prefix.
fn absolute_directories(run: &Run) -> Result<(), String> {
    let build = run.ws.out.join("install").join("absolute");
    remove_dir(&build)?;
    let cmd = run.ws.cmd("cmake").arg("-S").arg(&run.ws.root).arg("-B").arg(&build);
    let directories = ["-DCMAKE_INSTALL_LIBDIR=/opt/there/lib64", "-DCMAKE_INSTALL_INCLUDEDIR=/opt/there/headers"];
    run.step(cmd.args(directories).arg("-DBUILD_SHARED_LIBS=ON"))?;
    for (name, wanted) in [
        ("tensorlib", "-I/opt/there/headers -L/opt/there/lib64 -ltensorlib"),
        ("tensorlib-cpp", "-I/opt/there/headers -L/opt/there/lib64 -ltensorlib_cpp"),
    ] {
        let ask = run.ws.cmd("pkg-config").args(["--cflags", "--libs", name]);
        let said = ask.env("PKG_CONFIG_LIBDIR", &build).env_remove("PKG_CONFIG_PATH").capture()?;
        if !said.trim().starts_with(wanted) {
            return Err(format!("{name}.pc says '{}', not '{wanted}'", said.trim()));
        }
    }
    Ok(())
}

/// Installs a build of this `kind` (shared, static, ...), uses it, moves it, and uses it again.
pub fn strangers(run: &mut Run, kind: &str, build: &Path) -> Result<(), String> {
    let dir = run.ws.out.join("install").join(kind.replace(' ', "-"));
    remove_dir(&dir)?;
    make_dir(&dir)?;
    let (first, moved) = (dir.join("first"), dir.join("moved"));
    run.step(run.ws.cmd("cmake").arg("--install").arg(build).arg("--prefix").arg(&first))?;
    run.check(&format!("{kind}: no file names the source tree"), super::names_no_tree(run, &first, "-I"));
    programs(run, kind, &first)?;
    std::fs::rename(&first, &moved).map_err(|e| e.to_string())?;
    programs(run, kind, &moved)
}

/// Both ways of finding the library, with each program run. `prefix` also names the builds' folders.
fn programs(run: &mut Run, kind: &str, prefix: &Path) -> Result<(), String> {
    let place = prefix.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let title = |what: &str| format!("{kind}, {place}: {what}");
    let build = prefix.with_file_name(format!("build-{place}"));
    for language in ["c", "cpp"] {
        let dir = build.join(language);
        let outcome = configure(run, prefix, language, &dir, &[]);
        let outcome = outcome.and_then(|()| prints_product(run, run.ws.cmd(dir.join("consumer"))));
        run.check(&title(&format!("find_package from {language}")), outcome);
    }
    for (language, package) in [("c", "tensorlib"), ("cpp", "tensorlib-cpp")] {
        let outcome = pkg_config(run, kind.starts_with("static"), prefix, &build, (language, package))
            .and_then(|program| prints_product(run, run.ws.cmd(program).env("LD_LIBRARY_PATH", prefix.join("lib"))));
        run.check(&title(&format!("pkg-config from {language}")), outcome);
    }
    Ok(())
}

fn configure(run: &Run, prefix: &Path, language: &str, build: &Path, more: &[&str]) -> Result<(), String> {
    let source = run.ws.root.join("tests/ffi/install").join(language);
    let cmd =
        run.ws.cmd("cmake").arg("-S").arg(source).arg("-B").arg(build).arg("-DCMAKE_BUILD_TYPE=Release").args(more);
    run.step(cmd.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    run.step(run.ws.cmd("cmake").arg("--build").arg(build)).map(drop)
}

fn pkg_config(
    run: &Run,
    is_static: bool,
    prefix: &Path,
    build: &Path,
    (language, package): (&str, &str),
) -> Result<PathBuf, String> {
    let mut ask = run.ws.cmd("pkg-config").args(["--cflags", "--libs"]);
    if is_static {
        ask = ask.arg("--static");
    }
    // Only this prefix, so that an installed library of the system cannot be used instead.
    let flags = ask.arg(package).env("PKG_CONFIG_LIBDIR", package_folder(prefix)).env_remove("PKG_CONFIG_PATH");
    let flags = flags.capture()?;
    make_dir(build)?;
    let program = build.join(format!("{language}_by_pkg_config"));
    let (variable, usual, standard, source) = match language {
        "c" => ("CC", "cc", "-std=c11", "c/consumer.c"),
        _ => ("CXX", "c++", "-std=c++20", "cpp/consumer.cpp"),
    };
    let compiler = std::env::var(variable).unwrap_or_else(|_| usual.into());
    let source = run.ws.root.join("tests/ffi/install").join(source);
    let compile = run.ws.cmd(compiler).arg(standard).arg(source);
    run.step(compile.args(flags.split_whitespace()).arg("-o").arg(&program))?;
    Ok(program)
}

fn package_folder(prefix: &Path) -> PathBuf {
    let folder = |lib: &str| prefix.join(lib).join("pkgconfig");
    if folder("lib64").exists() {
        folder("lib64")
    } else {
        folder("lib")
    }
}

fn prints_product(run: &Run, cmd: Cmd) -> Result<(), String> {
    run.step(cmd).and_then(|out| expect(&out.text, QUICKSTART))
}
