//! The file of digits, and the order in which a network sees them.

const std = @import("std");

pub const pixels = 64;
pub const train = 1000;

pub const Images = struct {
    /// 64 an image, one after the other, from 0 to 1.
    pixels: []const f32,
    digits: []const i32,
};

/// Reads lines of 64 pixels of 0 to 16 and a digit. Lines that are empty or begin with # are skipped. After an error
/// `line` is the one that it is about.
pub fn parse(arena: std.mem.Allocator, text: []const u8, line: *usize) !Images {
    var values: std.ArrayList(f32) = .empty;
    var digits: std.ArrayList(i32) = .empty;
    var lines = std.mem.splitScalar(u8, std.mem.trimEnd(u8, text, "\r\n"), '\n');
    while (lines.next()) |raw| {
        line.* += 1;
        const row = std.mem.trim(u8, raw, " \r");
        if (row.len == 0 or row[0] == '#') continue;
        if (std.mem.count(u8, row, ",") != pixels) return error.Not64PixelsAndADigit;
        var words = std.mem.splitScalar(u8, row, ',');
        for (0..pixels) |_| {
            const value = std.fmt.parseInt(u8, words.next().?, 10) catch return error.APixelIsNot0To16;
            if (value > 16) return error.APixelIsNot0To16;
            try values.append(arena, @as(f32, @floatFromInt(value)) / 16);
        }
        const digit = std.fmt.parseInt(u8, words.next().?, 10) catch return error.TheDigitIsNot0To9;
        if (digit > 9) return error.TheDigitIsNot0To9;
        try digits.append(arena, digit);
    }
    if (digits.items.len <= train) return error.MoreThan1000ImagesAreNeeded;
    return .{ .pixels = values.items, .digits = digits.items };
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
const Random = struct {
    state: u64,

    const gamma: u64 = 0x9e3779b97f4a7c15;

    /// The sequence of a seed with a number.
    fn init(seed: u64, number: u64) Random {
        return .{ .state = mix(seed +% gamma) ^ mix(number *% gamma +% 1) };
    }

    fn next(self: *Random) u64 {
        self.state +%= gamma;
        return mix(self.state);
    }

    fn mix(bits: u64) u64 {
        var z = bits;
        z = (z ^ (z >> 30)) *% 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) *% 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
};

/// Puts the numbers below numbers.len into the order of an epoch (Durstenfeld, 1964).
pub fn shuffle(numbers: []usize, seed: u64, epoch: usize) void {
    var of_epochs: Random = .init(seed, epoch);
    var random: Random = .init(of_epochs.next(), std.math.maxInt(u64));
    for (numbers, 0..) |*number, i| number.* = i;
    var i = numbers.len - 1;
    while (i > 0) : (i -= 1) {
        // The upper half of a product: from 0 to i, each as likely but for 2^-53.
        const j: usize = @intCast((@as(u128, random.next()) * (i + 1)) >> 64);
        std.mem.swap(usize, &numbers[i], &numbers[j]);
    }
}
