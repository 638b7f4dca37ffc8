//! # Quantising
//!
//! Conversion of float matrices to any storage type and back, outside of contexts and graphs, as converters of model
//! files need it. A row is a whole number of blocks (tl_type_block_size()) and takes n_per_row / block size *
//! tl_type_size() bytes; rows follow each other without gaps. The same values give the same bytes on every CPU and with
//! any number of threads.

use crate::{tl_backend, tl_error, tl_status, tl_type};
use core::ffi::c_void;

extern "C" {
    /// Encodes `n_rows` rows of `n_per_row` floats as `type`, with a small sum of squared errors. `importance` has
    /// `n_per_row` weights of the columns' squared errors, finite and not negative; NULL stands for ones, and so do
    /// zeros in all columns of a block. `dst` has space for all rows, at any address, and does not overlap `src`. Uses
    /// the calling thread, and the instruction set that TENSORLIB_ISA names.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: the type does not exist, a pointer is NULL (though there are elements), `n_per_row`
    /// is not a multiple of the type's block size, sizes are negative or too large, a weight is invalid, or a value
    /// does not fit the type (quantised types hold finite numbers only): the message has its row and position, and the
    /// contents of `dst` are undefined. TENSORLIB_ISA's errors are those of tl_backend_create(). Any thread. Since 0.1.
    pub fn tl_quantize(
        r#type: tl_type,
        src: *const f32,
        dst: *mut c_void,
        n_rows: i64,
        n_per_row: i64,
        importance: *const f32,
        err: *mut tl_error,
    ) -> tl_status;
    /// tl_quantize() with a backend's threads and instruction set; waits for the backend's turn. `backend` must not be
    /// NULL. Also TL_STATUS_UNSUPPORTED: the backend is not on the CPU; TL_STATUS_BUSY: called from a callback of a
    /// graph that the backend is computing; TL_STATUS_UNAVAILABLE: the process was forked after the backend was made.
    /// Any thread. Since 0.1.
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
    /// Decodes `n` elements of `type` to floats. `src` may lie at any address and does not overlap `dst`. Any bytes are
    /// accepted; scales that are not finite give infinities and NaNs.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: the type does not exist, a pointer is NULL (though `n` is not 0), or `n` is negative
    /// or not a multiple of the type's block size. TENSORLIB_ISA's errors are those of tl_backend_create(). Any thread.
    /// Since 0.1.
    pub fn tl_dequantize(r#type: tl_type, src: *const c_void, dst: *mut f32, n: i64, err: *mut tl_error) -> tl_status;
}
