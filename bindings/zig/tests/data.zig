//! Reading and writing of data, names, and the lifetime of contexts.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;
const expectError = std.testing.expectError;

fn context() !tl.Context {
    return tl.Context.init(.{ .allocator = std.testing.allocator });
}

test "every element type goes in and comes out as it is" {
    var ctx = try context();
    defer ctx.deinit();
    inline for (.{ f16, f32, f64, i8, i16, i32, i64, u8 }) |T| {
        const least: T = if (@typeInfo(T) == .float) -std.math.floatMax(T) else std.math.minInt(T);
        const values = [_]T{ 1, least, 3 };
        const t = try ctx.tensorFrom(T, &.{3}, &values);
        try expectEqual(tl.Type.of(T), t.dtype());
        try expectEqual(3 * @sizeOf(T), t.nBytes());
        const all = try t.readAlloc(T, std.testing.allocator);
        defer std.testing.allocator.free(all);
        try expectEqualSlices(T, &values, all);
        var part: [2]T = undefined;
        try t.readAt(T, 1, &part);
        try expectEqualSlices(T, values[1..], &part);
        try t.writeAt(T, 2, values[0..1]);
        try t.readAt(T, 1, &part);
        try expectEqualSlices(T, &.{ least, 1 }, &part);
    }
}

test "bools go in and come out, and no other bytes" {
    var ctx = try context();
    defer ctx.deinit();
    const t = try ctx.tensorFrom(bool, &.{3}, &.{ true, false, true });
    try expectEqual(tl.Type.bool, t.dtype());
    var got: [3]bool = undefined;
    try t.read(bool, &got);
    try expectEqualSlices(bool, &.{ true, false, true }, &got);
    var numbers: [3]f32 = undefined;
    try t.readF32(&numbers);
    try expectEqualSlices(f32, &.{ 1, 0, 1 }, &numbers);
}

test "f32 is converted" {
    var ctx = try context();
    defer ctx.deinit();
    // 1 + 2^-9 lies between two values of bf16 (7 fraction bits) and is one of f16 (10).
    const given = [_]f32{ 0.5, -3, 1 + 1.0 / 512.0 };
    const Case = struct { dtype: tl.Type, want: [3]f32 };
    for ([_]Case{
        .{ .dtype = .f32, .want = given },
        .{ .dtype = .f64, .want = given },
        .{ .dtype = .f16, .want = given },
        .{ .dtype = .bf16, .want = .{ 0.5, -3, 1 } },
        .{ .dtype = .i8, .want = .{ 0, -3, 1 } }, // 0.5 is a tie and goes to even
    }) |case| {
        const t = try ctx.tensor(case.dtype, &.{3});
        try t.writeF32(&given);
        var got: [3]f32 = undefined;
        try t.readF32(&got);
        try expectEqualSlices(f32, &case.want, &got);
    }
    const half = try ctx.tensor(.f16, &.{1});
    try half.setF32(.{ 0, 0, 0, 0 }, 1);
    var raw: [2]u8 = undefined;
    try half.readBytes(0, &raw);
    try expectEqualSlices(u8, &.{ 0x00, 0x3c }, &raw);
    try expectEqual(1, try half.getF32(.{ 0, 0, 0, 0 }));
}

test "views gather and scatter" {
    var ctx = try context();
    defer ctx.deinit();
    const a = try ctx.tensorFrom(i16, &.{ 3, 2 }, &.{ 0, 1, 2, 3, 4, 5 });
    const turned = try ctx.transpose(a);
    var got: [6]i16 = undefined;
    try turned.read(i16, &got);
    try expectEqualSlices(i16, &.{ 0, 3, 1, 4, 2, 5 }, &got);
    try turned.writeAt(i16, 1, &.{ 30, 10 });
    try a.read(i16, &got);
    try expectEqualSlices(i16, &.{ 0, 10, 2, 30, 4, 5 }, &got);
}

test "an empty tensor" {
    var ctx = try context();
    defer ctx.deinit();
    const empty = try ctx.tensorFrom(f32, &.{ 0, 3 }, &.{});
    try empty.read(f32, &.{});
    try empty.writeF32(&.{});
    var mapping = try empty.map(.read);
    defer mapping.deinit();
    try expectEqual(0, mapping.bytes.len);
}

test "mappings show the tensor's own memory and keep others out" {
    var ctx = try context();
    defer ctx.deinit();
    const a = try ctx.tensorFrom(i8, &.{ 3, 2 }, &.{ 1, 2, 3, 4, 5, 6 });
    const column = try ctx.view(a, &.{ 1, 2 }, &.{3}, 1); // elements 1 and 4, 3 bytes apart
    var got: [6]i8 = undefined;
    {
        var mapping = try column.map(.write);
        defer mapping.deinit();
        try expectEqualSlices(u8, &.{ 2, 3, 4, 5 }, mapping.bytes);
        mapping.bytes[3] = 9;
        try expectError(error.Busy, a.read(i8, &got));
        try expectError(error.Busy, ctx.reset());
    }
    {
        var one = try a.map(.read);
        defer one.deinit();
        var two = try column.map(.read);
        defer two.deinit();
        try expectEqual(one.bytes.ptr + 1, two.bytes.ptr);
        try expectEqual(@as(?*const anyopaque, one.bytes.ptr), a.dataAddress());
        try expectError(error.Busy, a.map(.write));
    }
    try a.read(i8, &got);
    try expectEqualSlices(i8, &.{ 1, 2, 3, 4, 9, 6 }, &got);
}

test "shapes, strides and names" {
    var ctx = try context();
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{ 3, 2 });
    try expectEqual([4]i64{ 3, 2, 1, 1 }, a.shape());
    try expectEqualSlices(usize, &.{ 4, 12 }, a.strides()[0..2]);
    try expectEqualSlices(usize, &.{ 12, 4 }, (try ctx.transpose(a)).strides()[0..2]);
    try expect(a.nDims() == 2 and a.nElements() == 6 and a.nBytes() == 24);
    try std.testing.expectEqualStrings("leaf", a.op());
    try std.testing.expectEqualStrings("", a.name());
    try a.setName("weights");
    var buffer: [64]u8 = undefined;
    try std.testing.expectEqualStrings("leaf weights: f32 [3, 2]", try std.fmt.bufPrint(&buffer, "{f}", .{a}));
    try a.setName(null);
    try std.testing.expectEqualStrings("leaf: f32 [3, 2]", try std.fmt.bufPrint(&buffer, "{f}", .{a}));
}

test "reset empties a context that nobody refers to" {
    var ctx = try context();
    defer ctx.deinit();
    var user = try context();
    const a = try ctx.tensor(.f32, &.{1000});
    _ = try user.add(a, a);
    try expectError(error.Busy, ctx.reset());
    user.deinit();
    const used = ctx.usedMemory();
    try ctx.reset();
    try expect(ctx.usedMemory() < used and ctx.peakMemory() >= used);
    _ = try ctx.tensor(.f32, &.{1000});
}

test "a context in a caller's buffer does not outgrow it" {
    const buffer = try std.testing.allocator.alignedAlloc(u8, .@"64", 1 << 16);
    defer std.testing.allocator.free(buffer);
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .mem_buffer = buffer, .diagnostics = &diagnostics });
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    const address = @intFromPtr(a.dataAddress().?);
    try expect(address >= @intFromPtr(buffer.ptr) and address < @intFromPtr(buffer.ptr) + buffer.len);
    try expectError(error.OutOfMemory, ctx.tensor(.f32, &.{1 << 16}));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "65536") != null);
}

test "a no_alloc context gets its data later" {
    var ctx = try tl.Context.init(.{ .no_alloc = true });
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{2});
    try expect(a.dataAddress() == null);
    try ctx.allocate(null);
    var got = [_]f32{ 7, 7 };
    try a.read(f32, &got);
    try expectEqualSlices(f32, &.{ 0, 0 }, &got);
}

test "handles go in any order" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    var weights = try tl.Context.init(.{ .backend = cpu, .allocator = std.testing.allocator });
    var ctx = try context();
    defer ctx.deinit();
    const w = try weights.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    const sum = try ctx.add(w, w);
    cpu.deinit();
    weights.deinit();
    var other = try tl.Backend.init(.{});
    defer other.deinit();
    try other.compute(&.{sum});
    var got: [2]f32 = undefined;
    try sum.read(f32, &got);
    try expectEqualSlices(f32, &.{ 2, 4 }, &got);
}

test "what cannot be read takes no memory" {
    var shapes = try tl.Context.init(.{ .no_alloc = true, .allocator = std.testing.allocator });
    defer shapes.deinit();
    const absent = try shapes.tensor(.f32, &.{1 << 50});
    try expectError(error.InvalidArgument, absent.readAlloc(f32, std.testing.allocator));
    var ctx = try context();
    defer ctx.deinit();
    const one = try ctx.tensorFrom(f32, &.{1}, &.{1.5});
    const repeated = try ctx.view(one, &.{ 1, 1 << 50 }, &.{0}, 0);
    try expectError(error.OutOfMemory, repeated.readAlloc(f32, std.heap.c_allocator));
}

test "slices count in elements" {
    var ctx = try context();
    defer ctx.deinit();
    const t = try ctx.tensorFrom(f32, &.{ 3, 2 }, &.{ 1, 2, 3, 4, 5, 6 });
    var two: [2]f32 = undefined;
    try (try ctx.slice(t, &.{ 1, 1 }, &.{ 2, 1 })).read(f32, &two);
    try expectEqualSlices(f32, &.{ 5, 6 }, &two);
    try (try ctx.narrow(t, 0, 2, 1)).read(f32, &two);
    try expectEqualSlices(f32, &.{ 3, 6 }, &two);
    try expectEqual(3, (try ctx.reshape(t, &.{ 2, -1 })).shape()[1]);
    try expectError(error.InvalidArgument, ctx.slice(t, &.{0}, &.{ 1, 1 }));
    try expectError(error.InvalidArgument, ctx.narrow(t, 4, 0, 1));
}

test "contexts have names, and can be frozen" {
    var ctx = try context();
    defer ctx.deinit();
    var buffer: [8]u8 = undefined;
    try expectEqualSlices(u8, "", ctx.copyName(&buffer));
    try ctx.setName("the weights");
    try expectEqualSlices(u8, "the wei", ctx.copyName(&buffer));
    try expectEqualSlices(u8, "", ctx.copyName(buffer[0..0]));
    const t = try ctx.tensor(.f32, &.{1});
    try t.setName("w");
    try expectEqualSlices(u8, "w", t.copyName(&buffer));
    try expectError(error.InvalidArgument, t.setName("\xff"));
    try ctx.freeze();
    try expectError(error.InvalidArgument, ctx.add(t, t));
    try ctx.setName(null);
    try expectEqualSlices(u8, "", ctx.copyName(&buffer));
}
