//! Indexing, and functions that take or return lists of tensors.

const std = @import("std");
const tl = @import("tensorlib");
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;

const Test = struct {
    cpu: tl.Backend,
    ctx: tl.Context,
    diagnostics: *tl.Diagnostics,

    fn init(diagnostics: *tl.Diagnostics) !Test {
        const ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
        return .{ .cpu = try tl.Backend.init(.{}), .ctx = ctx.withDiagnostics(diagnostics), .diagnostics = diagnostics };
    }

    fn deinit(self: *Test) void {
        self.ctx.deinit();
        self.cpu.deinit();
    }

    /// Element (i, j, k) is i + 5 j + 20 k.
    fn counted(self: Test) !tl.Tensor {
        var values: [60]f32 = undefined;
        for (&values, 0..) |*value, i| value.* = @floatFromInt(i);
        return self.ctx.tensorFrom(f32, &.{ 5, 4, 3 }, &values);
    }

    fn expectValues(self: Test, tensor: tl.Tensor, want: []const f32) !void {
        var got: [64]f32 = undefined;
        const values = got[0..@intCast(tensor.nElements())];
        try (try tensor.eval(self.cpu)).readF32(values);
        try expectEqualSlices(f32, want, values);
    }

    fn expectSizes(self: Test, parts: []tl.Tensor, want: []const i64) !void {
        _ = self;
        defer std.testing.allocator.free(parts);
        try expectEqual(want.len, parts.len);
        for (parts, want) |part, n| try expectEqual(n, part.shape()[0]);
    }

    fn expectRefused(self: Test, result: anytype, word: []const u8) !void {
        try std.testing.expectError(error.InvalidArgument, result);
        if (std.mem.indexOf(u8, self.diagnostics.message(), word) == null) {
            std.debug.print("\"{s}\" lacks \"{s}\"\n", .{ self.diagnostics.message(), word });
            return error.WrongMessage;
        }
    }
};

test "indices" {
    var diagnostics: tl.Diagnostics = .{};
    var t = try Test.init(&diagnostics);
    defer t.deinit();
    const a = try t.counted();
    try t.expectValues(try t.ctx.index(a, &.{ .{ .at = 2 }, .{ .at = 1 }, .{ .at = 0 } }), &.{7});
    try t.expectValues(try t.ctx.index(a, &.{ .{ .at = -1 }, .{ .at = -1 }, .{ .at = -1 } }), &.{59});
    try t.expectValues(try t.ctx.index(a, &.{ .{ .range = .{ 1, 3 } }, .{ .at = 2 }, .{ .at = 1 } }), &.{ 31, 32 });
    try t.expectValues(try t.ctx.index(a, &.{ .{ .from = -2 }, .{ .at = 0 }, .{ .at = 0 } }), &.{ 3, 4 });
    try t.expectValues(try t.ctx.index(a, &.{ .{ .at = 0 }, .all, .{ .at = 1 } }), &.{ 20, 25, 30, 35 });
    try expectEqual([4]i64{ 2, 3, 1, 1 }, (try t.ctx.index(a, &.{ .{ .at = 0 }, .{ .range = .{ 1, 3 } } })).shape());
    try expectEqual([4]i64{ 5, 4, 3, 1 }, (try t.ctx.index(a, &.{})).shape());
    try t.expectRefused(t.ctx.index(a, &.{ .all, .{ .at = 4 } }), "index 4 of dimension 1");
    try t.expectRefused(t.ctx.index(a, &.{.{ .range = .{ 4, 2 } }}), "elements 4 to 2 of dimension 0");
    try t.expectRefused(t.ctx.index(a, &.{ .all, .all, .all, .all, .all }), "5 indices");
}

test "shapes lack dimensions" {
    var diagnostics: tl.Diagnostics = .{};
    var t = try Test.init(&diagnostics);
    defer t.deinit();
    const a = try t.ctx.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    const state = try t.ctx.tensorFrom(i64, &.{2}, &.{ 7, 0 });
    try t.expectValues(try t.ctx.expand(a, &.{ 2, 2 }), &.{ 1, 2, 1, 2 });
    try t.expectValues(try t.ctx.repeat(a, &.{4}), &.{ 1, 2, 1, 2 });
    try expectEqual([4]i64{ 3, 2, 1, 1 }, (try t.ctx.randomUniform(state, &.{ 3, 2 }, 0, 1, 0)).shape());
    try t.expectRefused(t.ctx.expand(a, &.{}), "n_dims is 0");
    try t.expectRefused(t.ctx.repeat(a, &.{ 2, 1, 1, 1, 1 }), "n_dims is 5");
    try t.expectRefused(t.ctx.randomNormal(state, &.{-1}, 0, 1, 0), "-1");
}

test "parts of a dimension" {
    var diagnostics: tl.Diagnostics = .{};
    var t = try Test.init(&diagnostics);
    defer t.deinit();
    const a = try t.counted();
    try t.expectSizes(try t.ctx.split(a, 2, 0), &.{ 2, 2, 1 });
    try t.expectSizes(try t.ctx.split(a, std.math.maxInt(i64), 0), &.{5});
    try t.expectSizes(try t.ctx.splitSizes(a, &.{ 1, 0, 4 }, 0), &.{ 1, 0, 4 });
    try t.expectSizes(try t.ctx.chunk(a, 2, 0), &.{ 3, 2 });
    try t.expectSizes(try t.ctx.chunk(a, 9, 0), &.{ 1, 1, 1, 1, 1 });
    try t.expectSizes(try t.ctx.unbind(a, 2), &.{ 5, 5, 5 });
    try t.expectRefused(t.ctx.split(a, 0, 0), "size is 0");
    try t.expectRefused(t.ctx.split(a, 1, 4), "dim is 4");
    try t.expectRefused(t.ctx.splitSizes(a, &.{ 2, 2 }, 0), "a sum of 5");
    try t.expectRefused(t.ctx.splitSizes(a, &.{ 6, -1 }, 0), "a sum of 5");
    try t.expectRefused(t.ctx.chunk(a, 0, 0), "n is 0");
    try t.expectRefused(t.ctx.unbind(a, 7), "dim is 7");
}

test "lists of tensors" {
    var diagnostics: tl.Diagnostics = .{};
    var t = try Test.init(&diagnostics);
    defer t.deinit();
    const a = try t.ctx.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    const b = try t.ctx.tensorFrom(f32, &.{2}, &.{ 3, 4 });
    try t.expectValues(try t.ctx.cat(&.{ a, b, a }, 0), &.{ 1, 2, 3, 4, 1, 2 });
    try t.expectValues(try t.ctx.stack(&.{ a, b }, 0), &.{ 1, 3, 2, 4 });
    try t.expectValues(try t.ctx.einsum("i,j->ij", &.{ a, b }), &.{ 3, 6, 4, 8 });
    const grid = try t.ctx.meshgrid(&.{ a, b });
    defer std.testing.allocator.free(grid);
    try t.expectValues(grid[0], &.{ 1, 2, 1, 2 });
    try t.expectValues(grid[1], &.{ 3, 3, 4, 4 });
    try t.expectRefused(t.ctx.cat(&.{}, 0), "cat: 0 operands");
    try t.expectRefused(t.ctx.einsum("i->", &.{ a, b }), "2 tensors are given");
    try t.expectRefused(t.ctx.meshgrid(&.{}), "0 vectors");
    try t.expectRefused(t.ctx.meshgrid(&.{grid[0]}), "one dimension");
}
