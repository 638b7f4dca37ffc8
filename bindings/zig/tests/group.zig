//! Groups: each rank's results, ranks that differ, leave or do not come, splits and bad input.

const std = @import("std");
const tl = @import("tensorlib");
const testing = std.testing;

/// Calls f(group) for each of n ranks on a thread; its error, if any, is a rank's.
fn onRanks(comptime n: usize, options: tl.Group.Options, comptime f: fn (tl.Group) anyerror!void) ![n]?anyerror {
    var ranks: [n]tl.Group = undefined;
    try tl.Group.initLocal(&ranks, options);
    const Rank = struct {
        fn run(group: tl.Group, failure: *?anyerror) void {
            // The rank leaves the group when it is done.
            defer group.deinit();
            f(group) catch |err| {
                failure.* = err;
            };
        }
    };
    var failures: [n]?anyerror = @splat(null);
    var threads: [n]std.Thread = undefined;
    for (ranks, &failures, &threads) |group, *failure, *thread| thread.* = try std.Thread.spawn(.{}, Rank.run, .{ group, failure });
    for (threads) |thread| thread.join();
    return failures;
}

fn expectValues(backend: tl.Backend, outputs: []const tl.Tensor, want: []const f32) !void {
    try backend.compute(outputs);
    var got: [16]f32 = undefined;
    try outputs[outputs.len - 1].read(f32, got[0..want.len]);
    try testing.expectEqualSlices(f32, want, got[0..want.len]);
}

fn results(group: tl.Group) !void {
    var backend = try tl.Backend.init(.{ .threads = 1 });
    defer backend.deinit();
    var ctx = try tl.Context.init(.{ .backend = backend });
    defer ctx.deinit();
    const rank = group.rank();
    const n = group.size();
    const own: f32 = @floatFromInt(10 * rank);
    const a = try ctx.tensorFrom(f32, &.{2}, &.{ own, own + 1 });
    const last: f32 = @floatFromInt(10 * (n - 1));
    const ranks: f32 = @floatFromInt(n);
    const sum = ranks * last / 2;
    try expectValues(backend, &.{try ctx.allSum(a, group)}, &.{ sum, sum + ranks });
    try expectValues(backend, &.{try ctx.allMax(a, group)}, &.{ last, last + 1 });
    try expectValues(backend, &.{try ctx.broadcast(a, @intCast(n - 1), group)}, &.{ last, last + 1 });
    const all = try ctx.allGather(a, 1, group);
    var gathered: [8]f32 = undefined;
    var repeated: [8]f32 = undefined;
    for (0..n) |r| {
        const first: f32 = @floatFromInt(10 * r);
        gathered[2 * r ..][0..2].* = .{ first, first + 1 };
        repeated[2 * r ..][0..2].* = .{ own, own + 1 };
    }
    try expectValues(backend, &.{all}, gathered[0 .. 2 * n]);
    try expectValues(backend, &.{try ctx.allToAll(all, 1, group)}, repeated[0 .. 2 * n]);
    try expectValues(backend, &.{try ctx.sumScatter(all, 1, group)}, &.{ ranks * own, ranks * (own + 1) });
    try expectValues(backend, &.{try ctx.allSum(try ctx.copyToGroup(a, group), group)}, &.{ sum, sum + ranks });
    const before = (rank + n - 1) % n;
    const first: f32 = @floatFromInt(10 * before);
    const sent = try ctx.send(a, @intCast((rank + 1) % n), group);
    try expectValues(backend, &.{ sent, try ctx.receive(a, @intCast(before), group) }, &.{ first, first + 1 });
}

test "each rank gets its result" {
    inline for (1..5) |n| {
        for (try onRanks(n, .{}, results)) |failure| try testing.expectEqual(null, failure);
    }
}

fn sumOf(group: tl.Group, n: usize) !void {
    var backend = try tl.Backend.init(.{ .threads = 1 });
    defer backend.deinit();
    var ctx = try tl.Context.init(.{ .backend = backend });
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{@intCast(n)}, ([_]f32{ 1, 2, 3, 4 })[0..n]);
    try backend.compute(&.{try ctx.allSum(a, group)});
}

fn different(group: tl.Group) !void {
    try sumOf(group, 2 + group.rank());
}

fn leaves(group: tl.Group) !void {
    if (group.rank() != 0) try sumOf(group, 1);
}

test "ranks that differ, leave or do not come" {
    for (try onRanks(2, .{}, different)) |failure| try testing.expectEqual(error.Group, failure.?);
    const left = try onRanks(2, .{}, leaves);
    try testing.expectEqual(null, left[0]);
    try testing.expectEqual(error.Group, left[1].?);
    var ranks: [2]tl.Group = undefined;
    try tl.Group.initLocal(&ranks, .{ .timeout_ms = 50 });
    defer for (ranks) |group| group.deinit();
    try testing.expectError(error.Group, sumOf(ranks[0], 1));
}

fn splits(group: tl.Group) !void {
    const part = try group.split(if (group.rank() == 1) -1 else 4, -@as(i32, @intCast(group.rank())));
    if (group.rank() == 1) return testing.expectEqual(null, part);
    defer part.?.deinit();
    try testing.expectEqual(2, part.?.size());
    try testing.expectEqual(if (group.rank() == 0) @as(usize, 1) else 0, part.?.rank());
    try sumOf(part.?, 3);
}

test "shares are whole blocks" {
    var diagnostics: tl.Diagnostics = .{};
    for ([_]tl.Shard{ .{ .first = 0, .count = 512 }, .{ .first = 512, .count = 256 }, .{ .first = 768, .count = 232 } }, 0..) |shard, rank|
        try testing.expectEqual(shard, try tl.shardRange(1000, 256, @intCast(rank), 3, null));
    try testing.expectEqual(tl.Shard{ .first = 5, .count = 0 }, try tl.shardRange(5, 8, 1, 2, null));
    try testing.expectError(error.InvalidArgument, tl.shardRange(5, 8, 2, 2, &diagnostics));
    try testing.expect(std.mem.indexOf(u8, diagnostics.message(), "0 to 1") != null);
    try testing.expectError(error.InvalidArgument, tl.shardRange(-1, 8, 0, 2, null));
    try testing.expectError(error.InvalidArgument, tl.shardRange(5, 0, 0, 2, null));
    try testing.expectError(error.InvalidArgument, tl.shardRange(5, 8, 0, 0, null));
}

test "splits and bad input" {
    for (try onRanks(3, .{}, splits)) |failure| try testing.expectEqual(null, failure);
    var diagnostics: tl.Diagnostics = .{};
    for ([_][:0]const u8{ "", "selv", "local:0", "local:x" }) |name| {
        try testing.expectError(error.InvalidArgument, tl.Group.init(name, .{ .diagnostics = &diagnostics }));
        try testing.expect(std.mem.indexOf(u8, diagnostics.message(), "valid") != null);
    }
    try testing.expectError(error.InvalidArgument, tl.Group.initLocal(&.{}, .{}));
    try testing.expectError(error.InvalidArgument, tl.Group.init("self", .{ .timeout_ms = std.math.maxInt(u64) }));
    const own = try tl.Group.init("self", .{});
    defer own.deinit();
    var buffer: [32]u8 = undefined;
    try testing.expectEqualStrings("self: one rank", own.text(&buffer));
    try testing.expectEqualStrings("self", own.text(buffer[0..5]));
    var ctx = try tl.Context.init(.{ .diagnostics = &diagnostics });
    defer ctx.deinit();
    const a = try ctx.tensorFrom(f32, &.{1}, &.{1});
    try testing.expectError(error.InvalidArgument, ctx.broadcast(a, 1, own));
    try testing.expect(std.mem.indexOf(u8, diagnostics.message(), "0 to 0") != null);
}
