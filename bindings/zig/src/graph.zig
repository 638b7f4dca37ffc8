//! Graphs: the nodes to compute, and their order.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Backend = @import("backend.zig").Backend;
const Context = @import("context.zig").Context;
const State = @import("context.zig").State;
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// The context of the graph that this thread computes, for the tensors that its observer gets.
threadlocal var state_of_run: ?*State = null;

/// The nodes that some outputs need, in an order in which they can be computed. Immutable; it can be computed any
/// number of times, with new values in its leafs. Keeps the memory of all contexts that it reaches alive.
pub const Graph = struct {
    handle: *c.tl_graph,
    state: *State,
    diagnostics: ?*Diagnostics,

    /// Builds the graph: post-order from each output in turn, every tensor once. `context` owns the graph's memory.
    /// `error.InvalidArgument`: no output. `error.ContextMismatch`: different devices. `error.OutOfMemory`.
    pub fn init(context: Context, outputs: []const Tensor) Error!Graph {
        return build(context, outputs, null);
    }

    /// Builds a graph whose intermediates take at most `memory` bytes, not counting kernels' workspaces. To stay within
    /// the limit, nodes that gradients read are recomputed instead of kept, cheap ones first. Results have the same
    /// bits; `planText` lists the nodes that run twice. `error.OutOfMemory` also if no plan within `memory` is found:
    /// the message has the fewest bytes for which one was found.
    pub fn initWithin(context: Context, outputs: []const Tensor, memory: usize) Error!Graph {
        return build(context, outputs, memory);
    }

    fn build(context: Context, outputs: []const Tensor, memory: ?usize) Error!Graph {
        const handles = try context.handlesOf(outputs);
        defer context.state.allocator.free(handles);
        var handle: ?*c.tl_graph = null;
        // Locked, because this call too would take the error that another thread's constructor has just left.
        context.state.lock();
        defer context.state.unlock();
        const err = status.errorOf(context.diagnostics);
        const owner = context.state.handle;
        try status.check(if (memory) |bytes|
            c.tl_graph_create_within(owner, handles.ptr, handles.len, bytes, &handle, err)
        else
            c.tl_graph_create(owner, handles.ptr, handles.len, &handle, err));
        return .{ .handle = handle.?, .state = context.state, .diagnostics = context.diagnostics };
    }

    /// The outputs' data stay with their contexts.
    pub fn deinit(self: *Graph) void {
        c.tl_graph_free(self.handle);
        self.* = undefined;
    }

    /// The number of nodes, including views.
    pub fn nNodes(self: Graph) usize {
        return c.tl_graph_n_nodes(self.handle);
    }

    pub fn nLeafs(self: Graph) usize {
        return c.tl_graph_n_leafs(self.handle);
    }

    /// The nodes in the order of computation, including views. A node that is recomputed for gradients (`initWithin`)
    /// appears once for each time it is computed. The caller frees the slice. The graph's context must still exist, and
    /// its tensors' contexts when they are used.
    pub fn listNodes(self: Graph, allocator: std.mem.Allocator) Error![]Tensor {
        return self.listed(allocator, c.tl_graph_nodes);
    }

    /// The leafs that the nodes read or write, under the conditions of `listNodes`.
    pub fn listLeafs(self: Graph, allocator: std.mem.Allocator) Error![]Tensor {
        return self.listed(allocator, c.tl_graph_leafs);
    }

    /// The outputs in the order in which they were given, under the conditions of `listNodes`.
    pub fn listOutputs(self: Graph, allocator: std.mem.Allocator) Error![]Tensor {
        return self.listed(allocator, c.tl_graph_outputs);
    }

    fn listed(self: Graph, allocator: std.mem.Allocator, comptime list: anytype) Error![]Tensor {
        const context: Context = .{ .state = self.state, .diagnostics = self.diagnostics };
        return context.listed(allocator, list, self.handle);
    }

    /// Computes the graph and returns when the results are complete. The first run on a backend makes a plan, which
    /// later runs reuse.
    ///
    /// `error.InvalidArgument`: a leaf has no data yet. `error.ContextMismatch`: the data live on another device.
    /// `error.Unsupported`: no kernel of the backend supports a node. `error.Busy`: a context is in use, or the call
    /// comes from the backend's own callback. `error.Aborted`: the callback stopped the run. `error.Unavailable`: in a
    /// forked child. `error.OutOfMemory`. After an error the outputs count as not computed.
    pub fn compute(self: Graph, backend: Backend) Error!void {
        const outer = state_of_run; // a callback may compute another graph
        state_of_run = self.state;
        defer state_of_run = outer;
        try status.check(c.tl_graph_compute(self.handle, backend.handle, status.errorOf(self.diagnostics)));
    }

    /// Makes future runs call `function(user, done, total)` on the thread that computes, after each node and on the CPU
    /// about every 10 ms while a node takes longer. It returns whether to continue; if not, `compute` fails with
    /// `error.Aborted`. After the last node the answer has no effect, as the results are complete. `user` is a pointer
    /// that must live until the callback is replaced or the graph is freed. `error.Busy`: the graph is being computed.
    pub fn setProgress(
        self: Graph,
        user: anytype,
        comptime function: fn (@TypeOf(user), done: usize, total: usize) bool,
    ) Error!void {
        const Trampoline = struct {
            fn call(data: ?*anyopaque, done: usize, total: usize) callconv(.c) bool {
                return function(@ptrCast(@alignCast(data)), done, total);
            }
        };
        const data: ?*anyopaque = @ptrCast(@constCast(user));
        try status.check(c.tl_graph_set_progress(self.handle, Trampoline.call, data, status.errorOf(self.diagnostics)));
    }

    /// Removes the callback. `error.Busy`: the graph is being computed.
    pub fn clearProgress(self: Graph) Error!void {
        try status.check(c.tl_graph_set_progress(self.handle, null, null, status.errorOf(self.diagnostics)));
    }

    /// Makes future runs call `function(user, node, done, total)` with each node that computes something, when its
    /// result is complete, on the thread that computes. Until it returns, `Tensor.read` and similar functions can read
    /// the node's result on this thread, even if it is an intermediate; other tensors of a context that the run writes
    /// are `error.Busy`. Views have no result of their own. Each node runs separately, which is slower and gives the
    /// same bits. The observer returns whether to continue, as for `setProgress`. `user` is a pointer that must live
    /// until the observer is replaced or the graph is freed. `error.Busy`: the graph is being computed.
    pub fn setObserver(
        self: Graph,
        user: anytype,
        comptime function: fn (@TypeOf(user), node: Tensor, done: usize, total: usize) bool,
    ) Error!void {
        const Trampoline = struct {
            fn call(data: ?*anyopaque, node: ?*c.tl_tensor, done: usize, total: usize) callconv(.c) bool {
                // Discards messages, because another thread may be using the graph's diagnostics.
                const shown: Tensor = .{ .handle = node.?, .state = state_of_run.?, .diagnostics = null };
                return function(@ptrCast(@alignCast(data)), shown, done, total);
            }
        };
        const data: ?*anyopaque = @ptrCast(@constCast(user));
        try status.check(c.tl_graph_set_observer(self.handle, Trampoline.call, data, status.errorOf(self.diagnostics)));
    }

    /// Removes the observer. `error.Busy`: the graph is being computed.
    pub fn clearObserver(self: Graph) Error!void {
        try status.check(c.tl_graph_set_observer(self.handle, null, null, status.errorOf(self.diagnostics)));
    }

    /// Makes future runs check each result and fail with `error.InvalidArgument` at the first that has a NaN, or an
    /// infinity although no operand has one; the message names the operation, tensor, element and value. Infinities of
    /// leafs, of diagMaskInf, of an infinite fill and of results computed from them count as intended. Each node runs
    /// separately and its result is read, which is slow and gives the same bits. `error.Busy`: the graph is being
    /// computed.
    pub fn setCheckFinite(self: Graph, on: bool) Error!void {
        try status.check(c.tl_graph_set_check_finite(self.handle, on, status.errorOf(self.diagnostics)));
    }

    /// Makes future runs batch-invariant: each column of mulMat and mulMatId, and each query of flashAttnExt and
    /// pagedAttention, has the bits that it has if it is computed alone, however many are computed with it. A query's bits do not depend on keys
    /// that its mask hides either. Operations that take each row by itself are always batch-invariant. Prompts are
    /// slower, single columns hardly. `error.Busy`: the graph is being computed. Computing it then gives
    /// `error.Unsupported` on a backend other than the CPU, and for mulMatSparse, axpy and sparseFfn.
    pub fn setBatchInvariant(self: Graph, on: bool) Error!void {
        try status.check(c.tl_graph_set_batch_invariant(self.handle, on, status.errorOf(self.diagnostics)));
    }

    /// The graph in Graphviz's DOT language; the caller frees it.
    pub fn dot(self: Graph, allocator: std.mem.Allocator) Error![]u8 {
        const text = try self.textAlloc(allocator, c.tl_graph_dot, .{self.handle}, .{});
        if (text.len > 0) return text;
        return self.noMemory();
    }

    /// The plan for a backend as text, a line per node: kernel, threads, memory, and why better kernels refused; the
    /// caller frees it. Errors as for `compute`.
    pub fn planText(self: Graph, backend: Backend, allocator: std.mem.Allocator) Error![]u8 {
        var failure: c.tl_error = .{};
        const text = try self.textAlloc(allocator, c.tl_graph_plan_text, .{ self.handle, backend.handle }, .{&failure});
        errdefer allocator.free(text);
        if (self.diagnostics) |d| d.raw = failure;
        try status.check(failure.code);
        return text;
    }

    /// Bytes that computing the graph takes on each device of the backend, in the order of joining: leafs and outputs
    /// there, intermediates, workspace, transfers to the device, packed copies of constants. The caller frees them.
    /// Leafs need no data. Errors as for `compute`.
    pub fn planBytes(self: Graph, backend: Backend, allocator: std.mem.Allocator) Error![]usize {
        const bytes = allocator.alloc(usize, backend.deviceCount()) catch return self.noMemory();
        errdefer allocator.free(bytes);
        try status.check(c.tl_graph_plan_bytes(self.handle, backend.handle, bytes.ptr, bytes.len, status.errorOf(self.diagnostics)));
        return bytes;
    }

    /// Gets a text from a function that returns the length it needs. The text may grow between two calls (another
    /// thread names a tensor), so it repeats until the text fits.
    fn textAlloc(
        self: Graph,
        allocator: std.mem.Allocator,
        comptime get: anytype,
        before: anytype,
        after: anytype,
    ) Error![]u8 {
        var room: usize = 0;
        while (true) {
            const text = allocator.alloc(u8, room) catch return self.noMemory();
            const length = @call(.auto, get, before ++ .{ text.ptr, text.len } ++ after);
            if (length < text.len or length == 0) {
                errdefer allocator.free(text);
                return allocator.realloc(text, length) catch return self.noMemory();
            }
            allocator.free(text);
            room = length + 1;
        }
    }

    fn noMemory(self: Graph) Error {
        return status.fail(self.diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "graph: no memory for the text", .{});
    }
};
