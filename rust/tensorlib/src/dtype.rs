//! Storage types, as values at run time.

use crate::call::check;
use crate::gguf::c_text;
use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;
use tensorlib_sys as sys;

/// How elements are stored. The numbers are those of GGUF, and from 1000 on those of types that GGUF does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
#[allow(non_camel_case_types)] // the names that GGUF gives the types
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
    /// 4-bit codes around zero, an F16 scale per 32: 4.5 bits an element.
    Q4_0 = 2,
    /// 4-bit codes, an F16 step and minimum per 32: 5 bits.
    Q4_1 = 3,
    /// 5-bit codes around zero, an F16 scale per 32: 5.5 bits.
    Q5_0 = 6,
    /// 5-bit codes, an F16 step and minimum per 32: 6 bits.
    Q5_1 = 7,
    /// 8-bit codes, an F16 scale per 32: 8.5 bits.
    Q8_0 = 8,
    /// Q8_0 with the sum of its codes; for activations only.
    Q8_1 = 9,
    /// 2-bit codes, 4-bit scales and minimums per 16 of 256: 2.625 bits.
    Q2_K = 10,
    /// 3-bit codes, 6-bit scales per 16 of 256: 3.4375 bits.
    Q3_K = 11,
    /// 4-bit codes, 6-bit scales and minimums per 32 of 256: 4.5 bits.
    Q4_K = 12,
    /// 5-bit codes, 6-bit scales and minimums per 32 of 256: 5.5 bits.
    Q5_K = 13,
    /// 6-bit codes, 8-bit scales per 16 of 256: 6.5625 bits.
    Q6_K = 14,
    /// 8-bit codes, an F32 scale per 256; for activations only.
    Q8_K = 15,
    /// Runs of 8 from a grid of 256: 2.0625 bits.
    IQ2_XXS = 16,
    /// Runs of 8 from a grid of 512: 2.3125 bits.
    IQ2_XS = 17,
    /// Runs of 4 from a grid of 256: 3.0625 bits.
    IQ3_XXS = 18,
    /// Runs of 8 from a grid of 2048 of -1, 0, 1: 1.5625 bits.
    IQ1_S = 19,
    /// 4-bit codes into a table, an F16 scale per 32: 4.5 bits.
    IQ4_NL = 20,
    /// Runs of 4 from a grid of 512: 3.4375 bits.
    IQ3_S = 21,
    /// Runs of 8 from a grid of 1024: 2.5625 bits.
    IQ2_S = 22,
    /// IQ4_NL's codes, 6-bit scales per 32 of 256: 4.25 bits.
    IQ4_XS = 23,
    /// IQ1_S's grid, 3-bit scales per 16 of 256: 1.75 bits.
    IQ1_M = 29,
    /// -1, 0, 1, five digits a byte, an F16 scale per 256: 1.6875 bits.
    TQ1_0 = 34,
    /// -1, 0, 1, two bits each, an F16 scale per 256: 2.0625 bits.
    TQ2_0 = 35,
    /// 4-bit floats, a power of two per 32: 4.25 bits (OCP Microscaling).
    MXFP4 = 39,
    /// 4-bit floats, an 8-bit float as the scale of each 16: 4.5 bits.
    NVFP4 = 40,
    /// Signs, an F16 scale per 128: 1.125 bits.
    Q1_0 = 41,
    /// -1, 0, 1, 2 in two bits, an F16 scale per 64: 2.25 bits.
    Q2_0 = 42,
    /// 8-bit unsigned integer.
    U8 = 1000,
    /// A truth value: a byte that is 0 or 1. Whatever is not 0 converts to 1.
    Bool = 1001,
}

/// What a type may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A plain float.
    Floating,
    /// An integer, or `Bool`.
    Integer,
    /// A quantised type for weights.
    Weight,
    /// A quantised type that products convert activations to; no operand has it.
    Activation,
}

impl DType {
    /// All types that this version knows.
    pub const ALL: [DType; 37] = [
        DType::F32,
        DType::F16,
        DType::Q4_0,
        DType::Q4_1,
        DType::Q5_0,
        DType::Q5_1,
        DType::Q8_0,
        DType::Q8_1,
        DType::Q2_K,
        DType::Q3_K,
        DType::Q4_K,
        DType::Q5_K,
        DType::Q6_K,
        DType::Q8_K,
        DType::IQ2_XXS,
        DType::IQ2_XS,
        DType::IQ3_XXS,
        DType::IQ1_S,
        DType::IQ4_NL,
        DType::IQ3_S,
        DType::IQ2_S,
        DType::IQ4_XS,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F64,
        DType::IQ1_M,
        DType::BF16,
        DType::TQ1_0,
        DType::TQ2_0,
        DType::MXFP4,
        DType::NVFP4,
        DType::Q1_0,
        DType::Q2_0,
        DType::U8,
        DType::Bool,
    ];

    pub(crate) fn raw(self) -> sys::tl_type {
        sys::tl_type(self as i32)
    }

    pub(crate) fn from_raw(raw: sys::tl_type) -> Self {
        // The engine is built from the same list, so every type that it returns is in it.
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

    /// What the type may be used for.
    pub fn kind(self) -> Kind {
        // SAFETY: any number is allowed.
        match unsafe { sys::tl_type_kind(self.raw()) } {
            sys::TL_KIND_FLOATING => Kind::Floating,
            sys::TL_KIND_INTEGER => Kind::Integer,
            sys::TL_KIND_ACTIVATION => Kind::Activation,
            _ => Kind::Weight,
        }
    }

    /// The type that the reference implementation rounds activations to in products with weights of this type, for
    /// comparisons with it; the type itself for plain types and activations. Products of this library round as
    /// [`Tensor::mul_mat`](crate::Tensor::mul_mat) says, whatever the partner.
    pub fn partner(self) -> DType {
        // SAFETY: any number is allowed.
        DType::from_raw(unsafe { sys::tl_type_partner(self.raw()) })
    }

    /// Bits per element, including scales.
    ///
    /// ```
    /// assert_eq!(tensorlib::DType::Q4_K.bits_per_element(), 4.5);
    /// ```
    pub fn bits_per_element(self) -> f64 {
        self.size() as f64 * 8.0 / self.block_size() as f64
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

    /// Parses a type's name; upper and lower case are equal.
    fn from_str(name: &str) -> Result<Self> {
        let name = c_text("type_from_name: the name has", name.as_bytes())?;
        let mut found = DType::F32.raw();
        // SAFETY: the name ends with a NUL; both live for the call.
        check(|err| unsafe { sys::tl_type_from_name(name.as_ptr(), &mut found, err) })?;
        Ok(DType::from_raw(found))
    }
}
