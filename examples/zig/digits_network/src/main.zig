//! A network learns handwritten digits: 64 pixels, 256 hidden units, 10 classes.
//!
//!     zig build run [-- --file digits.csv]
//!
//! Images 1 to 1000 of the file train it, the others test it. The nodes of a step (answers, loss, gradients, AdamW) are
//! made once for each size of batch; then leafs are rewritten and the graph is computed again. First values, order and
//! rates are those of examples/rust/digits_network.rs, so that the same numbers come out in every language.

const std = @import("std");
const tl = @import("tensorlib");
const images = @import("images.zig");

const pixels = images.pixels;
const train = images.train;
const hidden = 256;
const classes = 10;
const batch_size = 32;
const epochs = 60;
const seed = 1;

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    if (args.len != 1 and (args.len != 3 or !std.mem.eql(u8, args[1], "--file")))
        std.process.fatal("digits_network: --file CSV is valid", .{});
    const file = if (args.len == 3) args[2] else "../../data/digits.csv";
    const text = std.Io.Dir.cwd().readFileAlloc(init.io, file, arena, .limited(1 << 28)) catch |err|
        std.process.fatal("digits_network: {s}: {t}", .{ file, err });
    var line: usize = 0;
    const data = images.parse(arena, text, &line) catch |err|
        std.process.fatal("digits_network: {s}, line {}: {t}", .{ file, line, err });

    var buffer: [256]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    var diagnostics: tl.Diagnostics = .{};
    run(arena, data, &stdout.interface, &diagnostics) catch |err|
        std.process.fatal("digits_network: {t}: {s}", .{ err, diagnostics.message() });
    try stdout.interface.flush();
}

fn run(arena: std.mem.Allocator, data: images.Images, out: *std.Io.Writer, diagnostics: *tl.Diagnostics) !void {
    var backend = try tl.Backend.init(.{ .diagnostics = diagnostics });
    defer backend.deinit();
    var ctx = try tl.Context.init(.{ .allocator = arena, .diagnostics = diagnostics });
    defer ctx.deinit();
    const network = try Network.init(ctx, backend);
    var whole = try network.batch(arena, batch_size, .training);
    defer whole.graph.deinit();
    var rest = try network.batch(arena, train % batch_size, .training);
    defer rest.graph.deinit();
    var last = try network.batch(arena, data.digits.len - train, .testing);
    defer last.graph.deinit();

    var step: usize = 0;
    const steps = epochs * try std.math.divCeil(usize, train, batch_size);
    const numbers = try arena.alloc(usize, data.digits.len);
    for (0..epochs) |epoch| {
        var sum: f64 = 0;
        var at: usize = 0;
        images.shuffle(numbers[0..train], seed, epoch);
        while (at < train) : (step += 1) {
            const batch = if (train - at < batch_size) rest else whole;
            try network.settings.write(f32, &settingsOf(step, steps));
            sum += try batch.compute(arena, backend, data, numbers[at..]) * @as(f64, @floatFromInt(batch.n));
            at += batch.n;
        }
        if ((epoch + 1) % 10 == 0) try out.print("epoch {}: loss {d:.12}\n", .{ epoch + 1, sum / train });
    }
    for (numbers, 0..) |*number, i| number.* = train + i;
    _ = try last.compute(arena, backend, data, numbers);
    var right: [1]i64 = undefined;
    try last.right.?.read(i64, &right);
    const percent = 100 * @as(f64, @floatFromInt(right[0])) / @as(f64, @floatFromInt(last.n));
    try out.print("accuracy {d:.2} %\n", .{percent});
}

const Network = struct {
    ctx: tl.Context,
    parameters: [4]tl.Tensor,
    /// What AdamW remembers of them.
    m: [4]tl.Tensor,
    v: [4]tl.Tensor,
    settings: tl.Tensor,

    /// First values are from -1 / sqrt(inputs) to 1 / sqrt(inputs), each as likely, by the seed and the parameter's number.
    fn init(ctx: tl.Context, backend: tl.Backend) !Network {
        var self: Network = .{
            .ctx = ctx,
            .parameters = undefined,
            .m = undefined,
            .v = undefined,
            .settings = try ctx.tensor(.f32, &.{7}),
        };
        const shapes = [4][4]i64{ .{ pixels, hidden, 1, 1 }, .{ hidden, 1, 1, 1 }, .{ hidden, classes, 1, 1 }, .{ classes, 1, 1, 1 } };
        for (shapes, [_]f64{ pixels, pixels, hidden, hidden }, 0..) |shape, inputs, i| {
            self.parameters[i] = try ctx.tensor(.f32, &shape);
            self.m[i] = try ctx.tensor(.f32, &shape);
            self.v[i] = try ctx.tensor(.f32, &shape);
            const state = try ctx.tensorFrom(i64, &.{2}, &.{ seed, @intCast(i) });
            const bound = 1 / @sqrt(inputs);
            const values = try ctx.randomUniform(state, &shape, -bound, bound, 0);
            try backend.compute(&.{try ctx.cpy(values, self.parameters[i])});
        }
        return self;
    }

    /// The nodes for n images: the loss, and steps down its gradients in training, how many answers are right in testing.
    fn batch(self: Network, arena: std.mem.Allocator, n: usize, purpose: enum { training, testing }) !Batch {
        const ctx = self.ctx;
        const p = self.parameters;
        const x = try ctx.tensor(.f32, &.{ pixels, @intCast(n) });
        const digits = try ctx.tensor(.i32, &.{ 1, @intCast(n) });
        const inner = try ctx.relu(try ctx.add(try ctx.mulMat(p[0], x), p[1]));
        const logits = try ctx.add(try ctx.mulMat(p[2], inner), p[3]); // {10, n}
        const of_digits = try ctx.gather(try ctx.logSoftMax(logits), digits, 0);
        const loss = try ctx.scale(try ctx.sum(of_digits, .{}), -1 / @as(f64, @floatFromInt(n)), .{});
        if (purpose == .testing) {
            const right = try ctx.countEqual(try ctx.reshape(try ctx.argmax(logits, .{ .dims = &.{0} }), &.{ 1, -1 }), digits);
            return .{ .n = n, .x = x, .digits = digits, .loss = loss, .right = right, .graph = try ctx.graph(&.{ loss, right }) };
        }
        const gradients = try ctx.gradients(&.{loss}, &.{}, &p);
        defer arena.free(gradients);
        var outputs: [5]tl.Tensor = undefined;
        outputs[0] = loss;
        for (gradients, 0..) |gradient, i|
            outputs[1 + i] = try ctx.optStepAdamw(p[i], gradient, self.m[i], self.v[i], self.settings);
        return .{ .n = n, .x = x, .digits = digits, .loss = loss, .right = null, .graph = try ctx.graph(&outputs) };
    }
};

/// The leafs of n images and what is computed of them; `right` is how many answers are.
const Batch = struct {
    n: usize,
    x: tl.Tensor,
    digits: tl.Tensor,
    loss: tl.Tensor,
    right: ?tl.Tensor,
    graph: tl.Graph,

    /// Computes a batch of the images with these numbers, and gives the loss.
    fn compute(self: Batch, gpa: std.mem.Allocator, backend: tl.Backend, data: images.Images, numbers: []const usize) !f64 {
        const x = try gpa.alloc(f32, self.n * pixels);
        defer gpa.free(x);
        const digits = try gpa.alloc(i32, self.n);
        defer gpa.free(digits);
        for (digits, numbers[0..self.n], 0..) |*digit, number, i| {
            @memcpy(x[i * pixels ..][0..pixels], data.pixels[number * pixels ..][0..pixels]);
            digit.* = data.digits[number];
        }
        try self.x.write(f32, x);
        try self.digits.write(i32, digits);
        try self.graph.compute(backend);
        return try self.loss.getF32(.{ 0, 0, 0, 0 });
    }
};

/// What a step is told: its rate, which rises over the first steps and falls along half a cosine, and AdamW's numbers.
fn settingsOf(number: usize, count: usize) [7]f32 {
    const rate = 0.01;
    const last_factor = 0.01;
    const decay = 0.1;
    const warm_up = 50;
    const beta1 = 0.9;
    const beta2 = 0.999;
    const step: f64 = @floatFromInt(number);
    const steps: f64 = @floatFromInt(count);
    const half_cosine = (1 + @cos(std.math.pi * (step - warm_up) / (steps - warm_up))) / 2;
    const factor = if (step < warm_up) (step + 1) / warm_up else last_factor + (1 - last_factor) * half_cosine;
    const unbias1 = 1 / (1 - std.math.pow(f64, beta1, step + 1));
    const unbias2 = 1 / (1 - std.math.pow(f64, beta2, step + 1));
    return .{ @floatCast(rate * factor), beta1, beta2, 1e-8, decay, @floatCast(unbias1), @floatCast(unbias2) };
}
