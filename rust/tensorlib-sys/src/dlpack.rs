//! # Exchange with other libraries
//!
//! DLPack 1.x is how NumPy, JAX, PyTorch and others share tensors without copying. These two functions show a tensor of
//! this library to another one, and the other way round, in host memory.
//!
//! DLPack lists dimensions slowest first, so the shape is reversed: an array of 4 rows and 2 columns has the shape
//! (4, 2) there and {2, 4} here.
//!
//! Threads: the locks of contexts know nothing of reads and writes by the other library. Nobody may write the memory
//! while this library reads it, or access it while this library writes it.

use crate::{tl_context, tl_error, tl_status, tl_tensor};
use core::marker::{PhantomData, PhantomPinned};

/// A tensor that two libraries share: DLPack's struct of this name, whose definition is in DLPack's header. Programs
/// that only pass it on do not need that header; the two may be included in any order.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct DLManagedTensorVersioned {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

extern "C" {
    /// Shares a tensor's memory with another library. Nothing is copied: strides are those of the tensor, and what
    /// either side writes, the other one sees.
    ///
    /// The tensor is a leaf with data, an output of a computed graph, or a view of either. Its type is F32, F16, BF16,
    /// F64, I8, I16, I32, I64, U8 or BOOL. `out` must not be NULL; it receives the shared tensor, or NULL on failure. Whoever has
    /// it last calls its deleter, once, from any thread. Until then the memory stays, even if the context is freed
    /// before, and tl_context_reset() is TL_STATUS_BUSY. A graph that is computed again overwrites its outputs, so
    /// the other library sees the new values.
    ///
    /// The version is 1.0, the device CPU, byte_offset 0, and strides are set. `data` is NULL if there are no elements.
    /// DLPACK_FLAG_BITMASK_READ_ONLY is set for constants, leafs of GGUF files, memory that another library shared
    /// read-only, views of these, and views whose elements share bytes. A promise given later (tl_tensor_set_constant)
    /// concerns writes by the other library too.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: t or out is NULL, or t has no data yet. TL_STATUS_TYPE_MISMATCH: the type is
    /// quantised; tl_cast() gives another one. TL_STATUS_UNAVAILABLE: the data live on a device, or the original was
    /// dropped; tl_tensor_read() copies them. TL_STATUS_BUSY, TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_tensor_to_dlpack(
        t: *mut tl_tensor,
        out: *mut *mut DLManagedTensorVersioned,
        err: *mut tl_error,
    ) -> tl_status;

    /// Makes a tensor over memory that another library shares. Nothing is copied.
    ///
    /// The tensor is a leaf, or a view of one if the elements are not contiguous. It has data in a no_alloc context
    /// too. It can be written unless DLPACK_FLAG_BITMASK_READ_ONLY is set: then writing to it or to a view of it, and
    /// operations that target it, are errors. It is no constant, because the other library may change it;
    /// tl_tensor_set_constant() promises that it does not. An array without dimensions becomes {1}. Two tensors over
    /// the same memory are independent for graphs: only accesses through one of them are ordered.
    ///
    /// On success the context owns `managed` and calls its deleter once: when the context is reset, or when its memory
    /// is freed, on the thread that does it, without any lock. On failure, when NULL is returned, the caller still owns
    /// it, and the deleter was not called. Contexts that share memory in a circle by way of another library are never
    /// freed.
    ///
    /// Returns NULL on failure (see tl_context_error()): TL_STATUS_UNSUPPORTED: the version is not 1.x.
    /// TL_STATUS_UNAVAILABLE: the data do not lie in host memory (CPU, or pinned by CUDA), or the context's do not.
    /// TL_STATUS_TYPE_MISMATCH: the type is none of those that tl_tensor_to_dlpack() takes, or has several lanes.
    /// TL_STATUS_INVALID_ARGUMENT: managed is NULL; there are more than 4 dimensions; a dimension or stride is
    /// negative; 4 dimensions are strided and none of them has the stride 1; data is NULL or not aligned for the type,
    /// although there are elements; shape, strides and byte_offset do not fit an address space; the context is frozen.
    /// TL_STATUS_CONTEXT_MISMATCH: the memory belongs to this context, or to one that refers to it.
    /// TL_STATUS_OUT_OF_MEMORY. The context owns the tensor. Any thread. Since 0.1.
    pub fn tl_tensor_from_dlpack(ctx: *mut tl_context, managed: *mut DLManagedTensorVersioned) -> *mut tl_tensor;
}
