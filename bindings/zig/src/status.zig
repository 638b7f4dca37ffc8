//! Statuses as errors, and diagnostics for their messages.

const std = @import("std");
const c = @import("c.zig");

/// A value for each status of the C library except success.
pub const Error = error{
    /// An argument is out of range, unknown or contradicts another one.
    InvalidArgument,
    /// The operands' shapes do not fit the operation.
    ShapeMismatch,
    /// The operands' types do not fit the operation.
    TypeMismatch,
    /// Operands live on different devices, or their contexts would refer to each other in a cycle.
    ContextMismatch,
    /// The call is valid, but this backend has no kernel for it.
    Unsupported,
    /// The device or instruction set is missing, or the library is too old.
    Unavailable,
    /// A memory limit, a caller's buffer or the machine's memory is exhausted; nothing was changed.
    OutOfMemory,
    /// A context is in use; try again later.
    Busy,
    /// A callback stopped the run.
    Aborted,
    /// The operating system refused a file operation.
    Io,
    /// A file's contents violate its format.
    Format,
    /// The device failed.
    Device,
    /// A defect of the library: please report it with the message.
    Internal,
    /// The ranks of a group disagree, or one of them failed, left or missed the deadline.
    Group,
    /// A status of a later library that this binding does not know: see `Diagnostics.code`.
    UnknownStatus,
};

/// Receives the message of a failure. It must live as long as the object it was given to, and is used by one thread at
/// a time. A successful call clears it.
pub const Diagnostics = struct {
    raw: c.tl_error = .{},

    /// The message for display; empty after success. In a message of more than 255 bytes, " ... " replaces the middle.
    /// Valid until the next call that gets these diagnostics.
    pub fn message(self: *const Diagnostics) []const u8 {
        return std.mem.sliceTo(&self.raw.message, 0);
    }

    /// The whole message, if it is one of the process's last 64 that were too long for `message`; the caller frees it.
    pub fn text(self: *const Diagnostics, allocator: std.mem.Allocator) error{OutOfMemory}![]u8 {
        const whole = try allocator.alloc(u8, c.tl_error_text(&self.raw, null, 0) + 1);
        errdefer allocator.free(whole);
        // Others may have replaced it meanwhile: then the text is shorter.
        const length = @min(c.tl_error_text(&self.raw, whole.ptr, whole.len), whole.len - 1);
        return allocator.realloc(whole, length);
    }

    /// The C library's number of the status, such as TL_STATUS_SHAPE_MISMATCH.
    pub fn code(self: *const Diagnostics) c.tl_status {
        return self.raw.code;
    }

    fn set(self: *Diagnostics, code_: c.tl_status, comptime fmt: []const u8, args: anytype) void {
        self.raw.code = code_;
        self.raw.text = 0;
        @memset(&self.raw.message, 0);
        // One byte stays free for the NUL; a longer message is cut.
        var writer: std.Io.Writer = .fixed(self.raw.message[0 .. self.raw.message.len - 1]);
        writer.print(fmt, args) catch return;
    }
};

/// The error struct for C; null if nobody needs the message.
pub fn errorOf(diagnostics: ?*Diagnostics) ?*c.tl_error {
    return if (diagnostics) |d| &d.raw else null;
}

pub fn check(code: c.tl_status) Error!void {
    return switch (code) {
        c.TL_STATUS_OK => {},
        c.TL_STATUS_INVALID_ARGUMENT => error.InvalidArgument,
        c.TL_STATUS_SHAPE_MISMATCH => error.ShapeMismatch,
        c.TL_STATUS_TYPE_MISMATCH => error.TypeMismatch,
        c.TL_STATUS_CONTEXT_MISMATCH => error.ContextMismatch,
        c.TL_STATUS_UNSUPPORTED => error.Unsupported,
        c.TL_STATUS_UNAVAILABLE => error.Unavailable,
        c.TL_STATUS_OUT_OF_MEMORY => error.OutOfMemory,
        c.TL_STATUS_BUSY => error.Busy,
        c.TL_STATUS_ABORTED => error.Aborted,
        c.TL_STATUS_IO => error.Io,
        c.TL_STATUS_FORMAT => error.Format,
        c.TL_STATUS_DEVICE => error.Device,
        c.TL_STATUS_INTERNAL => error.Internal,
        c.TL_STATUS_GROUP => error.Group,
        else => error.UnknownStatus,
    };
}

/// Reports a failure that this binding found itself.
pub fn fail(diagnostics: ?*Diagnostics, comptime code: c.tl_status, comptime fmt: []const u8, args: anytype) Error {
    if (diagnostics) |d| d.set(code, fmt, args);
    comptime std.debug.assert(code != c.TL_STATUS_OK);
    check(code) catch |err| return err;
    unreachable;
}

/// A shape formatted as in the library's messages, "[4, 3]": print it with {f}.
pub const ShapeText = struct {
    ne: []const i64,

    pub fn format(self: ShapeText, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        for (self.ne, 0..) |d, i| try writer.print("{s}{}", .{ if (i == 0) "[" else ", ", d });
        try writer.writeAll(if (self.ne.len == 0) "[]" else "]");
    }
};

/// The library's version, "0.1.0".
pub fn version() [:0]const u8 {
    return std.mem.span(c.tl_version().?);
}

/// The library's ABI version: major * 65536 + minor.
pub fn abiVersion() u32 {
    return c.tl_abi_version();
}

/// Fails if the loaded library does not fit c.zig, instead of crashing later.
pub fn checkAbi(diagnostics: ?*Diagnostics) Error!void {
    return compareAbi(c.TL_ABI_VERSION, abiVersion(), diagnostics);
}

/// The rule of the header's tl_abi_version: the same major and the same or a later minor version.
pub fn compareAbi(wanted: u32, library: u32, diagnostics: ?*Diagnostics) Error!void {
    if (wanted >> 16 == library >> 16 and wanted & 0xffff <= library & 0xffff) return;
    return fail(
        diagnostics,
        c.TL_STATUS_UNAVAILABLE,
        "the tensorlib library has ABI {}.{}, this program needs {}.{} or a later minor version",
        .{ library >> 16, library & 0xffff, wanted >> 16, wanted & 0xffff },
    );
}

/// The tensors that a function of the C library lists, null for one that was left out; the caller frees the slice. The
/// list may grow between two calls, so it repeats until all fit.
pub fn listed(
    allocator: std.mem.Allocator,
    diagnostics: ?*Diagnostics,
    comptime list: anytype,
    from: anytype,
) Error![]?*c.tl_tensor {
    var room: usize = 0;
    while (true) {
        const handles = allocator.alloc(?*c.tl_tensor, room) catch return noListMemory(diagnostics);
        const n = list(from, handles.ptr, handles.len);
        if (n == handles.len) return handles;
        allocator.free(handles);
        room = n;
    }
}

pub fn noListMemory(diagnostics: ?*Diagnostics) Error {
    return fail(diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "list: no memory for the tensors", .{});
}

/// The text that a function has put into the buffer, without its NUL; the function returned the length of the whole
/// text.
pub fn copied(length: usize, buffer: []u8) []u8 {
    return buffer[0..@min(length, buffer.len -| 1)];
}

test "the rule of ABI versions" {
    var diagnostics: Diagnostics = .{};
    try compareAbi(0x10000, 0x10000, &diagnostics);
    try compareAbi(0x10000, 0x10005, &diagnostics);
    try std.testing.expectError(error.Unavailable, compareAbi(0x10005, 0x10000, &diagnostics));
    try std.testing.expectError(error.Unavailable, compareAbi(0x10000, 0x20000, &diagnostics));
    try std.testing.expectError(error.Unavailable, compareAbi(0x20000, 0x10000, &diagnostics));
    try std.testing.expect(std.mem.indexOf(u8, diagnostics.message(), "needs 2.0") != null);
}

test "every status has its own error" {
    var seen: [15]anyerror = undefined;
    for (1..15) |code| {
        check(@intCast(code)) catch |err| {
            for (seen[1..code]) |other| try std.testing.expect(err != other);
            seen[code] = err;
            continue;
        };
        return error.TestUnexpectedResult;
    }
    try check(0);
    try std.testing.expectError(error.UnknownStatus, check(15));
    try std.testing.expectError(error.UnknownStatus, check(-1));
}

test "a long message is cut" {
    var diagnostics: Diagnostics = .{};
    diagnostics.set(c.TL_STATUS_BUSY, "{s}", .{"x" ** 400});
    try std.testing.expectEqual(255, diagnostics.message().len);
}
