//! The value of f(x) = a x² + b and its gradient. The nodes are made once; then x is rewritten and they are computed
//! again.

const std = @import("std");
const tl = @import("tensorlib");

pub fn main(init: std.process.Init) !void {
    var cpu = try tl.Backend.init(.{});
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .allocator = init.arena.allocator() });
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{1}, &.{3});
    const b = try ctx.tensorFrom(f32, &.{1}, &.{2});
    const x = try ctx.tensor(.f32, &.{1});

    const f = try ctx.add(try ctx.mul(a, try ctx.sqr(x)), b);
    const gradients = try ctx.gradients(&.{f}, &.{}, &.{x}); // one for each of the last list: here df/dx
    var graph = try ctx.graph(&.{ f, gradients[0] });
    defer graph.deinit();

    var buffer: [256]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    for ([_]f32{ 2, 0, -1.5, 10 }) |value| {
        try x.write(f32, &.{value});
        try graph.compute(cpu);
        const slope = try gradients[0].getF32(.{ 0, 0, 0, 0 });
        try stdout.interface.print("x = {d}: f(x) = {d}, df/dx = {d}\n", .{ value, try f.getF32(.{ 0, 0, 0, 0 }), slope });
    }
    try stdout.interface.flush();
}
