//! What files of keys and values have in common: safetensors whose metadata say what the rows belong to.
//!
//! | metadata | contents |
//! |---|---|
//! | `format` | the kind of file, and its version |
//! | `architecture`, `model` | the model's architecture and fingerprint |
//! | `computed` | [`Decoder`]'s description of what computed the rows |
//! | `cache` | the type of the rows |
//! | `sha256` | of the contents, in the order that the kind of file says |

use super::Decoder;
use crate::files::{Entry as StoredEntry, SafeFile};
use crate::{Error, Result};
use safetensors::tensor::{serialize_to_file, Dtype, View};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use tensorlib::DType;

/// A kind of file.
pub struct Kind {
    /// The metadata `format` without the version.
    pub format: &'static str,
    pub version: u32,
    /// What the file is, with an article.
    pub what: &'static str,
    /// What writes such files.
    pub writer: &'static str,
    /// What to do if a file cannot be used.
    pub instead: &'static str,
}

impl Kind {
    fn format(&self) -> String {
        format!("{} {}", self.format, self.version)
    }

    /// What the metadata say of these rows, without the digest.
    fn metadata(&self, decoder: &Decoder, cache: DType) -> [(&'static str, String); 5] {
        let opened = &decoder.0;
        [
            ("format", self.format()),
            ("architecture", opened.architecture.clone()),
            ("model", opened.fingerprint.clone()),
            ("computed", opened.computed.clone()),
            ("cache", cache.to_string()),
        ]
    }

    /// Writes a file, which gets its name when it is complete.
    pub fn write(
        &self,
        path: &Path,
        (decoder, cache): (&Decoder, DType),
        entries: Vec<(String, Entry)>,
        sha256: String,
    ) -> Result<()> {
        decoder.check_whole("saving")?;
        let metadata = self.metadata(decoder, cache).map(|(name, value)| (name.to_string(), value));
        let mut metadata: HashMap<String, String> = metadata.into_iter().collect();
        metadata.insert("sha256".into(), sha256);
        let failed = |e: std::io::Error| Error::io(path, "written", &e);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let unfinished = tempfile::Builder::new().prefix(".tensorlib-").tempfile_in(folder).map_err(failed)?;
        let failure = RefCell::new(None);
        let entries = entries.into_iter().map(|(name, entry)| (name, Reported { entry, failure: &failure }));
        let written = serialize_to_file(entries.collect::<Vec<_>>(), Some(metadata), unfinished.path());
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        written.map_err(|e| Error::io(path, "written", &std::io::Error::other(e.to_string())))?;
        File::open(unfinished.path()).and_then(|file| file.sync_all()).map_err(failed)?;
        unfinished.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Compares the metadata with those that the file would have if it were written now, and returns the digest.
    pub fn check(&self, file: &SafeFile, decoder: &Decoder, cache: DType) -> Result<String> {
        let mut all = file.metadata();
        let (format, Kind { what, writer, instead, .. }) = (self.format(), self);
        match all.get("format") {
            Some(have) if *have == format => {}
            Some(other) if other.starts_with(&format!("{} ", self.format)) => {
                let message = format!("is a '{other}', and this version of tensorlib reads '{format}'");
                return Err(Error::invalid(message).with_hint(*instead));
            }
            _ => {
                let message = format!("is not {what}: its metadata have no format '{format}'");
                return Err(Error::format(message).with_hint(format!("name a file that {writer} wrote")));
            }
        }
        for (name, want) in self.metadata(decoder, cache) {
            let have = all.remove(name).ok_or_else(|| Error::format(format!("its metadata have no '{name}'")))?;
            if have != want {
                return Err(self.differs(name, &have, &want));
            }
        }
        let sha256 = all.remove("sha256").ok_or_else(|| Error::format("its metadata have no 'sha256'"))?;
        match all.keys().next() {
            Some(name) => Err(Error::format(format!("its metadata have '{name}', which is unknown: {what} has none"))),
            None => Ok(sha256),
        }
    }

    /// The error for a file that is not of this model, or was computed otherwise.
    fn differs(&self, name: &str, have: &str, want: &str) -> Error {
        let Kind { what, instead, .. } = self;
        let (message, hint) = match name {
            "model" => (
                format!("is {what} of another model: tensors or settings differ"),
                "open the model that it was saved with, with the same adapters and types (--dtype)",
            ),
            "computed" => {
                (format!("was computed by {have}, and this one by {want}: results would not be exact"), *instead)
            }
            "cache" => (
                format!("has a cache of {have}, and this one is of {want}"),
                "choose the type that it was saved with (--cache)",
            ),
            _ => (
                format!("is {what} of the {name} {have}, and this model is {want}"),
                "open the model that it was saved with",
            ),
        };
        Error::invalid(message).with_hint(hint)
    }
}

/// The tensors of a file, which are taken one by one.
pub struct Entries(HashMap<String, StoredEntry>);

impl Entries {
    pub fn new(file: &SafeFile) -> Self {
        Entries(file.entries(0).into_iter().map(|entry| (entry.name.clone(), entry)).collect())
    }

    /// The tensor of this name, type and shape, whose last dimension is first; any number of elements where the shape
    /// has -1.
    pub fn take(&mut self, name: &str, dtype: &str, shape: &[i64]) -> Result<StoredEntry> {
        let entry = self.0.remove(name).ok_or_else(|| Error::format(format!("tensor '{name}' is missing")))?;
        let is_right = entry.type_name == dtype
            && entry.shape.len() == shape.len()
            && entry.shape.iter().zip(shape).all(|(have, want)| have == want || *want < 0);
        if !is_right {
            let have = &entry.shape;
            let message = format!("tensor '{name}' is {} {have:?}: {dtype} {shape:?} is expected", entry.type_name);
            return Err(Error::format(message));
        }
        Ok(entry)
    }

    /// The names of the tensors that were not taken yet.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Refuses tensors that were not taken.
    pub fn end(self, kind: &Kind) -> Result<()> {
        match self.0.keys().min() {
            Some(name) => {
                let what = kind.what;
                Err(Error::format(format!("tensor '{name}' is unknown: {what} has none of this name")))
            }
            None => Ok(()),
        }
    }
}

/// A tensor to write.
pub struct Entry<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    /// Reads the data when it is their turn.
    read: Box<dyn Fn() -> Result<Cow<'a, [u8]>> + 'a>,
}

impl<'a> Entry<'a> {
    /// A tensor of 32-bit numbers; its shape has the last dimension last.
    pub fn numbers(shape: &[usize], values: impl IntoIterator<Item = u32>) -> Self {
        let bytes: Vec<u8> = values.into_iter().flat_map(u32::to_le_bytes).collect();
        Entry { dtype: Dtype::U32, shape: shape.to_vec(), read: Box::new(move || Ok(bytes.clone().into())) }
    }

    /// A tensor of bytes.
    pub fn bytes(shape: &[usize], read: impl Fn() -> Result<Vec<u8>> + 'a) -> Self {
        Entry { dtype: Dtype::U8, shape: shape.to_vec(), read: Box::new(move || Ok(read()?.into())) }
    }
}

/// An entry that keeps the error of reading its data, because the crate's interface has no room for one.
struct Reported<'a, 'b> {
    entry: Entry<'a>,
    failure: &'b RefCell<Option<Error>>,
}

impl View for Reported<'_, '_> {
    fn dtype(&self) -> Dtype {
        self.entry.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.entry.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        (self.entry.read)().unwrap_or_else(|error| {
            self.failure.borrow_mut().get_or_insert(error);
            vec![0; self.data_len()].into()
        })
    }

    fn data_len(&self) -> usize {
        let element = if self.entry.dtype == Dtype::U32 { 4 } else { 1 };
        self.entry.shape.iter().product::<usize>() * element
    }
}
