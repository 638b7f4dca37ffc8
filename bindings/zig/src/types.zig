//! Storage types.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");

/// How elements are stored; the numbers are those of GGUF, and from 1000 on those of types that GGUF does not
/// have. The library may have more types than these: ask for their traits.
pub const Type = enum(c.tl_type) {
    f32 = c.TL_TYPE_F32,
    f16 = c.TL_TYPE_F16,
    i8 = c.TL_TYPE_I8,
    i16 = c.TL_TYPE_I16,
    i32 = c.TL_TYPE_I32,
    i64 = c.TL_TYPE_I64,
    f64 = c.TL_TYPE_F64,
    bf16 = c.TL_TYPE_BF16,
    q4_0 = c.TL_TYPE_Q4_0,
    q4_1 = c.TL_TYPE_Q4_1,
    q5_0 = c.TL_TYPE_Q5_0,
    q5_1 = c.TL_TYPE_Q5_1,
    q8_0 = c.TL_TYPE_Q8_0,
    q8_1 = c.TL_TYPE_Q8_1,
    q2_K = c.TL_TYPE_Q2_K,
    q3_K = c.TL_TYPE_Q3_K,
    q4_K = c.TL_TYPE_Q4_K,
    q5_K = c.TL_TYPE_Q5_K,
    q6_K = c.TL_TYPE_Q6_K,
    q8_K = c.TL_TYPE_Q8_K,
    iq2_xxs = c.TL_TYPE_IQ2_XXS,
    iq2_xs = c.TL_TYPE_IQ2_XS,
    iq3_xxs = c.TL_TYPE_IQ3_XXS,
    iq1_s = c.TL_TYPE_IQ1_S,
    iq4_nl = c.TL_TYPE_IQ4_NL,
    iq3_s = c.TL_TYPE_IQ3_S,
    iq2_s = c.TL_TYPE_IQ2_S,
    iq4_xs = c.TL_TYPE_IQ4_XS,
    iq1_m = c.TL_TYPE_IQ1_M,
    tq1_0 = c.TL_TYPE_TQ1_0,
    tq2_0 = c.TL_TYPE_TQ2_0,
    mxfp4 = c.TL_TYPE_MXFP4,
    nvfp4 = c.TL_TYPE_NVFP4,
    q1_0 = c.TL_TYPE_Q1_0,
    q2_0 = c.TL_TYPE_Q2_0,
    u8 = c.TL_TYPE_U8,
    bool = c.TL_TYPE_BOOL,
    _,

    /// The type that stores values of T unchanged. BF16 has none: write and read it as f32, or as bytes.
    pub fn of(comptime T: type) Type {
        return switch (T) {
            f32 => .f32,
            f16 => .f16,
            f64 => .f64,
            i8 => .i8,
            i16 => .i16,
            i32 => .i32,
            i64 => .i64,
            u8 => .u8,
            bool => .bool,
            else => @compileError("no tensor type stores " ++ @typeName(T) ++ ": f16, f32, f64, i8, i16, i32, i64, u8, bool"),
        };
    }

    /// Finds a type by its name, in upper or lower case. `error.InvalidArgument`: there is none; the message
    /// lists all names.
    pub fn fromName(type_name: [:0]const u8, diagnostics: ?*status.Diagnostics) status.Error!Type {
        var found: c.tl_type = undefined;
        try status.check(c.tl_type_from_name(type_name.ptr, &found, status.errorOf(diagnostics)));
        return @enumFromInt(found);
    }

    /// The type's name, "f32"; "unknown type" for an unknown number.
    pub fn name(self: Type) [:0]const u8 {
        return std.mem.span(c.tl_type_name(@intFromEnum(self)) orelse "unknown type");
    }

    /// Elements per block, 1 for plain types; 0 for an unknown type.
    pub fn blockSize(self: Type) usize {
        return @intCast(c.tl_type_block_size(@intFromEnum(self)));
    }

    /// Bytes per block; 0 for an unknown type.
    pub fn size(self: Type) usize {
        return c.tl_type_size(@intFromEnum(self));
    }

    /// What the type may be used for.
    pub fn kind(self: Type) Kind {
        return @enumFromInt(c.tl_type_kind(@intFromEnum(self)));
    }

    /// The type that the reference implementation rounds activations to in products with weights of this type,
    /// for comparisons with it. Products of this library round as `Context.mulMat` says.
    pub fn partner(self: Type) Type {
        return @enumFromInt(c.tl_type_partner(@intFromEnum(self)));
    }

    /// The number of types in the library.
    pub fn count() usize {
        return c.tl_type_count();
    }

    /// The type at an index below `count()`, in the order of their numbers.
    pub fn at(index: usize) Type {
        return @enumFromInt(c.tl_type_at(index));
    }
};

/// What a type may be used for.
pub const Kind = enum(c.tl_kind) {
    /// A plain float.
    floating = c.TL_KIND_FLOATING,
    /// An integer, or BOOL.
    integer = c.TL_KIND_INTEGER,
    /// A quantised type for weights.
    weight = c.TL_KIND_WEIGHT,
    /// A quantised type that products convert activations to; no operand has it.
    activation = c.TL_KIND_ACTIVATION,
    _,
};
