//! A file of tensors, GGUF or safetensors, read in pieces.

use crate::failure::{Exit, Failure, Outcome};
use crate::safefile::SafeFile;
use crate::types::nbytes;
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use tensorlib::{DType, Gguf};

/// An open file.
pub enum Source {
    /// GGUF, one or several parts.
    Gguf(Gguf),
    /// Safetensors.
    Safetensors(SafeFile),
}

/// A tensor as its file describes it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The type's name, also of one that the engine lacks.
    pub type_name: String,
    /// The engine's type, if there is one.
    pub dtype: Option<DType>,
    /// Elements per dimension, the contiguous one first.
    pub shape: Vec<i64>,
    /// Where its bytes begin in the data of its file or part.
    pub offset: u64,
    /// How many bytes it has.
    pub nbytes: u64,
}

impl Entry {
    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|n| u64::try_from(*n).unwrap_or(0)).product()
    }

    /// Elements of a row.
    pub fn row(&self) -> usize {
        self.shape.first().map_or(1, |n| usize::try_from(*n).unwrap_or(0))
    }

    /// The shape without ones at its end, by which shapes are compared.
    pub fn dims(&self) -> &[i64] {
        let n = self.shape.iter().rposition(|n| *n != 1).map_or(0, |last| last + 1);
        &self.shape[..n]
    }

    /// The engine's type, or an error that says it has none.
    pub fn known_type(&self) -> Outcome<DType> {
        self.dtype.ok_or_else(|| {
            Failure::new(
                Exit::Refused,
                format!("tensor '{}' is of type {}: the engine has none", self.name, self.type_name),
            )
            .hint("convert that tensor to f32, f16, bf16 or i8 before")
        })
    }
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
        // Before it is opened: that would wait for a pipe's other end.
        let info = std::fs::metadata(path).map_err(|e| Failure::io(path, "opened", &e))?;
        if info.is_dir() {
            let message = format!("{}: is a folder: a file is valid", path.display());
            return Err(Failure::new(Exit::Io, message).hint("name the .gguf or .safetensors file in it"));
        }
        if !info.is_file() {
            let message = format!("{}: is a device, pipe or socket: a regular file is valid", path.display());
            return Err(Failure::new(Exit::Io, message).hint("write it to a file first: it is read at many places"));
        }
        let mut file = File::open(path).map_err(|e| Failure::io(path, "opened", &e))?;
        let mut head = Vec::new();
        file.by_ref().take(9).read_to_end(&mut head).map_err(|e| Failure::io(path, "read", &e))?;
        if head.starts_with(b"GGUF") {
            // SAFETY: that nobody changes or shortens a file while it is read is a promise that the tool passes on to
            // its user (README, "Files that change"): a copy in memory would not do for files larger than that.
            return Ok(Source::Gguf(unsafe { Gguf::open_mapped(path)? }));
        }
        if head.len() == 9 && head[8] == b'{' {
            return Ok(Source::Safetensors(SafeFile::open(path, file)?));
        }
        let what = if head.is_empty() { "is empty".into() } else { format!("begins with {}", shown(&head)) };
        let message = format!("{}: {what}: it is neither GGUF nor safetensors", path.display());
        Err(Failure::new(Exit::Format, message)
            .hint("a GGUF file begins with the letters GGUF; was it copied to its end?"))
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
                    dtype: Some(t.dtype),
                    nbytes: t.data.len() as u64,
                    shape: t.shape,
                    offset: t.offset,
                })
                .collect(),
            Source::Safetensors(file) => {
                let entry = |t: crate::safefile::SafeTensor| Entry {
                    name: t.name,
                    type_name: t.type_name,
                    dtype: t.dtype,
                    shape: t.shape,
                    offset: t.offset,
                    nbytes: t.nbytes,
                };
                file.tensors().into_iter().map(entry).collect()
            }
        }
    }

    /// `n` bytes of a tensor from its byte `at` on: of a GGUF file where they lie, of the other a copy.
    pub fn bytes(&self, entry: &Entry, at: u64, n: usize) -> Outcome<Cow<'_, [u8]>> {
        match self {
            Source::Safetensors(file) => file.read(entry.offset + at, n).map(Cow::Owned),
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
        let dtype = entry.known_type()?;
        let at = nbytes(dtype, piece.start);
        let n = usize::try_from(nbytes(dtype, piece.n as u64)).unwrap_or(usize::MAX);
        Ok(dtype.dequantize(&self.bytes(entry, at, n)?)?)
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
