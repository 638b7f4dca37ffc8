//! Operations, a function each, which `Context` has as methods. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

const c = @import("c.zig");
const status = @import("status.zig");
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Error = status.Error;

/// a + b, element by element; b repeats into a.
///
/// The result c: c[i] = a[i] + b[i mod b's shape]. Shapes: c has a's shape; each dimension of b is 1 or divides
/// that of a, and a zero one meets only a zero in a. Types: a and b each f32, f16 or bf16; computed in f32 and
/// rounded once. The result is of a's type.
pub fn add(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_add, .{ a.handle, b.handle });
}

/// a with dimensions 0 and 1 swapped.
///
/// The result c: c[i1, i0, i2, i3] = a[i0, i1, i2, i3]. The result is a view of a: nothing is computed. Shapes:
/// a's extents, the first two swapped. Types: any without blocks. The result is of a's type.
pub fn transpose(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_transpose, .{a.handle});
}

/// A contiguous copy.
///
/// The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The
/// result is of a's type.
pub fn cont(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_cont, .{a.handle});
}

/// dst with src's elements copied into it.
///
/// dst's elements, in their order, become src's. The result is a view of dst: make it an output, or use it, for
/// this to happen. Shapes: as many elements on both sides. Whatever comes later in the graph and reads dst,
/// through any view, sees them. dst must not be constant, no two of its elements may share memory, nor may one of
/// it and one of src, unless both are the same elements. Types: any into any, converted as by `cast`. Computing
/// fails with `error.InvalidArgument`, naming the place, for a value that dst's type cannot hold.
pub fn cpy(self: Context, src: Tensor, dst: Tensor) Error!Tensor {
    return self.construct(c.tl_cpy, .{ src.handle, dst.handle });
}

/// A copy.
///
/// The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The
/// result is of a's type.
pub fn dup(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_dup, .{a.handle});
}

/// a's rows of these numbers.
///
/// The result c: c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]. Shapes: a {n, m, x, y}, rows {r, x, y}, c
/// {n, r, x, y}; a row may be taken any number of times. Types: a any, rows i32 or i64; c of a's type where that
/// is an integer, else f32. Exact but for f64, which is rounded. Computing fails with `error.InvalidArgument`,
/// naming the place, for a number that is no row's.
pub fn getRows(self: Context, a: Tensor, rows: Tensor) Error!Tensor {
    return self.construct(c.tl_get_rows, .{ a.handle, rows.handle });
}

/// a with b's rows stored as its rows of these numbers.
///
/// In the result a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]. The result is a view of a: make it
/// an output, or use it, for this to happen. Shapes: a {n, m, x, y}, b {n, r, x, y}, rows {r, x', y'}, x' dividing
/// x and y' dividing y. Where a row is named twice, the later one stays. a must not be constant, and no two of its
/// elements nor one of it and one of b or rows may share memory. Types: a and b any, b is converted to a's type as
/// by `cast`; rows i32 or i64. The result is of a's type. Computing fails with `error.InvalidArgument`, naming the
/// place, for a number that is no row's, whose row is left out, or a value that a's type cannot hold.
pub fn setRows(self: Context, a: Tensor, b: Tensor, rows: Tensor) Error!Tensor {
    return self.construct(c.tl_set_rows, .{ a.handle, b.handle, rows.handle });
}
