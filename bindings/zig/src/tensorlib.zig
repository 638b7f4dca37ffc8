//! Tensors, computation graphs and fast kernels, through tensorlib's C ABI.
//!
//! Shapes list the contiguous dimension first: 4 rows of 2 are {2, 4}, as in the C library and in GGUF
//! files; the reverse of NumPy's order.
//!
//! Operations take operands, then required attributes, then a struct of options:
//! `ctx.scale(a, 2, .{ .bias = 1 })`, `ctx.scale(a, 2, .{})`. An operand that may be left out is null:
//! `ctx.glu(a, null, .swiglu, .{})`.
//!
//! Errors: everything that can fail returns `Error`, which has a value per status of the C library. The message,
//! which names the operation, the shapes and what would be valid, goes to the given `Diagnostics`, if any. No
//! input ends the process.
//!
//! Ownership: `Backend`, `Context`, `Graph` and `Group` are handles that `deinit` releases, once and in any order; a handle
//! must not be used after that. A `Tensor` belongs to its context and is valid until the context's `deinit` or
//! `reset`. Slices are read or filled during the call and never kept, unless a comment says so.
//!
//! Threads: handles may be copied, and every function may be called from any thread, except that a `Diagnostics`
//! belongs to one thread at a time: see `Context.withDiagnostics`. Computing, reading and writing in one context
//! exclude each other without waiting: the second caller gets `error.Busy`. Building tensors may go on meanwhile.

const status = @import("status.zig");
const types = @import("types.zig");
const backend = @import("backend.zig");
const quantizing = @import("quantize.zig");
const tensor = @import("tensor.zig");
const gguf = @import("gguf.zig");

/// The C functions themselves, for everything that the types here do not offer.
pub const c = @import("c.zig");
/// The C functions of operations.
pub const c_ops = @import("gen/c_ops.zig");
/// The options and enumerations of operations, such as `ops.RopeOptions`. `Context` has the operations as methods.
pub const ops = @import("gen/op_functions.zig");

pub const Error = status.Error;
pub const Index = @import("shapes.zig").Index;
pub const Diagnostics = status.Diagnostics;
pub const Type = types.Type;
pub const Kind = types.Kind;
pub const Backend = backend.Backend;
pub const DeviceProps = backend.DeviceProps;
pub const Context = @import("context.zig").Context;
pub const Tensor = tensor.Tensor;
pub const Access = tensor.Access;
pub const Mapping = tensor.Mapping;
pub const Attr = @import("attr.zig").Attr;
pub const Graph = @import("graph.zig").Graph;
pub const CustomOp = @import("custom.zig").CustomOp;
pub const CustomSlice = @import("custom.zig").CustomSlice;
pub const CustomShape = @import("custom.zig").CustomShape;
pub const Group = @import("group.zig").Group;
pub const Shard = @import("group.zig").Shard;
pub const shardRange = @import("group.zig").shardRange;
pub const Gguf = gguf.Gguf;
pub const GgufType = gguf.GgufType;
pub const GgufWriter = gguf.GgufWriter;

pub const deviceCount = backend.deviceCount;
pub const deviceName = backend.deviceName;
pub const deviceProps = backend.deviceProps;
pub const isaCount = backend.isaCount;
pub const isaName = backend.isaName;
pub const quantize = quantizing.quantize;
pub const quantizeOn = quantizing.quantizeOn;
pub const dequantize = quantizing.dequantize;
pub const quantizedSize = quantizing.quantizedSize;
pub const opCount = @import("attr.zig").opCount;
pub const opName = @import("attr.zig").opName;
pub const version = status.version;
pub const abiVersion = status.abiVersion;

test {
    _ = status;
}
