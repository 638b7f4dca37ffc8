//! Cargo and CMake with a shared compiler cache: suites reuse each other's objects.
//!
//! A run builds the engine a dozen times: shared, static, for tests, by cargo in two profiles, in an external project.
//! With the same flags (`TENSORLIB_WERROR`, Ninja) and the same names below each build's folder (cmake/layers.cmake)
//! the objects are the same, and are compiled once.

use crate::process::{on_path, Cmd};
use crate::tools;
use crate::workspace::Workspace;

/// The variables from which CMake, directly or called by a build script, takes a compiler launcher.
const LAUNCHERS: [&str; 3] =
    ["CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_CUDA_COMPILER_LAUNCHER"];

/// Cargo with its own target folder, so that its builds and a user's do not evict each other.
pub fn cargo(ws: &Workspace) -> Cmd {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let cargo = ws.cmd(cargo).env("CARGO_TARGET_DIR", ws.out.join("rust")).env("CARGO_TERM_COLOR", "never");
    // Debug information takes time to write and to link, and no test reads it.
    let cargo = ["DEV", "RELEASE"]
        .iter()
        .fold(cargo, |cargo, profile| cargo.env(&format!("CARGO_PROFILE_{profile}_DEBUG"), "0"));
    let cargo = if on_path("ninja").is_some() { cargo.env("CMAKE_GENERATOR", "Ninja") } else { cargo };
    shared(ws, cargo.env("TENSORLIB_WERROR", "ON"))
}

/// The command as a user runs it: without a compiler cache, and so with the precompiled headers of cmake/layers.cmake.
pub fn without_cache(cmd: Cmd) -> Cmd {
    LAUNCHERS.iter().fold(cmd, |cmd, name| cmd.env_remove(name)).env("CCACHE_DISABLE", "1")
}

/// A command that configures or runs a build of C++, with ccache for its compiler if ccache is installed.
pub fn shared(ws: &Workspace, cmd: Cmd) -> Cmd {
    let Some(ccache) = tools::compiler_cache() else { return cmd };
    let cmd = LAUNCHERS.iter().fold(cmd, |cmd, name| cmd.env(name, &ccache));
    // Messages are stored with the objects, so the language is part of the key; cargo's crate `cmake` always uses this
    // language.
    let cmd = cmd.env("LC_ALL", "C");
    // Names below the root are hashed relative to the build's folder.
    cmd.env("CCACHE_DIR", ws.out.join("ccache")).env("CCACHE_BASEDIR", &ws.root).env("CCACHE_MAXSIZE", "2G")
}
