//! # Storage types
//!
//! How elements are stored. The numbers are GGUF's. More types join in later versions; ask for traits instead
//! of listing numbers.

use crate::{tl_error, tl_status};
use core::ffi::c_char;

/// A storage type: GGUF's number for it.
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

extern "C" {
    /// Elements per block, 1 for plain types; 0 where there is no such type. Any thread. Since 0.1.
    pub fn tl_type_block_size(r#type: tl_type) -> i64;
    /// Bytes per block; 0 where there is no such type. Any thread. Since 0.1.
    pub fn tl_type_size(r#type: tl_type) -> usize;
    /// The type's name, `"f32"`; NULL where there is no such type. Static storage, not to be freed. Any
    /// thread. Since 0.1.
    pub fn tl_type_name(r#type: tl_type) -> *const c_char;
    /// Finds a type by its name, whatever the case of its letters. `name` and `out` must not be NULL.
    /// TL_STATUS_INVALID_ARGUMENT: one is NULL, or there is no such type (the message lists all). Any
    /// thread. Since 0.1.
    pub fn tl_type_from_name(name: *const c_char, out: *mut tl_type, err: *mut tl_error) -> tl_status;
}
