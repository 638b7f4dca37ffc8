//! Folders of a hub's cache: `models--OWNER--NAME`, with a folder for each revision of the model.

use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The folder with the model's files: the folder itself or, for a cache, the revision that `refs/main` names or the
/// only one.
pub fn resolved(folder: &Path) -> Result<PathBuf> {
    let snapshots = folder.join("snapshots");
    if folder.join("config.json").exists() || !snapshots.is_dir() {
        return Ok(folder.to_path_buf());
    }
    if let Ok(state) = std::fs::read_to_string(folder.join("refs").join("main")) {
        let path = snapshots.join(state.trim());
        if path.is_dir() && !state.trim().is_empty() {
            return Ok(path);
        }
    }
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
