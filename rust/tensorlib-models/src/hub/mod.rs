//! Models by their names on a hub, `OWNER/NAME[@REVISION][:FILE]`, in the cache that the hub's own tools write.
//!
//! A cache has a folder for each repository: `models--OWNER--NAME/blobs` has the files under their hashes, `refs` the
//! commit of each branch, and `snapshots/COMMIT` links with the files' names that lead to blobs.

mod cache;
mod choice;
#[cfg(feature = "hub")]
mod download;
mod name;
mod snapshot;

#[cfg(feature = "hub")]
pub use download::{fetch, Progress};
pub use name::HubName;
pub(crate) use snapshot::resolved;

use crate::Result;
use cache::Cache;
use std::path::{Path, PathBuf};

/// The path of a model in the cache: a GGUF file, or the folder of a snapshot. Uses no network.
///
/// The cache is the folder `$HF_HUB_CACHE`, `$HF_HOME/hub`, `$XDG_CACHE_HOME/huggingface/hub` or
/// `~/.cache/huggingface/hub`: the first whose variable is set. [`HubName`] says which of several files is taken.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind) if the cache lacks the repository, the revision, the file or a part of it;
/// [`ErrorKind::Invalid`](crate::ErrorKind) if the name fits several files.
pub fn find(name: &HubName) -> Result<PathBuf> {
    Cache::of_environment()?.find(name)
}

/// The repository `OWNER/NAME` whose snapshot is at this path, if it is one of a cache.
pub fn repository_of(path: &Path) -> Option<String> {
    let snapshots = path.parent().filter(|folder| folder.ends_with("snapshots"))?;
    let folder = snapshots.parent()?.file_name()?.to_str()?;
    Some(folder.strip_prefix("models--")?.replacen("--", "/", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_tell_their_repository() {
        let of = |path: &str| repository_of(Path::new(path));
        assert_eq!(of("hub/models--o--a-b/snapshots/0123"), Some("o/a-b".to_string()));
        for none in ["hub/models--o--n/snapshots/0123/m.gguf", "hub/datasets--o--n/snapshots/0123", "0123", "/", ""] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
