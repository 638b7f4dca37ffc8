//! What the tool asks of types.

use crate::failure::Outcome;
use crate::fp8::Fp8;
use tensorlib::{DType, Kind};

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
    pub fn decode(self, bytes: &[u8]) -> Outcome<Vec<f32>> {
        match self {
            Stored::As(dtype) => Ok(dtype.dequantize(bytes)?),
            Stored::Fp8(format) => Ok(format.decode(bytes)),
            Stored::Unknown => Ok(Vec::new()),
        }
    }
}

/// Whether a file of weights may have this type.
pub fn is_storage(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Floating | Kind::Weight)
}

/// Bytes of so many elements of a type.
pub fn nbytes(dtype: DType, elements: u64) -> u64 {
    elements / u64::try_from(dtype.block_size()).unwrap_or(1).max(1) * dtype.size() as u64
}

/// Whether a type stores blocks.
pub fn is_quantised(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Weight | Kind::Activation)
}

/// The number that `general.file_type` has for a file that is mostly of a type, in GGUF's public numbering; nothing for
/// types that it does not have.
pub fn file_type(dtype: DType) -> Option<u32> {
    Some(match dtype {
        DType::F32 => 0,
        DType::F16 => 1,
        DType::Q4_0 => 2,
        DType::Q4_1 => 3,
        DType::Q8_0 => 7,
        DType::Q5_0 => 8,
        DType::Q5_1 => 9,
        DType::Q2_K => 10,
        // Of the mixtures' S, M and L: S, which comes nearest to one type for all.
        DType::Q3_K => 11,
        DType::Q4_K => 14,
        DType::Q5_K => 16,
        DType::Q6_K => 18,
        DType::IQ2_XXS => 19,
        DType::IQ2_XS => 20,
        DType::IQ3_XXS => 23,
        DType::IQ1_S => 24,
        DType::IQ4_NL => 25,
        DType::IQ3_S => 26,
        DType::IQ2_S => 28,
        DType::IQ4_XS => 30,
        DType::IQ1_M => 31,
        DType::BF16 => 32,
        DType::TQ1_0 => 36,
        DType::TQ2_0 => 37,
        _ => return None,
    })
}
