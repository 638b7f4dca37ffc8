//! # GGUF files
//!
//! Metadata and tensors in one file, the usual format for distributing models. Versions 2 and 3, little-endian.

use crate::{tl_context, tl_error, tl_status, tl_tensor, tl_type};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// An opened and checked file: every length, count and offset in it lies inside its bytes. Immutable.
///
/// A file may be split into shards, NAME-00001-of-00003.gguf: opening any of them opens all, with the metadata of the
/// first.
///
/// Lifetime: from tl_gguf_open() until tl_gguf_free(). Names, texts and data that the functions below return live as
/// long. Tensors made by tl_gguf_tensor() keep the bytes that they need alive.
///
/// A mapped file must not be written to or truncated while it is open: reads would return undefined contents, and
/// touching a truncated page ends the process. tl_gguf_open_copy() reads the file once instead.
///
/// Threads: any function may be called from any thread. Getters accept NULL.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_gguf {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The type of a metadata value, by its GGUF number.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tl_gguf_type(pub i32);

/// 8-bit unsigned integer.
pub const TL_GGUF_TYPE_U8: tl_gguf_type = tl_gguf_type(0);
/// 8-bit signed integer.
pub const TL_GGUF_TYPE_I8: tl_gguf_type = tl_gguf_type(1);
/// 16-bit unsigned integer.
pub const TL_GGUF_TYPE_U16: tl_gguf_type = tl_gguf_type(2);
/// 16-bit signed integer.
pub const TL_GGUF_TYPE_I16: tl_gguf_type = tl_gguf_type(3);
/// 32-bit unsigned integer.
pub const TL_GGUF_TYPE_U32: tl_gguf_type = tl_gguf_type(4);
/// 32-bit signed integer.
pub const TL_GGUF_TYPE_I32: tl_gguf_type = tl_gguf_type(5);
/// IEEE 754 binary32.
pub const TL_GGUF_TYPE_F32: tl_gguf_type = tl_gguf_type(6);
/// A byte that is 0 or 1.
pub const TL_GGUF_TYPE_BOOL: tl_gguf_type = tl_gguf_type(7);
/// A length and that many bytes, usually UTF-8.
pub const TL_GGUF_TYPE_STRING: tl_gguf_type = tl_gguf_type(8);
/// Elements of one type, which may be arrays.
pub const TL_GGUF_TYPE_ARRAY: tl_gguf_type = tl_gguf_type(9);
/// 64-bit unsigned integer.
pub const TL_GGUF_TYPE_U64: tl_gguf_type = tl_gguf_type(10);
/// 64-bit signed integer.
pub const TL_GGUF_TYPE_I64: tl_gguf_type = tl_gguf_type(11);
/// IEEE 754 binary64.
pub const TL_GGUF_TYPE_F64: tl_gguf_type = tl_gguf_type(12);

extern "C" {
    /// Opens a file by mapping it: its pages are loaded when they are touched.
    ///
    /// `path` must not be NULL. `out` must not be NULL; it receives the file, which the caller frees with
    /// tl_gguf_free(), or NULL on failure.
    ///
    /// TL_STATUS_IO: the file or another shard of it cannot be opened (the message has path and reason), or is a folder
    /// or a device. TL_STATUS_FORMAT: the file is empty, its contents violate the format (the message says how and at
    /// which byte), or its shards do not match. TL_STATUS_INVALID_ARGUMENT: path or out is NULL.
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_gguf_open(path: *const c_char, out: *mut *mut tl_gguf, err: *mut tl_error) -> tl_status;

    /// tl_gguf_open() for a file that is read into memory at once and may change afterwards. Since 0.1.
    pub fn tl_gguf_open_copy(path: *const c_char, out: *mut *mut tl_gguf, err: *mut tl_error) -> tl_status;

    /// tl_gguf_open() for bytes in memory, which are not copied: they must stay valid and unchanged until the handle
    /// and every context with tensors over them are freed. `data` may have any alignment, and be NULL if size is 0.
    /// Other shards of a split file are not looked for. Statuses as tl_gguf_open(), except TL_STATUS_IO. Since 0.1.
    pub fn tl_gguf_open_memory(
        data: *const c_void,
        size: usize,
        out: *mut *mut tl_gguf,
        err: *mut tl_error,
    ) -> tl_status;

    /// tl_gguf_open_memory() for bytes that are copied: the caller may free them after the call. Since 0.1.
    pub fn tl_gguf_open_memory_copy(
        data: *const c_void,
        size: usize,
        out: *mut *mut tl_gguf,
        err: *mut tl_error,
    ) -> tl_status;

    /// Releases the handle; NULL is ignored. The bytes stay as long as a context has tensors over them. Any thread.
    /// Since 0.1.
    pub fn tl_gguf_free(gguf: *mut tl_gguf);

    /// The format's version, 2 or 3; 0 for NULL. Since 0.1.
    pub fn tl_gguf_version(gguf: *const tl_gguf) -> u32;
    /// The alignment of tensors: their offsets are multiples of it; 0 for NULL. Since 0.1.
    pub fn tl_gguf_alignment(gguf: *const tl_gguf) -> usize;
    /// The number of shards, 1 for a file that is not split; 0 for NULL. Since 0.1.
    pub fn tl_gguf_n_parts(gguf: *const tl_gguf) -> usize;

    /// The number of metadata keys; 0 for NULL. Since 0.1.
    pub fn tl_gguf_n_kv(gguf: *const tl_gguf) -> usize;
    /// A key's name, UTF-8; NULL if index is not below tl_gguf_n_kv(). Lives as long as gguf. Since 0.1.
    pub fn tl_gguf_key(gguf: *const tl_gguf, index: usize) -> *const c_char;
    /// The index of a key, or -1 if it does not exist. Since 0.1.
    pub fn tl_gguf_find(gguf: *const tl_gguf, key: *const c_char) -> i64;
    /// The type of a key's value; -1 for an invalid index. Since 0.1.
    pub fn tl_gguf_kv_type(gguf: *const tl_gguf, index: usize) -> tl_gguf_type;
    /// The type of an array's elements; -1 for an invalid index or a value that is not an array. Since 0.1.
    pub fn tl_gguf_array_type(gguf: *const tl_gguf, index: usize) -> tl_gguf_type;
    /// The number of an array's elements; 0 for an invalid index or a value that is not an array. Since 0.1.
    pub fn tl_gguf_array_n(gguf: *const tl_gguf, index: usize) -> u64;

    /// Gets a value of any integer type that is 0 or more, as an unsigned integer.
    ///
    /// `out` must not be NULL; it is untouched on failure. TL_STATUS_TYPE_MISMATCH: the value is not such a number (the
    /// message has the key, its type and what would be valid). TL_STATUS_INVALID_ARGUMENT: gguf or out is NULL, or the
    /// index is invalid. All getters return these statuses. Any thread. Since 0.1.
    pub fn tl_gguf_get_u64(gguf: *const tl_gguf, index: usize, out: *mut u64, err: *mut tl_error) -> tl_status;
    /// Gets a value of any integer type below 2^63, as a signed integer. Otherwise as tl_gguf_get_u64(). Since 0.1.
    pub fn tl_gguf_get_i64(gguf: *const tl_gguf, index: usize, out: *mut i64, err: *mut tl_error) -> tl_status;
    /// Gets a float, or an integer that a double represents exactly. Otherwise as tl_gguf_get_u64(). Since 0.1.
    pub fn tl_gguf_get_f64(gguf: *const tl_gguf, index: usize, out: *mut f64, err: *mut tl_error) -> tl_status;
    /// Gets a bool; numbers do not count as bools. Otherwise as tl_gguf_get_u64(). Since 0.1.
    pub fn tl_gguf_get_bool(gguf: *const tl_gguf, index: usize, out: *mut bool, err: *mut tl_error) -> tl_status;
    /// Gets a string: a pointer to its first byte, with a NUL after its last, and its number of bytes. It may contain
    /// any bytes, including NULs. `out` must not be NULL, `size` may be. Lives as long as gguf. Otherwise as
    /// tl_gguf_get_u64(). Since 0.1.
    pub fn tl_gguf_get_string(
        gguf: *const tl_gguf,
        index: usize,
        out: *mut *const c_char,
        size: *mut usize,
        err: *mut tl_error,
    ) -> tl_status;

    /// tl_gguf_get_u64() for one element of an array. TL_STATUS_INVALID_ARGUMENT also if the element does not exist.
    /// Since 0.1.
    pub fn tl_gguf_array_u64(
        gguf: *const tl_gguf,
        index: usize,
        element: u64,
        out: *mut u64,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_get_i64() for one element of an array. Since 0.1.
    pub fn tl_gguf_array_i64(
        gguf: *const tl_gguf,
        index: usize,
        element: u64,
        out: *mut i64,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_get_f64() for one element of an array. Since 0.1.
    pub fn tl_gguf_array_f64(
        gguf: *const tl_gguf,
        index: usize,
        element: u64,
        out: *mut f64,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_get_bool() for one element of an array. Since 0.1.
    pub fn tl_gguf_array_bool(
        gguf: *const tl_gguf,
        index: usize,
        element: u64,
        out: *mut bool,
        err: *mut tl_error,
    ) -> tl_status;
    /// Gets one string of an array: a pointer to its first byte, and its number of bytes. Unlike a string of
    /// tl_gguf_get_string() it lies in the file without a NUL at its end, so `size` must not be NULL either. Since 0.1.
    pub fn tl_gguf_array_string(
        gguf: *const tl_gguf,
        index: usize,
        element: u64,
        out: *mut *const c_char,
        size: *mut usize,
        err: *mut tl_error,
    ) -> tl_status;

    /// Copies `n` elements of an array of numbers or bools, starting at `first`, to `out`, which may be NULL if n is 0.
    /// TL_STATUS_TYPE_MISMATCH: `type` is not exactly that of the elements, or not that of a number or bool.
    /// TL_STATUS_INVALID_ARGUMENT: the range ends after the last element. Any thread. Since 0.1.
    pub fn tl_gguf_array_read(
        gguf: *const tl_gguf,
        index: usize,
        r#type: tl_gguf_type,
        first: u64,
        n: u64,
        out: *mut c_void,
        err: *mut tl_error,
    ) -> tl_status;

    /// A value's bytes as stored in the file, at any alignment, and their number: the elements of an array, including
    /// the headers (type u32, count u64) of nested arrays; the characters of a string; otherwise the value. NULL and 0
    /// for an invalid index. `size` may be NULL. Lives as long as gguf. Since 0.1.
    pub fn tl_gguf_kv_data(gguf: *const tl_gguf, index: usize, size: *mut usize) -> *const c_void;

    /// The number of tensors in all shards; 0 for NULL. Since 0.1.
    pub fn tl_gguf_n_tensors(gguf: *const tl_gguf) -> usize;
    /// A tensor's name, UTF-8; NULL if index is not below tl_gguf_n_tensors(). Lives as long as gguf. Since 0.1.
    pub fn tl_gguf_tensor_name(gguf: *const tl_gguf, index: usize) -> *const c_char;
    /// The index of a tensor, or -1 if it does not exist. Since 0.1.
    pub fn tl_gguf_tensor_find(gguf: *const tl_gguf, name: *const c_char) -> i64;
    /// A tensor's element type; -1 for an invalid index. Since 0.1.
    pub fn tl_gguf_tensor_type(gguf: *const tl_gguf, index: usize) -> tl_type;
    /// A tensor's number of dimensions in the file, 0 to 4; 0 for an invalid index. Since 0.1.
    pub fn tl_gguf_tensor_n_dims(gguf: *const tl_gguf, index: usize) -> i32;
    /// A tensor's elements in dimension dim; 1 for dimensions that it does not use; 0 for an invalid index, or a dim
    /// that is not 0 to 3. Since 0.1.
    pub fn tl_gguf_tensor_ne(gguf: *const tl_gguf, index: usize, dim: i32) -> i64;
    /// Bytes of a tensor's data; 0 for an invalid index. Since 0.1.
    pub fn tl_gguf_tensor_nbytes(gguf: *const tl_gguf, index: usize) -> usize;
    /// The offset of a tensor's data, in bytes from the first tensor byte of its shard; 0 for an invalid index. Since
    /// 0.1.
    pub fn tl_gguf_tensor_offset(gguf: *const tl_gguf, index: usize) -> u64;
    /// A tensor's bytes in the file, tl_gguf_tensor_nbytes() of them, at an alignment that depends on the file; NULL
    /// for an invalid index. Read-only. Lives as long as gguf. Since 0.1.
    pub fn tl_gguf_tensor_data(gguf: *const tl_gguf, index: usize) -> *const c_void;

    /// Makes a leaf with the contents and the name of one of the file's tensors. In host memory the leaf uses the
    /// file's bytes, which the context keeps until it is reset or its memory is freed, and only the tensor object
    /// counts against the limit. On a device, and if kernels cannot use the data at their address in the file, the leaf
    /// is a copy. In a no_alloc context it has data too. Each call makes a new leaf.
    ///
    /// The leaf is constant from the start: it can be read and computed with like any leaf, but writing to it or to a
    /// view of it, and operations that target it, are errors.
    ///
    /// Returns NULL on failure (see tl_context_error()): TL_STATUS_INVALID_ARGUMENT: gguf or name is NULL, or the
    /// tensor does not exist; TL_STATUS_OUT_OF_MEMORY; TL_STATUS_DEVICE. The context owns the tensor. Any thread. Since
    /// 0.1.
    pub fn tl_gguf_tensor(gguf: *mut tl_gguf, ctx: *mut tl_context, name: *const c_char) -> *mut tl_tensor;
}
