//! Reads the language-neutral cases; the grammar is in tests/cases/README.md.

const std = @import("std");

pub const Case = struct {
    name: []const u8,
    /// Leafs and operations in order.
    steps: std.ArrayList(Step) = .empty,
    outs: std.ArrayList(Expected) = .empty,
    /// The code of the error that the last operation must return.
    code: ?[]const u8 = null,
    /// The tensor whose computing must return it, if the operation itself need not.
    fails: ?[]const u8 = null,
    words: std.ArrayList([]const u8) = .empty,
    /// Only for the CPU: elsewhere computing must be unsupported.
    cpu_only: bool = false,
};

pub const Step = struct {
    id: []const u8,
    what: union(enum) { leaf: Leaf, blocks: Blocks, op: Op },
};

pub const Leaf = struct {
    dtype: []const u8,
    ne: [4]i64,
    seed: u32,
    set: std.ArrayList(struct { usize, f32 }) = .empty,

    /// Runs the generator of the grammar and then the set lines.
    pub fn fill(self: Leaf, data: []f32) !void {
        const integer = self.dtype[0] == 'i';
        for (data, 0..) |*v, i| {
            var x = @as(u32, @truncate(i)) ^ (self.seed *% 0x9E3779B1);
            x = (x ^ (x >> 16)) *% 0x7FEB352D;
            x = (x ^ (x >> 15)) *% 0x846CA68B;
            x ^= x >> 16;
            const bits: i32 = @intCast(x >> 8);
            v.* = if (integer)
                @floatFromInt(@rem(bits, 200) - 100)
            else if (self.dtype[0] == 'u')
                @floatFromInt(@rem(bits, 200))
            else if (std.mem.eql(u8, self.dtype, "bool"))
                @floatFromInt(@rem(bits, 2))
            else
                @as(f32, @floatFromInt(@rem(bits, 4096) - 2048)) / 512;
        }
        for (self.set.items) |one| {
            if (one[0] >= data.len) return error.SetBehindTheLeaf;
            data[one[0]] = one[1];
        }
    }
};

/// A leaf of a quantised type, given byte by byte.
pub const Blocks = struct {
    dtype: []const u8,
    ne: [4]i64,
    bytes: std.ArrayList(u8) = .empty,
};

pub const Op = struct {
    name: []const u8,
    src: []const []const u8,
    /// As the file has them. An absent attribute is 0, which stands for its default.
    attrs: std.StringHashMapUnmanaged([:0]const u8) = .empty,

    /// "" if it is absent.
    pub fn text(self: Op, name: []const u8) [:0]const u8 {
        return self.attrs.get(name) orelse "";
    }

    pub fn ints(self: Op, arena: std.mem.Allocator, name: []const u8) ![]const i64 {
        var values: std.ArrayList(i64) = .empty;
        var parts = std.mem.tokenizeScalar(u8, self.text(name), ',');
        while (parts.next()) |part| try values.append(arena, try std.fmt.parseInt(i64, part, 10));
        return values.items;
    }

    pub fn integer(self: Op, name: []const u8) !i64 {
        const given = self.attrs.get(name) orelse return 0;
        return std.fmt.parseInt(i64, given, 10);
    }

    pub fn number(self: Op, name: []const u8) !f64 {
        const given = self.attrs.get(name) orelse return 0;
        return std.fmt.parseFloat(f64, given);
    }

    /// A list of exactly n numbers.
    pub fn list(self: Op, comptime n: usize, name: []const u8) ![n]i64 {
        var values: [n]i64 = @splat(0);
        const given = self.attrs.get(name) orelse return values;
        var parts = std.mem.splitScalar(u8, given, ',');
        for (&values) |*value| value.* = try std.fmt.parseInt(i64, parts.next() orelse return error.ListTooShort, 10);
        return if (parts.next() == null) values else error.ListTooLong;
    }

    /// Dimensions, which are stored in `room`.
    pub fn dims(self: Op, name: []const u8, room: *[4]u2) ![]const u2 {
        var n: usize = 0;
        var parts = std.mem.tokenizeScalar(u8, self.text(name), ',');
        while (parts.next()) |part| : (n += 1) {
            if (n == room.len) return error.ListTooLong;
            room[n] = try std.fmt.parseInt(u2, part, 10);
        }
        return room[0..n];
    }

    /// One of a type's words.
    pub fn choice(self: Op, comptime T: type, name: []const u8) !T {
        const given = self.attrs.get(name) orelse return @enumFromInt(0);
        return std.meta.stringToEnum(T, given) orelse error.NoneOfTheWords;
    }
};

pub const Expected = struct {
    id: []const u8,
    dtype: []const u8,
    ne: [4]i64,
    abs: f64 = 0,
    rel: f64 = 0,
    at: std.ArrayList(struct { usize, f64 }) = .empty,
};

/// Where parsing stopped, for the message.
pub const Position = struct { line: usize = 0 };

/// All cases in the text of one file. A line that the grammar does not have is an error and is never skipped.
/// Everything is allocated in the arena, and refers to the text.
pub fn parse(arena: std.mem.Allocator, text: []const u8, position: *Position) ![]const Case {
    var cases: std.ArrayList(Case) = .empty;
    var open = false;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        position.line += 1;
        if (line.len == 0 or line[0] == '#') continue;
        var words: Words = .{ .iterator = std.mem.tokenizeScalar(u8, line, ' ') };
        const keyword = try words.next();
        if (std.mem.eql(u8, keyword, "case")) {
            if (open) return error.CaseInsideOfCase;
            open = true;
            try cases.append(arena, .{ .name = try words.next() });
        } else if (!open) {
            return error.LineOutsideOfCase;
        } else if (std.mem.eql(u8, keyword, "end")) {
            open = false;
        } else {
            try addLine(arena, &cases.items[cases.items.len - 1], keyword, &words);
        }
        if (words.iterator.next() != null) return error.LineTooLong;
    }
    return if (open) error.CaseWithoutEnd else cases.items;
}

const Keyword = enum { leaf, blocks, hex, fails, cpu_only, set, op, out, tol, at, @"error", word };

fn addLine(arena: std.mem.Allocator, case: *Case, text: []const u8, words: *Words) !void {
    switch (std.meta.stringToEnum(Keyword, text) orelse return error.UnknownLine) {
        .leaf => {
            const id = try words.next();
            const leaf: Leaf = .{ .dtype = try words.next(), .ne = try words.shape(), .seed = try words.int(u32) };
            try case.steps.append(arena, .{ .id = id, .what = .{ .leaf = leaf } });
        },
        .blocks => {
            const id = try words.next();
            const blocks: Blocks = .{ .dtype = try words.next(), .ne = try words.shape() };
            try case.steps.append(arena, .{ .id = id, .what = .{ .blocks = blocks } });
        },
        .hex => {
            const id = try words.next();
            const digits = try words.next();
            for (case.steps.items) |*step| {
                if (!std.mem.eql(u8, step.id, id) or step.what != .blocks) continue;
                const to = try step.what.blocks.bytes.addManyAsSlice(arena, digits.len / 2);
                _ = try std.fmt.hexToBytes(to, digits);
                break;
            } else return error.HexWithoutBlocks;
        },
        .cpu_only => case.cpu_only = true,
        .fails => {
            case.fails = try words.next();
            case.code = try words.next();
        },
        .set => {
            const id = try words.next();
            for (case.steps.items) |*step| {
                if (!std.mem.eql(u8, step.id, id) or step.what != .leaf) continue;
                try step.what.leaf.set.append(arena, .{ try words.int(usize), @floatCast(try words.number()) });
                break;
            } else return error.SetWithoutLeaf;
        },
        .op => try case.steps.append(arena, .{ .id = try words.next(), .what = .{ .op = try parseOp(arena, words) } }),
        .out => try case.outs.append(arena, .{ .id = try words.next(), .dtype = try words.next(), .ne = try words.shape() }),
        .tol => {
            const out = try lastOut(case);
            out.abs = try words.number();
            out.rel = try words.number();
        },
        .at => {
            const out = try lastOut(case);
            var index = try words.int(usize);
            while (words.iterator.peek() != null) : (index += 1) try out.at.append(arena, .{ index, try words.number() });
        },
        .@"error" => case.code = try words.next(),
        .word => {
            try case.words.append(arena, words.iterator.rest());
            words.iterator.index = words.iterator.buffer.len;
        },
    }
}

fn lastOut(case: *Case) !*Expected {
    if (case.outs.items.len == 0) return error.LineBeforeOut;
    return &case.outs.items[case.outs.items.len - 1];
}

fn parseOp(arena: std.mem.Allocator, words: *Words) !Op {
    var op: Op = .{ .name = try words.next(), .src = &.{} };
    var src: std.ArrayList([]const u8) = .empty;
    while (words.iterator.next()) |word| {
        const at = std.mem.indexOfScalar(u8, word, '=') orelse {
            try src.append(arena, word);
            continue;
        };
        try op.attrs.put(arena, word[0..at], try arena.dupeZ(u8, word[at + 1 ..]));
    }
    op.src = src.items;
    return op;
}

const Words = struct {
    iterator: std.mem.TokenIterator(u8, .scalar),

    fn next(self: *Words) ![]const u8 {
        return self.iterator.next() orelse error.LineTooShort;
    }

    fn int(self: *Words, comptime T: type) !T {
        return std.fmt.parseInt(T, try self.next(), 10);
    }

    fn number(self: *Words) !f64 {
        return std.fmt.parseFloat(f64, try self.next());
    }

    fn shape(self: *Words) ![4]i64 {
        var ne: [4]i64 = undefined;
        for (&ne) |*d| d.* = try self.int(i64);
        return ne;
    }
};
