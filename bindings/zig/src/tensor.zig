//! Tensors: shapes and strides, and reading and writing of data.

const std = @import("std");
const arithmetic = @import("arithmetic.zig");
const c = @import("c.zig");
const status = @import("status.zig");
const State = @import("context.zig").State;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// A leaf with data of its own, or a node that an operation makes and a graph computes. Belongs to its context and is
/// valid until the context is freed or reset. A small value: copy it.
///
/// Data are in ne order, dimension 0 fastest, whatever the strides. Leafs, outputs of a graph that was computed without
/// error, and views of either are readable; leafs and views of leafs are writable. Other accesses, and those to a
/// constant, a leaf without data or a slice of a wrong length, fail with `error.InvalidArgument`, and the message says
/// what to do. Other errors: `error.TypeMismatch` if the tensor's type is not T's, `error.Busy` if the context is in
/// use. Nothing is written on failure.
pub const Tensor = struct {
    handle: *c.tl_tensor,
    state: *State,
    diagnostics: ?*Diagnostics,

    pub const add = arithmetic.add;
    pub const sub = arithmetic.sub;
    pub const mul = arithmetic.mul;
    pub const div = arithmetic.div;
    pub const neg = arithmetic.neg;
    pub const addNumber = arithmetic.addNumber;
    pub const subNumber = arithmetic.subNumber;
    pub const subFrom = arithmetic.subFrom;
    pub const mulNumber = arithmetic.mulNumber;
    pub const divNumber = arithmetic.divNumber;
    pub const divInto = arithmetic.divInto;
    pub const eval = arithmetic.eval;

    /// The handle of an operand, or of the stand-in for one that is left out.
    pub fn handleOrNone(operand: ?Tensor) ?*c.tl_tensor {
        return if (operand) |given| given.handle else c.tl_none();
    }

    /// This tensor with other diagnostics, for another thread.
    pub fn withDiagnostics(self: Tensor, diagnostics: ?*Diagnostics) Tensor {
        return .{ .handle = self.handle, .state = self.state, .diagnostics = diagnostics };
    }

    pub fn dtype(self: Tensor) Type {
        return @enumFromInt(c.tl_tensor_type(self.handle));
    }

    /// The number of dimensions that the tensor was made with, 1 to 4.
    pub fn nDims(self: Tensor) usize {
        return @intCast(c.tl_tensor_n_dims(self.handle));
    }

    /// Elements per dimension, the contiguous one first; 1 in dimensions that the tensor does not use.
    pub fn shape(self: Tensor) [4]i64 {
        var extents: [4]i64 = undefined;
        for (&extents, 0..) |*d, i| d.* = c.tl_tensor_ne(self.handle, @intCast(i));
        return extents;
    }

    /// Bytes from one element to the next in each dimension.
    pub fn strides(self: Tensor) [4]usize {
        var bytes: [4]usize = undefined;
        for (&bytes, 0..) |*b, i| b.* = c.tl_tensor_nb(self.handle, @intCast(i));
        return bytes;
    }

    /// Bytes of all elements when packed without gaps.
    pub fn nBytes(self: Tensor) usize {
        return c.tl_tensor_nbytes(self.handle);
    }

    pub fn nElements(self: Tensor) usize {
        return @intCast(c.tl_tensor_n_elements(self.handle));
    }

    /// The operation that computes the tensor, "mul_mat"; "leaf" for a leaf.
    pub fn op(self: Tensor) [:0]const u8 {
        return std.mem.span(c.tl_tensor_op(self.handle).?);
    }

    /// The operands of the tensor's operation in the order of docs/ops.md, null for an operand that was left out; empty
    /// for a leaf. The caller frees the slice. If operands live in other contexts, nodes that methods of these tensors
    /// make of them alone go into this tensor's context.
    pub fn sources(self: Tensor, allocator: std.mem.Allocator) Error![]?Tensor {
        const handles = try status.listed(allocator, self.diagnostics, c.tl_tensor_sources, self.handle);
        defer allocator.free(handles);
        const found = allocator.alloc(?Tensor, handles.len) catch return status.noListMemory(self.diagnostics);
        for (found, handles) |*t, handle| t.* = if (handle) |h|
            .{ .handle = h, .state = self.state, .diagnostics = self.diagnostics }
        else
            null;
        return found;
    }

    /// The number of the context that owns the tensor: `Context.id`.
    pub fn contextId(self: Tensor) u64 {
        const owner = c.tl_tensor_context(self.handle);
        defer c.tl_context_free(owner);
        return c.tl_context_id(owner);
    }

    /// The tensor's name; "" if it has none. Valid until it is renamed; if another thread may do that, use `copyName`.
    pub fn name(self: Tensor) [:0]const u8 {
        return std.mem.span(c.tl_tensor_name(self.handle).?);
    }

    /// Copies as much of the name as fits into the buffer, with a NUL.
    pub fn copyName(self: Tensor, buffer: []u8) []u8 {
        return status.copied(c.tl_tensor_copy_name(self.handle, buffer.ptr, buffer.len), buffer);
    }

    /// Names the tensor for messages and dumps; UTF-8, the text is copied, null removes the name.
    pub fn setName(self: Tensor, text: ?[:0]const u8) Error!void {
        const ptr = if (text) |t| t.ptr else null;
        try status.check(c.tl_tensor_set_name(self.handle, ptr, self.err()));
    }

    /// Promises that a leaf's contents never change: every later write to it, and every operation that targets it,
    /// fails, and plans may keep a packed copy. The promise cannot be withdrawn.
    pub fn setConstant(self: Tensor) Error!void {
        try status.check(c.tl_tensor_set_constant(self.handle, self.err()));
    }

    /// Sets whether graphs made from now on recompute this node where gradients read it, instead of keeping its result
    /// until then. Recomputation takes less memory and more time, and gives the same bits. The node is recomputed
    /// together with the marked nodes that it is computed from; results of unmarked nodes are kept for it. Outputs are
    /// kept in any case; marking a view marks the node that it is a view of. `error.InvalidArgument`: a leaf, a view of
    /// a leaf, or a node that writes into an operand.
    pub fn setRecompute(self: Tensor, recompute: bool) Error!void {
        try status.check(c.tl_tensor_set_recompute(self.handle, recompute, self.err()));
    }

    /// Chooses the device that computes this node in graphs that a joined backend runs (`Backend.join`); null lets the
    /// backend choose again. Placing a view places the node that it is a view of. `error.InvalidArgument`: a leaf, a
    /// view of a leaf, or an unknown device.
    pub fn place(self: Tensor, device: ?[:0]const u8) Error!void {
        try status.check(c.tl_tensor_place(self.handle, if (device) |wanted| wanted.ptr else null, self.err()));
    }

    /// Frees a constant's original data if a packed copy can replace them: after a CPU backend has computed a product
    /// with the whole tensor and `Backend.packedMemory` grew by its copy. Every reader of the tensor gets the same bits
    /// as before; it can no longer be mapped. The context then owns the copy, which outlives the backend. A leaf of a
    /// mapped GGUF file releases its pages and otherwise stays as it is. `error.Unsupported` if no copy can replace the
    /// data (types whose blocks cannot be rebuilt, such as IQ2), `error.OutOfMemory` if the copy exceeds the context's
    /// limit, `error.Busy`.
    pub fn dropOriginal(self: Tensor) Error!void {
        try status.check(c.tl_tensor_drop_original(self.handle, self.err()));
    }

    /// Reads the whole tensor; `out` has `nElements` elements.
    pub fn read(self: Tensor, comptime T: type, out: []T) Error!void {
        try self.wholeLength("read", out.len);
        try self.readAt(T, 0, out);
    }

    /// Reads the whole tensor into memory that the caller frees.
    pub fn readAlloc(self: Tensor, comptime T: type, allocator: std.mem.Allocator) Error![]T {
        // Checked before memory is allocated: a tensor that cannot be read may have any size.
        try self.readAt(T, 0, &.{});
        const out = allocator.alloc(T, self.nElements()) catch
            return status.fail(self.diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "read: no memory for the elements", .{});
        errdefer allocator.free(out);
        try self.read(T, out);
        return out;
    }

    /// Reads out.len elements, starting at the element `first`.
    pub fn readAt(self: Tensor, comptime T: type, first: usize, out: []T) Error!void {
        try self.sameType(T, "read");
        try self.readBytes(first *| @sizeOf(T), std.mem.sliceAsBytes(out));
    }

    /// Overwrites the whole tensor; `data` has `nElements` elements.
    pub fn write(self: Tensor, comptime T: type, data: []const T) Error!void {
        try self.wholeLength("write", data.len);
        try self.writeAt(T, 0, data);
    }

    /// Overwrites data.len elements, starting at the element `first`.
    pub fn writeAt(self: Tensor, comptime T: type, first: usize, data: []const T) Error!void {
        try self.sameType(T, "write");
        try self.writeBytes(first *| @sizeOf(T), std.mem.sliceAsBytes(data));
    }

    /// Reads stored bytes of the elements, starting at a byte offset into the packed elements.
    pub fn readBytes(self: Tensor, offset: usize, out: []u8) Error!void {
        try status.check(c.tl_tensor_read(self.handle, out.ptr, offset, out.len, self.err()));
    }

    /// Overwrites stored bytes of the elements, starting at a byte offset into the packed elements.
    pub fn writeBytes(self: Tensor, offset: usize, bytes: []const u8) Error!void {
        try status.check(c.tl_tensor_write(self.handle, bytes.ptr, offset, bytes.len, self.err()));
    }

    /// Reads the whole tensor of any type, converted to f32 and rounded to nearest even if it is wider.
    pub fn readF32(self: Tensor, out: []f32) Error!void {
        try status.check(c.tl_tensor_read_f32(self.handle, out.ptr, out.len, self.err()));
    }

    /// Overwrites the whole tensor of any type. Integer types round to the nearest integer, ties to even; a value out
    /// of range or NaN is `error.InvalidArgument` naming its position.
    pub fn writeF32(self: Tensor, data: []const f32) Error!void {
        try status.check(c.tl_tensor_write_f32(self.handle, data.ptr, data.len, self.err()));
    }

    /// Reads one element, converted to f32.
    pub fn getF32(self: Tensor, index: [4]i64) Error!f32 {
        var value: f32 = undefined;
        try status.check(c.tl_tensor_get_f32(self.handle, index[0], index[1], index[2], index[3], &value, self.err()));
        return value;
    }

    /// Overwrites one element, converted as by `writeF32`.
    pub fn setF32(self: Tensor, index: [4]i64, value: f32) Error!void {
        try status.check(c.tl_tensor_set_f32(self.handle, index[0], index[1], index[2], index[3], value, self.err()));
    }

    /// Maps the tensor's own memory, without a copy; `Mapping.deinit` ends the mapping. `error.Unavailable`: the data
    /// is not in host memory.
    pub fn map(self: Tensor, comptime access: Access) Error!Mapping(access) {
        var address: ?*anyopaque = null;
        try status.check(c.tl_tensor_map(self.handle, @intFromEnum(access), &address, self.err()));
        const first: [*]u8 = @ptrCast(address.?);
        return .{ .bytes = first[0..self.span()], .tensor = self };
    }

    /// The first element's address in host memory; null if the data is elsewhere, does not exist yet or is constant.
    /// Takes no locks: `map` is the safe way.
    pub fn dataAddress(self: Tensor) ?*anyopaque {
        return c.tl_tensor_data(self.handle);
    }

    /// Whether gradients of this tensor flow to `t`. If not, `Context.gradients` returns zeros for it.
    pub fn gradientsReach(self: Tensor, t: Tensor) Error!bool {
        var reach = false;
        try status.check(c.tl_gradients_reach(self.handle, t.handle, &reach, status.errorOf(self.diagnostics)));
        return reach;
    }

    /// Formats the tensor, "mul_mat scores: f32 [4, 3]", with {f}.
    pub fn format(self: Tensor, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        const text = self.name();
        try writer.print("{s}{s}{s}: {s} {f}", .{
            self.op(),
            if (text.len > 0) " " else "",
            text,
            self.dtype().name(),
            status.ShapeText{ .ne = self.shape()[0..self.nDims()] },
        });
    }

    /// Bytes from the first element to the end of the last.
    fn span(self: Tensor) usize {
        if (self.nElements() == 0) return 0;
        var extents = self.shape();
        // Dimension 0 counts blocks: its stride is the distance from one to the next.
        extents[0] = @divExact(extents[0], @as(i64, @intCast(self.dtype().blockSize())));
        var bytes = self.dtype().size();
        for (extents, self.strides()) |d, stride| bytes += @as(usize, @intCast(d - 1)) * stride;
        return bytes;
    }

    fn err(self: Tensor) ?*c.tl_error {
        return status.errorOf(self.diagnostics);
    }

    fn sameType(self: Tensor, comptime T: type, verb: []const u8) Error!void {
        if (self.dtype() != Type.of(T)) return status.fail(
            self.diagnostics,
            c.TL_STATUS_TYPE_MISMATCH,
            "{s}: the tensor is {s}, not {s}: readF32 and writeF32 convert",
            .{ verb, self.dtype().name(), @typeName(T) },
        );
    }

    fn wholeLength(self: Tensor, verb: []const u8, n: usize) Error!void {
        if (n != self.nElements()) return status.fail(
            self.diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "{s}: the slice has {} elements, the tensor {f} has {}",
            .{ verb, n, status.ShapeText{ .ne = self.shape()[0..self.nDims()] }, self.nElements() },
        );
    }
};

/// The purpose of a mapping.
pub const Access = enum(c.tl_access) {
    /// Reading: others may read at the same time.
    read = c.TL_ACCESS_READ,
    /// Writing: nobody else reads, writes or computes in this context.
    write = c.TL_ACCESS_WRITE,
};

/// A tensor's memory, from the first element to the end of the last, including gaps of the strides.
pub fn Mapping(comptime access: Access) type {
    return struct {
        bytes: if (access == .read) []const u8 else []u8,
        tensor: Tensor,

        /// Ends the mapping, once, from any thread.
        pub fn deinit(self: *@This()) void {
            c.tl_tensor_unmap(self.tensor.handle, @intFromEnum(access));
            self.* = undefined;
        }
    };
}
