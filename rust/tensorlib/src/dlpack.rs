//! Tensors shared with other libraries through DLPack 1.x, with the feature `dlpack`. Memory stays as it is, so the
//! shape is reversed: DLPack lists the slowest dimension first.

use crate::call::{check, handle};
use crate::{Context, Result, Tensor};
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::ptr::{self, NonNull};
use tensorlib_sys as sys;

/// DLPack's struct of version 1.x.
#[repr(C)]
struct Managed {
    version: [u32; 2],
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut sys::DLManagedTensorVersioned)>,
    flags: u64,
    data: *mut c_void,
    device: [i32; 2],
    n_dims: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

const READ_ONLY: u64 = 1;

/// A tensor that two libraries share: an owned `DLManagedTensorVersioned`, whose deleter runs when this is dropped.
///
/// [`Tensor::to_dlpack`] makes one for another library, [`Context::from_dlpack`] takes one of another library. In
/// Python, it travels in a capsule with the name `dltensor_versioned`.
pub struct DlpackTensor(NonNull<sys::DLManagedTensorVersioned>);

// SAFETY: DLPack allows the deleter on any thread, and the struct does not change.
unsafe impl Send for DlpackTensor {}
// SAFETY: the same; the methods only read the struct.
unsafe impl Sync for DlpackTensor {}

impl DlpackTensor {
    /// Takes over a pointer from another library, as its consumer; `None` for NULL.
    ///
    /// # Safety
    /// `raw` must be NULL or a `DLManagedTensorVersioned` of DLPack 1.x, whose fields are valid until its deleter is
    /// called. Nobody else may call the deleter from now on.
    pub unsafe fn from_raw(raw: *mut sys::DLManagedTensorVersioned) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// Hands the pointer to another library, which becomes its owner and calls the deleter.
    pub fn into_raw(self) -> *mut sys::DLManagedTensorVersioned {
        let raw = self.0.as_ptr();
        mem::forget(self);
        raw
    }

    fn managed(&self) -> &Managed {
        // SAFETY: from_raw()'s caller and the engine promise a struct of this layout, which lives as long as self.
        unsafe { self.0.cast::<Managed>().as_ref() }
    }

    fn list(&self, list: *const i64) -> &[i64] {
        let n = usize::try_from(self.managed().n_dims).unwrap_or(0);
        if n == 0 || list.is_null() {
            return &[];
        }
        // SAFETY: DLPack's lists have a value for each dimension, and live as long as the struct.
        unsafe { std::slice::from_raw_parts(list, n) }
    }

    /// The number of elements in each dimension, the slowest dimension first.
    pub fn shape(&self) -> &[i64] {
        self.list(self.managed().shape)
    }

    /// Elements from one to the next in each dimension; empty if the elements are contiguous and DLPack leaves them
    /// out. [`Tensor::to_dlpack`] does not.
    pub fn strides(&self) -> &[i64] {
        self.list(self.managed().strides)
    }

    /// The first element's address; NULL if there are no elements.
    pub fn data(&self) -> *mut c_void {
        let managed = self.managed();
        managed.data.wrapping_byte_add(usize::try_from(managed.byte_offset).unwrap_or(0))
    }

    /// Whether the memory must not be written.
    pub fn is_read_only(&self) -> bool {
        self.managed().flags & READ_ONLY != 0
    }
}

impl Drop for DlpackTensor {
    fn drop(&mut self) {
        if let Some(deleter) = self.managed().deleter {
            // SAFETY: this is the owner, and calls the deleter once.
            unsafe { deleter(self.0.as_ptr()) }
        }
    }
}

impl fmt::Debug for DlpackTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Managed { code, bits, .. } = self.managed();
        write!(f, "DlpackTensor({:?}, strides {:?}, type {code} of {bits} bits)", self.shape(), self.strides())
    }
}

impl Tensor {
    /// Shares the tensor's memory with another library. Nothing is copied. The memory stays until the result is
    /// dropped, or its deleter called, even if all handles of the context are dropped before. [`Context::reset`] fails
    /// until then.
    ///
    /// The tensor is a leaf, a computed output or a view of either. Constants, leafs of GGUF files and views that
    /// repeat elements are read-only. The engine's locks know nothing of the other library: whoever reads or writes
    /// the memory there keeps that apart from calls of this library that write or read it.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?; // 2 rows of 3
    /// let shared = t.to_dlpack()?;
    /// assert_eq!((shared.shape(), shared.strides()), (&[2, 3][..], &[3, 1][..]));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TypeMismatch`](crate::Error) for quantised types. [`Error::InvalidArgument`](crate::Error) if there are
    /// no data yet. [`Error::Unavailable`](crate::Error) if they live on a device, or the original was dropped.
    /// [`Error::Busy`](crate::Error), [`Error::OutOfMemory`](crate::Error).
    pub fn to_dlpack(&self) -> Result<DlpackTensor> {
        let mut out = ptr::null_mut();
        // SAFETY: the tensor is live; out is valid.
        check(|err| unsafe { sys::tl_tensor_to_dlpack(self.raw(), &mut out, err) })?;
        handle(out).map(DlpackTensor)
    }
}

impl Context {
    /// Makes a tensor over memory that another library shares. Nothing is copied. An array of shape (rows, columns)
    /// gives a tensor `[columns, rows]`: a leaf, or a view of one if the elements are not contiguous. It cannot be
    /// written if the other library says so. The deleter runs when the context is reset, or its memory freed. If this
    /// fails, it runs at once.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, DlpackTensor};
    /// # let other_library = Context::new().tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?.to_dlpack()?.into_raw();
    /// // SAFETY: other_library is a DLManagedTensorVersioned that nobody else uses.
    /// let shared = unsafe { DlpackTensor::from_raw(other_library) }.expect("a tensor");
    /// let ctx = Context::new();
    /// // SAFETY: nobody writes the memory while ctx has it.
    /// let t = unsafe { ctx.from_dlpack(shared)? };
    /// let doubled = (&t + &t)?.eval(&Backend::cpu()?)?;
    /// assert_eq!(doubled.to_vec::<f32>()?, [2., 4., 6., 8., 10., 12.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Safety
    /// The elements that shape, strides and address describe must be readable, and writable unless
    /// [`DlpackTensor::is_read_only`], until the deleter is called. The deleter must be callable on any thread. As long
    /// as a handle of the context, a graph or another context refers to the memory, nobody else may write it while this
    /// library reads it, or access it while this library writes it: the engine's locks guard only accesses through this
    /// context. That concerns tensors of other contexts over the same memory too.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error) for another major version than 1. [`Error::Unavailable`](crate::Error) if
    /// the data, or the context's, do not lie in host memory. [`Error::TypeMismatch`](crate::Error) for a type other than
    /// F32, F16, BF16, F64, I8, I16, I32, I64, U8 and BOOL. [`Error::InvalidArgument`](crate::Error) for more than 4 dimensions,
    /// negative strides, 4 dimensions without the stride 1, and data that are not aligned.
    /// [`Error::ContextMismatch`](crate::Error) if the memory is the context's own. [`Error::OutOfMemory`](crate::Error).
    #[allow(clippy::wrong_self_convention)] // makes a tensor in this context
    pub unsafe fn from_dlpack(&self, tensor: DlpackTensor) -> Result<Tensor> {
        // SAFETY: the context is live; the struct is valid, and its memory as the caller promises.
        let made = self.construct(Vec::new, |ctx| unsafe { sys::tl_tensor_from_dlpack(ctx, tensor.0.as_ptr()) })?;
        mem::forget(tensor); // the context's from now on
        Ok(made)
    }
}

const _: () = {
    assert!(mem::size_of::<Managed>() == 80 && mem::offset_of!(Managed, flags) == 24);
    assert!(mem::offset_of!(Managed, n_dims) == 48 && mem::offset_of!(Managed, shape) == 56);
};
