//! The destination of a model that a command writes. Problems that would appear at the end are reported at the
//! beginning.
//!
//! The engine gives a file its name when it is complete. A symbolic link is followed first; otherwise the file would
//! replace the link and leave the link's target as it was. For standard output the file is made in a temporary folder,
//! so that nothing of a model that cannot be finished is sent.

use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::signals;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use tensorlib_models::files::parsed;

/// The number of bytes copied to standard output at once.
const COPIED: usize = 1 << 20;

/// The destination that a command was given.
pub struct Target<'a> {
    /// OUT.
    pub path: &'a Path,
    /// Whether it is split into shards.
    pub split: bool,
    /// Whether existing files may be replaced.
    pub force: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// A destination that can be written to.
pub struct Output {
    path: PathBuf,
    /// The folder of the file for standard output.
    folder: Option<Folder>,
}

impl Output {
    /// Checks OUT; `inputs` are the files that are read meanwhile.
    pub fn check(target: &Target, inputs: &[PathBuf]) -> Outcome<Self> {
        if target.path == Path::new("-") {
            return Self::standard(target);
        }
        // Shards have other names than a link at OUT, so the link does not matter.
        let path = if target.split { target.path.to_path_buf() } else { followed(target.path)? };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let what = format!("there is no folder {}", folder.display());
            return Err(io_error(&path, &what).hint("make the folder, or look for a typing mistake"));
        }
        if path.is_dir() {
            return Err(io_error(&path, "is a folder").hint("name the file to write in it"));
        }
        let mut there = vec![path.clone()];
        if target.split {
            there.extend(parts_of(&path, folder));
        }
        for other in there.iter().filter(|other| other.exists() || other.is_symlink()) {
            check_taken(target, other, inputs)?;
        }
        Ok(Output { path, folder: None })
    }

    fn standard(target: &Target) -> Outcome<Self> {
        let usage = |what: &str| Failure::new(Exit::Usage, format!("-: {what}"));
        if target.split {
            return Err(
                usage("standard output is one file: it has no parts").hint("leave --split-size out, or name a file")
            );
        }
        if !target.dry_run && io::stdout().is_terminal() {
            return Err(usage("standard output is a terminal: a model is no text")
                .hint("send it to a file or a program: - > FILE"));
        }
        if target.dry_run {
            return Ok(Output { path: target.path.to_path_buf(), folder: None });
        }
        let folder = Folder::new()?;
        Ok(Output { path: folder.0.join("model.gguf"), folder: Some(folder) })
    }

    /// The file to write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the model goes to standard output, so that messages have to go to standard error.
    pub fn is_standard(&self) -> bool {
        self.folder.is_some()
    }

    /// Delivers a finished file and prints this message, to standard error if the model goes to standard output.
    pub fn deliver_and_say(self, words: &str, out: &mut dyn Write) -> Outcome<()> {
        if self.is_standard() {
            self.deliver(out)?;
            let _ = io::stderr().write_all(words.as_bytes()); // if that fails there is nobody to tell
            return Ok(());
        }
        Ok(out.write_all(words.as_bytes())?)
    }

    /// Delivers a finished file to its destination.
    pub fn deliver(self, out: &mut dyn Write) -> Outcome<()> {
        if !self.is_standard() {
            return Ok(());
        }
        let read = |e| Failure::io(&self.path, "read", &e);
        let mut file = File::open(&self.path).map_err(read)?;
        let mut piece = vec![0; COPIED];
        loop {
            let n = file.read(&mut piece).map_err(read)?;
            signals::check("standard output has a part of the model")?;
            if n == 0 {
                return Ok(out.flush()?);
            }
            out.write_all(&piece[..n])?;
        }
    }
}

/// The final target of a symbolic link; any other path unchanged.
fn followed(path: &Path) -> Outcome<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_path_buf());
    }
    path.canonicalize().map_err(|e| {
        let to = std::fs::read_link(path).unwrap_or_default();
        io_error(path, &format!("is a symbolic link to {}, which cannot be followed: {e}", to.display()))
            .hint("name the file that it should lead to; - is standard output")
    })
}

/// Checks the existing files that would be replaced.
fn check_taken(target: &Target, path: &Path, inputs: &[PathBuf]) -> Outcome<()> {
    let real = path.canonicalize().ok();
    if real.is_some() && inputs.iter().any(|input| input.canonicalize().ok() == real) {
        let message = format!("{}: is the input as well", path.display());
        return Err(Failure::new(Exit::Usage, message).hint("give OUT another name: IN is read while OUT is written"));
    }
    if path.exists() && !path.is_file() {
        return Err(io_error(path, "is a device, pipe or socket: a regular file is valid").hint("- is standard output"));
    }
    if path.is_symlink() {
        let what = "is a symbolic link: a part would be written in its place";
        return Err(io_error(path, what).hint("remove the link, or give OUT another name"));
    }
    if !target.force && !target.dry_run {
        return Err(io_error(path, "exists already").hint("give OUT another name, or say --force to replace it"));
    }
    Ok(())
}

/// The existing files with the names of OUT's shards, `NAME-00001-of-00003.gguf`, of any count.
fn parts_of(output: &Path, folder: &Path) -> Vec<PathBuf> {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".gguf").unwrap_or(&name);
    let is_part = |name: &str| {
        parsed(name, ".gguf").is_some_and(|(s, number, count)| (s, number.len(), count.len()) == (stem, 5, 5))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = entries.filter(|e| is_part(&e.file_name().to_string_lossy()));
    let mut parts: Vec<PathBuf> = parts.map(|e| e.path()).collect();
    parts.sort();
    parts
}

fn io_error(path: &Path, what: &str) -> Failure {
    Failure::new(Exit::Io, format!("{}: {what}", path.display()))
}

/// A temporary folder of this process, removed with its contents.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Self> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("tensorlib-{}-{number}", std::process::id()));
            match builder.create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Left by a killed process with our number.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(e) => return Err(Failure::io(&path, "made", &e)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // it is in the folder for temporary files anyway
    }
}
