//! Each operation once with numbers that can be checked by eye; the shared case files contain the
//! rest.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;

test "operations" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{ 3, 2 }, &.{ 0, 1, 2, 3, 4, 5 });
    const row = try ctx.tensorFrom(f32, &.{3}, &.{ 10, 20, 30 });
    const turned = try ctx.transpose(a);
    const column = try ctx.view(a, &.{ 1, 2 }, &.{12}, 4);
    const reshaped = try ctx.reshape(a, &.{ 2, 3 });
    const permuted = try ctx.permute(a, .{ 2, 0, 1, 3 });
    const target = try ctx.tensor(.bf16, &.{ 2, 3 });
    const Case = struct { tensor: tl.Tensor, op: []const u8, ne: [4]i64, want: []const f32 };
    for ([_]Case{
        .{ .op = "add", .tensor = try ctx.add(a, row), .ne = .{ 3, 2, 1, 1 }, .want = &.{ 10, 21, 32, 13, 24, 35 } },
        .{ .op = "mul_mat", .tensor = try ctx.mulMat(a, row), .ne = .{ 2, 1, 1, 1 }, .want = &.{ 80, 260 } },
        .{ .op = "mul_mat", .tensor = try ctx.mulMatExact(a, row), .ne = .{ 2, 1, 1, 1 }, .want = &.{ 80, 260 } },
        .{ .op = "view", .tensor = column, .ne = .{ 1, 2, 1, 1 }, .want = &.{ 1, 4 } },
        .{ .op = "view", .tensor = try ctx.view(a, &.{2}, null, 8), .ne = .{ 2, 1, 1, 1 }, .want = &.{ 2, 3 } },
        .{ .op = "reshape", .tensor = reshaped, .ne = .{ 2, 3, 1, 1 }, .want = &.{ 0, 1, 2, 3, 4, 5 } },
        .{ .op = "permute", .tensor = permuted, .ne = .{ 2, 1, 3, 1 }, .want = &.{ 0, 3, 1, 4, 2, 5 } },
        .{ .op = "transpose", .tensor = turned, .ne = .{ 2, 3, 1, 1 }, .want = &.{ 0, 3, 1, 4, 2, 5 } },
        .{ .op = "cont", .tensor = try ctx.cont(turned), .ne = .{ 2, 3, 1, 1 }, .want = &.{ 0, 3, 1, 4, 2, 5 } },
        .{ .op = "dup", .tensor = try ctx.dup(column), .ne = .{ 1, 2, 1, 1 }, .want = &.{ 1, 4 } },
        .{ .op = "cpy", .tensor = try ctx.cpy(a, target), .ne = .{ 2, 3, 1, 1 }, .want = &.{ 0, 1, 2, 3, 4, 5 } },
        .{ .op = "cast", .tensor = try ctx.cast(a, .f16), .ne = .{ 3, 2, 1, 1 }, .want = &.{ 0, 1, 2, 3, 4, 5 } },
        // Options are a struct literal; an operand that is left out is null.
        .{ .op = "sum", .tensor = try ctx.sum(a, .{}), .ne = .{ 1, 1, 1, 1 }, .want = &.{15} },
        .{ .op = "max", .tensor = try ctx.max(a, .{ .dims = &.{0} }), .ne = .{ 2, 1, 1, 1 }, .want = &.{ 2, 5 } },
        .{ .op = "mean", .tensor = try ctx.mean(a, .{ .dims = &.{1}, .keep = true }), .ne = .{ 3, 1, 1, 1 }, .want = &.{ 1.5, 2.5, 3.5 } },
        .{ .op = "var", .tensor = try ctx.variance(a, 1, .{ .dims = &.{ 1, 0 } }), .ne = .{ 1, 1, 1, 1 }, .want = &.{3.5} },
        .{ .op = "scale", .tensor = try ctx.scale(column, 2, .{ .bias = 0.5 }), .ne = .{ 1, 2, 1, 1 }, .want = &.{ 2.5, 8.5 } },
        .{ .op = "scale", .tensor = try ctx.scale(column, 2, .{}), .ne = .{ 1, 2, 1, 1 }, .want = &.{ 2, 8 } },
        .{ .op = "glu", .tensor = try ctx.glu(reshaped, null, .reglu, .{}), .ne = .{ 1, 3, 1, 1 }, .want = &.{ 0, 6, 20 } },
        .{ .op = "glu", .tensor = try ctx.glu(row, row, .reglu, .{ .split = true }), .ne = .{ 3, 1, 1, 1 }, .want = &.{ 100, 400, 900 } },
        .{ .op = "where", .tensor = try ctx.where(row, a, a), .ne = .{ 3, 2, 1, 1 }, .want = &.{ 0, 1, 2, 3, 4, 5 } },
    }) |case| {
        errdefer std.debug.print("in {s}\n", .{case.op});
        try std.testing.expectEqualStrings(case.op, case.tensor.op());
        try expectEqual(case.ne, case.tensor.shape());
        try cpu.compute(&.{case.tensor});
        var got: [6]f32 = undefined;
        try case.tensor.readF32(got[0..case.want.len]);
        try expectEqualSlices(f32, case.want, got[0..case.want.len]);
    }
}

fn expectValues(cpu: tl.Backend, made: tl.Tensor, want: []const f32) !void {
    var got: [8]f32 = undefined;
    try (try made.eval(cpu)).readF32(got[0..want.len]);
    for (want, got[0..want.len]) |w, g| {
        // All NaNs are one; the sign of 0 counts.
        if (std.math.isNan(w) and std.math.isNan(g)) continue;
        try expectEqual(@as(u32, @bitCast(w)), @as(u32, @bitCast(g)));
    }
}

test "arithmetic of tensors broadcasts both sides" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics });
    defer ctx.deinit();
    const row = try ctx.tensorFrom(f32, &.{3}, &.{ 1, 2, 4 });
    const column = try ctx.tensorFrom(f32, &.{ 1, 2 }, &.{ 8, 16 });
    try expectValues(cpu, try row.add(column), &.{ 9, 10, 12, 17, 18, 20 });
    try expectValues(cpu, try row.sub(column), &.{ -7, -6, -4, -15, -14, -12 });
    try expectValues(cpu, try column.mul(row), &.{ 8, 16, 32, 16, 32, 64 });
    try expectValues(cpu, try column.div(row), &.{ 8, 4, 2, 16, 8, 4 });
    try expectValues(cpu, try row.neg(), &.{ -1, -2, -4 });
    try expectEqual([4]i64{ 3, 2, 1, 1 }, (try column.div(row)).shape());

    const four = try ctx.tensorFrom(f32, &.{4}, &.{ 1, 2, 3, 4 });
    const two = try ctx.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    try expectValues(cpu, try ctx.add(four, two), &.{ 2, 4, 4, 6 });
    for ([_]tl.Error!tl.Tensor{ four.add(two), four.sub(two), four.mul(two), four.div(two) }) |made| {
        try std.testing.expectError(error.ShapeMismatch, made);
        for ([_][]const u8{ "repeat 2 times", "\n  a  4\n  b  2\n     ^" }) |words|
            try expect(std.mem.indexOf(u8, diagnostics.message(), words) != null);
    }
    try std.testing.expectError(error.ShapeMismatch, row.add(four));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "do not broadcast") != null);

    // The node goes into the context that was made last.
    var young = try tl.Context.init(.{});
    defer young.deinit();
    const other = try young.tensorFrom(f32, &.{3}, &.{ 1, 2, 3 });
    try expectEqual(young.id(), (try row.add(other)).contextId());
    try expectEqual(young.id(), (try other.add(row)).contextId());
}

test "arithmetic takes numbers" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const x = [_]f32{ 1, -2.5, 0, @bitCast(@as(u32, 1) << 31), std.math.inf(f32), 3e38, 1e-45, 7 };
    const t = try ctx.tensorFrom(f32, &.{8}, &x);
    for ([_]f64{ 3, -0.1, 1e-3, 1e30, 0.5 }) |number| {
        const n: f32 = @floatCast(number);
        var want: [6][8]f32 = undefined;
        for (x, 0..) |v, i| {
            for (&want, [_]f32{ v + n, v - n, n - v, v * n, v / n, n / v }) |*w, value| w[i] = value;
        }
        try expectValues(cpu, try t.addNumber(number), &want[0]);
        try expectValues(cpu, try t.subNumber(number), &want[1]);
        try expectValues(cpu, try t.subFrom(number), &want[2]);
        try expectValues(cpu, try t.mulNumber(number), &want[3]);
        try expectValues(cpu, try t.divNumber(number), &want[4]);
        try expectValues(cpu, try t.divInto(number), &want[5]);
    }
    try expectValues(cpu, try t.mulNumber(std.math.nan(f64)), &([_]f32{std.math.nan(f32)} ** 8));
    const half = try ctx.cast(t, .f16);
    try expectEqual(tl.Type.f16, (try half.divInto(2)).dtype());
    const whole = try ctx.tensorFrom(i8, &.{1}, &.{1});
    try std.testing.expectError(error.TypeMismatch, whole.addNumber(1));
}

test "arithmetic of integers and doubles" {
    var cpu = try tl.Backend.init(.{});
    defer cpu.deinit();
    var diagnostics: tl.Diagnostics = .{};
    var owner = try tl.Context.init(.{});
    defer owner.deinit();
    const ctx = owner.withDiagnostics(&diagnostics);
    const a = try ctx.tensorFrom(i32, &.{4}, &.{ 7, -7, std.math.maxInt(i32), 0 });
    for ([_]tl.Tensor{ try a.addNumber(1), try a.subFrom(1), try a.divNumber(2) }, [_][4]i32{
        .{ 8, -6, std.math.minInt(i32), 1 },
        .{ -6, 8, 1 - std.math.maxInt(i32), 1 },
        .{ 3, -3, std.math.maxInt(i32) / 2, 0 },
    }) |made, want| {
        var got: [4]i32 = undefined;
        try (try made.eval(cpu)).read(i32, &got);
        try expectEqual(want, got);
    }
    try std.testing.expectError(error.InvalidArgument, a.mulNumber(0.5));
    try std.testing.expectError(error.InvalidArgument, (try a.divInto(7)).eval(cpu));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "element 3 of b is 0") != null);
    const d = try ctx.tensorFrom(f64, &.{2}, &.{ 0.1, 1 });
    var quotients: [2]f64 = undefined;
    try (try (try d.divInto(0.3)).eval(cpu)).read(f64, &quotients);
    try expectEqual([2]f64{ 0.3 / @as(f64, 0.1), 0.3 }, quotients);
}

test "operations by name are the same" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{ 3, 2 }, &.{ 0, 1, 2, 3, 4, 5 });
    const ids = try ctx.tensorFrom(i32, &.{2}, &.{ 0, 0 });
    const one = [_]?tl.Tensor{a};
    const Pair = struct { named: tl.Tensor, typed: tl.Tensor };
    for ([_]Pair{
        .{ .named = try ctx.op("add", &.{ a, a }, &.{}), .typed = try ctx.add(a, a) },
        .{ .named = try ctx.op("mul_mat", &.{ a, a }, &.{.ints("exact", &.{1})}), .typed = try ctx.mulMatExact(a, a) },
        .{
            .named = try ctx.op("mul_mat_id", &.{ a, a, ids }, &.{.ints("exact", &.{1})}),
            .typed = try ctx.mulMatId(a, a, ids),
        },
        .{
            .named = try ctx.op("view", &one, &.{ .ints("ne", &.{ 1, 2 }), .ints("nb", &.{12}), .ints("offset", &.{4}) }),
            .typed = try ctx.view(a, &.{ 1, 2 }, &.{12}, 4),
        },
        .{
            .named = try ctx.op("view", &one, &.{ .ints("ne", &.{2}), .number("offset", 8) }),
            .typed = try ctx.view(a, &.{2}, null, 8),
        },
        .{ .named = try ctx.op("reshape", &one, &.{.ints("ne", &.{ 2, 3 })}), .typed = try ctx.reshape(a, &.{ 2, 3 }) },
        .{ .named = try ctx.op("permute", &one, &.{.ints("axes", &.{ 1, 0, 2, 3 })}), .typed = try ctx.transpose(a) },
        .{ .named = try ctx.op("cast", &one, &.{.text("to", "BF16")}), .typed = try ctx.cast(a, .bf16) },
    }) |pair| {
        try cpu.compute(&.{ pair.named, pair.typed });
        try expectEqual(pair.typed.shape(), pair.named.shape());
        try expectEqual(pair.typed.dtype(), pair.named.dtype());
        var named: [6]f32 = undefined;
        var typed: [6]f32 = undefined;
        const n = pair.typed.nElements();
        try pair.named.readF32(named[0..n]);
        try pair.typed.readF32(typed[0..n]);
        try expectEqualSlices(f32, typed[0..n], named[0..n]);
    }
}

test "what the library has can be listed" {
    const known = [_][]const u8{ "add", "mul_mat", "mul_mat_id", "view", "reshape", "permute", "transpose", "cont", "dup", "cpy", "cast", "get_rows", "set_rows" };
    var found: usize = 0;
    for (0..tl.opCount()) |i| {
        for (known) |name| found += @intFromBool(std.mem.eql(u8, name, tl.opName(i).?));
    }
    try expectEqual(known.len, found);
    try expectEqual(null, tl.opName(tl.opCount()));
    try std.testing.expectEqualStrings("cpu", tl.deviceName(0).?);
    try expectEqual(null, tl.deviceName(tl.deviceCount()));
    const props = try tl.deviceProps(0, null);
    try expect(props.description().len > 0 and props.memoryTotal() >= props.memoryFree() and props.memoryFree() > 0);
    try expect(!props.simulated() and props.capability() == 0);
    try std.testing.expectEqualStrings("baseline", tl.isaName(tl.isaCount() - 1).?);
    try expectEqual(null, tl.isaName(tl.isaCount()));
    try expect(tl.version().len > 0 and tl.abiVersion() >= tl.c.TL_ABI_VERSION);
    var cpu = try tl.Backend.init(.{ .device = "CPU", .threads = 3, .allow_tf32 = true });
    defer cpu.deinit();
    try std.testing.expectEqualStrings("cpu", cpu.device());
    try expect(cpu.threads() == 3 and cpu.isa().len > 0);
}

test "types" {
    for (std.enums.values(tl.Type)) |t| {
        try expectEqual(t, try tl.Type.fromName(t.name(), null));
        const plain = t.kind() == .floating or t.kind() == .integer;
        try expect(plain == (t.blockSize() == 1) and t.size() >= 1 and t.size() <= 292);
    }
    try expectEqual(std.enums.values(tl.Type).len, tl.Type.count());
    try expectEqual(tl.Type.f16, tl.Type.at(1));
    try expectEqual(tl.Type.q8_K, tl.Type.q4_K.partner());
    try expectEqual(tl.Type.bf16, try tl.Type.fromName("Bf16", null));
    const none: tl.Type = @enumFromInt(99);
    try expect(none.blockSize() == 0 and none.size() == 0);
    try std.testing.expectEqualStrings("unknown type", none.name());
}

test "where gradients flow" {
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{3});
    const b = try ctx.tensor(.f32, &.{3});
    const y = try ctx.mul(a, try ctx.stopGradient(b));
    try expect(try y.gradientsReach(a));
    try expect(!try y.gradientsReach(b));
}
