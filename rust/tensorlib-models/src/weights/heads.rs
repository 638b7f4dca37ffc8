//! Some rows of each head of a matrix, as a tensor of their own.

use super::{check, segments, Files, Weights};
use crate::files::{nbytes, Piece};
use crate::{Error, Result};
use tensorlib::{DType, Kind, Tensor};

/// A matrix whose rows belong to heads, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct HeadRows {
    pub columns: i64,
    /// The rows of a head.
    pub of_head: i64,
    pub heads: i64,
}

impl HeadRows {
    fn shape(self) -> [i64; 2] {
        [self.columns, self.of_head * self.heads]
    }
}

impl Weights {
    /// The first `n` rows of each head, transposed: [n, columns, heads]. Quantised weights become F16, which rounds them by
    /// far less than they were rounded before: their blocks lie along the columns.
    pub fn transposed_rows(&self, name: &str, rows: HeadRows, n: i64) -> Result<Tensor> {
        let stored = self.stored_type(name, rows)?;
        let to = if stored.kind() == Kind::Floating { stored } else { DType::F16 };
        let leaf = self.head_leaf(name, to, [n, rows.columns, rows.heads])?;
        if self.is_outline() {
            return Ok(leaf);
        }
        let (columns, n) = (usize::try_from(rows.columns).unwrap_or(0), usize::try_from(n).unwrap_or(0));
        let mut at = 0;
        for head in 0..rows.heads {
            let values = self.head_values(name, rows, head, 0..n)?;
            let turned: Vec<f32> = (0..values.len()).map(|i| values[i % n * columns + i / n]).collect();
            let bytes = self.part_bytes(name, to, &turned, n)?;
            leaf.write_bytes(at, &bytes)?;
            at += bytes.len();
        }
        self.constant(leaf)
    }

    /// The last `n` rows of each head: [columns, n, heads].
    pub fn last_rows(&self, name: &str, rows: HeadRows, n: i64) -> Result<Tensor> {
        let stored = self.stored_type(name, rows)?;
        let shape = [rows.columns, n, rows.heads];
        let to = self.wanted(name, stored, &shape).unwrap_or(stored);
        let leaf = self.head_leaf(name, to, shape)?;
        if self.is_outline() {
            return Ok(leaf);
        }
        let (first, end) = (usize::try_from(rows.of_head - n).unwrap_or(0), usize::try_from(rows.of_head).unwrap_or(0));
        let mut at = 0;
        for head in 0..rows.heads {
            at += match &self.files {
                Files::Gguf(_) => self.write_as(&leaf, at, &self.head_bytes(name, rows, head, first..end)?, stored)?,
                Files::Hub { .. } => {
                    let values = self.head_values(name, rows, head, first..end)?;
                    let bytes = self.part_bytes(name, to, &values, usize::try_from(rows.columns).unwrap_or(0))?;
                    leaf.write_bytes(at, &bytes)?;
                    bytes.len()
                }
            };
        }
        self.constant(leaf)
    }

    /// The type of the matrix in the files, or F32 if its values are scaled when they are loaded.
    fn stored_type(&self, name: &str, rows: HeadRows) -> Result<DType> {
        match &self.files {
            Files::Gguf(file) => {
                let info = file.tensor_info(name).ok_or_else(|| self.missing(name, &rows.shape()))?;
                check(name, &info.shape, info.dtype.name(), &rows.shape())?;
                self.taken.borrow_mut().insert(name.to_string());
                Ok(info.dtype)
            }
            Files::Hub { set, .. } => {
                let entry = self.entry(name, &rows.shape())?;
                self.taken.borrow_mut().insert(entry.name.clone());
                match self.scales(set, entry)? {
                    Some(_) => Ok(DType::F32),
                    None => entry.known_type(),
                }
            }
        }
    }

    fn entry(&self, name: &str, shape: &[i64]) -> Result<&crate::files::Entry> {
        let Files::Hub { set, entries, names } = &self.files else {
            return Err(Error::internal("an entry of a GGUF file"));
        };
        let find = |name: &str| entries.get(name).map(|i| &set.entries()[*i]);
        let found = segments::of((names.of)(name), find, shape)?;
        found.first().map(|segment| segment.entry).ok_or_else(|| self.missing(name, shape))
    }

    fn head_leaf(&self, name: &str, dtype: DType, shape: [i64; 3]) -> Result<Tensor> {
        let ctx = match self.devices.is_singly() {
            true => self.context_with_data(name),
            false => self.context(name).clone(),
        };
        let leaf = ctx.zeros(dtype, shape)?;
        leaf.set_name(name)?;
        self.keep(name, self.devices.device(name), &leaf);
        Ok(leaf)
    }

    /// The stored bytes of some rows of a head, of a GGUF file.
    fn head_bytes(&self, name: &str, rows: HeadRows, head: i64, of: std::ops::Range<usize>) -> Result<Vec<u8>> {
        let Files::Gguf(file) = &self.files else { return Err(Error::internal("bytes of a folder")) };
        let info = file.tensor_info(name).ok_or_else(|| self.missing(name, &rows.shape()))?;
        let row = usize::try_from(nbytes(info.dtype, u64::try_from(rows.columns).unwrap_or(0))).unwrap_or(0);
        let first = usize::try_from(head * rows.of_head).unwrap_or(0);
        Ok(info.data[(first + of.start) * row..(first + of.end) * row].to_vec())
    }

    /// The values of some rows of a head.
    fn head_values(&self, name: &str, rows: HeadRows, head: i64, of: std::ops::Range<usize>) -> Result<Vec<f32>> {
        match &self.files {
            Files::Gguf(file) => {
                let info = file.tensor_info(name).ok_or_else(|| self.missing(name, &rows.shape()))?;
                Ok(info.dtype.dequantize(&self.head_bytes(name, rows, head, of)?)?)
            }
            Files::Hub { set, .. } => {
                let entry = self.entry(name, &rows.shape())?;
                let row = usize::try_from(rows.columns).unwrap_or(0);
                let first = usize::try_from(head * rows.of_head).unwrap_or(0);
                let piece =
                    Piece { start: ((first + of.start) * row) as u64, n: of.len() * row, row, column: 0, group: 0 };
                let mut values = self.values(set, entry, &piece)?;
                if let Some(scales) = self.scales(set, entry)? {
                    scales.apply(piece.start, &mut values);
                }
                Ok(values)
            }
        }
    }
}
