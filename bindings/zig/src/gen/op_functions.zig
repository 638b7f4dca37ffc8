//! A function for each operation; `Context` has them as methods. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

const c = @import("c_ops.zig");
const status = @import("../status.zig");
const Context = @import("../context.zig").Context;
const Group = @import("../group.zig").Group;
const dimCount = @import("../context.zig").dimCount;
const Tensor = @import("../tensor.zig").Tensor;
const Error = status.Error;

/// Dimensions as the C functions take them: a bit for each.
fn setOf(dims: []const u2) u32 {
    var bits: u32 = 0;
    for (dims) |d| bits |= @as(u32, 1) << d;
    return bits;
}

/// Adds `b` to `a`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] + b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn add(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_add, .{ a.handle, b.handle });
}

/// Subtracts `b` from `a`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] - b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn sub(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_sub, .{ a.handle, b.handle });
}

/// Multiplies `a` by `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] * b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn mul(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_mul, .{ a.handle, b.handle });
}

/// Divides `a` by `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] / b[i mod shape(b)]`.
///
/// Dividing a float by 0 gives an infinity, and 0 / 0 gives NaN. A quotient of integers is rounded towards 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - Computing fails with `error.InvalidArgument` for an integer divisor of 0. The message names the first such
///   element.
pub fn div(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_div, .{ a.handle, b.handle });
}

/// Takes the larger of `a` and `b`, element-wise.
///
/// Computes `c[i] = max(a[i mod shape(a)], b[i mod shape(b)])`.
///
/// The result is NaN if either element is NaN. 0 counts as larger than -0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn maximum(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_maximum, .{ a.handle, b.handle });
}

/// Takes the smaller of `a` and `b`, element-wise.
///
/// Computes `c[i] = min(a[i mod shape(a)], b[i mod shape(b)])`.
///
/// The result is NaN if either element is NaN. 0 counts as larger than -0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn minimum(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_minimum, .{ a.handle, b.handle });
}

/// Raises `a` to the power of `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
///
/// Special cases of floats are those of C. A finite negative element to a power that is not an integer gives NaN.
/// Any element, even NaN, to the power of 0 gives 1.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 to within 2 ulp and rounded once; or both i32,
///   i64 or f64, computed in this type. Integers wrap around where they overflow, and 0 to the power of 0 is 1.
///   f64 is within 2 ulp.
/// - Result: The type of `a`.
/// - Computing fails with `error.InvalidArgument` for an integer exponent below 0. The message names the first
///   such element.
pub fn pow(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_pow, .{ a.handle, b.handle });
}

/// Tests whether `a` equals `b`, element-wise: 1 if it does, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] == b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn eq(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_eq, .{ a.handle, b.handle });
}

/// Tests whether `a` differs from `b`, element-wise: 1 if it does, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 1. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn ne(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_ne, .{ a.handle, b.handle });
}

/// Tests whether `a` is less than `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] < b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn lt(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_lt, .{ a.handle, b.handle });
}

/// Tests whether `a` is at most `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] <= b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn le(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_le, .{ a.handle, b.handle });
}

/// Tests whether `a` is greater than `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] > b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn gt(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_gt, .{ a.handle, b.handle });
}

/// Tests whether `a` is at least `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] >= b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each f32, f16 or bf16, compared in f32, and `c` has the type of `a`; or both i32, i64
///   or f64, and `c` is f32.
pub fn ge(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_ge, .{ a.handle, b.handle });
}

/// Adds the single element of `b` to each element of `a`.
///
/// Computes `c[i] = a[i] + b[0]`.
/// - Shapes: `c` has the shape of `a`. `b` has one element.
/// - Types: `a` and `b` are each f32, f16 or bf16, computed in f32 and rounded once; or both i32, i64 or f64,
///   computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn add1(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_add1, .{ a.handle, b.handle });
}

/// Selects elements of `a` where `condition` is not 0, and elements of `b` elsewhere.
///
/// Computes `c[i] = a[i mod shape(a)] if condition[i mod shape(condition)] != 0 else b[i mod shape(b)]`.
///
/// A NaN in `condition` counts as not 0.
/// - Shapes: `condition`, `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are
///   equal, or 1, whose elements repeat. An extent of `condition` or `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `condition` is a float, an integer or bool. `a` and `b` have one type, which is not quantised; or all
///   three are f32, f16 or bf16, and `b` is rounded to the type of `a`. `c` has the type of `a`.
pub fn where(self: Context, condition: Tensor, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_where, .{ condition.handle, a.handle, b.handle });
}

/// Optional attributes of `scale`.
pub const ScaleOptions = struct {
    /// Added to each product. Default: 0.
    bias: f64 = 0.0,
};

/// Multiplies each element by `factor` and adds `bias`.
///
/// Computes `c[i] = a[i] * scale + bias`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32; or i32, i64 or f64, computed in this type. The product and the sum
///   are each rounded. For integers, `factor` and `bias` are integers of the type, and results wrap around.
/// - Result: The type of `a`.
/// - `factor`: factor of each element.
pub fn scale(self: Context, a: Tensor, factor: f64, options: ScaleOptions) Error!Tensor {
    const params: c.tl_scale_params = .{
        .bias = options.bias,
    };
    return self.construct(c.tl_scale, .{ a.handle, factor, &params });
}

/// Limits each element to the range from `lower` to `upper`.
///
/// Computes `c[i] = min(max, max(min, a[i]))`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `lower`: lower bound. It must not exceed `upper`.
/// - `upper`: upper bound.
pub fn clamp(self: Context, a: Tensor, lower: f64, upper: f64) Error!Tensor {
    return self.construct(c.tl_clamp, .{ a.handle, lower, upper });
}

/// Fills a tensor of the shape and type of `a` with one value.
///
/// Computes `c[i] = value`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, to which the value is rounded; or i32, i64 or f64. For integers, the value is an
///   integer of the type.
/// - Result: The type of `a`.
/// - `value`: value of all elements. NaN is valid.
pub fn fill(self: Context, a: Tensor, value: f64) Error!Tensor {
    return self.construct(c.tl_fill, .{ a.handle, value });
}

/// Replaces elements of `a` where `mask` is not 0 by a value.
///
/// Computes `c[i] = value if mask[i mod shape(mask)] != 0 else a[i]`.
///
/// A NaN in `mask` counts as not 0.
/// - Shapes: `c` has the shape of `a`. Each extent of `mask` is that of `a`, or 1.
/// - Types: `a` is f32, f16 or bf16, and the value is rounded to this type; or `a` is f64; or `a` is an integer or
///   bool, and the value is a number of its type. `mask` is a float, an integer or bool.
/// - Result: The type of `a`.
/// - `value`: the value. NaN and infinity are valid.
pub fn maskedFill(self: Context, a: Tensor, mask: Tensor, value: f64) Error!Tensor {
    return self.construct(c.tl_masked_fill, .{ a.handle, mask.handle, value });
}

/// Sums outer products: of each row of `a` and the row of `b` with the same index.
///
/// Computes `c[m, n, i2, i3] = sum over k of a[m, k, i2 / (X/x), i3 / (Y/y)] * b[n, k, i2, i3]`.
///
/// This is `mulMat` of both operands transposed. k = 0 gives zeros. Products and sums are computed in f32, and no
/// operand is rounded. A quantised `a` is decoded first; on the CPU this takes memory for all of it.
/// - Shapes: `a` {m, k, x, y}, `b` {n, k, X, Y}, `c` {m, n, X, Y}. x divides X and y divides Y, as for `mulMat`.
/// - Types: `a` has a float type, or a quantised type other than Q8_1 and Q8_K. `b` is f32, f16 or bf16.
/// - Result: f32.
pub fn outProd(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_out_prod, .{ a.handle, b.handle });
}

/// Sums, for each expert, the outer products of the rows of `a` and `b` that `ids` assigns to it.
///
/// Computes `c[n, m, e] = sum over (u, t) with ids[u, t] = e of a[n, u mod x, t] * b[m, u, t]`.
///
/// An expert without rows gets zeros. The index -1 stands for no expert: its rows are not read. Products and sums
/// are computed in f32, in the order of the rows, (0, 0), (1, 0) and so on. No operand is rounded.
/// - Shapes: `a` {n, x, tokens}, `b` {m, used, tokens}, `ids` {used, tokens}, `c` {n, m, experts}. x divides used:
///   with x = 1 all experts of a token share its row of `a`, with x = used each has a row of its own.
/// - Types: `a` and `b` are each f32, f16 or bf16. `ids` is i32 or i64.
/// - Result: f32.
/// - `experts`: number of experts. Range: 0 to 2^31 - 1.
/// - Computing fails with `error.InvalidArgument` for an index that is neither an expert nor -1. The message names
///   the first such element.
pub fn outProdId(self: Context, a: Tensor, b: Tensor, ids: Tensor, experts: i64) Error!Tensor {
    return self.construct(c.tl_out_prod_id, .{ a.handle, b.handle, ids.handle, experts });
}

/// Solves systems of equations with triangular matrices.
///
/// Computes `sum over k of a[k, r] c[i, k] = b[i, r]`.
///
/// Row r of `a` has the coefficients of equation r, and `c` the unknowns of one system in each column. Elements of
/// `a` on the other side of the diagonal are not read. The unknowns follow one after the other (substitution). A 0
/// on the diagonal gives infinities and NaN. For X a = b solve the transposed system.
/// - Shapes: `a` {n, n, x, y}, `b` and `c` {m, n, x, y}.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
/// - `left`: must be true: `a` is left of the unknowns.
/// - `lower`: whether the lower triangle of `a` is read, else the upper one.
/// - `unit`: whether 1 takes the place of the diagonal, which is then not read.
pub fn solveTri(self: Context, a: Tensor, b: Tensor, left: bool, lower: bool, unit: bool) Error!Tensor {
    return self.construct(c.tl_solve_tri, .{ a.handle, b.handle, left, lower, unit });
}

/// Swaps dimensions 0 and 1 of `a`.
///
/// Computes `c[i1, i0, i2, i3] = a[i0, i1, i2, i3]`.
/// - Shapes: `c` has the shape of `a` with the first two dimensions swapped.
/// - Types: Any type that is not quantised.
/// - Result: A view of `a`. Nothing is computed.
pub fn transpose(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_transpose, .{a.handle});
}

/// Returns `a`, and stops gradients.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape and the strides of `a`.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
pub fn stopGradient(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_stop_gradient, .{a.handle});
}

/// Repeats `a` along dimensions of 1 element without copying it.
///
/// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
///
/// The strides of the repeated dimensions are 0. Operators broadcast by themselves; `expand` is for operations
/// that do not. `repeat` copies, and repeats dimensions of any size.
/// - Shapes: `a` {n0, n1, n2, n3}. `c` differs from `a` only in dimensions in which `a` has 1 element.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `shape`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
pub fn expand(self: Context, a: Tensor, shape: []const i64) Error!Tensor {
    return self.construct(c.tl_expand, .{ a.handle, dimCount(shape), shape.ptr });
}

/// Inserts a dimension of 1 element.
///
/// Dimension d of `a` is dimension d of `c` before `dim`, and d + 1 from there on.
/// - Shapes: `a` has at most 3 dimensions, and `c` has one more.
/// - Types: Any type. If `dim` is 0, it is not quantised.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the inserted dimension. Range: 0 to 3.
pub fn unsqueeze(self: Context, a: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_unsqueeze, .{ a.handle, dim });
}

/// Removes a dimension of 1 element.
///
/// Dimension d of `a` is dimension d of `c` before `dim`, and d - 1 after it.
/// - Shapes: Dimension `dim` of `a` has 1 element. `c` has at least one dimension.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the removed dimension. Range: 0 to 3.
pub fn squeeze(self: Context, a: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_squeeze, .{ a.handle, dim });
}

/// Joins neighbouring dimensions to one.
///
/// The elements of `c` are those of `a`, in the same order.
///
/// `c` is a view of `a` if strides can express it, as always for a contiguous `a`, and a copy otherwise.
/// - Shapes: Dimension `first` of `c` has as many elements as dimensions `first` to `last` of `a` together.
/// - Types: Any type.
/// - Result: The type of `a`.
/// - `first`: the first joined dimension. Range: 0 to 3.
/// - `last`: the last one. Dimensions that `a` lacks have 1 element, so 3 joins all that follow. Range: 0 to 3.
pub fn flatten(self: Context, a: Tensor, first: i64, last: i64) Error!Tensor {
    return self.construct(c.tl_flatten, .{ a.handle, first, last });
}

/// Returns the elements of `a` with one index in a dimension, without that dimension.
///
/// Computes `c[i0, i2, i3] = a[i0, index, i2, i3]`.
///
/// The formula is for `dim` 1.
/// - Shapes: `c` has the shape of `a` without dimension `dim`.
/// - Types: Any type. If `dim` is 0, it is not quantised.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `index`: the index. Negative ones count from the end: -1 is the last.
pub fn select(self: Context, a: Tensor, dim: i64, index: i64) Error!Tensor {
    return self.construct(c.tl_select, .{ a.handle, dim, index });
}

/// Returns another result of the operation that made `a`.
///
/// c is result number `number` of the operation whose first result is `a`.
///
/// An operation with several results returns the first one. Its description says what the others are. All are
/// computed together.
/// - Shapes: Those of the operation's description.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `number`: which result. 0 is `a` itself. Range: 0 to 9.
pub fn result(self: Context, a: Tensor, number: i64) Error!Tensor {
    return self.construct(c.tl_result, .{ a.handle, number });
}

/// Copies `a` into contiguous memory.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape of `a` and is contiguous.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
pub fn cont(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_cont, .{a.handle});
}

/// Copies the elements of `src` into `dst`.
///
/// Element j of `dst` becomes element j of `src`, where both are counted along dimension 0 first.
///
/// Later nodes of the graph that read `dst`, through any view, see the new elements. `dst` must not be constant,
/// and no two of its elements may share memory. `src` must not share memory with `dst`, unless both are the same
/// elements.
/// - Shapes: `src` and `dst` have the same number of elements.
/// - Types: Any type into any type, converted as by `cast`.
/// - Result: A view of `dst`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
/// - Computing fails with `error.InvalidArgument` for a value that the type of `dst` cannot hold. The message
///   names the first such element.
pub fn cpy(self: Context, src: Tensor, dst: Tensor) Error!Tensor {
    return self.construct(c.tl_cpy, .{ src.handle, dst.handle });
}

/// Copies `a`.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape of `a` and is contiguous.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
pub fn dup(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_dup, .{a.handle});
}

/// Gathers rows of `a` by index.
///
/// Computes `c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]`.
/// - Shapes: `a` {n, m, x, y}, `rows` {r, x, y}, `c` {n, r, x, y}. A row may be taken any number of times.
/// - Types: `a` has any type, and `rows` is i32 or i64. `c` has the type of `a` if that is an integer type, and is
///   f32 otherwise. The conversion is exact, except that f64 is rounded.
/// - Computing fails with `error.InvalidArgument` for a row index out of range. The message names the first such
///   element.
pub fn getRows(self: Context, a: Tensor, rows: Tensor) Error!Tensor {
    return self.construct(c.tl_get_rows, .{ a.handle, rows.handle });
}

/// Stores the rows of `b` in `a` by index.
///
/// Computes `a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]`.
///
/// If an index occurs twice, the later row remains. `a` must not be constant, and no two of its elements may share
/// memory. `a` must not share memory with `b` or `rows`.
/// - Shapes: `a` {n, m, x, y}, `b` {n, r, x, y}, `rows` {r, x', y'}. x' divides x and y' divides y.
/// - Types: `a` and `b` have any types: `b` is converted to the type of `a` as by `cast`. `rows` is i32 or i64.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
/// - Computing fails with `error.InvalidArgument` for a row index out of range, whose row is not stored, and for a
///   value that the type of `a` cannot hold. The message names the first such element.
pub fn setRows(self: Context, a: Tensor, b: Tensor, rows: Tensor) Error!Tensor {
    return self.construct(c.tl_set_rows, .{ a.handle, b.handle, rows.handle });
}

/// Gathers parts of `a` by index along a dimension.
///
/// Computes `c[i0, k, i2, i3] = a[i0, indices[k], i2, i3]`.
///
/// The formula is for `dim` 1. For another dimension, the index takes the place of i1, i2 or i3. `getRows` and
/// `gather` do the work, and are named in errors while computing. A non-contiguous `a` may be copied first.
/// - Shapes: `indices` {n}. `c` has the shape of `a` with n elements in dimension `dim`.
/// - Types: `a` has any type. If `dim` is 0, it is not quantised. `indices` is i32 or i64. `c` has the type of
///   `a`, or f32 if that is quantised. Elements are copied exactly.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with `error.InvalidArgument` for an index out of range. The message names the first such
///   element.
pub fn indexSelect(self: Context, a: Tensor, indices: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_index_select, .{ a.handle, indices.handle, dim });
}

/// Takes the absolute value of each element.
///
/// Computes `c[i] = |a[i]|`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn abs(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_abs, .{a.handle});
}

/// Negates each element.
///
/// Computes `c[i] = -a[i]`.
///
/// The negation of 0 is -0.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn neg(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_neg, .{a.handle});
}

/// Squares each element.
///
/// Computes `c[i] = a[i] * a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn sqr(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sqr, .{a.handle});
}

/// Takes the square root of each element.
///
/// Computes `c[i] = sqrt(a[i])`.
///
/// Negative elements give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or f64.
/// - Result: The type of `a`.
pub fn sqrt(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sqrt, .{a.handle});
}

/// Takes the natural logarithm of each element.
///
/// Computes `c[i] = log(a[i])`.
///
/// 0 gives -infinity. Negative elements give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn log(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_log, .{a.handle});
}

/// Raises e to the power of each element.
///
/// Computes `c[i] = e ^ a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 1 ulp and rounded once.
/// - Result: The type of `a`.
pub fn exp(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_exp, .{a.handle});
}

/// Raises e to the power of each element and subtracts 1, with full precision near 0.
///
/// Computes `c[i] = e ^ a[i] - 1`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn expm1(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_expm1, .{a.handle});
}

/// Takes the sine of each element, in radians.
///
/// Computes `c[i] = sin(a[i])`.
///
/// Infinities give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn sin(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sin, .{a.handle});
}

/// Takes the cosine of each element, in radians.
///
/// Computes `c[i] = cos(a[i])`.
///
/// Infinities give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn cos(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_cos, .{a.handle});
}

/// Takes the sign of each element: -1, 0 or 1.
///
/// Computes `c[i] = a[i] / |a[i]| if a[i] != 0 else a[i]`.
///
/// -0 and NaN are kept.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
pub fn sgn(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sgn, .{a.handle});
}

/// Maps positive elements to 1 and all others to 0.
///
/// Computes `c[i] = 1 if a[i] > 0 else 0`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 and rounded once.
/// - Result: The type of `a`.
pub fn step(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_step, .{a.handle});
}

/// Rounds each element down to an integer.
///
/// Computes `c[i] = floor(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or f64.
/// - Result: The type of `a`.
pub fn floor(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_floor, .{a.handle});
}

/// Rounds each element up to an integer.
///
/// Computes `c[i] = ceil(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or f64.
/// - Result: The type of `a`.
pub fn ceil(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_ceil, .{a.handle});
}

/// Rounds each element to the nearest integer, and halves away from 0.
///
/// Computes `c[i] = sgn(a[i]) * floor(|a[i]| + 1/2)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or f64.
/// - Result: The type of `a`.
pub fn round(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_round, .{a.handle});
}

/// Rounds each element toward 0 to an integer.
///
/// Computes `c[i] = sgn(a[i]) * floor(|a[i]|)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or f64.
/// - Result: The type of `a`.
pub fn trunc(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_trunc, .{a.handle});
}

/// Applies the error function to each element.
///
/// Computes `c[i] = 2 / sqrt(pi) * integral from 0 to a[i] of e ^ (-t^2) dt`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn erf(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_erf, .{a.handle});
}

/// Applies the rectified linear unit (ReLU): negative elements become 0.
///
/// Computes `c[i] = max(a[i], 0)`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 and rounded once.
/// - Result: The type of `a`.
pub fn relu(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_relu, .{a.handle});
}

/// Applies the logistic function to each element.
///
/// Computes `c[i] = 1 / (1 + e ^ -a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn sigmoid(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sigmoid, .{a.handle});
}

/// Takes the hyperbolic tangent of each element.
///
/// Computes `c[i] = tanh(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
pub fn tanh(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_tanh, .{a.handle});
}

/// Applies the exponential linear unit (ELU) to each element.
///
/// Computes `c[i] = a[i] if a[i] > 0 else e ^ a[i] - 1`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn elu(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_elu, .{a.handle});
}

/// Applies the softplus function to each element.
///
/// Computes `c[i] = log(1 + e ^ a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn softplus(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_softplus, .{a.handle});
}

/// Multiplies each element by its `sigmoid` (SiLU, swish).
///
/// Computes `c[i] = a[i] / (1 + e ^ -a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn silu(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_silu, .{a.handle});
}

/// Applies the Gaussian error linear unit (GELU), approximated with tanh.
///
/// Computes `c[i] = a[i] / 2 * (1 + tanh(sqrt(2 / pi) * (a[i] + 0.044715 a[i]^3)))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn gelu(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_gelu, .{a.handle});
}

/// Applies the Gaussian error linear unit (GELU), with the error function.
///
/// Computes `c[i] = a[i] / 2 * (1 + erf(a[i] / sqrt(2)))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn geluErf(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_gelu_erf, .{a.handle});
}

/// Applies the Gaussian error linear unit (GELU), approximated with `sigmoid`.
///
/// Computes `c[i] = a[i] / (1 + e ^ (-1.702 a[i]))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn geluQuick(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_gelu_quick, .{a.handle});
}

/// Multiplies each element by its `hardsigmoid`.
///
/// Computes `c[i] = a[i] * min(max(a[i] + 3, 0), 6) / 6`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn hardswish(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_hardswish, .{a.handle});
}

/// Approximates the `sigmoid` of each element by three straight lines.
///
/// Computes `c[i] = min(max(a[i] + 3, 0), 6) / 6`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the result, and rounded once.
/// - Result: The type of `a`.
pub fn hardsigmoid(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_hardsigmoid, .{a.handle});
}

/// Applies the leaky rectified linear unit: negative elements are multiplied by `slope`.
///
/// Computes `c[i] = a[i] if a[i] > 0 else slope * a[i]`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 and rounded once.
/// - Result: The type of `a`.
/// - `slope`: factor of negative elements.
pub fn leakyRelu(self: Context, a: Tensor, slope: f64) Error!Tensor {
    return self.construct(c.tl_leaky_relu, .{ a.handle, slope });
}

/// Applies the integrated exponential linear unit (xIELU, arXiv 2411.13010) to each element.
///
/// Computes `c[i] = alpha_p a[i]^2 + beta a[i] if a[i] > 0 else alpha_n (e ^ min(a[i], eps) - 1 - a[i]) + beta
/// a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Computed in f32 with an error of at most 1e-6 of the larger of the two summands, and
///   rounded once.
/// - Result: The type of `a`.
/// - `alpha_n`: factor of the exponential part below 0, to which no softplus is applied.
/// - `alpha_p`: factor of the square above 0, to which no softplus is applied.
/// - `beta`: slope at 0.
/// - `eps`: upper bound of the exponent below 0. Models use -1e-6.
pub fn xielu(self: Context, a: Tensor, alpha_n: f64, alpha_p: f64, beta: f64, eps: f64) Error!Tensor {
    return self.construct(c.tl_xielu, .{ a.handle, alpha_n, alpha_p, beta, eps });
}

/// The attribute `op` of `glu`: the activation.
pub const GluOp = enum(i32) {
    /// Activation `relu`.
    reglu,
    /// Activation `gelu`.
    geglu,
    /// Activation `silu`.
    swiglu,
    /// Activation `geluErf`.
    geglu_erf,
    /// Activation `geluQuick`.
    geglu_quick,
    /// `g / (1 + e^(-alpha g)) * (u + 1)`, where g is min(gate, limit) and u is up, limited to -limit to limit.
    swiglu_oai,
};

/// Optional attributes of `glu`.
pub const GluOptions = struct {
    /// If true, the gate and up are two operands, and `b` is required. Default: false.
    split: bool = false,
    /// If true, the gate and up are exchanged. Default: false.
    swapped: bool = false,
    /// Factor in the logistic function of `swiglu_oai`. Other activations do not take it. Default: 1.702.
    alpha: f64 = 1.702,
    /// Limit of the gate and of up with `swiglu_oai`. Other activations do not take it. Range: 1e-6 to 1e38.
    /// Default: 7.
    limit: f64 = 7.0,
};

/// Applies an activation to a gate and multiplies the result by another operand (gated linear unit).
///
/// Computes `c[i] = activation(gate[i]) * up[i]`.
/// - Shapes: With `b`: `a`, `b` and `c` have the same shape, the gate is `a` and up is `b`. Without `b`: `a` is
///   {2 n, m, x, y} and `c` is {n, m, x, y}, the gate is the first half of each row of `a` and up the second half.
///   If `a` has rows of 2 n + 1 elements, the last one is not read.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32: the activation has an error of at most 1e-6 of
///   its value, and the product is rounded once.
/// - Result: The type of `a`.
/// - `b` is optional: `null` leaves it out.
/// - `op`: the activation.
pub fn glu(self: Context, a: Tensor, b: ?Tensor, op: GluOp, options: GluOptions) Error!Tensor {
    const params: c.tl_glu_params = .{
        .split = options.split,
        .swapped = options.swapped,
        .alpha = options.alpha,
        .limit = options.limit,
    };
    return self.construct(c.tl_glu, .{ a.handle, Tensor.handleOrNone(b), @intFromEnum(op), &params });
}

/// Subtracts the mean of each row and divides by the standard deviation (layer normalisation without weight and
/// bias).
///
/// Computes `c[i, r] = (a[i, r] - mean(a[r])) / sqrt(variance(a[r]) + eps)`; `variance(x) = mean((x -
/// mean(x))^2)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
/// - `eps`: added to the variance, so that rows without variation become 0. Range: 0 to 1e38.
pub fn norm(self: Context, a: Tensor, eps: f64) Error!Tensor {
    return self.construct(c.tl_norm, .{ a.handle, eps });
}

/// Divides each row by its root mean square.
///
/// Computes `c[i, r] = a[i, r] / sqrt(mean(a[r]^2) + eps)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
/// - `eps`: added to the mean square, so that rows of zeros stay zeros. Range: 0 to 1e38.
pub fn rmsNorm(self: Context, a: Tensor, eps: f64) Error!Tensor {
    return self.construct(c.tl_rms_norm, .{ a.handle, eps });
}

/// Divides each row by its Euclidean length.
///
/// Computes `c[i, r] = a[i, r] / max(sqrt(sum(a[r]^2)), eps)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
/// - `eps`: smallest divisor, so that rows of zeros stay zeros. Range: 0 to 1e38.
pub fn l2Norm(self: Context, a: Tensor, eps: f64) Error!Tensor {
    return self.construct(c.tl_l2_norm, .{ a.handle, eps });
}

/// Subtracts the mean of each group of channels and divides by the standard deviation.
///
/// Computes `c[i] = (a[i] - mean(G)) / sqrt(variance(G) + eps)`.
///
/// G is the group of `a[i]`. The channels are dimension 2. With k = ceil(channels / groups), group j has the
/// channels j k to j k + k - 1; the last groups have the channels that remain.
/// - Shapes: `a` {n, m, channels, batch}. `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
/// - `groups`: number of groups. At most the number of channels. At least 1.
/// - `eps`: added to the variance, so that groups without variation become 0. Range: 0 to 1e38.
pub fn groupNorm(self: Context, a: Tensor, groups: i64, eps: f64) Error!Tensor {
    return self.construct(c.tl_group_norm, .{ a.handle, groups, eps });
}

/// Computes the softmax of each row: weights that sum to 1.
///
/// Computes `c[i, r] = e^(a[i, r] - max(a[r])) / sum over j of e^(a[j, r] - max(a[r]))`.
///
/// -infinity has the weight 0. A row that has only -infinity, or has NaN or infinity in it, becomes NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
pub fn softMax(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_soft_max, .{a.handle});
}

/// Optional attributes of `softMaxExt`.
pub const SoftMaxExtOptions = struct {
    /// Factor of `a`. Default: 1.
    scale: f64 = 1.0,
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    max_bias: f64 = 0.0,
};

/// Scales and masks each row and computes its softmax (attention weights).
///
/// Computes `x[i] = scale a[i, r] + slope(h) mask[i, r]`; `c[i, r] = e^(x[i] - m) / (e^(sinks[h] - m) + sum over j
/// of e^(x[j] - m))`.
///
/// m is the largest of x and `sinks[h]`, and h is the index in dimension 2, the head. The terms of an operand that
/// is left out are dropped. slope(h) is 1 if `max_bias` is 0. Otherwise let p be the largest power of 2 that is at
/// most the number of heads: slope(h) is 2^(-max_bias (h + 1) / p) for h < p, and 2^(-max_bias (2 (h - p) + 1) /
/// (2 p)) for the other heads (Press, Smith and Lewis, Train Short, Test Long, 2022). -infinity has the weight 0.
/// Without `sinks`, a row that has only -infinity becomes NaN. A row with NaN or infinity in it becomes NaN.
/// - Shapes: `a` {n, m, heads, batch}, `mask` {n, m', x, y}, `sinks` {heads}. `c` has the shape of `a`. m' is at
///   least m; further rows of `mask` are not read. x divides heads and y divides batch.
/// - Types: `a` and `mask` are each f32, f16 or bf16, and `sinks` is f32. Sums are computed as by `sum`,
///   everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
/// - `mask` and `sinks` are optional: `null` leaves one out.
pub fn softMaxExt(
    self: Context,
    a: Tensor,
    mask: ?Tensor,
    sinks: ?Tensor,
    options: SoftMaxExtOptions,
) Error!Tensor {
    const params: c.tl_soft_max_ext_params = .{
        .scale = options.scale,
        .max_bias = options.max_bias,
    };
    return self.construct(c.tl_soft_max_ext, .{ a.handle, Tensor.handleOrNone(mask), Tensor.handleOrNone(sinks), &params });
}

/// Computes the logarithm of the `softMax` of each row.
///
/// Computes `c[i, r] = a[i, r] - m - log(sum over j of e^(a[j, r] - m))`; `m = max(a[r])`.
///
/// -infinity stays -infinity. A row that has only -infinity, or has NaN or infinity in it, becomes NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Sums are computed as by `sum`, everything else in f32. The result is rounded once.
/// - Result: The type of `a`.
pub fn logSoftMax(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_log_soft_max, .{a.handle});
}

/// The attribute `mode` of `rope`: the elements that form pair k. Default: normal.
pub const RopeMode = enum(i32) {
    /// Elements 2 k and 2 k + 1.
    normal,
    /// Elements k and k + n_dims / 2.
    neox,
    /// Elements k and k + n_dims / 2, with four positions for each token, see `sections`.
    mrope,
    /// As mrope, with sections that take turns pair by pair.
    imrope,
    /// Elements k and k + n_dims, with four positions for each token, see `sections`.
    vision,
};

/// Optional attributes of `rope`.
pub const RopeOptions = struct {
    /// The elements that form pair k. Default: normal.
    mode: RopeMode = .normal,
    /// Number of elements of each row that are rotated, from `offset` on; with `vision`, half of that number. It
    /// must be even, except with `vision`. 0 rotates all. Range: 0 to 1048576. Default: 0.
    n_dims: i64 = 0,
    /// The first element that is rotated. Range: 0 to 1048576. Default: 0.
    offset: i64 = 0,
    /// For `mrope`, `imrope` and `vision` only: the number of consecutive pairs that use the first position of a
    /// token, the second, the third and the fourth. After these pairs the sequence repeats. With `imrope`, let z
    /// be k modulo the sum of the sections: a pair uses position z mod 3, or the fourth if z / 3 is not below that
    /// section. Each 0 to 1048576.
    sections: [4]i64 = @splat(0),
    /// Context length that the model was trained for. Required if `ext_factor` is above 0. At least 0. Default: 0.
    n_ctx_orig: i64 = 0,
    /// Base of the frequencies. Range: 0.001 to 1e38. Default: 10000.
    freq_base: f64 = 10000.0,
    /// Factor of the positions, which stretches the context. Range: 1e-6 to 1000000. Default: 1.
    freq_scale: f64 = 1.0,
    /// Strength of YaRN. 0 disables it. Range: 0 to 1000000. Default: 0.
    ext_factor: f64 = 0.0,
    /// Factor of the result. Range: 1e-6 to 1000000. Default: 1.
    attn_factor: f64 = 1.0,
    /// Pairs with more turns than this within `n_ctx_orig` are not stretched. Range: 1e-6 to 1000000000.
    /// Default: 32.
    beta_fast: f64 = 32.0,
    /// Pairs with fewer turns than this within `n_ctx_orig` are stretched fully. Range: 1e-6 to 1000000000.
    /// Default: 1.
    beta_slow: f64 = 1.0,
    /// If true, rotates in the opposite direction, by -t. Default: false.
    inverse: bool = false,
};

/// Rotates pairs of elements of each row by angles that are proportional to its position (rotary position
/// embedding).
///
/// Computes `(x, y) = m (x cos t - y sin t, x sin t + y cos t)`; `t = position w(k)`; `w(k) = freq_base^(-2 k /
/// n_dims) / freq_factors[k] * (freq_scale (1 - r(k)) + r(k))`.
///
/// (x, y) is pair k of the n_dims / 2 pairs of a row. All other elements are copied. With `vision` there are
/// n_dims pairs, and k in w(k) counts from the first pair of the section. Without `freq_factors` all factors
/// are 1. Without `ext_factor`, r(k) = 0 and m = attn_factor. With `ext_factor` (YaRN, Peng and others, 2023), m =
/// attn_factor (1 + 0.1 ln(1 / freq_scale)) and r(k) = ext_factor (1 - q), where q is (k - low) / max(high - low,
/// 0.001) limited to 0 to 1. There low = max(0, floor(d(beta_fast))), high = min(n_dims - 1, ceil(d(beta_slow)))
/// and d(beta) = n_dims ln(n_ctx_orig / (2 pi beta)) / (2 ln freq_base).
/// - Shapes: `a` {n, heads, tokens, batch}, `positions` {tokens} or {tokens, batch}, `freq_factors` {n_dims / 2}.
///   `c` has the shape of `a`. If `mode` is `mrope`, `imrope` or `vision`, `positions` is {4 tokens} or
///   {4 tokens, batch}: all positions of the first section, then all of the second, and so on.
/// - Types: `a` is f32, f16 or bf16, `positions` i32 or i64, `freq_factors` f32. Angles are computed in f64 and
///   the rest in f32, with an error of at most 8 * 2^-24 m (|x| + |y|). The result is rounded once to the type of
///   `a`.
/// - Result: The type of `a`.
/// - `freq_factors` is optional: `null` leaves it out.
pub fn rope(
    self: Context,
    a: Tensor,
    positions: Tensor,
    freq_factors: ?Tensor,
    options: RopeOptions,
) Error!Tensor {
    const params: c.tl_rope_params = .{
        .mode = @intFromEnum(options.mode),
        .n_dims = options.n_dims,
        .offset = options.offset,
        .sections = options.sections,
        .n_ctx_orig = options.n_ctx_orig,
        .freq_base = options.freq_base,
        .freq_scale = options.freq_scale,
        .ext_factor = options.ext_factor,
        .attn_factor = options.attn_factor,
        .beta_fast = options.beta_fast,
        .beta_slow = options.beta_slow,
        .inverse = options.inverse,
    };
    return self.construct(c.tl_rope, .{ a.handle, positions.handle, Tensor.handleOrNone(freq_factors), &params });
}

/// Optional attributes of `flashAttnExt`.
pub const FlashAttnExtOptions = struct {
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    scale: f64 = 0.0,
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    max_bias: f64 = 0.0,
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    logit_softcap: f64 = 0.0,
};

/// Computes attention: for each query, the mean of the values, weighted by the softmax of its products with the
/// keys.
///
/// Computes `x[j] = scale (q[., t, h, b] . k[., j, h', b']) + slope(h) mask[j, t]`; `w = softmax(x)`;
/// `c[d, h, t, b] = sum over j of w[j] v[d, j, h', b']`.
///
/// h' = h / (heads / heads') is the head of `k` and `v` that query head h uses, and b' follows in the same way.
/// With `sinks`, `e^sinks[h]` is one more summand of the softmax, which has no value. With `logit_softcap` s above
/// 0, the product becomes s tanh(scale (q . k) / s). slope(h) is 1 if `max_bias` is 0. Otherwise let p be the
/// largest power of 2 that is at most the number of heads: slope(h) is 2^(-max_bias (h + 1) / p) for h < p, and
/// 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the other heads (Press, Smith and Lewis, Train Short, Test Long,
/// 2022). Keys with a mask of -infinity for all queries of a block are skipped. Other masked keys multiply their
/// value by 0, which gives NaN if the value is not finite. A query without keys becomes NaN unless there are
/// `sinks`. A query with NaN or infinity among its products becomes NaN.
/// - Shapes: `q` {n, tokens, heads, batch}, `k` {n, keys, heads', batch'}, `v` {m, keys, heads', batch'}, `mask`
///   {keys, tokens', x, y}, `sinks` {heads}, `c` {m, heads, tokens, batch}. heads' divides heads and batch'
///   divides batch. tokens' is at least tokens; further rows of `mask` are not read. x divides heads and y divides
///   batch.
/// - Types: `q` and `mask` are each f32, f16 or bf16. `k` and `v` each have a float type, or a quantised type
///   other than Q8_1 and Q8_K. `sinks` is f32. Computed in f32: products and sums over up to 144 keys, and then
///   block by block. e^x is computed to within 1e-6.
/// - Result: f32.
/// - `mask` and `sinks` are optional: `null` leaves one out.
pub fn flashAttnExt(
    self: Context,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: ?Tensor,
    sinks: ?Tensor,
    options: FlashAttnExtOptions,
) Error!Tensor {
    const params: c.tl_flash_attn_ext_params = .{
        .scale = options.scale,
        .max_bias = options.max_bias,
        .logit_softcap = options.logit_softcap,
    };
    return self.construct(c.tl_flash_attn_ext, .{ q.handle, k.handle, v.handle, Tensor.handleOrNone(mask), Tensor.handleOrNone(sinks), &params });
}

/// Optional attributes of `pagedAttention`.
pub const PagedAttentionOptions = struct {
    /// Rows of a page. Range: 1 to 65536. Default: 64.
    page: i64 = 64,
    /// Number of keys that a token sees, including its own. 0: all. At least 0. Default: 0.
    window: i64 = 0,
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    scale: f64 = 0.0,
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    logit_softcap: f64 = 0.0,
};

/// Computes causal attention of tokens of several sequences, whose keys and values lie in pages of a pool.
///
/// Computes `x[j] = scale (q[., t, h] . k[., h', r(j)]) for j from max(0, p - window + 1) to p, where p =
/// positions[t]`; `w = softmax(x)`; `c[d, h, t] = sum over j of w[j] v[d, h', r(j)]`; `r(j) = page
/// pages[floor(j / page), sequences[t]] + j mod page`.
///
/// A token sees the keys of its own sequence up to its own position, or the last `window` of them if `window` is
/// above 0. h' = h / (heads / heads') is the head of `k` and `v` that query head h uses. Rows of `k` and `v` that
/// no token sees are not read, nor are numbers of pages that no token needs. With `sinks`, `e^sinks[h]` is one
/// more summand of the softmax, which has no value. With `logit_softcap` s above 0, the product becomes s
/// tanh(scale (q . k) / s). A query with NaN or infinity among its products becomes NaN. A number of a page, a
/// position or a sequence that does not exist is an error of the run. One pool serves any number of sequences:
/// PagedAttention (Kwon and others, 2023).
/// - Shapes: `q` {n, tokens, heads}, `k` {n, heads', rows}, `v` {m, heads', rows}, `pages` {most, n_sequences},
///   `positions` {tokens}, `sequences` {tokens}, `sinks` {heads}, `c` {m, heads, tokens}. heads' divides heads and
///   `page` divides rows.
/// - Types: `q` is f32, f16 or bf16. `k` and `v` each have a float type, or a quantised type other than Q8_1 and
///   Q8_K. `pages`, `positions` and `sequences` are i32 or i64. `sinks` is f32. Computed in f32: products and sums
///   over up to 256 keys, and then block by block. e^x is computed to within 1e-6.
/// - Result: f32.
/// - `sinks` is optional: `null` leaves it out.
pub fn pagedAttention(
    self: Context,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pages: Tensor,
    positions: Tensor,
    sequences: Tensor,
    sinks: ?Tensor,
    options: PagedAttentionOptions,
) Error!Tensor {
    const params: c.tl_paged_attention_params = .{
        .page = options.page,
        .window = options.window,
        .scale = options.scale,
        .logit_softcap = options.logit_softcap,
    };
    return self.construct(c.tl_paged_attention, .{ q.handle, k.handle, v.handle, pages.handle, positions.handle, sequences.handle, Tensor.handleOrNone(sinks), &params });
}

/// Optional attributes of `sum`.
pub const SumOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Sums `a` over dimensions.
///
/// Computes `c[k] = sum over r of a[k, r]`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Along dimension 0, elements are
/// summed in f32 in blocks of 1024, each of which has 32 partial sums that are added pairwise. If dimension 0
/// stays, they are summed in f32 in blocks of 32. Blocks are summed in f64. The error is at most 2^-18.6 of the
/// sum of the magnitudes. The order depends on the shape and on the positions of the elements alone.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. The sum of no elements is 0.
/// - Types: `a` is a float, an integer or bool. `c` is f32 for f32, f16 and bf16, f64 for f64, and otherwise i64,
///   which wraps around where it overflows. f64 is computed in f64, in an order that depends on the shape alone.
pub fn sum(self: Context, a: Tensor, options: SumOptions) Error!Tensor {
    const params: c.tl_sum_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_sum, .{ a.handle, &params });
}

/// Sums each row of `a`.
///
/// Computes `c[0, i1, i2, i3] = sum over i of a[i, i1, i2, i3]`.
///
/// It is `sum` over dimension 0, which stays with 1 element.
/// - Shapes: `a` {n, m, x, y}, `c` {1, m, x, y}. The sum of an empty row is 0.
/// - Types: `a` is a float, an integer or bool. `c` is f32 for f32, f16 and bf16, f64 for f64, and otherwise i64,
///   which wraps around where it overflows. f64 is computed in f64, in an order that depends on the shape alone.
pub fn sumRows(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_sum_rows, .{a.handle});
}

/// Optional attributes of `mean`.
pub const MeanOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Computes the mean of `a` over dimensions.
///
/// Computes `c[k] = (sum over r of a[k, r]) / n`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced elements.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. The mean of no elements is NaN.
/// - Types: `a` is a float, an integer or bool. Summed as by `sum`, integers in f64, and divided in f64. `c` is
///   f32 for f32, f16 and bf16, rounded once, and f64 for other types.
pub fn mean(self: Context, a: Tensor, options: MeanOptions) Error!Tensor {
    const params: c.tl_mean_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_mean, .{ a.handle, &params });
}

/// Computes the running sums of each row of `a`.
///
/// Computes `c[i, i1, i2, i3] = sum over j <= i of a[j, i1, i2, i3]`.
///
/// In f32, the sum of the preceding blocks of 1024 elements is computed as by `sum`. Within such a block, elements
/// are summed in blocks of 256: runs of 16 pairwise, and these one after another. The error is at most 2^-18.7 of
/// the sum of the magnitudes up to the element.
/// - Shapes: `c` has the shape of `a`.
/// - Types: `a` is a float, an integer or bool. `c` is f32 for f32, f16 and bf16, f64 for f64, and otherwise i64,
///   which wraps around where it overflows. f64 is computed in f64, in an order that depends on the shape alone.
pub fn cumsum(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_cumsum, .{a.handle});
}

/// Optional attributes of `argmax`.
pub const ArgmaxOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Finds the index of the largest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest r for which a[k, r] is largest`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are counted in
/// the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index i0 + i1 times the extent
/// of dimension 0. NaN is less than everything else, so NaN alone gives 0. -0 and 0 are equal.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. Each reduced dimension has 1 element or more, unless `c` is empty. At
///   most 2^31 - 1 elements are reduced to one.
/// - Types: `a` is a float, an integer or bool.
/// - Result: i32.
pub fn argmax(self: Context, a: Tensor, options: ArgmaxOptions) Error!Tensor {
    const params: c.tl_argmax_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_argmax, .{ a.handle, &params });
}

/// The attribute `order` of `argsort`: the direction. Default: asc.
pub const ArgsortOrder = enum(i32) {
    /// Smallest element first.
    asc,
    /// Largest element first.
    desc,
};

/// Optional attributes of `argsort`.
pub const ArgsortOptions = struct {
    /// The direction. Default: asc.
    order: ArgsortOrder = .asc,
};

/// Computes the indices that sort each row of `a`.
///
/// Computes `a[c[0], i1, i2, i3] <= a[c[1], i1, i2, i3] <= .. in ascending order, >= in descending order`.
///
/// Equal elements keep their order in both directions. -0 and 0 are equal, and NaN is last in both directions.
/// - Shapes: `c` has the shape of `a`. Rows have at most 2^31 - 1 elements.
/// - Types: `a` is a float, an integer or bool.
/// - Result: i32.
pub fn argsort(self: Context, a: Tensor, options: ArgsortOptions) Error!Tensor {
    const params: c.tl_argsort_params = .{
        .order = @intFromEnum(options.order),
    };
    return self.construct(c.tl_argsort, .{ a.handle, &params });
}

/// Finds the indices of the `k` largest elements of each row of `a`, the largest first.
///
/// Computes `c[j, i1, i2, i3] = the index of the (j + 1)-th largest element of row (i1, i2, i3) of a`.
///
/// Among equal elements, the one with the smaller index comes first. -0 and 0 are equal, and NaN is less than
/// everything else.
/// - Shapes: `a` {n, m, x, y}, `c` {k, m, x, y}. k is 0 to n, and n is at most 2^31 - 1.
/// - Types: `a` is a float, an integer or bool.
/// - Result: i32.
/// - `k`: number of elements of each row. Range: 0 to 2^31 - 1.
pub fn topK(self: Context, a: Tensor, k: i64) Error!Tensor {
    return self.construct(c.tl_top_k, .{ a.handle, k });
}

/// Counts the positions at which `a` and `b` are equal.
///
/// Computes `c[0] = number of i with a[i] = b[i]`.
///
/// NaN equals nothing. -0 and 0 are equal.
/// - Shapes: `a` and `b` have the same shape. `c` {1}.
/// - Types: `a` and `b` have the same type, which is not quantised.
/// - Result: i64.
pub fn countEqual(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_count_equal, .{ a.handle, b.handle });
}

/// Computes the mean over all rows of the cross entropy of the labels `b` and the softmax of the logits `a`.
///
/// Computes `c[0] = -(1 / rows) * sum over rows and i of b[i] * log(soft_max(a)[i])`.
///
/// Each row is taken relative to its largest element, so no exponential overflows. Where `b` is 0 nothing is
/// added, even if `a` is -infinity. NaN in either operand makes the result NaN.
/// - Shapes: `a` (logits) and `b` (labels, as probabilities) have the same shape. `c` {1}. Without rows the result
///   is NaN.
/// - Types: `a` and `b` are each f32, f16 or bf16. Sums are computed as by `sum`.
/// - Result: f32.
pub fn crossEntropyLoss(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_cross_entropy_loss, .{ a.handle, b.handle });
}

/// Optional attributes of `max`.
pub const MaxOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Finds the largest element of `a` over dimensions.
///
/// Computes `c[k] = the largest a[k, r] over all r`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the elements is NaN.
/// 0 counts as larger than -0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. Each reduced dimension has 1 element or more, unless `c` is empty.
/// - Types: `a` is a float, an integer or bool. `c` has the type of `a`, but is f32 if that is f16 or bf16.
pub fn max(self: Context, a: Tensor, options: MaxOptions) Error!Tensor {
    const params: c.tl_max_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_max, .{ a.handle, &params });
}

/// Optional attributes of `min`.
pub const MinOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Finds the smallest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest a[k, r] over all r`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the elements is NaN.
/// 0 counts as larger than -0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. Each reduced dimension has 1 element or more, unless `c` is empty.
/// - Types: `a` is a float, an integer or bool. `c` has the type of `a`, but is f32 if that is f16 or bf16.
pub fn min(self: Context, a: Tensor, options: MinOptions) Error!Tensor {
    const params: c.tl_min_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_min, .{ a.handle, &params });
}

/// Optional attributes of `argmin`.
pub const ArgminOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Finds the index of the smallest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest r for which a[k, r] is smallest`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are counted in
/// the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index i0 + i1 times the extent
/// of dimension 0. NaN is greater than everything else, so NaN alone gives 0. -0 and 0 are equal.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. Each reduced dimension has 1 element or more, unless `c` is empty. At
///   most 2^31 - 1 elements are reduced to one.
/// - Types: `a` is a float, an integer or bool.
/// - Result: i32.
pub fn argmin(self: Context, a: Tensor, options: ArgminOptions) Error!Tensor {
    const params: c.tl_argmin_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_argmin, .{ a.handle, &params });
}

/// Optional attributes of `variance`.
pub const VarOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Computes the variance of `a` over dimensions.
///
/// Computes `c[k] = (sum over r of (a[k, r] - mean)^2) / (n - correction)`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced elements.
/// Elements are taken in blocks: of 1024 along dimension 0, or of 32 if dimension 0 stays. The mean and the
/// squares of a block are computed in f32, in a second pass over it, and blocks are joined in f64. The divisor is
/// 0 where n is less than `correction`, and 0 / 0 is NaN.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each.
/// - Types: `a` is a float, an integer or bool. Integers are computed in f64. `c` is f32 for f32, f16 and bf16,
///   rounded once, and f64 for other types.
/// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the elements, as in
///   NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch and candle. Range: 0 to
///   2^31 - 1.
pub fn variance(self: Context, a: Tensor, correction: i64, options: VarOptions) Error!Tensor {
    const params: c.tl_var_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_var, .{ a.handle, correction, &params });
}

/// Optional attributes of `stdDev`.
pub const StdOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Computes the standard deviation of `a` over dimensions: the square root of `variance`.
///
/// Computes `c[k] = sqrt((sum over r of (a[k, r] - mean)^2) / (n - correction))`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced elements.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each.
/// - Types: `a` is a float, an integer or bool. Computed as `variance`, with the root in f64. `c` is f32 for f32,
///   f16 and bf16, rounded once, and f64 for other types.
/// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the elements, as in
///   NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch and candle. Range: 0 to
///   2^31 - 1.
pub fn stdDev(self: Context, a: Tensor, correction: i64, options: StdOptions) Error!Tensor {
    const params: c.tl_std_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_std, .{ a.handle, correction, &params });
}

/// Optional attributes of `prod`.
pub const ProdOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Multiplies the elements of `a` over dimensions.
///
/// Computes `c[k] = product over r of a[k, r]`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Products of floats are computed in
/// f64, in an order that depends on the shape alone.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. The product of no elements is 1.
/// - Types: `a` is a float, an integer or bool. `c` is f32 for f32, f16 and bf16, f64 for f64, and otherwise i64,
///   which wraps around where it overflows. f64 is computed in f64, in an order that depends on the shape alone.
pub fn prod(self: Context, a: Tensor, options: ProdOptions) Error!Tensor {
    const params: c.tl_prod_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_prod, .{ a.handle, &params });
}

/// Optional attributes of `any`.
pub const AnyOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Tests whether any element of `a` is not 0, over dimensions.
///
/// Computes `c[k] = 1 if a[k, r] != 0 for some r, else 0`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. No elements give 0.
/// - Types: `a` is a float, an integer or bool. `c` is bool if `a` is, and f32 otherwise.
pub fn any(self: Context, a: Tensor, options: AnyOptions) Error!Tensor {
    const params: c.tl_any_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_any, .{ a.handle, &params });
}

/// Optional attributes of `all`.
pub const AllOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Tests whether no element of `a` is 0, over dimensions.
///
/// Computes `c[k] = 1 if a[k, r] != 0 for every r, else 0`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. No elements give 1.
/// - Types: `a` is a float, an integer or bool. `c` is bool if `a` is, and f32 otherwise.
pub fn all(self: Context, a: Tensor, options: AllOptions) Error!Tensor {
    const params: c.tl_all_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_all, .{ a.handle, &params });
}

/// Optional attributes of `logSumExp`.
pub const LogSumExpOptions = struct {
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    dims: []const u2 = &.{},
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    keep: bool = false,
};

/// Computes the logarithm of the sum of the exponentials of `a` over dimensions.
///
/// Computes `c[k] = log(sum over r of e^a[k, r])`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Elements are taken relative to the
/// largest, so no exponential overflows.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If `keep` is
///   true, they stay with 1 element each. No elements give -infinity.
/// - Types: `a` is a float, an integer or bool. Exponentials are computed in f32, or in f64 for other types, and
///   summed as by `sum`; the logarithm is computed in f64. `c` is f32 for f32, f16 and bf16, rounded once, and f64
///   for other types.
pub fn logSumExp(self: Context, a: Tensor, options: LogSumExpOptions) Error!Tensor {
    const params: c.tl_log_sum_exp_params = .{
        .dims = setOf(options.dims),
        .keep = options.keep,
    };
    return self.construct(c.tl_log_sum_exp, .{ a.handle, &params });
}

/// Repeats `a` until it fills a shape.
///
/// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
///
/// Element-wise operations broadcast operands without `repeat`, and a `view` with strides of 0 repeats rows
/// without copying them.
/// - Shapes: `a` {n0, n1, n2, n3}. Each extent of `c` is a multiple of that of `a`.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `shape`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
pub fn repeat(self: Context, a: Tensor, shape: []const i64) Error!Tensor {
    return self.construct(c.tl_repeat, .{ a.handle, dimCount(shape), shape.ptr });
}

/// Concatenates `a` and `b` along a dimension.
///
/// Computes `c[i] = a[i] if i < n else b[i - n]`.
///
/// i is the index in dimension `dim`, and n is the size of `a` there. `cat` takes any number of tensors. By name,
/// the operation takes up to 10.
/// - Shapes: `a` and `b` have the same shape except in dimension `dim`, where `c` has the sum of their sizes.
/// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
pub fn concat(self: Context, a: Tensor, b: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_concat, .{ a.handle, b.handle, dim });
}

/// Optional attributes of `pad`.
pub const PadOptions = struct {
    /// Number of elements before the first one of each dimension. Each at least 0.
    lp: [4]i64 = @splat(0),
    /// If true, `a` repeats instead of zeros. Default: false.
    circular: bool = false,
};

/// Extends `a` in each dimension, by zeros or by its own repetitions.
///
/// Computes `c[i] = a[i - lp] if a has element i - lp else 0`.
///
/// With `circular`, c[i] = a[(i - lp) mod n], where n is the extent of `a` in the dimension.
/// - Shapes: Dimension d of `c` has the size of that of `a` plus `lp[d]` and `p[d]`. With `circular`, dimensions
///   of `a` that are extended are not empty.
/// - Types: Any type. For a quantised type `p[0]` and `lp[0]` are multiples of the block size. Elements are copied
///   exactly.
/// - Result: The type of `a`.
/// - `p`: number of elements after the last one of each dimension. Each at least 0.
pub fn pad(self: Context, a: Tensor, p: [4]i64, options: PadOptions) Error!Tensor {
    const params: c.tl_pad_params = .{
        .lp = options.lp,
        .circular = options.circular,
    };
    return self.construct(c.tl_pad, .{ a.handle, &p, &params });
}

/// Extends each row of `a` at both ends by its mirror image.
///
/// Computes `c[i] = a[p0 - i] for i < p0`; `c[i] = a[i - p0] for p0 <= i < p0 + n`; `c[i] =
/// a[2 (n - 1) - (i - p0)] for i >= p0 + n`.
/// - Shapes: `a` {n, ..}, `c` {p0 + n + p1, ..}. p0 and p1 must be less than n.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `p0`: number of elements before each row. At least 0.
/// - `p1`: number of elements after each row. At least 0.
pub fn padReflect1d(self: Context, a: Tensor, p0: i64, p1: i64) Error!Tensor {
    return self.construct(c.tl_pad_reflect_1d, .{ a.handle, p0, p1 });
}

/// Shifts `a` cyclically in each dimension.
///
/// Computes `c[(i + shift) mod n] = a[i] in each dimension, of size n`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type. For a quantised type `shift[0]` is a multiple of the block size. Elements are copied
///   exactly.
/// - Result: The type of `a`.
/// - `shift`: shift in each dimension. A negative one shifts toward the beginning.
pub fn roll(self: Context, a: Tensor, shift: [4]i64) Error!Tensor {
    return self.construct(c.tl_roll, .{ a.handle, &shift });
}

/// Makes matrices that have the rows of `a` as their diagonals.
///
/// Computes `c[i0, i1, i2, i3] = a[i0, 0, i2, i3] if i0 = i1 else 0`.
/// - Shapes: `a` {n, 1, x, y}, `c` {n, n, x, y}.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
pub fn diag(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_diag, .{a.handle});
}

/// The attribute `part` of `tri`: the triangle that is kept.
pub const TriType = enum(i32) {
    /// i0 < i1, the lower triangle without the diagonal.
    lower,
    /// i0 <= i1, the lower triangle with the diagonal.
    lower_diag,
    /// i1 < i0, the upper triangle without the diagonal.
    upper,
    /// i1 <= i0, the upper triangle with the diagonal.
    upper_diag,
};

/// Keeps a triangle of each matrix of `a` and sets all other elements to 0.
///
/// Computes `c[i0, i1] = a[i0, i1] if (i0, i1) is in the triangle else 0`.
/// - Shapes: `c` has the shape of `a`. Matrices need not be square.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `part`: the triangle that is kept.
pub fn tri(self: Context, a: Tensor, part: TriType) Error!Tensor {
    return self.construct(c.tl_tri, .{ a.handle, @intFromEnum(part) });
}

/// Sets the attention scores of later positions to -infinity (causal mask).
///
/// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else -infinity`.
/// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `n_past`: position of the first query. At least 0.
pub fn diagMaskInf(self: Context, a: Tensor, n_past: i64) Error!Tensor {
    return self.construct(c.tl_diag_mask_inf, .{ a.handle, n_past });
}

/// Sets the attention scores of later positions to 0 (causal mask).
///
/// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else 0`.
/// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
/// - Types: f32, f16 or bf16. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `n_past`: position of the first query. At least 0.
pub fn diagMaskZero(self: Context, a: Tensor, n_past: i64) Error!Tensor {
    return self.construct(c.tl_diag_mask_zero, .{ a.handle, n_past });
}

/// Optional attributes of `acc`.
pub const AccOptions = struct {
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0. Default: 0.
    nb1: i64 = 0,
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0. Default: 0.
    nb2: i64 = 0,
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    nb3: i64 = 0,
    /// Start of the window, in bytes. At least 0. Default: 0.
    offset: i64 = 0,
};

/// Adds `b` to a window of a copy of `a`.
///
/// Computes `c = a`; `window(c)[i0, i1, i2, i3] += b[i0, i1, i2, i3]`.
///
/// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and `nb3`. `a`
/// is not changed.
/// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements of the
///   window may share memory.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32 and rounded once to the type of `a`.
/// - Result: The type of `a`.
pub fn acc(self: Context, a: Tensor, b: Tensor, options: AccOptions) Error!Tensor {
    const params: c.tl_acc_params = .{
        .nb1 = options.nb1,
        .nb2 = options.nb2,
        .nb3 = options.nb3,
        .offset = options.offset,
    };
    return self.construct(c.tl_acc, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `set`.
pub const SetOptions = struct {
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0. Default: 0.
    nb1: i64 = 0,
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0. Default: 0.
    nb2: i64 = 0,
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    nb3: i64 = 0,
    /// Start of the window, in bytes. At least 0. Default: 0.
    offset: i64 = 0,
};

/// Stores `b` in a window of a copy of `a`.
///
/// Computes `c = a`; `window(c)[i0, i1, i2, i3] = b[i0, i1, i2, i3]`.
///
/// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and `nb3`. `a`
/// is not changed.
/// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements of the
///   window may share memory.
/// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
/// - Result: The type of `a`.
pub fn set(self: Context, a: Tensor, b: Tensor, options: SetOptions) Error!Tensor {
    const params: c.tl_set_params = .{
        .nb1 = options.nb1,
        .nb2 = options.nb2,
        .nb3 = options.nb3,
        .offset = options.offset,
    };
    return self.construct(c.tl_set, .{ a.handle, b.handle, &params });
}

/// Gathers elements of `a` by index along a dimension.
///
/// Computes `c[i0, i1, i2, i3] = a[indices[i0, i1, i2, i3], i1, i2, i3]`.
///
/// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3.
/// - Shapes: `c` has the shape of `indices`. In dimensions other than `dim`, `indices` is at most as large as `a`.
/// - Types: `a` has any type that is not quantised, and `indices` is i32 or i64. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with `error.InvalidArgument` for an index out of range. The message names the first such
///   element.
pub fn gather(self: Context, a: Tensor, indices: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_gather, .{ a.handle, indices.handle, dim });
}

/// Adds to each row of `a` the row of `b` that `ids` selects.
///
/// Computes `c[i, u, t] = a[i, u, t] + b[i, ids[u, t]]`.
/// - Shapes: `a` {n, used, tokens}, `b` {n, experts}, `ids` {used, tokens}. `c` has the shape of `a`.
/// - Types: `a` and `b` are each f32, f16 or bf16, and `ids` is i32 or i64. Computed in f32 and rounded once to
///   the type of `a`.
/// - Result: The type of `a`.
/// - Computing fails with `error.InvalidArgument` for a row index out of range. The message names the first such
///   element.
pub fn addId(self: Context, a: Tensor, b: Tensor, ids: Tensor) Error!Tensor {
    return self.construct(c.tl_add_id, .{ a.handle, b.handle, ids.handle });
}

/// Makes a vector of equally spaced numbers.
///
/// Computes `c[i] = start + i step`.
/// - Shapes: `c` {n}, n = (stop - start) / step, rounded up. `stop` itself is not included. n is 0 if `start`
///   equals `stop`.
/// - Types: f32. Computed in f64 and rounded once.
/// - Result: f32.
/// - `start`: the first number.
/// - `stop`: end of the range, which is not included.
/// - `by`: difference between neighbours. It is negative if the numbers decrease.
pub fn arange(self: Context, start: f64, stop: f64, by: f64) Error!Tensor {
    return self.construct(c.tl_arange, .{ start, stop, by });
}

/// Adds the elements of `b` to elements of a copy of `a`, by index along a dimension.
///
/// Computes `c = a`; `c[indices[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3], i1, i2, i3] += b[i0, i1, i2, i3]`.
///
/// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3. Elements are
/// added in the order of `b`, so the bits are always the same. Integers wrap around. `a` is not changed.
/// - Shapes: `c` has the shape of `a`. In dimensions other than `dim`, `b` is at most as large as `a`. `indices`
///   {n0, n1, n2, n3} is broadcast to `b`: each of its dimensions is 1 or divides that of `b`.
/// - Types: `a` is f32 and `b` is f32, f16 or bf16, or both are i32, i64 or f64. `indices` is i32 or i64. `c` has
///   the type of `a`.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with `error.InvalidArgument` for an index out of range, for which nothing is added. The
///   message names the first such element.
pub fn scatterAdd(self: Context, a: Tensor, b: Tensor, indices: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_scatter_add, .{ a.handle, b.handle, indices.handle, dim });
}

/// Reverses `a` along a dimension.
///
/// Computes `c[i] = a[n - 1 - i]`.
///
/// i is the index in dimension `dim`, and n is the size of `a` there.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type. If `dim` is 0, it is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
pub fn flip(self: Context, a: Tensor, dim: i64) Error!Tensor {
    return self.construct(c.tl_flip, .{ a.handle, dim });
}

/// Turns each index into a row with a 1 at the index and 0 elsewhere.
///
/// Computes `c[i, j0, j1, j2] = 1 if indices[j0, j1, j2] = i else 0`.
///
/// An index outside 0 to classes - 1, such as -1, gives a row of zeros.
/// - Shapes: `indices` {n0, n1, n2}, `c` {classes, n0, n1, n2}.
/// - Types: `indices` is an integer or bool. `c` is f32.
/// - Result: f32.
/// - `classes`: the number of classes. Range: 0 to 16777216.
pub fn oneHot(self: Context, indices: Tensor, classes: i64) Error!Tensor {
    return self.construct(c.tl_one_hot, .{ indices.handle, classes });
}

/// Makes an identity matrix.
///
/// Computes `c[i, j] = 1 if i = j else 0`.
/// - Shapes: `c` {n, n}.
/// - Types: f32.
/// - Result: f32.
/// - `n`: the number of rows. Range: 0 to 16777216.
pub fn eye(self: Context, n: i64) Error!Tensor {
    return self.construct(c.tl_eye, .{n});
}

/// Makes a vector of `n` equally spaced numbers from `start` to `stop`.
///
/// Computes `c[i] = start + i (stop - start) / (n - 1)`.
///
/// `stop` is the last number, unlike that of `arange`. A single number is `start`.
/// - Shapes: `c` {n}.
/// - Types: f32. Computed in f64 and rounded once, where f64 tells neighbours apart.
/// - Result: f32.
/// - `start`: the first number.
/// - `stop`: the last number.
/// - `n`: how many numbers. At least 0.
pub fn linspace(self: Context, start: f64, stop: f64, n: i64) Error!Tensor {
    return self.construct(c.tl_linspace, .{ start, stop, n });
}

/// Turns each time into a row of cosines and sines of growing periods (sinusoidal embedding).
///
/// Computes `c[j, t] = cos(timesteps[t] w(j)) for j < h`; `c[j + h, t] = sin(timesteps[t] w(j))`; `w(j) =
/// max_period^(-j / h)`; `h = floor(dim / 2)`.
///
/// The last element of a row is 0 if `dim` is odd.
/// - Shapes: `timesteps` {n}, `c` {dim, n}.
/// - Types: `timesteps` is f32, f16 or bf16. Computed in f32: angles are off by up to 4e-7 of their size.
/// - Result: f32.
/// - `dim`: length of a row. Range: 1 to 1048576.
/// - `max_period`: the period that the slowest of infinitely many waves would have, in radians. At least 1.
pub fn timestepEmbedding(self: Context, timesteps: Tensor, dim: i64, max_period: i64) Error!Tensor {
    return self.construct(c.tl_timestep_embedding, .{ timesteps.handle, dim, max_period });
}

/// The attribute `mode` of `upscale`: the interpolation. Default: nearest.
pub const UpscaleMode = enum(i32) {
    /// The nearest pixel.
    nearest,
    /// Linear interpolation in both dimensions.
    bilinear,
    /// Cubic interpolation in both dimensions.
    bicubic,
};

/// Optional attributes of `upscale`.
pub const UpscaleOptions = struct {
    /// Factor of the width and of the height. 0: `shape` is the size. At least 0. Default: 0.
    times: i64 = 0,
    /// The interpolation. Default: nearest.
    mode: UpscaleMode = .nearest,
    /// Shape of the result. Dimensions that it lacks are 1. Each at least 0.
    shape: [4]i64 = @splat(0),
    /// If true, the centres of the pixels in the corners stay where they are. Default: false.
    align_corners: bool = false,
    /// If true, `bilinear` takes all pixels into account that an image becomes smaller by. Default: false.
    antialias: bool = false,
};

/// Enlarges or reduces images, by a factor or to a size.
///
/// Computes `c[i0, i1] = sum over j0 and j1 of w0(i0, j0) w1(i1, j1) a[j0, j1]`.
///
/// In a dimension of n pixels that becomes one of m, the centre of pixel i is x = (i + 1/2) n / m - 1/2, or with
/// `align_corners` i (n - 1) / (m - 1). `nearest` takes pixel floor(i n / m), or floor(i (n - 1) / (m - 1)).
/// `bilinear` has the weights 1 - |j - x| for the pixels j around x, and `bicubic` those of cubic convolution with
/// a = -0.75 (Keys, 1981) for the four around it. Beyond an edge, the pixels at the edge are used. With
/// `antialias`, `bilinear` has the weights 1 - |j - x| / max(1, n / m), divided by their sum, as far as they are
/// above 0 and j exists. Dimensions 2 and 3 are always those of `nearest`.
/// - Shapes: `a` {w, h, x, y}, `c` {factor w, factor h, x, y}, or the shape `shape`. Either `times` or `shape` is
///   given.
/// - Types: f32, f16 or bf16. With `nearest`, elements are copied exactly. Otherwise they are computed in f32,
///   first between rows and then between columns, and rounded once.
/// - Result: The type of `a`.
pub fn upscale(self: Context, a: Tensor, options: UpscaleOptions) Error!Tensor {
    const params: c.tl_upscale_params = .{
        .factor = options.times,
        .mode = @intFromEnum(options.mode),
        .ne = options.shape,
        .align_corners = options.align_corners,
        .antialias = options.antialias,
    };
    return self.construct(c.tl_upscale, .{ a.handle, &params });
}

/// The operation on a window.
pub const PoolOp = enum(i32) {
    /// The maximum.
    max,
    /// The average.
    avg,
};

/// Optional attributes of `pool1d`.
pub const Pool1dOptions = struct {
    /// Stride of the windows. 0 selects `k`. At least 0. Default: 0.
    s: i64 = 0,
    /// Padding at both ends of a row. At least 0. Default: 0.
    p: i64 = 0,
    /// If true, an average counts padding as zeros. Default: false.
    count_padding: bool = false,
};

/// Takes the maximum or the average of each window that slides along the rows of `a`.
///
/// Computes `c[o] = max or average over t < k of a[o s + t - p]`.
///
/// Only elements inside `a` take part. In a window without one, which p >= k makes, the maximum is the lowest
/// number of f32 and the average 0, as in ggml. The maximum is exact, and is NaN if a window has a NaN. The
/// average is summed in f64 and rounded once. It is taken over the elements inside `a`, as in ggml, or with
/// `count_padding` over all `k`, as in PyTorch.
/// - Shapes: `a` {n, ..}, `c` {(n + 2 p - k) / s + 1, ..}, rounded down.
/// - Types: f32, f16 or bf16.
/// - Result: The type of `a`.
/// - `op`: the operation on a window.
/// - `k`: length of the window. At least 1.
pub fn pool1d(self: Context, a: Tensor, op: PoolOp, k: i64, options: Pool1dOptions) Error!Tensor {
    const params: c.tl_pool_1d_params = .{
        .s = options.s,
        .p = options.p,
        .count_padding = options.count_padding,
    };
    return self.construct(c.tl_pool_1d, .{ a.handle, @intFromEnum(op), k, &params });
}

/// Optional attributes of `pool2d`.
pub const Pool2dOptions = struct {
    /// Stride of the windows in dimension 0. 0 selects `k0`. At least 0. Default: 0.
    s0: i64 = 0,
    /// Stride of the windows in dimension 1. 0 selects `k1`. At least 0. Default: 0.
    s1: i64 = 0,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// If true, an average does not count padding. Default: false.
    skip_padding: bool = false,
};

/// Takes the maximum or the average of each window that slides over the matrices of `a`.
///
/// Computes `c[x, y] = max or average over t0 < k0, t1 < k1 of a[x s0 + t0 - p0, y s1 + t1 - p1]`.
///
/// The maximum is that of the elements inside `a`. In a window without one, which p0 >= k0 or p1 >= k1 makes, the
/// maximum is the lowest number of f32 and the average 0, as in ggml. A maximum is exact, and is NaN if a window
/// has a NaN. The average is summed in f64 and rounded once. It is taken over all k0 k1 elements, where padding
/// counts as zeros, as in ggml and PyTorch, or with `skip_padding` over the elements inside `a`.
/// - Shapes: `a` {w, h, ..}, `c` {(w + 2 p0 - k0) / s0 + 1, (h + 2 p1 - k1) / s1 + 1, ..}, rounded down.
/// - Types: f32, f16 or bf16.
/// - Result: The type of `a`.
/// - `op`: the operation on a window.
/// - `k0`: width of the window. At least 1.
/// - `k1`: height of the window. At least 1.
pub fn pool2d(self: Context, a: Tensor, op: PoolOp, k0: i64, k1: i64, options: Pool2dOptions) Error!Tensor {
    const params: c.tl_pool_2d_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .p0 = options.p0,
        .p1 = options.p1,
        .skip_padding = options.skip_padding,
    };
    return self.construct(c.tl_pool_2d, .{ a.handle, @intFromEnum(op), k0, k1, &params });
}

/// The attribute `to` of `im2col`: type of the result. Default: f32.
pub const Im2colTo = enum(i32) { f32, f16, bf16 };

/// Optional attributes of `im2col`.
pub const Im2colOptions = struct {
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    s0: i64 = 1,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    s1: i64 = 1,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
    /// If true, `b` has images, else signals. Default: false.
    is_2d: bool = false,
    /// Type of the result. Default: f32.
    to: Im2colTo = .f32,
};

/// Copies the elements under each window of a convolution into a row of the result.
///
/// Computes `c[(channel kh + ty) kw + tx, x, y, n] = b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only the shape is
/// used. The convolution is the product of the result and the kernel, reshaped to {kw kh channels, outputs}.
/// - Shapes: For images: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c`
///   {kw kh channels, w', h', images}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 -
///   (kh - 1) d1 - 1) / s1 + 1, both rounded down. For signals: `a` {k, channels, outputs}, `b`
///   {n, channels, signals}, `c` {k channels, (n + 2 p0 - (k - 1) d0 - 1) / s0 + 1, signals}, rounded down.
/// - Types: `a` and `b` are each f32, f16 or bf16. `c` has the type `to`, to which each element is rounded once.
pub fn im2col(self: Context, a: Tensor, b: Tensor, options: Im2colOptions) Error!Tensor {
    const params: c.tl_im2col_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .p0 = options.p0,
        .p1 = options.p1,
        .d0 = options.d0,
        .d1 = options.d1,
        .is_2d = options.is_2d,
        .to = @intFromEnum(options.to),
    };
    return self.construct(c.tl_im2col, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `conv1d`.
pub const Conv1dOptions = struct {
    /// Stride of the windows. At least 1. Default: 1.
    s: i64 = 1,
    /// Padding at both ends of a row. At least 0. Default: 0.
    p: i64 = 0,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    d: i64 = 1,
};

/// Convolves the signals `b` with the kernel `a`.
///
/// Computes `c[x, m, n] = sum over channels and t < k of a[t, channel, m] b[x s + t d - p, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {k, channels, outputs}, `b` {n, channels, signals}, `c`
///   {(n + 2 p - (k - 1) d - 1) / s + 1, outputs, signals}, rounded down.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn conv1d(self: Context, a: Tensor, b: Tensor, options: Conv1dOptions) Error!Tensor {
    const params: c.tl_conv_1d_params = .{
        .s = options.s,
        .p = options.p,
        .d = options.d,
    };
    return self.construct(c.tl_conv_1d, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `conv2d`.
pub const Conv2dOptions = struct {
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    s0: i64 = 1,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    s1: i64 = 1,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
};

/// Convolves the images `b` with the kernel `a`.
///
/// Computes `c[x, y, m, n] = sum over channels, tx < kw and ty < kh of a[tx, ty, channel, m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c` {w', h', outputs, images}, with w'
///   = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn conv2d(self: Context, a: Tensor, b: Tensor, options: Conv2dOptions) Error!Tensor {
    const params: c.tl_conv_2d_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .p0 = options.p0,
        .p1 = options.p1,
        .d0 = options.d0,
        .d1 = options.d1,
    };
    return self.construct(c.tl_conv_2d, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `conv1dDw`.
pub const Conv1dDwOptions = struct {
    /// Stride of the windows. At least 1. Default: 1.
    s: i64 = 1,
    /// Padding at both ends of a row. At least 0. Default: 0.
    p: i64 = 0,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    d: i64 = 1,
};

/// Convolves each channel of the signals `b` with the same channel of the kernel `a` (depthwise).
///
/// Computes `c[x, m, n] = sum over t < k of a[t, 0, m] b[x s + t d - p, m, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {k, 1, channels}, `b` {n, channels, signals}, `c`
///   {(n + 2 p - (k - 1) d - 1) / s + 1, channels, signals}, rounded down.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn conv1dDw(self: Context, a: Tensor, b: Tensor, options: Conv1dDwOptions) Error!Tensor {
    const params: c.tl_conv_1d_dw_params = .{
        .s = options.s,
        .p = options.p,
        .d = options.d,
    };
    return self.construct(c.tl_conv_1d_dw, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `conv2dDw`.
pub const Conv2dDwOptions = struct {
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    s0: i64 = 1,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    s1: i64 = 1,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
};

/// Convolves each channel of the images `b` with the same channel of the kernel `a` (depthwise).
///
/// Computes `c[x, y, m, n] = sum over tx < kw and ty < kh of a[tx, ty, 0, m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, m, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {kw, kh, 1, channels}, `b` {w, h, channels, images}, `c` {w', h', channels, images}, with w' =
///   (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn conv2dDw(self: Context, a: Tensor, b: Tensor, options: Conv2dDwOptions) Error!Tensor {
    const params: c.tl_conv_2d_dw_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .p0 = options.p0,
        .p1 = options.p1,
        .d0 = options.d0,
        .d1 = options.d1,
    };
    return self.construct(c.tl_conv_2d_dw, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `convTranspose1d`.
pub const ConvTranspose1dOptions = struct {
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    s: i64 = 1,
    /// Number of elements cut off at both ends of the result. At least 0. Default: 0.
    p: i64 = 0,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    d: i64 = 1,
};

/// Computes the transposed convolution of the signals `b` with the kernel `a`.
///
/// Computes `c[x s + t d - p, m, n] = sum over channels, and the x and t < k that give this index, of
/// a[t, m, channel] b[x, channel, n]`.
/// - Shapes: `a` {k, outputs, channels}, `b` {n, channels, signals}, `c`
///   {(n - 1) s - 2 p + (k - 1) d + 1, outputs, signals}.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn convTranspose1d(self: Context, a: Tensor, b: Tensor, options: ConvTranspose1dOptions) Error!Tensor {
    const params: c.tl_conv_transpose_1d_params = .{
        .s = options.s,
        .p = options.p,
        .d = options.d,
    };
    return self.construct(c.tl_conv_transpose_1d, .{ a.handle, b.handle, &params });
}

/// Optional attributes of `convTranspose2d`.
pub const ConvTranspose2dOptions = struct {
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    stride: i64 = 1,
    /// Number of elements cut off at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Number of elements cut off at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
};

/// Computes the transposed convolution of the images `b` with the kernel `a`.
///
/// Computes `c[x stride + tx d0 - p0, y stride + ty d1 - p1, m, n] = sum over channels, and the x, y, tx < kw and
/// ty < kh that give these indices, of a[tx, ty, m, channel] b[x, y, channel, n]`.
/// - Shapes: `a` {kw, kh, outputs, channels}, `b` {w, h, channels, images}, `c` {w', h', outputs, images}, with w'
///   = (w - 1) stride - 2 p0 + (kw - 1) d0 + 1 and h' = (h - 1) stride - 2 p1 + (kh - 1) d1 + 1.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
pub fn convTranspose2d(self: Context, a: Tensor, b: Tensor, options: ConvTranspose2dOptions) Error!Tensor {
    const params: c.tl_conv_transpose_2d_params = .{
        .stride = options.stride,
        .p0 = options.p0,
        .p1 = options.p1,
        .d0 = options.d0,
        .d1 = options.d1,
    };
    return self.construct(c.tl_conv_transpose_2d, .{ a.handle, b.handle, &params });
}

/// The attribute `to` of `im2col3d`: type of the result. Default: f32.
pub const Im2col3dTo = enum(i32) { f32, f16, bf16 };

/// Optional attributes of `im2col3d`.
pub const Im2col3dOptions = struct {
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    s0: i64 = 1,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    s1: i64 = 1,
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    s2: i64 = 1,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    p2: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    d2: i64 = 1,
    /// Type of the result. Default: f32.
    to: Im2col3dTo = .f32,
};

/// Copies the elements under each window of a convolution of volumes into a row of the result.
///
/// Computes `c[((channel kd + tz) kh + ty) kw + tx, x, y, z + d' n] =
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only the shape is
/// used.
/// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
///   {kw kh kd channels, w', h', d' volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 -
///   (kh - 1) d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at most 4096.
/// - Types: `a` and `b` are each f32, f16 or bf16. `c` has the type `to`, to which each element is rounded once.
/// - `channels`: number of channels of a volume of `b`. At least 1.
pub fn im2col3d(self: Context, a: Tensor, b: Tensor, channels: i64, options: Im2col3dOptions) Error!Tensor {
    const params: c.tl_im2col_3d_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .s2 = options.s2,
        .p0 = options.p0,
        .p1 = options.p1,
        .p2 = options.p2,
        .d0 = options.d0,
        .d1 = options.d1,
        .d2 = options.d2,
        .to = @intFromEnum(options.to),
    };
    return self.construct(c.tl_im2col_3d, .{ a.handle, b.handle, channels, &params });
}

/// Optional attributes of `conv3d`.
pub const Conv3dOptions = struct {
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    s0: i64 = 1,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    s1: i64 = 1,
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    s2: i64 = 1,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    p0: i64 = 0,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    p1: i64 = 0,
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    p2: i64 = 0,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    d0: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    d1: i64 = 1,
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    d2: i64 = 1,
};

/// Convolves the volumes `b` with the kernel `a`.
///
/// Computes `c[x, y, z, m + outputs n] = sum over channels, tx < kw, ty < kh and tz < kd of
/// a[tx, ty, tz, channel + channels m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused, as by
/// PyTorch: ggml computes one position, whose window is cut off. It is the sum of a `conv2d` for each plane of the
/// kernel.
/// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
///   {w', h', d', outputs volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1)
///   d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at most 4096.
/// - Types: `a` and `b` are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
/// - `channels`: number of channels of a volume of `b`. At least 1.
pub fn conv3d(self: Context, a: Tensor, b: Tensor, channels: i64, options: Conv3dOptions) Error!Tensor {
    const params: c.tl_conv_3d_params = .{
        .s0 = options.s0,
        .s1 = options.s1,
        .s2 = options.s2,
        .p0 = options.p0,
        .p1 = options.p1,
        .p2 = options.p2,
        .d0 = options.d0,
        .d1 = options.d1,
        .d2 = options.d2,
    };
    return self.construct(c.tl_conv_3d, .{ a.handle, b.handle, channels, &params });
}

/// Adds up windows that overlap: the second half of a transposed convolution of signals.
///
/// Computes `c[x, channel] = sum over t < k and j with j stride + t - padding = x of a[t + k channel, j]`.
/// - Shapes: `a` {k channels, n}, `c` {(n - 1) stride + k - 2 padding, channels}. k is at most 4096 times
///   `stride`.
/// - Types: f32, f16 or bf16. Sums are computed in f32 and rounded once.
/// - Result: The type of `a`.
/// - `stride`: distance of neighbouring windows in the result. At least 1.
/// - `padding`: number of elements cut off at both ends of the result. At least 0.
/// - `channels`: number of channels of the result. At least 1.
pub fn col2im1d(self: Context, a: Tensor, stride: i64, padding: i64, channels: i64) Error!Tensor {
    return self.construct(c.tl_col2im_1d, .{ a.handle, stride, padding, channels });
}

/// Optional attributes of `ssmConv`.
pub const SsmConvOptions = struct {
    /// If true, `silu` is applied to the sums. Default: false.
    silu: bool = false,
};

/// Convolves each channel of sequences with its own short kernel, without looking ahead, as state space models do.
///
/// Computes `c[i, t, s] = f(sum over j < k of kernel[j, i] x[t + j, i, s] + bias[i])`; `x is `state` followed by
/// `a`, or `a``.
///
/// f is `silu` if that is true, otherwise nothing. The first tokens need k - 1 elements before them: these are the
/// `state`, which are the last k - 1 elements of x when the next tokens come, or `a` begins with them. A
/// `conv1dDw`, transposed.
/// - Shapes: `a` {t, channels, sequences} with a `state` {k - 1, channels, sequences}, or
///   {k - 1 + t, channels, sequences} without one. `kernel` {k, channels}, `bias` {channels}, `c`
///   {channels, t, sequences}.
/// - Types: All operands are each f32, f16 or bf16. Computed in f32.
/// - Result: f32.
/// - `state` and `bias` are optional: `null` leaves one out.
pub fn ssmConv(
    self: Context,
    a: Tensor,
    kernel: Tensor,
    state: ?Tensor,
    bias: ?Tensor,
    options: SsmConvOptions,
) Error!Tensor {
    const params: c.tl_ssm_conv_params = .{
        .silu = options.silu,
    };
    return self.construct(c.tl_ssm_conv, .{ a.handle, kernel.handle, Tensor.handleOrNone(state), Tensor.handleOrNone(bias), &params });
}

/// Draws random numbers that are uniformly distributed between two bounds.
///
/// Computes `c[i] = low + (high - low) u[i]`; `u[i] = (the upper 24 bits of word i) 2^-24`.
///
/// Elements i are counted along dimension 0 first. Word i is word i mod 4 of Philox4x32-10 (J. K. Salmon, M. A.
/// Moraes, R. O. Dror, D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011). Its key is the lower and
/// the upper half of the seed. Its counter is i / 4, `stream`, and the lower and the upper half of the counter in
/// `state`. So results depend on `state`, `stream` and the shape alone, and a graph draws the same numbers in each
/// run until the caller advances the counter. Operations with the same stream draw the same words, and those with
/// another stream draw others. low <= c <= high: c is high only if low + (high - low) (1 - 2^-24) rounds to it,
/// and never if low is 0 and high is above 2^-126.
/// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
/// - Types: `state` is i64, `c` is f32. The bounds are rounded to f32, and so is each operation of the formula, so
///   the bits are the same on every device.
/// - Result: f32.
/// - `shape`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
/// - `low`: lower bound.
/// - `high`: upper bound. It is not less than `low`.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different streams.
///   Range: 0 to 2^31 - 1.
pub fn randomUniform(
    self: Context,
    state: Tensor,
    shape: []const i64,
    low: f64,
    high: f64,
    stream: i64,
) Error!Tensor {
    return self.construct(c.tl_random_uniform, .{ state.handle, dimCount(shape), shape.ptr, low, high, stream });
}

/// Draws normally distributed random numbers.
///
/// Computes `c[i] = mean + deviation z`; `z = quantile of the standard normal distribution at (word i + 1/2)
/// 2^-32`.
///
/// Words are those of `randomUniform`. The quantile is computed by the rational functions of M. J. Wichura (AS
/// 241, 1988). The largest |z| is 6.338, at 2^-33.
/// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
/// - Types: `state` is i64, `c` is f32. Everything is computed in f64, with each operation rounded, and `c` is
///   then rounded to f32, so the bits are the same on every device.
/// - Result: f32.
/// - `shape`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
/// - `center`: mean of the distribution.
/// - `deviation`: standard deviation. At least 0.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different streams.
///   Range: 0 to 2^31 - 1.
pub fn randomNormal(
    self: Context,
    state: Tensor,
    shape: []const i64,
    center: f64,
    deviation: f64,
    stream: i64,
) Error!Tensor {
    return self.construct(c.tl_random_normal, .{ state.handle, dimCount(shape), shape.ptr, center, deviation, stream });
}

/// Sets random elements of `a` to 0 and scales the others up to keep the mean.
///
/// Computes `c[i] = a[i] / (1 - p) if word i >= p 2^32 else 0`.
///
/// Words are those of `randomUniform`, with i counted along dimension 0 first. An element that is dropped becomes
/// 0 even if it is NaN.
/// - Shapes: `c` has the shape of `a`, with at most 2^34 elements. `state` {2}: a seed and a counter.
/// - Types: `a` is f32, f16 or bf16 with any strides, and `state` is i64. 1 - p is rounded to f32, and the
///   quotient is rounded to f32 and then to the type of `a`, so the bits are the same on every device.
/// - Result: The type of `a`.
/// - `p`: probability that an element is dropped: 0 or more, and less than 1.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different streams.
///   Range: 0 to 2^31 - 1.
pub fn dropout(self: Context, a: Tensor, state: Tensor, p: f64, stream: i64) Error!Tensor {
    return self.construct(c.tl_dropout, .{ a.handle, state.handle, p, stream });
}

/// Updates `a` by a step of gradient descent.
///
/// Computes `a[i] = a[i] (1 - rate decay) - rate grad[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with another operand.
/// A node that was differentiated reads the values from before the step, regardless of the order of the outputs of
/// the graph.
/// - Shapes: `a` and `grad` have the same shape. `settings` {2} holds rate and decay.
/// - Types: `a` is f32, `grad` is f32, f16 or bf16, and `settings` is f32. Each operation of the formula is
///   rounded to f32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
pub fn optStepSgd(self: Context, a: Tensor, grad: Tensor, settings: Tensor) Error!Tensor {
    return self.construct(c.tl_opt_step_sgd, .{ a.handle, grad.handle, settings.handle });
}

/// Optional attributes of `optStepMomentum`.
pub const OptStepMomentumOptions = struct {
    /// If true, the last term is `rate (grad[i] + momentum velocity[i])` (Nesterov). Default: false.
    nesterov: bool = false,
};

/// Updates `a` by a step of gradient descent with momentum.
///
/// Computes `velocity[i] = momentum velocity[i] + grad[i]`; `a[i] = a[i] (1 - rate decay) - rate velocity[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with another operand.
/// A node that was differentiated reads the values from before the step, regardless of the order of the outputs of
/// the graph.
/// - Shapes: `a`, `grad` and `velocity` have the same shape. `velocity` is zeros before the first step. `settings`
///   {3} holds rate, decay and momentum.
/// - Types: `a` and `velocity` are f32, `grad` is f32, f16 or bf16, and `settings` is f32. Each operation of the
///   formula is rounded to f32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
/// - `velocity` is overwritten as well.
pub fn optStepMomentum(
    self: Context,
    a: Tensor,
    grad: Tensor,
    velocity: Tensor,
    settings: Tensor,
    options: OptStepMomentumOptions,
) Error!Tensor {
    const params: c.tl_opt_step_momentum_params = .{
        .nesterov = options.nesterov,
    };
    return self.construct(c.tl_opt_step_momentum, .{ a.handle, grad.handle, velocity.handle, settings.handle, &params });
}

/// Updates `a` by a step of AdamW (I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization, 2019).
///
/// Computes `m[i] = beta1 m[i] + (1 - beta1) grad[i]`; `v[i] = beta2 v[i] + (1 - beta2) grad[i]^2`; `a[i] = a[i]
/// (1 - rate decay) - rate m[i] unbias1 / (sqrt(v[i] unbias2) + eps)`.
///
/// With a decay of 0 this is Adam. Operands that are written must be contiguous and not constant, and must not
/// share memory with another operand. A node that was differentiated reads the values from before the step,
/// regardless of the order of the outputs of the graph.
/// - Shapes: `a`, `grad`, `m` and `v` have the same shape. `m` and `v` are zeros before the first step. `settings`
///   {7} holds rate, beta1, beta2, eps, decay, unbias1 = 1 / (1 - beta1^t) and unbias2 = 1 / (1 - beta2^t), where
///   t is 1 in the first step.
/// - Types: `a`, `m` and `v` are f32, `grad` is f32, f16 or bf16, and `settings` is f32. Each operation of the
///   formula is rounded to f32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
/// - `m` and `v` are overwritten as well.
pub fn optStepAdamw(self: Context, a: Tensor, grad: Tensor, m: Tensor, v: Tensor, settings: Tensor) Error!Tensor {
    return self.construct(c.tl_opt_step_adamw, .{ a.handle, grad.handle, m.handle, v.handle, settings.handle });
}

/// Updates `a` by a step of Lion (X. Chen and others, Symbolic Discovery of Optimization Algorithms, 2023).
///
/// Computes `a[i] = a[i] (1 - rate decay) - rate sgn(beta1 m[i] + (1 - beta1) grad[i])`; `m[i] = beta2 m[i] + (1 -
/// beta2) grad[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with another operand.
/// A node that was differentiated reads the values from before the step, regardless of the order of the outputs of
/// the graph.
/// - Shapes: `a`, `grad` and `m` have the same shape. `m` is zeros before the first step. `settings` {4} holds
///   rate, beta1, beta2 and decay.
/// - Types: `a` and `m` are f32, `grad` is f32, f16 or bf16, and `settings` is f32. Each operation of the formula
///   is rounded to f32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output of the
///   graph, or use it in another node: otherwise nothing is written.
/// - `m` is overwritten as well.
pub fn optStepLion(self: Context, a: Tensor, grad: Tensor, m: Tensor, settings: Tensor) Error!Tensor {
    return self.construct(c.tl_opt_step_lion, .{ a.handle, grad.handle, m.handle, settings.handle });
}

/// The test of a score s that selects active neurons.
pub const SparseBy = enum(i32) {
    /// s >= threshold.
    score,
    /// abs(s) >= threshold.
    magnitude,
    /// s > 0.
    positive,
};

/// Optional attributes of `mulMatSparse`.
pub const MulMatSparseOptions = struct {
    /// The test for active neurons, where s is the score. A NaN is not active. Default: score.
    by: SparseBy = .score,
    /// Threshold of the tests `score` and `magnitude`, rounded to f32. Default: 0.
    threshold: f64 = 0.0,
    /// Number of neurons. Required with `rows` and without `scores`. At least 0. Default: 0.
    n: i64 = 0,
    /// If true, no kernel rounds an operand. Default: false.
    exact: bool = false,
};

/// Computes the elements of a matrix product whose neurons are active, and sets all others to 0.
///
/// Computes `c[i, t] = sum over k of a[k, i] * b[k, t] if neuron i is active for token t else 0`.
///
/// Row i of `a` belongs to neuron i, and row t of `b` to token t. With `rows`, `a` has the weights of these
/// neurons only, in ascending order, and `c` is 0 for all others. Without `scores`, `rows` is required, and all of
/// its neurons are active. k = 0 gives zeros.
/// - Shapes: `a` {k, n}, `b` {k, T}, `scores` {n, T}, `c` {n, T}. With `rows` {m}: `a` {k, m}, and n is that of
///   `scores` or the attribute `n`.
/// - Types: `a` and `b` as for `mulMat`, and with the same rounding of `b`. `scores` is f32, and `rows` is i32.
/// - Result: f32.
/// - `scores` and `rows` are optional: `null` leaves one out.
/// - Computing fails with `error.InvalidArgument` for `rows` that do not ascend, or are out of range. The message
///   names the first such element.
pub fn mulMatSparse(
    self: Context,
    a: Tensor,
    b: Tensor,
    scores: ?Tensor,
    rows: ?Tensor,
    options: MulMatSparseOptions,
) Error!Tensor {
    const params: c.tl_mul_mat_sparse_params = .{
        .by = @intFromEnum(options.by),
        .threshold = options.threshold,
        .n = options.n,
        .exact = options.exact,
    };
    return self.construct(c.tl_mul_mat_sparse, .{ a.handle, b.handle, Tensor.handleOrNone(scores), Tensor.handleOrNone(rows), &params });
}

/// Optional attributes of `axpy`.
pub const AxpyOptions = struct {
    /// The test for active neurons, where s is the score or, without `scores`, the element of `h`. A NaN in
    /// `scores` is not active, and a NaN in `h` is. Default: score.
    by: SparseBy = .score,
    /// Threshold of the tests `score` and `magnitude`, rounded to f32. Default: 0.
    threshold: f64 = 0.0,
};

/// Sums the rows of `a_t`, each multiplied by the activation of its neuron, over the active neurons.
///
/// Computes `c[k, t] = sum over active i with h[i, t] != 0 of h[i, t] * a_t[k, i]`.
///
/// This is the product with the transpose of `a_t`, of which only the rows of active neurons are read. With
/// `rows`, `a_t` has the rows of these neurons only, in ascending order, and all others count as zeros. Without
/// `scores`, `h` itself is tested. Products and sums are computed in f32, and no operand is rounded.
/// - Shapes: `a_t` {k, n}, `h` {n, T}, `scores` {n, T}, `c` {k, T}. With `rows` {m}: `a_t` {k, m}.
/// - Types: `a_t` has a float type, or a quantised type other than Q8_1 and Q8_K. `h` is f32, f16 or bf16,
///   `scores` is f32, and `rows` is i32.
/// - Result: f32.
/// - `scores` and `rows` are optional: `null` leaves one out.
/// - Computing fails with `error.InvalidArgument` for `rows` that do not ascend, or are out of range. The message
///   names the first such element.
pub fn axpy(
    self: Context,
    a_t: Tensor,
    h: Tensor,
    scores: ?Tensor,
    rows: ?Tensor,
    options: AxpyOptions,
) Error!Tensor {
    const params: c.tl_axpy_params = .{
        .by = @intFromEnum(options.by),
        .threshold = options.threshold,
    };
    return self.construct(c.tl_axpy, .{ a_t.handle, h.handle, Tensor.handleOrNone(scores), Tensor.handleOrNone(rows), &params });
}

/// The attribute `activation` of `sparseFfn`: the activation of the gate. Default: relu.
pub const SparseFfnActivation = enum(i32) { relu, silu, gelu };

/// The attribute `first` of `sparseFfn`: the projection that is computed for all neurons and tested, if there are
/// no `scores`. Default: gate.
pub const SparseFfnFirst = enum(i32) { gate, up };

/// Optional attributes of `sparseFfn`.
pub const SparseFfnOptions = struct {
    /// The activation of the gate. Default: relu.
    activation: SparseFfnActivation = .relu,
    /// The test for active neurons, where s is the score or, without `scores`, the element of the projection. A
    /// NaN in `scores` is not active, and a NaN in a projection is. Default: score.
    by: SparseBy = .score,
    /// Threshold of the tests `score` and `magnitude`, rounded to f32. Default: 0.
    threshold: f64 = 0.0,
    /// The projection that is computed for all neurons and tested, if there are no `scores`. Default: gate.
    first: SparseFfnFirst = .gate,
};

/// Computes a gated feed-forward block over its active neurons only.
///
/// Computes `c[j, t] = sum over active i of activation(sum over k of gate[k, i] x[k, t]) * (sum over k of up[k, i]
/// x[k, t]) * down_t[j, i]`.
///
/// Row i of each matrix belongs to neuron i, and the down projection is transposed. With `rows`, the matrices have
/// the rows of these neurons only, in ascending order, out of the neurons that `scores` has. Without `scores`, the
/// operation finds the active neurons itself: it computes one projection of all neurons, which `first` selects,
/// and tests it. The projection by `gate` is tested after the activation. `rows` must then be left out.
/// - Shapes: `x` {k, T}, `gate` {k, n}, `up` {k, n}, `down_t` {m, n}, `scores` {n, T}, `c` {m, T}. With `rows`
///   {r}, the matrices have r rows instead of n.
/// - Types: `gate`, `up` and `down_t` each have a float type, or a quantised type other than Q8_1 and Q8_K. `x` is
///   f32, f16 or bf16, `scores` is f32, and `rows` is i32. Kernels may round `x`, as for `mulMat`.
/// - Result: f32.
/// - `scores` and `rows` are optional: `null` leaves one out.
/// - Computing fails with `error.InvalidArgument` for `rows` that do not ascend, or are out of range. The message
///   names the first such element.
pub fn sparseFfn(
    self: Context,
    x: Tensor,
    gate: Tensor,
    up: Tensor,
    down_t: Tensor,
    scores: ?Tensor,
    rows: ?Tensor,
    options: SparseFfnOptions,
) Error!Tensor {
    const params: c.tl_sparse_ffn_params = .{
        .activation = @intFromEnum(options.activation),
        .by = @intFromEnum(options.by),
        .threshold = options.threshold,
        .first = @intFromEnum(options.first),
    };
    return self.construct(c.tl_sparse_ffn, .{ x.handle, gate.handle, up.handle, down_t.handle, Tensor.handleOrNone(scores), Tensor.handleOrNone(rows), &params });
}

/// Keeps the bits that `a` and `b` both have.
///
/// Computes `c[i] = a[i mod shape(a)] & b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both i8, i16, i32, i64, u8 or bool.
/// - Result: The type of `a`.
pub fn bitwiseAnd(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_bitwise_and, .{ a.handle, b.handle });
}

/// Joins the bits of `a` and `b`.
///
/// Computes `c[i] = a[i mod shape(a)] | b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both i8, i16, i32, i64, u8 or bool.
/// - Result: The type of `a`.
pub fn bitwiseOr(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_bitwise_or, .{ a.handle, b.handle });
}

/// Keeps the bits that either `a` or `b` has, but not both.
///
/// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both i8, i16, i32, i64, u8 or bool.
/// - Result: The type of `a`.
pub fn bitwiseXor(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_bitwise_xor, .{ a.handle, b.handle });
}

/// Inverts each bit of `a`; bool has one.
///
/// Computes `c[i] = ~a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: i8, i16, i32, i64, u8 or bool.
/// - Result: The type of `a`.
pub fn bitwiseNot(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_bitwise_not, .{a.handle});
}

/// Moves the bits of each element of `a` up by as many places as `b` says.
///
/// Computes `c[i] = a[i mod shape(a)] * 2^b[i mod shape(b)]`.
///
/// A `b` below 0, or as large as the bits of the type, moves all bits out. Bits that leave the type are lost, and
/// zeros come in.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both i8, i16, i32, i64 or u8.
/// - Result: The type of `a`.
pub fn shiftLeft(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_shift_left, .{ a.handle, b.handle });
}

/// Moves the bits of each element of `a` down by as many places as `b` says.
///
/// Computes `c[i] = floor(a[i mod shape(a)] / 2^b[i mod shape(b)])`.
///
/// A `b` below 0, or as large as the bits of the type, moves all bits out. Copies of the sign come in.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both i8, i16, i32, i64 or u8.
/// - Result: The type of `a`.
pub fn shiftRight(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_shift_right, .{ a.handle, b.handle });
}

/// Tests whether `a` and `b` are both not 0.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != 0 and b[i mod shape(b)] != 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or bool. `c` is bool if both are, has the type of `a` if that
///   is f32, f16 or bf16, and is f32 otherwise.
pub fn logicalAnd(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_logical_and, .{ a.handle, b.handle });
}

/// Tests whether `a` or `b` is not 0.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != 0 or b[i mod shape(b)] != 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or bool. `c` is bool if both are, has the type of `a` if that
///   is f32, f16 or bf16, and is f32 otherwise.
pub fn logicalOr(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_logical_or, .{ a.handle, b.handle });
}

/// Tests whether either `a` or `b` is not 0, but not both.
///
/// Computes `c[i] = 1 if (a[i mod shape(a)] != 0) != (b[i mod shape(b)] != 0) else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal, or one of
///   them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its elements then repeat
///   as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or bool. `c` is bool if both are, has the type of `a` if that
///   is f32, f16 or bf16, and is f32 otherwise.
pub fn logicalXor(self: Context, a: Tensor, b: Tensor) Error!Tensor {
    return self.construct(c.tl_logical_xor, .{ a.handle, b.handle });
}

/// Tests whether `a` is 0.
///
/// Computes `c[i] = 1 if a[i] = 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `c` has the shape of `a`.
/// - Types: `a` is a float, an integer or bool. `c` has the type of `a` if that is bool, f32, f16 or bf16, and is
///   f32 otherwise.
pub fn logicalNot(self: Context, a: Tensor) Error!Tensor {
    return self.construct(c.tl_logical_not, .{a.handle});
}

/// Divides images into square windows.
///
/// Computes `c[i, x, y, p + px q + px py n] = a[i, p w + x, q w + y, n], or 0 beyond the edges of `a``.
///
/// px and py are the numbers of windows across and down, rounded up.
/// - Shapes: `a` {n, w0, h0, images}, `c` {n, w, w, px py images}, px = w0 / `w` and py = h0 / `w`, rounded up.
/// - Types: Any type without blocks. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `w`: width and height of a window. Range: 1 to 1048576.
pub fn winPart(self: Context, a: Tensor, w: i64) Error!Tensor {
    return self.construct(c.tl_win_part, .{ a.handle, w });
}

/// Puts the windows of `winPart` together.
///
/// Computes `c[i, x, y, n] = a[i, x mod w, y mod w, floor(x / w) + px floor(y / w) + px py n]`.
///
/// px = `w0` / `w` and py = `h0` / `w`, rounded up.
/// - Shapes: `a` {n, w, w, px py images}, `c` {n, w0, h0, images}.
/// - Types: Any type without blocks. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `w0`: width of the images. Range: 1 to 16777216.
/// - `h0`: height of the images. Range: 1 to 16777216.
/// - `w`: width and height of a window. Range: 1 to 1048576.
pub fn winUnpart(self: Context, a: Tensor, w0: i64, h0: i64, w: i64) Error!Tensor {
    return self.construct(c.tl_win_unpart, .{ a.handle, w0, h0, w });
}

/// Gathers the rows of `a` that belong to the distances between queries and keys.
///
/// Computes `c[i, k, q] = a[i, q - k + kh - 1]`.
/// - Shapes: `a` {n, qh + kh - 1}, `c` {n, kh, qh}.
/// - Types: f32, f16, bf16, f64, i32 or i64. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `qh`: number of queries. Range: 1 to 1048576.
/// - `kh`: number of keys. Range: 1 to 1048576.
pub fn getRelPos(self: Context, a: Tensor, qh: i64, kh: i64) Error!Tensor {
    return self.construct(c.tl_get_rel_pos, .{ a.handle, qh, kh });
}

/// Adds to attention scores a term for the horizontal and one for the vertical distance.
///
/// Computes `c[x + kw y, i, n] = a[x + kw y, i, n] + pw[x, i, n] + ph[y, i, n]`.
///
/// i = qx + qw qy is a query, and x and y are the column and the row of a key.
/// - Shapes: `a` {kw kh, qw qh, batch}, `pw` {kw, qw, qh, batch}, `ph` {kh, qw, qh, batch}. `c` has the shape of
///   `a`.
/// - Types: `a`, `pw` and `ph` are each f32, f16 or bf16. Each addition is computed in f32 and rounded once to the
///   type of `a`.
/// - Result: The type of `a`.
pub fn addRelPos(self: Context, a: Tensor, pw: Tensor, ph: Tensor) Error!Tensor {
    return self.construct(c.tl_add_rel_pos, .{ a.handle, pw.handle, ph.handle });
}

/// Optional attributes of `gatedDeltaNet`.
pub const GatedDeltaNetOptions = struct {
    /// Number of states that the second result has for each sequence, the newest first. Range: 1 to 1048576.
    /// Default: 1.
    n_states: i64 = 1,
};

/// Runs the gated delta rule over the tokens of sequences (Yang and others, Gated Delta Networks, 2024).
///
/// Computes `M[j, i] = e^g M[j, i] + beta (v[j] - sum over i of e^g M[j, i] k[i]) k[i]`; `c[j] = sum over i of
/// M[j, i] q[i] / sqrt(S)`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the first one. g
/// is a number for each head, or one for each i. Head h uses head h mod heads' of `q` and `k`, and sequence n uses
/// theirs number n sequences' / sequences. The second result are the states after the last token, and after those
/// before it with `n_states` above 1: state s of that many is the one s tokens before the end, after those of all
/// sequences for s - 1. It is 0 if there are fewer tokens than that. Without tokens, state 0 is `state`.
/// - Shapes: `q` and `k` {S, heads', tokens, sequences'}, `v` and `c` {S, heads, tokens, sequences}, `g`
///   {1 or S, heads, tokens, sequences}, `beta` {1, heads, tokens, sequences}, `state` {S, S, heads, sequences}
///   with index i first. heads' divides heads and sequences' divides sequences.
/// - Types: All f32, as is what is computed. e^x is computed to within 1e-6.
/// - Result: f32.
/// - Result 1, by `result`: the states, {S, S, heads, sequences `n_states`}.
pub fn gatedDeltaNet(
    self: Context,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    state: Tensor,
    options: GatedDeltaNetOptions,
) Error!Tensor {
    const params: c.tl_gated_delta_net_params = .{
        .n_states = options.n_states,
    };
    return self.construct(c.tl_gated_delta_net, .{ q.handle, k.handle, v.handle, g.handle, beta.handle, state.handle, &params });
}

/// Optional attributes of `ssmScan`.
pub const SsmScanOptions = struct {
    /// Number of states that the second result has for each sequence, the newest first. Range: 1 to 1048576.
    /// Default: 1.
    n_states: i64 = 1,
};

/// Runs a selective state space model over the tokens of sequences (Gu and Dao, Mamba, 2023).
///
/// Computes `M[j, i] = e^(d a[i]) M[j, i] + d x[j] b[i]`; `y[j] = sum over i of M[j, i] c[i]`; `d = log(1 +
/// e^dt)`.
///
/// This is for a token of a head, and M is the state that the token before it left. Sequence n begins with state
/// number ids[n] of `state`. `a` is a number for each head (Mamba 2), or one for each i (Mamba). Head h uses group
/// h / (heads / groups) of `b` and `out`. The second result are the states after the last token, and after those
/// before it with `n_states` above 1: state s of that many is the one s tokens before the end, after those of all
/// sequences for s - 1. It is 0 if there are fewer tokens than that. Without tokens, state 0 is `state`.
/// - Shapes: `state` {d_state, dim, heads, any} with index i first, `x` and y {dim, heads, tokens, sequences},
///   `dt` {heads, tokens, sequences}, `a` {1 or d_state, heads}, `b` and `out`
///   {d_state, groups, tokens, sequences}, `ids` {sequences}. groups divides heads.
/// - Types: `ids` is i32 or i64, the others are f32, as is what is computed. e^x is computed to within 1e-6.
/// - Result: f32.
/// - Result 1, by `result`: the states, {d_state, dim, heads, sequences `n_states`}.
/// - Computing fails with `error.InvalidArgument` for an id that is no state. The message names the first such
///   element.
pub fn ssmScan(
    self: Context,
    state: Tensor,
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    out: Tensor,
    ids: Tensor,
    options: SsmScanOptions,
) Error!Tensor {
    const params: c.tl_ssm_scan_params = .{
        .n_states = options.n_states,
    };
    return self.construct(c.tl_ssm_scan, .{ state.handle, x.handle, dt.handle, a.handle, b.handle, out.handle, ids.handle, &params });
}

/// Runs the time mixing of RWKV 6 over the tokens of sequences (Peng and others, Eagle and Finch, 2024).
///
/// Computes `c[j] = sum over i of r[i] (M[i, j] + tf[i] k[i] v[j])`; `M[i, j] = td[i] M[i, j] + k[i] v[j]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the first one of a
/// sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `k`, `v`, `r` and `td` {S, heads, tokens}, `tf` {S, heads}, `state` {S S heads, sequences} with index
///   j first, `c` {S heads, tokens}. sequences divides tokens.
/// - Types: All f32, as is what is computed.
/// - Result: f32.
/// - Result 1, by `result`: the states, in the shape of `state`.
pub fn rwkvWkv6(
    self: Context,
    k: Tensor,
    v: Tensor,
    r: Tensor,
    tf: Tensor,
    td: Tensor,
    state: Tensor,
) Error!Tensor {
    return self.construct(c.tl_rwkv_wkv6, .{ k.handle, v.handle, r.handle, tf.handle, td.handle, state.handle });
}

/// Runs the time mixing of RWKV 7 over the tokens of sequences (Peng and others, Goose, 2025).
///
/// Computes `M[j, i] = w[i] M[j, i] + v[j] k[i] + b[i] sum over l of M[j, l] a[l]`; `c[j] = sum over i of M[j, i]
/// r[i]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the first one of a
/// sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `r`, `w`, `k`, `v`, `a` and `b` {S, heads, tokens}, `state` {S S heads, sequences} with index i
///   first, `c` {S heads, tokens}. sequences divides tokens.
/// - Types: All f32, as is what is computed.
/// - Result: f32.
/// - Result 1, by `result`: the states, in the shape of `state`.
pub fn rwkvWkv7(
    self: Context,
    r: Tensor,
    w: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    state: Tensor,
) Error!Tensor {
    return self.construct(c.tl_rwkv_wkv7, .{ r.handle, w.handle, k.handle, v.handle, a.handle, b.handle, state.handle });
}

/// Runs gated linear attention over the tokens of sequences (Yang and others, 2023).
///
/// Computes `M[i, j] = g[i] M[i, j] + k[i] v[j]`; `c[j] = scale sum over i of q[i] M[i, j]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the first one of a
/// sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `k`, `v`, `q` and `g` {S, heads, tokens}, `state` {S S heads, sequences} with index j first, `c`
///   {S heads, tokens}. sequences divides tokens.
/// - Types: All f32, as is what is computed.
/// - Result: f32.
/// - Result 1, by `result`: the states, in the shape of `state`.
/// - `factor`: factor of the result.
pub fn gatedLinearAttn(
    self: Context,
    k: Tensor,
    v: Tensor,
    q: Tensor,
    g: Tensor,
    state: Tensor,
    factor: f64,
) Error!Tensor {
    return self.construct(c.tl_gated_linear_attn, .{ k.handle, v.handle, q.handle, g.handle, state.handle, factor });
}

/// Adds the tensors `a` of all ranks of a group, element by element.
///
/// Computes `c = the sum of `a` over all ranks`.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in the order in
/// which they were built. A rank that fails, or misses the deadline, is an error on the others. Sums of f16, bf16,
/// and of f32 and f64 of at most 64 KiB, are computed in the order of the ranks, so their bits do not depend on
/// what connects the ranks. Larger sums of f32 and f64 have equal bits on all ranks.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `group`: the group, of which this process or thread is a rank.
pub fn allSum(self: Context, a: Tensor, group: Group) Error!Tensor {
    return self.construct(c.tl_all_sum, .{ a.handle, group.handle });
}

/// Finds the largest elements of the tensors `a` of all ranks of a group.
///
/// Computes `c = the largest element of `a` over all ranks, in each position`.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in the order in
/// which they were built. A rank that fails, or misses the deadline, is an error on the others. NaN if one of the
/// elements is NaN. 0 counts as larger than -0.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `group`: the group, of which this process or thread is a rank.
pub fn allMax(self: Context, a: Tensor, group: Group) Error!Tensor {
    return self.construct(c.tl_all_max, .{ a.handle, group.handle });
}

/// Concatenates the tensors `a` of all ranks of a group along a dimension, in the order of the ranks.
///
/// Computes `c[i0, k + rank * ne1, i2, i3] = a[i0, k, i2, i3] of that rank`.
///
/// The formula is for `dim` 1. All ranks of the group compute it, each in a graph of its own. The nodes of groups
/// are computed in the order in which they were built. A rank that fails, or misses the deadline, is an error on
/// the others.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`, but as many times its
///   elements in dimension `dim` as there are ranks.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
pub fn allGather(self: Context, a: Tensor, dim: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_all_gather, .{ a.handle, dim, group.handle });
}

/// Adds the tensors `a` of all ranks of a group, and gives each rank its part along a dimension.
///
/// Computes `c[i0, k, i2, i3] = the sum of a[i0, k + rank * ne1 / ranks, i2, i3] over all ranks`.
///
/// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute it, each in
/// a graph of its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
/// or misses the deadline, is an error on the others. Sums are computed in the order of the ranks.
/// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of dimension
///   `dim`, and `c` has as many times fewer in it.
/// - Types: f32, f16 or bf16, computed in f32 and rounded once; or i32, i64 or f64, computed in this type.
///   Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
pub fn sumScatter(self: Context, a: Tensor, dim: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_sum_scatter, .{ a.handle, dim, group.handle });
}

/// Gives all ranks of a group the tensor `a` of one of them.
///
/// Computes `c = `a` of the rank `root``.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in the order in
/// which they were built. A rank that fails, or misses the deadline, is an error on the others.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `root`: the rank whose tensor it is. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
pub fn broadcast(self: Context, a: Tensor, root: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_broadcast, .{ a.handle, root, group.handle });
}

/// Gives each rank of a group its part of the tensors `a` of all ranks, in the order of the ranks.
///
/// Computes `c[i0, k + r * ne1 / ranks, i2, i3] = a[i0, k + rank * ne1 / ranks, i2, i3] of rank r`.
///
/// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute it, each in
/// a graph of its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
/// or misses the deadline, is an error on the others.
/// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of dimension
///   `dim`. `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
pub fn allToAll(self: Context, a: Tensor, dim: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_all_to_all, .{ a.handle, dim, group.handle });
}

/// Sends `a` to another rank of a group, which receives it with `receive`.
///
/// Computes `c = a`.
///
/// The tensor is copied, so the sender does not wait. It is sent when the node is computed: make it, or a node
/// that reads it, an output of the graph. All ranks of the group compute it, each in a graph of its own. The nodes
/// of groups are computed in the order in which they were built. A rank that fails, or misses the deadline, is an
/// error on the others.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `to`: the rank that receives it. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
pub fn send(self: Context, a: Tensor, to: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_send, .{ a.handle, to, group.handle });
}

/// Receives the tensor that another rank of a group sends with `send`.
///
/// Computes `c = what the rank `from` sends`.
///
/// Only the shape and the type of `a` are used. All ranks of the group compute it, each in a graph of its own. The
/// nodes of groups are computed in the order in which they were built. A rank that fails, or misses the deadline,
/// is an error on the others.
/// - Shapes: `c` has the shape of `a`, which is that of what is sent.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `from`: the rank that sends it. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
pub fn receive(self: Context, a: Tensor, from: i64, group: Group) Error!Tensor {
    return self.construct(c.tl_receive, .{ a.handle, from, group.handle });
}

/// Marks `a`, which is the same on all ranks of a group, as an operand of what the ranks compute differently.
///
/// Computes `c = a`.
///
/// Nothing is computed. With tensor parallelism, the input of a layer whose matrices are divided among the ranks
/// is such an operand.
/// - Shapes: `c` has the shape and the strides of `a`.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `group`: the group, of which this process or thread is a rank.
pub fn copyToGroup(self: Context, a: Tensor, group: Group) Error!Tensor {
    return self.construct(c.tl_copy_to_group, .{ a.handle, group.handle });
}
