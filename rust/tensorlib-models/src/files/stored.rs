//! How files store elements.

use super::fp8::Fp8;
use crate::Result;
use tensorlib::DType;

/// How the bytes of a tensor in a file are read.
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
    /// The type of the values after reading.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Stored::As(dtype) => Some(dtype),
            Stored::Fp8(_) => Some(DType::F32),
            Stored::Unknown => None,
        }
    }

    /// Bytes in the file for this number of elements.
    pub fn nbytes(self, elements: u64) -> u64 {
        match self {
            Stored::As(dtype) => nbytes(dtype, elements),
            Stored::Fp8(_) => elements,
            Stored::Unknown => 0,
        }
    }

    /// Decodes these bytes to floats; empty if the type is unknown.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the bytes are not whole blocks.
    pub fn decode(self, bytes: &[u8]) -> Result<Vec<f32>> {
        match self {
            Stored::As(dtype) => Ok(dtype.dequantize(bytes)?),
            Stored::Fp8(format) => Ok(format.decode(bytes)),
            Stored::Unknown => Ok(Vec::new()),
        }
    }
}

/// Bytes of this number of elements of a type.
pub fn nbytes(dtype: DType, elements: u64) -> u64 {
    elements / u64::try_from(dtype.block_size()).unwrap_or(1).max(1) * dtype.size() as u64
}
