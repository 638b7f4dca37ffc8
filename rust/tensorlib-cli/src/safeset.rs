//! A model's safetensors files as one: a file alone; the shards `NAME-00001-of-00003.safetensors`, of which any stands for
//! all; or the shards that an index names.

use crate::entry::Entry;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::safefile::SafeFile;
use crate::shards::{beside, listed, Index};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Open files, whose tensors have names of their own.
pub struct SafeSet {
    files: Vec<SafeFile>,
    entries: Vec<Entry>,
}

impl SafeSet {
    /// Opens a file, and all others of its model.
    pub fn open(path: &Path) -> Outcome<Self> {
        let paths = match beside(path, ".safetensors")? {
            Some(shards) => shards.complete()?,
            None => vec![path.to_path_buf()],
        };
        Self::open_all(&paths)
    }

    /// Opens the shards that an index names, and checks that they are what it says.
    pub fn open_index(path: &Path) -> Outcome<Self> {
        let index = Index::read(path)?;
        let set = Self::open_all(&index.shards()?)?;
        set.check(&index)?;
        Ok(set)
    }

    fn open_all(paths: &[PathBuf]) -> Outcome<Self> {
        let files = paths.iter().map(|path| SafeFile::open(path)).collect::<Outcome<Vec<_>>>()?;
        let entries: Vec<Entry> = files.iter().enumerate().flat_map(|(i, file)| file.entries(i)).collect();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for entry in &entries {
            if let Some(other) = seen.insert(&entry.name, entry.file) {
                let (first, second) = (files[other].path().display(), files[entry.file].path().display());
                let message = format!("{second}: tensor '{}' is in {first} too", entry.name);
                return Err(Failure::new(Exit::Format, message)
                    .hint("the shards are not of one model, or one was copied over another: get them again"));
            }
        }
        Ok(SafeSet { files, entries })
    }

    fn check(&self, index: &Index) -> Outcome<()> {
        let there: HashMap<&str, &Path> =
            self.entries.iter().map(|t| (t.name.as_str(), self.files[t.file].path())).collect();
        let wrong = |what: String| {
            let message = format!("{}: weight_map: {what}", index.path().display());
            Failure::new(Exit::Format, message).hint("index and shards are not of one model, or of two versions of it")
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
        if !unnamed.is_empty() {
            let (n, path) = (unnamed.len(), index.path().display());
            warn(format_args!(
                "{path}: tensors of its shards that it does not name are taken too, {n}: {}",
                listed(unnamed)
            ));
        }
        Ok(())
    }

    /// How many files there are.
    pub fn n_shards(&self) -> usize {
        self.files.len()
    }

    /// Where they lie.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path().to_path_buf()).collect()
    }

    /// All texts of `__metadata__`, sorted. Where files have several of a key, the first counts.
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

    /// `n` bytes of a tensor from its byte `at` on.
    pub fn read(&self, entry: &Entry, at: u64, n: usize) -> Outcome<Vec<u8>> {
        self.files[entry.file].read(entry.offset + at, n)
    }
}
