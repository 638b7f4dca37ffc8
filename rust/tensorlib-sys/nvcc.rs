//! Finds nvcc. The build script and `cargo xtask` both include this file, so that they use the same nvcc. Installs
//! nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first CUDA version that supports sm_120.
pub const OLDEST: (u32, u32) = (12, 8);

/// The last file that an installation by `cargo xtask cuda-toolkit` writes: without it the folder is incomplete. Its
/// first line is nvcc's path.
pub const STAMP: &str = "tensorlib-toolkit";

/// An nvcc whose version is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    pub path: PathBuf,
    pub version: (u32, u32),
}

/// Reads environment variables; tests pass their own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The first usable nvcc of `CUDACXX`, `CUDA_HOME`, `CUDA_PATH`, `PATH` and the `usual` folders, in this order.
/// `passed` gets the reasons against the ones passed over. `CUDACXX` is binding: it is an error if that nvcc is not
/// usable.
pub fn find(env: Environment, usual: &[&str], passed: &mut Vec<String>) -> Result<Option<Nvcc>, String> {
    let on_path: Vec<PathBuf> = env("PATH").map(|list| std::env::split_paths(&list).collect()).unwrap_or_default();
    if let Some(ordered) = env("CUDACXX").filter(|v| !v.is_empty()) {
        // Flags may follow, as CMake allows.
        let text = ordered.to_string_lossy().into_owned();
        let program = PathBuf::from(text.split_whitespace().next().unwrap_or_default());
        let mut places = vec![program.clone()];
        if program.components().count() == 1 {
            places = on_path.iter().map(|dir| dir.join(&program)).collect();
        }
        let path = places.iter().find(|p| p.is_file()).ok_or(format!("CUDACXX is {text}, which is not there"))?;
        return usable(path).map(Some).map_err(|why| format!("CUDACXX is {text}: {why}"));
    }
    let mut places = Vec::new();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        places.extend(env(variable).filter(|v| !v.is_empty()).map(|root| Path::new(&root).join("bin/nvcc")));
    }
    places.extend(on_path.iter().filter(|dir| !dir.as_os_str().is_empty()).map(|dir| dir.join("nvcc")));
    places.extend(usual.iter().map(|dir| Path::new(dir).join("nvcc")));
    for path in places.iter().filter(|path| path.is_file()) {
        match usable(path) {
            Ok(nvcc) => return Ok(Some(nvcc)),
            Err(why) => passed.push(format!("{}: {why}", path.display())),
        }
    }
    Ok(None)
}

/// The usual folders of system-wide toolkits.
pub const USUAL: [&str; 2] = ["/usr/local/cuda/bin", "/opt/cuda/bin"];

/// The folder that `cargo xtask cuda-toolkit` installs to; None if the environment names no cache folder.
pub fn cache_folder(env: Environment) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("tensorlib/cuda-13.0"))
}

/// The nvcc of a complete installation in `folder`.
pub fn installed(folder: &Path) -> Option<Nvcc> {
    let stamp = std::fs::read_to_string(folder.join(STAMP)).ok()?;
    usable(Path::new(stamp.lines().next()?)).ok()
}

/// Checks an nvcc by asking it for its version.
pub fn usable(path: &Path) -> Result<Nvcc, String> {
    let out = Command::new(path).arg("--version").output().map_err(|e| format!("does not run: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout);
    let version = version_of(&text).filter(|_| out.status.success()).ok_or("tells no version that is CUDA's")?;
    if version < OLDEST {
        let (old, new) = (format!("{}.{}", version.0, version.1), format!("{}.{}", OLDEST.0, OLDEST.1));
        return Err(format!("is of CUDA {old}, and {new} or later is needed"));
    }
    Ok(Nvcc { path: path.to_path_buf(), version })
}

/// Parses a version, as in `Cuda compilation tools, release 13.0, V13.0.88`.
pub fn version_of(text: &str) -> Option<(u32, u32)> {
    let rest = text.split("release ").nth(1)?;
    let (major, minor) = rest.split([',', ' ', '\n']).next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
