//! # Writing GGUF files
//!
//! First declare keys and tensors, then write the data in portions. The file gets its name when it is complete.

use crate::{tl_error, tl_gguf, tl_gguf_type, tl_status, tl_tensor, tl_type};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// A file being written. tl_gguf_writer_finish() gives it its name in one step, replacing an existing file; until then
/// nobody sees it under that name, and a process that ends earlier leaves the target unchanged. On systems that cannot
/// create files without names, such a process leaves a file .tensorlib-*.tmp in the target's folder.
///
/// Lifetime: from tl_gguf_writer_create() until tl_gguf_writer_free(). A writer keeps the contexts of added tensors
/// until it has finished.
///
/// Threads: one caller at a time.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_gguf_writer {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Options for writing a file. Fill it with tl_gguf_writer_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_gguf_writer_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// The version of the format: 2 or 3; 0 = 3.
    pub version: u32,
    /// The alignment of tensors: their offsets become multiples of it. A power of two, at least 8; 0 = 32.
    pub alignment: u32,
    /// The most bytes per file: more data go to further shards, NAME-00001-of-00003.gguf for the path NAME.gguf. No
    /// tensor is split, so a file with one tensor may be larger. 0 = one file.
    pub split_size: u64,
}

extern "C" {
    /// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
    /// params is not shared. Since 0.1.
    pub fn tl_gguf_writer_params_init(params: *mut tl_gguf_writer_params, struct_size: usize);

    /// Begins a file.
    ///
    /// `path` must not be NULL. `params` may be NULL for the defaults. `out` must not be NULL; it receives the writer, which
    /// the caller frees with tl_gguf_writer_free(), or NULL on failure.
    ///
    /// TL_STATUS_IO: no file can be made in that folder (the message has path and reason). TL_STATUS_INVALID_ARGUMENT:
    /// a pointer is NULL, the path is empty, or params are out of range. TL_STATUS_OUT_OF_MEMORY. Since 0.1.
    pub fn tl_gguf_writer_create(
        path: *const c_char,
        params: *const tl_gguf_writer_params,
        out: *mut *mut tl_gguf_writer,
        err: *mut tl_error,
    ) -> tl_status;

    /// Sets a key to a value of this type. Names are UTF-8 of 1 to 65535 bytes, and copied.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL; the key is already set, has an invalid name, or belongs to the
    /// writer (general.alignment and split.*, which params set); data were already written, or the writer has finished
    /// or failed. All setters return these statuses. Since 0.1.
    pub fn tl_gguf_writer_set_u8(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: u8,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_i8(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: i8,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_u16(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: u16,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_i16(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: i16,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_u32(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: u32,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_i32(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: i32,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_f32(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: f32,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_bool(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: bool,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_u64(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: u64,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_i64(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: i64,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_gguf_writer_set_u8() for this type. Since 0.1.
    pub fn tl_gguf_writer_set_f64(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        value: f64,
        err: *mut tl_error,
    ) -> tl_status;
    /// Sets a key to a string of `size` bytes, which are copied; `text` may be NULL if size is 0. Otherwise as
    /// tl_gguf_writer_set_u8(). Since 0.1.
    pub fn tl_gguf_writer_set_string(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        text: *const c_char,
        size: usize,
        err: *mut tl_error,
    ) -> tl_status;
    /// Sets a key to an array of `n` numbers or bools (bytes of 0 or 1) of this type, which are copied; `data` may be
    /// NULL if n is 0. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
    pub fn tl_gguf_writer_set_array(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        r#type: tl_gguf_type,
        data: *const c_void,
        n: u64,
        err: *mut tl_error,
    ) -> tl_status;
    /// Sets a key to an array of `n` strings, which are copied. `sizes` has their lengths in bytes, or is NULL if each
    /// ends with a NUL. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
    pub fn tl_gguf_writer_set_string_array(
        writer: *mut tl_gguf_writer,
        key: *const c_char,
        texts: *const *const c_char,
        sizes: *const usize,
        n: usize,
        err: *mut tl_error,
    ) -> tl_status;
    /// Copies all keys of a file, including nested arrays, except those that are already set and those that belong to
    /// the writer. `gguf` is not kept. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
    pub fn tl_gguf_writer_copy_kv(writer: *mut tl_gguf_writer, gguf: *const tl_gguf, err: *mut tl_error) -> tl_status;

    /// Adds a tensor under its own name, 1 to 64 bytes of UTF-8. Its data are read later, by tl_gguf_writer_finish() or
    /// by tl_gguf_writer_write_data() for a later tensor, so it may still be computed until then. The writer keeps its
    /// context until it has finished.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL; the name is already used or invalid; data were already written,
    /// or the writer has finished or failed. Since 0.1.
    pub fn tl_gguf_writer_add_tensor(
        writer: *mut tl_gguf_writer,
        tensor: *mut tl_tensor,
        err: *mut tl_error,
    ) -> tl_status;
    /// Declares a tensor whose data tl_gguf_writer_write_data() supplies. `ne` has n_dims values, 0 to 4, and may be
    /// NULL for 0 dimensions: a scalar. Otherwise as tl_gguf_writer_add_tensor(); TL_STATUS_INVALID_ARGUMENT also for a
    /// shape or type that tl_tensor_new() refuses. Since 0.1.
    pub fn tl_gguf_writer_declare_tensor(
        writer: *mut tl_gguf_writer,
        name: *const c_char,
        r#type: tl_type,
        n_dims: i32,
        ne: *const i64,
        err: *mut tl_error,
    ) -> tl_status;
    /// Writes the next `size` bytes of the first declared tensor that is incomplete. Tensors are written in the order
    /// of declaration, each in any number of portions. After the first call, keys and tensors can no longer be added.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: data is NULL, or there are more bytes than the tensor lacks (nothing was written);
    /// or a tensor added before it cannot be read yet. TL_STATUS_IO: the file could not be written (for example, no
    /// space is left); the writer has failed. TL_STATUS_BUSY: an added tensor is in use; the call may be repeated.
    /// Since 0.1.
    pub fn tl_gguf_writer_write_data(
        writer: *mut tl_gguf_writer,
        data: *const c_void,
        size: usize,
        err: *mut tl_error,
    ) -> tl_status;

    /// Writes the remaining data, flushes all files to the disk and gives them their names, the first shard last.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: a declared tensor lacks data, or an added one cannot be read (it is not computed).
    /// TL_STATUS_BUSY: an added tensor is in use. The call may be repeated after either. TL_STATUS_IO: as
    /// tl_gguf_writer_write_data(). Since 0.1.
    pub fn tl_gguf_writer_finish(writer: *mut tl_gguf_writer, err: *mut tl_error) -> tl_status;
    /// The number of shards; 0 before data were written, and for NULL. Since 0.1.
    pub fn tl_gguf_writer_n_parts(writer: *const tl_gguf_writer) -> usize;
    /// Frees the writer; NULL is ignored. A writer that has not finished leaves no file. Since 0.1.
    pub fn tl_gguf_writer_free(writer: *mut tl_gguf_writer);
}
