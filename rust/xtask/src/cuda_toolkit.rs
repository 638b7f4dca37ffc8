//! `cargo xtask cuda-toolkit`: finds nvcc on this machine, or installs the pinned toolkit as Python packages in a
//! virtual environment in the user's cache folder.
//!
//! The packages are the parts of the toolkit that compile and link; no driver, no cuBLAS and no GPU is needed. They
//! lack two things that nvcc's link line needs. `mend` adds them inside the folder itself, because nvcc resolves its
//! own real path, so a folder of links elsewhere would not work.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::nvcc::{self, Nvcc};
use crate::process::Cmd;
use crate::python;

const PACKAGES: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
];

fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The command; its last line is nvcc's path.
pub fn run() -> Result<(), String> {
    let found = get()?;
    println!("CUDA {}.{}", found.version.0, found.version.1);
    println!("{}", found.path.display());
    Ok(())
}

/// nvcc, found or installed. Prints what it passes over and what it installs.
pub fn get() -> Result<Nvcc, String> {
    let mut passed = Vec::new();
    let found = nvcc::find(&environment, &nvcc::USUAL, &mut passed)?;
    for why in &passed {
        println!("xtask: passing over {why}");
    }
    if let Some(nvcc) = found {
        return Ok(nvcc);
    }
    let folder = nvcc::cache_folder(&environment)
        .ok_or("neither XDG_CACHE_HOME nor HOME is set: nowhere to install the CUDA toolkit")?;
    if let Some(nvcc) = whole(&folder) {
        return Ok(nvcc);
    }
    install(&folder).map_err(|why| {
        let by_hand =
            "install CUDA 12.8 or later and put nvcc on the PATH, or set XDG_CACHE_HOME to a folder with 300 MB";
        format!("the CUDA toolkit could not be installed in {}: {by_hand}\n{why}", folder.display())
    })
}

/// The nvcc in `folder` if its stamp is that of these packages.
fn whole(folder: &Path) -> Option<Nvcc> {
    let nvcc = nvcc::installed(folder)?;
    let stamp = std::fs::read_to_string(folder.join(nvcc::STAMP)).ok()?;
    (stamp == stamp_of(&nvcc.path)).then_some(nvcc)
}

fn stamp_of(nvcc: &Path) -> String {
    format!("{}\n{}\n", nvcc.display(), PACKAGES.join("\n"))
}

/// Starts over in a folder without a stamp, or with another one, so an interrupted installation leaves no partial
/// toolkit.
fn install(folder: &Path) -> Result<Nvcc, String> {
    println!("xtask: no CUDA 12.8 or later here: installing {} (271 MB) in {}", PACKAGES.join(" "), folder.display());
    remove_file(&folder.join(nvcc::STAMP))?;
    let python = python::virtual_environment(folder)?;
    python::pip_install(&python, &PACKAGES)?;
    let root = toolkit_root(folder)?;
    mend(&root)?;
    let nvcc = nvcc::usable(&root.join("bin/nvcc")).map_err(|why| format!("the installed nvcc {why}"))?;
    std::fs::write(folder.join(nvcc::STAMP), stamp_of(&nvcc.path)).map_err(|e| e.to_string())?;
    Ok(nvcc)
}

fn remove_file(path: &Path) -> Result<(), String> {
    match std::fs::remove_file(path) {
        Err(e) if path.exists() => Err(format!("{}: {e}", path.display())),
        _ => Ok(()),
    }
}

/// `lib/python3.X/site-packages/nvidia/cu13` below the virtual environment.
fn toolkit_root(venv: &Path) -> Result<PathBuf, String> {
    for python in entries(&venv.join("lib"))? {
        let root = python.join("site-packages/nvidia/cu13");
        if root.join("bin/nvcc").is_file() {
            return Ok(root);
        }
    }
    Err(format!("the packages left no nvidia/cu13/bin/nvcc in {}", venv.display()))
}

/// nvcc links with `-Llib64`, and the linker needs names without a version. Existing links stay.
fn mend(root: &Path) -> Result<(), String> {
    link("lib", &root.join("lib64"))?;
    for library in entries(&root.join("lib"))? {
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((stem, version)) = name.split_once(".so.") {
            if version.starts_with(|c: char| c.is_ascii_digit()) {
                link(&name, &library.with_file_name(format!("{stem}.so")))?;
            }
        }
    }
    Ok(())
}

fn link(target: &str, at: &Path) -> Result<(), String> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    Cmd::new("ln").args(["-s", target]).arg(at).capture().map(drop)
}

/// The contents of a folder, sorted.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let listed: Result<Vec<_>, _> = std::fs::read_dir(dir).map_err(fail)?.map(|e| e.map(|e| e.path())).collect();
    let mut paths = listed.map_err(fail)?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tensorlib-nvcc-{name}-{}", std::process::id()));
            crate::workspace::remove_dir(&path).unwrap();
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// A script that answers like nvcc of this version. A shell writes it, because a file that this process has
        /// open for writing could not be run while another test's thread forks.
        fn nvcc(&self, dir: &str, version: &str) -> PathBuf {
            let path = self.0.join(dir).join("nvcc");
            let script = format!("#!/bin/sh\necho Cuda compilation tools, release {version}, V{version}.1\n");
            let write = "mkdir -p \"$(dirname \"$1\")\" && printf '%s' \"$2\" > \"$1\" && chmod +x \"$1\"";
            Cmd::new("sh").args(["-c", write, "sh"]).arg(&path).arg(script).capture().unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn find(variables: &[(&str, &Path)]) -> (Result<Option<PathBuf>, String>, Vec<String>) {
        let env = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_os_str().to_owned());
        let mut passed = Vec::new();
        let found = nvcc::find(&env, &[], &mut passed);
        (found.map(|nvcc| nvcc.map(|n| n.path)), passed)
    }

    #[test]
    fn versions() {
        let of = |text| nvcc::version_of(text);
        assert_eq!(of("Cuda compilation tools, release 13.0, V13.0.88\nBuild x"), Some((13, 0)));
        assert_eq!(of("Cuda compilation tools, release 12.10, V12.10.1"), Some((12, 10)));
        assert_eq!(of("gcc (Debian) 12.2.0"), None);
        assert_eq!(of("release thirteen"), None);
    }

    #[test]
    fn the_first_usable_one_is_taken() {
        let dir = Folder::new("first");
        let (old, new, other) = (dir.nvcc("old", "11.8"), dir.nvcc("home/bin", "12.8"), dir.nvcc("path", "13.1"));
        let (home, path) = (dir.0.join("home"), dir.0.join("path"));
        assert_eq!(find(&[]), (Ok(None), vec![]));
        assert_eq!(find(&[("PATH", &path)]).0, Ok(Some(other.clone())));
        assert_eq!(find(&[("PATH", &path), ("CUDA_HOME", &home)]).0, Ok(Some(new.clone())));
        assert_eq!(find(&[("PATH", &path), ("CUDA_PATH", &home)]).0, Ok(Some(new.clone())));
        assert_eq!(find(&[("PATH", &path), ("CUDACXX", &new)]).0, Ok(Some(new)));
        // An nvcc that is too old is passed over with a reason, and the next one is used.
        let both = std::env::join_paths([dir.0.join("old"), path]).unwrap();
        let (found, passed) = find(&[("PATH", Path::new(&both))]);
        assert_eq!(found, Ok(Some(other)));
        let reason = format!("{}: is of CUDA 11.8, and 12.8 or later is needed", old.display());
        assert_eq!(passed, [reason]);
    }

    #[test]
    fn an_order_that_cannot_be_followed_is_an_error() {
        let dir = Folder::new("order");
        let old = dir.nvcc("old", "12.7");
        dir.nvcc("path", "13.0");
        let path = dir.0.join("path");
        assert!(find(&[("PATH", &path), ("CUDACXX", &old)]).0.unwrap_err().contains("CUDA 12.7, and 12.8"));
        let gone = find(&[("PATH", &path), ("CUDACXX", Path::new("nvcc-13"))]).0.unwrap_err();
        assert!(gone.contains("CUDACXX is nvcc-13, which is not there"), "{gone}");
        // A name is looked up in the PATH, and flags after it are left to CMake.
        assert_eq!(find(&[("PATH", &path), ("CUDACXX", Path::new("nvcc -lineinfo"))]).0, Ok(Some(path.join("nvcc"))));
        let silent = Path::new("/bin/true");
        assert!(find(&[("CUDACXX", silent)]).0.unwrap_err().contains("no version"));
    }

    #[test]
    fn an_installation_counts_when_its_stamp_is_written() {
        let dir = Folder::new("stamp");
        let nvcc = dir.nvcc("lib/python3.9/site-packages/nvidia/cu13/bin", "13.0");
        assert_eq!(whole(&dir.0), None, "interrupted before the end");
        let stamp = dir.0.join(nvcc::STAMP);
        std::fs::write(&stamp, format!("{}\nnvidia-cuda-nvcc==12.0\n", nvcc.display())).unwrap();
        assert_eq!(whole(&dir.0), None, "of other packages");
        std::fs::write(&stamp, stamp_of(&nvcc)).unwrap();
        assert_eq!(whole(&dir.0).unwrap().path, nvcc);
        std::fs::remove_file(&nvcc).unwrap();
        assert_eq!(whole(&dir.0), None, "half deleted");
    }

    #[test]
    fn the_mends_are_made_once_and_keep_what_is_there() {
        let dir = Folder::new("mend");
        let lib = dir.0.join("lib");
        std::fs::create_dir(&lib).unwrap();
        for file in ["libcudart.so.13", "libnvvm.so.4", "libnvvm.so", "libcudart_static.a"] {
            std::fs::write(lib.join(file), file).unwrap();
        }
        mend(&dir.0).unwrap();
        mend(&dir.0).unwrap();
        assert_eq!(std::fs::read_to_string(dir.0.join("lib64/libcudart.so")).unwrap(), "libcudart.so.13");
        assert_eq!(std::fs::read_to_string(lib.join("libnvvm.so")).unwrap(), "libnvvm.so");
        assert_eq!(entries(&lib).unwrap().len(), 5);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = Folder::new("file");
        std::fs::write(dir.0.join("cache"), "").unwrap();
        let message = python::virtual_environment(&dir.0.join("cache/tensorlib")).unwrap_err();
        assert!(message.contains("cache/tensorlib"), "{message}");
    }
}
