//! Runs the cases that all languages share: `cases FOLDER`.
//!
//! Environment: TENSORLIB_DEVICE (default cpu), TENSORLIB_ISA (read by the engine; it is an error here if the
//! backend does not run with that instruction set), TENSORLIB_TEST_THREADS (default 2).

const std = @import("std");
const tl = @import("tensorlib");
const case_file = @import("case_file.zig");
const case_ops = @import("gen/case_ops.zig");
const Case = case_file.Case;

const Counts = struct { passed: usize = 0, failed: usize = 0, skipped: usize = 0 };

pub fn main(init: std.process.Init) !u8 {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    if (args.len != 2) std.process.fatal("usage: cases FOLDER", .{});

    var diagnostics: tl.Diagnostics = .{};
    const device = init.environ_map.get("TENSORLIB_DEVICE") orelse "cpu";
    const threads = init.environ_map.get("TENSORLIB_TEST_THREADS") orelse "2";
    // A joined device such as "cuda:0+cpu" places leafs on each of its devices in turn.
    var parts: std.ArrayList(tl.Backend) = .empty;
    defer for (parts.items) |*part| part.deinit();
    var names_of = std.mem.splitScalar(u8, device, '+');
    while (names_of.next()) |name| {
        const part = tl.Backend.init(.{
            .device = try arena.dupeZ(u8, name),
            .threads = std.fmt.parseInt(i32, threads, 10) catch std.process.fatal("TENSORLIB_TEST_THREADS={s}", .{threads}),
            .diagnostics = &diagnostics,
        }) catch std.process.fatal("{s}: {s}", .{ name, diagnostics.message() });
        try parts.append(arena, part);
    }
    var joined: ?tl.Backend = if (parts.items.len > 1) try tl.Backend.join(parts.items) else null;
    defer if (joined) |*all| all.deinit();
    const backend = joined orelse parts.items[0];
    const isa = parts.items[0].isa();
    if (init.environ_map.get("TENSORLIB_ISA")) |asked| if (asked.len > 0 and !std.ascii.eqlIgnoreCase(asked, isa))
        std.process.fatal("TENSORLIB_ISA is {s}, the backend runs {s}", .{ asked, isa });

    var buffer: [4096]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    const out = &stdout.interface;
    var counts: Counts = .{};
    var names: std.StringHashMapUnmanaged(void) = .empty;
    for (try caseFiles(init.io, arena, args[1])) |path| {
        const text = try std.Io.Dir.cwd().readFileAlloc(init.io, path, arena, .unlimited);
        var position: case_file.Position = .{};
        const cases = case_file.parse(arena, text, &position) catch |err|
            std.process.fatal("{s}:{}: {t}", .{ path, position.line, err });
        for (cases) |*case| {
            if ((try names.getOrPut(arena, case.name)).found_existing)
                std.process.fatal("{s}: two cases of that name", .{case.name});
            try judge(init.gpa, case, backend, parts.items, &counts, out);
        }
    }
    if (counts.passed + counts.failed == 0) std.process.fatal("no case ran: are there *.cases in {s}?", .{args[1]});
    try out.print("cases zig {s} {s}: {} passed, {} failed, {} skipped\n", .{
        backend.device(), isa, counts.passed, counts.failed, counts.skipped,
    });
    try out.flush();
    return @intFromBool(counts.failed > 0);
}

fn caseFiles(io: std.Io, arena: std.mem.Allocator, folder: []const u8) ![]const []const u8 {
    var paths: std.ArrayList([]const u8) = .empty;
    var dir = std.Io.Dir.cwd().openDir(io, folder, .{ .iterate = true }) catch |err|
        std.process.fatal("{s}: {t}", .{ folder, err });
    defer dir.close(io);
    var entries = dir.iterate();
    while (try entries.next(io)) |entry| {
        if (!std.mem.endsWith(u8, entry.name, ".cases")) continue;
        try paths.append(arena, try std.fs.path.join(arena, &.{ folder, entry.name }));
    }
    std.mem.sort([]const u8, paths.items, {}, struct {
        fn less(_: void, a: []const u8, b: []const u8) bool {
            return std.mem.lessThan(u8, a, b);
        }
    }.less);
    return paths.items;
}

/// Runs a case and counts it; prints a failure with its reason.
fn judge(
    gpa: std.mem.Allocator,
    case: *const Case,
    backend: tl.Backend,
    parts: []const tl.Backend,
    counts: *Counts,
    out: *std.Io.Writer,
) !void {
    var arena: std.heap.ArenaAllocator = .init(gpa);
    defer arena.deinit();
    var run: Run = .{ .arena = arena.allocator(), .case = case, .backend = backend, .parts = parts };
    if (run.run()) |_| {
        counts.passed += 1;
        return;
    } else |err| {
        // A device may lack kernels; the CPU has all of them.
        if (err == error.Unsupported and !std.mem.eql(u8, backend.device(), "cpu")) {
            counts.skipped += 1;
            try out.print("SKIP {s}: {s}\n", .{ case.name, run.diagnostics.message() });
            return;
        }
        counts.failed += 1;
        if (err == error.Mismatch)
            try out.print("FAIL {s}: {s}\n", .{ case.name, run.why })
        else
            try out.print("FAIL {s}: {t}: {s}\n", .{ case.name, err, run.diagnostics.message() });
    }
}

const Run = struct {
    arena: std.mem.Allocator,
    case: *const Case,
    backend: tl.Backend,
    /// The backends that were joined, or the backend itself: nodes are in the first one's context, leafs in each
    /// one's in turn.
    parts: []const tl.Backend,
    diagnostics: tl.Diagnostics = .{},
    tensors: std.StringHashMapUnmanaged(tl.Tensor) = .empty,
    why: []const u8 = "",

    fn run(self: *Run) !void {
        var contexts: std.ArrayList(tl.Context) = .empty;
        defer for (contexts.items) |*ctx| ctx.deinit();
        for (self.parts) |part|
            try contexts.append(self.arena, try tl.Context.init(.{ .backend = part, .diagnostics = &self.diagnostics }));
        var n_leafs: usize = 0;
        const steps = self.case.steps.items;
        for (steps, 0..) |step, i| {
            const of = if (step.what == .op) 0 else n_leafs % contexts.items.len;
            if (step.what != .op) n_leafs += 1;
            const made = self.make(contexts.items[of], step);
            if (self.case.code != null and self.case.fails == null and i == steps.len - 1) return self.checkError(made);
            try self.tensors.put(self.arena, step.id, try made);
        }
        const fails = self.case.fails orelse return self.checkOutputs();
        const target = self.tensors.get(fails) orelse return self.mismatch("there is no {s}", .{fails});
        return self.checkError(self.backend.compute(&.{target}));
    }

    fn make(self: *Run, ctx: tl.Context, step: case_file.Step) !tl.Tensor {
        switch (step.what) {
            .leaf => |leaf| {
                const dtype = try tl.Type.fromName(try self.arena.dupeZ(u8, leaf.dtype), &self.diagnostics);
                const tensor = try ctx.tensor(dtype, &leaf.ne);
                const data = try self.arena.alloc(f32, tensor.nElements());
                try leaf.fill(data);
                try tensor.writeF32(data);
                return tensor;
            },
            .blocks => |blocks| {
                const dtype = try tl.Type.fromName(try self.arena.dupeZ(u8, blocks.dtype), &self.diagnostics);
                const tensor = try ctx.tensor(dtype, &blocks.ne);
                try tensor.writeBytes(0, blocks.bytes.items);
                return tensor;
            },
            .op => |op| return self.makeOp(ctx, op),
        }
    }

    /// Makes an operation by its own method.
    fn makeOp(self: *Run, ctx: tl.Context, op: case_file.Op) !tl.Tensor {
        const src = try self.arena.alloc(?tl.Tensor, op.src.len);
        for (op.src, src) |id, *to| {
            to.* = self.tensors.get(id);
            if (to.* == null and !std.mem.eql(u8, id, "none")) return self.mismatch("there is no {s}", .{id});
        }
        if (try case_ops.make(ctx, op, src)) |made| return made;
        const ne = try op.ints(self.arena, "ne");
        const Name = enum { mul_mat, mul_mat_exact, mul_mat_id, gradient, view, reshape, permute, cast, index, cat, stack, einsum };
        const name = std.meta.stringToEnum(Name, op.name) orelse
            return self.mismatch("this runner does not know {s}", .{op.name});
        const n_src: usize = switch (name) {
            .mul_mat_id, .gradient => 3,
            .mul_mat, .mul_mat_exact => 2,
            .cat, .stack, .einsum => src.len,
            else => 1,
        };
        if (src.len != n_src) return self.mismatch("{s} has {} operands", .{ op.name, src.len });
        switch (name) {
            .mul_mat => return ctx.mulMat(src[0].?, src[1].?),
            .mul_mat_exact => return ctx.mulMatExact(src[0].?, src[1].?),
            .mul_mat_id => return ctx.mulMatId(src[0].?, src[1].?, src[2].?),
            .gradient => {
                const made = try ctx.gradients(&.{src[0].?}, &.{src[1]}, &.{src[2].?});
                defer ctx.state.allocator.free(made);
                return made[0];
            },
            .view => {
                var nb: ?[]const usize = null;
                if (op.attrs.contains("nb")) {
                    const given = try op.ints(self.arena, "nb");
                    const strides = try self.arena.alloc(usize, given.len);
                    for (strides, given) |*to, from| to.* = @intCast(from);
                    nb = strides;
                }
                return ctx.view(src[0].?, ne, nb, @intCast(try op.integer("offset")));
            },
            .index => return ctx.index(src[0].?, try self.indicesOf(op)),
            .cat, .stack, .einsum => {
                const tensors = try self.arena.alloc(tl.Tensor, src.len);
                for (tensors, src) |*to, from| to.* = from.?;
                return switch (name) {
                    .cat => ctx.cat(tensors, try op.integer("dim")),
                    .stack => ctx.stack(tensors, try op.integer("dim")),
                    else => ctx.einsum(try self.arena.dupeZ(u8, op.text("equation")), tensors),
                };
            },
            .reshape => return ctx.reshape(src[0].?, ne),
            .permute => {
                var axes: [4]i32 = undefined;
                for (&axes, try op.list(4, "axes")) |*to, from| to.* = @intCast(from);
                return ctx.permute(src[0].?, axes);
            },
            .cast => return ctx.cast(src[0].?, try tl.Type.fromName(op.text("to"), &self.diagnostics)),
        }
    }

    fn indicesOf(self: *Run, op: case_file.Op) ![]const tl.Index {
        const begin = try op.ints(self.arena, "begin");
        const end = try op.ints(self.arena, "end");
        const dropped = try op.ints(self.arena, "dropped");
        const indices = try self.arena.alloc(tl.Index, begin.len);
        for (indices, begin, end, 0..) |*to, first, last, d| {
            to.* = .{ .range = .{ first, last } };
            for (dropped) |other| if (other == d) {
                to.* = .{ .at = first };
            };
        }
        return indices;
    }

    fn checkError(self: *Run, made: anytype) !void {
        const code = self.case.code.?;
        if (made) |_| {
            return self.mismatch("got no error, want {s}", .{code});
        } else |err| {
            if (err == error.Mismatch) return err;
        }
        const name = std.mem.span(tl.c.tl_status_name(self.diagnostics.code()).?);
        const message = self.diagnostics.message();
        if (!std.mem.eql(u8, name["TL_STATUS_".len..], code))
            return self.mismatch("got {s} ({s}), want {s}", .{ name, message, code });
        for (self.case.words.items) |word| if (std.mem.indexOf(u8, message, word) == null)
            return self.mismatch("message \"{s}\" lacks \"{s}\"", .{ message, word });
    }

    fn checkOutputs(self: *Run) !void {
        const outs = self.case.outs.items;
        if (outs.len == 0) return self.mismatch("the case expects nothing", .{});
        const tensors = try self.arena.alloc(tl.Tensor, outs.len);
        for (tensors, outs) |*tensor, out| {
            tensor.* = self.tensors.get(out.id) orelse return self.mismatch("there is no {s}", .{out.id});
            if (!std.mem.eql(u8, tensor.dtype().name(), out.dtype) or !std.mem.eql(i64, &tensor.shape(), &out.ne))
                return self.mismatch("{s} is {f}, want {s} {any}", .{ out.id, tensor.*, out.dtype, out.ne });
        }
        if (self.case.cpu_only and std.mem.indexOf(u8, self.backend.device(), "cpu") == null) {
            self.backend.compute(tensors) catch |err| return if (err == error.Unsupported) {} else err;
            return self.mismatch("computed, though it is for the CPU alone", .{});
        }
        try self.backend.compute(tensors);
        for (tensors, outs) |tensor, out| {
            const got = try self.arena.alloc(f32, tensor.nElements());
            try tensor.readF32(got);
            if (out.at.items.len == 0 and got.len > 0) return self.mismatch("no values are expected of {s}", .{out.id});
            for (out.at.items) |at| {
                const index, const want = at;
                if (index >= got.len) return self.mismatch("an at line reaches element {} of {}", .{ index, got.len });
                if (!close(got[index], want, out)) return self.mismatch("{s}[{}] is {d}, want {d} (tol {} {})", .{
                    out.id, index, got[index], want, out.abs, out.rel,
                });
            }
        }
    }

    fn mismatch(self: *Run, comptime fmt: []const u8, args: anytype) error{ OutOfMemory, Mismatch } {
        self.why = try std.fmt.allocPrint(self.arena, fmt, args);
        return error.Mismatch;
    }
};

fn close(got: f64, want: f64, out: case_file.Expected) bool {
    if (std.math.isNan(want) or std.math.isNan(got)) return std.math.isNan(want) and std.math.isNan(got);
    if (got == want) return true;
    return std.math.isFinite(got) and std.math.isFinite(want) and @abs(got - want) <= out.abs + out.rel * @abs(want);
}
