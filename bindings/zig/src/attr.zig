//! Operations by name.

const std = @import("std");
const c = @import("c.zig");

/// A named attribute of an operation for `Context.op`. Texts are used until that call and not copied.
pub const Attr = struct {
    raw: c.tl_attr,

    /// 1 to 6 integers; booleans are 0 and 1. The operation fails for any other number of them.
    pub fn ints(name: [:0]const u8, values: []const i64) Attr {
        var raw: c.tl_attr = .{ .name = name.ptr, .kind = c.TL_ATTR_INTS };
        raw.n_ints = std.math.cast(i32, values.len) orelse std.math.maxInt(i32);
        const n = @min(values.len, raw.ints.len);
        @memcpy(raw.ints[0..n], values[0..n]);
        return .{ .raw = raw };
    }

    pub fn number(name: [:0]const u8, value: f64) Attr {
        return .{ .raw = .{ .name = name.ptr, .kind = c.TL_ATTR_NUMBER, .number = value } };
    }

    pub fn text(name: [:0]const u8, value: [:0]const u8) Attr {
        return .{ .raw = .{ .name = name.ptr, .kind = c.TL_ATTR_TEXT, .text = value.ptr } };
    }
};

/// The number of operations.
pub fn opCount() usize {
    return c.tl_op_count();
}

/// An operation's name; null if index is not below `opCount`.
pub fn opName(index: usize) ?[:0]const u8 {
    return std.mem.span(c.tl_op_name(index) orelse return null);
}
