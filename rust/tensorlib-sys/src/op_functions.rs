// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
//! # Operations, a function each
//!
//! Their operands come first, then the attributes that must be given, then a struct of all others: NULL is the
//! defaults, and so is each member that is 0. It is read during the call only. What is true of all operations is said
//! in the chapter before.

use crate::{tl_context, tl_tensor};

extern "C" {
    /// a + b, element by element; b repeats into a. The result c: `c[i] = a[i] + b[i mod b's shape]`.
    /// Shapes: c has a's shape; each dimension of b is 1 or divides that of a, and a zero one meets only a
    /// zero in a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once. The result is of
    /// a's type. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_add(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// a with dimensions 0 and 1 swapped. The result c: `c[i1, i0, i2, i3] = a[i0, i1, i2, i3]`. The result
    /// is a view of a: nothing is computed. Shapes: a's extents, the first two swapped. Types: any without
    /// blocks. The result is of a's type. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_transpose(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// A contiguous copy. The result c: `c[i] = a[i]`. Shapes: c has a's shape, and its elements lie side
    /// by side. Types: any. Exact. The result is of a's type. The context owns the result; NULL on failure.
    /// Since 0.1.
    pub fn tl_cont(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// dst with src's elements copied into it. dst's elements, in their order, become src's. The result is
    /// a view of dst: make it an output, or use it, for this to happen. Shapes: as many elements on both
    /// sides. Whatever comes later in the graph and reads dst, through any view, sees them. dst must not be
    /// constant, no two of its elements may share memory, nor may one of it and one of src, unless both are
    /// the same elements. Types: any into any, converted as by tl_cast(). Computing fails with
    /// TL_STATUS_INVALID_ARGUMENT, naming the place, for a value that dst's type cannot hold. The context
    /// owns the result; NULL on failure. Since 0.1.
    pub fn tl_cpy(ctx: *mut tl_context, src: *mut tl_tensor, dst: *mut tl_tensor) -> *mut tl_tensor;

    /// A copy. The result c: `c[i] = a[i]`. Shapes: c has a's shape, and its elements lie side by side.
    /// Types: any. Exact. The result is of a's type. The context owns the result; NULL on failure. Since
    /// 0.1.
    pub fn tl_dup(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// a's rows of these numbers. The result c: `c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]`. Shapes:
    /// a {n, m, x, y}, rows {r, x, y}, c {n, r, x, y}; a row may be taken any number of times. Types: a
    /// any, rows I32 or I64; c of a's type where that is an integer, else F32. Exact but for F64, which is
    /// rounded. Computing fails with TL_STATUS_INVALID_ARGUMENT, naming the place, for a number that is no
    /// row's. The context owns the result; NULL on failure. Since 0.1.
    pub fn tl_get_rows(ctx: *mut tl_context, a: *mut tl_tensor, rows: *mut tl_tensor) -> *mut tl_tensor;

    /// a with b's rows stored as its rows of these numbers. In the result
    /// `a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]`. The result is a view of a: make it
    /// an output, or use it, for this to happen. Shapes: a {n, m, x, y}, b {n, r, x, y}, rows {r, x', y'},
    /// x' dividing x and y' dividing y. Where a row is named twice, the later one stays. a must not be
    /// constant, and no two of its elements nor one of it and one of b or rows may share memory. Types: a
    /// and b any, b is converted to a's type as by tl_cast(); rows I32 or I64. The result is of a's type.
    /// Computing fails with TL_STATUS_INVALID_ARGUMENT, naming the place, for a number that is no row's,
    /// whose row is left out, or a value that a's type cannot hold. The context owns the result; NULL on
    /// failure. Since 0.1.
    pub fn tl_set_rows(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        rows: *mut tl_tensor,
    ) -> *mut tl_tensor;
}
