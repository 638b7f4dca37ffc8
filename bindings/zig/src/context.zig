//! Contexts: the memory of tensors, and the constructors of all operations.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const op_functions = @import("gen/op_functions.zig");
const shapes = @import("shapes.zig");
const Attr = @import("attr.zig").Attr;
const Backend = @import("backend.zig").Backend;
const Gguf = @import("gguf.zig").Gguf;
const Graph = @import("graph.zig").Graph;
const Tensor = @import("tensor.zig").Tensor;
const Type = @import("types.zig").Type;
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// State shared by the copies of a context's handle and its tensors.
pub const State = struct {
    handle: *c.tl_context,
    allocator: std.mem.Allocator,
    /// Held over a constructor and the reading of its error, so that each thread gets its own error.
    mutex: std.c.pthread_mutex_t = .{},

    pub fn lock(self: *State) void {
        std.debug.assert(std.c.pthread_mutex_lock(&self.mutex) == .SUCCESS);
    }

    pub fn unlock(self: *State) void {
        std.debug.assert(std.c.pthread_mutex_unlock(&self.mutex) == .SUCCESS);
    }
};

/// An arena that owns tensors and their data and frees them together.
///
/// The operations are methods of the context that owns the result; only graphs compute them. Operands may belong to
/// other contexts of the same device, whose memory is then kept alive. They fail with `error.ShapeMismatch`,
/// `error.TypeMismatch`, `error.ContextMismatch`, `error.InvalidArgument` and `error.OutOfMemory`.
pub const Context = struct {
    state: *State,
    diagnostics: ?*Diagnostics,

    pub const Options = struct {
        /// The most bytes that objects and data may take together; 0 = no limit.
        mem_limit: usize = 0,
        /// Memory to use instead of the context's own; the context never grows beyond it. It must stay valid until the
        /// context and everything that refers to it are gone, and must not be touched.
        mem_buffer: ?[]u8 = null,
        /// Makes tensors without data; `allocate` gives leafs their data.
        no_alloc: bool = false,
        /// The backend on whose device the data live; null = host memory. The context keeps the backend alive.
        backend: ?Backend = null,
        /// For the handle's own few bytes, and for lists during a call. Threads that share the context share it.
        allocator: std.mem.Allocator = std.heap.c_allocator,
        /// Receives messages; must live as long as the context and its tensors.
        diagnostics: ?*Diagnostics = null,
    };

    /// Any limit is accepted; tensors that do not fit fail later. `error.OutOfMemory`, `error.Unavailable` (the library
    /// is too old).
    pub fn init(options: Options) Error!Context {
        try status.checkAbi(options.diagnostics);
        var params: c.tl_context_params = undefined;
        c.tl_context_params_init(&params, @sizeOf(c.tl_context_params));
        params.mem_limit = options.mem_limit;
        if (options.mem_buffer) |buffer| {
            params.mem_buffer = buffer.ptr;
            params.mem_buffer_size = buffer.len;
        }
        params.no_alloc = options.no_alloc;
        if (options.backend) |backend| params.backend = backend.handle;
        const state = options.allocator.create(State) catch
            return status.fail(options.diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "context: no memory for the handle", .{});
        errdefer options.allocator.destroy(state);
        var handle: ?*c.tl_context = null;
        try status.check(c.tl_context_create(&params, &handle, status.errorOf(options.diagnostics)));
        state.* = .{ .handle = handle.?, .allocator = options.allocator };
        return .{ .state = state, .diagnostics = options.diagnostics };
    }

    /// The context's tensors must not be used any more; graphs and other contexts that refer to its memory keep that
    /// alive and stay usable.
    pub fn deinit(self: *Context) void {
        const allocator = self.state.allocator;
        c.tl_context_free(self.state.handle);
        _ = std.c.pthread_mutex_destroy(&self.state.mutex);
        allocator.destroy(self.state);
        self.* = undefined;
    }

    /// A handle to this context with other diagnostics, for another thread. Tensors made with it inherit them. Call
    /// `deinit` for only one of the handles.
    pub fn withDiagnostics(self: Context, diagnostics: ?*Diagnostics) Context {
        return .{ .state = self.state, .diagnostics = diagnostics };
    }

    /// Bytes in use by objects, data, and plans that are kept for graphs of the same structure.
    pub fn usedMemory(self: Context) usize {
        return c.tl_context_used_memory(self.state.handle);
    }

    /// The most bytes that were in use at any time.
    pub fn peakMemory(self: Context) usize {
        return c.tl_context_peak_memory(self.state.handle);
    }

    /// Makes calls wait for data that other threads use, instead of failing immediately with `error.Busy`. A call about
    /// this context, one of its tensors or a graph whose memory is here waits up to `nanoseconds`; `Graph.compute` then
    /// also limits its wait for the backend's turn, which is unlimited otherwise. 0, the default, waits for no lock. A
    /// call that has begun to compute is not stopped. Calls from a callback of a running graph never wait, because they
    /// could wait for themselves.
    pub fn setBusyTimeout(self: Context, nanoseconds: u64) Error!void {
        try status.check(c.tl_context_set_busy_timeout(self.state.handle, nanoseconds, status.errorOf(self.diagnostics)));
    }

    pub fn busyTimeout(self: Context) u64 {
        return c.tl_context_busy_timeout(self.state.handle);
    }

    /// The context's number in messages; later contexts have larger ones.
    pub fn id(self: Context) u64 {
        return c.tl_context_id(self.state.handle);
    }

    /// The context's tensors, leafs and nodes, in the order in which they were made; the caller frees the slice.
    pub fn listTensors(self: Context, allocator: std.mem.Allocator) Error![]Tensor {
        return self.listed(allocator, c.tl_context_tensors, self.state.handle);
    }

    /// The first of the context's tensors with this name; null if there is none. Takes time in proportion to the number
    /// of tensors.
    pub fn find(self: Context, text: [:0]const u8) ?Tensor {
        const handle = c.tl_context_find(self.state.handle, text.ptr) orelse return null;
        return .{ .handle = handle, .state = self.state, .diagnostics = self.diagnostics };
    }

    /// The tensors that a function of the C library lists.
    pub fn listed(self: Context, allocator: std.mem.Allocator, comptime list: anytype, from: anytype) Error![]Tensor {
        const handles = try status.listed(allocator, self.diagnostics, list, from);
        defer allocator.free(handles);
        const found = allocator.alloc(Tensor, handles.len) catch return status.noListMemory(self.diagnostics);
        for (found, handles) |*t, handle| t.* = .{ .handle = handle.?, .state = self.state, .diagnostics = self.diagnostics };
        return found;
    }

    /// Names the context for messages: "context 3 'weights'". UTF-8; the text is copied, null removes the name.
    pub fn setName(self: Context, text: ?[:0]const u8) Error!void {
        const ptr = if (text) |t| t.ptr else null;
        try status.check(c.tl_context_set_name(self.state.handle, ptr, status.errorOf(self.diagnostics)));
    }

    /// Copies as much of the context's name as fits into the buffer, with a NUL; "" if it has none.
    pub fn copyName(self: Context, buffer: []u8) []u8 {
        return status.copied(c.tl_context_name(self.state.handle, buffer.ptr, buffer.len), buffer);
    }

    /// Closes the context for building: from now on new leafs and nodes in it fail with a message that says where to
    /// build instead, so a model does not grow by nodes that were meant for a request's context. `reset` opens it
    /// again.
    pub fn freeze(self: Context) Error!void {
        try status.check(c.tl_context_freeze(self.state.handle, status.errorOf(self.diagnostics)));
    }

    /// Gives data, all zeros, to every leaf of a no_alloc context that has none yet, on the backend's device; null =
    /// the context's own. `error.InvalidArgument`: not a no_alloc context. `error.ContextMismatch`: another device.
    /// `error.OutOfMemory`: no leaf was changed. `error.Busy`.
    pub fn allocate(self: Context, backend: ?Backend) Error!void {
        const on = if (backend) |b| b.handle else null;
        try status.check(c.tl_context_allocate(self.state.handle, on, status.errorOf(self.diagnostics)));
    }

    /// Removes all tensors from the context and keeps its memory; the tensors must not be used any more. `error.Busy`:
    /// a graph or another context refers to it, or it is in use; nothing was changed.
    pub fn reset(self: Context) Error!void {
        try status.check(c.tl_context_reset(self.state.handle, status.errorOf(self.diagnostics)));
    }

    /// Makes a leaf of 1 to 4 dimensions, filled with zeros.
    pub fn tensor(self: Context, dtype: Type, shape: []const i64) Error!Tensor {
        return self.construct(c.tl_tensor_new, .{ @intFromEnum(dtype), dimCount(shape), shape.ptr });
    }

    /// Makes a leaf of T's type that holds a copy of data, shape[0] fastest. `error.InvalidArgument` also if the length
    /// of data does not match the shape, and in a no_alloc context, whose leafs have no memory for data yet.
    pub fn tensorFrom(self: Context, comptime T: type, shape: []const i64, data: []const T) Error!Tensor {
        // Checked before the leaf is made: a leaf that cannot be filled would stay in the arena.
        var n: i64 = 1;
        for (shape) |d| n = if (d < 0) -1 else std.math.mul(i64, n, d) catch -1;
        if (n >= 0 and n != data.len) return status.fail(
            self.diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "tensor: {} values given, the shape {f} has {} elements",
            .{ data.len, status.ShapeText{ .ne = shape }, n },
        );
        const made = try self.tensor(Type.of(T), shape);
        try made.write(T, data);
        return made;
    }

    /// Makes a read-only leaf with the contents and the name of a file's tensor. In host memory it uses the file's
    /// bytes; on a device it is a copy. `error.InvalidArgument`: the tensor does not exist.
    pub fn ggufTensor(self: Context, file: Gguf, name: [:0]const u8) Error!Tensor {
        return self.construct(ggufLeaf, .{ file.handle, name.ptr });
    }

    // Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
    pub const add = op_functions.add;
    pub const sub = op_functions.sub;
    pub const mul = op_functions.mul;
    pub const div = op_functions.div;
    pub const maximum = op_functions.maximum;
    pub const minimum = op_functions.minimum;
    pub const pow = op_functions.pow;
    pub const eq = op_functions.eq;
    pub const ne = op_functions.ne;
    pub const lt = op_functions.lt;
    pub const le = op_functions.le;
    pub const gt = op_functions.gt;
    pub const ge = op_functions.ge;
    pub const add1 = op_functions.add1;
    pub const where = op_functions.where;
    pub const scale = op_functions.scale;
    pub const clamp = op_functions.clamp;
    pub const fill = op_functions.fill;
    pub const maskedFill = op_functions.maskedFill;
    pub const outProd = op_functions.outProd;
    pub const outProdId = op_functions.outProdId;
    pub const solveTri = op_functions.solveTri;
    pub const transpose = op_functions.transpose;
    pub const stopGradient = op_functions.stopGradient;
    pub const expand = op_functions.expand;
    pub const unsqueeze = op_functions.unsqueeze;
    pub const squeeze = op_functions.squeeze;
    pub const flatten = op_functions.flatten;
    pub const select = op_functions.select;
    pub const result = op_functions.result;
    pub const cont = op_functions.cont;
    pub const cpy = op_functions.cpy;
    pub const dup = op_functions.dup;
    pub const getRows = op_functions.getRows;
    pub const setRows = op_functions.setRows;
    pub const indexSelect = op_functions.indexSelect;
    pub const abs = op_functions.abs;
    pub const neg = op_functions.neg;
    pub const sqr = op_functions.sqr;
    pub const sqrt = op_functions.sqrt;
    pub const log = op_functions.log;
    pub const exp = op_functions.exp;
    pub const expm1 = op_functions.expm1;
    pub const sin = op_functions.sin;
    pub const cos = op_functions.cos;
    pub const sgn = op_functions.sgn;
    pub const step = op_functions.step;
    pub const floor = op_functions.floor;
    pub const ceil = op_functions.ceil;
    pub const round = op_functions.round;
    pub const trunc = op_functions.trunc;
    pub const erf = op_functions.erf;
    pub const relu = op_functions.relu;
    pub const sigmoid = op_functions.sigmoid;
    pub const tanh = op_functions.tanh;
    pub const elu = op_functions.elu;
    pub const softplus = op_functions.softplus;
    pub const silu = op_functions.silu;
    pub const gelu = op_functions.gelu;
    pub const geluErf = op_functions.geluErf;
    pub const geluQuick = op_functions.geluQuick;
    pub const hardswish = op_functions.hardswish;
    pub const hardsigmoid = op_functions.hardsigmoid;
    pub const leakyRelu = op_functions.leakyRelu;
    pub const xielu = op_functions.xielu;
    pub const glu = op_functions.glu;
    pub const norm = op_functions.norm;
    pub const rmsNorm = op_functions.rmsNorm;
    pub const l2Norm = op_functions.l2Norm;
    pub const groupNorm = op_functions.groupNorm;
    pub const softMax = op_functions.softMax;
    pub const softMaxExt = op_functions.softMaxExt;
    pub const logSoftMax = op_functions.logSoftMax;
    pub const rope = op_functions.rope;
    pub const flashAttnExt = op_functions.flashAttnExt;
    pub const pagedAttention = op_functions.pagedAttention;
    pub const sum = op_functions.sum;
    pub const sumRows = op_functions.sumRows;
    pub const mean = op_functions.mean;
    pub const cumsum = op_functions.cumsum;
    pub const argmax = op_functions.argmax;
    pub const argsort = op_functions.argsort;
    pub const topK = op_functions.topK;
    pub const countEqual = op_functions.countEqual;
    pub const crossEntropyLoss = op_functions.crossEntropyLoss;
    pub const max = op_functions.max;
    pub const min = op_functions.min;
    pub const argmin = op_functions.argmin;
    pub const variance = op_functions.variance;
    pub const stdDev = op_functions.stdDev;
    pub const prod = op_functions.prod;
    pub const any = op_functions.any;
    pub const all = op_functions.all;
    pub const logSumExp = op_functions.logSumExp;
    pub const repeat = op_functions.repeat;
    pub const concat = op_functions.concat;
    pub const pad = op_functions.pad;
    pub const padReflect1d = op_functions.padReflect1d;
    pub const roll = op_functions.roll;
    pub const diag = op_functions.diag;
    pub const tri = op_functions.tri;
    pub const diagMaskInf = op_functions.diagMaskInf;
    pub const diagMaskZero = op_functions.diagMaskZero;
    pub const acc = op_functions.acc;
    pub const set = op_functions.set;
    pub const gather = op_functions.gather;
    pub const addId = op_functions.addId;
    pub const arange = op_functions.arange;
    pub const scatterAdd = op_functions.scatterAdd;
    pub const flip = op_functions.flip;
    pub const oneHot = op_functions.oneHot;
    pub const eye = op_functions.eye;
    pub const linspace = op_functions.linspace;
    pub const timestepEmbedding = op_functions.timestepEmbedding;
    pub const upscale = op_functions.upscale;
    pub const pool1d = op_functions.pool1d;
    pub const pool2d = op_functions.pool2d;
    pub const im2col = op_functions.im2col;
    pub const conv1d = op_functions.conv1d;
    pub const conv2d = op_functions.conv2d;
    pub const conv1dDw = op_functions.conv1dDw;
    pub const conv2dDw = op_functions.conv2dDw;
    pub const convTranspose1d = op_functions.convTranspose1d;
    pub const convTranspose2d = op_functions.convTranspose2d;
    pub const im2col3d = op_functions.im2col3d;
    pub const conv3d = op_functions.conv3d;
    pub const col2im1d = op_functions.col2im1d;
    pub const ssmConv = op_functions.ssmConv;
    pub const randomUniform = op_functions.randomUniform;
    pub const randomNormal = op_functions.randomNormal;
    pub const dropout = op_functions.dropout;
    pub const optStepSgd = op_functions.optStepSgd;
    pub const optStepMomentum = op_functions.optStepMomentum;
    pub const optStepAdamw = op_functions.optStepAdamw;
    pub const optStepLion = op_functions.optStepLion;
    pub const mulMatSparse = op_functions.mulMatSparse;
    pub const axpy = op_functions.axpy;
    pub const sparseFfn = op_functions.sparseFfn;
    pub const bitwiseAnd = op_functions.bitwiseAnd;
    pub const bitwiseOr = op_functions.bitwiseOr;
    pub const bitwiseXor = op_functions.bitwiseXor;
    pub const bitwiseNot = op_functions.bitwiseNot;
    pub const shiftLeft = op_functions.shiftLeft;
    pub const shiftRight = op_functions.shiftRight;
    pub const logicalAnd = op_functions.logicalAnd;
    pub const logicalOr = op_functions.logicalOr;
    pub const logicalXor = op_functions.logicalXor;
    pub const logicalNot = op_functions.logicalNot;
    pub const winPart = op_functions.winPart;
    pub const winUnpart = op_functions.winUnpart;
    pub const getRelPos = op_functions.getRelPos;
    pub const addRelPos = op_functions.addRelPos;
    pub const gatedDeltaNet = op_functions.gatedDeltaNet;
    pub const ssmScan = op_functions.ssmScan;
    pub const rwkvWkv6 = op_functions.rwkvWkv6;
    pub const rwkvWkv7 = op_functions.rwkvWkv7;
    pub const gatedLinearAttn = op_functions.gatedLinearAttn;
    pub const allSum = op_functions.allSum;
    pub const allMax = op_functions.allMax;
    pub const allGather = op_functions.allGather;
    pub const sumScatter = op_functions.sumScatter;
    pub const broadcast = op_functions.broadcast;
    pub const allToAll = op_functions.allToAll;
    pub const send = op_functions.send;
    pub const receive = op_functions.receive;
    pub const copyToGroup = op_functions.copyToGroup;
    // End of what `cargo xtask ops` writes.

    /// The matrix product: a {k, m, x, y} and b {k, n, X, Y} give f32 {m, n, X, Y}, each element the dot product of a
    /// row of a and a row of b. X must be a multiple of x and Y of y.
    ///
    /// If a is quantised, b may be rounded to 8 bits with a scale for each 32 elements along k. An element of the
    /// result is then off by up to the sum over k of |a| * h, in addition to f32's own rounding. h is a 127th of the
    /// larger of two values: the largest |b| of the 32 elements, and a 16th of the largest |b| of the 256 elements
    /// around them. Q2_0 uses 64 elements instead of 32, Q1_0 128, TQ1_0 and TQ2_0 256. A single column may be rounded
    /// to 16 bits instead. If a is bf16, b may be rounded to bf16, by up to 2^-8 of an element. `mulMatExact` does not
    /// round. The bits may depend on n and, for an f32, f16 or bf16 a, on whether a is constant.
    pub fn mulMat(self: Context, a: Tensor, b: Tensor) Error!Tensor {
        return self.construct(c.tl_mul_mat, .{ a.handle, b.handle });
    }

    /// `mulMat` without rounding of b: only sums round, in f32. Shapes and types are those of `mulMat`. It is slower
    /// where `mulMat` rounds b (on the CPU: quantised weights on avx512 and avx2, bf16 on avx512); elsewhere the two
    /// are equal.
    pub fn mulMatExact(self: Context, a: Tensor, b: Tensor) Error!Tensor {
        return self.construct(c.tl_mul_mat_exact, .{ a.handle, b.handle });
    }

    /// Multiplies each column by the matrix that an index selects (a mixture of experts): a {k, m, experts}, b {k, x,
    /// tokens} and ids {used, tokens} of i32 or i64 give f32 {m, used, tokens}; x divides used. Column (u, t) is the
    /// product of the expert ids[u, t] and b's column (u mod x, t). Types and the rounding of b are those of `mulMat`;
    /// `op` with the attribute exact = 1 avoids the rounding. The index -1 gives zeros; computing fails for any other
    /// index without an expert.
    pub fn mulMatId(self: Context, a: Tensor, b: Tensor, ids: Tensor) Error!Tensor {
        return self.construct(c.tl_mul_mat_id, .{ a.handle, b.handle, ids.handle });
    }

    /// A window into a's memory: a shape, strides nb in bytes of the dimensions from 1 on (one value less than the
    /// shape has; null = contiguous), and offset, in bytes from a's first element. Its rows may overlap, so strides
    /// given in elements by mistake are accepted too; `narrow` and `slice` count in elements.
    pub fn view(self: Context, a: Tensor, shape: []const i64, nb: ?[]const usize, offset: usize) Error!Tensor {
        if (nb) |strides| if (strides.len + 1 != shape.len) return status.fail(
            self.diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "view: {} strides for {} dimensions: must be one less, or null",
            .{ strides.len, shape.len },
        );
        const strides = if (nb) |strides| strides.ptr else null;
        return self.construct(c.tl_view, .{ a.handle, dimCount(shape), shape.ptr, strides, offset });
    }

    /// The elements start[d] to start[d] + shape[d] of each of a's dimensions: a view with a's strides. In dimension 0
    /// of a quantised type start and shape are multiples of the block size.
    pub fn slice(self: Context, a: Tensor, start: []const i64, shape: []const i64) Error!Tensor {
        if (start.len != shape.len) return status.fail(
            self.diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "slice: {} starts for {} dimensions: must be as many",
            .{ start.len, shape.len },
        );
        return self.construct(c.tl_slice, .{ a.handle, dimCount(shape), start.ptr, shape.ptr });
    }

    /// `slice` in one dimension, 0 to 3: length elements from start on.
    pub fn narrow(self: Context, a: Tensor, dim: i32, start: i64, length: i64) Error!Tensor {
        return self.construct(c.tl_narrow, .{ a.handle, dim, start, length });
    }

    /// a's elements in another shape of the same size, in the same order. One dimension may be -1: it is computed from
    /// the others. A view: if a is not contiguous, strides must be able to express the new shape; otherwise apply `cont`
    /// first.
    pub fn reshape(self: Context, a: Tensor, shape: []const i64) Error!Tensor {
        return self.construct(c.tl_reshape, .{ a.handle, dimCount(shape), shape.ptr });
    }

    /// Source dimension i becomes dimension axes[i]; axes is a permutation of 0 to 3. A view.
    pub fn permute(self: Context, a: Tensor, axes: [4]i32) Error!Tensor {
        return self.construct(c.tl_permute, .{ a.handle, &axes });
    }

    /// A contiguous copy in another type. Integers convert to integers exactly; f64 and integers convert to each other
    /// rounded to nearest even; everything else goes through f32, rounded to nearest even or as the type is encoded.
    /// Computing fails for a value that the type cannot hold.
    pub fn cast(self: Context, a: Tensor, dtype: Type) Error!Tensor {
        return self.construct(c.tl_cast, .{ a.handle, @intFromEnum(dtype) });
    }

    pub const index = shapes.index;
    pub const cat = shapes.cat;
    pub const stack = shapes.stack;
    pub const einsum = shapes.einsum;
    pub const custom = @import("custom.zig").custom;
    pub const split = shapes.split;
    pub const splitSizes = shapes.splitSizes;
    pub const chunk = shapes.chunk;
    pub const unbind = shapes.unbind;
    pub const meshgrid = shapes.meshgrid;

    /// Makes the node of any operation by name, with its attributes by name: docs/ops.md lists them. An optional
    /// attribute of 0 has its default. Unknown, missing and malformed ones are `error.InvalidArgument`. A null operand
    /// is left out, which is valid for optional ones.
    pub fn op(self: Context, name: [:0]const u8, src: []const ?Tensor, attrs: []const Attr) Error!Tensor {
        const handles = self.state.allocator.alloc(?*c.tl_tensor, src.len) catch return self.noMemory();
        defer self.state.allocator.free(handles);
        for (handles, src) |*to, from| to.* = Tensor.handleOrNone(from);
        const cattrs = self.state.allocator.alloc(c.tl_attr, attrs.len) catch return self.noMemory();
        defer self.state.allocator.free(cattrs);
        for (cattrs, attrs) |*to, from| to.* = from.raw;
        return self.construct(c.tl_op, .{ name.ptr, handles.ptr, handles.len, cattrs.ptr, cattrs.len });
    }

    /// Makes the nodes that compute the gradients of the sum of the outputs `ys` with respect to each tensor of `wrt`:
    /// F32, contiguous, of the shapes of `wrt`, zeros where no output depends on a tensor. The nodes belong to this
    /// context, which is usually that of the youngest output, and can be differentiated again; nothing is computed yet.
    /// The caller frees the list with the context's allocator (`Options.allocator`).
    ///
    /// Outputs and `wrt` are leafs or nodes of F32, F16 or BF16. `seeds` are the gradients that flow into the outputs,
    /// F32 and of their shapes. An output of one element needs no seed: an empty list, or null for it, stands for 1.
    /// Gradients flow along operands: through views, repetitions and conversions, into weights of F32, F16 or BF16, and
    /// through products with quantised weights, which are constants themselves. They end at `stopGradient`, at indices,
    /// and at operands for which an operation defines no gradient. Writes into memory by other means are not tracked.
    ///
    /// `error.InvalidArgument`: no output, no `wrt`, a wrong number of seeds, or an output of more than one element
    /// without a seed. `error.TypeMismatch`, `error.ShapeMismatch`, `error.ContextMismatch`. `error.Unsupported`: some
    /// nodes cannot be differentiated; the message names all of them. `error.OutOfMemory`. A failed call appends no
    /// nodes.
    pub fn gradients(self: Context, ys: []const Tensor, seeds: []const ?Tensor, wrt: []const Tensor) Error![]Tensor {
        if (seeds.len != 0 and seeds.len != ys.len) return status.fail(
            self.diagnostics,
            c.TL_STATUS_INVALID_ARGUMENT,
            "gradients: {} outputs and {} seeds: as many, or none, are valid",
            .{ ys.len, seeds.len },
        );
        const allocator = self.state.allocator;
        const outputs = try self.handlesOf(ys);
        defer allocator.free(outputs);
        const tensors = try self.handlesOf(wrt);
        defer allocator.free(tensors);
        const given = allocator.alloc(?*c.tl_tensor, seeds.len) catch return self.noMemory();
        defer allocator.free(given);
        for (given, seeds) |*to, seed| to.* = if (seed) |t| t.handle else null;
        const handles = allocator.alloc(?*c.tl_tensor, wrt.len) catch return self.noMemory();
        defer allocator.free(handles);
        const made = allocator.alloc(Tensor, wrt.len) catch return self.noMemory();
        errdefer allocator.free(made);
        const first_seed: ?[*]const ?*c.tl_tensor = if (given.len == 0) null else given.ptr;
        // Locked, because this call too would take the error that another thread's constructor has just left.
        self.state.lock();
        defer self.state.unlock();
        const err = status.errorOf(self.diagnostics);
        try status.check(c.tl_gradients(
            self.state.handle,
            outputs.ptr,
            first_seed,
            outputs.len,
            tensors.ptr,
            tensors.len,
            handles.ptr,
            err,
        ));
        for (made, handles) |*to, handle|
            to.* = .{ .handle = handle.?, .state = self.state, .diagnostics = self.diagnostics };
        return made;
    }

    /// The graph of the outputs: see `Graph.init`.
    pub fn graph(self: Context, outputs: []const Tensor) Error!Graph {
        return Graph.init(self, outputs);
    }

    /// The handles of tensors; free them with the state's allocator.
    pub fn handlesOf(self: Context, tensors: []const Tensor) Error![]?*c.tl_tensor {
        const handles = self.state.allocator.alloc(?*c.tl_tensor, tensors.len) catch return self.noMemory();
        for (handles, tensors) |*to, from| to.* = from.handle;
        return handles;
    }

    /// Calls a constructor of the C library with the context's handle as the first argument, and takes its error.
    pub fn construct(self: Context, comptime function: anytype, args: anytype) Error!Tensor {
        self.state.lock();
        defer self.state.unlock();
        const handle = @call(.auto, function, .{self.state.handle} ++ args) orelse {
            try status.check(c.tl_context_error(self.state.handle, status.errorOf(self.diagnostics)));
            return status.fail(self.diagnostics, c.TL_STATUS_INTERNAL, "a constructor failed without a reason", .{});
        };
        if (self.diagnostics) |d| d.* = .{};
        return .{ .handle = handle, .state = self.state, .diagnostics = self.diagnostics };
    }

    /// The error of a list for which there is no memory.
    pub fn noMemory(self: Context) Error {
        return status.fail(self.diagnostics, c.TL_STATUS_OUT_OF_MEMORY, "no memory for a list of tensors", .{});
    }
};

/// tl_gguf_tensor with the context as the first parameter, as in all other constructors.
fn ggufLeaf(ctx: ?*c.tl_context, file: *c.tl_gguf, name: [*:0]const u8) ?*c.tl_tensor {
    return c.tl_gguf_tensor(file, ctx, name);
}

/// More dimensions than an i32 counts are as invalid as five.
pub fn dimCount(ne: []const i64) i32 {
    return std.math.cast(i32, ne.len) orelse std.math.maxInt(i32);
}
