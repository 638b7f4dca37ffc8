//! A model's tensors, from GGUF or safetensors, read in pieces.

use crate::entry::Entry;
use crate::failure::{Exit, Failure, Outcome};
use crate::open::open_regular;
use crate::safeset::SafeSet;
use crate::shards;
use crate::types::Stored;
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use tensorlib::Gguf;

/// An open file.
pub enum Source {
    /// GGUF, one or several parts.
    Gguf(Gguf),
    /// Safetensors, one or several shards.
    Safetensors(SafeSet),
}

/// A part of a tensor: some whole rows, or a part of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first element in the tensor.
    pub start: u64,
    /// Its elements.
    pub n: usize,
    /// Elements of each of its rows.
    pub row: usize,
    /// The column of its first element.
    pub column: usize,
    /// The matrix that it lies in, of those that were asked for.
    pub group: usize,
}

/// Cuts a tensor into pieces of up to `limit` elements (a multiple of every block) that do not reach over the border
/// between two of `groups` parts of the same size.
pub fn pieces(elements: u64, row: usize, groups: usize, limit: usize) -> Vec<Piece> {
    let (mut all, row) = (Vec::new(), row.max(1));
    let per_group = elements / groups.max(1) as u64;
    for group in 0..groups.max(1) {
        let (mut start, end) = (per_group * group as u64, per_group * (group as u64 + 1));
        while start < end {
            let column = usize::try_from(start % row as u64).unwrap_or(0);
            let left = usize::try_from(end - start).unwrap_or(usize::MAX);
            // Whole rows where one fits; a longer one is cut where blocks end.
            let n = if row <= limit { left.min(limit / row * row) } else { (row - column).min(limit) };
            all.push(Piece { start, n, row: row.min(n), column, group });
            start += n as u64;
        }
    }
    all
}

impl Source {
    /// Opens a file; its first bytes tell what it is.
    pub fn open(path: &Path) -> Outcome<Self> {
        let mut file = open_regular(path)?;
        let mut head = Vec::new();
        file.by_ref().take(9).read_to_end(&mut head).map_err(|e| Failure::io(path, "read", &e))?;
        if head.starts_with(b"GGUF") {
            // SAFETY: that nobody changes or shortens a file while it is read is a promise that the tool passes on to
            // its user (README, "Files that change"): a copy in memory would not do for files larger than that.
            return Ok(Source::Gguf(unsafe { Gguf::open_mapped(path)? }));
        }
        // A text, which a safetensors file is not: its first 8 bytes are a length, with zeros at its end.
        if head.trim_ascii_start().starts_with(b"{") && !head.contains(&0) {
            return Ok(Source::Safetensors(SafeSet::open_index(path)?));
        }
        if head.len() == 9 && head[8] == b'{' {
            return Ok(Source::Safetensors(SafeSet::open(path)?));
        }
        let what = if head.is_empty() { "is empty".into() } else { format!("begins with {}", shown(&head)) };
        let message = format!("{}: {what}: it is neither GGUF nor safetensors", path.display());
        Err(Failure::new(Exit::Format, message)
            .hint("a GGUF file begins with the letters GGUF; was it copied to its end?"))
    }

    /// The files that it is read from, as far as their names tell; `opened` is the one that was asked for.
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

    /// How many files it is made of.
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

    /// `n` bytes of a tensor from its byte `at` on: of a GGUF file where they lie, of the other a copy.
    pub fn bytes(&self, entry: &Entry, at: u64, n: usize) -> Outcome<Cow<'_, [u8]>> {
        match self {
            Source::Safetensors(set) => set.read(entry, at, n).map(Cow::Owned),
            Source::Gguf(file) => {
                let data = file.tensor_info(&entry.name).map_or(&[][..], |t| t.data);
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let part = data.get(at..).and_then(|rest| rest.get(..n));
                part.map(Cow::Borrowed).ok_or_else(|| {
                    Failure::new(Exit::Internal, format!("tensor '{}' has no bytes {at} to {at} + {n}", entry.name))
                })
            }
        }
    }

    /// A piece as floats.
    pub fn values(&self, entry: &Entry, piece: &Piece) -> Outcome<Vec<f32>> {
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
