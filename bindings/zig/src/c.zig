//! The C ABI: every type, constant and function of tensorlib/tensorlib.h in the header's order. The
//! header documents their behaviour, ownership and thread safety. Written by hand, because `@cImport` is
//! being removed from the language; `zig build test` compares it with the header (tests/abi.zig).

const std = @import("std");

// Status codes, errors and versions

pub const tl_status = i32;
pub const TL_STATUS_OK: tl_status = 0;
pub const TL_STATUS_INVALID_ARGUMENT: tl_status = 1;
pub const TL_STATUS_SHAPE_MISMATCH: tl_status = 2;
pub const TL_STATUS_TYPE_MISMATCH: tl_status = 3;
pub const TL_STATUS_CONTEXT_MISMATCH: tl_status = 4;
pub const TL_STATUS_UNSUPPORTED: tl_status = 5;
pub const TL_STATUS_UNAVAILABLE: tl_status = 6;
pub const TL_STATUS_OUT_OF_MEMORY: tl_status = 7;
pub const TL_STATUS_BUSY: tl_status = 8;
pub const TL_STATUS_ABORTED: tl_status = 9;
pub const TL_STATUS_IO: tl_status = 10;
pub const TL_STATUS_FORMAT: tl_status = 11;
pub const TL_STATUS_DEVICE: tl_status = 12;
pub const TL_STATUS_INTERNAL: tl_status = 13;
pub const TL_STATUS_GROUP: tl_status = 14;

pub const tl_error = extern struct {
    struct_size: usize = @sizeOf(tl_error),
    code: tl_status = TL_STATUS_OK,
    message: [256]u8 = @splat(0),
    text: u32 = 0,
};

pub extern fn tl_error_text(err: ?*const tl_error, buf: ?[*]u8, size: usize) usize;

pub extern fn tl_abi_version() u32;
pub extern fn tl_version() ?[*:0]const u8;
pub extern fn tl_status_name(status: tl_status) ?[*:0]const u8;
pub const TL_ABI_VERSION: u32 = 65536;

// Storage types

pub const tl_type = i32;
pub const TL_TYPE_F32: tl_type = 0;
pub const TL_TYPE_F16: tl_type = 1;
pub const TL_TYPE_I8: tl_type = 24;
pub const TL_TYPE_I16: tl_type = 25;
pub const TL_TYPE_I32: tl_type = 26;
pub const TL_TYPE_I64: tl_type = 27;
pub const TL_TYPE_F64: tl_type = 28;
pub const TL_TYPE_BF16: tl_type = 30;
pub const TL_TYPE_Q4_0: tl_type = 2;
pub const TL_TYPE_Q4_1: tl_type = 3;
pub const TL_TYPE_Q5_0: tl_type = 6;
pub const TL_TYPE_Q5_1: tl_type = 7;
pub const TL_TYPE_Q8_0: tl_type = 8;
pub const TL_TYPE_Q8_1: tl_type = 9;
pub const TL_TYPE_Q2_K: tl_type = 10;
pub const TL_TYPE_Q3_K: tl_type = 11;
pub const TL_TYPE_Q4_K: tl_type = 12;
pub const TL_TYPE_Q5_K: tl_type = 13;
pub const TL_TYPE_Q6_K: tl_type = 14;
pub const TL_TYPE_Q8_K: tl_type = 15;
pub const TL_TYPE_IQ2_XXS: tl_type = 16;
pub const TL_TYPE_IQ2_XS: tl_type = 17;
pub const TL_TYPE_IQ3_XXS: tl_type = 18;
pub const TL_TYPE_IQ1_S: tl_type = 19;
pub const TL_TYPE_IQ4_NL: tl_type = 20;
pub const TL_TYPE_IQ3_S: tl_type = 21;
pub const TL_TYPE_IQ2_S: tl_type = 22;
pub const TL_TYPE_IQ4_XS: tl_type = 23;
pub const TL_TYPE_IQ1_M: tl_type = 29;
pub const TL_TYPE_TQ1_0: tl_type = 34;
pub const TL_TYPE_TQ2_0: tl_type = 35;
pub const TL_TYPE_MXFP4: tl_type = 39;
pub const TL_TYPE_NVFP4: tl_type = 40;
pub const TL_TYPE_Q1_0: tl_type = 41;
pub const TL_TYPE_Q2_0: tl_type = 42;
pub const TL_TYPE_U8: tl_type = 1000;
pub const TL_TYPE_BOOL: tl_type = 1001;
pub const tl_kind = i32;
pub const TL_KIND_FLOATING: tl_kind = 0;
pub const TL_KIND_INTEGER: tl_kind = 1;
pub const TL_KIND_WEIGHT: tl_kind = 2;
pub const TL_KIND_ACTIVATION: tl_kind = 3;

pub extern fn tl_type_block_size(typ: tl_type) i64;
pub extern fn tl_type_size(typ: tl_type) usize;
pub extern fn tl_type_kind(typ: tl_type) tl_kind;
pub extern fn tl_type_partner(typ: tl_type) tl_type;
pub extern fn tl_type_count() usize;
pub extern fn tl_type_at(index: usize) tl_type;
pub extern fn tl_type_name(typ: tl_type) ?[*:0]const u8;
pub extern fn tl_type_from_name(name: ?[*:0]const u8, out: ?*tl_type, err: ?*tl_error) tl_status;

// Devices and backends

pub const tl_backend = opaque {};

pub const tl_backend_params = extern struct {
    struct_size: usize = @sizeOf(tl_backend_params),
    n_threads: i32 = 0,
    allow_tf32: bool = false,
};

pub const tl_device_props = extern struct {
    struct_size: usize = @sizeOf(tl_device_props),
    description: [128]u8 = @splat(0),
    memory_total: u64 = 0,
    memory_free: u64 = 0,
    capability: i32 = 0,
    simulated: bool = false,
};

pub extern fn tl_device_count() usize;
pub extern fn tl_device_name(index: usize) ?[*:0]const u8;
pub extern fn tl_device_get_props(index: usize, out: ?*tl_device_props, err: ?*tl_error) tl_status;
pub extern fn tl_isa_count() usize;
pub extern fn tl_isa_name(index: usize) ?[*:0]const u8;
pub extern fn tl_backend_params_init(params: ?*tl_backend_params, struct_size: usize) void;
pub extern fn tl_backend_create(
    device: ?[*:0]const u8,
    params: ?*const tl_backend_params,
    out: ?*?*tl_backend,
    err: ?*tl_error,
) tl_status;
pub const tl_join_params = extern struct {
    struct_size: usize = @sizeOf(tl_join_params),
};
pub extern fn tl_join_params_init(params: ?*tl_join_params, struct_size: usize) void;
pub extern fn tl_backend_join(
    backends: ?[*]const ?*tl_backend,
    n: usize,
    params: ?*const tl_join_params,
    out: ?*?*tl_backend,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_backend_n_devices(backend: ?*const tl_backend) usize;
pub extern fn tl_backend_device_at(backend: ?*const tl_backend, index: usize) ?[*:0]const u8;
pub extern fn tl_backend_free(backend: ?*tl_backend) void;
pub extern fn tl_backend_device(backend: ?*const tl_backend) ?[*:0]const u8;
pub extern fn tl_backend_isa(backend: ?*const tl_backend) ?[*:0]const u8;
pub extern fn tl_backend_n_threads(backend: ?*const tl_backend) i32;
pub extern fn tl_backend_packed_memory(backend: ?*const tl_backend) usize;

// Quantising

pub extern fn tl_quantize(typ: tl_type, src: ?[*]const f32, dst: ?*anyopaque, n_rows: i64, n_per_row: i64, importance: ?[*]const f32, err: ?*tl_error) tl_status;
pub extern fn tl_backend_quantize(backend: ?*tl_backend, typ: tl_type, src: ?[*]const f32, dst: ?*anyopaque, n_rows: i64, n_per_row: i64, importance: ?[*]const f32, err: ?*tl_error) tl_status;
pub extern fn tl_dequantize(typ: tl_type, src: ?*const anyopaque, dst: ?[*]f32, n: i64, err: ?*tl_error) tl_status;

// Contexts

pub const tl_context = opaque {};

pub const tl_context_params = extern struct {
    struct_size: usize = @sizeOf(tl_context_params),
    mem_limit: usize = 0,
    mem_buffer: ?*anyopaque = null,
    mem_buffer_size: usize = 0,
    no_alloc: bool = false,
    backend: ?*tl_backend = null,
};

pub extern fn tl_context_params_init(params: ?*tl_context_params, struct_size: usize) void;
pub extern fn tl_context_create(params: ?*const tl_context_params, out: ?*?*tl_context, err: ?*tl_error) tl_status;
pub extern fn tl_context_free(ctx: ?*tl_context) void;
pub extern fn tl_context_used_memory(ctx: ?*const tl_context) usize;
pub extern fn tl_context_peak_memory(ctx: ?*const tl_context) usize;
pub extern fn tl_context_allocate(ctx: ?*tl_context, backend: ?*tl_backend, err: ?*tl_error) tl_status;
pub extern fn tl_context_reset(ctx: ?*tl_context, err: ?*tl_error) tl_status;
pub extern fn tl_context_set_busy_timeout(ctx: ?*tl_context, nanoseconds: u64, err: ?*tl_error) tl_status;
pub extern fn tl_context_busy_timeout(ctx: ?*const tl_context) u64;
pub extern fn tl_context_id(ctx: ?*const tl_context) u64;
pub extern fn tl_context_set_name(ctx: ?*tl_context, name: ?[*:0]const u8, err: ?*tl_error) tl_status;
pub extern fn tl_context_name(ctx: ?*const tl_context, buf: ?[*]u8, size: usize) usize;
pub extern fn tl_context_freeze(ctx: ?*tl_context, err: ?*tl_error) tl_status;
pub extern fn tl_context_error(ctx: ?*tl_context, out: ?*tl_error) tl_status;

// Tensors

pub const tl_tensor = opaque {};

pub const tl_access = i32;
pub const TL_ACCESS_READ: tl_access = 0;
pub const TL_ACCESS_WRITE: tl_access = 1;

pub extern fn tl_tensor_new(ctx: ?*tl_context, typ: tl_type, n_dims: i32, ne: ?[*]const i64) ?*tl_tensor;
pub extern fn tl_tensor_new_1d(ctx: ?*tl_context, typ: tl_type, ne0: i64) ?*tl_tensor;
pub extern fn tl_tensor_new_2d(ctx: ?*tl_context, typ: tl_type, ne0: i64, ne1: i64) ?*tl_tensor;
pub extern fn tl_tensor_new_3d(ctx: ?*tl_context, typ: tl_type, ne0: i64, ne1: i64, ne2: i64) ?*tl_tensor;
pub extern fn tl_tensor_new_4d(ctx: ?*tl_context, typ: tl_type, ne0: i64, ne1: i64, ne2: i64, ne3: i64) ?*tl_tensor;
pub extern fn tl_tensor_type(t: ?*const tl_tensor) tl_type;
pub extern fn tl_tensor_n_dims(t: ?*const tl_tensor) i32;
pub extern fn tl_tensor_ne(t: ?*const tl_tensor, dim: i32) i64;
pub extern fn tl_tensor_nb(t: ?*const tl_tensor, dim: i32) usize;
pub extern fn tl_tensor_nbytes(t: ?*const tl_tensor) usize;
pub extern fn tl_tensor_n_elements(t: ?*const tl_tensor) i64;
pub extern fn tl_tensor_op(t: ?*const tl_tensor) ?[*:0]const u8;
pub extern fn tl_context_tensors(ctx: ?*const tl_context, tensors: ?[*]?*tl_tensor, n: usize) usize;
pub extern fn tl_context_find(ctx: ?*const tl_context, name: ?[*:0]const u8) ?*tl_tensor;
pub extern fn tl_tensor_sources(t: ?*const tl_tensor, sources: ?[*]?*tl_tensor, n: usize) usize;
pub extern fn tl_tensor_context(t: ?*const tl_tensor) ?*tl_context;
pub extern fn tl_tensor_name(t: ?*const tl_tensor) ?[*:0]const u8;
pub extern fn tl_tensor_copy_name(t: ?*const tl_tensor, buf: ?[*]u8, size: usize) usize;
pub extern fn tl_tensor_set_name(t: ?*tl_tensor, name: ?[*:0]const u8, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_data(t: ?*tl_tensor) ?*anyopaque;
pub extern fn tl_tensor_map(t: ?*tl_tensor, access: tl_access, out: ?*?*anyopaque, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_unmap(t: ?*tl_tensor, access: tl_access) void;
pub extern fn tl_tensor_write(
    t: ?*tl_tensor,
    data: ?*const anyopaque,
    offset: usize,
    size: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_tensor_read(
    t: ?*const tl_tensor,
    data: ?*anyopaque,
    offset: usize,
    size: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_tensor_set_constant(t: ?*tl_tensor, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_place(t: ?*tl_tensor, device: ?[*:0]const u8, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_set_recompute(t: ?*tl_tensor, recompute: bool, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_drop_original(t: ?*tl_tensor, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_write_f32(t: ?*tl_tensor, data: ?[*]const f32, n: usize, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_read_f32(t: ?*const tl_tensor, data: ?[*]f32, n: usize, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_get_f32(
    t: ?*const tl_tensor,
    index0: i64,
    index1: i64,
    index2: i64,
    index3: i64,
    out: ?*f32,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_tensor_set_f32(
    t: ?*tl_tensor,
    index0: i64,
    index1: i64,
    index2: i64,
    index3: i64,
    value: f32,
    err: ?*tl_error,
) tl_status;

// Exchange with other libraries

pub const DLManagedTensorVersioned = opaque {};
pub extern fn tl_tensor_to_dlpack(t: ?*tl_tensor, out: ?*?*DLManagedTensorVersioned, err: ?*tl_error) tl_status;
pub extern fn tl_tensor_from_dlpack(ctx: ?*tl_context, managed: ?*DLManagedTensorVersioned) ?*tl_tensor;

// Operations

pub const TL_DIM_0: u32 = 1;
pub const TL_DIM_1: u32 = 2;
pub const TL_DIM_2: u32 = 4;
pub const TL_DIM_3: u32 = 8;
pub const TL_ATTR_INTS: i32 = 0;
pub const TL_ATTR_NUMBER: i32 = 1;
pub const TL_ATTR_TEXT: i32 = 2;

pub const tl_attr = extern struct {
    name: ?[*:0]const u8 = null,
    kind: i32 = TL_ATTR_INTS,
    n_ints: i32 = 0,
    ints: [6]i64 = @splat(0),
    number: f64 = 0,
    text: ?[*:0]const u8 = null,
};

pub extern fn tl_mul_mat(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_mul_mat_exact(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_mul_mat_id(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, ids: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_view(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    n_dims: i32,
    ne: ?[*]const i64,
    nb: ?[*]const usize,
    offset: usize,
) ?*tl_tensor;
pub extern fn tl_slice(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    n_dims: i32,
    start: ?[*]const i64,
    ne: ?[*]const i64,
) ?*tl_tensor;
pub extern fn tl_narrow(ctx: ?*tl_context, a: ?*tl_tensor, dim: i32, start: i64, length: i64) ?*tl_tensor;
pub const TL_END: i64 = std.math.maxInt(i64);
pub extern fn tl_index(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    n_dims: i32,
    begin: ?[*]const i64,
    end: ?[*]const i64,
    dropped: u32,
) ?*tl_tensor;
pub extern fn tl_cat(ctx: ?*tl_context, tensors: ?[*]const ?*tl_tensor, n_tensors: usize, dim: i64) ?*tl_tensor;
pub extern fn tl_stack(ctx: ?*tl_context, tensors: ?[*]const ?*tl_tensor, n_tensors: usize, dim: i64) ?*tl_tensor;
pub extern fn tl_einsum(
    ctx: ?*tl_context,
    equation: ?[*:0]const u8,
    tensors: ?[*]const ?*tl_tensor,
    n_tensors: usize,
) ?*tl_tensor;
pub extern fn tl_reshape(ctx: ?*tl_context, a: ?*tl_tensor, n_dims: i32, ne: ?[*]const i64) ?*tl_tensor;
pub extern fn tl_permute(ctx: ?*tl_context, a: ?*tl_tensor, axes: ?[*]const i32) ?*tl_tensor;
pub extern fn tl_cast(ctx: ?*tl_context, a: ?*tl_tensor, typ: tl_type) ?*tl_tensor;
pub extern fn tl_refuse_tiles(op: ?[*:0]const u8, a: ?*const tl_tensor, b: ?*const tl_tensor, err: ?*tl_error) tl_status;
pub extern fn tl_op(
    ctx: ?*tl_context,
    op: ?[*:0]const u8,
    src: ?[*]const ?*tl_tensor,
    n_src: usize,
    attrs: ?[*]const tl_attr,
    n_attrs: usize,
) ?*tl_tensor;
pub extern fn tl_none() ?*tl_tensor;
pub extern fn tl_op_count() usize;
pub extern fn tl_op_name(index: usize) ?[*:0]const u8;

// Custom operations

pub const tl_group = opaque {};

pub const tl_group_params = extern struct {
    struct_size: usize = @sizeOf(tl_group_params),
    timeout_ms: u64 = 0,
};

pub extern fn tl_group_params_init(params: ?*tl_group_params, struct_size: usize) void;
pub extern fn tl_group_create(name: ?[*:0]const u8, params: ?*const tl_group_params, out: ?*?*tl_group, err: ?*tl_error) tl_status;
pub extern fn tl_group_member(group: ?*tl_group, rank: i32, out: ?*?*tl_group, err: ?*tl_error) tl_status;
pub extern fn tl_group_split(group: ?*tl_group, colour: i32, key: i32, out: ?*?*tl_group, err: ?*tl_error) tl_status;
pub extern fn tl_group_rank(group: ?*const tl_group) i32;
pub extern fn tl_group_size(group: ?*const tl_group) i32;
pub extern fn tl_group_text(group: ?*const tl_group, buf: ?[*]u8, size: usize) usize;
pub extern fn tl_group_free(group: ?*tl_group) void;
pub extern fn tl_shard_range(n: i64, block: i64, rank: i32, size: i32, first: ?*i64, count: ?*i64, err: ?*tl_error) tl_status;

pub const tl_custom_op = opaque {};

pub const tl_custom_view = extern struct {
    data: ?*anyopaque,
    type: tl_type,
    n_dims: i32,
    ne: [4]i64,
    nb: [4]usize,
};

pub const tl_custom_slice = extern struct {
    struct_size: usize = @sizeOf(tl_custom_slice),
    src: ?[*]const tl_custom_view,
    n_src: usize,
    dst: tl_custom_view,
    begin: i64,
    end: i64,
    thread: i32,
};

pub const tl_custom_result = extern struct {
    struct_size: usize = @sizeOf(tl_custom_result),
    type: tl_type,
    n_dims: i32,
    ne: [4]i64,
};

pub const tl_custom_shape_fn = ?*const fn (
    user_data: ?*anyopaque,
    src: ?[*]const ?*tl_tensor,
    n_src: usize,
    result: ?*tl_custom_result,
    err: ?*tl_error,
) callconv(.c) tl_status;
pub const tl_custom_compute_fn = ?*const fn (user_data: ?*anyopaque, slice: ?*const tl_custom_slice, err: ?*tl_error) callconv(.c) tl_status;
pub const tl_custom_gradient_fn = ?*const fn (
    user_data: ?*anyopaque,
    ctx: ?*tl_context,
    node: ?*tl_tensor,
    gradient: ?*tl_tensor,
    operand: usize,
    err: ?*tl_error,
) callconv(.c) ?*tl_tensor;
pub const tl_custom_destroy_fn = ?*const fn (user_data: ?*anyopaque) callconv(.c) void;

pub const tl_custom_params = extern struct {
    struct_size: usize = @sizeOf(tl_custom_params),
    name: ?[*:0]const u8 = null,
    shape: tl_custom_shape_fn = null,
    compute: tl_custom_compute_fn = null,
    gradient: tl_custom_gradient_fn = null,
    user_data: ?*anyopaque = null,
    destroy: tl_custom_destroy_fn = null,
    slice_unit: i64 = 0,
    cost: f64 = 0,
};

pub extern fn tl_custom_params_init(params: ?*tl_custom_params, struct_size: usize) void;
pub extern fn tl_custom_op_create(params: ?*const tl_custom_params, out: ?*?*tl_custom_op, err: ?*tl_error) tl_status;
pub extern fn tl_custom_op_free(op: ?*tl_custom_op) void;
pub extern fn tl_custom(ctx: ?*tl_context, op: ?*const tl_custom_op, src: ?[*]const ?*tl_tensor, n_src: usize) ?*tl_tensor;
pub extern fn tl_custom_op_number(op: ?*const tl_custom_op) u64;

// Graphs

pub extern fn tl_gradients(
    ctx: ?*tl_context,
    ys: ?[*]const ?*tl_tensor,
    seeds: ?[*]const ?*tl_tensor,
    n_ys: usize,
    wrt: ?[*]const ?*tl_tensor,
    n_wrt: usize,
    grads: ?[*]?*tl_tensor,
    err: ?*tl_error,
) tl_status;

pub extern fn tl_gradients_reach(y: ?*tl_tensor, t: ?*tl_tensor, out: ?*bool, err: ?*tl_error) tl_status;

pub const tl_graph = opaque {};

pub const tl_progress_fn = ?*const fn (user_data: ?*anyopaque, done: usize, total: usize) callconv(.c) bool;
pub const tl_observe_fn = ?*const fn (user_data: ?*anyopaque, node: ?*tl_tensor, done: usize, total: usize) callconv(.c) bool;

pub extern fn tl_graph_create(
    ctx: ?*tl_context,
    outputs: ?[*]const ?*tl_tensor,
    n_outputs: usize,
    out: ?*?*tl_graph,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_graph_create_within(
    ctx: ?*tl_context,
    outputs: ?[*]const ?*tl_tensor,
    n_outputs: usize,
    memory: usize,
    out: ?*?*tl_graph,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_graph_free(graph: ?*tl_graph) void;
pub extern fn tl_graph_n_nodes(graph: ?*const tl_graph) usize;
pub extern fn tl_graph_n_leafs(graph: ?*const tl_graph) usize;
pub extern fn tl_graph_nodes(graph: ?*const tl_graph, nodes: ?[*]?*tl_tensor, n: usize) usize;
pub extern fn tl_graph_leafs(graph: ?*const tl_graph, leafs: ?[*]?*tl_tensor, n: usize) usize;
pub extern fn tl_graph_outputs(graph: ?*const tl_graph, outputs: ?[*]?*tl_tensor, n: usize) usize;
pub extern fn tl_graph_compute(graph: ?*tl_graph, backend: ?*tl_backend, err: ?*tl_error) tl_status;
pub extern fn tl_graph_set_observer(
    graph: ?*tl_graph,
    observe: tl_observe_fn,
    user_data: ?*anyopaque,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_graph_set_progress(
    graph: ?*tl_graph,
    progress: tl_progress_fn,
    user_data: ?*anyopaque,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_graph_set_check_finite(graph: ?*tl_graph, check: bool, err: ?*tl_error) tl_status;
pub extern fn tl_graph_set_batch_invariant(graph: ?*tl_graph, on: bool, err: ?*tl_error) tl_status;
pub extern fn tl_graph_plan_bytes(
    graph: ?*tl_graph,
    backend: ?*tl_backend,
    bytes: ?[*]usize,
    n: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_graph_dot(graph: ?*const tl_graph, buf: ?[*]u8, size: usize) usize;
pub extern fn tl_graph_plan_text(
    graph: ?*tl_graph,
    backend: ?*tl_backend,
    buf: ?[*]u8,
    size: usize,
    err: ?*tl_error,
) usize;

// GGUF files

pub const tl_gguf = opaque {};

pub const tl_gguf_type = i32;
pub const TL_GGUF_TYPE_U8: tl_gguf_type = 0;
pub const TL_GGUF_TYPE_I8: tl_gguf_type = 1;
pub const TL_GGUF_TYPE_U16: tl_gguf_type = 2;
pub const TL_GGUF_TYPE_I16: tl_gguf_type = 3;
pub const TL_GGUF_TYPE_U32: tl_gguf_type = 4;
pub const TL_GGUF_TYPE_I32: tl_gguf_type = 5;
pub const TL_GGUF_TYPE_F32: tl_gguf_type = 6;
pub const TL_GGUF_TYPE_BOOL: tl_gguf_type = 7;
pub const TL_GGUF_TYPE_STRING: tl_gguf_type = 8;
pub const TL_GGUF_TYPE_ARRAY: tl_gguf_type = 9;
pub const TL_GGUF_TYPE_U64: tl_gguf_type = 10;
pub const TL_GGUF_TYPE_I64: tl_gguf_type = 11;
pub const TL_GGUF_TYPE_F64: tl_gguf_type = 12;

pub extern fn tl_gguf_open(path: ?[*:0]const u8, out: ?*?*tl_gguf, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_open_copy(path: ?[*:0]const u8, out: ?*?*tl_gguf, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_open_memory(data: ?*const anyopaque, size: usize, out: ?*?*tl_gguf, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_open_memory_copy(
    data: ?*const anyopaque,
    size: usize,
    out: ?*?*tl_gguf,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_free(gguf: ?*tl_gguf) void;
pub extern fn tl_gguf_version(gguf: ?*const tl_gguf) u32;
pub extern fn tl_gguf_alignment(gguf: ?*const tl_gguf) usize;
pub extern fn tl_gguf_n_parts(gguf: ?*const tl_gguf) usize;
pub extern fn tl_gguf_n_kv(gguf: ?*const tl_gguf) usize;
pub extern fn tl_gguf_key(gguf: ?*const tl_gguf, index: usize) ?[*:0]const u8;
pub extern fn tl_gguf_find(gguf: ?*const tl_gguf, key: ?[*:0]const u8) i64;
pub extern fn tl_gguf_kv_type(gguf: ?*const tl_gguf, index: usize) tl_gguf_type;
pub extern fn tl_gguf_array_type(gguf: ?*const tl_gguf, index: usize) tl_gguf_type;
pub extern fn tl_gguf_array_n(gguf: ?*const tl_gguf, index: usize) u64;
pub extern fn tl_gguf_get_u64(gguf: ?*const tl_gguf, index: usize, out: ?*u64, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_get_i64(gguf: ?*const tl_gguf, index: usize, out: ?*i64, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_get_f64(gguf: ?*const tl_gguf, index: usize, out: ?*f64, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_get_bool(gguf: ?*const tl_gguf, index: usize, out: ?*bool, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_get_string(
    gguf: ?*const tl_gguf,
    index: usize,
    out: ?*?[*]const u8,
    size: ?*usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_u64(
    gguf: ?*const tl_gguf,
    index: usize,
    element: u64,
    out: ?*u64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_i64(
    gguf: ?*const tl_gguf,
    index: usize,
    element: u64,
    out: ?*i64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_f64(
    gguf: ?*const tl_gguf,
    index: usize,
    element: u64,
    out: ?*f64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_bool(
    gguf: ?*const tl_gguf,
    index: usize,
    element: u64,
    out: ?*bool,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_string(
    gguf: ?*const tl_gguf,
    index: usize,
    element: u64,
    out: ?*?[*]const u8,
    size: ?*usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_array_read(
    gguf: ?*const tl_gguf,
    index: usize,
    typ: tl_gguf_type,
    first: u64,
    n: u64,
    out: ?*anyopaque,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_kv_data(gguf: ?*const tl_gguf, index: usize, size: ?*usize) ?*const anyopaque;
pub extern fn tl_gguf_n_tensors(gguf: ?*const tl_gguf) usize;
pub extern fn tl_gguf_tensor_name(gguf: ?*const tl_gguf, index: usize) ?[*:0]const u8;
pub extern fn tl_gguf_tensor_find(gguf: ?*const tl_gguf, name: ?[*:0]const u8) i64;
pub extern fn tl_gguf_tensor_type(gguf: ?*const tl_gguf, index: usize) tl_type;
pub extern fn tl_gguf_tensor_n_dims(gguf: ?*const tl_gguf, index: usize) i32;
pub extern fn tl_gguf_tensor_ne(gguf: ?*const tl_gguf, index: usize, dim: i32) i64;
pub extern fn tl_gguf_tensor_nbytes(gguf: ?*const tl_gguf, index: usize) usize;
pub extern fn tl_gguf_tensor_offset(gguf: ?*const tl_gguf, index: usize) u64;
pub extern fn tl_gguf_tensor_data(gguf: ?*const tl_gguf, index: usize) ?*const anyopaque;
pub extern fn tl_gguf_tensor(gguf: ?*tl_gguf, ctx: ?*tl_context, name: ?[*:0]const u8) ?*tl_tensor;

// Writing GGUF files

pub const tl_gguf_writer = opaque {};

pub const tl_gguf_writer_params = extern struct {
    struct_size: usize = @sizeOf(tl_gguf_writer_params),
    version: u32 = 0,
    alignment: u32 = 0,
    split_size: u64 = 0,
};

pub extern fn tl_gguf_writer_params_init(params: ?*tl_gguf_writer_params, struct_size: usize) void;
pub extern fn tl_gguf_writer_create(
    path: ?[*:0]const u8,
    params: ?*const tl_gguf_writer_params,
    out: ?*?*tl_gguf_writer,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_u8(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: u8,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_i8(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: i8,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_u16(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: u16,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_i16(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: i16,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_u32(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: u32,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_i32(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: i32,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_f32(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: f32,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_bool(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: bool,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_u64(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: u64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_i64(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: i64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_f64(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    value: f64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_string(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    text: ?[*]const u8,
    size: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_array(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    typ: tl_gguf_type,
    data: ?*const anyopaque,
    n: u64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_set_string_array(
    writer: ?*tl_gguf_writer,
    key: ?[*:0]const u8,
    texts: ?[*]const ?[*]const u8,
    sizes: ?[*]const usize,
    n: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_copy_kv(writer: ?*tl_gguf_writer, gguf: ?*const tl_gguf, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_writer_add_tensor(writer: ?*tl_gguf_writer, tensor: ?*tl_tensor, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_writer_declare_tensor(
    writer: ?*tl_gguf_writer,
    name: ?[*:0]const u8,
    typ: tl_type,
    n_dims: i32,
    ne: ?[*]const i64,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_write_data(
    writer: ?*tl_gguf_writer,
    data: ?*const anyopaque,
    size: usize,
    err: ?*tl_error,
) tl_status;
pub extern fn tl_gguf_writer_finish(writer: ?*tl_gguf_writer, err: ?*tl_error) tl_status;
pub extern fn tl_gguf_writer_n_parts(writer: ?*const tl_gguf_writer) usize;
pub extern fn tl_gguf_writer_free(writer: ?*tl_gguf_writer) void;
