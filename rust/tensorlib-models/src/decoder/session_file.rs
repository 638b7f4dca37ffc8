//! Files of sessions: safetensors with the tokens, a layer's keys and values as bytes, and in the metadata what they
//! belong to.
//!
//! | entry | contents |
//! |---|---|
//! | `tokens` | U32 [tokens] |
//! | `blk.N.keys`, `blk.N.values` | U8 [tokens, bytes of a row], in the cache's type |
//! | metadata `format` | [`FORMAT`] |
//! | metadata `architecture`, `model` | the model's architecture and fingerprint |
//! | metadata `computed` | [`Decoder`]'s description of what computed the rows |
//! | metadata `cache` | the type of the rows |
//! | metadata `sha256` | of the tokens' bytes and the rows, in the order of layers, keys before values |

use super::cache::Cache;
use super::fingerprint::digits;
use super::Decoder;
use crate::files::SafeFile;
use crate::{Error, Result};
use safetensors::tensor::{serialize_to_file, Dtype, View};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use tensorlib::Tensor;

const FORMAT: &str = "tensorlib session 1";

/// What the metadata say of these tokens and this cache, without the digest.
fn metadata(decoder: &Decoder, cache: &Cache) -> [(&'static str, String); 5] {
    let opened = &decoder.0;
    [
        ("format", FORMAT.to_string()),
        ("architecture", opened.architecture.clone()),
        ("model", opened.fingerprint.clone()),
        ("computed", opened.computed.clone()),
        ("cache", cache.dtype().to_string()),
    ]
}

/// The names of the tensors of rows, in the order of [`Cache::tensors`].
fn names(cache: &Cache) -> impl Iterator<Item = String> {
    let n = cache.tensors().count();
    (0..n).map(|i| format!("blk.{}.{}", i / 2, if i % 2 == 0 { "keys" } else { "values" }))
}

/// Writes a file, which gets its name when it is complete.
pub fn write(path: &Path, decoder: &Decoder, tokens: &[u32], cache: &Cache) -> Result<()> {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    let mut hash = Sha256::new();
    hash.update(&bytes);
    for (tensor, row) in cache.tensors() {
        hash.update(rows(tensor, row * tokens.len())?);
    }
    let mut metadata: HashMap<String, String> =
        metadata(decoder, cache).into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    metadata.insert("sha256".into(), digits(hash));
    let failure = RefCell::new(None);
    let n = tokens.len();
    let mut entries = vec![("tokens".to_string(), Entry { shape: vec![n], contents: Contents::Tokens(bytes) })];
    for (name, (tensor, row)) in names(cache).zip(cache.tensors()) {
        entries.push((name, Entry { shape: vec![n, row], contents: Contents::Rows { tensor, failure: &failure } }));
    }
    let failed = |e: std::io::Error| Error::io(path, "written", &e);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unfinished = tempfile::Builder::new().prefix(".tensorlib-session-").tempfile_in(folder).map_err(failed)?;
    let written = serialize_to_file(entries, Some(metadata), unfinished.path());
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    written.map_err(|e| Error::io(path, "written", &std::io::Error::other(e.to_string())))?;
    File::open(unfinished.path()).and_then(|file| file.sync_all()).map_err(failed)?;
    unfinished.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// The first `n` bytes of a tensor.
fn rows(tensor: &Tensor, n: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; n];
    tensor.read_bytes(0, &mut bytes)?;
    Ok(bytes)
}

/// A tensor to write, whose data are read when it is their turn.
struct Entry<'a> {
    shape: Vec<usize>,
    contents: Contents<'a>,
}

enum Contents<'a> {
    Tokens(Vec<u8>),
    Rows { tensor: &'a Tensor, failure: &'a RefCell<Option<Error>> },
}

impl View for Entry<'_> {
    fn dtype(&self) -> Dtype {
        match self.contents {
            Contents::Tokens(_) => Dtype::U32,
            Contents::Rows { .. } => Dtype::U8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match &self.contents {
            Contents::Tokens(bytes) => Cow::Borrowed(bytes),
            Contents::Rows { tensor, failure } => Cow::Owned(rows(tensor, self.data_len()).unwrap_or_else(|error| {
                failure.borrow_mut().get_or_insert(error);
                vec![0; self.data_len()]
            })),
        }
    }

    fn data_len(&self) -> usize {
        let element = if matches!(self.contents, Contents::Tokens(_)) { 4 } else { 1 };
        self.shape.iter().product::<usize>() * element
    }
}

/// A file whose contents were checked.
pub struct Saved {
    file: SafeFile,
    /// The tokens of the session.
    pub tokens: Vec<u32>,
    /// The offsets of the rows, in the order of [`Cache::tensors`].
    offsets: Vec<u64>,
    sha256: String,
}

impl Saved {
    /// Reads and checks a file for a session of this decoder and this cache. Nothing of its size is allocated before
    /// the size was found right.
    pub fn open(path: &Path, decoder: &Decoder, cache: &Cache) -> Result<Self> {
        let file = SafeFile::open(path)?;
        let about = |error: Error| match error.hint() {
            Some(_) => error.about(path.display()),
            None => error.about(path.display()).with_hint("the file is damaged: feed the tokens again and save them"),
        };
        let sha256 = check_metadata(&file, decoder, cache).map_err(about)?;
        let mut entries: HashMap<String, _> =
            file.entries(0).into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let mut take = |name: &str, dtype: &str, shape: &[i64]| {
            let entry = entries.remove(name).ok_or_else(|| Error::format(format!("tensor '{name}' is missing")))?;
            // Shapes have the last dimension first.
            let is_right = entry.type_name == dtype
                && entry.shape.len() == shape.len()
                && entry.shape.iter().zip(shape).all(|(have, want)| have == want || *want < 0);
            if !is_right {
                let (have, name) = (&entry.shape, &entry.name);
                let what = format!("tensor '{name}' is {} {have:?}: {dtype} {shape:?} is expected", entry.type_name);
                return Err(Error::format(what));
            }
            Ok(entry)
        };
        let entry = take("tokens", "u32", &[-1]).map_err(about)?;
        let (n, most) = (entry.shape[0], decoder.context());
        if n > most as i64 {
            let what = format!("a session of {n} tokens: the context has room for {most}");
            return Err(about(Error::invalid(what).with_hint("open the model with a larger context (--ctx)")));
        }
        let mut offsets = Vec::new();
        for (name, (_, row)) in names(cache).zip(cache.tensors()) {
            offsets.push(take(&name, "u8", &[row as i64, n]).map_err(about)?.offset);
        }
        if let Some(name) = entries.keys().min() {
            return Err(about(Error::format(format!("tensor '{name}' is unknown: sessions have none of this name"))));
        }
        let bytes = file.read(entry.offset, 4 * n as usize)?;
        let token = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let tokens: Vec<u32> = bytes.chunks_exact(4).map(token).collect();
        if let Some(token) = tokens.iter().find(|token| **token as usize >= decoder.vocabulary()) {
            let last = decoder.vocabulary() - 1;
            return Err(about(Error::format(format!("token {token}: 0 to {last} are valid"))));
        }
        let saved = Saved { file, tokens, offsets, sha256 };
        saved.each_row(cache, |_, _| Ok(())).map_err(about)?;
        Ok(saved)
    }

    /// Copies the rows to the cache.
    pub fn read_rows(&self, cache: &Cache) -> Result<()> {
        self.each_row(cache, |tensor, bytes| Ok(tensor.write_bytes(0, bytes)?))
    }

    /// Calls `take` with the rows of each tensor of the cache, and compares the digest.
    fn each_row(&self, cache: &Cache, take: impl Fn(&Tensor, &[u8]) -> Result<()>) -> Result<()> {
        let mut hash = Sha256::new();
        self.tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        for ((tensor, row), offset) in cache.tensors().zip(&self.offsets) {
            let bytes = self.file.read(*offset, row * self.tokens.len())?;
            hash.update(&bytes);
            take(tensor, &bytes)?;
        }
        if digits(hash) != self.sha256 {
            let what = "its tokens or rows are not those that were saved: the digest 'sha256' is another";
            return Err(Error::format(what));
        }
        Ok(())
    }
}

/// Compares the metadata with those that the file would have if it were written now, and returns the digest.
fn check_metadata(file: &SafeFile, decoder: &Decoder, cache: &Cache) -> Result<String> {
    let mut all = file.metadata();
    match all.get("format").map(String::as_str) {
        Some(FORMAT) => {}
        Some(other) if other.starts_with("tensorlib session ") => {
            let what = format!("is a '{other}', and this version of tensorlib reads '{FORMAT}'");
            return Err(Error::invalid(what).with_hint("feed the tokens again and save them"));
        }
        _ => {
            let what = format!("is no session: its metadata have no format '{FORMAT}'");
            return Err(Error::format(what).with_hint("name a file that Session::save wrote"));
        }
    }
    for (name, want) in metadata(decoder, cache) {
        let have = all.remove(name).ok_or_else(|| Error::format(format!("its metadata have no '{name}'")))?;
        if have != want {
            let (what, hint) = match name {
                "model" => (
                    "is a session of another model: tensors or settings differ".to_string(),
                    "open the model that it was saved with, with the same adapters and types (--dtype)",
                ),
                "computed" => (
                    format!("was computed by {have}, and this session by {want}: results would not be exact"),
                    "feed the tokens again and save them",
                ),
                "cache" => (
                    format!("has a cache of {have}, and this session one of {want}"),
                    "make the session with that type (--cache)",
                ),
                _ => (
                    format!("is a session of the {name} {have}, and this model is {want}"),
                    "open the model that it was saved with",
                ),
            };
            return Err(Error::invalid(what).with_hint(hint));
        }
    }
    let sha256 = all.remove("sha256").ok_or_else(|| Error::format("its metadata have no 'sha256'"))?;
    match all.keys().next() {
        Some(name) => Err(Error::format(format!("its metadata have '{name}', which is unknown: sessions have none"))),
        None => Ok(sha256),
    }
}
