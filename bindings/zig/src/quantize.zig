//! Floats to storage types and back, outside of contexts: what converts model files.

const c = @import("c.zig");
const status = @import("status.zig");
const Backend = @import("backend.zig").Backend;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// Stores rows of `per_row` floats as `dtype` in `blocks`, which must have exactly the room, with a small sum of
/// squared errors, on the calling thread. `importance`: a weight of the squared errors for each column, finite
/// and not negative. The same values give the same bytes on every CPU.
///
/// `error.InvalidArgument`: values are no whole rows, rows no whole blocks, a slice has another length, a weight
/// is not valid, or a value does not fit the type: types with blocks hold finite numbers only, and the message
/// says where the value is.
pub fn quantize(dtype: Type, values: []const f32, per_row: usize, importance: ?[]const f32, blocks: []u8, diagnostics: ?*Diagnostics) Error!void {
    const rows = try check("quantize", dtype, values, per_row, importance, blocks, diagnostics);
    const weights: ?[*]const f32 = if (importance) |w| w.ptr else null;
    try status.check(c.tl_quantize(@intFromEnum(dtype), values.ptr, blocks.ptr, rows, @intCast(per_row), weights, status.errorOf(diagnostics)));
}

/// `quantize` with a backend's threads. Also `error.Unsupported`: the backend is not on the CPU; `error.Busy`: in a
/// callback of a graph that it is computing.
pub fn quantizeOn(backend: Backend, dtype: Type, values: []const f32, per_row: usize, importance: ?[]const f32, blocks: []u8) Error!void {
    const rows = try check("backend_quantize", dtype, values, per_row, importance, blocks, backend.diagnostics);
    const weights: ?[*]const f32 = if (importance) |w| w.ptr else null;
    const err = status.errorOf(backend.diagnostics);
    try status.check(c.tl_backend_quantize(backend.handle, @intFromEnum(dtype), values.ptr, blocks.ptr, rows, @intCast(per_row), weights, err));
}

/// Reads blocks as floats into `values`, which must have exactly the room.
pub fn dequantize(dtype: Type, blocks: []const u8, values: []f32, diagnostics: ?*Diagnostics) Error!void {
    if (!fits(dtype, values.len, blocks.len)) return refuseLengths("dequantize", dtype, values.len, blocks.len, diagnostics);
    try status.check(c.tl_dequantize(@intFromEnum(dtype), blocks.ptr, values.ptr, @intCast(values.len), status.errorOf(diagnostics)));
}

/// The number of bytes that `n` values take; 0 where there is no such type. Rows are whole blocks.
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

/// What slices know and pointers do not. Gives the number of rows.
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
    // Rows that are no whole blocks are the library's to refuse: its message says why.
    const whole = dtype.blockSize() != 0 and per_row % dtype.blockSize() == 0;
    if (whole and !fits(dtype, values.len, blocks.len)) return refuseLengths(what, dtype, values.len, blocks.len, diagnostics);
    return if (per_row == 0) 0 else @intCast(values.len / per_row);
}
