//! Reads the file of digits: lines of 64 pixels of 0 to 16 and a digit.

const std = @import("std");

pub const pixels = 64;
pub const references = 1000;

pub const Images = struct {
    /// All images, one after the other.
    pixels: []const f32,
    digits: []const u8,

    pub fn image(self: Images, index: usize) []const f32 {
        return self.pixels[index * pixels ..][0..pixels];
    }

    /// The squared length of each image; the caller frees it.
    pub fn norms(self: Images, gpa: std.mem.Allocator) ![]f32 {
        const result = try gpa.alloc(f32, self.digits.len);
        @memset(result, 0);
        for (self.pixels, 0..) |v, i| result[i / pixels] += v * v;
        return result;
    }
};

pub const Split = struct { known: Images, asked: Images };

pub const Error = error{ WrongCount, NotAPixel, NotADigit, TooShort, OutOfMemory };

/// Reads the references and the queries. Skips empty lines and lines that begin with #. After an error
/// `line` is the number of the line that caused it; for error.TooShort, of the last line.
pub fn parse(arena: std.mem.Allocator, text: []const u8, line: *usize) Error!Split {
    var values: std.ArrayList(f32) = .empty;
    var digits: std.ArrayList(u8) = .empty;
    var lines = std.mem.splitScalar(u8, std.mem.trimEnd(u8, text, "\r\n"), '\n');
    line.* = 0;
    while (lines.next()) |raw| {
        line.* += 1;
        const row = std.mem.trim(u8, raw, " \r");
        if (row.len == 0 or row[0] == '#') continue;
        if (std.mem.count(u8, row, ",") != pixels) return error.WrongCount;
        var words = std.mem.splitScalar(u8, row, ',');
        for (0..pixels) |_| {
            const v = number(words.next().?) orelse return error.NotAPixel;
            if (v > 16) return error.NotAPixel;
            try values.append(arena, @floatFromInt(v));
        }
        const digit = number(words.next().?) orelse return error.NotADigit;
        if (digit > 9) return error.NotADigit;
        try digits.append(arena, digit);
    }
    if (digits.items.len <= references) return error.TooShort;
    return .{
        .known = .{ .pixels = values.items[0 .. references * pixels], .digits = digits.items[0..references] },
        .asked = .{ .pixels = values.items[references * pixels ..], .digits = digits.items[references..] },
    };
}

fn number(word: []const u8) ?u8 {
    return std.fmt.parseInt(u8, std.mem.trim(u8, word, " "), 10) catch null;
}

pub fn explain(err: Error) []const u8 {
    return switch (err) {
        error.WrongCount => "must be 64 pixels and the digit",
        error.NotAPixel => "a pixel must be 0 to 16",
        error.NotADigit => "the digit must be 0 to 9",
        error.TooShort => "the file ends here, more than 1000 images are needed",
        error.OutOfMemory => "out of memory",
    };
}

test "malformed files" {
    var arena: std.heap.ArenaAllocator = .init(std.testing.allocator);
    defer arena.deinit();
    const image = "1," ** pixels ++ "7\n";
    const good = "# comment\n" ++ image ** references ++ image;
    var line: usize = undefined;
    const split = try parse(arena.allocator(), good, &line);
    try std.testing.expect(split.known.digits.len == references and split.asked.digits.len == 1);

    const Bad = struct { text: []const u8, err: Error, line: usize };
    for ([_]Bad{
        .{ .text = "", .err = error.TooShort, .line = 1 },
        .{ .text = "# comment\n" ++ image ** references, .err = error.TooShort, .line = references + 1 },
        .{ .text = image ++ "1,2,3\n" ++ image, .err = error.WrongCount, .line = 2 },
        .{ .text = image ** 3 ++ "17," ++ "1," ** (pixels - 1) ++ "7\n", .err = error.NotAPixel, .line = 4 },
        .{ .text = "x," ++ "1," ** (pixels - 1) ++ "7\n", .err = error.NotAPixel, .line = 1 },
        .{ .text = image ** 1200 ++ "1," ** pixels ++ "10\n", .err = error.NotADigit, .line = 1201 },
        .{ .text = "1," ** pixels ++ "-1\n", .err = error.NotADigit, .line = 1 },
    }) |bad| {
        try std.testing.expectError(bad.err, parse(arena.allocator(), bad.text, &line));
        try std.testing.expectEqual(bad.line, line);
        try std.testing.expect(explain(bad.err).len > 0);
    }
}
