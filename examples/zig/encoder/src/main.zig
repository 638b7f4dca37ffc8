//! A text encoder of the BERT family: prints the vector of a text, given as tokens.
//!
//!     zig build run -- MODEL.gguf TOKEN...
//!
//! MODEL.gguf has the architecture bert. The vector is the mean of the tokens' vectors in the last layer, whatever
//! pooling the file names, divided by its length. It is printed one element a line, with six digits after the point.
//! TENSORLIB_DEVICE names the device; the CPU is the default.

const std = @import("std");
const tl = @import("tensorlib");

/// What this program refuses has been said by `refuse`, what the library refuses is in its diagnostics.
const Error = tl.Error || error{Refused};

fn refuse(comptime fmt: []const u8, args: anytype) error{Refused} {
    std.debug.print("encoder: " ++ fmt ++ "\n", args);
    return error.Refused;
}

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    if (args.len < 3) {
        std.debug.print("usage: encoder MODEL.gguf TOKEN...\n", .{});
        std.process.exit(2);
    }
    const device = init.environ_map.get("TENSORLIB_DEVICE") orelse "";
    const name = try arena.dupeZ(u8, if (device.len > 0) device else "cpu");
    var diagnostics: tl.Diagnostics = .{};
    const vector = run(arena, name, args[1], args[2..], &diagnostics) catch |err| {
        if (err != error.Refused) std.debug.print("encoder: {t}: {s}\n", .{ err, diagnostics.message() });
        std.process.exit(1);
    };
    var buffer: [1024]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    for (vector) |value| try stdout.interface.print("{d:.6}\n", .{value});
    try stdout.interface.flush();
}

/// The vector of the tokens that `texts` are numbers of, in the arena's memory.
fn run(
    arena: std.mem.Allocator,
    device: [:0]const u8,
    path: [:0]const u8,
    texts: []const [:0]const u8,
    diagnostics: *tl.Diagnostics,
) Error![]f32 {
    var backend = try tl.Backend.init(.{ .device = device, .diagnostics = diagnostics });
    defer backend.deinit();
    var encoder = try Encoder.init(path, backend, diagnostics);
    defer encoder.deinit();
    const tokens = try arena.alloc(i32, texts.len);
    for (tokens, texts) |*token, text| {
        token.* = std.fmt.parseInt(i32, text, 10) catch -1;
        if (token.* < 0 or token.* >= encoder.vocabulary())
            return refuse("token {s}: 0 to {} are valid", .{ text, encoder.vocabulary() - 1 });
    }
    const vector = try encoder.forward(tokens);
    try backend.compute(&.{vector});
    return vector.readAlloc(f32, arena);
}

const Encoder = struct {
    file: tl.Gguf,
    /// The weights and the nodes.
    ctx: tl.Context,
    /// {width, vocabulary}
    embeddings: tl.Tensor,
    width: i64,
    layers: i64,
    heads: i64,
    eps: f64,

    fn init(path: [:0]const u8, backend: tl.Backend, diagnostics: *tl.Diagnostics) Error!Encoder {
        var file = try tl.Gguf.open(path, diagnostics);
        errdefer file.deinit();
        const architecture = try file.get([]const u8, "general.architecture");
        if (!std.mem.eql(u8, architecture, "bert"))
            return refuse("the architecture is '{s}': bert is valid", .{architecture});
        const layers = try count(file, "bert.block_count");
        const heads = try count(file, "bert.attention.head_count");
        const eps = try file.get(f64, "bert.attention.layer_norm_epsilon");
        var ctx = try tl.Context.init(.{ .backend = backend, .diagnostics = diagnostics });
        errdefer ctx.deinit();
        const embeddings = try ctx.ggufTensor(file, "token_embd.weight");
        const width = embeddings.shape()[0];
        if (@rem(width, heads) != 0) return refuse("{} heads do not divide the width, {}", .{ heads, width });
        return .{
            .file = file,
            .ctx = ctx,
            .embeddings = embeddings,
            .width = width,
            .layers = layers,
            .heads = heads,
            .eps = eps,
        };
    }

    fn deinit(self: *Encoder) void {
        self.ctx.deinit();
        self.file.deinit();
    }

    fn vocabulary(self: Encoder) i64 {
        return self.embeddings.shape()[1];
    }

    /// The node of the vector of these tokens, each below `vocabulary`.
    fn forward(self: Encoder, tokens: []const i32) Error!tl.Tensor {
        const ctx = self.ctx;
        const n: i64 = @intCast(tokens.len);
        const ids = try ctx.tensorFrom(i32, &.{n}, tokens);
        const positions = try ctx.narrow(try self.weight("position_embd.weight", .{}), 1, 0, n);
        const first = try ctx.narrow(try self.weight("token_types.weight", .{}), 1, 0, 1); // all are of the first type
        const words = try ctx.getRows(self.embeddings, ids);
        var x = try self.norm("token_embd_norm", .{}, try ctx.add(try ctx.add(words, positions), first));
        var number: i64 = 0;
        while (number < self.layers) : (number += 1) x = try self.layer(number, x);
        return ctx.l2Norm(try ctx.mean(x, .{ .dims = &.{1} }), 1e-12); // of the tokens' mean
    }

    fn layer(self: Encoder, number: i64, x: tl.Tensor) Error!tl.Tensor {
        const ctx = self.ctx;
        const q = try self.splitHeads(try self.linear("blk.{}.attn_q", .{number}, x));
        const k = try self.splitHeads(try self.linear("blk.{}.attn_k", .{number}, x));
        const v = try self.splitHeads(try self.linear("blk.{}.attn_v", .{number}, x));
        const attended = try ctx.flashAttnExt(q, k, v, null, null, .{}); // {width / heads, heads, tokens}
        const joined = try ctx.reshape(attended, &.{ self.width, -1 });
        const output = try self.linear("blk.{}.attn_output", .{number}, joined);
        const y = try self.norm("blk.{}.attn_output_norm", .{number}, try ctx.add(output, x));
        const inner = try ctx.geluErf(try self.linear("blk.{}.ffn_up", .{number}, y));
        const down = try self.linear("blk.{}.ffn_down", .{number}, inner);
        return self.norm("blk.{}.layer_output_norm", .{number}, try ctx.add(down, y));
    }

    /// {width, tokens} as {width / heads, tokens, heads}.
    fn splitHeads(self: Encoder, x: tl.Tensor) Error!tl.Tensor {
        const parts = try self.ctx.reshape(x, &.{ @divExact(self.width, self.heads), self.heads, -1 });
        return self.ctx.permute(parts, .{ 0, 2, 1, 3 });
    }

    fn linear(self: Encoder, comptime name: []const u8, args: anytype, x: tl.Tensor) Error!tl.Tensor {
        const product = try self.ctx.mulMat(try self.weight(name ++ ".weight", args), x);
        return self.ctx.add(product, try self.weight(name ++ ".bias", args));
    }

    fn norm(self: Encoder, comptime name: []const u8, args: anytype, x: tl.Tensor) Error!tl.Tensor {
        const normed = try self.ctx.norm(x, self.eps);
        const scaled = try self.ctx.mul(normed, try self.weight(name ++ ".weight", args));
        return self.ctx.add(scaled, try self.weight(name ++ ".bias", args));
    }

    fn weight(self: Encoder, comptime name: []const u8, args: anytype) Error!tl.Tensor {
        var buffer: [96]u8 = undefined;
        return self.ctx.ggufTensor(self.file, std.fmt.bufPrintZ(&buffer, name, args) catch unreachable);
    }
};

/// A setting that is a whole number of 1 or more.
fn count(file: tl.Gguf, key: [:0]const u8) Error!i64 {
    const value = try file.get(i64, key);
    if (value < 1) return refuse("{s} is {}: 1 or more is valid", .{ key, value });
    return value;
}
