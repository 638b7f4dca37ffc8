//! Programs of strangers: against an installed prefix, by CMake's find_package and by pkg-config, shared and
//! static, before and after the prefix was moved to another place.

use std::path::{Path, PathBuf};

use super::answers::{expect, QUICKSTART};
use crate::builds;
use crate::process::Cmd;
use crate::suite::Run;
use crate::system;
use crate::tools;
use crate::workspace::{make_dir, remove_dir};

pub fn run(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    system::tool("pkg-config", "pkg-config")?;
    for shared in [true, false] {
        let build = builds::library(run, shared)?;
        strangers(run, if shared { "shared" } else { "static" }, &build)?;
    }
    Ok(())
}

/// A build of this `kind` (shared, static, ...) installed, used, moved, and used again.
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

/// Both ways of finding the library, each program run. `prefix` also names the builds' folders.
fn programs(run: &mut Run, kind: &str, prefix: &Path) -> Result<(), String> {
    let place = prefix.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let title = |what: &str| format!("{kind}, {place}: {what}");
    let build = prefix.with_file_name(format!("build-{place}"));
    for language in ["c", "cpp"] {
        let dir = build.join(language);
        let outcome = configure(run, prefix, language, &dir);
        let outcome = outcome.and_then(|()| prints_product(run, run.ws.cmd(dir.join("consumer"))));
        run.check(&title(&format!("find_package from {language}")), outcome);
    }
    let outcome = pkg_config(run, kind.starts_with("static"), prefix, &build)
        .and_then(|program| prints_product(run, run.ws.cmd(program).env("LD_LIBRARY_PATH", prefix.join("lib"))));
    run.check(&title("pkg-config from c"), outcome);
    Ok(())
}

fn configure(run: &Run, prefix: &Path, language: &str, build: &Path) -> Result<(), String> {
    let source = run.ws.root.join("tests/ffi/install").join(language);
    let cmd = run.ws.cmd("cmake").arg("-S").arg(source).arg("-B").arg(build).arg("-DCMAKE_BUILD_TYPE=Release");
    run.step(cmd.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    run.step(run.ws.cmd("cmake").arg("--build").arg(build)).map(drop)
}

fn pkg_config(run: &Run, is_static: bool, prefix: &Path, build: &Path) -> Result<PathBuf, String> {
    let mut ask = run.ws.cmd("pkg-config").args(["--cflags", "--libs"]);
    if is_static {
        ask = ask.arg("--static");
    }
    // Nothing but this prefix: a library that the system has must not stand in.
    let flags =
        ask.arg("tensorlib").env("PKG_CONFIG_LIBDIR", prefix.join("lib/pkgconfig")).env_remove("PKG_CONFIG_PATH");
    let flags = flags.capture()?;
    make_dir(build)?;
    let program = build.join("by_pkg_config");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let cc = run.ws.cmd(compiler).arg("-std=c11").arg(run.ws.root.join("tests/ffi/install/c/consumer.c"));
    run.step(cc.args(flags.split_whitespace()).arg("-o").arg(&program))?;
    Ok(program)
}

fn prints_product(run: &Run, cmd: Cmd) -> Result<(), String> {
    run.step(cmd).and_then(|out| expect(&out.text, QUICKSTART))
}
