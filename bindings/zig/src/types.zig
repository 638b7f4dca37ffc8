//! Storage types.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");

/// How elements are stored; the numbers are GGUF's. The library may know more than these names: ask for
/// traits.
pub const Type = enum(c.tl_type) {
    f32 = c.TL_TYPE_F32,
    f16 = c.TL_TYPE_F16,
    i8 = c.TL_TYPE_I8,
    i16 = c.TL_TYPE_I16,
    i32 = c.TL_TYPE_I32,
    i64 = c.TL_TYPE_I64,
    f64 = c.TL_TYPE_F64,
    bf16 = c.TL_TYPE_BF16,
    _,

    /// The type that stores values of T as they are. BF16 has none: write and read it as f32, or as bytes.
    pub fn of(comptime T: type) Type {
        return switch (T) {
            f32 => .f32,
            f16 => .f16,
            f64 => .f64,
            i8 => .i8,
            i16 => .i16,
            i32 => .i32,
            i64 => .i64,
            else => @compileError("no tensor type stores " ++ @typeName(T) ++ ": f16, f32, f64, i8, i16, i32, i64"),
        };
    }

    /// Finds a type by its name, in upper or lower case. `error.InvalidArgument`: there is none; the message
    /// lists all.
    pub fn fromName(type_name: [:0]const u8, diagnostics: ?*status.Diagnostics) status.Error!Type {
        var found: c.tl_type = undefined;
        try status.check(c.tl_type_from_name(type_name.ptr, &found, status.errorOf(diagnostics)));
        return @enumFromInt(found);
    }

    /// "f32"; "unknown type" where the library has none of this number.
    pub fn name(self: Type) [:0]const u8 {
        return std.mem.span(c.tl_type_name(@intFromEnum(self)) orelse "unknown type");
    }

    /// Elements per block, 1 for plain types; 0 where there is no such type.
    pub fn blockSize(self: Type) usize {
        return @intCast(c.tl_type_block_size(@intFromEnum(self)));
    }

    /// Bytes per block; 0 where there is no such type.
    pub fn size(self: Type) usize {
        return c.tl_type_size(@intFromEnum(self));
    }
};
