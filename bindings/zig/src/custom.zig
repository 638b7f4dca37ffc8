//! Custom operations: functions as nodes of graphs.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Context = @import("context.zig").Context;
const State = @import("context.zig").State;
const Tensor = @import("tensor.zig").Tensor;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// The type and the extents of an operand or a result; `ne` has its dimensions, 1 to 4.
pub const CustomShape = struct {
    dtype: Type,
    ne: []const i64,
};

/// An operation of your own: a function that computes slices of the result, on several threads at once. Its nodes are
/// planned, traced and placed like all others. It is computed on the CPU. Contexts with nodes of it keep it until they
/// are freed or reset.
pub const CustomOp = struct {
    handle: *c.tl_custom_op,

    pub const Options = struct {
        /// Slices begin at multiples of this many elements: 0 for whole rows, 1 for any. -1: the result is one slice.
        slice_unit: i64 = 0,
        /// About how many operations an element takes; 0 counts as 1. It decides how many threads are worth waking.
        cost: f64 = 0,
        diagnostics: ?*Diagnostics = null,
    };

    /// Makes an operation of the public functions of `Functions`, which get `user`, a pointer:
    ///
    /// - `compute(user, slice: CustomSlice) !void` fills in a slice. The result must not depend on how it is divided. An
    ///   error fails the run; the message has its name. Inside it, calls that need a context, a graph or a backend are
    ///   `error.InvalidArgument`.
    /// - `shape(user, operands: []const CustomShape, ne: *[4]i64) !CustomShape`, optional: the type and the extents of
    ///   the result; `ne` is room for them. Without it, they are those of the first operand. A quantised type is not valid.
    /// - `gradient(user, ctx: Context, node: Tensor, gradient: Tensor, operand: usize) !Tensor`, optional: builds the
    ///   gradient of an operand in its shape, in `ctx`, from the node and the gradient of its result.
    /// - `destroy(user) void`, optional: called once, when neither this handle nor a context needs the operation any more.
    ///   Without it, `user` must live until then.
    ///
    /// `name` is for messages, plans and traces. `error.InvalidArgument`: a name that is no UTF-8 of 1 to 64 bytes, or
    /// options out of range; `destroy` is not called then. `error.OutOfMemory`.
    pub fn init(name: [:0]const u8, user: anytype, comptime Functions: type, options: Options) Error!CustomOp {
        const User = @TypeOf(user);
        const Trampolines = struct {
            fn of(data: ?*anyopaque) User {
                return @ptrCast(@alignCast(data));
            }

            fn compute(data: ?*anyopaque, slice: ?*const c.tl_custom_slice, err: ?*c.tl_error) callconv(.c) c.tl_status {
                Functions.compute(of(data), CustomSlice{ .raw = slice.? }) catch |failure| return report(failure, err);
                return c.TL_STATUS_OK;
            }

            fn shape(
                data: ?*anyopaque,
                src: ?[*]const ?*c.tl_tensor,
                n_src: usize,
                result: ?*c.tl_custom_result,
                err: ?*c.tl_error,
            ) callconv(.c) c.tl_status {
                var extents: [10][4]i64 = undefined;
                var operands: [10]CustomShape = undefined;
                for (src.?[0..n_src], 0..) |t, i| {
                    const n: usize = @intCast(c.tl_tensor_n_dims(t));
                    for (extents[i][0..n], 0..) |*to, d| to.* = c.tl_tensor_ne(t, @intCast(d));
                    operands[i] = .{ .dtype = @enumFromInt(c.tl_tensor_type(t)), .ne = extents[i][0..n] };
                }
                var room: [4]i64 = undefined;
                const made = Functions.shape(of(data), operands[0..n_src], &room) catch |failure| return report(failure, err);
                result.?.type = @intFromEnum(made.dtype);
                result.?.n_dims = std.math.cast(i32, made.ne.len) orelse std.math.maxInt(i32);
                for (made.ne[0..@min(made.ne.len, 4)], 0..) |from, d| result.?.ne[d] = from;
                return c.TL_STATUS_OK;
            }

            fn gradient(
                data: ?*anyopaque,
                ctx: ?*c.tl_context,
                node: ?*c.tl_tensor,
                of_node: ?*c.tl_tensor,
                operand: usize,
                err: ?*c.tl_error,
            ) callconv(.c) ?*c.tl_tensor {
                // The call that this is part of holds the lock of the context's own state.
                var state: State = .{ .handle = ctx.?, .allocator = std.heap.c_allocator };
                var diagnostics: Diagnostics = .{};
                const context: Context = .{ .state = &state, .diagnostics = &diagnostics };
                const made = Functions.gradient(
                    of(data),
                    context,
                    .{ .handle = node.?, .state = &state, .diagnostics = &diagnostics },
                    .{ .handle = of_node.?, .state = &state, .diagnostics = &diagnostics },
                    operand,
                ) catch |failure| {
                    // What the library said is better than the error's name.
                    if (diagnostics.raw.code == c.TL_STATUS_OK) {
                        _ = report(failure, err);
                    } else {
                        err.?.code = diagnostics.raw.code;
                        err.?.message = diagnostics.raw.message;
                    }
                    return null;
                };
                return made.handle;
            }

            fn destroy(data: ?*anyopaque) callconv(.c) void {
                Functions.destroy(of(data));
            }
        };
        const params: c.tl_custom_params = .{
            .name = name.ptr,
            .compute = Trampolines.compute,
            .shape = if (@hasDecl(Functions, "shape")) Trampolines.shape else null,
            .gradient = if (@hasDecl(Functions, "gradient")) Trampolines.gradient else null,
            .destroy = if (@hasDecl(Functions, "destroy")) Trampolines.destroy else null,
            .user_data = @ptrCast(@constCast(user)),
            .slice_unit = options.slice_unit,
            .cost = options.cost,
        };
        var made: ?*c.tl_custom_op = null;
        try status.check(c.tl_custom_op_create(&params, &made, status.errorOf(options.diagnostics)));
        return .{ .handle = made.? };
    }

    /// Drops this handle; contexts with nodes of the operation keep it.
    pub fn deinit(self: CustomOp) void {
        c.tl_custom_op_free(self.handle);
    }
};

/// The part of a result that a function is to compute. It is valid until the function returns.
pub const CustomSlice = struct {
    raw: *const c.tl_custom_slice,

    /// The first element to compute, counted in the order of the result's shape, dimension 0 first.
    pub fn begin(self: CustomSlice) usize {
        return @intCast(self.raw.begin);
    }

    /// The element after the last one.
    pub fn end(self: CustomSlice) usize {
        return @intCast(self.raw.end);
    }

    /// A number below the backend's threads. No two calls for one node have the same number at a time.
    pub fn thread(self: CustomSlice) usize {
        return @intCast(self.raw.thread);
    }

    /// The memory of each operand, with its type, shape and strides.
    pub fn operands(self: CustomSlice) []const c.tl_custom_view {
        return self.raw.src.?[0..self.raw.n_src];
    }

    /// All elements of an operand, in the order of its shape. `error.InvalidArgument`: there is no such operand, or it is
    /// not contiguous (pass its `cont`). `error.TypeMismatch`: its elements are no T.
    pub fn input(self: CustomSlice, comptime T: type, operand: usize) Error![]const T {
        if (operand >= self.raw.n_src) return error.InvalidArgument;
        const view = self.operands()[operand];
        if (@as(Type, @enumFromInt(view.type)) != Type.of(T)) return error.TypeMismatch;
        const n: usize = @intCast(view.ne[0] * view.ne[1] * view.ne[2] * view.ne[3]);
        if (n == 0) return &.{};
        var stride: usize = @sizeOf(T);
        for (view.ne, view.nb) |ne, nb| {
            if (ne != 1 and nb != stride) return error.InvalidArgument;
            stride *= @intCast(ne);
        }
        return @as([*]const T, @ptrCast(@alignCast(view.data.?)))[0..n];
    }

    /// The elements of the slice, which are to be filled in. `error.TypeMismatch`: they are no T.
    pub fn output(self: CustomSlice, comptime T: type) Error![]T {
        const view = self.raw.dst;
        if (@as(Type, @enumFromInt(view.type)) != Type.of(T)) return error.TypeMismatch;
        if (self.raw.begin == self.raw.end) return &.{};
        return @as([*]T, @ptrCast(@alignCast(view.data.?)))[self.begin()..self.end()];
    }
};

/// A node of a custom operation with 1 to 10 operands. Errors: what the operation's `shape` returned;
/// `error.InvalidArgument` for a wrong number of operands or a shape that is not valid, `error.TypeMismatch` for a
/// quantised result, and those of other operations.
pub fn custom(self: Context, op: CustomOp, operands: []const Tensor) Error!Tensor {
    const handles = try self.handlesOf(operands);
    defer self.state.allocator.free(handles);
    return self.construct(c.tl_custom, .{ op.handle, handles.ptr, handles.len });
}

/// Tells C of a function's error, by its name.
fn report(failure: anyerror, err: ?*c.tl_error) c.tl_status {
    const code: c.tl_status = switch (failure) {
        error.InvalidArgument => c.TL_STATUS_INVALID_ARGUMENT,
        error.ShapeMismatch => c.TL_STATUS_SHAPE_MISMATCH,
        error.TypeMismatch => c.TL_STATUS_TYPE_MISMATCH,
        error.Unsupported => c.TL_STATUS_UNSUPPORTED,
        error.OutOfMemory => c.TL_STATUS_OUT_OF_MEMORY,
        else => c.TL_STATUS_ABORTED,
    };
    if (err) |e| {
        var writer: std.Io.Writer = .fixed(e.message[0 .. e.message.len - 1]);
        writer.print("error.{s}", .{@errorName(failure)}) catch {};
        e.code = code;
    }
    return code;
}
