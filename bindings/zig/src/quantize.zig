//! Conversion between floats and storage types outside of contexts, as converters of model files need it.

const c = @import("c.zig");
const status = @import("status.zig");
const Backend = @import("backend.zig").Backend;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// Encodes rows of `per_row` floats as `dtype` into `blocks`, which must have exactly the right length, with a
/// small sum of squared errors, on the calling thread. `importance` has a weight for each column's squared error,
/// finite and not negative. The same values give the same bytes on every CPU.
///
/// `error.InvalidArgument`: values are not whole rows, rows are not whole blocks, a slice has a wrong length, a
/// weight is invalid, or a value does not fit the type: quantised types hold finite numbers only, and the message
/// has the position of the value.
pub fn quantize(dtype: Type, values: []const f32, per_row: usize, importance: ?[]const f32, blocks: []u8, diagnostics: ?*Diagnostics) Error!void {
    const rows = try check("quantize", dtype, values, per_row, importance, blocks, diagnostics);
    const weights: ?[*]const f32 = if (importance) |w| w.ptr else null;
    try status.check(c.tl_quantize(@intFromEnum(dtype), values.ptr, blocks.ptr, rows, @intCast(per_row), weights, status.errorOf(diagnostics)));
}

/// `quantize` on a backend's threads. Also `error.Unsupported`: the backend is not on the CPU; `error.Busy`: called
/// from a callback of a graph that the backend is computing.
pub fn quantizeOn(backend: Backend, dtype: Type, values: []const f32, per_row: usize, importance: ?[]const f32, blocks: []u8) Error!void {
    const rows = try check("backend_quantize", dtype, values, per_row, importance, blocks, backend.diagnostics);
    const weights: ?[*]const f32 = if (importance) |w| w.ptr else null;
    const err = status.errorOf(backend.diagnostics);
    try status.check(c.tl_backend_quantize(backend.handle, @intFromEnum(dtype), values.ptr, blocks.ptr, rows, @intCast(per_row), weights, err));
}

/// Decodes blocks to floats into `values`, which must have exactly the right length.
pub fn dequantize(dtype: Type, blocks: []const u8, values: []f32, diagnostics: ?*Diagnostics) Error!void {
    if (!fits(dtype, values.len, blocks.len)) return refuseLengths("dequantize", dtype, values.len, blocks.len, diagnostics);
    try status.check(c.tl_dequantize(@intFromEnum(dtype), blocks.ptr, values.ptr, @intCast(values.len), status.errorOf(diagnostics)));
}

/// The number of bytes that `n` values take; 0 for an unknown type. Rows are whole blocks.
pub fn quantizedSize(dtype: Type, n: usize) usize {
    const elements = dtype.blockSize();
    return if (elements == 0) 0 else n / elements * dtype.size();
}

fn fits(dtype: Type, n_values: usize, n_bytes: usize) bool {
    const elements = dtype.blockSize();
    return elements != 0 and n_values % elements == 0 and n_bytes == quantizedSize(dtype, n_values);
}

fn refuseLengths(what: []const u8, dtype: Type, n_values: usize, n_bytes: usize, diagnostics: ?*Diagnostics) Error {
    return status.fail(
        diagnostics,
        c.TL_STATUS_INVALID_ARGUMENT,
        "{s}: {} values and {} bytes: {s} has {} bytes for {} values",
        .{ what, n_values, n_bytes, dtype.name(), dtype.size(), dtype.blockSize() },
    );
}

/// Checks the lengths, which pointers do not carry. Returns the number of rows.
fn check(what: []const u8, dtype: Type, values: []const f32, per_row: usize, importance: ?[]const f32, blocks: []u8, diagnostics: ?*Diagnostics) Error!i64 {
    if (if (per_row == 0) values.len != 0 else values.len % per_row != 0)
        return status.fail(diagnostics, c.TL_STATUS_INVALID_ARGUMENT, "{s}: {} values are no whole rows of {}", .{ what, values.len, per_row });
    if (importance) |weights| if (weights.len != per_row)
        return status.fail(
            diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "{s}: {} weights of importance for rows of {}: one for each column is valid",
            .{ what, weights.len, per_row },
        );
    // The library refuses rows that are not whole blocks: its message says why.
    const whole = dtype.blockSize() != 0 and per_row % dtype.blockSize() == 0;
    if (whole and !fits(dtype, values.len, blocks.len)) return refuseLengths(what, dtype, values.len, blocks.len, diagnostics);
    return if (per_row == 0) 0 else @intCast(values.len / per_row);
}
