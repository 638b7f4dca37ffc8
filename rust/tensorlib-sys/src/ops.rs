//! # Operations
//!
//! Constructors of nodes; nothing is computed until a graph is. All follow one rule: the operands may live in
//! other contexts of the same device, which ctx then keeps alive; a NULL operand gives NULL; on failure they
//! return NULL and ctx keeps the first error (tl_context_error()): TL_STATUS_INVALID_ARGUMENT,
//! TL_STATUS_SHAPE_MISMATCH, TL_STATUS_TYPE_MISMATCH, TL_STATUS_CONTEXT_MISMATCH or
//! TL_STATUS_OUT_OF_MEMORY. The context owns the result. Any thread.

use crate::{tl_context, tl_tensor, tl_type};
use core::ffi::c_char;

/// 1 to 6 integers; booleans are 0 and 1.
pub const TL_ATTR_INTS: i32 = 0;
/// One number.
pub const TL_ATTR_NUMBER: i32 = 1;
/// Text.
pub const TL_ATTR_TEXT: i32 = 2;

/// A named attribute of an operation for tl_op(). All pointers are read during the call only. This
/// struct is frozen: it will never grow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_attr {
    /// The attribute's name, `"axes"`.
    pub name: *const c_char,
    /// TL_ATTR_INTS, TL_ATTR_NUMBER or TL_ATTR_TEXT. An integral number is accepted for one integer, and
    /// one integer for a number.
    pub kind: i32,
    /// How many of ints are used.
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
    /// product of a row of a and a row of b. X must be a multiple of x and Y of y: slices of a repeat as
    /// X/x consecutive slices of b share one. k = 0 gives zeros. Operands need not be contiguous. Types:
    /// a any float or weight type, b F32, F16 or BF16. Where a is of a type with blocks, b may be rounded
    /// on the way in to 8 bits, by a scale for each 32 elements of k: an element of the result is then off
    /// by up to the sum over k of |a| * h, beside F32's own rounding, where h is a 127th of the largest
    /// |b| of the 32, or of a 16th of the largest of the 256 that they lie in where this is more. (With
    /// Q2_0 64, with Q1_0 128, with TQ1_0 and TQ2_0 256 elements in place of 32.) One column alone may be
    /// rounded to 16 bits instead. Where a is BF16, b may be rounded to BF16, by up to 2^-8 of an element.
    /// tl_mul_mat_exact() does without. The bits may depend on n and, where a is F32, F16 or BF16, on
    /// whether it is constant. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// tl_mul_mat() of operands as they are: nothing is rounded but sums, in F32. Shapes and types are the
    /// same; by name it is `"mul_mat"` with the attribute `exact` = 1. Slower where tl_mul_mat() rounds b (on
    /// the CPU with weights in blocks on avx512 and avx2, BF16 on avx512); elsewhere the two are
    /// one. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat_exact(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Products with a matrix for each column, chosen by number (a mixture of experts): a {k, m, experts},
    /// b {k, x, tokens} and ids {used, tokens} of I32 or I64, x dividing used, give F32 {m, used, tokens}:
    /// column (u, t) is the product of the expert ids[u, t] and b's column (u mod x, t). Types, strides,
    /// k = 0 and how b may be rounded are tl_mul_mat()'s; by name, tl_op() with `"mul_mat_id"`, it takes the
    /// attribute `exact` = 1 as `"mul_mat"` does. The numbers are data: -1 gives zeros, and another one that is
    /// no expert's is TL_STATUS_INVALID_ARGUMENT of computing, naming its place and value. The context owns
    /// the result; NULL on failure. Since 0.1.
    pub fn tl_mul_mat_id(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        ids: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// A window into a's memory: n_dims dimensions `ne`, strides `nb[1..]` in bytes (n_dims - 1 values;
    /// NULL = contiguous), `offset` bytes behind a's first element. Everything must lie inside a's root
    /// memory; rows may overlap there, so a stride given in elements is accepted too, and is a window of
    /// overlapping rows: tl_narrow() and tl_slice() count in elements. `ne` and `nb` are copied. The
    /// context owns the result; NULL on failure. Since 0.1.
    pub fn tl_view(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        n_dims: i32,
        ne: *const i64,
        nb: *const usize,
        offset: usize,
    ) -> *mut tl_tensor;

    /// The elements from `start[d]` on, `ne[d]` of them, in each of a's dimensions; n_dims is a's or more.
    /// Strides stay a's. In dimension 0 of a type with blocks both are multiples of the block's length. By
    /// name it is `"view"` with `start` and `ne`. A view. `start` and `ne` are copied. The context owns the
    /// result; NULL on failure. Since 0.1.
    pub fn tl_slice(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        n_dims: i32,
        start: *const i64,
        ne: *const i64,
    ) -> *mut tl_tensor;

    /// tl_slice() in dimension `dim`, 0 to 3, alone: `length` elements from `start` on. The context owns
    /// the result; NULL on failure. Since 0.1.
    pub fn tl_narrow(ctx: *mut tl_context, a: *mut tl_tensor, dim: i32, start: i64, length: i64) -> *mut tl_tensor;

    /// a's elements in another shape with as many elements; a must be contiguous. One extent may be -1: what
    /// the others leave of a's elements. A view. `ne` is copied. The context owns the result; NULL on
    /// failure. Since 0.1.
    pub fn tl_reshape(ctx: *mut tl_context, a: *mut tl_tensor, n_dims: i32, ne: *const i64) -> *mut tl_tensor;

    /// a's dimensions in another order: source dimension i becomes dimension `axes[i]`. A view. `axes` has 4
    /// values, a permutation of 0 to 3, and is copied. The context owns the result; NULL on failure.
    /// Since 0.1.
    pub fn tl_permute(ctx: *mut tl_context, a: *mut tl_tensor, axes: *const i32) -> *mut tl_tensor;

    /// A contiguous copy in another type. Integers into integers exactly; F64 and integers into each other
    /// rounded to nearest even; everything else by way of F32, rounded to nearest even, or as the format
    /// encodes. A value that the type cannot hold (beyond an integer's range; NaN or infinity in a format
    /// with blocks) is TL_STATUS_INVALID_ARGUMENT of computing, naming its place. `ne[0]` must be a multiple
    /// of the type's block size. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_cast(ctx: *mut tl_context, a: *mut tl_tensor, r#type: tl_type) -> *mut tl_tensor;

    /// Any operation by its name, for tools, tests and bindings that enumerate. `src` has n_src operands,
    /// of which optional ones may be tl_none(), or missing at the end, and `attrs` n_attrs attributes; both
    /// may be NULL where their count is 0, and are read during the call only. Names and attributes are those
    /// of docs/ops.md; an optional attribute that is 0 has its default. Unknown, missing or malformed ones are
    /// TL_STATUS_INVALID_ARGUMENT. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_op(
        ctx: *mut tl_context,
        op: *const c_char,
        src: *const *mut tl_tensor,
        n_src: usize,
        attrs: *const tl_attr,
        n_attrs: usize,
    ) -> *mut tl_tensor;
    /// What stands for an operand that is left out, in the middle or at the end: never NULL, which is what a
    /// constructor that failed has given. It is the same each time, belongs to no context and is not to be
    /// freed; for every function but constructors of nodes it is no tensor. Any thread. Since 0.1.
    pub fn tl_none() -> *mut tl_tensor;
    /// The number of operations. Any thread. Since 0.1.
    pub fn tl_op_count() -> usize;
    /// An operation's name; NULL where index is not below tl_op_count(). Static storage, not to be
    /// freed. Any thread. Since 0.1.
    pub fn tl_op_name(index: usize) -> *const c_char;
}
