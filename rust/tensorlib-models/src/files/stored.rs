//! How elements are stored in files.

use super::fp8::Fp8;
use crate::Result;
use tensorlib::DType;

/// How a tensor's bytes in a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// As a type of the engine.
    As(DType),
    /// As 8-bit floats, which become F32.
    Fp8(Fp8),
    /// Not at all: the engine has no such type.
    Unknown,
}

impl Stored {
    /// The type of the values that are read.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Stored::As(dtype) => Some(dtype),
            Stored::Fp8(_) => Some(DType::F32),
            Stored::Unknown => None,
        }
    }

    /// Bytes of so many elements in the file.
    pub fn nbytes(self, elements: u64) -> u64 {
        match self {
            Stored::As(dtype) => nbytes(dtype, elements),
            Stored::Fp8(_) => elements,
            Stored::Unknown => 0,
        }
    }

    /// These bytes as floats; none where the type is unknown.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) where the bytes are no whole blocks.
    pub fn decode(self, bytes: &[u8]) -> Result<Vec<f32>> {
        match self {
            Stored::As(dtype) => Ok(dtype.dequantize(bytes)?),
            Stored::Fp8(format) => Ok(format.decode(bytes)),
            Stored::Unknown => Ok(Vec::new()),
        }
    }
}

/// Bytes of so many elements of a type.
pub fn nbytes(dtype: DType, elements: u64) -> u64 {
    elements / u64::try_from(dtype.block_size()).unwrap_or(1).max(1) * dtype.size() as u64
}
