//! Compares src/c.zig with a translation of the C header: the same functions with the same parameters,
//! the same structs byte by byte, the same constants, and nothing left out on either side.

const std = @import("std");
const c = @import("tensorlib").c;
const c_ops = @import("tensorlib").c_ops;
const header = @import("header");

const header_names = namesOf(header);
const c_names = namesOf(c) ++ namesOf(c_ops);

/// The declarations of the ABI, without those that the translation adds and without compilers' macros.
fn namesOf(comptime module: type) []const []const u8 {
    @setEvalBranchQuota(1_000_000);
    comptime var names: []const []const u8 = &.{};
    inline for (@typeInfo(module).@"struct".decls) |decl| {
        const ours = comptime std.mem.startsWith(u8, decl.name, "tl_") or std.mem.startsWith(u8, decl.name, "TL_");
        const macro = comptime std.mem.eql(u8, decl.name, "TL_API") or std.mem.eql(u8, decl.name, "TL_NODISCARD");
        if (ours and !macro) names = names ++ .{decl.name};
    }
    const all = names;
    return all;
}

fn isDeclared(comptime name: []const u8) bool {
    return @hasDecl(c, name) or @hasDecl(c_ops, name);
}

test "neither side has a declaration that the other lacks" {
    @setEvalBranchQuota(1_000_000);
    comptime var functions = 0;
    inline for (header_names) |name| {
        if (!isDeclared(name)) {
            std.debug.print("c.zig lacks {s}\n", .{name});
            return error.TestUnexpectedResult;
        }
        if (@typeInfo(@TypeOf(@field(header, name))) == .@"fn") functions += 1;
    }
    inline for (c_names) |name| {
        if (!@hasDecl(header, name)) {
            std.debug.print("the header lacks {s}\n", .{name});
            return error.TestUnexpectedResult;
        }
    }
    // An empty translation would agree with an empty c.zig.
    try std.testing.expect(functions >= 72);
}

test "every declaration is the same" {
    @setEvalBranchQuota(1_000_000);
    var failures: usize = 0;
    inline for (header_names) |name| {
        if (isDeclared(name)) {
            const why = comptime differs(name);
            if (why.len > 0) {
                std.debug.print("{s}: {s}\n", .{ name, why });
                failures += 1;
            }
        }
    }
    try std.testing.expectEqual(0, failures);
}

/// How c.zig's declaration differs from the header's; empty if it does not.
fn differs(comptime name: []const u8) []const u8 {
    const theirs = @field(header, name);
    const ours = if (@hasDecl(c, name)) @field(c, name) else @field(c_ops, name);
    if (@TypeOf(theirs) == type) return typesDiffer(theirs, ours);
    if (@typeInfo(@TypeOf(theirs)) == .@"fn") return typesDiffer(@TypeOf(theirs), @TypeOf(ours));
    if (theirs != ours) return std.fmt.comptimePrint("is {} in the header, {} in c.zig", .{ theirs, ours });
    return "";
}

/// c.zig alone knows about nullability and many-item pointers; everything that the ABI knows is compared.
fn typesDiffer(comptime Theirs: type, comptime Ours: type) []const u8 {
    const theirs = @typeInfo(withoutOptional(Theirs));
    const ours = @typeInfo(withoutOptional(Ours));
    if (std.meta.activeTag(theirs) != std.meta.activeTag(ours))
        return @typeName(Theirs) ++ " in the header, " ++ @typeName(Ours) ++ " in c.zig";
    switch (theirs) {
        .@"fn" => |f| {
            const g = ours.@"fn";
            if (f.params.len != g.params.len)
                return std.fmt.comptimePrint("{} parameters in the header, {} in c.zig", .{ f.params.len, g.params.len });
            if (!std.meta.eql(f.calling_convention, g.calling_convention)) return "another calling convention";
            for (f.params, g.params, 0..) |p, q, i| {
                const why = typesDiffer(p.type.?, q.type.?);
                if (why.len > 0) return std.fmt.comptimePrint("parameter {}: {s}", .{ i, why });
            }
            const why = typesDiffer(f.return_type.?, g.return_type.?);
            return if (why.len > 0) "result: " ++ why else "";
        },
        .pointer => |p| {
            if (p.is_const != ours.pointer.is_const) return "const differs: " ++ @typeName(Theirs) ++ ", " ++ @typeName(Ours);
            return typesDiffer(p.child, ours.pointer.child);
        },
        .@"struct" => return structsDiffer(Theirs, Ours),
        .array => |a| {
            if (a.len != ours.array.len) return "another length";
            return typesDiffer(a.child, ours.array.child);
        },
        // The translation names a struct's type struct_tl_context.
        .@"opaque" => {
            if (std.mem.eql(u8, lastWord(@typeName(Theirs)), lastWord(@typeName(Ours)))) return "";
            return @typeName(Theirs) ++ " in the header, " ++ @typeName(Ours) ++ " in c.zig";
        },
        else => return if (withoutOptional(Theirs) == withoutOptional(Ours))
            ""
        else
            @typeName(Theirs) ++ " in the header, " ++ @typeName(Ours) ++ " in c.zig",
    }
}

fn structsDiffer(comptime Theirs: type, comptime Ours: type) []const u8 {
    const theirs = @typeInfo(Theirs).@"struct";
    const ours = @typeInfo(Ours).@"struct";
    if (theirs.layout != .@"extern" or ours.layout != .@"extern") return "a struct without C's layout";
    if (theirs.fields.len != ours.fields.len) return "another number of fields";
    if (@sizeOf(Theirs) != @sizeOf(Ours) or @alignOf(Theirs) != @alignOf(Ours)) return "another size or alignment";
    for (theirs.fields, ours.fields) |f, g| {
        if (!std.mem.eql(u8, f.name, g.name)) return "field " ++ f.name ++ " is called " ++ g.name;
        if (@offsetOf(Theirs, f.name) != @offsetOf(Ours, g.name)) return "field " ++ f.name ++ " is at another place";
        // A pointer to the struct itself would recurse forever; there is none.
        const why = typesDiffer(f.type, g.type);
        if (why.len > 0) return "field " ++ f.name ++ ": " ++ why;
    }
    return "";
}

fn withoutOptional(comptime T: type) type {
    return if (@typeInfo(T) == .optional) @typeInfo(T).optional.child else T;
}

fn lastWord(comptime name: []const u8) []const u8 {
    var word = name;
    if (std.mem.lastIndexOfScalar(u8, word, '.')) |i| word = word[i + 1 ..];
    if (std.mem.startsWith(u8, word, "struct_")) word = word["struct_".len..];
    return word;
}

test "the comparison sees differences" {
    const A = extern struct { x: i32, y: *const u8 };
    const B = extern struct { x: u32, y: *const u8 };
    const C = extern struct { x: i32, y: *u8 };
    const Longer = fn (i32, i32) callconv(.c) void;
    const Other = fn (i32, i64) callconv(.c) void;
    try std.testing.expectEqualStrings("", comptime typesDiffer(A, A));
    try std.testing.expect((comptime typesDiffer(A, B)).len > 0);
    try std.testing.expect((comptime typesDiffer(A, C)).len > 0);
    try std.testing.expect((comptime typesDiffer(fn (i32) callconv(.c) void, Longer)).len > 0);
    try std.testing.expect((comptime typesDiffer(Longer, Other)).len > 0);
    try std.testing.expect((comptime typesDiffer(*c.tl_context, *c.tl_tensor)).len > 0);
    try std.testing.expect((comptime typesDiffer(?*c.tl_tensor, [*c]c.tl_attr)).len > 0);
}
