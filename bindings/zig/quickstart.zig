//! The product of two matrices, from slices to slices.

const std = @import("std");
const tl = @import("tensorlib");

pub fn main(init: std.process.Init) !void {
    var cpu = try tl.Backend.init(.{}); // all cores
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();

    const a = try ctx.tensorFrom(f32, &.{ 2, 4 }, &.{ 2, 8, 5, 1, 4, 2, 8, 6 }); // 4 rows of 2
    const b = try ctx.tensorFrom(f32, &.{ 2, 3 }, &.{ 10, 5, 9, 9, 5, 4 });
    const c = try ctx.mulMat(a, b); // {4, 3}; nothing is computed yet
    try cpu.compute(&.{c});

    var values: [12]f32 = undefined;
    try c.read(f32, &values);
    var buffer: [256]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    for (values, 0..) |v, i| try stdout.interface.print("{d}{s}", .{ v, if (i % 4 == 3) "\n" else " " });
    try stdout.interface.flush();
}
