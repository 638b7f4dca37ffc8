//! The cache of a hub's models on this machine.

use super::choice::{choose, Chosen};
use super::{snapshot, HubName};
use crate::files::{listed, parsed, tensor_files};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// What to try for a model that the cache lacks.
#[cfg(feature = "hub")]
const GET: &str = "HF_HUB_CACHE and HF_HOME name another cache";
#[cfg(not(feature = "hub"))]
const GET: &str = "`hf download OWNER/NAME [FILE]` of the hub's own tool gets it, and so does this program if it is \
    built with the feature `hub`; HF_HUB_CACHE and HF_HOME name another cache";

/// A folder with a folder for each repository.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The cache that the environment names.
    pub fn of_environment() -> Result<Self> {
        let folder = |key: &str| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || folder("HOME").or_else(|| folder("USERPROFILE"));
        let root = folder("HF_HUB_CACHE")
            .or_else(|| folder("HF_HOME").map(|path| path.join("hub")))
            .or_else(|| folder("XDG_CACHE_HOME").map(|path| path.join("huggingface/hub")))
            .or_else(|| home().map(|path| path.join(".cache/huggingface/hub")));
        let root = root.ok_or_else(|| {
            Error::no_file("the folder of the hub's cache is not known: HOME is not set")
                .with_hint("HF_HUB_CACHE names the folder")
        })?;
        Ok(Cache { root })
    }

    /// The folder of a repository.
    pub fn repository(&self, name: &HubName) -> PathBuf {
        self.root.join(name.folder())
    }

    /// The folder of the files that are locked while a repository's are written.
    #[cfg(feature = "hub")]
    pub fn locks(&self, name: &HubName) -> PathBuf {
        self.root.join(".locks").join(name.folder())
    }

    /// The path of a model in the cache.
    pub fn find(&self, name: &HubName) -> Result<PathBuf> {
        let snapshot = self.snapshot(name)?;
        let files = snapshot::files(&snapshot)?;
        match choose(name, &files, &format!("the cache ({})", snapshot.display())).map_err(|e| or_get(e, name))? {
            Chosen::Files(files) => {
                check_shards(name, &snapshot, &files)?;
                Ok(snapshot.join(&files[0]))
            }
            Chosen::Folder => {
                check_folder(name, &snapshot, &files)?;
                Ok(snapshot)
            }
        }
    }

    fn snapshot(&self, name: &HubName) -> Result<PathBuf> {
        let folder = self.repository(name);
        if !folder.is_dir() {
            let message = format!("{name}: the cache {} has no such repository", self.root.display());
            return Err(Error::no_file(message).with_hint(GET));
        }
        let Some(revision) = name.revision() else {
            return snapshot::usual(&folder).map_err(|e| incomplete(name, &e.to_string()));
        };
        let found = snapshot::of_reference(&folder, revision).or_else(|| snapshot::of_commit(&folder, revision));
        found.ok_or_else(|| {
            let message = format!("{name}: the cache {} has no revision '{revision}'", folder.display());
            Error::no_file(message).with_hint(GET)
        })
    }
}

/// Adds how to get what the cache lacks.
fn or_get(error: Error, name: &HubName) -> Error {
    let hint = error.hint().unwrap_or_default().to_string();
    match name.file() {
        None => error,
        Some(_) => error.with_hint(format!("{hint}; {GET}")),
    }
}

fn incomplete(name: &HubName, what: &str) -> Error {
    Error::no_file(format!("{name}: the cache has only a part of it: {what}"))
        .with_hint(format!("the download has not ended, or not all files were asked for; {GET}"))
}

/// Refuses a split file without all of its shards, and links that lead to nothing.
fn check_shards(name: &HubName, snapshot: &Path, files: &[String]) -> Result<()> {
    check_links(name, snapshot, files.iter())?;
    let count = parsed(&files[0], ".gguf").and_then(|(_, _, count)| count.parse::<usize>().ok());
    match count.filter(|count| *count != files.len()) {
        Some(count) => Err(incomplete(name, &format!("{} of {count} shards of {}", files.len(), files[0]))),
        None => Ok(()),
    }
}

fn check_links<'a>(name: &HubName, snapshot: &Path, files: impl Iterator<Item = &'a String>) -> Result<()> {
    let dangling: Vec<String> = files.filter(|file| !snapshot.join(file).exists()).cloned().collect();
    if dangling.is_empty() {
        return Ok(());
    }
    Err(incomplete(name, &format!("links of {} lead to nothing: {}", snapshot.display(), listed(dangling))))
}

/// Refuses a folder in which the settings or a file of tensors is missing.
fn check_folder(name: &HubName, snapshot: &Path, files: &[String]) -> Result<()> {
    check_links(name, snapshot, files.iter())?;
    if !snapshot.join("config.json").exists() {
        return Err(incomplete(name, &format!("{} has no config.json", snapshot.display())));
    }
    tensor_files(snapshot).map(drop).map_err(|e| incomplete(name, &e.to_string()))
}
