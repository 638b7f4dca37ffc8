//! Devices and backends.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Context = @import("context.zig").Context;
const Graph = @import("graph.zig").Graph;
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// Properties of a device; numbers are 0 if unknown.
pub const DeviceProps = struct {
    raw: c.tl_device_props,

    /// Processor or card, for display.
    pub fn description(self: *const DeviceProps) []const u8 {
        return std.mem.sliceTo(&self.raw.description, 0);
    }

    pub fn memoryTotal(self: *const DeviceProps) u64 {
        return self.raw.memory_total;
    }

    pub fn memoryFree(self: *const DeviceProps) u64 {
        return self.raw.memory_free;
    }

    /// CUDA: compute capability, 90 = 9.0.
    pub fn capability(self: *const DeviceProps) i32 {
        return self.raw.capability;
    }

    /// A simulation for tests, not hardware.
    pub fn simulated(self: *const DeviceProps) bool {
        return self.raw.simulated;
    }
};

/// The number of devices, at least 1 for "cpu".
pub fn deviceCount() usize {
    return c.tl_device_count();
}

/// The name for `Backend.init`; null if index is not below `deviceCount`.
pub fn deviceName(index: usize) ?[:0]const u8 {
    return std.mem.span(c.tl_device_name(index) orelse return null);
}

/// The properties of a device. `error.InvalidArgument`: index is not below `deviceCount`.
pub fn deviceProps(index: usize, diagnostics: ?*Diagnostics) Error!DeviceProps {
    var props: DeviceProps = .{ .raw = .{} };
    try status.check(c.tl_device_get_props(index, &props.raw, status.errorOf(diagnostics)));
    return props;
}

/// The number of instruction sets that this CPU can run.
pub fn isaCount() usize {
    return c.tl_isa_count();
}

/// An instruction set, best first, as the environment variable TENSORLIB_ISA takes it; null after the last.
pub fn isaName(index: usize) ?[:0]const u8 {
    return std.mem.span(c.tl_isa_name(index) orelse return null);
}

/// A device opened for computing, with its own threads. It runs one graph at a time and a second caller waits; backends
/// are independent of each other. Contexts made on a backend keep it alive, so it may be released before them.
pub const Backend = struct {
    handle: *c.tl_backend,
    diagnostics: ?*Diagnostics,

    pub const Options = struct {
        /// A name as `deviceName` returns it; case does not matter. "cuda:0+cpu" opens both and joins them, as `join`
        /// does.
        device: [:0]const u8 = "cpu",
        /// Threads for CPU work, including the calling thread; 0 = all that this process may use; at most 1024.
        threads: i32 = 0,
        /// CUDA: allows TF32 for f32 products.
        allow_tf32: bool = false,
        /// Receives messages; must live as long as the backend.
        diagnostics: ?*Diagnostics = null,
    };

    /// Opens a device; the environment variable TENSORLIB_ISA selects an instruction set other than the best.
    ///
    /// `error.InvalidArgument`: the device does not exist, threads are out of range, TENSORLIB_ISA names no instruction
    /// set. `error.Unavailable`: this machine does not have it. `error.OutOfMemory`.
    pub fn init(options: Options) Error!Backend {
        try status.checkAbi(options.diagnostics);
        var params: c.tl_backend_params = undefined;
        c.tl_backend_params_init(&params, @sizeOf(c.tl_backend_params));
        params.n_threads = options.threads;
        params.allow_tf32 = options.allow_tf32;
        var handle: ?*c.tl_backend = null;
        try status.check(c.tl_backend_create(options.device.ptr, &params, &handle, status.errorOf(options.diagnostics)));
        return .{ .handle = handle.?, .diagnostics = options.diagnostics };
    }

    /// Joins backends of different devices into one, which computes graphs whose tensors lie on any of them. Each node
    /// is computed where the fewest bytes have to be copied for it, or where `Tensor.place` says. Leafs stay on their
    /// contexts' devices, and an output ends on its context's device. A context made on the joined backend lies on the
    /// first device. The joined backends stay usable, and may be released before it. Messages go to the diagnostics of
    /// the first.
    ///
    /// `error.InvalidArgument`: no backends or more than 32, two of one device, or one that is joined itself.
    /// `error.OutOfMemory`.
    pub fn join(backends: []const Backend) Error!Backend {
        const diagnostics = if (backends.len > 0) backends[0].diagnostics else null;
        var handles: [32]?*c.tl_backend = undefined;
        for (backends, 0..) |backend, i| {
            if (i < handles.len) handles[i] = backend.handle;
        }
        // The library refuses more than these before it looks at any of them.
        var handle: ?*c.tl_backend = null;
        try status.check(c.tl_backend_join(&handles, backends.len, null, &handle, status.errorOf(diagnostics)));
        return .{ .handle = handle.?, .diagnostics = diagnostics };
    }

    /// The number of devices that the backend computes on: 1 unless it is joined.
    pub fn deviceCount(self: Backend) usize {
        return c.tl_backend_n_devices(self.handle);
    }

    /// The name of a device of the backend, in the order of joining; null if index is not below `deviceCount`. Valid as
    /// long as the backend.
    pub fn deviceAt(self: Backend, index: usize) ?[:0]const u8 {
        return std.mem.span(c.tl_backend_device_at(self.handle, index) orelse return null);
    }

    /// Must not be called from inside the backend's own progress callback.
    pub fn deinit(self: *Backend) void {
        c.tl_backend_free(self.handle);
        self.* = undefined;
    }

    /// The device's name, "cpu"; valid as long as the backend.
    pub fn device(self: Backend) [:0]const u8 {
        return std.mem.span(c.tl_backend_device(self.handle).?);
    }

    /// The instruction set of the CPU kernels, "avx512".
    pub fn isa(self: Backend) [:0]const u8 {
        return std.mem.span(c.tl_backend_isa(self.handle).?);
    }

    /// The number of threads that compute, including the calling thread.
    pub fn threads(self: Backend) usize {
        return @intCast(c.tl_backend_n_threads(self.handle));
    }

    /// Bytes of packed copies of constants, which no context counts. The backend makes a copy when it first computes a
    /// graph that multiplies with the constant; it is freed with the backend or the constant's context.
    pub fn packedMemory(self: Backend) usize {
        return c.tl_backend_packed_memory(self.handle);
    }

    /// Computes the outputs once, in a graph of the first output's context. Make a `Graph`, which keeps its plan, for
    /// several runs. Errors and messages as for `Context.graph` and `Graph.compute`.
    pub fn compute(self: Backend, outputs: []const Tensor) Error!void {
        if (outputs.len == 0)
            return status.fail(self.diagnostics, c.TL_STATUS_INVALID_ARGUMENT, "compute: there is no output", .{});
        const context: Context = .{ .state = outputs[0].state, .diagnostics = outputs[0].diagnostics };
        var graph = try Graph.init(context, outputs);
        defer graph.deinit();
        try graph.compute(self);
    }
};
