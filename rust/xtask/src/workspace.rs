//! The source tree, and the one folder for everything that is built from it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::process::Cmd;

/// The source tree and the folder `target/xtask` in it.
pub struct Workspace {
    /// The repository's root.
    pub root: PathBuf,
    /// `target/xtask`: builds, logs, tools' caches. Nothing is built anywhere else in the tree.
    pub out: PathBuf,
}

impl Workspace {
    /// The tree from which this program was built.
    pub fn find() -> Result<Self, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(2).ok_or("xtask must lie in rust/xtask")?.to_path_buf();
        if !root.join("capi/prologue.h").exists() {
            return Err(format!("{} is not tensorlib's source tree any more: build xtask again", root.display()));
        }
        let out = root.join("target/xtask");
        std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        Ok(Self { root, out })
    }

    /// A command run in the root. Removes cargo's variables about xtask, which would mislead a nested cargo.
    pub fn cmd(&self, program: impl AsRef<OsStr>) -> Cmd {
        let mut cmd = Cmd::new(program).dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().into_owned();
            if text.starts_with("CARGO_PKG") || text.starts_with("CARGO_MANIFEST") || text.starts_with("TENSORLIB_") {
                cmd = cmd.env_remove(&text);
            }
        }
        cmd
    }

    /// Files that git tracks or would track, relative to the root, sorted.
    pub fn files(&self) -> Result<Vec<String>, String> {
        let listed =
            self.cmd("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).capture()?;
        let mut files: Vec<String> = listed.split('\0').filter(|f| !f.is_empty()).map(String::from).collect();
        files.retain(|f| self.root.join(f).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// [`Workspace::files`] that end in one of `endings` and lie below one of `folders` (empty = anywhere).
    pub fn files_of(&self, endings: &[&str], folders: &[&str]) -> Result<Vec<String>, String> {
        let below = |f: &str| folders.is_empty() || folders.iter().any(|d| f.starts_with(&format!("{d}/")));
        let mut files = self.files()?;
        files.retain(|f| endings.iter().any(|e| f.ends_with(e)) && below(f));
        Ok(files)
    }

    /// A tracked text file's contents; None if it is not UTF-8.
    pub fn read(&self, file: &str) -> Result<Option<String>, String> {
        let bytes = std::fs::read(self.root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        Ok(String::from_utf8(bytes).ok())
    }
}

/// The number of processors for builds and tests.
pub fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// The number of jobs for a build.
pub fn jobs() -> String {
    parallelism().to_string()
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<(), String> {
    gone(path, std::fs::remove_file(path))
}

/// Moves the contents of a file to the end of another one.
pub fn append_file(from: &Path, to: &Path) -> Result<(), String> {
    let open = || std::fs::OpenOptions::new().create(true).append(true).open(to);
    let copied = std::fs::File::open(from).and_then(|mut file| std::io::copy(&mut file, &mut open()?));
    copied.map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))?;
    remove_file(from)
}

/// Removes a folder with its contents, if it exists.
pub fn remove_dir(path: &Path) -> Result<(), String> {
    gone(path, std::fs::remove_dir_all(path))
}

fn gone(path: &Path, removed: std::io::Result<()>) -> Result<(), String> {
    match removed {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", path.display())),
        _ => Ok(()),
    }
}

/// Makes a folder and those above it.
pub fn make_dir(path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The number of the first line in which two texts differ, from 1 on. If one text begins with the other, the first
/// additional line.
pub fn first_difference(a: &str, b: &str) -> Option<usize> {
    (a != b).then(|| a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count() + 1)
}
