//! Tensors, computation graphs and fast kernels, by way of tensorlib's C ABI.
//!
//! Shapes list the contiguous dimension first: 4 rows of 2 are {2, 4}, as in the C library and in GGUF
//! files; the reverse of NumPy's order.
//!
//! Operations take operands, then what must be given, then a struct of options: `ctx.scale(a, 2, .{ .bias = 1 })`,
//! `ctx.scale(a, 2, .{})`. An operand that may be left out is null: `ctx.glu(a, null, .swiglu, .{})`.
//!
//! Errors: whatever can fail returns `Error`, which has a value per status of the C library. The message,
//! which names operation, shapes and what would be valid, goes to the `Diagnostics` that was given, if any.
//! No input ends the process.
//!
//! Ownership: `Backend`, `Context` and `Graph` are handles that `deinit` gives back, once and in any order;
//! a handle must not be used after that. A `Tensor` belongs to its context and is valid until the context's
//! `deinit` or `reset`. Slices are read or filled during the call and never kept, unless a comment says so.
//!
//! Threads: handles may be copied, and every function may be called from any thread, except that a
//! `Diagnostics` belongs to one thread at a time: see `Context.withDiagnostics`. Computing, reading and writing
//! in one context exclude each other without waiting: who comes second gets `error.Busy`. Building tensors may
//! go on meanwhile.

const status = @import("status.zig");
const types = @import("types.zig");
const backend = @import("backend.zig");
const quantizing = @import("quantize.zig");
const tensor = @import("tensor.zig");
const gguf = @import("gguf.zig");
const op_functions = @import("op_functions.zig");

/// The C functions themselves, for what the types here do not offer.
pub const c = @import("c.zig");

pub const Error = status.Error;
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
// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
pub const ScaleOptions = op_functions.ScaleOptions;
pub const GluOp = op_functions.GluOp;
pub const GluOptions = op_functions.GluOptions;
pub const SoftMaxExtOptions = op_functions.SoftMaxExtOptions;
pub const RopeMode = op_functions.RopeMode;
pub const RopeOptions = op_functions.RopeOptions;
pub const FlashAttnExtOptions = op_functions.FlashAttnExtOptions;
pub const ArgsortOrder = op_functions.ArgsortOrder;
pub const ArgsortOptions = op_functions.ArgsortOptions;
pub const TriType = op_functions.TriType;
pub const AccOptions = op_functions.AccOptions;
pub const SetOptions = op_functions.SetOptions;
pub const UpscaleMode = op_functions.UpscaleMode;
pub const UpscaleOptions = op_functions.UpscaleOptions;
pub const Pool1dOp = op_functions.Pool1dOp;
pub const Pool1dOptions = op_functions.Pool1dOptions;
pub const Pool2dOp = op_functions.Pool2dOp;
pub const Pool2dOptions = op_functions.Pool2dOptions;
pub const Im2colTo = op_functions.Im2colTo;
pub const Im2colOptions = op_functions.Im2colOptions;
pub const Conv1dOptions = op_functions.Conv1dOptions;
pub const Conv2dOptions = op_functions.Conv2dOptions;
pub const Conv1dDwOptions = op_functions.Conv1dDwOptions;
pub const Conv2dDwOptions = op_functions.Conv2dDwOptions;
pub const ConvTranspose1dOptions = op_functions.ConvTranspose1dOptions;
pub const ConvTranspose2dOptions = op_functions.ConvTranspose2dOptions;
pub const OptStepMomentumOptions = op_functions.OptStepMomentumOptions;
pub const MulMatSparseBy = op_functions.MulMatSparseBy;
pub const MulMatSparseOptions = op_functions.MulMatSparseOptions;
pub const AxpyBy = op_functions.AxpyBy;
pub const AxpyOptions = op_functions.AxpyOptions;
pub const SparseFfnActivation = op_functions.SparseFfnActivation;
pub const SparseFfnBy = op_functions.SparseFfnBy;
pub const SparseFfnFirst = op_functions.SparseFfnFirst;
pub const SparseFfnOptions = op_functions.SparseFfnOptions;
// End of what `cargo xtask ops` writes.
pub const version = status.version;
pub const abiVersion = status.abiVersion;

test {
    _ = status;
}
