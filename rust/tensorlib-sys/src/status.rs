//! # Status codes, errors and versions
//!
//! Every call that can fail returns a tl_status and takes a caller-owned tl_error, which may be NULL, as its
//! last argument. No input ends the process: invalid arguments, files and device failures return a status
//! with a message.

use core::ffi::c_char;

/// The result of a call: TL_STATUS_OK or the kind of failure. The numbers never change and none is reused;
/// treat an unknown number as a failure.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tl_status(pub i32);

/// Success.
pub const TL_STATUS_OK: tl_status = tl_status(0);
/// An argument is NULL, out of range, unknown or contradicts another one.
pub const TL_STATUS_INVALID_ARGUMENT: tl_status = tl_status(1);
/// The operands' shapes do not fit the operation.
pub const TL_STATUS_SHAPE_MISMATCH: tl_status = tl_status(2);
/// The operands' types do not fit the operation.
pub const TL_STATUS_TYPE_MISMATCH: tl_status = tl_status(3);
/// Operands live on different devices, or their contexts would refer to each other in a cycle.
pub const TL_STATUS_CONTEXT_MISMATCH: tl_status = tl_status(4);
/// The call is valid, but this backend has no kernel for it.
pub const TL_STATUS_UNSUPPORTED: tl_status = tl_status(5);
/// The device, driver or instruction set is missing, or cannot be used from here (a forked child).
pub const TL_STATUS_UNAVAILABLE: tl_status = tl_status(6);
/// A memory limit, a caller's buffer or the machine's memory is exhausted; nothing was changed.
pub const TL_STATUS_OUT_OF_MEMORY: tl_status = tl_status(7);
/// A context is in use by a running graph, an open mapping or another call; try again later.
pub const TL_STATUS_BUSY: tl_status = tl_status(8);
/// A callback stopped the run.
pub const TL_STATUS_ABORTED: tl_status = tl_status(9);
/// The operating system refused a file operation.
pub const TL_STATUS_IO: tl_status = tl_status(10);
/// A file's contents violate its format.
pub const TL_STATUS_FORMAT: tl_status = tl_status(11);
/// The device failed; the backend may be unusable from now on.
pub const TL_STATUS_DEVICE: tl_status = tl_status(12);
/// A defect of this library: please report it with the message.
pub const TL_STATUS_INTERNAL: tl_status = tl_status(13);
/// The ranks of a group disagree, or one of them failed, left or missed the deadline.
pub const TL_STATUS_GROUP: tl_status = tl_status(14);

/// Receives the code and message of a failing call. Owned by the caller; pass NULL to ignore them. Set
/// `struct_size` to `sizeof(tl_error)` first: an error whose struct_size is below 272 (this struct's first
/// size) is not written to. On success the code becomes TL_STATUS_OK and the message empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_error {
    /// Bytes of this struct, set by the caller.
    pub struct_size: usize,
    /// The status that the call returned.
    pub code: tl_status,
    /// UTF-8, NUL-terminated. Names the operation, the shapes or values, and what would be valid. In a
    /// message that is too long, " ... " replaces characters in the middle, and tl_error_text() returns the
    /// whole message.
    pub message: [c_char; 256],
    /// Identifies a shortened message for tl_error_text(); 0 if the message is complete.
    pub text: u32,
}

extern "C" {
    /// Copies as much of an error's whole message as fits into `buf`, with a NUL; `buf` may be NULL. Returns
    /// the length of the whole message without the NUL; 0 for NULL, after a success, and if struct_size is
    /// too small.
    ///
    /// The process keeps the last 64 shortened messages. For an older one, or one that there was no memory
    /// for, this copies `message`. Any thread, including threads other than that of the failed call. Since
    /// 0.1.
    pub fn tl_error_text(err: *const tl_error, buf: *mut c_char, size: usize) -> usize;

    /// The ABI's version: major * 65536 + minor. A program built against this header runs with any library
    /// of the same major and the same or a later minor version: see TL_ABI_VERSION. Any thread. Since 0.1.
    pub fn tl_abi_version() -> u32;

    /// The library's version as text, `"0.1.0"`. Static storage, never NULL, not to be freed. Any
    /// thread. Since 0.1.
    pub fn tl_version() -> *const c_char;

    /// The name of a status, `"TL_STATUS_SHAPE_MISMATCH"`; `"unknown status"` for a number that this library
    /// does not know. Static storage, never NULL, not to be freed. Any thread. Since 0.1.
    pub fn tl_status_name(status: tl_status) -> *const c_char;
}

/// The ABI version that this header describes; compare with tl_abi_version().
pub const TL_ABI_VERSION: u32 = 65536;
