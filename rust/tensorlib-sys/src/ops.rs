//! # Operations
//!
//! Constructors of nodes; only graphs compute them. All constructors follow these rules: operands may live in
//! other contexts of the same device, which ctx then keeps alive; a NULL operand gives NULL; on failure they
//! return NULL and ctx keeps the first error (tl_context_error()): TL_STATUS_INVALID_ARGUMENT,
//! TL_STATUS_SHAPE_MISMATCH, TL_STATUS_TYPE_MISMATCH, TL_STATUS_CONTEXT_MISMATCH or TL_STATUS_OUT_OF_MEMORY.
//! The context owns the result. Any thread.

use crate::{tl_context, tl_error, tl_status, tl_tensor, tl_type};
use core::ffi::c_char;

/// 1 to 6 integers; booleans are 0 and 1.
pub const TL_ATTR_INTS: i32 = 0;
/// One number.
pub const TL_ATTR_NUMBER: i32 = 1;
/// Text.
pub const TL_ATTR_TEXT: i32 = 2;

/// Bits of a set of dimensions, for members called `dims`.
pub const TL_DIM_0: u32 = 1;
/// Dimension 1.
pub const TL_DIM_1: u32 = 2;
/// Dimension 2.
pub const TL_DIM_2: u32 = 4;
/// Dimension 3.
pub const TL_DIM_3: u32 = 8;

/// The end of a dimension, for tl_index().
pub const TL_END: i64 = i64::MAX;

/// A named attribute of an operation for tl_op(). Pointers are read during the call only. This struct is
/// frozen: it will never grow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_attr {
    /// The attribute's name, `"axes"`.
    pub name: *const c_char,
    /// TL_ATTR_INTS, TL_ATTR_NUMBER or TL_ATTR_TEXT. An attribute of one integer also accepts an integral
    /// number, and a number also accepts one integer.
    pub kind: i32,
    /// The number of values in ints.
    pub n_ints: i32,
    /// The values of TL_ATTR_INTS.
    pub ints: [i64; 6],
    /// The value of TL_ATTR_NUMBER.
    pub number: f64,
    /// The value of TL_ATTR_TEXT, NUL-terminated.
    pub text: *const c_char,
}

extern "C" {
    /// The matrix product: a {k, m, x, y} and b {k, n, X, Y} give F32 {m, n, X, Y}, each element the dot
    /// product of a row of a and a row of b. X must be a multiple of x and Y of y: X/x consecutive slices of b
    /// share a slice of a. k = 0 gives zeros. Operands need not be contiguous. Types: a any float or weight
    /// type, b F32, F16 or BF16.
    ///
    /// If a is quantised, b may be rounded to 8 bits with a scale for each 32 elements along k. An element of
    /// the result is then off by up to the sum over k of |a| * h, in addition to F32's own rounding. h is a
    /// 127th of the larger of two values: the largest |b| of the 32 elements, and a 16th of the largest |b| of
    /// the 256 elements around them. Q2_0 uses 64 elements instead of 32, Q1_0 128, TQ1_0 and TQ2_0 256. A
    /// single column may be rounded to 16 bits instead. If a is BF16, b may be rounded to BF16, by up to 2^-8
    /// of an element. tl_mul_mat_exact() does not round. The bits may depend on n and, for an F32, F16 or BF16
    /// a, on whether a is constant. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// tl_mul_mat() without rounding of b: only sums round, in F32. Shapes and types are those of tl_mul_mat();
    /// in tl_op() it is `"mul_mat"` with the attribute `exact` = 1. It is slower where tl_mul_mat() rounds b
    /// (on the CPU: quantised weights on avx512 and avx2, BF16 on avx512); elsewhere the two are equal. The
    /// context owns the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat_exact(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Multiplies each column by the matrix that an index selects (a mixture of experts): a {k, m, experts}, b
    /// {k, x, tokens} and ids {used, tokens} of I32 or I64 give F32 {m, used, tokens}; x divides used. Column
    /// (u, t) is the product of the expert ids[u, t] and b's column (u mod x, t). Types, strides, k = 0 and the
    /// rounding of b are those of tl_mul_mat(); in tl_op() it is `"mul_mat_id"`, which takes the attribute
    /// `exact` = 1 as `"mul_mat"` does. The index -1 gives zeros; computing fails with
    /// TL_STATUS_INVALID_ARGUMENT, naming position and value, for any other index without an expert. The
    /// context owns the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat_id(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        ids: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// A window into a's memory: n_dims dimensions `ne`, strides `nb[1..]` in bytes (n_dims - 1 values; NULL =
    /// contiguous), and `offset`, in bytes from a's first element. The window must lie inside the memory of a's
    /// root. Its rows may overlap, so strides given in elements by mistake are accepted too; tl_narrow() and
    /// tl_slice() count in elements. `ne` and `nb` are copied. The context owns the result; NULL on failure.
    /// Since 0.1.
    pub fn tl_view(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        n_dims: i32,
        ne: *const i64,
        nb: *const usize,
        offset: usize,
    ) -> *mut tl_tensor;

    /// The elements `start[d]` to `start[d] + ne[d]` of each of a's dimensions, with a's strides; n_dims is at
    /// least a's. In dimension 0 of a quantised type start and ne are multiples of the block size. In tl_op()
    /// it is `"view"` with `start` and `ne`. A view. `start` and `ne` are copied. The context owns the result;
    /// NULL on failure. Since 0.1.
    pub fn tl_slice(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        n_dims: i32,
        start: *const i64,
        ne: *const i64,
    ) -> *mut tl_tensor;

    /// tl_slice() in one dimension `dim`, 0 to 3: `length` elements from `start` on. The context owns the
    /// result; NULL on failure. Since 0.1.
    pub fn tl_narrow(ctx: *mut tl_context, a: *mut tl_tensor, dim: i32, start: i64, length: i64) -> *mut tl_tensor;

    /// A part of each of a's first n_dims dimensions, and all of the others: the elements `begin[d]` to
    /// `end[d]`, without the latter. If bit d of `dropped` (TL_DIM_0 and others) is set, it is the element
    /// `begin[d]` alone, and the result lacks the dimension. Negative ones count from the end of the dimension: -1
    /// is the last element. An end of TL_END is that of the dimension. n_dims is 0 to 4. `begin` and `end` are
    /// read during the call only. A view. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_index(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        n_dims: i32,
        begin: *const i64,
        end: *const i64,
        dropped: u32,
    ) -> *mut tl_tensor;

    /// a's elements in another shape of the same size, in the same order. One dimension may be -1: it is
    /// computed from the others. A view: if a is not contiguous, strides must be able to express the new shape,
    /// otherwise apply tl_cont() first. `ne` is copied. The context owns the result; NULL on failure. Since
    /// 0.1.
    pub fn tl_reshape(ctx: *mut tl_context, a: *mut tl_tensor, n_dims: i32, ne: *const i64) -> *mut tl_tensor;

    /// a's dimensions in another order: source dimension i becomes dimension `axes[i]`. A view. `axes` has 4
    /// values, a permutation of 0 to 3, and is copied. The context owns the result; NULL on failure.
    /// Since 0.1.
    pub fn tl_permute(ctx: *mut tl_context, a: *mut tl_tensor, axes: *const i32) -> *mut tl_tensor;

    /// A contiguous copy in another type. Integers convert to integers exactly; F64 and integers convert to
    /// each other rounded to nearest even; everything else goes through F32, rounded to nearest even or as the
    /// type is encoded. Computing fails with TL_STATUS_INVALID_ARGUMENT, naming the position, for a value that
    /// the type cannot hold (beyond an integer's range; NaN or infinity in a quantised type). `ne[0]` must be a
    /// multiple of the type's block size. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_cast(ctx: *mut tl_context, a: *mut tl_tensor, r#type: tl_type) -> *mut tl_tensor;

    /// Concatenates n_tensors tensors along dimension `dim`, 0 to 3: at least one, all of one type, and of one
    /// shape except in `dim`. `tensors` is read during the call only. The context owns the result; NULL on
    /// failure. Since 0.1.
    pub fn tl_cat(ctx: *mut tl_context, tensors: *const *mut tl_tensor, n_tensors: usize, dim: i64) -> *mut tl_tensor;

    /// Stacks n_tensors tensors of one type and shape along a new dimension `dim`, which is inserted as by
    /// tl_unsqueeze(): at least one tensor, of at most 3 dimensions. `tensors` is read during the call only. The
    /// context owns the result; NULL on failure. Since 0.1.
    pub fn tl_stack(ctx: *mut tl_context, tensors: *const *mut tl_tensor, n_tensors: usize, dim: i64)
        -> *mut tl_tensor;

    /// Sums products of n_tensors tensors whose dimensions have names. `equation` has a list of letters for each
    /// tensor, one for each dimension and dimension 0 first, and one for the result: `"km,kn->mn"` is
    /// tl_mul_mat(). NumPy lists the same dimensions in the opposite order. Letters that the result lacks are
    /// summed. Without `->`, the result has the letters that occur once, in the order of the alphabet. A letter
    /// that a tensor has twice selects its diagonal. Tensors and products of two have at most 4 dimensions.
    /// Types: F32, F16 or BF16, and weights that tl_mul_mat() takes, with its rounding. `equation` and `tensors`
    /// are read during the call only. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_einsum(
        ctx: *mut tl_context,
        equation: *const c_char,
        tensors: *const *mut tl_tensor,
        n_tensors: usize,
    ) -> *mut tl_tensor;

    /// Fails if `b` would repeat as tiles: if one of its extents is neither 1 nor that of `a`, but divides it.
    /// tl_add() and others take such operands; the operators of bindings call this function first, so that a slip is
    /// an error. `op` is the name of an operation with two operands, such as "add". All other extents are tl_add()'s
    /// to check. TL_STATUS_SHAPE_MISMATCH: b would repeat; the message shows both shapes. TL_STATUS_INVALID_ARGUMENT:
    /// an operand is NULL, or there is no such operation. Any thread. Since 0.1.
    pub fn tl_refuse_tiles(
        op: *const c_char,
        a: *const tl_tensor,
        b: *const tl_tensor,
        err: *mut tl_error,
    ) -> tl_status;

    /// Makes the node of any operation by name, for tools, tests and bindings that enumerate operations. `src`
    /// has n_src operands; optional ones may be tl_none(), or missing at the end. `attrs` has n_attrs
    /// attributes. Both may be NULL if their count is 0, and are read during the call only. docs/ops.md lists
    /// names and attributes; an optional attribute of 0 has its default. Unknown, missing or malformed ones are
    /// TL_STATUS_INVALID_ARGUMENT. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_op(
        ctx: *mut tl_context,
        op: *const c_char,
        src: *const *mut tl_tensor,
        n_src: usize,
        attrs: *const tl_attr,
        n_attrs: usize,
    ) -> *mut tl_tensor;
    /// Stands for an operand that is left out, in the middle or at the end. It is never NULL, because NULL is
    /// the result of a failed constructor. It is always the same pointer, belongs to no context and must not be
    /// freed. Only constructors of nodes accept it; for other functions it is not a tensor. Any thread. Since
    /// 0.1.
    pub fn tl_none() -> *mut tl_tensor;
    /// The number of operations. Any thread. Since 0.1.
    pub fn tl_op_count() -> usize;
    /// An operation's name; NULL if index is not below tl_op_count(). Static storage, not to be freed. Any
    /// thread. Since 0.1.
    pub fn tl_op_name(index: usize) -> *const c_char;
}
