//! # Storage types
//!
//! How elements are stored. The numbers are those of GGUF, and from 1000 on those of types that GGUF does not have. Later versions add types: ask for a type's traits, or
//! iterate with `tl_type_at`, instead of listing numbers. Quantised types store rows of whole blocks only.
//! docs/formats.md says which type suits which purpose.

use crate::{tl_error, tl_status};
use core::ffi::c_char;

/// A storage type, by its number.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tl_type(pub i32);

/// IEEE 754 binary32.
pub const TL_TYPE_F32: tl_type = tl_type(0);
/// IEEE 754 binary16.
pub const TL_TYPE_F16: tl_type = tl_type(1);
/// 8-bit signed integer.
pub const TL_TYPE_I8: tl_type = tl_type(24);
/// 16-bit signed integer.
pub const TL_TYPE_I16: tl_type = tl_type(25);
/// 32-bit signed integer.
pub const TL_TYPE_I32: tl_type = tl_type(26);
/// 64-bit signed integer.
pub const TL_TYPE_I64: tl_type = tl_type(27);
/// IEEE 754 binary64.
pub const TL_TYPE_F64: tl_type = tl_type(28);
/// The upper half of an F32: 8 exponent bits, 7 fraction bits.
pub const TL_TYPE_BF16: tl_type = tl_type(30);
/// 4-bit codes around zero, an F16 scale per 32: 4.5 bits an element.
pub const TL_TYPE_Q4_0: tl_type = tl_type(2);
/// 4-bit codes, an F16 step and minimum per 32: 5 bits.
pub const TL_TYPE_Q4_1: tl_type = tl_type(3);
/// 5-bit codes around zero, an F16 scale per 32: 5.5 bits.
pub const TL_TYPE_Q5_0: tl_type = tl_type(6);
/// 5-bit codes, an F16 step and minimum per 32: 6 bits.
pub const TL_TYPE_Q5_1: tl_type = tl_type(7);
/// 8-bit codes, an F16 scale per 32: 8.5 bits.
pub const TL_TYPE_Q8_0: tl_type = tl_type(8);
/// Q8_0 with the sum of its codes; for activations only.
pub const TL_TYPE_Q8_1: tl_type = tl_type(9);
/// 2-bit codes, 4-bit scales and minimums per 16 of 256: 2.625 bits.
pub const TL_TYPE_Q2_K: tl_type = tl_type(10);
/// 3-bit codes, 6-bit scales per 16 of 256: 3.4375 bits.
pub const TL_TYPE_Q3_K: tl_type = tl_type(11);
/// 4-bit codes, 6-bit scales and minimums per 32 of 256: 4.5 bits.
pub const TL_TYPE_Q4_K: tl_type = tl_type(12);
/// 5-bit codes, 6-bit scales and minimums per 32 of 256: 5.5 bits.
pub const TL_TYPE_Q5_K: tl_type = tl_type(13);
/// 6-bit codes, 8-bit scales per 16 of 256: 6.5625 bits.
pub const TL_TYPE_Q6_K: tl_type = tl_type(14);
/// 8-bit codes, an F32 scale per 256; for activations only.
pub const TL_TYPE_Q8_K: tl_type = tl_type(15);
/// Runs of 8 from a grid of 256: 2.0625 bits.
pub const TL_TYPE_IQ2_XXS: tl_type = tl_type(16);
/// Runs of 8 from a grid of 512: 2.3125 bits.
pub const TL_TYPE_IQ2_XS: tl_type = tl_type(17);
/// Runs of 4 from a grid of 256: 3.0625 bits.
pub const TL_TYPE_IQ3_XXS: tl_type = tl_type(18);
/// Runs of 8 from a grid of 2048 of -1, 0, 1: 1.5625 bits.
pub const TL_TYPE_IQ1_S: tl_type = tl_type(19);
/// 4-bit codes into a table, an F16 scale per 32: 4.5 bits.
pub const TL_TYPE_IQ4_NL: tl_type = tl_type(20);
/// Runs of 4 from a grid of 512: 3.4375 bits.
pub const TL_TYPE_IQ3_S: tl_type = tl_type(21);
/// Runs of 8 from a grid of 1024: 2.5625 bits.
pub const TL_TYPE_IQ2_S: tl_type = tl_type(22);
/// IQ4_NL's codes, 6-bit scales per 32 of 256: 4.25 bits.
pub const TL_TYPE_IQ4_XS: tl_type = tl_type(23);
/// IQ1_S's grid, 3-bit scales per 16 of 256: 1.75 bits.
pub const TL_TYPE_IQ1_M: tl_type = tl_type(29);
/// -1, 0, 1, five digits a byte, an F16 scale per 256: 1.6875 bits.
pub const TL_TYPE_TQ1_0: tl_type = tl_type(34);
/// -1, 0, 1, two bits each, an F16 scale per 256: 2.0625 bits.
pub const TL_TYPE_TQ2_0: tl_type = tl_type(35);
/// 4-bit floats, a power of two per 32: 4.25 bits (OCP Microscaling).
pub const TL_TYPE_MXFP4: tl_type = tl_type(39);
/// 4-bit floats, an 8-bit float as the scale of each 16: 4.5 bits.
pub const TL_TYPE_NVFP4: tl_type = tl_type(40);
/// Signs, an F16 scale per 128: 1.125 bits.
pub const TL_TYPE_Q1_0: tl_type = tl_type(41);
/// -1, 0, 1, 2 in two bits, an F16 scale per 64: 2.25 bits.
pub const TL_TYPE_Q2_0: tl_type = tl_type(42);
/// 8-bit unsigned integer.
pub const TL_TYPE_U8: tl_type = tl_type(1000);
/// A truth value: a byte that is 0 or 1. Whatever is not 0 converts to 1. `tl_tensor_write` refuses other bytes, and
/// memory that is mapped for writing must not be given any.
pub const TL_TYPE_BOOL: tl_type = tl_type(1001);

/// What a type may be used for.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tl_kind(pub i32);

/// A plain float.
pub const TL_KIND_FLOATING: tl_kind = tl_kind(0);
/// An integer, or BOOL.
pub const TL_KIND_INTEGER: tl_kind = tl_kind(1);
/// A quantised type for weights.
pub const TL_KIND_WEIGHT: tl_kind = tl_kind(2);
/// A quantised type that products convert activations to; no operand has it.
pub const TL_KIND_ACTIVATION: tl_kind = tl_kind(3);

extern "C" {
    /// Elements per block, 1 for plain types; 0 for an unknown type. Any thread. Since 0.1.
    pub fn tl_type_block_size(r#type: tl_type) -> i64;
    /// Bytes per block; 0 for an unknown type. Any thread. Since 0.1.
    pub fn tl_type_size(r#type: tl_type) -> usize;
    /// The type's name, `"f32"`; NULL for an unknown type. Static storage, not to be freed. Any thread. Since 0.1.
    pub fn tl_type_name(r#type: tl_type) -> *const c_char;
    /// What the type may be used for; -1 for an unknown type. Any thread. Since 0.1.
    pub fn tl_type_kind(r#type: tl_type) -> tl_kind;
    /// The type that the reference implementation rounds activations to in products with weights of this type, for
    /// comparisons with it; the type itself for plain types and activations, -1 for an unknown type. Products of
    /// this library round as tl_mul_mat() says, whatever the partner. Any thread. Since 0.1.
    pub fn tl_type_partner(r#type: tl_type) -> tl_type;
    /// The number of types. Any thread. Since 0.1.
    pub fn tl_type_count() -> usize;
    /// The type at an index below `tl_type_count`, in the order of their numbers; -1 beyond. Any thread. Since 0.1.
    pub fn tl_type_at(index: usize) -> tl_type;
    /// Finds a type by its name; upper and lower case are equal. `name` and `out` must not be NULL.
    /// TL_STATUS_INVALID_ARGUMENT: one is NULL, or there is no such type (the message lists the nearest). Any
    /// thread. Since 0.1.
    pub fn tl_type_from_name(name: *const c_char, out: *mut tl_type, err: *mut tl_error) -> tl_status;
}
