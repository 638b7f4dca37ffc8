//! A model's safetensors files as one: a single file; the shards `NAME-00001-of-00003.safetensors`, any of which stands
//! for all; or the shards that an index lists.

use super::entry::Entry;
use super::safefile::SafeFile;
use super::shards::{beside, listed, Index};
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

/// Open files, in which no two tensors have the same name.
pub struct SafeSet {
    files: Vec<SafeFile>,
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

impl fmt::Debug for SafeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeSet({} files, {} tensors)", self.files.len(), self.entries.len())
    }
}

impl SafeSet {
    /// Opens a file and all others of its model.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) if one of the files is missing or cannot be read,
    /// [`ErrorKind::Format`](crate::ErrorKind).
    pub fn open(path: &Path) -> Result<Self> {
        let paths = match beside(path, ".safetensors")? {
            Some(shards) => shards.complete()?,
            None => vec![path.to_path_buf()],
        };
        Self::open_all(&paths)
    }

    /// Opens the shards that an index lists, and checks them against the index.
    ///
    /// # Errors
    /// As [`SafeSet::open`]; [`ErrorKind::Format`](crate::ErrorKind) also if index and shards contradict each other.
    pub fn open_index(path: &Path) -> Result<Self> {
        let index = Index::read(path)?;
        let mut set = Self::open_all(&index.shards()?)?;
        set.warnings = set.check(&index)?;
        Ok(set)
    }

    /// A file of another format, with these tensors.
    pub(crate) fn of_other_format(file: SafeFile, entries: Vec<Entry>) -> Self {
        SafeSet { files: vec![file], entries, warnings: Vec::new() }
    }

    fn open_all(paths: &[PathBuf]) -> Result<Self> {
        let files = paths.iter().map(|path| SafeFile::open(path)).collect::<Result<Vec<_>>>()?;
        let entries: Vec<Entry> = files.iter().enumerate().flat_map(|(i, file)| file.entries(i)).collect();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for entry in &entries {
            if let Some(other) = seen.insert(&entry.name, entry.file) {
                let (first, second) = (files[other].path().display(), files[entry.file].path().display());
                let message = format!("{second}: tensor '{}' is in {first} too", entry.name);
                return Err(Error::format(message)
                    .with_hint("the shards are not of one model, or one was copied over another: get them again"));
            }
        }
        Ok(SafeSet { files, entries, warnings: Vec::new() })
    }

    /// Fails if index and shards contradict each other, and warns about tensors that the index does not list.
    fn check(&self, index: &Index) -> Result<Vec<String>> {
        let there: HashMap<&str, &Path> =
            self.entries.iter().map(|t| (t.name.as_str(), self.files[t.file].path())).collect();
        let wrong = |what: String| {
            let message = format!("{}: weight_map: {what}", index.path().display());
            Error::format(message).with_hint("index and shards are not of one model, or of two versions of it")
        };
        for (tensor, shard) in index.tensors() {
            match there.get(tensor) {
                Some(path) if **path == shard => {}
                Some(path) => {
                    let what =
                        format!("tensor '{tensor}' is to be in {} and is in {}", shard.display(), path.display());
                    return Err(wrong(what));
                }
                None => {
                    return Err(wrong(format!(
                        "tensor '{tensor}' is to be in {}, and no shard has it",
                        shard.display()
                    )))
                }
            }
        }
        let unnamed: Vec<String> =
            self.entries.iter().filter(|t| !index.names(&t.name)).map(|t| format!("'{}'", t.name)).collect();
        if unnamed.is_empty() {
            return Ok(Vec::new());
        }
        let (n, path) = (unnamed.len(), index.path().display());
        Ok(vec![format!("{path}: tensors of its shards that it does not name are taken too, {n}: {}", listed(unnamed))])
    }

    /// Oddities of the files that are no errors.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of files.
    pub fn n_shards(&self) -> usize {
        self.files.len()
    }

    /// The files' paths.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path().to_path_buf()).collect()
    }

    /// All texts of `__metadata__`, sorted. If several files have a key, the first counts.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for (key, text) in self.files.iter().flat_map(SafeFile::metadata) {
            all.entry(key).or_insert(text);
        }
        all
    }

    /// All tensors, in the order of the files and of their data.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Reads `n` bytes of a tensor, starting at its byte `at`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind).
    pub fn read(&self, entry: &Entry, at: u64, n: usize) -> Result<Vec<u8>> {
        self.files[entry.file].read(entry.offset + at, n)
    }
}
