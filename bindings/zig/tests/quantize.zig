//! Conversion between floats and storage types.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectError = std.testing.expectError;
const expectEqualSlices = std.testing.expectEqualSlices;

test "types go there and back, with one thread and two" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var values: [3 * 512]f32 = undefined;
    var whole: f32 = 0;
    for (&values, 0..) |*value, i| {
        value.* = @sin(@as(f32, @floatFromInt(i)));
        whole += value.* * value.*;
    }
    const ones: [512]f32 = @splat(1);
    for ([_]tl.Type{ .f16, .q8_0, .q4_K, .iq2_xxs }) |dtype| {
        const blocks = try std.testing.allocator.alloc(u8, tl.quantizedSize(dtype, values.len));
        defer std.testing.allocator.free(blocks);
        const again = try std.testing.allocator.alloc(u8, blocks.len);
        defer std.testing.allocator.free(again);
        try tl.quantize(dtype, &values, 512, null, blocks, null);
        try tl.quantizeOn(cpu, dtype, &values, 512, &ones, again);
        try expectEqualSlices(u8, blocks, again);
        var back: [3 * 512]f32 = undefined;
        try tl.dequantize(dtype, blocks, &back, null);
        var off: f32 = 0;
        for (values, back) |a, b| off += (a - b) * (a - b);
        try expect(off < 0.2 * whole);
    }
}

test "bad calls say what is valid" {
    var said: tl.Diagnostics = .{};
    var values: [512]f32 = @splat(1);
    var blocks: [2 * 144]u8 = undefined;
    const refused = struct {
        fn refused(d: *tl.Diagnostics, result: tl.Error!void, word: []const u8) !void {
            try expectError(error.InvalidArgument, result);
            try expect(std.mem.indexOf(u8, d.message(), word) != null);
        }
    }.refused;
    try refused(&said, tl.quantize(.q4_K, &values, 500, null, &blocks, &said), "no whole rows of 500");
    try refused(&said, tl.quantize(.q4_K, &values, 128, null, &blocks, &said), "a multiple of 256");
    try refused(&said, tl.quantize(.q4_K, &values, 256, values[0..3], &blocks, &said), "3 weights");
    try refused(&said, tl.quantize(.q4_K, &values, 256, null, blocks[0..144], &said), "144 bytes");
    try refused(&said, tl.dequantize(.q4_K, &blocks, values[0..256], &said), "288 bytes");
    values[256 + 17] = std.math.nan(f32);
    try refused(&said, tl.quantize(.q4_K, &values, 256, null, &blocks, &said), "value 17 of row 1 is nan");
}
