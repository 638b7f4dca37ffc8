//! A model's tensors, from GGUF or safetensors, read in pieces.

use super::entry::Entry;
use super::kind_hint;
use super::open::open_regular;
use super::safeset::SafeSet;
use super::shards;
use super::stored::Stored;
use crate::{Error, Result};
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use tensorlib::Gguf;

/// The number of bytes that identify a file's kind.
const HEAD: u64 = 64;

/// An open model file, with its shards.
#[derive(Debug)]
pub enum Source {
    /// GGUF, in one file or in shards.
    Gguf(Gguf),
    /// Safetensors, in one file or in shards.
    Safetensors(SafeSet),
}

/// A piece of a tensor: some whole rows, or a part of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first element in the tensor.
    pub start: u64,
    /// The number of its elements.
    pub n: usize,
    /// The number of elements of each row.
    pub row: usize,
    /// The column of its first element.
    pub column: usize,
    /// The number of the requested matrix that it lies in.
    pub group: usize,
}

/// Divides a tensor into pieces of up to `limit` elements (a multiple of every block) that do not cross the border
/// between two of `groups` equal parts.
pub fn pieces(elements: u64, row: usize, groups: usize, limit: usize) -> Vec<Piece> {
    let (mut all, row) = (Vec::new(), row.max(1));
    let per_group = elements / groups.max(1) as u64;
    for group in 0..groups.max(1) {
        let (mut start, end) = (per_group * group as u64, per_group * (group as u64 + 1));
        while start < end {
            let column = usize::try_from(start % row as u64).unwrap_or(0);
            let left = usize::try_from(end - start).unwrap_or(usize::MAX);
            // Takes whole rows if one fits; a longer row is cut where blocks end.
            let n = if row <= limit { left.min(limit / row * row) } else { (row - column).min(limit) };
            all.push(Piece { start, n, row: row.min(n), column, group });
            start += n as u64;
        }
    }
    all
}

impl Source {
    /// Opens a file, a shard of a model or the index of its shards; the first bytes identify its kind. GGUF files are
    /// read into memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind), [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_by(path, |path| Gguf::open(path))
    }

    /// Opens a file as [`Source::open`] does, but maps GGUF files: their pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Source::open`].
    ///
    /// # Safety
    /// As for [`Gguf::open_mapped`]: nobody may change the files while this source, or a tensor over them, exists.
    pub unsafe fn open_mapped(path: &Path) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::open_by(path, |path| unsafe { Gguf::open_mapped(path) })
    }

    fn open_by(path: &Path, open_gguf: impl FnOnce(&Path) -> tensorlib::Result<Gguf>) -> Result<Self> {
        let mut file = open_regular(path)?;
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head).map_err(|e| Error::io(path, "read", &e))?;
        if head.starts_with(b"GGUF") {
            return Ok(Source::Gguf(open_gguf(path)?));
        }
        // A text, which a safetensors file is not: its first 8 bytes are a length, whose last bytes are zeros.
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
        if text.trim_ascii_start().starts_with(b"{") && !head[..head.len().min(9)].contains(&0) {
            return Ok(Source::Safetensors(SafeSet::open_index(path)?));
        }
        if head.len() > 8 && head[8] == b'{' {
            return Ok(Source::Safetensors(SafeSet::open(path)?));
        }
        let hint = kind_hint(&head).unwrap_or("a GGUF file begins with the letters GGUF; was it copied to its end?");
        head.truncate(9);
        let what = if head.is_empty() { "is empty".into() } else { format!("begins with {}", shown(&head)) };
        let message = format!("{}: {what}: it is neither GGUF nor safetensors", path.display());
        Err(Error::format(message).with_hint(hint))
    }

    /// The files that are read, as far as their names show; `opened` is the requested one.
    pub fn paths(&self, opened: &Path) -> Vec<PathBuf> {
        let mut all = vec![opened.to_path_buf()];
        match self {
            Source::Gguf(_) => {
                let parts = shards::beside(opened, ".gguf").ok().flatten();
                all.extend(parts.iter().flat_map(shards::Numbered::paths));
            }
            Source::Safetensors(set) => all.extend(set.paths()),
        }
        all
    }

    /// Oddities of the files that are no errors, a line each.
    pub fn warnings(&self) -> &[String] {
        match self {
            Source::Gguf(_) => &[],
            Source::Safetensors(set) => set.warnings(),
        }
    }

    /// The number of shards.
    pub fn n_parts(&self) -> usize {
        match self {
            Source::Gguf(file) => file.n_parts(),
            Source::Safetensors(set) => set.n_shards(),
        }
    }

    /// The format's name.
    pub fn format(&self) -> &'static str {
        match self {
            Source::Gguf(_) => "gguf",
            Source::Safetensors(_) => "safetensors",
        }
    }

    /// All tensors, in the file's order.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Source::Gguf(file) => file
                .tensors()
                .map(|t| Entry {
                    name: t.name.into(),
                    type_name: t.dtype.name(),
                    stored: Stored::As(t.dtype),
                    nbytes: t.data.len() as u64,
                    shape: t.shape,
                    file: 0,
                    offset: t.offset,
                })
                .collect(),
            Source::Safetensors(set) => set.entries().to_vec(),
        }
    }

    /// `n` bytes of a tensor, starting at its byte `at`: borrowed from a GGUF file, copied from safetensors.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind); [`ErrorKind::Internal`](crate::ErrorKind) for bytes outside the tensor.
    pub fn bytes(&self, entry: &Entry, at: u64, n: usize) -> Result<Cow<'_, [u8]>> {
        match self {
            Source::Safetensors(set) => set.read(entry, at, n).map(Cow::Owned),
            Source::Gguf(file) => {
                let data = file.tensor_info(&entry.name).map_or(&[][..], |t| t.data);
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let part = data.get(at..).and_then(|rest| rest.get(..n));
                part.map(Cow::Borrowed)
                    .ok_or_else(|| Error::internal(format!("tensor '{}' has no bytes {at} to {at} + {n}", entry.name)))
            }
        }
    }

    /// Reads a piece as floats.
    ///
    /// # Errors
    /// As [`Source::bytes`]; [`ErrorKind::Unsupported`](crate::ErrorKind) for a type that the engine lacks.
    pub fn values(&self, entry: &Entry, piece: &Piece) -> Result<Vec<f32>> {
        entry.known_type()?;
        let at = entry.stored.nbytes(piece.start);
        let n = usize::try_from(entry.stored.nbytes(piece.n as u64)).unwrap_or(usize::MAX);
        entry.stored.decode(&self.bytes(entry, at, n)?)
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_once() {
        for (elements, row, groups) in
            [(0, 4, 1), (1, 1, 1), (12, 4, 1), (12, 4, 3), (4096, 2048, 1), (3000, 1000, 1), (640, 64, 5)]
        {
            let all = pieces(elements, row, groups, 512);
            let mut at = 0;
            for p in &all {
                assert_eq!(p.start, at);
                assert!(p.n > 0 && p.n <= 512 && p.n % p.row == 0 && p.column == (at % row as u64) as usize);
                assert_eq!(p.group as u64, at / (elements / groups as u64));
                at += p.n as u64;
            }
            assert_eq!(at, elements);
        }
    }
}
