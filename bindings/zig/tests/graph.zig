//! Graphs: runs, callbacks, texts and threads.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;
const expectError = std.testing.expectError;

fn expectValues(want: []const f32, tensor: tl.Tensor) !void {
    const got = try tensor.readAlloc(f32, std.testing.allocator);
    defer std.testing.allocator.free(got);
    try expectEqualSlices(f32, want, got);
}

test "a graph is computed again for each new input" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
    defer ctx.deinit();
    const x = try ctx.tensor(.f32, &.{2});
    const inner = try ctx.add(x, x);
    const y = try ctx.add(inner, x);
    var graph = try ctx.graph(&.{y});
    defer graph.deinit();
    try expect(graph.nNodes() == 2 and graph.nLeafs() == 1);
    var got: [2]f32 = undefined;
    try expectError(error.InvalidArgument, y.read(f32, &got)); // nothing was computed yet
    for (0..3) |round| {
        const v: f32 = @floatFromInt(round);
        try x.write(f32, &.{ v, 10 });
        try graph.compute(cpu);
        try expectValues(&.{ 3 * v, 30 }, y);
    }
    try expectError(error.InvalidArgument, inner.read(f32, &got)); // computed, but not an output
}

test "a failed run writes its reason" {
    var diagnostics: tl.Diagnostics = .{};
    var cpu = try tl.Backend.init(.{});
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .no_alloc = true, .diagnostics = &diagnostics });
    defer ctx.deinit();
    const x = try ctx.tensor(.f32, &.{2});
    var graph = try ctx.graph(&.{try ctx.add(x, x)});
    defer graph.deinit();
    try expectError(error.InvalidArgument, graph.compute(cpu));
    try expect(diagnostics.message().len > 0);
    diagnostics = .{};
    try expectError(error.InvalidArgument, graph.planText(cpu, std.testing.allocator));
    try expect(diagnostics.message().len > 0);
}

test "texts" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const x = try ctx.tensor(.f32, &.{ 2, 2 });
    try x.setName("pixels");
    var graph = try ctx.graph(&.{try ctx.mulMat(x, x)});
    defer graph.deinit();
    const dot = try graph.dot(std.testing.allocator);
    defer std.testing.allocator.free(dot);
    try expect(std.mem.startsWith(u8, dot, "digraph") and std.mem.indexOf(u8, dot, "pixels") != null);
    const plan = try graph.planText(cpu, std.testing.allocator);
    defer std.testing.allocator.free(plan);
    try expect(std.mem.indexOf(u8, plan, "mul_mat") != null);
    try expect(std.mem.indexOfScalar(u8, plan, 0) == null);
}

const Watcher = struct {
    graph: tl.Graph,
    backend: tl.Backend,
    leaf: tl.Tensor,
    stop_at: usize = 99,
    seen: [8][2]usize = undefined,
    calls: usize = 0,
    busy: usize = 0,

    fn progress(self: *Watcher, done: usize, total: usize) bool {
        // A step that takes more than 10 ms is reported before it is done, too.
        if (done == 0 or (self.calls > 0 and self.seen[self.calls - 1][0] == done)) return true;
        self.seen[self.calls] = .{ done, total };
        self.calls += 1;
        if (self.graph.compute(self.backend)) |_| {} else |err| self.busy += @intFromBool(err == error.Busy);
        if (self.graph.clearProgress()) |_| {} else |err| self.busy += @intFromBool(err == error.Busy);
        if (self.leaf.write(f32, &.{ 1, 2 })) |_| {} else |err| self.busy += @intFromBool(err == error.Busy);
        return done < self.stop_at;
    }
};

test "a callback watches, is kept out, and stops" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const x = try ctx.tensorFrom(f32, &.{2}, &.{ 0, 1 });
    // Three steps: the copy is not fused with the sums around it.
    const twice = try ctx.add(x, x);
    const y = try ctx.add(try ctx.cont(twice), twice);
    var graph = try ctx.graph(&.{y});
    defer graph.deinit();
    var watcher: Watcher = .{ .graph = graph, .backend = cpu, .leaf = x };
    try graph.setProgress(&watcher, Watcher.progress);
    try graph.compute(cpu);
    try expectEqualSlices([2]usize, &.{ .{ 1, 3 }, .{ 2, 3 }, .{ 3, 3 } }, watcher.seen[0..watcher.calls]);
    try expectEqual(9, watcher.busy);
    try expectValues(&.{ 0, 4 }, y);

    watcher.calls = 0;
    watcher.stop_at = 2;
    try expectError(error.Aborted, graph.compute(cpu));
    try expectEqual(2, watcher.calls);
    var got: [2]f32 = undefined;
    try expectError(error.InvalidArgument, y.read(f32, &got));

    try graph.clearProgress();
    try graph.compute(cpu);
    try expectEqual(2, watcher.calls);
    try expectValues(&.{ 0, 4 }, y);
}

fn buildWrongly(ctx: tl.Context, square: tl.Tensor, width: i64, failures: *std.atomic.Value(usize)) void {
    tryBuilding(ctx, square, width) catch |err| {
        std.debug.print("a thread failed: {t}\n", .{err});
        _ = failures.fetchAdd(1, .monotonic);
    };
}

fn tryBuilding(shared: tl.Context, square: tl.Tensor, width: i64) !void {
    var diagnostics: tl.Diagnostics = .{};
    const ctx = shared.withDiagnostics(&diagnostics);
    var digits: [8]u8 = undefined;
    const mine = try std.fmt.bufPrint(&digits, "{}", .{width});
    const wide = try ctx.tensor(.f32, &.{width});
    for (0..300) |_| {
        if (@mod(width, 2) == 0) {
            try expectError(error.ShapeMismatch, ctx.mulMat(square, wide));
            try expect(std.mem.indexOf(u8, diagnostics.message(), mine) != null);
        } else {
            var graph = try ctx.graph(&.{try ctx.add(wide, wide)});
            graph.deinit();
        }
    }
}

test "threads that build in one context get their own errors" {
    var ctx = try tl.Context.init(.{}); // the default allocator is thread-safe
    defer ctx.deinit();
    const square = try ctx.tensor(.f32, &.{ 3, 3 });
    var failures: std.atomic.Value(usize) = .init(0);
    var threads: [6]std.Thread = undefined;
    for (&threads, 100..) |*thread, width|
        thread.* = try std.Thread.spawn(.{}, buildWrongly, .{ ctx, square, @as(i64, @intCast(width)), &failures });
    for (threads) |thread| thread.join();
    try expectEqual(0, failures.load(.monotonic));
}

test "a constant's packed copy is counted, and goes with its context" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    {
        var model = try tl.Context.init(.{});
        defer model.deinit();
        var token = try tl.Context.init(.{});
        defer token.deinit();
        const weights = try model.tensor(.q4_0, &.{ 64, 40 });
        try weights.setConstant();
        const y = try token.mulMat(weights, try token.tensor(.f32, &.{64}));
        try cpu.compute(&.{y});
        try expectEqual(!std.mem.eql(u8, cpu.isa(), "baseline"), cpu.packedMemory() != 0);
    }
    try expectEqual(@as(usize, 0), cpu.packedMemory());
}

test "a constant without its original reads as before" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const weights = try ctx.tensor(.q8_0, &.{ 64, 40 });
    var values: [64 * 40]f32 = undefined;
    for (&values, 0..) |*value, i| value.* = @as(f32, @floatFromInt(i % 31)) - 15;
    try weights.writeF32(&values);
    try weights.setConstant();
    var before: [34 * 2 * 40]u8 = undefined;
    try weights.readBytes(0, &before);
    const y = try ctx.mulMat(weights, try ctx.tensor(.f32, &.{64}));
    try cpu.compute(&.{y});
    if (std.mem.eql(u8, cpu.isa(), "baseline")) {
        try std.testing.expectError(error.Unsupported, weights.dropOriginal());
        return;
    }
    try weights.dropOriginal();
    try expectEqual(@as(usize, 0), cpu.packedMemory());
    var after: [before.len]u8 = undefined;
    try weights.readBytes(0, &after);
    try std.testing.expectEqualSlices(u8, &before, &after);
    try cpu.compute(&.{y});
}

test "nodes are computed again, by marks and within a bound" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const w = try ctx.tensor(.f32, &.{ 32, 32 });
    var y = try ctx.tensor(.f32, &.{ 32, 32 });
    for (0..12) |i| {
        const s = try ctx.mulMat(w, y);
        y = try ctx.tanh(s);
        try s.setRecompute(true);
        try y.setRecompute(i % 4 != 3);
    }
    const gradients = try ctx.gradients(&.{try ctx.sum(try ctx.sqr(y), .{})}, &.{}, &.{w});
    defer ctx.state.allocator.free(gradients);
    var graph = try tl.Graph.init(ctx, gradients);
    defer graph.deinit();
    const text = try graph.planText(cpu, std.testing.allocator);
    defer std.testing.allocator.free(text);
    try expect(std.mem.indexOf(u8, text, "18 nodes recomputed") != null);
    var within = try tl.Graph.initWithin(ctx, gradients, 10 * 32 * 32 * 4);
    defer within.deinit();
    try within.compute(cpu);
    try std.testing.expectError(error.OutOfMemory, tl.Graph.initWithin(ctx, gradients, 100));
    try std.testing.expectError(error.InvalidArgument, w.setRecompute(true));
}

test "a column has the bits that it has alone" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{ .allocator = std.testing.allocator });
    defer ctx.deinit();
    const a = try ctx.tensor(.f32, &.{ 64, 40 });
    const b = try ctx.tensor(.f32, &.{ 64, 5 });
    var values: [64 * 40]f32 = undefined;
    for (0.., &values) |i, *value| value.* = @as(f32, @floatFromInt(i * 7919 % 1013)) / 500 - 1;
    try a.write(f32, &values);
    try b.write(f32, values[0 .. 64 * 5]);
    const weights = try ctx.cast(a, .q8_0);
    const all = try ctx.mulMat(weights, b);
    const one = try ctx.mulMat(weights, try ctx.narrow(b, 1, 3, 1));
    var graph = try ctx.graph(&.{ all, one });
    defer graph.deinit();
    try graph.setBatchInvariant(true);
    try graph.compute(cpu);
    var got: [40]f32 = undefined;
    try one.read(f32, &got);
    const of_all = try all.readAlloc(f32, std.testing.allocator);
    defer std.testing.allocator.free(of_all);
    try expectEqualSlices(f32, &got, of_all[3 * 40 .. 4 * 40]);
}

test "the first result that is not finite is named" {
    var cpu = try tl.Backend.init(.{ .threads = 2 });
    defer cpu.deinit();
    var ctx = try tl.Context.init(.{});
    defer ctx.deinit();
    const x = try ctx.tensor(.f32, &.{2});
    try x.writeF32(&.{ 1, -1 });
    const y = try ctx.sqr(try ctx.log(x));
    var graph = try tl.Graph.init(ctx, &.{y});
    defer graph.deinit();
    try graph.setCheckFinite(true);
    try std.testing.expectError(error.InvalidArgument, graph.compute(cpu));
    try graph.setCheckFinite(false);
    try graph.compute(cpu);
}
