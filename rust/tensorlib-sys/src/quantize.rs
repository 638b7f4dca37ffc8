//! # Quantising
//!
//! Matrices of floats to any storage type and back, outside of contexts and graphs: what converts model files.
//! A row is a whole number of blocks (tl_type_block_size()) and takes n_per_row / block size * tl_type_size()
//! bytes; rows follow each other without gaps. The same values give the same bytes on every CPU and with any
//! number of threads.

use crate::{tl_backend, tl_error, tl_status, tl_type};
use core::ffi::c_void;

extern "C" {
    /// Stores `n_rows` rows of `n_per_row` floats as `type`, with a small sum of squared errors. `importance`: NULL,
    /// or `n_per_row` weights of the columns' squared errors, finite and not negative; NULL is as ones, and so
    /// are zeros in all columns of a block. `dst` has room for all rows, at any address, and does not overlap `src`. Uses
    /// the calling thread, and the instruction set that TENSORLIB_ISA asks for.
    /// TL_STATUS_INVALID_ARGUMENT: no such type, a pointer is NULL (though there are elements), `n_per_row` is no
    /// multiple of the type's block size, sizes are negative or too large, a weight is not valid, or a value
    /// does not fit the type (types with blocks hold finite numbers only): the message has its row and position, and
    /// what `dst` holds is undefined. TENSORLIB_ISA's errors are those of tl_backend_create(). Any thread.
    /// Since 0.1.
    pub fn tl_quantize(
        r#type: tl_type,
        src: *const f32,
        dst: *mut c_void,
        n_rows: i64,
        n_per_row: i64,
        importance: *const f32,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_quantize() with a backend's threads and instruction set; waits while it computes. `backend` must
    /// not be NULL. Also TL_STATUS_UNSUPPORTED: the backend is not on the CPU; TL_STATUS_BUSY: called from
    /// a callback of a graph that the backend is computing; TL_STATUS_UNAVAILABLE: the process was forked
    /// after the backend was made. Any thread. Since 0.1.
    pub fn tl_backend_quantize(
        backend: *mut tl_backend,
        r#type: tl_type,
        src: *const f32,
        dst: *mut c_void,
        n_rows: i64,
        n_per_row: i64,
        importance: *const f32,
        err: *mut tl_error,
    ) -> tl_status;
    /// Reads `n` elements of `type` as floats; `src` may lie at any address and does not overlap `dst`. Any bytes
    /// are read; scales that are not finite give infinities and NaNs.
    /// TL_STATUS_INVALID_ARGUMENT: no such type, a pointer is NULL (though `n` is not 0), or `n` is negative or no
    /// multiple of the type's block size. TENSORLIB_ISA's errors are those of tl_backend_create(). Any
    /// thread. Since 0.1.
    pub fn tl_dequantize(r#type: tl_type, src: *const c_void, dst: *mut f32, n: i64, err: *mut tl_error) -> tl_status;
}
