//! Where files lie in the cache.

use super::blob::Blob;
use crate::files::parsed;
use crate::hub::cache::Cache;
use crate::hub::HubName;
use crate::tokenizer::WORLD_FILE;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The files of a model in safetensors: settings, tokenizer and tensors, also those of its modules. Other folders and
/// other formats of the same weights stay out.
pub fn folder_files(name: &HubName, files: &[String]) -> Result<Vec<String>> {
    let has = |file: &str| files.iter().any(|other| other == file);
    let whole = has("model.safetensors");
    let wanted = |file: &&String| {
        let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
        // 1_Pooling, 2_Dense: modules of sentence-transformers.
        let is_module =
            folder.split_once('_').is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()));
        let is_tensors = match base.strip_suffix(".safetensors") {
            Some("model") => true,
            Some(stem) if stem.ends_with("_linear") => true,
            Some(_) => !whole && parsed(base, ".safetensors").is_some_and(|(stem, ..)| stem == "model"),
            None => false,
        };
        let is_settings = base.ends_with(".json") || base.ends_with(".jinja") || base == WORLD_FILE;
        (folder.is_empty() || is_module) && (is_tensors || is_settings)
    };
    let all: Vec<String> = files.iter().filter(wanted).cloned().collect();
    let has_tensors = all.iter().any(|file| file.ends_with(".safetensors"));
    if !has("config.json") || !has_tensors {
        let message = format!("{name}: the repository has no GGUF file, and no config.json with model.safetensors");
        return Err(Error::no_file(message).with_hint("a repository with a model in one of these formats is valid"));
    }
    Ok(all)
}

/// The files of a commit in the cache.
pub struct Snapshot {
    repository: PathBuf,
    folder: PathBuf,
    commit: String,
    locks: PathBuf,
}

impl Snapshot {
    /// The snapshot of a commit, which may not exist.
    pub fn new(cache: &Cache, name: &HubName, commit: &str) -> Self {
        let repository = cache.repository(name);
        let folder = repository.join("snapshots").join(commit);
        Snapshot { repository, folder, commit: commit.into(), locks: cache.locks(name) }
    }

    /// The folder with the names of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with a blob's contents.
    pub fn blob(&self, blob: &Blob) -> PathBuf {
        self.repository.join("blobs").join(&blob.etag)
    }

    /// The file that is locked while a blob is written. Other tools lock the same one.
    pub fn lock(&self, blob: &Blob) -> PathBuf {
        self.locks.join(format!("{}.lock", blob.etag))
    }

    /// The bytes of a blob that the cache lacks.
    pub fn missing(&self, blob: &Blob) -> u64 {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |info| info.len());
        let path = self.blob(blob);
        if size(path.clone()) == blob.size {
            return 0;
        }
        blob.size.saturating_sub(size(super::blob::incomplete(&path)))
    }

    /// Makes the folders, and refuses a download for which the disk has no room.
    pub fn make(&self, missing: u64) -> Result<()> {
        for folder in [&self.repository.join("blobs"), &self.folder, &self.locks] {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, "made", &e))?;
        }
        // Where the system does not say how much is free, writing fails in time.
        match fs4::available_space(&self.repository) {
            Ok(free) if free < missing => {
                let message = format!(
                    "{}: the disk is full: {missing} bytes are needed, and {free} are free",
                    self.repository.display()
                );
                Err(Error::no_file(message).with_hint("free some, or name a cache on another disk: HF_HUB_CACHE"))
            }
            _ => Ok(()),
        }
    }

    /// Gives a file its name in the snapshot.
    pub fn link(&self, blob: &Blob) -> Result<()> {
        let path = self.folder.join(&blob.file);
        let made = |e| Error::io(&path, "made", &e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(made)?;
        }
        if path.is_symlink() || path.exists() {
            std::fs::remove_file(&path).map_err(made)?;
        }
        // The cache may be moved as a whole, so the link is relative: up from the snapshot and its folders.
        #[cfg(unix)]
        let linked = {
            let up = "../".repeat(2 + blob.file.matches('/').count());
            std::os::unix::fs::symlink(format!("{up}blobs/{}", blob.etag), &path)
        };
        // Links take a privilege there.
        #[cfg(not(unix))]
        let linked = std::fs::copy(self.blob(blob), &path).map(drop);
        linked.map_err(made)
    }

    /// Stores which commit the branch or tag is. Without that, the snapshot is one that was not downloaded to its end.
    pub fn refer(&self, name: &HubName) -> Result<()> {
        let revision = name.revision().unwrap_or("main");
        if revision == self.commit {
            return Ok(());
        }
        let path = self.repository.join("refs").join(revision);
        let folder = path.parent().unwrap_or(&self.repository);
        let stored = std::fs::create_dir_all(folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut file, self.commit.as_bytes())?;
            file.persist(&path).map(drop).map_err(|e| e.error)
        });
        stored.map_err(|e| Error::io(&path, "written", &e))
    }
}
