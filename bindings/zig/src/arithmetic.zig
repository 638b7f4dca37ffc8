//! Arithmetic of a tensor with another one, or with a number. Each function makes a node in the context of its operands,
//! or in the one that was made last if these differ.
//!
//! Two tensors are broadcast: in each dimension their extents are equal or one of them is 1. The functions of a `Context`
//! also repeat a b whose extent divides that of a, as tiles; these refuse that with `error.ShapeMismatch`, because it is
//! rarely meant. A number counts as f32, or as i32, i64 or f64 with a tensor of such a type. The result has the tensor's
//! type. The other errors are those of the context's functions.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Backend = @import("backend.zig").Backend;
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Error = status.Error;

/// self + b.
pub fn add(self: Tensor, b: Tensor) Error!Tensor {
    return (try untiled("add", self, b)).add(self, b);
}

/// self - b.
pub fn sub(self: Tensor, b: Tensor) Error!Tensor {
    return (try untiled("sub", self, b)).sub(self, b);
}

/// self * b, element by element.
pub fn mul(self: Tensor, b: Tensor) Error!Tensor {
    return (try untiled("mul", self, b)).mul(self, b);
}

/// self / b.
pub fn div(self: Tensor, b: Tensor) Error!Tensor {
    return (try untiled("div", self, b)).div(self, b);
}

/// -self.
pub fn neg(self: Tensor) Error!Tensor {
    return contextOf(self).neg(self);
}

/// self + number.
pub fn addNumber(self: Tensor, number: f64) Error!Tensor {
    return scaled(self, 1, number);
}

/// self - number.
pub fn subNumber(self: Tensor, number: f64) Error!Tensor {
    return scaled(self, 1, -number);
}

/// number - self.
pub fn subFrom(self: Tensor, number: f64) Error!Tensor {
    return scaled(self, -1, number);
}

/// self * number.
pub fn mulNumber(self: Tensor, number: f64) Error!Tensor {
    // An addend of -0 changes nothing, not even the sign of a 0.
    const minus_zero: f64 = @bitCast(@as(u64, 1) << 63);
    return scaled(self, number, minus_zero);
}

/// self / number.
pub fn divNumber(self: Tensor, number: f64) Error!Tensor {
    // Not a product with 1 / number, which would be rounded twice.
    return contextOf(self).div(self, try leafFor(self, number));
}

/// number / self.
pub fn divInto(self: Tensor, number: f64) Error!Tensor {
    const ctx = contextOf(self);
    const quotient = try ctx.div(try leafFor(self, number), self);
    // Rounds to the type as an operation that computes it in f32 would.
    return if (self.dtype() == quotient.dtype()) quotient else ctx.cast(quotient, self.dtype());
}

/// Computes the tensor and returns it, so that it can be read. A `Graph` computes several tensors at once, and the same
/// ones again without planning. The errors are those of `Backend.compute`.
pub fn eval(self: Tensor, backend: Backend) Error!Tensor {
    try backend.compute(&.{self});
    return self;
}

fn contextOf(t: Tensor) Context {
    return .{ .state = t.state, .diagnostics = t.diagnostics };
}

/// Whether the tensor's elements are computed with as they are. All others are computed with in f32.
fn isWide(t: Tensor) bool {
    return switch (t.dtype()) {
        .i32, .i64, .f64 => true,
        else => false,
    };
}

/// A number as an operand: a leaf with one element, in the tensor's context; of a wide type, a node, which refuses what
/// the type cannot hold.
fn leafFor(t: Tensor, number: f64) Error!Tensor {
    if (isWide(t)) return contextOf(t).fill(t, number);
    return contextOf(t).tensorFrom(f32, &.{1}, &.{@floatCast(number)});
}

/// t * factor + addend, each rounded once. Numbers beyond f32 are infinite.
fn scaled(t: Tensor, factor: f64, addend: f64) Error!Tensor {
    const ctx = contextOf(t);
    if (std.math.isNan(factor) or std.math.isNan(addend)) return ctx.mul(t, try leafFor(t, std.math.nan(f64)));
    if (isWide(t)) return ctx.scale(t, factor, .{ .bias = addend });
    const rounded: struct { f32, f32 } = .{ @floatCast(factor), @floatCast(addend) };
    return ctx.scale(t, rounded[0], .{ .bias = rounded[1] });
}

/// The context of a node of two tensors, unless b would repeat as tiles. The engine checks everything else.
fn untiled(name: [:0]const u8, a: Tensor, b: Tensor) Error!Context {
    try status.check(c.tl_refuse_tiles(name, a.handle, b.handle, status.errorOf(a.diagnostics)));
    const youngest = if (c.tl_context_id(b.state.handle) > c.tl_context_id(a.state.handle)) b.state else a.state;
    return .{ .state = youngest, .diagnostics = a.diagnostics };
}
