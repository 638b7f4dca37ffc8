//! Custom operations: slices, shapes, failures, gradients, and how long they live.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;
const expectError = std.testing.expectError;

fn context(diagnostics: ?*tl.Diagnostics) !tl.Context {
    return tl.Context.init(.{ .allocator = std.testing.allocator, .diagnostics = diagnostics });
}

fn computed(threads: i32, t: tl.Tensor, ctx: tl.Context, diagnostics: ?*tl.Diagnostics) !void {
    var cpu = try tl.Backend.init(.{ .threads = threads, .diagnostics = diagnostics });
    defer cpu.deinit();
    var graph = try ctx.graph(&.{t});
    defer graph.deinit();
    try graph.compute(cpu);
}

fn expectMessage(diagnostics: *const tl.Diagnostics, word: []const u8) !void {
    if (std.mem.indexOf(u8, diagnostics.message(), word) != null) return;
    std.debug.print("'{s}' lacks '{s}'\n", .{ diagnostics.message(), word });
    return error.TestUnexpectedResult;
}

const Doubling = struct {
    mode: std.atomic.Value(u32) = .init(0),
    destroyed: u32 = 0,

    pub fn compute(self: *Doubling, slice: tl.CustomSlice) !void {
        if (self.mode.load(.monotonic) == 1) return error.NotToday;
        const x = try slice.input(f32, 0);
        for (try slice.output(f32), x[slice.begin()..slice.end()]) |*y, v| y.* = 2 * v;
    }

    pub fn destroy(self: *Doubling) void {
        self.destroyed += 1;
    }
};

// The example of docs/custom-operations.md.
const SoftClip = struct {
    pub fn compute(_: *SoftClip, slice: tl.CustomSlice) !void {
        const x = try slice.input(f32, 0);
        for (try slice.output(f32), x[slice.begin()..slice.end()]) |*y, v| y.* = v / (1 + @abs(v));
    }
};

test "an operation without data" {
    var ctx = try context(null);
    defer ctx.deinit();
    const x = try ctx.tensorFrom(f32, &.{3}, &.{ -1, 0, 3 });
    var data: SoftClip = .{};
    const op = try tl.CustomOp.init("soft_clip", &data, SoftClip, .{});
    defer op.deinit(); // the context keeps it as long as it has nodes of it
    const y = try ctx.custom(op, &.{x});
    try computed(2, y, ctx, null);
    var got: [3]f32 = undefined;
    try y.read(f32, &got);
    try expectEqualSlices(f32, &.{ -0.5, 0, 0.75 }, &got);
}

test "a function fills slices, and its errors fail the run" {
    var diagnostics: tl.Diagnostics = .{};
    var data: Doubling = .{};
    {
        var ctx = try context(&diagnostics);
        defer ctx.deinit();
        const op = try tl.CustomOp.init("twice", &data, Doubling, .{ .slice_unit = 1, .cost = 1e6 });
        const x = try ctx.tensorFrom(f32, &.{ 2, 2 }, &.{ 1, 2, 3, 4 });
        const y = try ctx.custom(op, &.{x});
        op.deinit();
        try expectEqual(0, data.destroyed);
        for ([_]i32{ 1, 2, 8 }) |threads| {
            data.mode.store(1, .monotonic);
            try expectError(error.Aborted, computed(threads, y, ctx, &diagnostics));
            try expectMessage(&diagnostics, "custom 'twice' of [2, 2] f32: error.NotToday");
            data.mode.store(0, .monotonic);
            try computed(threads, y, ctx, &diagnostics);
            var got: [4]f32 = undefined;
            try y.read(f32, &got);
            try expectEqualSlices(f32, &.{ 2, 4, 6, 8 }, &got);
        }
        // Its elements are not in the order of its shape.
        const other = try tl.CustomOp.init("twice", &data, struct {
            pub const compute = Doubling.compute;
        }, .{});
        defer other.deinit();
        const turned = try ctx.custom(other, &.{try ctx.transpose(x)});
        try expectError(error.InvalidArgument, computed(1, turned, ctx, &diagnostics));
    }
    try expectEqual(1, data.destroyed);
}

const Rows = struct {
    pub fn compute(_: *const Rows, slice: tl.CustomSlice) !void {
        try expectError(error.TypeMismatch, slice.output(f32));
        try expectError(error.TypeMismatch, slice.input(i32, 0));
        try expectError(error.InvalidArgument, slice.input(f32, 1));
        const view = slice.operands()[0];
        for (try slice.output(i64), slice.begin()..) |*y, i| y.* = @as(i64, @intCast(i)) * view.ne[0];
    }

    pub fn shape(_: *const Rows, operands: []const tl.CustomShape, ne: *[4]i64) !tl.CustomShape {
        if (operands[0].ne.len != 2) return error.ShapeMismatch;
        ne[0] = operands[0].ne[1];
        return .{ .dtype = .i64, .ne = ne[0..1] };
    }
};

test "a function says what the result is" {
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try context(&diagnostics);
    defer ctx.deinit();
    const rows: Rows = .{};
    const op = try tl.CustomOp.init("rows", &rows, Rows, .{});
    defer op.deinit();
    const y = try ctx.custom(op, &.{try ctx.tensor(.f32, &.{ 5, 3 })});
    try expectEqual(tl.Type.i64, y.dtype());
    try computed(2, y, ctx, &diagnostics);
    var got: [3]i64 = undefined;
    try y.read(i64, &got);
    try expectEqualSlices(i64, &.{ 0, 5, 10 }, &got);
    try expectError(error.ShapeMismatch, ctx.custom(op, &.{try ctx.tensor(.f32, &.{5})}));
    try expectMessage(&diagnostics, "custom 'rows'");
    try expectError(error.InvalidArgument, ctx.custom(op, &.{}));
    const wrong: tl.CustomOp.Options = .{ .slice_unit = -2, .diagnostics = &diagnostics };
    try expectError(error.InvalidArgument, tl.CustomOp.init("rows", &rows, Rows, wrong));
    try expectMessage(&diagnostics, "slice_unit is -2");
    try expectError(error.InvalidArgument, tl.CustomOp.init("", &rows, Rows, .{}));
}

const Square = struct {
    wrong: bool = false,

    pub fn compute(_: *Square, slice: tl.CustomSlice) !void {
        const x = try slice.input(f32, 0);
        for (try slice.output(f32), x[slice.begin()..slice.end()]) |*y, v| y.* = v * v;
    }

    pub fn gradient(self: *Square, ctx: tl.Context, node: tl.Tensor, of_node: tl.Tensor, operand: usize) !tl.Tensor {
        const sources = try node.sources(std.testing.allocator);
        defer std.testing.allocator.free(sources);
        if (self.wrong) return ctx.add(of_node, try ctx.tensor(.f32, &.{4}));
        return ctx.scale(try ctx.mul(of_node, sources[operand].?), 2, .{});
    }
};

test "a function builds gradients" {
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try context(&diagnostics);
    defer ctx.deinit();
    var square: Square = .{};
    const op = try tl.CustomOp.init("square", &square, Square, .{});
    defer op.deinit();
    const x = try ctx.tensorFrom(f32, &.{3}, &.{ 1, -2, 3 });
    const total = try ctx.sum(try ctx.custom(op, &.{x}), .{});
    const gradients = try ctx.gradients(&.{total}, &.{}, &.{x});
    defer std.testing.allocator.free(gradients);
    try computed(1, gradients[0], ctx, &diagnostics);
    var got: [3]f32 = undefined;
    try gradients[0].read(f32, &got);
    try expectEqualSlices(f32, &.{ 2, -4, 6 }, &got);
    square.wrong = true;
    try expectError(error.ShapeMismatch, ctx.gradients(&.{total}, &.{}, &.{x}));
    try expectMessage(&diagnostics, "[4]");
}
