//! Reading and writing of GGUF files: metadata and tensors.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// The type of a metadata value; the numbers are the format's.
pub const GgufType = enum(c.tl_gguf_type) {
    u8 = c.TL_GGUF_TYPE_U8,
    i8 = c.TL_GGUF_TYPE_I8,
    u16 = c.TL_GGUF_TYPE_U16,
    i16 = c.TL_GGUF_TYPE_I16,
    u32 = c.TL_GGUF_TYPE_U32,
    i32 = c.TL_GGUF_TYPE_I32,
    f32 = c.TL_GGUF_TYPE_F32,
    bool = c.TL_GGUF_TYPE_BOOL,
    string = c.TL_GGUF_TYPE_STRING,
    array = c.TL_GGUF_TYPE_ARRAY,
    u64 = c.TL_GGUF_TYPE_U64,
    i64 = c.TL_GGUF_TYPE_I64,
    f64 = c.TL_GGUF_TYPE_F64,
    _,

    /// The value type of a Zig number or bool.
    pub fn of(comptime T: type) GgufType {
        return switch (T) {
            u8, i8, u16, i16, u32, i32, f32, u64, i64, f64, bool => @field(GgufType, @typeName(T)),
            else => @compileError("no GGUF value holds " ++ @typeName(T) ++ ": u8 to i64, f32, f64, bool"),
        };
    }
};

/// An opened and checked file; for a shard of a split file, NAME-00001-of-00003.gguf, all shards.
///
/// Names, texts and data that the methods return live until `deinit`. A context with tensors over the file keeps
/// the bytes that they lie in, so the file may be released earlier.
pub const Gguf = struct {
    handle: *c.tl_gguf,
    diagnostics: ?*Diagnostics,

    /// A tensor as the file describes it.
    pub const TensorInfo = struct {
        name: [:0]const u8,
        dtype: Type,
        /// 0 for a scalar.
        n_dims: usize,
        ne: [4]i64,
        /// The tensor's bytes, at any alignment.
        data: []const u8,
    };

    /// Maps a file, which must not be changed while it, or a tensor over it, is in use. `error.Io`: it cannot be
    /// opened; `error.Format`: its contents violate the format, and the message has the offset of the byte.
    pub fn open(path: [:0]const u8, diagnostics: ?*Diagnostics) Error!Gguf {
        var handle: ?*c.tl_gguf = null;
        try status.checkAbi(diagnostics);
        try status.check(c.tl_gguf_open(path.ptr, &handle, status.errorOf(diagnostics)));
        return .{ .handle = handle.?, .diagnostics = diagnostics };
    }

    /// `open` for a file that is read into memory and may change afterwards.
    pub fn openCopy(path: [:0]const u8, diagnostics: ?*Diagnostics) Error!Gguf {
        var handle: ?*c.tl_gguf = null;
        try status.checkAbi(diagnostics);
        try status.check(c.tl_gguf_open_copy(path.ptr, &handle, status.errorOf(diagnostics)));
        return .{ .handle = handle.?, .diagnostics = diagnostics };
    }

    /// `open` for bytes that must stay unchanged until the file and all contexts with tensors over it are gone.
    pub fn openMemory(bytes: []const u8, diagnostics: ?*Diagnostics) Error!Gguf {
        var handle: ?*c.tl_gguf = null;
        try status.checkAbi(diagnostics);
        try status.check(c.tl_gguf_open_memory(bytes.ptr, bytes.len, &handle, status.errorOf(diagnostics)));
        return .{ .handle = handle.?, .diagnostics = diagnostics };
    }

    /// `openMemory` for bytes that are copied.
    pub fn openMemoryCopy(bytes: []const u8, diagnostics: ?*Diagnostics) Error!Gguf {
        var handle: ?*c.tl_gguf = null;
        try status.checkAbi(diagnostics);
        try status.check(c.tl_gguf_open_memory_copy(bytes.ptr, bytes.len, &handle, status.errorOf(diagnostics)));
        return .{ .handle = handle.?, .diagnostics = diagnostics };
    }

    pub fn deinit(self: *Gguf) void {
        c.tl_gguf_free(self.handle);
        self.* = undefined;
    }

    /// The version of the format, 2 or 3.
    pub fn version(self: Gguf) u32 {
        return c.tl_gguf_version(self.handle);
    }

    /// The alignment of tensors: their offsets are multiples of it.
    pub fn alignment(self: Gguf) usize {
        return c.tl_gguf_alignment(self.handle);
    }

    /// The number of shards, 1 for a file that is not split.
    pub fn nParts(self: Gguf) usize {
        return c.tl_gguf_n_parts(self.handle);
    }

    pub fn nKeys(self: Gguf) usize {
        return c.tl_gguf_n_kv(self.handle);
    }

    /// A key's name; `index` is below `nKeys`.
    pub fn key(self: Gguf, index: usize) [:0]const u8 {
        return std.mem.span(c.tl_gguf_key(self.handle, index).?);
    }

    pub fn has(self: Gguf, name: [:0]const u8) bool {
        return c.tl_gguf_find(self.handle, name.ptr) >= 0;
    }

    /// The type of a key's value; null if the key does not exist.
    pub fn typeOf(self: Gguf, name: [:0]const u8) ?GgufType {
        const index = std.math.cast(usize, c.tl_gguf_find(self.handle, name.ptr)) orelse return null;
        return @enumFromInt(c.tl_gguf_kv_type(self.handle, index));
    }

    /// A value as T: u64 and i64 accept integers of any type if they fit, f64 accepts floats and integers that it
    /// represents exactly, bool accepts bools, []const u8 accepts strings. `error.TypeMismatch`: another value;
    /// `error.InvalidArgument`: the key does not exist.
    pub fn get(self: Gguf, comptime T: type, name: [:0]const u8) Error!T {
        const index = try self.find(name);
        if (T == []const u8) {
            var text: ?[*]const u8 = null;
            var size: usize = 0;
            try status.check(c.tl_gguf_get_string(self.handle, index, &text, &size, self.err()));
            return text.?[0..size];
        }
        const getter = switch (T) {
            u64 => c.tl_gguf_get_u64,
            i64 => c.tl_gguf_get_i64,
            f64 => c.tl_gguf_get_f64,
            bool => c.tl_gguf_get_bool,
            else => @compileError("get: " ++ @typeName(T) ++ ": u64, i64, f64, bool and []const u8 are valid"),
        };
        var out: T = undefined;
        try status.check(getter(self.handle, index, &out, self.err()));
        return out;
    }

    /// The number of an array's elements. `error.TypeMismatch`: the value is not an array.
    pub fn arrayLen(self: Gguf, name: [:0]const u8) Error!usize {
        const index = try self.find(name);
        if (c.tl_gguf_array_type(self.handle, index) < 0) return status.fail(
            self.diagnostics,
            c.TL_STATUS_TYPE_MISMATCH,
            "gguf: '{s}' is no array",
            .{name},
        );
        return @intCast(c.tl_gguf_array_n(self.handle, index));
    }

    /// Copies elements of an array whose type is exactly T into `out`, starting at element `first`.
    pub fn readArray(self: Gguf, comptime T: type, name: [:0]const u8, first: usize, out: []T) Error!void {
        const index = try self.find(name);
        const kind = @intFromEnum(GgufType.of(T));
        try status.check(c.tl_gguf_array_read(self.handle, index, kind, first, out.len, out.ptr, self.err()));
    }

    /// One element of an array, converted as `get` converts values.
    pub fn element(self: Gguf, comptime T: type, name: [:0]const u8, i: usize) Error!T {
        const index = try self.find(name);
        if (T == []const u8) {
            var text: ?[*]const u8 = null;
            var size: usize = 0;
            try status.check(c.tl_gguf_array_string(self.handle, index, i, &text, &size, self.err()));
            return text.?[0..size];
        }
        const getter = switch (T) {
            u64 => c.tl_gguf_array_u64,
            i64 => c.tl_gguf_array_i64,
            f64 => c.tl_gguf_array_f64,
            bool => c.tl_gguf_array_bool,
            else => @compileError("element: " ++ @typeName(T) ++ ": u64, i64, f64, bool and []const u8 are valid"),
        };
        var out: T = undefined;
        try status.check(getter(self.handle, index, i, &out, self.err()));
        return out;
    }

    pub fn nTensors(self: Gguf) usize {
        return c.tl_gguf_n_tensors(self.handle);
    }

    /// A tensor's description; `index` is below `nTensors`.
    pub fn tensorInfo(self: Gguf, index: usize) TensorInfo {
        var ne: [4]i64 = undefined;
        for (&ne, 0..) |*d, i| d.* = c.tl_gguf_tensor_ne(self.handle, index, @intCast(i));
        const data: [*]const u8 = @ptrCast(c.tl_gguf_tensor_data(self.handle, index).?);
        return .{
            .name = std.mem.span(c.tl_gguf_tensor_name(self.handle, index).?),
            .dtype = @enumFromInt(c.tl_gguf_tensor_type(self.handle, index)),
            .n_dims = @intCast(c.tl_gguf_tensor_n_dims(self.handle, index)),
            .ne = ne,
            .data = data[0..c.tl_gguf_tensor_nbytes(self.handle, index)],
        };
    }

    /// The index of a tensor; null if there is none with that name.
    pub fn findTensor(self: Gguf, name: [:0]const u8) ?usize {
        return std.math.cast(usize, c.tl_gguf_tensor_find(self.handle, name.ptr));
    }

    fn find(self: Gguf, name: [:0]const u8) Error!usize {
        return std.math.cast(usize, c.tl_gguf_find(self.handle, name.ptr)) orelse
            status.fail(self.diagnostics, c.TL_STATUS_INVALID_ARGUMENT, "gguf: no key '{s}'", .{name});
    }

    fn err(self: Gguf) ?*c.tl_error {
        return status.errorOf(self.diagnostics);
    }
};

/// A file being written: first declare keys and tensors, then write the data. It appears under its name only in
/// `finish`; releasing the writer earlier leaves an existing file as it was. One thread at a time.
pub const GgufWriter = struct {
    handle: *c.tl_gguf_writer,
    diagnostics: ?*Diagnostics,

    pub const Options = struct {
        /// The version of the format: 2 or 3.
        version: u32 = 3,
        /// The alignment of tensors: their offsets become multiples of it. A power of two, at least 8.
        alignment: u32 = 32,
        /// The most bytes per file; more data go to further shards. 0 = one file.
        split_size: u64 = 0,
        diagnostics: ?*Diagnostics = null,
    };

    /// `error.Io`: no file can be made in that folder. `error.InvalidArgument`: invalid options.
    pub fn init(path: [:0]const u8, options: Options) Error!GgufWriter {
        var params: c.tl_gguf_writer_params = undefined;
        var handle: ?*c.tl_gguf_writer = null;
        try status.checkAbi(options.diagnostics);
        c.tl_gguf_writer_params_init(&params, @sizeOf(c.tl_gguf_writer_params));
        params.version = options.version;
        params.alignment = options.alignment;
        params.split_size = options.split_size;
        try status.check(c.tl_gguf_writer_create(path.ptr, &params, &handle, status.errorOf(options.diagnostics)));
        return .{ .handle = handle.?, .diagnostics = options.diagnostics };
    }

    pub fn deinit(self: *GgufWriter) void {
        c.tl_gguf_writer_free(self.handle);
        self.* = undefined;
    }

    /// Sets a key to a number or bool of exactly T. `error.InvalidArgument`: the key is already set, has an invalid
    /// name or belongs to the writer, or data were already written. All setters return these errors.
    pub fn set(self: GgufWriter, comptime T: type, key: [:0]const u8, value: T) Error!void {
        const setter = switch (T) {
            u8 => c.tl_gguf_writer_set_u8,
            i8 => c.tl_gguf_writer_set_i8,
            u16 => c.tl_gguf_writer_set_u16,
            i16 => c.tl_gguf_writer_set_i16,
            u32 => c.tl_gguf_writer_set_u32,
            i32 => c.tl_gguf_writer_set_i32,
            u64 => c.tl_gguf_writer_set_u64,
            i64 => c.tl_gguf_writer_set_i64,
            f32 => c.tl_gguf_writer_set_f32,
            f64 => c.tl_gguf_writer_set_f64,
            bool => c.tl_gguf_writer_set_bool,
            else => @compileError("set: " ++ @typeName(T) ++ ": u8 to i64, f32, f64 and bool are valid"),
        };
        try status.check(setter(self.handle, key.ptr, value, self.err()));
    }

    pub fn setString(self: GgufWriter, key: [:0]const u8, text: []const u8) Error!void {
        try status.check(c.tl_gguf_writer_set_string(self.handle, key.ptr, text.ptr, text.len, self.err()));
    }

    pub fn setArray(self: GgufWriter, comptime T: type, key: [:0]const u8, values: []const T) Error!void {
        const kind = @intFromEnum(GgufType.of(T));
        try status.check(c.tl_gguf_writer_set_array(self.handle, key.ptr, kind, values.ptr, values.len, self.err()));
    }

    pub fn setStrings(self: GgufWriter, key: [:0]const u8, texts: []const [:0]const u8) Error!void {
        const allocator = std.heap.c_allocator;
        const pointers = allocator.alloc(?[*]const u8, texts.len) catch return self.noMemory();
        defer allocator.free(pointers);
        const sizes = allocator.alloc(usize, texts.len) catch return self.noMemory();
        defer allocator.free(sizes);
        for (texts, pointers, sizes) |text, *pointer, *size| {
            pointer.* = text.ptr;
            size.* = text.len;
        }
        try status.check(c.tl_gguf_writer_set_string_array(
            self.handle,
            key.ptr,
            pointers.ptr,
            sizes.ptr,
            texts.len,
            self.err(),
        ));
    }

    /// Copies all keys of a file except those that are already set, general.alignment and split.*.
    pub fn copyKeys(self: GgufWriter, file: Gguf) Error!void {
        try status.check(c.tl_gguf_writer_copy_kv(self.handle, file.handle, self.err()));
    }

    /// Adds a tensor under its own name; its data are read by `finish`, or earlier by a `write` for a tensor after
    /// it.
    pub fn add(self: GgufWriter, tensor: Tensor) Error!void {
        try status.check(c.tl_gguf_writer_add_tensor(self.handle, tensor.handle, self.err()));
    }

    /// Declares a tensor whose data `write` supplies, after the data of earlier ones. An empty ne is a scalar.
    pub fn declare(self: GgufWriter, name: [:0]const u8, dtype: Type, ne: []const i64) Error!void {
        const n_dims = std.math.cast(i32, ne.len) orelse std.math.maxInt(i32);
        try status.check(c.tl_gguf_writer_declare_tensor(
            self.handle,
            name.ptr,
            @intFromEnum(dtype),
            n_dims,
            ne.ptr,
            self.err(),
        ));
    }

    /// Writes the next bytes of the first declared tensor that is incomplete. `error.InvalidArgument`: more bytes
    /// than it lacks.
    pub fn write(self: GgufWriter, data: []const u8) Error!void {
        try status.check(c.tl_gguf_writer_write_data(self.handle, data.ptr, data.len, self.err()));
    }

    /// Writes the remaining data, flushes them to the disk and gives the file its name. `error.InvalidArgument`: a
    /// tensor lacks data or is not computed; `error.Busy`: one is in use. It may be called again after either.
    pub fn finish(self: GgufWriter) Error!void {
        try status.check(c.tl_gguf_writer_finish(self.handle, self.err()));
    }

    /// The number of shards; 0 before data were written.
    pub fn nParts(self: GgufWriter) usize {
        return c.tl_gguf_writer_n_parts(self.handle);
    }

    fn err(self: GgufWriter) ?*c.tl_error {
        return status.errorOf(self.diagnostics);
    }

    fn noMemory(self: GgufWriter) Error {
        return status.fail(self.diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "no memory for a list of texts", .{});
    }
};
