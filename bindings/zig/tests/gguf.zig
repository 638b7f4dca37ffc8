//! GGUF files: written files read back equal, and invalid ones are errors.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;
const expectEqualStrings = std.testing.expectEqualStrings;
const expectError = std.testing.expectError;

/// A path in a temporary folder, relative to the test's working directory.
fn pathIn(buffer: []u8, tmp: *const std.testing.TmpDir, name: []const u8) ![:0]u8 {
    return std.fmt.bufPrintSentinel(buffer, ".zig-cache/tmp/{s}/{s}", .{ tmp.sub_path, name }, 0);
}

fn writeSmall(path: [:0]const u8) !void {
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
    defer ctx.deinit();
    const weights = try ctx.tensorFrom(f32, &.{ 2, 3 }, &.{ 1, 2, 3, 4, 5, 6 });
    try weights.setName("weights");
    var writer = try tl.GgufWriter.init(path, .{ .alignment = 64, .version = 2 });
    defer writer.deinit();
    inline for (.{ u8, i8, u16, i16, u32, i32, u64, i64 }) |T| try writer.set(T, @typeName(T), std.math.maxInt(T));
    try writer.set(f32, "f32", 3.25);
    try writer.set(f64, "f64", -1e300);
    try writer.set(bool, "bool", true);
    try writer.setString("text", "gr\u{fc}\u{df}");
    try writer.setArray(i16, "numbers", &.{ 1, -2 });
    try writer.setArray(bool, "bools", &.{ true, false });
    try writer.setStrings("texts", &.{ "a", "", "bc" });
    try writer.add(weights);
    try writer.declare("scalar", .i32, &.{});
    try writer.write(&.{7});
    try writer.write(&.{ 0, 0, 0 });
    try writer.finish();
    try expectEqual(1, writer.nParts());
}

fn checkSmall(file: *tl.Gguf) !void {
    try expectEqual(2, file.version());
    try expectEqual(64, file.alignment());
    try expectEqual(1, file.nParts());
    try expectEqual(16, file.nKeys());
    try expectEqualStrings("u8", file.key(0));
    try expectEqual(tl.GgufType.u8, file.typeOf("u8").?);
    try expect(file.typeOf("none") == null and file.has("text") and !file.has("none"));
    try expectEqual(255, try file.get(u64, "u8"));
    try expectEqual(32767, try file.get(i64, "i16"));
    try expectEqual(std.math.maxInt(u64), try file.get(u64, "u64"));
    try expectEqual(3.25, try file.get(f64, "f32"));
    try expect(try file.get(bool, "bool"));
    try expectEqualStrings("gr\u{fc}\u{df}", try file.get([]const u8, "text"));
    var numbers: [2]i16 = undefined;
    try expectEqual(2, try file.arrayLen("numbers"));
    try file.readArray(i16, "numbers", 0, &numbers);
    try expectEqualSlices(i16, &.{ 1, -2 }, &numbers);
    try expectEqual(-2, try file.element(i64, "numbers", 1));
    try expect(!try file.element(bool, "bools", 1));
    try expectEqualStrings("bc", try file.element([]const u8, "texts", 2));
    try expectEqual(2, file.nTensors());
    const info = file.tensorInfo(file.findTensor("scalar").?);
    try expectEqual(0, info.n_dims);
    try expectEqual(tl.Type.i32, info.dtype);
    try expectEqualSlices(u8, &.{ 7, 0, 0, 0 }, info.data);
    try expect(file.findTensor("none") == null);
}

test "what was written is read, and tensors outlive the file" {
    var tmp = std.testing.tmpDir(.{});
    defer tmp.cleanup();
    var buffer: [256]u8 = undefined;
    const path = try pathIn(&buffer, &tmp, "small.gguf");
    try writeSmall(path);
    const bytes = try tmp.dir.readFileAlloc(std.testing.io, "small.gguf", std.testing.allocator, .unlimited);
    defer std.testing.allocator.free(bytes);
    var diagnostics: tl.Diagnostics = .{};
    var files = [_]tl.Gguf{
        try tl.Gguf.open(path, &diagnostics),
        try tl.Gguf.openCopy(path, &diagnostics),
        try tl.Gguf.openMemory(bytes, &diagnostics),
        try tl.Gguf.openMemoryCopy(bytes, &diagnostics),
    };
    for (&files) |*file| {
        try checkSmall(file);
        var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator, .diagnostics = &diagnostics });
        defer ctx.deinit();
        const leaf = try ctx.ggufTensor(file.*, "weights");
        file.deinit();
        try expectEqualStrings("weights", leaf.name());
        var values: [6]f32 = undefined;
        try leaf.readF32(&values);
        try expectEqualSlices(f32, &.{ 1, 2, 3, 4, 5, 6 }, &values);
        try expectError(error.InvalidArgument, leaf.writeF32(&values));
        try expect(std.mem.indexOf(u8, diagnostics.message(), "GGUF file and is read-only") != null);
    }
}

test "parts" {
    var tmp = std.testing.tmpDir(.{});
    defer tmp.cleanup();
    var buffer: [256]u8 = undefined;
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
    defer ctx.deinit();
    var writer = try tl.GgufWriter.init(try pathIn(&buffer, &tmp, "big.gguf"), .{ .split_size = 1024 });
    defer writer.deinit();
    for ([_][:0]const u8{ "t0", "t1", "t2" }) |name| {
        const t = try ctx.tensor(.f32, &.{200});
        try t.setName(name);
        try writer.add(t);
    }
    try writer.finish();
    try expectEqual(3, writer.nParts());
    var file = try tl.Gguf.open(try pathIn(&buffer, &tmp, "big-00002-of-00003.gguf"), null);
    defer file.deinit();
    try expectEqual(3, file.nParts());
    try expectEqual(3, file.nTensors());
}

test "bad input" {
    var tmp = std.testing.tmpDir(.{});
    defer tmp.cleanup();
    var buffer: [256]u8 = undefined;
    const path = try pathIn(&buffer, &tmp, "small.gguf");
    try writeSmall(path);
    var diagnostics: tl.Diagnostics = .{};
    try expectError(error.Io, tl.Gguf.open("/none/such", &diagnostics));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "No such file") != null);
    try expectError(error.Format, tl.Gguf.openMemory("GGUF", &diagnostics));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "byte 4") != null);
    var file = try tl.Gguf.openCopy(path, &diagnostics);
    defer file.deinit();
    try expectError(error.InvalidArgument, file.get(u64, "none"));
    try expectError(error.TypeMismatch, file.get(i64, "u64"));
    try expectError(error.TypeMismatch, file.get(bool, "u8"));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "'u8' is u8") != null);
    try expectError(error.TypeMismatch, file.arrayLen("u8"));
    var numbers: [3]i16 = undefined;
    try expectError(error.InvalidArgument, file.readArray(i16, "numbers", 0, &numbers));
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator, .diagnostics = &diagnostics });
    defer ctx.deinit();
    try expectError(error.InvalidArgument, ctx.ggufTensor(file, "none"));
    try expectError(error.Io, tl.GgufWriter.init("/none/such", .{ .diagnostics = &diagnostics }));
    try expectError(error.InvalidArgument, tl.GgufWriter.init(path, .{ .alignment = 3, .diagnostics = &diagnostics }));
    var writer = try tl.GgufWriter.init(path, .{ .diagnostics = &diagnostics });
    defer writer.deinit();
    try writer.copyKeys(file);
    try expectError(error.InvalidArgument, writer.set(u8, "u8", 1));
    try writer.declare("t", .f32, &.{4});
    try expectError(error.InvalidArgument, writer.finish());
    try expect(std.mem.indexOf(u8, diagnostics.message(), "'t' lacks 16") != null);
    try expectError(error.InvalidArgument, writer.write(&@as([17]u8, @splat(0))));
}
