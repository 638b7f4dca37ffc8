//! A safetensors file. Only its header is in memory; data are read in pieces.
//!
//! The format's crate reads the header and checks sizes, and offsets for gaps and overlaps. This file checks that the
//! data are as long as the header says, so that a truncated file is found before work begins.

use super::entry::Entry;
use super::fp8::Fp8;
use super::open::open_regular;
use super::stored::Stored;
use crate::{Error, Result};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tensorlib::DType;

/// The format's own limit for headers.
pub const MAX_HEADER: u64 = 100_000_000;

/// An open file.
pub struct SafeFile {
    path: PathBuf,
    file: Mutex<File>,
    /// The offset of the data in the file.
    data_start: u64,
    /// None for a file of another format, whose tensors are described elsewhere.
    header: Option<Metadata>,
}

impl SafeFile {
    /// Reads and checks the header.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = open_regular(path)?;
        let io = |e| Error::io(path, "read", &e);
        let format = |what: String| format_error(path, &what);
        let size = file.metadata().map_err(io)?.len();
        if size < 8 {
            return Err(format(format!("{size} bytes: a safetensors file begins with 8 that are its header's length")));
        }
        let mut head = [0; 8];
        file.read_exact(&mut head).map_err(io)?;
        let n = u64::from_le_bytes(head);
        if n > MAX_HEADER || n > size.saturating_sub(8) {
            return Err(format(format!("a header of {n} bytes in a file of {size}")));
        }
        let mut bytes = Vec::new();
        file.by_ref().take(n).read_to_end(&mut bytes).map_err(io)?;
        let header: Metadata = serde_json::from_slice(&bytes).map_err(|e| format(format!("its header: {e}")))?;
        let (want, have) = (header.data_len() as u64, size - 8 - n);
        if want != have {
            return Err(format(format!("{have} bytes of data: the header tells of {want}")));
        }
        Ok(SafeFile { path: path.to_path_buf(), file: Mutex::new(file), data_start: 8 + n, header: Some(header) })
    }

    /// A file of another format, whose offsets count from its beginning.
    pub fn of_other_format(path: &Path, file: File) -> Self {
        SafeFile { path: path.to_path_buf(), file: Mutex::new(file), data_start: 0, header: None }
    }

    /// The texts of `__metadata__`, sorted.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let texts = self.header.as_ref().and_then(|header| header.metadata().clone());
        texts.unwrap_or_default().into_iter().collect()
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tensors, in the order of their data; `number` is the file's number in the model.
    pub fn entries(&self, number: usize) -> Vec<Entry> {
        let Some(header) = &self.header else { return Vec::new() };
        let tensors = header.tensors();
        let mut all: Vec<Entry> = tensors.into_iter().map(|(name, info)| entry(name, info, number)).collect();
        all.sort_by(|a, b| (a.offset, &a.name).cmp(&(b.offset, &b.name)));
        all
    }

    /// Reads `n` bytes of the data, starting at `at`.
    pub fn read(&self, at: u64, n: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; n];
        // A thread that panicked while reading has changed only the position, which is set again below.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.data_start + at))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| Error::io(&self.path, "read", &e))?;
        Ok(bytes)
    }
}

fn format_error(path: &Path, what: &str) -> Error {
    Error::format(format!("safetensors: {}: {what}", path.display()))
        .with_hint("the file is damaged, or was not copied to its end: get it again")
}

fn entry(name: String, info: &TensorInfo, file: usize) -> Entry {
    let (begin, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
    Entry {
        name,
        type_name: format!("{:?}", info.dtype).to_ascii_lowercase(),
        stored: stored(info.dtype),
        shape: info.shape.iter().rev().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect(),
        file,
        offset: begin,
        nbytes: end - begin,
    }
}

fn stored(theirs: Dtype) -> Stored {
    match theirs {
        Dtype::F64 => Stored::As(DType::F64),
        Dtype::F32 => Stored::As(DType::F32),
        Dtype::F16 => Stored::As(DType::F16),
        Dtype::BF16 => Stored::As(DType::BF16),
        Dtype::I8 => Stored::As(DType::I8),
        Dtype::I16 => Stored::As(DType::I16),
        Dtype::I32 => Stored::As(DType::I32),
        Dtype::I64 => Stored::As(DType::I64),
        Dtype::F8_E4M3 => Stored::Fp8(Fp8::E4M3),
        Dtype::F8_E5M2 => Stored::Fp8(Fp8::E5M2),
        Dtype::F8_E4M3FNUZ => Stored::Fp8(Fp8::E4M3Fnuz),
        Dtype::F8_E5M2FNUZ => Stored::Fp8(Fp8::E5M2Fnuz),
        _ => Stored::Unknown,
    }
}
