//! Reads handwritten digits by their nearest neighbour: the first 1000 rows of the file are references, the
//! others are asked for.
//!
//! All squared distances come from one graph, by |x - y|² = |x|² + |y|² - 2 x·y: a product of matrices with
//! the factor -2 in one of them, and two additions that repeat the norms along the rows and the columns. The
//! pixels are small integers, so that every distance is exact.

const std = @import("std");
const tl = @import("tensorlib");
const images = @import("images.zig");
const Images = images.Images;

const Options = struct {
    device: [:0]const u8 = "cpu",
    threads: i32 = 0,
    file: []const u8 = "../../data/digits.csv",
};

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const options = parseOptions(try init.minimal.args.toSlice(arena));

    var line: usize = 0;
    const text = std.Io.Dir.cwd().readFileAlloc(init.io, options.file, arena, .limited(1 << 28)) catch |err|
        std.process.fatal("digits: {s}: {t}", .{ options.file, err });
    const data = images.parse(arena, text, &line) catch |err|
        std.process.fatal("digits: {s}, line {}: {s}", .{ options.file, line, images.explain(err) });

    var diagnostics: tl.Diagnostics = .{};
    const right = countRight(arena, options, data, &diagnostics) catch |err|
        std.process.fatal("digits: {t}: {s}", .{ err, diagnostics.message() });

    var buffer: [128]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    const n = data.asked.digits.len;
    const percent = 100 * @as(f64, @floatFromInt(right)) / @as(f64, @floatFromInt(n));
    try stdout.interface.print("accuracy {d:.2} % ({} of {})\n", .{ percent, right, n });
    try stdout.interface.flush();
}

fn parseOptions(args: []const [:0]const u8) Options {
    var options: Options = .{};
    var i: usize = 1;
    while (i < args.len) : (i += 2) {
        const value = if (i + 1 < args.len) args[i + 1] else std.process.fatal("{s} needs a value", .{args[i]});
        if (std.mem.eql(u8, args[i], "--device")) {
            options.device = value;
        } else if (std.mem.eql(u8, args[i], "--threads")) {
            options.threads = std.fmt.parseInt(i32, value, 10) catch
                std.process.fatal("--threads {s}: not a number", .{value});
        } else if (std.mem.eql(u8, args[i], "--file")) {
            options.file = value;
        } else std.process.fatal("unknown option {s}: --device, --threads, --file", .{args[i]});
    }
    return options;
}

/// How many digits the nearest neighbours get right.
fn countRight(gpa: std.mem.Allocator, options: Options, data: images.Split, diagnostics: *tl.Diagnostics) !usize {
    var backend = try tl.Backend.init(.{
        .device = options.device,
        .threads = options.threads,
        .diagnostics = diagnostics,
    });
    defer backend.deinit();
    const distances = try squaredDistances(gpa, backend, data, diagnostics);
    defer gpa.free(distances);
    const n = data.known.digits.len;
    var right: usize = 0;
    for (data.asked.digits, 0..) |digit, i| {
        const nearest = std.mem.indexOfMin(f32, distances[i * n ..][0..n]);
        right += @intFromBool(data.known.digits[nearest] == digit);
    }
    return right;
}

/// A row per image asked for: its distance from each reference. The caller frees it.
fn squaredDistances(gpa: std.mem.Allocator, backend: tl.Backend, data: images.Split, diagnostics: *tl.Diagnostics) ![]f32 {
    var ctx = try tl.Context.init(.{ .backend = backend, .diagnostics = diagnostics });
    defer ctx.deinit();
    const n: i64 = @intCast(data.known.digits.len);
    const m: i64 = @intCast(data.asked.digits.len);
    const scaled = try gpa.dupe(f32, data.known.pixels);
    defer gpa.free(scaled);
    for (scaled) |*v| v.* *= -2;
    const known_norms = try data.known.norms(gpa);
    defer gpa.free(known_norms);
    const asked_norms = try data.asked.norms(gpa);
    defer gpa.free(asked_norms);

    const x = try ctx.tensorFrom(f32, &.{ images.pixels, n }, scaled);
    const y = try ctx.tensorFrom(f32, &.{ images.pixels, m }, data.asked.pixels);
    const xx = try ctx.tensorFrom(f32, &.{ n, 1 }, known_norms);
    const yy = try ctx.tensorFrom(f32, &.{ 1, m }, asked_norms);
    const product = try ctx.mulMat(x, y); // {n, m}
    const distances = try ctx.add(try ctx.add(product, xx), yy);
    try backend.compute(&.{distances});
    return distances.readAlloc(f32, gpa);
}

test "the known answer, and each distance against the plain sum of squares" {
    const gpa = std.testing.allocator;
    var arena: std.heap.ArenaAllocator = .init(gpa);
    defer arena.deinit();
    var line: usize = 0;
    const text = try std.Io.Dir.cwd().readFileAlloc(std.testing.io, "../../data/digits.csv", arena.allocator(), .unlimited);
    const data = try images.parse(arena.allocator(), text, &line);
    try std.testing.expectEqual(797, data.asked.digits.len);

    var diagnostics: tl.Diagnostics = .{};
    try std.testing.expectEqual(767, try countRight(gpa, .{}, data, &diagnostics));
    var backend = try tl.Backend.init(.{ .threads = 2 });
    defer backend.deinit();
    const distances = try squaredDistances(gpa, backend, data, &diagnostics);
    defer gpa.free(distances);
    for (distances, 0..) |got, k| {
        const i = k / data.known.digits.len;
        const j = k % data.known.digits.len;
        var want: f32 = 0;
        for (data.asked.image(i), data.known.image(j)) |a, b| want += (a - b) * (a - b);
        try std.testing.expectEqual(want, got);
    }
    try std.testing.expectError(error.InvalidArgument, countRight(gpa, .{ .device = "abacus" }, data, &diagnostics));
}

test {
    _ = images;
}
