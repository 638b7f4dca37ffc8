//! Introspection of contexts, tensors and graphs; observers; busy timeouts; long messages.

const std = @import("std");
const tl = @import("tensorlib");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;
const expectError = std.testing.expectError;
const allocator = std.testing.allocator;

fn expectOps(want: []const []const u8, tensors: []const tl.Tensor) !void {
    try expectEqual(want.len, tensors.len);
    for (want, tensors) |op, t| try expectEqualStrings(op, t.op());
}

test "tensors are listed, found and followed" {
    var weights = try tl.Context.init(.{});
    defer weights.deinit();
    var request = try tl.Context.init(.{});
    defer request.deinit();
    const none = try request.listTensors(allocator);
    defer allocator.free(none);
    try expectEqual(0, none.len);
    const w = try weights.tensorFrom(f32, &.{2}, &.{ 1, 2 });
    const x = try request.tensorFrom(f32, &.{2}, &.{ 3, 4 });
    const y = try request.add(w, x);
    const all = try request.listTensors(allocator);
    defer allocator.free(all);
    try expectOps(&.{ "leaf", "add" }, all);
    try expect(request.find("y") == null and request.find("") == null);
    try y.setName("y");
    try expectEqual(y.handle, request.find("y").?.handle);
    const sources = try y.sources(allocator);
    defer allocator.free(sources);
    try expectEqual(2, sources.len);
    try expectEqual(w.handle, sources[0].?.handle);
    try expectEqual(weights.id(), sources[0].?.contextId());
    try expectEqual(request.id(), y.contextId());
    try expect(request.id() > weights.id());
    const of_leaf = try w.sources(allocator);
    defer allocator.free(of_leaf);
    try expectEqual(0, of_leaf.len);

    var graph = try request.graph(&.{y});
    defer graph.deinit();
    const nodes = try graph.listNodes(allocator);
    defer allocator.free(nodes);
    try expectOps(&.{"add"}, nodes);
    const leafs = try graph.listLeafs(allocator);
    defer allocator.free(leafs);
    try expectEqual(2, leafs.len);
    const outputs = try graph.listOutputs(allocator);
    defer allocator.free(outputs);
    try expectEqual(y.handle, outputs[0].handle);
    try expectError(error.OutOfMemory, graph.listNodes(std.testing.failing_allocator));
}

const Seen = struct {
    calls: usize = 0,
    values: [2]f32 = undefined,
    stop_at: usize = 0,
    other: tl.Tensor,

    fn observe(self: *Seen, node: tl.Tensor, done: usize, total: usize) bool {
        self.calls += 1;
        std.debug.assert(done >= 1 and done <= total);
        node.read(f32, &self.values) catch return false;
        var got: [2]f32 = undefined;
        std.debug.assert(self.other.read(f32, &got) == error.Busy);
        return self.calls != self.stop_at;
    }
};

test "an observer is shown each result" {
    var cpu = try tl.Backend.init(.{ .threads = 1 });
    defer cpu.deinit();
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics });
    defer ctx.deinit();
    const x = try ctx.tensorFrom(f32, &.{2}, &.{ 1, 3 });
    var graph = try ctx.graph(&.{try ctx.sqr(try ctx.sqr(x))});
    defer graph.deinit();
    var seen: Seen = .{ .other = x.withDiagnostics(null) };
    try graph.setObserver(&seen, Seen.observe);
    try graph.compute(cpu);
    try expectEqual(2, seen.calls);
    try expectEqual(81, seen.values[1]);
    seen.stop_at = 3;
    try expectError(error.Aborted, graph.compute(cpu));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "observer after 1 of 2 nodes") != null);
    try expectEqual(9, seen.values[1]);
    try graph.clearObserver();
    try graph.compute(cpu);
    try expectEqual(3, seen.calls);
}

test "calls wait as long as their context says" {
    var diagnostics: tl.Diagnostics = .{};
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics });
    defer ctx.deinit();
    try expectEqual(0, ctx.busyTimeout());
    const x = try ctx.tensorFrom(f32, &.{2}, &.{ 1, 3 });
    var mapping = try x.map(.read);
    try ctx.setBusyTimeout(2 * std.time.ns_per_ms);
    try expectEqual(2 * std.time.ns_per_ms, ctx.busyTimeout());
    try expectError(error.Busy, x.write(f32, &.{ 5, 6 }));
    try expect(std.mem.indexOf(u8, diagnostics.message(), "for longer than the busy timeout of 2 ms") != null);
    try ctx.setBusyTimeout(60 * std.time.ns_per_s);
    const quiet = x.withDiagnostics(null);
    const thread = try std.Thread.spawn(.{}, struct {
        fn write(t: tl.Tensor) void {
            t.write(f32, &.{ 5, 6 }) catch unreachable;
        }
    }.write, .{quiet});
    mapping.deinit();
    thread.join();
    var got: [2]f32 = undefined;
    try x.read(f32, &got);
    try expectEqual(6, got[1]);
}

test "long messages are whole" {
    var diagnostics: tl.Diagnostics = .{};
    const path = "/" ++ "x" ** 900 ++ "/no such file";
    try expectError(error.Io, tl.Gguf.open(path, &diagnostics));
    try expect(diagnostics.message().len <= 255);
    const text = try diagnostics.text(allocator);
    defer allocator.free(text);
    try expect(std.mem.indexOf(u8, text, path) != null);
}
