//! Calls of C functions that can fail: status, error and handles become `Result`s.

use crate::{Error, Result};
use std::ffi::{c_char, CStr, CString};
use std::ptr::NonNull;
use tensorlib_sys as sys;

fn fresh_error() -> sys::tl_error {
    sys::tl_error {
        struct_size: std::mem::size_of::<sys::tl_error>(),
        code: sys::TL_STATUS_OK,
        message: [0; 256],
        text: 0,
    }
}

fn to_error(err: &sys::tl_error, code: i32, shapes: Vec<Vec<i64>>) -> Error {
    // SAFETY: the error is valid; the buffer has as many bytes as said.
    let message = sized_text(|buffer, size| unsafe { sys::tl_error_text(err, buffer, size) });
    Error::new(code, message, shapes)
}

/// Calls `f` with an error to fill in; the returned status decides between `Ok` and that error.
pub(crate) fn check(f: impl FnOnce(*mut sys::tl_error) -> sys::tl_status) -> Result<()> {
    check_of(Vec::new, f)
}

/// [`check`] of an operation with operands of these shapes, which the error holds.
pub(crate) fn check_of(
    shapes: impl FnOnce() -> Vec<Vec<i64>>,
    f: impl FnOnce(*mut sys::tl_error) -> sys::tl_status,
) -> Result<()> {
    let mut err = fresh_error();
    match f(&mut err) {
        sys::TL_STATUS_OK => Ok(()),
        status => Err(to_error(&err, status.0, shapes())),
    }
}

/// Checks that the linked library speaks this crate's ABI; with the feature `system` the library is found at
/// run time.
///
/// # Errors
/// [`Error::Unavailable`] for another major version, or an older minor one.
pub(crate) fn check_abi() -> Result<()> {
    // SAFETY: no arguments.
    let found = unsafe { sys::tl_abi_version() };
    if found >> 16 == sys::TL_ABI_VERSION >> 16 && found >= sys::TL_ABI_VERSION {
        return Ok(());
    }
    let message = format!(
        "tensorlib: the library's ABI is {}.{}: {}.{} or a later minor version is valid",
        found >> 16,
        found & 0xffff,
        sys::TL_ABI_VERSION >> 16,
        sys::TL_ABI_VERSION & 0xffff
    );
    Err(Error::new(sys::TL_STATUS_UNAVAILABLE.0, message, Vec::new()))
}

/// The handle that a successful call returned.
///
/// # Errors
/// [`Error::Internal`] for NULL, which no successful call returns.
pub(crate) fn handle<T>(ptr: *mut T) -> Result<NonNull<T>> {
    NonNull::new(ptr).ok_or_else(|| {
        let message = "internal error: a call succeeded without a result".to_string();
        Error::new(sys::TL_STATUS_INTERNAL.0, message, Vec::new())
    })
}

/// Takes a context's first constructor error.
///
/// # Safety
/// `ctx` must be a live context, and the caller must hold the lock under which the constructor failed.
pub(crate) unsafe fn take_constructor_error(ctx: *mut sys::tl_context, shapes: Vec<Vec<i64>>) -> Error {
    let mut err = fresh_error();
    // SAFETY: as the caller promises; err is a valid error struct.
    let status = unsafe { sys::tl_context_error(ctx, &mut err) };
    to_error(&err, status.0, shapes)
}

/// A C string of the text up to its first NUL.
pub(crate) fn until_nul(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Copies a static string of the engine.
///
/// # Safety
/// `text` must be NULL or a NUL-terminated string that lives for the call.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, and as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Reads a list from a function that returns its length and writes it into a buffer. The list may grow between
/// the two calls.
pub(crate) fn listed(mut write: impl FnMut(*mut *mut sys::tl_tensor, usize) -> usize) -> Vec<*mut sys::tl_tensor> {
    let mut list = Vec::new();
    loop {
        let n = write(list.as_mut_ptr(), list.len());
        if n <= list.len() {
            list.truncate(n);
            return list;
        }
        list.resize(n, std::ptr::null_mut());
    }
}

/// Reads a text from a function that returns its length and writes it into a buffer.
pub(crate) fn sized_text(mut write: impl FnMut(*mut c_char, usize) -> usize) -> String {
    let mut buffer = vec![0u8; 4096];
    let mut length = write(buffer.as_mut_ptr().cast(), buffer.len());
    while length >= buffer.len() {
        buffer.resize(length + 1, 0);
        length = write(buffer.as_mut_ptr().cast(), buffer.len());
    }
    buffer.truncate(length);
    String::from_utf8_lossy(&buffer).into_owned()
}
