//! # Custom operations
//!
//! Operations of your own: functions that a plan calls as it runs its other kernels. Nodes of them are planned, traced, recomputed
//! and placed like all others, and have gradients if you build them. They are computed on the CPU.

use crate::{tl_context, tl_error, tl_status, tl_tensor, tl_type};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// An operation that the caller made. Handle with a count of references: nodes hold one through their context, so it may be freed
/// while nodes exist. Any thread.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_custom_op {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The memory of an operand or of a result, during a call of a tl_custom_compute_fn. Element (i0, i1, i2, i3) of a type without
/// blocks is at `data + i0 * nb[0] + i1 * nb[1] + i2 * nb[2] + i3 * nb[3]`. This struct is frozen: it will never grow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_custom_view {
    /// The first element. An operand's memory must not be written.
    pub data: *mut c_void,
    /// The type of the elements.
    pub r#type: tl_type,
    /// The number of dimensions, 1 to 4.
    pub n_dims: i32,
    /// The extents. Those of missing dimensions are 1.
    pub ne: [i64; 4],
    /// The strides in bytes.
    pub nb: [usize; 4],
}

/// What a tl_custom_compute_fn is to compute: elements [begin, end) of the result, counted along dimension 0 first. The struct is
/// the library's, and valid during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_custom_slice {
    /// Bytes of this struct, set by the library. Later versions are larger.
    pub struct_size: usize,
    /// The operands, which may have any strides.
    pub src: *const tl_custom_view,
    /// The number of operands.
    pub n_src: usize,
    /// The whole result, which is contiguous. Only elements [begin, end) may be written, and all of them must be.
    pub dst: tl_custom_view,
    /// The first element of the slice.
    pub begin: i64,
    /// The element after the last one.
    pub end: i64,
    /// A number of the thread, from 0 and below the backend's threads. No two calls of one node have the same number at a time.
    pub thread: i32,
}

/// The type and the shape of a result, which a tl_custom_shape_fn fills in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_custom_result {
    /// Bytes of this struct, set by the library. Later versions are larger.
    pub struct_size: usize,
    /// The type, which must not be quantised. Set to that of the first operand before the call.
    pub r#type: tl_type,
    /// The number of dimensions, 1 to 4. Set to that of the first operand before the call.
    pub n_dims: i32,
    /// The extents. Set to those of the first operand before the call.
    pub ne: [i64; 4],
}

/// Says what the result for some operands is, or why there is none: by a status other than TL_STATUS_OK, and a message in `err`,
/// which is never NULL. Called by tl_custom(), on its thread. It may ask for the operands' types and shapes. Must not throw or unwind.
pub type tl_custom_shape_fn = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        src: *const *mut tl_tensor,
        n_src: usize,
        result: *mut tl_custom_result,
        err: *mut tl_error,
    ) -> tl_status,
>;

/// Computes a slice. Called while a graph is computed, on any thread, for several slices at once: what it shares must be safe for
/// that. The result must not depend on how it is divided. A status other than TL_STATUS_OK, with a message in `err`, which is never
/// NULL, fails the run. Inside it, calls that make or free tensors' memory, compute, read or write fail with
/// TL_STATUS_INVALID_ARGUMENT, because the run holds what they would wait for. Must not throw or unwind.
pub type tl_custom_compute_fn = Option<
    unsafe extern "C" fn(user_data: *mut c_void, slice: *const tl_custom_slice, err: *mut tl_error) -> tl_status,
>;

/// Builds the gradient of operand number `operand` of `node` from `gradient`, which is that of the node: F32, of the node's shape.
/// Called by tl_gradients(), on its thread, for operands of F32, F16 or BF16 whose gradient is wanted. Makes nodes in `ctx`, and
/// returns one of F32, F16 or BF16 in the operand's shape. tl_tensor_sources() gives the node's operands. NULL, with a message in
/// `err`, or with an error that ctx keeps, fails the call; nodes that were made until then stay in ctx. Must not throw or unwind.
pub type tl_custom_gradient_fn = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        ctx: *mut tl_context,
        node: *mut tl_tensor,
        gradient: *mut tl_tensor,
        operand: usize,
        err: *mut tl_error,
    ) -> *mut tl_tensor,
>;

/// Called once with the user data, when neither the caller nor a node needs the operation any more: on the thread that drops the
/// last reference. Must not throw or unwind.
pub type tl_custom_destroy_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What a custom operation is. Set struct_size and leave what you do not need zero (tl_custom_params_init()).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_custom_params {
    /// Bytes of this struct, set by the caller.
    pub struct_size: usize,
    /// The name, for messages, plans and traces: 1 to 64 bytes of UTF-8.
    pub name: *const c_char,
    /// NULL: the result has the type and the shape of the first operand.
    pub shape: tl_custom_shape_fn,
    /// Required.
    pub compute: tl_custom_compute_fn,
    /// NULL: the operation has no gradient.
    pub gradient: tl_custom_gradient_fn,
    /// Passed to all functions.
    pub user_data: *mut c_void,
    /// Frees the user data; may be NULL.
    pub destroy: tl_custom_destroy_fn,
    /// Slices begin at multiples of this many elements: 0 for whole rows, 1 for any element. -1: the result is one slice.
    pub slice_unit: i64,
    /// About how many operations an element takes; 0 counts as 1. It decides how many threads are worth waking.
    pub cost: f64,
}

extern "C" {
    /// Sets a struct of `struct_size` bytes to its defaults, all zeros, and its struct_size. NULL is ignored. Any thread. Since 0.1.
    pub fn tl_custom_params_init(params: *mut tl_custom_params, struct_size: usize);

    /// Makes an operation, which the caller frees with tl_custom_op_free(). It can have any number of nodes, in any contexts; graphs
    /// that are built again reuse their plans. On failure `out` is NULL and the user data stays the caller's: destroy is not called.
    /// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, or the name, slice_unit or cost is not valid. TL_STATUS_OUT_OF_MEMORY. Any
    /// thread. Since 0.1.
    pub fn tl_custom_op_create(
        params: *const tl_custom_params,
        out: *mut *mut tl_custom_op,
        err: *mut tl_error,
    ) -> tl_status;

    /// Drops the caller's reference; NULL is ignored. Contexts with nodes of the operation keep it until they are reset or freed. Any
    /// thread. Since 0.1.
    pub fn tl_custom_op_free(op: *mut tl_custom_op);

    /// Appends a node of a custom operation with 1 to 10 operands of any types. The function is called when a graph with the node is
    /// computed. In tl_op() it is `"custom"`, with the attribute `function`, tl_custom_op_number(). The context owns the result; NULL
    /// on failure: what tl_custom_shape_fn returned, TL_STATUS_INVALID_ARGUMENT if `op` is NULL or the shape is not valid, or
    /// TL_STATUS_TYPE_MISMATCH for a quantised result. Any thread. Since 0.1.
    pub fn tl_custom(
        ctx: *mut tl_context,
        op: *const tl_custom_op,
        src: *const *mut tl_tensor,
        n_src: usize,
    ) -> *mut tl_tensor;

    /// The number of an operation, which no other one of the process ever has; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_custom_op_number(op: *const tl_custom_op) -> u64;
}
