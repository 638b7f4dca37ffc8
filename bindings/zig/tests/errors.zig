//! Every function of the library with input that it must refuse, and where its messages go.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectError = std.testing.expectError;

/// Checks a failure and the words of its message; the table is the same in the other languages.
const Table = struct {
    diagnostics: *tl.Diagnostics,
    seen: usize = 0,

    fn refuse(self: *Table, name: []const u8, wanted: tl.Error, result: anytype, words: []const []const u8) !void {
        self.seen += 1;
        if (result) |_| {
            std.debug.print("{s}: succeeded\n", .{name});
            return error.TestUnexpectedResult;
        } else |err| if (err != wanted) {
            std.debug.print("{s}: {t} ({s}), want {t}\n", .{ name, err, self.diagnostics.message(), wanted });
            return error.TestUnexpectedResult;
        }
        const message = self.diagnostics.message();
        if (message.len == 0) {
            std.debug.print("{s}: no message\n", .{name});
            return error.TestUnexpectedResult;
        }
        for (words) |word| if (std.mem.indexOf(u8, message, word) == null) {
            std.debug.print("{s}: \"{s}\" lacks \"{s}\"\n", .{ name, message, word });
            return error.TestUnexpectedResult;
        };
    }
};

test "bad input" {
    var diagnostics: tl.Diagnostics = .{};
    var t: Table = .{ .diagnostics = &diagnostics };
    var cpu = try tl.Backend.init(.{ .threads = 2, .diagnostics = &diagnostics });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics, .allocator = std.testing.allocator });
    defer ctx.deinit();
    var shapes = try tl.Context.init(.{ .no_alloc = true, .diagnostics = &diagnostics });
    defer shapes.deinit();
    var small = try tl.Context.init(.{ .mem_limit = 1, .diagnostics = &diagnostics });
    defer small.deinit();
    const a = try ctx.tensorFrom(f32, &.{ 2, 4 }, &.{ 0, 1, 2, 3, 4, 5, 6, 7 });
    const b = try ctx.tensor(.f32, &.{7});
    const ints = try ctx.tensorFrom(i32, &.{3}, &.{ 1, 2, 3 });
    const constant = try ctx.tensor(.f32, &.{2});
    try constant.setConstant();
    const empty = try shapes.tensor(.f32, &.{2});
    const sum = try ctx.add(a, a);
    var eight: [8]f32 = undefined;
    var four: [4]f32 = @splat(0);
    var doubles: [8]f64 = undefined;
    const many: [40]i64 = @splat(1);

    try t.refuse("tensor/no_dims", error.InvalidArgument, ctx.tensor(.f32, &.{}), &.{});
    try t.refuse("tensor/five_dims", error.InvalidArgument, ctx.tensor(.f32, many[0..5]), &.{"5"});
    try t.refuse("tensor/forty_dims", error.InvalidArgument, ctx.tensor(.f32, &many), &.{"40"});
    try t.refuse("tensor/negative", error.InvalidArgument, ctx.tensor(.f32, &.{ 2, -1 }), &.{"-1"});
    try t.refuse("tensor/too_big", error.InvalidArgument, ctx.tensor(.f64, &.{ 1 << 40, 1 << 40 }), &.{});
    try t.refuse("tensor/unknown_type", error.InvalidArgument, ctx.tensor(@enumFromInt(99), &.{2}), &.{"99"});
    try t.refuse("tensor/wrong_length", error.InvalidArgument, ctx.tensorFrom(f32, &.{ 3, 1 }, &four), &.{ "4", "[3, 1]" });
    try t.refuse("tensor/from_into_no_alloc", error.InvalidArgument, shapes.tensorFrom(f32, &.{4}, &four), &.{});
    try t.refuse("tensor/limit", error.OutOfMemory, small.tensor(.f32, &.{100}), &.{"1"});
    try t.refuse("add/shape", error.ShapeMismatch, ctx.add(a, b), &.{ "add", "7" });
    try t.refuse("add/type", error.TypeMismatch, ctx.add(a, ints), &.{ "add", "i32" });
    try t.refuse("mul_mat/shape", error.ShapeMismatch, ctx.mulMat(a, b), &.{ "mul_mat", "2", "7" });
    try t.refuse("mul_mat_exact/shape", error.ShapeMismatch, ctx.mulMatExact(a, b), &.{ "mul_mat", "2", "7" });
    try t.refuse("mul_mat_exact/type", error.TypeMismatch, ctx.mulMatExact(a, ints), &.{ "mul_mat", "i32" });
    try t.refuse("mul_mat/exact_2", error.InvalidArgument, ctx.op("mul_mat", &.{ a, a }, &.{.ints("exact", &.{2})}), &.{"exact is 2"});
    try t.refuse("mul_mat_id/floats", error.TypeMismatch, ctx.mulMatId(a, a, a), &.{ "mul_mat_id", "i32 or i64" });
    try t.refuse("mul_mat_id/columns", error.ShapeMismatch, ctx.mulMatId(a, a, ints), &.{ "mul_mat_id", "divide" });
    try t.refuse("view/outside", error.InvalidArgument, ctx.view(a, &.{9}, null, 0), &.{"view"});
    try t.refuse("view/strides", error.InvalidArgument, ctx.view(a, &.{ 2, 2 }, &.{ 4, 8 }, 0), &.{"strides"});
    try t.refuse("view/far", error.InvalidArgument, ctx.view(a, &.{1}, null, std.math.maxInt(usize)), &.{"view"});
    try t.refuse("reshape/count", error.ShapeMismatch, ctx.reshape(a, &.{ 3, 3 }), &.{"reshape"});
    try t.refuse("permute/twice", error.InvalidArgument, ctx.permute(a, .{ 0, 0, 1, 2 }), &.{"permute"});
    try t.refuse("permute/outside", error.InvalidArgument, ctx.permute(a, .{ 0, 1, 2, 4 }), &.{"permute"});
    try t.refuse("cpy/count", error.ShapeMismatch, ctx.cpy(a, b), &.{"cpy"});
    try t.refuse("cpy/constant", error.InvalidArgument, ctx.cpy(constant, constant), &.{"constant"});
    try t.refuse("get_rows/floats", error.TypeMismatch, ctx.getRows(ints, a), &.{ "get_rows", "i32 or i64" });
    try t.refuse("set_rows/shape", error.ShapeMismatch, ctx.setRows(a, a, ints), &.{"set_rows"});
    try t.refuse("op/unknown", error.InvalidArgument, ctx.op("no_such_op", &.{a}, &.{}), &.{"no_such_op"});
    try t.refuse("op/left_out", error.InvalidArgument, ctx.op("add", &.{ a, null }, &.{}), &.{ "b is left out", "no operand that may be" });
    try t.refuse("op/missing_attribute", error.InvalidArgument, ctx.op("permute", &.{a}, &.{}), &.{"axes"});
    try t.refuse("op/unknown_attribute", error.InvalidArgument, ctx.op("dup", &.{a}, &.{.number("bogus", 1)}), &.{"bogus"});
    try t.refuse("op/seven_ints", error.InvalidArgument, ctx.op("reshape", &.{a}, &.{.ints("ne", many[0..7])}), &.{});
    try t.refuse("read/node", error.InvalidArgument, sum.read(f32, &eight), &.{});
    try t.refuse("read/type", error.TypeMismatch, a.read(f64, &doubles), &.{ "f32", "f64" });
    try t.refuse("read/length", error.InvalidArgument, a.read(f32, &four), &.{ "4", "[2, 4]", "8" });
    try t.refuse("read/behind", error.InvalidArgument, a.readAt(f32, 7, &four), &.{});
    try t.refuse("read/far_behind", error.InvalidArgument, a.readAt(f32, std.math.maxInt(usize) / 2, &four), &.{});
    try t.refuse("read/no_data", error.InvalidArgument, empty.read(f32, four[0..2]), &.{});
    try t.refuse("read_f32/length", error.InvalidArgument, a.readF32(&four), &.{ "4", "8" });
    try t.refuse("write/node", error.InvalidArgument, sum.write(f32, &eight), &.{});
    try t.refuse("write/constant", error.InvalidArgument, constant.write(f32, four[0..2]), &.{"constant"});
    try t.refuse("write/behind", error.InvalidArgument, a.writeAt(f32, 5, &four), &.{});
    try t.refuse("write_f32/not_an_integer", error.InvalidArgument, ints.writeF32(&.{ 1, 2, 3e9 }), &.{"2"});
    try t.refuse("get/outside", error.InvalidArgument, a.getF32(.{ 2, 0, 0, 0 }), &.{});
    try t.refuse("set/outside", error.InvalidArgument, a.setF32(.{ 0, -1, 0, 0 }, 1), &.{});
    try t.refuse("map/constant", error.InvalidArgument, constant.map(.write), &.{});
    try t.refuse("constant/node", error.InvalidArgument, sum.setConstant(), &.{});
    try t.refuse("drop_original/variable", error.InvalidArgument, a.dropOriginal(), &.{"constant"});
    try t.refuse("graph/no_output", error.InvalidArgument, ctx.graph(&.{}), &.{});
    try t.refuse("compute/nothing", error.InvalidArgument, cpu.compute(&.{}), &.{"output"});
    try t.refuse("compute/no_data", error.InvalidArgument, cpu.compute(&.{try shapes.add(empty, empty)}), &.{});
    try t.refuse("allocate/has_data", error.InvalidArgument, ctx.allocate(null), &.{});
    const abacus = tl.Backend.init(.{ .device = "abacus", .diagnostics = &diagnostics });
    try t.refuse("backend/unknown", error.InvalidArgument, abacus, &.{"abacus"});
    const negative = tl.Backend.init(.{ .threads = -1, .diagnostics = &diagnostics });
    try t.refuse("backend/threads", error.InvalidArgument, negative, &.{"-1"});
    try t.refuse("device/behind", error.InvalidArgument, tl.deviceProps(tl.deviceCount(), &diagnostics), &.{});
    try t.refuse("type/unknown", error.InvalidArgument, tl.Type.fromName("f33", &diagnostics), &.{ "f33", "f32" });
    try expect(t.seen == 56);

    // No failure left an error or changed anything.
    try cpu.compute(&.{sum});
    try sum.read(f32, &eight);
    try std.testing.expectEqualSlices(f32, &.{ 0, 2, 4, 6, 8, 10, 12, 14 }, &eight);
}

test "diagnostics hold the last failure and are cleared by a success" {
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics });
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{2});
    try expectError(error.ShapeMismatch, ctx.add(a, try ctx.tensor(.f32, &.{3})));
    try expect(std.mem.startsWith(u8, diagnostics.message(), "add"));
    try std.testing.expectEqual(tl.c.TL_STATUS_SHAPE_MISMATCH, diagnostics.code());
    _ = try ctx.add(a, a);
    try std.testing.expectEqualStrings("", diagnostics.message());
    try std.testing.expectEqual(tl.c.TL_STATUS_OK, diagnostics.code());
}

test "errors come without diagnostics too" {
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{2});
    try expectError(error.ShapeMismatch, ctx.add(a, try ctx.tensor(.f32, &.{3})));
    try expectError(error.InvalidArgument, ctx.graph(&.{}));
    try expectError(error.InvalidArgument, tl.Backend.init(.{ .device = "abacus" }));
    _ = try ctx.add(a, a); // the failures above are cleared
}

test "handles of one context write to their own diagnostics" {
    var first: tl.Diagnostics = .{};
    var second: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .diagnostics = &first });
    defer ctx.deinit();
    const other = ctx.withDiagnostics(&second);
    const a = try other.tensor(.f32, &.{2});
    try expectError(error.InvalidArgument, a.getF32(.{ 5, 0, 0, 0 }));
    try expect(first.message().len == 0 and second.message().len > 0);
    try expectError(error.InvalidArgument, a.withDiagnostics(&first).getF32(.{ 5, 0, 0, 0 }));
    try std.testing.expectEqualStrings(second.message(), first.message());
}

test "running out of the allocator's memory is an error and leaks nothing" {
    var index: usize = 0;
    while (true) : (index += 1) {
        var failing = std.testing.FailingAllocator.init(std.testing.allocator, .{ .fail_index = index });
        scenario(failing.allocator()) catch |err| {
            try expect(err == error.OutOfMemory);
            continue;
        };
        try expect(!failing.has_induced_failure);
        break;
    }
    try expect(index >= 5); // the handle, operands and attributes, outputs, texts
}

fn scenario(allocator: std.mem.Allocator) tl.Error!void {
    var cpu = try tl.Backend.init(.{ .threads = 1 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .allocator = allocator });
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{2});
    const b = try ctx.op("reshape", &.{a}, &.{.ints("ne", &.{ 1, 2 })});
    const sum = try ctx.add(b, b);
    var graph = try ctx.graph(&.{sum});
    defer graph.deinit();
    allocator.free(try graph.dot(allocator));
    allocator.free(try graph.planText(cpu, allocator));
    try graph.compute(cpu);
    allocator.free(try sum.readAlloc(f32, allocator));
}
