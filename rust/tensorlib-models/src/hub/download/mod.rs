//! Downloads a model that the cache lacks, in the layout that the hub's own tools write.
//!
//! The server's answers are not trusted: names of files and hashes become paths only after they were checked, and a file
//! gets its place in the cache only when its size and, for large files, its SHA-256 are right.

mod blob;
mod http;
mod layout;
mod listing;

use super::cache::Cache;
use super::choice::{choose, Chosen};
use super::HubName;
use crate::{Error, Result};
use blob::{Blob, Transfer};
use http::Http;
use layout::{folder_files, Snapshot};
use listing::Listing;
use std::path::PathBuf;

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The file that is downloaded.
    pub file: &'a str,
    /// The bytes of all files that are in the cache.
    pub done: u64,
    /// The bytes of all files.
    pub total: u64,
}

/// The path of a model in the cache, as [`find`](super::find) gives it; downloads what the cache lacks. `report` is told
/// how far that is, at least every second, and returns whether to go on.
///
/// Environment: `HF_ENDPOINT` names another server; `HF_TOKEN`, or the file `$HF_TOKEN_PATH` or `$HF_HOME/token`, has
/// the user's token; `HF_HUB_OFFLINE=1` forbids downloads. What was received before an error or an interruption is kept,
/// and the next download goes on after it.
///
/// # Errors
/// As [`find`](super::find); [`ErrorKind::Io`](crate::ErrorKind) also if the server cannot be reached, refuses the
/// repository, or sends something else than it announced, and if the disk is full;
/// [`ErrorKind::Format`](crate::ErrorKind) if the server's answer is none of a hub.
pub fn fetch(name: &HubName, report: &mut dyn FnMut(&Progress) -> bool) -> Result<PathBuf> {
    let cache = Cache::of_environment()?;
    let missing = match cache.find(name) {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    if http::is_offline() {
        let hint = missing.hint().unwrap_or_default().to_string();
        return Err(missing.with_hint(format!("{hint}; HF_HUB_OFFLINE forbids downloads: unset it for one")));
    }
    let http = Http::of_environment()?;
    let listing = Listing::get(&http, name)?;
    let (files, is_folder) = match choose(name, &listing.files, "the repository")? {
        Chosen::Files(files) => (files, false),
        Chosen::Folder => (folder_files(name, &listing.files)?, true),
    };
    let snapshot = Snapshot::new(&cache, name, &listing.commit);
    let blobs = files.iter().map(|file| Blob::ask(&http, name, &listing.commit, file));
    let blobs = blobs.collect::<Result<Vec<_>>>()?;
    get_all(&http, &snapshot, &blobs, report)?;
    snapshot.refer(name)?;
    Ok(if is_folder { snapshot.folder().to_path_buf() } else { snapshot.folder().join(&files[0]) })
}

/// Downloads the blobs that are missing, and links all files to theirs.
fn get_all(http: &Http, snapshot: &Snapshot, blobs: &[Blob], report: &mut dyn FnMut(&Progress) -> bool) -> Result<()> {
    snapshot.make(blobs.iter().map(|blob| snapshot.missing(blob)).sum())?;
    let total = blobs.iter().map(|blob| blob.size).sum();
    let mut before = 0;
    for blob in blobs {
        let mut tell = |received: u64| report(&Progress { file: &blob.file, done: before + received, total });
        let transfer = Transfer { http, blob, path: snapshot.blob(blob), lock: snapshot.lock(blob) };
        transfer.run(&mut tell)?;
        snapshot.link(blob)?;
        before += blob.size;
    }
    Ok(())
}

/// An error for an answer that no hub gives.
fn odd_answer(name: &HubName, what: impl std::fmt::Display) -> Error {
    Error::format(format!("{name}: the server's answer is none of a hub: {what}"))
        .with_hint("HF_ENDPOINT names the server; a proxy may have answered in its place")
}
