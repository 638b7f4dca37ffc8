//! Storage types at run time.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;
use tensorlib_sys as sys;

/// How elements are stored. The numbers are GGUF's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum DType {
    /// IEEE 754 binary32.
    F32 = 0,
    /// IEEE 754 binary16.
    F16 = 1,
    /// 8-bit signed integer.
    I8 = 24,
    /// 16-bit signed integer.
    I16 = 25,
    /// 32-bit signed integer.
    I32 = 26,
    /// 64-bit signed integer.
    I64 = 27,
    /// IEEE 754 binary64.
    F64 = 28,
    /// The upper half of an F32.
    BF16 = 30,
}

impl DType {
    /// All types that this version knows.
    pub const ALL: [DType; 8] =
        [DType::F32, DType::F16, DType::I8, DType::I16, DType::I32, DType::I64, DType::F64, DType::BF16];

    pub(crate) fn raw(self) -> sys::tl_type {
        sys::tl_type(self as i32)
    }

    pub(crate) fn from_raw(raw: sys::tl_type) -> Self {
        // The engine is built from the same list, so a type that it made is one of these.
        Self::ALL.into_iter().find(|t| t.raw() == raw).unwrap_or(DType::F32)
    }

    /// The type's name: `"f32"`.
    pub fn name(self) -> String {
        // SAFETY: any number is allowed; the result is NULL or static.
        unsafe { crate::call::text(sys::tl_type_name(self.raw())) }
    }

    /// Elements per block; 1 for plain types.
    pub fn block_size(self) -> i64 {
        // SAFETY: any number is allowed.
        unsafe { sys::tl_type_block_size(self.raw()) }
    }

    /// Bytes per block.
    pub fn size(self) -> usize {
        // SAFETY: any number is allowed.
        unsafe { sys::tl_type_size(self.raw()) }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    /// By name, whatever the case of the letters.
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|t| t.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<String> = Self::ALL.iter().map(|t| t.name()).collect();
            let message = format!("type_from_name: no type '{name}': there are: {}", known.join(", "));
            Error::new(1, message, Vec::new())
        })
    }
}
