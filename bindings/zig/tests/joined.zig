//! Graphs over several devices: virtual CPUs, joined.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqualStrings = std.testing.expectEqualStrings;
const expectEqualSlices = std.testing.expectEqualSlices;
const expectError = std.testing.expectError;

extern "c" fn setenv(name: [*:0]const u8, value: [*:0]const u8, overwrite: c_int) c_int;

/// Must run before anything in this process asks for the devices.
fn askForVirtualDevices() !void {
    try expect(setenv("TENSORLIB_CPU_VIRTUAL_DEVICES", "2", 1) == 0);
}

test "leafs of two devices meet in one graph" {
    try askForVirtualDevices();
    var a = try tl.Backend.init(.{ .device = "cpu:0", .threads = 1 });
    defer a.deinit();
    var b = try tl.Backend.init(.{ .device = "cpu:1", .threads = 1 });
    defer b.deinit();
    var joined = try tl.Backend.join(&.{ a, b });
    defer joined.deinit();
    try expectEqualStrings("cpu:0+cpu:1", joined.device());
    try expect(joined.deviceCount() == 2 and joined.deviceAt(2) == null);
    try expectEqualStrings("cpu:1", joined.deviceAt(1).?);

    var weights = try tl.Context.init(.{ .backend = a, .allocator = std.testing.allocator });
    defer weights.deinit();
    var ctx = try tl.Context.init(.{ .backend = b, .allocator = std.testing.allocator });
    defer ctx.deinit();
    const w = try weights.tensor(.f32, &.{ 2, 3 });
    try w.write(f32, &.{ 1, 2, 3, 4, 5, 6 });
    const x = try ctx.tensor(.f32, &.{2});
    try x.write(f32, &.{ 10, 1 });
    const y = try ctx.mulMat(w, x);
    var graph = try ctx.graph(&.{y});
    defer graph.deinit();
    try expectError(error.ContextMismatch, graph.compute(a));
    for ([_]?[:0]const u8{ null, "cpu:1", "cpu:0" }) |device| {
        try y.place(device);
        try graph.compute(joined);
        const got = try y.readAlloc(f32, std.testing.allocator);
        defer std.testing.allocator.free(got);
        try expectEqualSlices(f32, &.{ 12, 34, 56 }, got);
    }
    const bytes = try graph.planBytes(joined, std.testing.allocator);
    defer std.testing.allocator.free(bytes);
    try expect(bytes.len == 2 and bytes[0] >= 24 and bytes[1] >= 8);
}

test "joins of bad input say what would be valid" {
    try askForVirtualDevices();
    var diagnostics: tl.Diagnostics = .{};
    var a = try tl.Backend.init(.{ .device = "cpu:0", .threads = 1, .diagnostics = &diagnostics });
    defer a.deinit();
    try expectError(error.InvalidArgument, tl.Backend.join(&.{}));
    try expectError(error.InvalidArgument, tl.Backend.join(&.{ a, a }));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "one of each device") != null);
    try expectError(error.InvalidArgument, tl.Backend.join(&@as([40]tl.Backend, @splat(a))));
    var ctx = try tl.Context.init(.{ .backend = a, .allocator = std.testing.allocator });
    defer ctx.deinit();
    const x = try ctx.tensor(.f32, &.{2});
    try expectError(error.InvalidArgument, x.place("cpu:1"));
    const y = try ctx.exp(x);
    try expectError(error.InvalidArgument, y.place("abacus"));
}
