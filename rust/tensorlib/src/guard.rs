//! Guards: a tensor's data in place, under the context's run lock.

use crate::call::{check, handle};
use crate::{Element, Error, Result, Tensor};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use tensorlib_sys as sys;

/// One mapping, which ends when it is dropped.
struct Mapping<'a, T> {
    tensor: &'a Tensor,
    access: sys::tl_access,
    data: NonNull<T>,
    len: usize,
}

impl<'a, T: Element> Mapping<'a, T> {
    fn new(tensor: &'a Tensor, access: sys::tl_access) -> Result<Self> {
        tensor.check_elements::<T>("tensor_map", tensor.n_elements())?;
        if !tensor.is_contiguous() {
            let message = format!(
                "tensor_map: {:?} with strides {:?} is not contiguous: use to_vec, or cont first",
                tensor.shape(),
                tensor.strides()
            );
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, vec![tensor.shape()]));
        }
        let mut out = ptr::null_mut();
        // SAFETY: the tensor is live; out is valid.
        check(|err| unsafe { sys::tl_tensor_map(tensor.raw(), access, &mut out, err) })?;
        let data = handle(out.cast())?;
        let mapping = Self { tensor, access, data, len: tensor.n_elements() };
        // Tensors start at multiples of 64 bytes and views at whole elements, so only memory that others mapped can
        // be misaligned. A slice must never be made of that.
        if !mapping.data.as_ptr().is_aligned() {
            let message = "tensor_map: the data is not aligned for its elements: use to_vec".to_string();
            return Err(Error::new(sys::TL_STATUS_UNSUPPORTED.0, message, vec![tensor.shape()]));
        }
        // SAFETY: the mapping has as many bytes, each of which was initialised when the context made the memory.
        let bytes = unsafe { std::slice::from_raw_parts(mapping.data.as_ptr().cast(), tensor.nbytes()) };
        if !T::are_valid(bytes) {
            let message = "tensor_map: bytes other than 0 and 1 are no elements of bool: use to_vec".to_string();
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, vec![tensor.shape()]));
        }
        Ok(mapping)
    }
}

impl<T> Drop for Mapping<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the tensor is live, and this ends the mapping that new() made, once.
        unsafe { sys::tl_tensor_unmap(self.tensor.raw(), self.access) }
    }
}

// SAFETY: the mapping is a lock of the engine's that any thread may give back, and a reference to elements, which are
// Send + Sync.
unsafe impl<T: Element> Send for Mapping<'_, T> {}
// SAFETY: the same.
unsafe impl<T: Element> Sync for Mapping<'_, T> {}

/// A tensor's data for reading; derefs to a slice in memory order. See [`Tensor::read_guard`].
///
/// ```
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor([2], &[1., 2.])?;
/// let guard = t.read_guard::<f32>()?;
/// assert_eq!(guard[1], 2.0);
/// drop(guard);
/// drop(t);
/// # Ok::<(), tensorlib::Error>(())
/// ```
/// A guard cannot outlive its tensor:
/// ```compile_fail,E0505
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor([2], &[1., 2.])?;
/// let guard = t.read_guard::<f32>()?;
/// drop(t);
/// assert_eq!(guard[1], 2.0);
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct ReadGuard<'a, T: Element> {
    mapping: Mapping<'a, T>,
    _data: PhantomData<&'a [T]>,
}

impl<'a, T: Element> ReadGuard<'a, T> {
    pub(crate) fn new(tensor: &'a Tensor) -> Result<Self> {
        Ok(Self { mapping: Mapping::new(tensor, sys::TL_ACCESS_READ)?, _data: PhantomData })
    }
}

impl<T: Element> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping's data are len aligned elements, which nobody writes while the shared lock is held.
        unsafe { std::slice::from_raw_parts(self.mapping.data.as_ptr(), self.mapping.len) }
    }
}

/// A tensor's data for writing; derefs to a mutable slice in memory order. See [`Tensor::write_guard`].
///
/// ```
/// let ctx = tensorlib::Context::new();
/// let t = ctx.tensor([2], &[1., 2.])?;
/// t.write_guard::<f32>()?[0] = 5.0;
/// assert_eq!(t.to_vec::<f32>()?, [5., 2.]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct WriteGuard<'a, T: Element> {
    mapping: Mapping<'a, T>,
    _data: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element> WriteGuard<'a, T> {
    pub(crate) fn new(tensor: &'a Tensor) -> Result<Self> {
        Ok(Self { mapping: Mapping::new(tensor, sys::TL_ACCESS_WRITE)?, _data: PhantomData })
    }
}

impl<T: Element> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as below, for reading.
        unsafe { std::slice::from_raw_parts(self.mapping.data.as_ptr(), self.mapping.len) }
    }
}

impl<T: Element> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the mapping's data are len aligned elements, and the exclusive lock makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.data.as_ptr(), self.mapping.len) }
    }
}
