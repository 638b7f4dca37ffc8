//! The C functions of operations. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

const c = @import("../c.zig");
const tl_context = c.tl_context;
const tl_group = c.tl_group;
const tl_tensor = c.tl_tensor;
const tl_type = c.tl_type;

pub extern fn tl_add(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sub(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_mul(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_div(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_maximum(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_minimum(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_pow(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_eq(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_ne(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_lt(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_le(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_gt(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_ge(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_add1(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_where(ctx: ?*tl_context, condition: ?*tl_tensor, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub const tl_scale_params = extern struct {
    struct_size: usize = @sizeOf(tl_scale_params),
    bias: f64 = 0,
};
pub extern fn tl_scale(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    factor: f64,
    params: ?*const tl_scale_params,
) ?*tl_tensor;
pub extern fn tl_clamp(ctx: ?*tl_context, a: ?*tl_tensor, lower: f64, upper: f64) ?*tl_tensor;
pub extern fn tl_fill(ctx: ?*tl_context, a: ?*tl_tensor, value: f64) ?*tl_tensor;
pub extern fn tl_masked_fill(ctx: ?*tl_context, a: ?*tl_tensor, mask: ?*tl_tensor, value: f64) ?*tl_tensor;
pub extern fn tl_out_prod(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_out_prod_id(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    ids: ?*tl_tensor,
    experts: i64,
) ?*tl_tensor;
pub extern fn tl_solve_tri(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    left: bool,
    lower: bool,
    unit: bool,
) ?*tl_tensor;
pub extern fn tl_transpose(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_stop_gradient(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_expand(ctx: ?*tl_context, a: ?*tl_tensor, n_dims: i32, shape: ?[*]const i64) ?*tl_tensor;
pub extern fn tl_unsqueeze(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub extern fn tl_squeeze(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub extern fn tl_flatten(ctx: ?*tl_context, a: ?*tl_tensor, first: i64, last: i64) ?*tl_tensor;
pub extern fn tl_select(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64, index: i64) ?*tl_tensor;
pub extern fn tl_result(ctx: ?*tl_context, a: ?*tl_tensor, number: i64) ?*tl_tensor;
pub extern fn tl_cont(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_cpy(ctx: ?*tl_context, src: ?*tl_tensor, dst: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_dup(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_get_rows(ctx: ?*tl_context, a: ?*tl_tensor, rows: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_set_rows(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, rows: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_index_select(ctx: ?*tl_context, a: ?*tl_tensor, indices: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub extern fn tl_abs(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_neg(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sqr(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sqrt(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_log(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_exp(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_expm1(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sin(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_cos(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sgn(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_step(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_floor(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_ceil(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_round(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_trunc(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_erf(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_relu(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_sigmoid(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_tanh(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_elu(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_softplus(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_silu(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_gelu(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_gelu_erf(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_gelu_quick(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_hardswish(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_hardsigmoid(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_leaky_relu(ctx: ?*tl_context, a: ?*tl_tensor, slope: f64) ?*tl_tensor;
pub extern fn tl_xielu(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    alpha_n: f64,
    alpha_p: f64,
    beta: f64,
    eps: f64,
) ?*tl_tensor;
pub const tl_glu_op = i32;
pub const TL_GLU_OP_REGLU: tl_glu_op = 0;
pub const TL_GLU_OP_GEGLU: tl_glu_op = 1;
pub const TL_GLU_OP_SWIGLU: tl_glu_op = 2;
pub const TL_GLU_OP_GEGLU_ERF: tl_glu_op = 3;
pub const TL_GLU_OP_GEGLU_QUICK: tl_glu_op = 4;
pub const TL_GLU_OP_SWIGLU_OAI: tl_glu_op = 5;
pub const tl_glu_params = extern struct {
    struct_size: usize = @sizeOf(tl_glu_params),
    split: bool = false,
    swapped: bool = false,
    alpha: f64 = 0,
    limit: f64 = 0,
};
pub extern fn tl_glu(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    op: tl_glu_op,
    params: ?*const tl_glu_params,
) ?*tl_tensor;
pub extern fn tl_norm(ctx: ?*tl_context, a: ?*tl_tensor, eps: f64) ?*tl_tensor;
pub extern fn tl_rms_norm(ctx: ?*tl_context, a: ?*tl_tensor, eps: f64) ?*tl_tensor;
pub extern fn tl_l2_norm(ctx: ?*tl_context, a: ?*tl_tensor, eps: f64) ?*tl_tensor;
pub extern fn tl_group_norm(ctx: ?*tl_context, a: ?*tl_tensor, groups: i64, eps: f64) ?*tl_tensor;
pub extern fn tl_soft_max(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub const tl_soft_max_ext_params = extern struct {
    struct_size: usize = @sizeOf(tl_soft_max_ext_params),
    scale: f64 = 0,
    max_bias: f64 = 0,
};
pub extern fn tl_soft_max_ext(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    mask: ?*tl_tensor,
    sinks: ?*tl_tensor,
    params: ?*const tl_soft_max_ext_params,
) ?*tl_tensor;
pub extern fn tl_log_soft_max(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub const tl_rope_mode = i32;
pub const TL_ROPE_MODE_NORMAL: tl_rope_mode = 0;
pub const TL_ROPE_MODE_NEOX: tl_rope_mode = 1;
pub const TL_ROPE_MODE_MROPE: tl_rope_mode = 2;
pub const TL_ROPE_MODE_IMROPE: tl_rope_mode = 3;
pub const TL_ROPE_MODE_VISION: tl_rope_mode = 4;
pub const tl_rope_params = extern struct {
    struct_size: usize = @sizeOf(tl_rope_params),
    mode: tl_rope_mode = 0,
    n_dims: i64 = 0,
    offset: i64 = 0,
    sections: [4]i64 = @splat(0),
    n_ctx_orig: i64 = 0,
    freq_base: f64 = 0,
    freq_scale: f64 = 0,
    ext_factor: f64 = 0,
    attn_factor: f64 = 0,
    beta_fast: f64 = 0,
    beta_slow: f64 = 0,
    inverse: bool = false,
};
pub extern fn tl_rope(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    positions: ?*tl_tensor,
    freq_factors: ?*tl_tensor,
    params: ?*const tl_rope_params,
) ?*tl_tensor;
pub const tl_flash_attn_ext_params = extern struct {
    struct_size: usize = @sizeOf(tl_flash_attn_ext_params),
    scale: f64 = 0,
    max_bias: f64 = 0,
    logit_softcap: f64 = 0,
};
pub extern fn tl_flash_attn_ext(
    ctx: ?*tl_context,
    q: ?*tl_tensor,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    mask: ?*tl_tensor,
    sinks: ?*tl_tensor,
    params: ?*const tl_flash_attn_ext_params,
) ?*tl_tensor;
pub const tl_paged_attention_params = extern struct {
    struct_size: usize = @sizeOf(tl_paged_attention_params),
    page: i64 = 0,
    window: i64 = 0,
    scale: f64 = 0,
    logit_softcap: f64 = 0,
};
pub extern fn tl_paged_attention(
    ctx: ?*tl_context,
    q: ?*tl_tensor,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    pages: ?*tl_tensor,
    positions: ?*tl_tensor,
    sequences: ?*tl_tensor,
    sinks: ?*tl_tensor,
    params: ?*const tl_paged_attention_params,
) ?*tl_tensor;
pub const tl_sum_params = extern struct {
    struct_size: usize = @sizeOf(tl_sum_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_sum(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_sum_params) ?*tl_tensor;
pub extern fn tl_sum_rows(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub const tl_mean_params = extern struct {
    struct_size: usize = @sizeOf(tl_mean_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_mean(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_mean_params) ?*tl_tensor;
pub extern fn tl_cumsum(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub const tl_argmax_params = extern struct {
    struct_size: usize = @sizeOf(tl_argmax_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_argmax(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_argmax_params) ?*tl_tensor;
pub const tl_argsort_order = i32;
pub const TL_ARGSORT_ORDER_ASC: tl_argsort_order = 0;
pub const TL_ARGSORT_ORDER_DESC: tl_argsort_order = 1;
pub const tl_argsort_params = extern struct {
    struct_size: usize = @sizeOf(tl_argsort_params),
    order: tl_argsort_order = 0,
};
pub extern fn tl_argsort(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_argsort_params) ?*tl_tensor;
pub extern fn tl_top_k(ctx: ?*tl_context, a: ?*tl_tensor, k: i64) ?*tl_tensor;
pub extern fn tl_count_equal(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_cross_entropy_loss(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub const tl_max_params = extern struct {
    struct_size: usize = @sizeOf(tl_max_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_max(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_max_params) ?*tl_tensor;
pub const tl_min_params = extern struct {
    struct_size: usize = @sizeOf(tl_min_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_min(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_min_params) ?*tl_tensor;
pub const tl_argmin_params = extern struct {
    struct_size: usize = @sizeOf(tl_argmin_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_argmin(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_argmin_params) ?*tl_tensor;
pub const tl_var_params = extern struct {
    struct_size: usize = @sizeOf(tl_var_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_var(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    correction: i64,
    params: ?*const tl_var_params,
) ?*tl_tensor;
pub const tl_std_params = extern struct {
    struct_size: usize = @sizeOf(tl_std_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_std(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    correction: i64,
    params: ?*const tl_std_params,
) ?*tl_tensor;
pub const tl_prod_params = extern struct {
    struct_size: usize = @sizeOf(tl_prod_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_prod(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_prod_params) ?*tl_tensor;
pub const tl_any_params = extern struct {
    struct_size: usize = @sizeOf(tl_any_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_any(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_any_params) ?*tl_tensor;
pub const tl_all_params = extern struct {
    struct_size: usize = @sizeOf(tl_all_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_all(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_all_params) ?*tl_tensor;
pub const tl_log_sum_exp_params = extern struct {
    struct_size: usize = @sizeOf(tl_log_sum_exp_params),
    dims: u32 = 0,
    keep: bool = false,
};
pub extern fn tl_log_sum_exp(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_log_sum_exp_params) ?*tl_tensor;
pub extern fn tl_repeat(ctx: ?*tl_context, a: ?*tl_tensor, n_dims: i32, shape: ?[*]const i64) ?*tl_tensor;
pub extern fn tl_concat(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub const tl_pad_params = extern struct {
    struct_size: usize = @sizeOf(tl_pad_params),
    lp: [4]i64 = @splat(0),
    circular: bool = false,
};
pub extern fn tl_pad(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    p: ?[*]const i64,
    params: ?*const tl_pad_params,
) ?*tl_tensor;
pub extern fn tl_pad_reflect_1d(ctx: ?*tl_context, a: ?*tl_tensor, p0: i64, p1: i64) ?*tl_tensor;
pub extern fn tl_roll(ctx: ?*tl_context, a: ?*tl_tensor, shift: ?[*]const i64) ?*tl_tensor;
pub extern fn tl_diag(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub const tl_tri_type = i32;
pub const TL_TRI_TYPE_LOWER: tl_tri_type = 0;
pub const TL_TRI_TYPE_LOWER_DIAG: tl_tri_type = 1;
pub const TL_TRI_TYPE_UPPER: tl_tri_type = 2;
pub const TL_TRI_TYPE_UPPER_DIAG: tl_tri_type = 3;
pub extern fn tl_tri(ctx: ?*tl_context, a: ?*tl_tensor, part: tl_tri_type) ?*tl_tensor;
pub extern fn tl_diag_mask_inf(ctx: ?*tl_context, a: ?*tl_tensor, n_past: i64) ?*tl_tensor;
pub extern fn tl_diag_mask_zero(ctx: ?*tl_context, a: ?*tl_tensor, n_past: i64) ?*tl_tensor;
pub const tl_acc_params = extern struct {
    struct_size: usize = @sizeOf(tl_acc_params),
    nb1: i64 = 0,
    nb2: i64 = 0,
    nb3: i64 = 0,
    offset: i64 = 0,
};
pub extern fn tl_acc(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, params: ?*const tl_acc_params) ?*tl_tensor;
pub const tl_set_params = extern struct {
    struct_size: usize = @sizeOf(tl_set_params),
    nb1: i64 = 0,
    nb2: i64 = 0,
    nb3: i64 = 0,
    offset: i64 = 0,
};
pub extern fn tl_set(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, params: ?*const tl_set_params) ?*tl_tensor;
pub extern fn tl_gather(ctx: ?*tl_context, a: ?*tl_tensor, indices: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub extern fn tl_add_id(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor, ids: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_arange(ctx: ?*tl_context, start: f64, stop: f64, by: f64) ?*tl_tensor;
pub extern fn tl_scatter_add(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    indices: ?*tl_tensor,
    dim: i64,
) ?*tl_tensor;
pub extern fn tl_flip(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64) ?*tl_tensor;
pub extern fn tl_one_hot(ctx: ?*tl_context, indices: ?*tl_tensor, classes: i64) ?*tl_tensor;
pub extern fn tl_eye(ctx: ?*tl_context, n: i64) ?*tl_tensor;
pub extern fn tl_linspace(ctx: ?*tl_context, start: f64, stop: f64, n: i64) ?*tl_tensor;
pub extern fn tl_timestep_embedding(
    ctx: ?*tl_context,
    timesteps: ?*tl_tensor,
    dim: i64,
    max_period: i64,
) ?*tl_tensor;
pub const tl_upscale_mode = i32;
pub const TL_UPSCALE_MODE_NEAREST: tl_upscale_mode = 0;
pub const TL_UPSCALE_MODE_BILINEAR: tl_upscale_mode = 1;
pub const TL_UPSCALE_MODE_BICUBIC: tl_upscale_mode = 2;
pub const tl_upscale_params = extern struct {
    struct_size: usize = @sizeOf(tl_upscale_params),
    factor: i64 = 0,
    mode: tl_upscale_mode = 0,
    ne: [4]i64 = @splat(0),
    align_corners: bool = false,
    antialias: bool = false,
};
pub extern fn tl_upscale(ctx: ?*tl_context, a: ?*tl_tensor, params: ?*const tl_upscale_params) ?*tl_tensor;
pub const tl_pool_1d_op = i32;
pub const TL_POOL_1D_OP_MAX: tl_pool_1d_op = 0;
pub const TL_POOL_1D_OP_AVG: tl_pool_1d_op = 1;
pub const tl_pool_1d_params = extern struct {
    struct_size: usize = @sizeOf(tl_pool_1d_params),
    s: i64 = 0,
    p: i64 = 0,
    count_padding: bool = false,
};
pub extern fn tl_pool_1d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    op: tl_pool_1d_op,
    k: i64,
    params: ?*const tl_pool_1d_params,
) ?*tl_tensor;
pub const tl_pool_2d_op = i32;
pub const TL_POOL_2D_OP_MAX: tl_pool_2d_op = 0;
pub const TL_POOL_2D_OP_AVG: tl_pool_2d_op = 1;
pub const tl_pool_2d_params = extern struct {
    struct_size: usize = @sizeOf(tl_pool_2d_params),
    s0: i64 = 0,
    s1: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    skip_padding: bool = false,
};
pub extern fn tl_pool_2d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    op: tl_pool_2d_op,
    k0: i64,
    k1: i64,
    params: ?*const tl_pool_2d_params,
) ?*tl_tensor;
pub const tl_im2col_to = i32;
pub const TL_IM2COL_TO_F32: tl_im2col_to = 0;
pub const TL_IM2COL_TO_F16: tl_im2col_to = 1;
pub const TL_IM2COL_TO_BF16: tl_im2col_to = 2;
pub const tl_im2col_params = extern struct {
    struct_size: usize = @sizeOf(tl_im2col_params),
    s0: i64 = 0,
    s1: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
    is_2d: bool = false,
    to: tl_im2col_to = 0,
};
pub extern fn tl_im2col(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_im2col_params,
) ?*tl_tensor;
pub const tl_conv_1d_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_1d_params),
    s: i64 = 0,
    p: i64 = 0,
    d: i64 = 0,
};
pub extern fn tl_conv_1d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_1d_params,
) ?*tl_tensor;
pub const tl_conv_2d_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_2d_params),
    s0: i64 = 0,
    s1: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
};
pub extern fn tl_conv_2d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_2d_params,
) ?*tl_tensor;
pub const tl_conv_1d_dw_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_1d_dw_params),
    s: i64 = 0,
    p: i64 = 0,
    d: i64 = 0,
};
pub extern fn tl_conv_1d_dw(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_1d_dw_params,
) ?*tl_tensor;
pub const tl_conv_2d_dw_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_2d_dw_params),
    s0: i64 = 0,
    s1: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
};
pub extern fn tl_conv_2d_dw(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_2d_dw_params,
) ?*tl_tensor;
pub const tl_conv_transpose_1d_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_transpose_1d_params),
    s: i64 = 0,
    p: i64 = 0,
    d: i64 = 0,
};
pub extern fn tl_conv_transpose_1d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_transpose_1d_params,
) ?*tl_tensor;
pub const tl_conv_transpose_2d_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_transpose_2d_params),
    stride: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
};
pub extern fn tl_conv_transpose_2d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    params: ?*const tl_conv_transpose_2d_params,
) ?*tl_tensor;
pub const tl_im2col_3d_to = i32;
pub const TL_IM2COL_3D_TO_F32: tl_im2col_3d_to = 0;
pub const TL_IM2COL_3D_TO_F16: tl_im2col_3d_to = 1;
pub const TL_IM2COL_3D_TO_BF16: tl_im2col_3d_to = 2;
pub const tl_im2col_3d_params = extern struct {
    struct_size: usize = @sizeOf(tl_im2col_3d_params),
    s0: i64 = 0,
    s1: i64 = 0,
    s2: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    p2: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
    d2: i64 = 0,
    to: tl_im2col_3d_to = 0,
};
pub extern fn tl_im2col_3d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    channels: i64,
    params: ?*const tl_im2col_3d_params,
) ?*tl_tensor;
pub const tl_conv_3d_params = extern struct {
    struct_size: usize = @sizeOf(tl_conv_3d_params),
    s0: i64 = 0,
    s1: i64 = 0,
    s2: i64 = 0,
    p0: i64 = 0,
    p1: i64 = 0,
    p2: i64 = 0,
    d0: i64 = 0,
    d1: i64 = 0,
    d2: i64 = 0,
};
pub extern fn tl_conv_3d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    channels: i64,
    params: ?*const tl_conv_3d_params,
) ?*tl_tensor;
pub extern fn tl_col2im_1d(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    stride: i64,
    padding: i64,
    channels: i64,
) ?*tl_tensor;
pub const tl_ssm_conv_params = extern struct {
    struct_size: usize = @sizeOf(tl_ssm_conv_params),
    silu: bool = false,
};
pub extern fn tl_ssm_conv(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    kernel: ?*tl_tensor,
    state: ?*tl_tensor,
    bias: ?*tl_tensor,
    params: ?*const tl_ssm_conv_params,
) ?*tl_tensor;
pub extern fn tl_random_uniform(
    ctx: ?*tl_context,
    state: ?*tl_tensor,
    n_dims: i32,
    shape: ?[*]const i64,
    low: f64,
    high: f64,
    stream: i64,
) ?*tl_tensor;
pub extern fn tl_random_normal(
    ctx: ?*tl_context,
    state: ?*tl_tensor,
    n_dims: i32,
    shape: ?[*]const i64,
    center: f64,
    deviation: f64,
    stream: i64,
) ?*tl_tensor;
pub extern fn tl_dropout(ctx: ?*tl_context, a: ?*tl_tensor, state: ?*tl_tensor, p: f64, stream: i64) ?*tl_tensor;
pub extern fn tl_opt_step_sgd(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    grad: ?*tl_tensor,
    settings: ?*tl_tensor,
) ?*tl_tensor;
pub const tl_opt_step_momentum_params = extern struct {
    struct_size: usize = @sizeOf(tl_opt_step_momentum_params),
    nesterov: bool = false,
};
pub extern fn tl_opt_step_momentum(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    grad: ?*tl_tensor,
    velocity: ?*tl_tensor,
    settings: ?*tl_tensor,
    params: ?*const tl_opt_step_momentum_params,
) ?*tl_tensor;
pub extern fn tl_opt_step_adamw(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    grad: ?*tl_tensor,
    m: ?*tl_tensor,
    v: ?*tl_tensor,
    settings: ?*tl_tensor,
) ?*tl_tensor;
pub extern fn tl_opt_step_lion(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    grad: ?*tl_tensor,
    m: ?*tl_tensor,
    settings: ?*tl_tensor,
) ?*tl_tensor;
pub const tl_mul_mat_sparse_by = i32;
pub const TL_MUL_MAT_SPARSE_BY_SCORE: tl_mul_mat_sparse_by = 0;
pub const TL_MUL_MAT_SPARSE_BY_MAGNITUDE: tl_mul_mat_sparse_by = 1;
pub const TL_MUL_MAT_SPARSE_BY_POSITIVE: tl_mul_mat_sparse_by = 2;
pub const tl_mul_mat_sparse_params = extern struct {
    struct_size: usize = @sizeOf(tl_mul_mat_sparse_params),
    by: tl_mul_mat_sparse_by = 0,
    threshold: f64 = 0,
    n: i64 = 0,
    exact: bool = false,
};
pub extern fn tl_mul_mat_sparse(
    ctx: ?*tl_context,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    scores: ?*tl_tensor,
    rows: ?*tl_tensor,
    params: ?*const tl_mul_mat_sparse_params,
) ?*tl_tensor;
pub const tl_axpy_by = i32;
pub const TL_AXPY_BY_SCORE: tl_axpy_by = 0;
pub const TL_AXPY_BY_MAGNITUDE: tl_axpy_by = 1;
pub const TL_AXPY_BY_POSITIVE: tl_axpy_by = 2;
pub const tl_axpy_params = extern struct {
    struct_size: usize = @sizeOf(tl_axpy_params),
    by: tl_axpy_by = 0,
    threshold: f64 = 0,
};
pub extern fn tl_axpy(
    ctx: ?*tl_context,
    a_t: ?*tl_tensor,
    h: ?*tl_tensor,
    scores: ?*tl_tensor,
    rows: ?*tl_tensor,
    params: ?*const tl_axpy_params,
) ?*tl_tensor;
pub const tl_sparse_ffn_activation = i32;
pub const TL_SPARSE_FFN_ACTIVATION_RELU: tl_sparse_ffn_activation = 0;
pub const TL_SPARSE_FFN_ACTIVATION_SILU: tl_sparse_ffn_activation = 1;
pub const TL_SPARSE_FFN_ACTIVATION_GELU: tl_sparse_ffn_activation = 2;
pub const tl_sparse_ffn_by = i32;
pub const TL_SPARSE_FFN_BY_SCORE: tl_sparse_ffn_by = 0;
pub const TL_SPARSE_FFN_BY_MAGNITUDE: tl_sparse_ffn_by = 1;
pub const TL_SPARSE_FFN_BY_POSITIVE: tl_sparse_ffn_by = 2;
pub const tl_sparse_ffn_first = i32;
pub const TL_SPARSE_FFN_FIRST_GATE: tl_sparse_ffn_first = 0;
pub const TL_SPARSE_FFN_FIRST_UP: tl_sparse_ffn_first = 1;
pub const tl_sparse_ffn_params = extern struct {
    struct_size: usize = @sizeOf(tl_sparse_ffn_params),
    activation: tl_sparse_ffn_activation = 0,
    by: tl_sparse_ffn_by = 0,
    threshold: f64 = 0,
    first: tl_sparse_ffn_first = 0,
};
pub extern fn tl_sparse_ffn(
    ctx: ?*tl_context,
    x: ?*tl_tensor,
    gate: ?*tl_tensor,
    up: ?*tl_tensor,
    down_t: ?*tl_tensor,
    scores: ?*tl_tensor,
    rows: ?*tl_tensor,
    params: ?*const tl_sparse_ffn_params,
) ?*tl_tensor;
pub extern fn tl_bitwise_and(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_bitwise_or(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_bitwise_xor(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_bitwise_not(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_shift_left(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_shift_right(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_logical_and(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_logical_or(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_logical_xor(ctx: ?*tl_context, a: ?*tl_tensor, b: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_logical_not(ctx: ?*tl_context, a: ?*tl_tensor) ?*tl_tensor;
pub extern fn tl_win_part(ctx: ?*tl_context, a: ?*tl_tensor, w: i64) ?*tl_tensor;
pub extern fn tl_win_unpart(ctx: ?*tl_context, a: ?*tl_tensor, w0: i64, h0: i64, w: i64) ?*tl_tensor;
pub extern fn tl_get_rel_pos(ctx: ?*tl_context, a: ?*tl_tensor, qh: i64, kh: i64) ?*tl_tensor;
pub extern fn tl_add_rel_pos(ctx: ?*tl_context, a: ?*tl_tensor, pw: ?*tl_tensor, ph: ?*tl_tensor) ?*tl_tensor;
pub const tl_gated_delta_net_params = extern struct {
    struct_size: usize = @sizeOf(tl_gated_delta_net_params),
    n_states: i64 = 0,
};
pub extern fn tl_gated_delta_net(
    ctx: ?*tl_context,
    q: ?*tl_tensor,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    g: ?*tl_tensor,
    beta: ?*tl_tensor,
    state: ?*tl_tensor,
    params: ?*const tl_gated_delta_net_params,
) ?*tl_tensor;
pub const tl_ssm_scan_params = extern struct {
    struct_size: usize = @sizeOf(tl_ssm_scan_params),
    n_states: i64 = 0,
};
pub extern fn tl_ssm_scan(
    ctx: ?*tl_context,
    state: ?*tl_tensor,
    x: ?*tl_tensor,
    dt: ?*tl_tensor,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    out: ?*tl_tensor,
    ids: ?*tl_tensor,
    params: ?*const tl_ssm_scan_params,
) ?*tl_tensor;
pub extern fn tl_rwkv_wkv6(
    ctx: ?*tl_context,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    r: ?*tl_tensor,
    tf: ?*tl_tensor,
    td: ?*tl_tensor,
    state: ?*tl_tensor,
) ?*tl_tensor;
pub extern fn tl_rwkv_wkv7(
    ctx: ?*tl_context,
    r: ?*tl_tensor,
    w: ?*tl_tensor,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    a: ?*tl_tensor,
    b: ?*tl_tensor,
    state: ?*tl_tensor,
) ?*tl_tensor;
pub extern fn tl_gated_linear_attn(
    ctx: ?*tl_context,
    k: ?*tl_tensor,
    v: ?*tl_tensor,
    q: ?*tl_tensor,
    g: ?*tl_tensor,
    state: ?*tl_tensor,
    factor: f64,
) ?*tl_tensor;
pub extern fn tl_all_sum(ctx: ?*tl_context, a: ?*tl_tensor, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_all_max(ctx: ?*tl_context, a: ?*tl_tensor, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_all_gather(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_sum_scatter(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_broadcast(ctx: ?*tl_context, a: ?*tl_tensor, root: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_all_to_all(ctx: ?*tl_context, a: ?*tl_tensor, dim: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_send(ctx: ?*tl_context, a: ?*tl_tensor, to: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_receive(ctx: ?*tl_context, a: ?*tl_tensor, from: i64, group: ?*const tl_group) ?*tl_tensor;
pub extern fn tl_copy_to_group(ctx: ?*tl_context, a: ?*tl_tensor, group: ?*const tl_group) ?*tl_tensor;
