//! Folders of a hub's cache: `models--OWNER--NAME`, with a folder for each revision of the model.

use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The folder with the model's files: the folder itself or, for a cache, the revision that `refs/main` names or the
/// only one.
pub fn resolved(folder: &Path) -> Result<PathBuf> {
    if folder.join("config.json").exists() || !folder.join("snapshots").is_dir() {
        return Ok(folder.to_path_buf());
    }
    usual(folder)
}

/// The snapshot that `refs/main` names, or the only one.
pub fn usual(folder: &Path) -> Result<PathBuf> {
    if let Some(path) = of_reference(folder, "main") {
        return Ok(path);
    }
    let snapshots = folder.join("snapshots");
    let entries = std::fs::read_dir(&snapshots).map_err(|e| Error::io(&snapshots, "read", &e))?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Error::no_file(format!("{}: has no state of the model", snapshots.display()))
            .with_hint("the download has not ended: do it again")),
        (Some(_), false) => Err(Error::no_file(format!("{}: has several states of the model", snapshots.display()))
            .with_hint("name one of its folders")),
    }
}

/// The snapshot of a branch or a tag, as far as the cache knows it.
pub fn of_reference(folder: &Path, name: &str) -> Option<PathBuf> {
    let commit = std::fs::read_to_string(folder.join("refs").join(name)).ok()?;
    of_commit(folder, commit.trim())
}

/// The snapshot of a commit.
pub fn of_commit(folder: &Path, commit: &str) -> Option<PathBuf> {
    // A path would lead elsewhere.
    let is_name = !commit.is_empty() && commit.bytes().all(|c| c.is_ascii_alphanumeric());
    Some(folder.join("snapshots").join(commit)).filter(|path| is_name && path.is_dir())
}

/// The names of all files of a snapshot, sorted, with `/` between the names of folders.
pub fn files(snapshot: &Path) -> Result<Vec<String>> {
    let (mut all, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let path = snapshot.join(&folder);
        for entry in std::fs::read_dir(&path).map_err(|e| Error::io(&path, "read", &e))?.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            // A link to a folder is none that a hub's tool makes, and may lead in a circle.
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(name),
                false => all.push(name),
            }
        }
    }
    all.sort();
    Ok(all)
}
