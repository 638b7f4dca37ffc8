// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
//! # Functions of operations
//!
//! Arguments are the operands, then the required attributes, then a struct of the optional attributes. NULL for
//! that struct selects the defaults, as does 0 for any of its members. It is read during the call only. For an
//! optional operand, tl_none() leaves it out. A member `dims` is a set of dimensions: TL_DIM_0 | TL_DIM_2, or 0 for
//! all. A shape is `n_dims` extents, 1 to 4. The context owns the result; on failure a function returns NULL. The
//! chapter on operations says what holds for all of them.
//!
//! `tl_scale_params params = {.struct_size = sizeof params, .bias = 1};`
//!
//! `tl_tensor *c = tl_scale(ctx, tl_glu(ctx, a, tl_none(), TL_GLU_OP_SWIGLU, NULL), 2, &params);`

use crate::{tl_context, tl_group, tl_tensor};

/// Optional attributes of tl_scale(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_scale_params {
    /// sizeof(tl_scale_params).
    pub struct_size: usize,
    /// Added to each product. Default: 0.
    pub bias: f64,
}

/// The attribute `op` of tl_glu(): the activation.
pub type tl_glu_op = i32;
/// Activation tl_relu().
pub const TL_GLU_OP_REGLU: tl_glu_op = 0;
/// Activation tl_gelu().
pub const TL_GLU_OP_GEGLU: tl_glu_op = 1;
/// Activation tl_silu().
pub const TL_GLU_OP_SWIGLU: tl_glu_op = 2;
/// Activation tl_gelu_erf().
pub const TL_GLU_OP_GEGLU_ERF: tl_glu_op = 3;
/// Activation tl_gelu_quick().
pub const TL_GLU_OP_GEGLU_QUICK: tl_glu_op = 4;
/// `g / (1 + e^(-alpha g)) * (u + 1)`, where g is min(gate, limit) and u is up, limited to -limit to limit.
pub const TL_GLU_OP_SWIGLU_OAI: tl_glu_op = 5;

/// Optional attributes of tl_glu(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_glu_params {
    /// sizeof(tl_glu_params).
    pub struct_size: usize,
    /// If true, the gate and up are two operands, and `b` is required. Default: false.
    pub split: bool,
    /// If true, the gate and up are exchanged. Default: false.
    pub swapped: bool,
    /// Factor in the logistic function of `swiglu_oai`. Other activations do not take it. Default: 1.702.
    pub alpha: f64,
    /// Limit of the gate and of up with `swiglu_oai`. Other activations do not take it. Range: 1e-6 to
    /// 1e38. Default: 7.
    pub limit: f64,
}

/// Optional attributes of tl_soft_max_ext(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_soft_max_ext_params {
    /// sizeof(tl_soft_max_ext_params).
    pub struct_size: usize,
    /// Factor of `a`. Default: 1.
    pub scale: f64,
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    pub max_bias: f64,
}

/// The attribute `mode` of tl_rope(): the elements that form pair k. Default: normal.
pub type tl_rope_mode = i32;
/// Elements 2 k and 2 k + 1.
pub const TL_ROPE_MODE_NORMAL: tl_rope_mode = 0;
/// Elements k and k + n_dims / 2.
pub const TL_ROPE_MODE_NEOX: tl_rope_mode = 1;
/// Elements k and k + n_dims / 2, with four positions for each token, see `sections`.
pub const TL_ROPE_MODE_MROPE: tl_rope_mode = 2;
/// As mrope, with sections that take turns pair by pair.
pub const TL_ROPE_MODE_IMROPE: tl_rope_mode = 3;
/// Elements k and k + n_dims, with four positions for each token, see `sections`.
pub const TL_ROPE_MODE_VISION: tl_rope_mode = 4;

/// Optional attributes of tl_rope(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_rope_params {
    /// sizeof(tl_rope_params).
    pub struct_size: usize,
    /// The elements that form pair k. Default: normal.
    pub mode: tl_rope_mode,
    /// Number of elements of each row that are rotated, from `offset` on; with `vision`, half of that
    /// number. It must be even, except with `vision`. 0 rotates all. Range: 0 to 1048576. Default: 0.
    pub n_dims: i64,
    /// The first element that is rotated. Range: 0 to 1048576. Default: 0.
    pub offset: i64,
    /// For `mrope`, `imrope` and `vision` only: the number of consecutive pairs that use the first position
    /// of a token, the second, the third and the fourth. After these pairs the sequence repeats. With
    /// `imrope`, let z be k modulo the sum of the sections: a pair uses position z mod 3, or the fourth if
    /// z / 3 is not below that section. Each 0 to 1048576.
    pub sections: [i64; 4],
    /// Context length that the model was trained for. Required if `ext_factor` is above 0. At least 0.
    /// Default: 0.
    pub n_ctx_orig: i64,
    /// Base of the frequencies. Range: 0.001 to 1e38. Default: 10000.
    pub freq_base: f64,
    /// Factor of the positions, which stretches the context. Range: 1e-6 to 1000000. Default: 1.
    pub freq_scale: f64,
    /// Strength of YaRN. 0 disables it. Range: 0 to 1000000. Default: 0.
    pub ext_factor: f64,
    /// Factor of the result. Range: 1e-6 to 1000000. Default: 1.
    pub attn_factor: f64,
    /// Pairs with more turns than this within `n_ctx_orig` are not stretched. Range: 1e-6 to 1000000000.
    /// Default: 32.
    pub beta_fast: f64,
    /// Pairs with fewer turns than this within `n_ctx_orig` are stretched fully. Range: 1e-6 to 1000000000.
    /// Default: 1.
    pub beta_slow: f64,
    /// If true, rotates in the opposite direction, by -t. Default: false.
    pub inverse: bool,
}

/// Optional attributes of tl_flash_attn_ext(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_flash_attn_ext_params {
    /// sizeof(tl_flash_attn_ext_params).
    pub struct_size: usize,
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    pub scale: f64,
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    pub max_bias: f64,
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    pub logit_softcap: f64,
}

/// Optional attributes of tl_paged_attention(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_paged_attention_params {
    /// sizeof(tl_paged_attention_params).
    pub struct_size: usize,
    /// Rows of a page. Range: 1 to 65536. Default: 64.
    pub page: i64,
    /// Number of keys that a token sees, including its own. 0: all. At least 0. Default: 0.
    pub window: i64,
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    pub scale: f64,
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    pub logit_softcap: f64,
}

/// Optional attributes of tl_sum(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_sum_params {
    /// sizeof(tl_sum_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_mean(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_mean_params {
    /// sizeof(tl_mean_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_argmax(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_argmax_params {
    /// sizeof(tl_argmax_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// The attribute `order` of tl_argsort(): the direction. Default: asc.
pub type tl_argsort_order = i32;
/// Smallest element first.
pub const TL_ARGSORT_ORDER_ASC: tl_argsort_order = 0;
/// Largest element first.
pub const TL_ARGSORT_ORDER_DESC: tl_argsort_order = 1;

/// Optional attributes of tl_argsort(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_argsort_params {
    /// sizeof(tl_argsort_params).
    pub struct_size: usize,
    /// The direction. Default: asc.
    pub order: tl_argsort_order,
}

/// Optional attributes of tl_max(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_max_params {
    /// sizeof(tl_max_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_min(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_min_params {
    /// sizeof(tl_min_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_argmin(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_argmin_params {
    /// sizeof(tl_argmin_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_var(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_var_params {
    /// sizeof(tl_var_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_std(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_std_params {
    /// sizeof(tl_std_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_prod(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_prod_params {
    /// sizeof(tl_prod_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_any(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_any_params {
    /// sizeof(tl_any_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_all(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_all_params {
    /// sizeof(tl_all_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_log_sum_exp(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_log_sum_exp_params {
    /// sizeof(tl_log_sum_exp_params).
    pub struct_size: usize,
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    pub dims: u32,
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    pub keep: bool,
}

/// Optional attributes of tl_pad(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_pad_params {
    /// sizeof(tl_pad_params).
    pub struct_size: usize,
    /// Number of elements before the first one of each dimension. Each at least 0.
    pub lp: [i64; 4],
    /// If true, `a` repeats instead of zeros. Default: false.
    pub circular: bool,
}

/// The attribute `part` of tl_tri(): the triangle that is kept.
pub type tl_tri_type = i32;
/// i0 < i1, the lower triangle without the diagonal.
pub const TL_TRI_TYPE_LOWER: tl_tri_type = 0;
/// i0 <= i1, the lower triangle with the diagonal.
pub const TL_TRI_TYPE_LOWER_DIAG: tl_tri_type = 1;
/// i1 < i0, the upper triangle without the diagonal.
pub const TL_TRI_TYPE_UPPER: tl_tri_type = 2;
/// i1 <= i0, the upper triangle with the diagonal.
pub const TL_TRI_TYPE_UPPER_DIAG: tl_tri_type = 3;

/// Optional attributes of tl_acc(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_acc_params {
    /// sizeof(tl_acc_params).
    pub struct_size: usize,
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    pub nb1: i64,
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    pub nb2: i64,
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    pub nb3: i64,
    /// Start of the window, in bytes. At least 0. Default: 0.
    pub offset: i64,
}

/// Optional attributes of tl_set(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_set_params {
    /// sizeof(tl_set_params).
    pub struct_size: usize,
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    pub nb1: i64,
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    pub nb2: i64,
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    pub nb3: i64,
    /// Start of the window, in bytes. At least 0. Default: 0.
    pub offset: i64,
}

/// The attribute `mode` of tl_upscale(): the interpolation. Default: nearest.
pub type tl_upscale_mode = i32;
/// The nearest pixel.
pub const TL_UPSCALE_MODE_NEAREST: tl_upscale_mode = 0;
/// Linear interpolation in both dimensions.
pub const TL_UPSCALE_MODE_BILINEAR: tl_upscale_mode = 1;
/// Cubic interpolation in both dimensions.
pub const TL_UPSCALE_MODE_BICUBIC: tl_upscale_mode = 2;

/// Optional attributes of tl_upscale(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_upscale_params {
    /// sizeof(tl_upscale_params).
    pub struct_size: usize,
    /// Factor of the width and of the height. 0: `ne` is the size. At least 0. Default: 0.
    pub factor: i64,
    /// The interpolation. Default: nearest.
    pub mode: tl_upscale_mode,
    /// Shape of the result. Dimensions that it lacks are 1. Each at least 0.
    pub ne: [i64; 4],
    /// If true, the centres of the pixels in the corners stay where they are. Default: false.
    pub align_corners: bool,
    /// If true, `bilinear` takes all pixels into account that an image becomes smaller by. Default: false.
    pub antialias: bool,
}

/// The attribute `op` of tl_pool_1d(): the operation on a window.
pub type tl_pool_1d_op = i32;
/// The maximum.
pub const TL_POOL_1D_OP_MAX: tl_pool_1d_op = 0;
/// The average.
pub const TL_POOL_1D_OP_AVG: tl_pool_1d_op = 1;

/// Optional attributes of tl_pool_1d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_pool_1d_params {
    /// sizeof(tl_pool_1d_params).
    pub struct_size: usize,
    /// Stride of the windows. 0 selects `k`. At least 0. Default: 0.
    pub s: i64,
    /// Padding at both ends of a row. At least 0. Default: 0.
    pub p: i64,
    /// If true, an average counts padding as zeros. Default: false.
    pub count_padding: bool,
}

/// The attribute `op` of tl_pool_2d(): the operation on a window.
pub type tl_pool_2d_op = i32;
/// The maximum.
pub const TL_POOL_2D_OP_MAX: tl_pool_2d_op = 0;
/// The average.
pub const TL_POOL_2D_OP_AVG: tl_pool_2d_op = 1;

/// Optional attributes of tl_pool_2d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_pool_2d_params {
    /// sizeof(tl_pool_2d_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. 0 selects `k0`. At least 0. Default: 0.
    pub s0: i64,
    /// Stride of the windows in dimension 1. 0 selects `k1`. At least 0. Default: 0.
    pub s1: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// If true, an average does not count padding. Default: false.
    pub skip_padding: bool,
}

/// The attribute `to` of tl_im2col(): type of the result. Default: f32.
pub type tl_im2col_to = i32;
/// `f32`.
pub const TL_IM2COL_TO_F32: tl_im2col_to = 0;
/// `f16`.
pub const TL_IM2COL_TO_F16: tl_im2col_to = 1;
/// `bf16`.
pub const TL_IM2COL_TO_BF16: tl_im2col_to = 2;

/// Optional attributes of tl_im2col(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_im2col_params {
    /// sizeof(tl_im2col_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    pub s0: i64,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    pub s1: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
    /// If true, `b` has images, else signals. Default: false.
    pub is_2d: bool,
    /// Type of the result. Default: f32.
    pub to: tl_im2col_to,
}

/// Optional attributes of tl_conv_1d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_1d_params {
    /// sizeof(tl_conv_1d_params).
    pub struct_size: usize,
    /// Stride of the windows. At least 1. Default: 1.
    pub s: i64,
    /// Padding at both ends of a row. At least 0. Default: 0.
    pub p: i64,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    pub d: i64,
}

/// Optional attributes of tl_conv_2d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_2d_params {
    /// sizeof(tl_conv_2d_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    pub s0: i64,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    pub s1: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
}

/// Optional attributes of tl_conv_1d_dw(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_1d_dw_params {
    /// sizeof(tl_conv_1d_dw_params).
    pub struct_size: usize,
    /// Stride of the windows. At least 1. Default: 1.
    pub s: i64,
    /// Padding at both ends of a row. At least 0. Default: 0.
    pub p: i64,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    pub d: i64,
}

/// Optional attributes of tl_conv_2d_dw(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_2d_dw_params {
    /// sizeof(tl_conv_2d_dw_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    pub s0: i64,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    pub s1: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
}

/// Optional attributes of tl_conv_transpose_1d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_transpose_1d_params {
    /// sizeof(tl_conv_transpose_1d_params).
    pub struct_size: usize,
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    pub s: i64,
    /// Number of elements cut off at both ends of the result. At least 0. Default: 0.
    pub p: i64,
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    pub d: i64,
}

/// Optional attributes of tl_conv_transpose_2d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_transpose_2d_params {
    /// sizeof(tl_conv_transpose_2d_params).
    pub struct_size: usize,
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    pub stride: i64,
    /// Number of elements cut off at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Number of elements cut off at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
}

/// The attribute `to` of tl_im2col_3d(): type of the result. Default: f32.
pub type tl_im2col_3d_to = i32;
/// `f32`.
pub const TL_IM2COL_3D_TO_F32: tl_im2col_3d_to = 0;
/// `f16`.
pub const TL_IM2COL_3D_TO_F16: tl_im2col_3d_to = 1;
/// `bf16`.
pub const TL_IM2COL_3D_TO_BF16: tl_im2col_3d_to = 2;

/// Optional attributes of tl_im2col_3d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_im2col_3d_params {
    /// sizeof(tl_im2col_3d_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    pub s0: i64,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    pub s1: i64,
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    pub s2: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    pub p2: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    pub d2: i64,
    /// Type of the result. Default: f32.
    pub to: tl_im2col_3d_to,
}

/// Optional attributes of tl_conv_3d(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_conv_3d_params {
    /// sizeof(tl_conv_3d_params).
    pub struct_size: usize,
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    pub s0: i64,
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    pub s1: i64,
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    pub s2: i64,
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    pub p0: i64,
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    pub p1: i64,
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    pub p2: i64,
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    pub d0: i64,
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    pub d1: i64,
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    pub d2: i64,
}

/// Optional attributes of tl_ssm_conv(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_ssm_conv_params {
    /// sizeof(tl_ssm_conv_params).
    pub struct_size: usize,
    /// If true, `silu` is applied to the sums. Default: false.
    pub silu: bool,
}

/// Optional attributes of tl_opt_step_momentum(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_opt_step_momentum_params {
    /// sizeof(tl_opt_step_momentum_params).
    pub struct_size: usize,
    /// If true, the last term is `rate (grad[i] + momentum velocity[i])` (Nesterov). Default: false.
    pub nesterov: bool,
}

/// The attribute `by` of tl_mul_mat_sparse(): the test for active neurons, where s is the score. A NaN is
/// not active. Default: score.
pub type tl_mul_mat_sparse_by = i32;
/// s >= threshold.
pub const TL_MUL_MAT_SPARSE_BY_SCORE: tl_mul_mat_sparse_by = 0;
/// abs(s) >= threshold.
pub const TL_MUL_MAT_SPARSE_BY_MAGNITUDE: tl_mul_mat_sparse_by = 1;
/// s > 0.
pub const TL_MUL_MAT_SPARSE_BY_POSITIVE: tl_mul_mat_sparse_by = 2;

/// Optional attributes of tl_mul_mat_sparse(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_mul_mat_sparse_params {
    /// sizeof(tl_mul_mat_sparse_params).
    pub struct_size: usize,
    /// The test for active neurons, where s is the score. A NaN is not active. Default: score.
    pub by: tl_mul_mat_sparse_by,
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    pub threshold: f64,
    /// Number of neurons. Required with `rows` and without `scores`. At least 0. Default: 0.
    pub n: i64,
    /// If true, no kernel rounds an operand. Default: false.
    pub exact: bool,
}

/// The attribute `by` of tl_axpy(): the test for active neurons, where s is the score or, without `scores`,
/// the element of `h`. A NaN in `scores` is not active, and a NaN in `h` is. Default: score.
pub type tl_axpy_by = i32;
/// s >= threshold.
pub const TL_AXPY_BY_SCORE: tl_axpy_by = 0;
/// abs(s) >= threshold.
pub const TL_AXPY_BY_MAGNITUDE: tl_axpy_by = 1;
/// s > 0.
pub const TL_AXPY_BY_POSITIVE: tl_axpy_by = 2;

/// Optional attributes of tl_axpy(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_axpy_params {
    /// sizeof(tl_axpy_params).
    pub struct_size: usize,
    /// The test for active neurons, where s is the score or, without `scores`, the element of `h`. A NaN in
    /// `scores` is not active, and a NaN in `h` is. Default: score.
    pub by: tl_axpy_by,
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    pub threshold: f64,
}

/// The attribute `activation` of tl_sparse_ffn(): the activation of the gate. Default: relu.
pub type tl_sparse_ffn_activation = i32;
/// `relu`.
pub const TL_SPARSE_FFN_ACTIVATION_RELU: tl_sparse_ffn_activation = 0;
/// `silu`.
pub const TL_SPARSE_FFN_ACTIVATION_SILU: tl_sparse_ffn_activation = 1;
/// `gelu`.
pub const TL_SPARSE_FFN_ACTIVATION_GELU: tl_sparse_ffn_activation = 2;

/// The attribute `by` of tl_sparse_ffn(): the test for active neurons, where s is the score or, without
/// `scores`, the element of the projection. A NaN in `scores` is not active, and a NaN in a projection is.
/// Default: score.
pub type tl_sparse_ffn_by = i32;
/// s >= threshold.
pub const TL_SPARSE_FFN_BY_SCORE: tl_sparse_ffn_by = 0;
/// abs(s) >= threshold.
pub const TL_SPARSE_FFN_BY_MAGNITUDE: tl_sparse_ffn_by = 1;
/// s > 0.
pub const TL_SPARSE_FFN_BY_POSITIVE: tl_sparse_ffn_by = 2;

/// The attribute `first` of tl_sparse_ffn(): the projection that is computed for all neurons and tested, if
/// there are no `scores`. Default: gate.
pub type tl_sparse_ffn_first = i32;
/// `gate`.
pub const TL_SPARSE_FFN_FIRST_GATE: tl_sparse_ffn_first = 0;
/// `up`.
pub const TL_SPARSE_FFN_FIRST_UP: tl_sparse_ffn_first = 1;

/// Optional attributes of tl_sparse_ffn(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_sparse_ffn_params {
    /// sizeof(tl_sparse_ffn_params).
    pub struct_size: usize,
    /// The activation of the gate. Default: relu.
    pub activation: tl_sparse_ffn_activation,
    /// The test for active neurons, where s is the score or, without `scores`, the element of the
    /// projection. A NaN in `scores` is not active, and a NaN in a projection is. Default: score.
    pub by: tl_sparse_ffn_by,
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    pub threshold: f64,
    /// The projection that is computed for all neurons and tested, if there are no `scores`. Default: gate.
    pub first: tl_sparse_ffn_first,
}

/// Optional attributes of tl_gated_delta_net(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_gated_delta_net_params {
    /// sizeof(tl_gated_delta_net_params).
    pub struct_size: usize,
    /// Number of states that the second result has for each sequence, the newest first. Range: 1
    /// to 1048576. Default: 1.
    pub n_states: i64,
}

/// Optional attributes of tl_ssm_scan(). Since 0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_ssm_scan_params {
    /// sizeof(tl_ssm_scan_params).
    pub struct_size: usize,
    /// Number of states that the second result has for each sequence, the newest first. Range: 1
    /// to 1048576. Default: 1.
    pub n_states: i64,
}

extern "C" {
    /// Adds `b` to `a`, element-wise.
    ///
    /// Computes `c[i] = a[i mod shape(a)] + b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_add(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Subtracts `b` from `a`, element-wise.
    ///
    /// Computes `c[i] = a[i mod shape(a)] - b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sub(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Multiplies `a` by `b`, element-wise.
    ///
    /// Computes `c[i] = a[i mod shape(a)] * b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_mul(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Divides `a` by `b`, element-wise.
    ///
    /// Computes `c[i] = a[i mod shape(a)] / b[i mod shape(b)]`.
    ///
    /// Dividing a float by 0 gives an infinity, and 0 / 0 gives NaN. A quotient of integers is rounded
    /// towards 0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an integer divisor of 0. The message names the
    ///   first such element.
    ///
    /// Since 0.1.
    pub fn tl_div(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the larger of `a` and `b`, element-wise.
    ///
    /// Computes `c[i] = max(a[i mod shape(a)], b[i mod shape(b)])`.
    ///
    /// The result is NaN if either element is NaN. 0 counts as larger than -0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_maximum(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the smaller of `a` and `b`, element-wise.
    ///
    /// Computes `c[i] = min(a[i mod shape(a)], b[i mod shape(b)])`.
    ///
    /// The result is NaN if either element is NaN. 0 counts as larger than -0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_minimum(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Raises `a` to the power of `b`, element-wise.
    ///
    /// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
    ///
    /// Special cases of floats are those of C. A finite negative element to a power that is not an integer
    /// gives NaN. Any element, even NaN, to the power of 0 gives 1.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 to within 2 ulp and rounded once; or
    ///   both I32, I64 or F64, computed in this type. Integers wrap around where they overflow, and 0 to
    ///   the power of 0 is 1. F64 is within 2 ulp.
    /// - Result: The type of `a`.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an integer exponent below 0. The message names
    ///   the first such element.
    ///
    /// Since 0.1.
    pub fn tl_pow(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` equals `b`, element-wise: 1 if it does, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] == b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 0. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_eq(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` differs from `b`, element-wise: 1 if it does, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] != b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 1. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_ne(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` is less than `b`, element-wise: 1 if it is, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] < b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 0. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_lt(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` is at most `b`, element-wise: 1 if it is, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] <= b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 0. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_le(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` is greater than `b`, element-wise: 1 if it is, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] > b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 0. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_gt(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` is at least `b`, element-wise: 1 if it is, 0 otherwise.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] >= b[i mod shape(b)] else 0`.
    ///
    /// A comparison with NaN gives 0. 0 and -0 are equal.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
    ///   both I32, I64 or F64, and `c` is F32.
    ///
    /// Since 0.1.
    pub fn tl_ge(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Adds the single element of `b` to each element of `a`.
    ///
    /// Computes `c[i] = a[i] + b[0]`.
    /// - Shapes: `c` has the shape of `a`. `b` has one element.
    /// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
    ///   or F64, computed in this type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_add1(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Selects elements of `a` where `condition` is not 0, and elements of `b` elsewhere.
    ///
    /// Computes `c[i] = a[i mod shape(a)] if condition[i mod shape(condition)] != 0 else
    /// b[i mod shape(b)]`.
    ///
    /// A NaN in `condition` counts as not 0.
    /// - Shapes: `condition`, `a` and `b` are broadcast to the shape of `c`. In each dimension their
    ///   extents are equal, or 1, whose elements repeat. An extent of `condition` or `b` may also divide
    ///   that of `a`, and its elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `condition` is a float, an integer or BOOL. `a` and `b` have one type, which is not
    ///   quantised; or all three are F32, F16 or BF16, and `b` is rounded to the type of `a`. `c` has the
    ///   type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_where(
        ctx: *mut tl_context,
        condition: *mut tl_tensor,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Multiplies each element by `scale` and adds `bias`.
    ///
    /// Computes `c[i] = a[i] * scale + bias`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32; or I32, I64 or F64, computed in this type. The product
    ///   and the sum are each rounded. For integers, `scale` and `bias` are integers of the type, and
    ///   results wrap around.
    /// - Result: The type of `a`.
    /// - `scale`: factor of each element.
    ///
    /// Since 0.1.
    pub fn tl_scale(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        scale: f64,
        params: *const tl_scale_params,
    ) -> *mut tl_tensor;

    /// Limits each element to the range from `min` to `max`.
    ///
    /// Computes `c[i] = min(max, max(min, a[i]))`.
    ///
    /// NaN stays NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    /// - `min`: lower bound. It must not exceed `max`.
    /// - `max`: upper bound.
    ///
    /// Since 0.1.
    pub fn tl_clamp(ctx: *mut tl_context, a: *mut tl_tensor, min: f64, max: f64) -> *mut tl_tensor;

    /// Fills a tensor of the shape and type of `a` with one value.
    ///
    /// Computes `c[i] = value`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, to which the value is rounded; or I32, I64 or F64. For integers, the
    ///   value is an integer of the type.
    /// - Result: The type of `a`.
    /// - `value`: value of all elements. NaN is valid.
    ///
    /// Since 0.1.
    pub fn tl_fill(ctx: *mut tl_context, a: *mut tl_tensor, value: f64) -> *mut tl_tensor;

    /// Replaces elements of `a` where `mask` is not 0 by a value.
    ///
    /// Computes `c[i] = value if mask[i mod shape(mask)] != 0 else a[i]`.
    ///
    /// A NaN in `mask` counts as not 0.
    /// - Shapes: `c` has the shape of `a`. Each extent of `mask` is that of `a`, or 1.
    /// - Types: `a` is F32, F16 or BF16, and the value is rounded to this type; or `a` is F64; or `a` is an
    ///   integer or BOOL, and the value is a number of its type. `mask` is a float, an integer or BOOL.
    /// - Result: The type of `a`.
    /// - `value`: the value. NaN and infinity are valid.
    ///
    /// Since 0.1.
    pub fn tl_masked_fill(ctx: *mut tl_context, a: *mut tl_tensor, mask: *mut tl_tensor, value: f64) -> *mut tl_tensor;

    /// Sums outer products: of each row of `a` and the row of `b` with the same index.
    ///
    /// Computes `c[m, n, i2, i3] = sum over k of a[m, k, i2 / (X/x), i3 / (Y/y)] * b[n, k, i2, i3]`.
    ///
    /// This is tl_mul_mat() of both operands transposed. k = 0 gives zeros. Products and sums are computed
    /// in F32, and no operand is rounded. A quantised `a` is decoded first; on the CPU this takes memory
    /// for all of it.
    /// - Shapes: `a` {m, k, x, y}, `b` {n, k, X, Y}, `c` {m, n, X, Y}. x divides X and y divides Y, as for
    ///   tl_mul_mat().
    /// - Types: `a` has a float type, or a quantised type other than Q8_1 and Q8_K. `b` is F32, F16 or
    ///   BF16.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_out_prod(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Sums, for each expert, the outer products of the rows of `a` and `b` that `ids` assigns to it.
    ///
    /// Computes `c[n, m, e] = sum over (u, t) with ids[u, t] = e of a[n, u mod x, t] * b[m, u, t]`.
    ///
    /// An expert without rows gets zeros. The index -1 stands for no expert: its rows are not read.
    /// Products and sums are computed in F32, in the order of the rows, (0, 0), (1, 0) and so on. No
    /// operand is rounded.
    /// - Shapes: `a` {n, x, tokens}, `b` {m, used, tokens}, `ids` {used, tokens}, `c` {n, m, experts}. x
    ///   divides used: with x = 1 all experts of a token share its row of `a`, with x = used each has a row
    ///   of its own.
    /// - Types: `a` and `b` are each F32, F16 or BF16. `ids` is I32 or I64.
    /// - Result: F32.
    /// - `experts`: number of experts. Range: 0 to 2^31 - 1.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index that is neither an expert nor -1. The
    ///   message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_out_prod_id(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        ids: *mut tl_tensor,
        experts: i64,
    ) -> *mut tl_tensor;

    /// Solves systems of equations with triangular matrices.
    ///
    /// Computes `sum over k of a[k, r] c[i, k] = b[i, r]`.
    ///
    /// Row r of `a` has the coefficients of equation r, and `c` the unknowns of one system in each column.
    /// Elements of `a` on the other side of the diagonal are not read. The unknowns follow one after the
    /// other (substitution). A 0 on the diagonal gives infinities and NaN. For X a = b solve the transposed
    /// system.
    /// - Shapes: `a` {n, n, x, y}, `b` and `c` {m, n, x, y}.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    /// - `left`: must be true: `a` is left of the unknowns.
    /// - `lower`: whether the lower triangle of `a` is read, else the upper one.
    /// - `unit`: whether 1 takes the place of the diagonal, which is then not read.
    ///
    /// Since 0.1.
    pub fn tl_solve_tri(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        left: bool,
        lower: bool,
        unit: bool,
    ) -> *mut tl_tensor;

    /// Swaps dimensions 0 and 1 of `a`.
    ///
    /// Computes `c[i1, i0, i2, i3] = a[i0, i1, i2, i3]`.
    /// - Shapes: `c` has the shape of `a` with the first two dimensions swapped.
    /// - Types: Any type that is not quantised.
    /// - Result: A view of `a`. Nothing is computed.
    ///
    /// Since 0.1.
    pub fn tl_transpose(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Returns `a`, and stops gradients.
    ///
    /// Computes `c[i] = a[i]`.
    /// - Shapes: `c` has the shape and the strides of `a`.
    /// - Types: Any type.
    /// - Result: A view of `a`. Nothing is computed.
    ///
    /// Since 0.1.
    pub fn tl_stop_gradient(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Repeats `a` along dimensions of 1 element without copying it.
    ///
    /// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
    ///
    /// The strides of the repeated dimensions are 0. Operators broadcast by themselves; tl_expand() is for
    /// operations that do not. tl_repeat() copies, and repeats dimensions of any size.
    /// - Shapes: `a` {n0, n1, n2, n3}. `c` differs from `a` only in dimensions in which `a` has 1 element.
    /// - Types: Any type.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
    ///
    /// Since 0.1.
    pub fn tl_expand(ctx: *mut tl_context, a: *mut tl_tensor, n_dims: i32, ne: *const i64) -> *mut tl_tensor;

    /// Inserts a dimension of 1 element.
    ///
    /// Dimension d of `a` is dimension d of `c` before `dim`, and d + 1 from there on.
    /// - Shapes: `a` has at most 3 dimensions, and `c` has one more.
    /// - Types: Any type. If `dim` is 0, it is not quantised.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `dim`: the inserted dimension. Range: 0 to 3.
    ///
    /// Since 0.1.
    pub fn tl_unsqueeze(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64) -> *mut tl_tensor;

    /// Removes a dimension of 1 element.
    ///
    /// Dimension d of `a` is dimension d of `c` before `dim`, and d - 1 after it.
    /// - Shapes: Dimension `dim` of `a` has 1 element. `c` has at least one dimension.
    /// - Types: Any type.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `dim`: the removed dimension. Range: 0 to 3.
    ///
    /// Since 0.1.
    pub fn tl_squeeze(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64) -> *mut tl_tensor;

    /// Joins neighbouring dimensions to one.
    ///
    /// The elements of `c` are those of `a`, in the same order.
    ///
    /// `c` is a view of `a` if strides can express it, as always for a contiguous `a`, and a copy
    /// otherwise.
    /// - Shapes: Dimension `first` of `c` has as many elements as dimensions `first` to `last` of `a`
    ///   together.
    /// - Types: Any type.
    /// - Result: The type of `a`.
    /// - `first`: the first joined dimension. Range: 0 to 3.
    /// - `last`: the last one. Dimensions that `a` lacks have 1 element, so 3 joins all that follow. Range:
    ///   0 to 3.
    ///
    /// Since 0.1.
    pub fn tl_flatten(ctx: *mut tl_context, a: *mut tl_tensor, first: i64, last: i64) -> *mut tl_tensor;

    /// Returns the elements of `a` with one index in a dimension, without that dimension.
    ///
    /// Computes `c[i0, i2, i3] = a[i0, index, i2, i3]`.
    ///
    /// The formula is for `dim` 1.
    /// - Shapes: `c` has the shape of `a` without dimension `dim`.
    /// - Types: Any type. If `dim` is 0, it is not quantised.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - `index`: the index. Negative ones count from the end: -1 is the last.
    ///
    /// Since 0.1.
    pub fn tl_select(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64, index: i64) -> *mut tl_tensor;

    /// Returns another result of the operation that made `a`.
    ///
    /// c is result number `number` of the operation whose first result is `a`.
    ///
    /// An operation with several results returns the first one. Its description says what the others are.
    /// All are computed together.
    /// - Shapes: Those of the operation's description.
    /// - Types: Any type.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `number`: which result. 0 is `a` itself. Range: 0 to 9.
    ///
    /// Since 0.1.
    pub fn tl_result(ctx: *mut tl_context, a: *mut tl_tensor, number: i64) -> *mut tl_tensor;

    /// Copies `a` into contiguous memory.
    ///
    /// Computes `c[i] = a[i]`.
    /// - Shapes: `c` has the shape of `a` and is contiguous.
    /// - Types: Any type. Elements are copied exactly.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_cont(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Copies the elements of `src` into `dst`.
    ///
    /// Element j of `dst` becomes element j of `src`, where both are counted along dimension 0 first.
    ///
    /// Later nodes of the graph that read `dst`, through any view, see the new elements. `dst` must not be
    /// constant, and no two of its elements may share memory. `src` must not share memory with `dst`,
    /// unless both are the same elements.
    /// - Shapes: `src` and `dst` have the same number of elements.
    /// - Types: Any type into any type, converted as by tl_cast().
    /// - Result: A view of `dst`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a value that the type of `dst` cannot hold.
    ///   The message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_cpy(ctx: *mut tl_context, src: *mut tl_tensor, dst: *mut tl_tensor) -> *mut tl_tensor;

    /// Copies `a`.
    ///
    /// Computes `c[i] = a[i]`.
    /// - Shapes: `c` has the shape of `a` and is contiguous.
    /// - Types: Any type. Elements are copied exactly.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_dup(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Gathers rows of `a` by index.
    ///
    /// Computes `c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]`.
    /// - Shapes: `a` {n, m, x, y}, `rows` {r, x, y}, `c` {n, r, x, y}. A row may be taken any number of
    ///   times.
    /// - Types: `a` has any type, and `rows` is I32 or I64. `c` has the type of `a` if that is an integer
    ///   type, and is F32 otherwise. The conversion is exact, except that F64 is rounded.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range. The message names
    ///   the first such element.
    ///
    /// Since 0.1.
    pub fn tl_get_rows(ctx: *mut tl_context, a: *mut tl_tensor, rows: *mut tl_tensor) -> *mut tl_tensor;

    /// Stores the rows of `b` in `a` by index.
    ///
    /// Computes `a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]`.
    ///
    /// If an index occurs twice, the later row remains. `a` must not be constant, and no two of its
    /// elements may share memory. `a` must not share memory with `b` or `rows`.
    /// - Shapes: `a` {n, m, x, y}, `b` {n, r, x, y}, `rows` {r, x', y'}. x' divides x and y' divides y.
    /// - Types: `a` and `b` have any types: `b` is converted to the type of `a` as by tl_cast(). `rows` is
    ///   I32 or I64.
    /// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range, whose row is not
    ///   stored, and for a value that the type of `a` cannot hold. The message names the first such
    ///   element.
    ///
    /// Since 0.1.
    pub fn tl_set_rows(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        rows: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Gathers parts of `a` by index along a dimension.
    ///
    /// Computes `c[i0, k, i2, i3] = a[i0, indices[k], i2, i3]`.
    ///
    /// The formula is for `dim` 1. For another dimension, the index takes the place of i1, i2 or i3.
    /// tl_get_rows() and tl_gather() do the work, and are named in errors while computing. A non-contiguous
    /// `a` may be copied first.
    /// - Shapes: `indices` {n}. `c` has the shape of `a` with n elements in dimension `dim`.
    /// - Types: `a` has any type. If `dim` is 0, it is not quantised. `indices` is I32 or I64. `c` has the
    ///   type of `a`, or F32 if that is quantised. Elements are copied exactly.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range. The message names the
    ///   first such element.
    ///
    /// Since 0.1.
    pub fn tl_index_select(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        indices: *mut tl_tensor,
        dim: i64,
    ) -> *mut tl_tensor;

    /// Takes the absolute value of each element.
    ///
    /// Computes `c[i] = |a[i]|`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_abs(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Negates each element.
    ///
    /// Computes `c[i] = -a[i]`.
    ///
    /// The negation of 0 is -0.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_neg(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Squares each element.
    ///
    /// Computes `c[i] = a[i] * a[i]`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sqr(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the square root of each element.
    ///
    /// Computes `c[i] = sqrt(a[i])`.
    ///
    /// Negative elements give NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sqrt(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the natural logarithm of each element.
    ///
    /// Computes `c[i] = log(a[i])`.
    ///
    /// 0 gives -infinity. Negative elements give NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_log(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Raises e to the power of each element.
    ///
    /// Computes `c[i] = e ^ a[i]`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 1 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_exp(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Raises e to the power of each element and subtracts 1, with full precision near 0.
    ///
    /// Computes `c[i] = e ^ a[i] - 1`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_expm1(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the sine of each element, in radians.
    ///
    /// Computes `c[i] = sin(a[i])`.
    ///
    /// Infinities give NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sin(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the cosine of each element, in radians.
    ///
    /// Computes `c[i] = cos(a[i])`.
    ///
    /// Infinities give NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_cos(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the sign of each element: -1, 0 or 1.
    ///
    /// Computes `c[i] = a[i] / |a[i]| if a[i] != 0 else a[i]`.
    ///
    /// -0 and NaN are kept.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sgn(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Maps positive elements to 1 and all others to 0.
    ///
    /// Computes `c[i] = 1 if a[i] > 0 else 0`.
    ///
    /// NaN stays NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_step(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Rounds each element down to an integer.
    ///
    /// Computes `c[i] = floor(a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_floor(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Rounds each element up to an integer.
    ///
    /// Computes `c[i] = ceil(a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_ceil(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Rounds each element to the nearest integer, and halves away from 0.
    ///
    /// Computes `c[i] = sgn(a[i]) * floor(|a[i]| + 1/2)`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_round(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Rounds each element toward 0 to an integer.
    ///
    /// Computes `c[i] = sgn(a[i]) * floor(|a[i]|)`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_trunc(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the error function to each element.
    ///
    /// Computes `c[i] = 2 / sqrt(pi) * integral from 0 to a[i] of e ^ (-t^2) dt`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_erf(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the rectified linear unit (ReLU): negative elements become 0.
    ///
    /// Computes `c[i] = max(a[i], 0)`.
    ///
    /// NaN stays NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_relu(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the logistic function to each element.
    ///
    /// Computes `c[i] = 1 / (1 + e ^ -a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_sigmoid(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Takes the hyperbolic tangent of each element.
    ///
    /// Computes `c[i] = tanh(a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_tanh(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the exponential linear unit (ELU) to each element.
    ///
    /// Computes `c[i] = a[i] if a[i] > 0 else e ^ a[i] - 1`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_elu(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the softplus function to each element.
    ///
    /// Computes `c[i] = log(1 + e ^ a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_softplus(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Multiplies each element by its tl_sigmoid() (SiLU, swish).
    ///
    /// Computes `c[i] = a[i] / (1 + e ^ -a[i])`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_silu(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the Gaussian error linear unit (GELU), approximated with tanh.
    ///
    /// Computes `c[i] = a[i] / 2 * (1 + tanh(sqrt(2 / pi) * (a[i] + 0.044715 a[i]^3)))`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_gelu(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the Gaussian error linear unit (GELU), with the error function.
    ///
    /// Computes `c[i] = a[i] / 2 * (1 + erf(a[i] / sqrt(2)))`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_gelu_erf(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the Gaussian error linear unit (GELU), approximated with tl_sigmoid().
    ///
    /// Computes `c[i] = a[i] / (1 + e ^ (-1.702 a[i]))`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_gelu_quick(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Multiplies each element by its tl_hardsigmoid().
    ///
    /// Computes `c[i] = a[i] * min(max(a[i] + 3, 0), 6) / 6`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_hardswish(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Approximates the tl_sigmoid() of each element by three straight lines.
    ///
    /// Computes `c[i] = min(max(a[i] + 3, 0), 6) / 6`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
    ///   once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_hardsigmoid(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Applies the leaky rectified linear unit: negative elements are multiplied by `slope`.
    ///
    /// Computes `c[i] = a[i] if a[i] > 0 else slope * a[i]`.
    ///
    /// NaN stays NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
    /// - Result: The type of `a`.
    /// - `slope`: factor of negative elements.
    ///
    /// Since 0.1.
    pub fn tl_leaky_relu(ctx: *mut tl_context, a: *mut tl_tensor, slope: f64) -> *mut tl_tensor;

    /// Applies the integrated exponential linear unit (xIELU, arXiv 2411.13010) to each element.
    ///
    /// Computes `c[i] = alpha_p a[i]^2 + beta a[i] if a[i] > 0 else alpha_n (e ^ min(a[i], eps) - 1 -
    /// a[i]) + beta a[i]`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the larger of the two
    ///   summands, and rounded once.
    /// - Result: The type of `a`.
    /// - `alpha_n`: factor of the exponential part below 0, to which no softplus is applied.
    /// - `alpha_p`: factor of the square above 0, to which no softplus is applied.
    /// - `beta`: slope at 0.
    /// - `eps`: upper bound of the exponent below 0. Models use -1e-6.
    ///
    /// Since 0.1.
    pub fn tl_xielu(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        alpha_n: f64,
        alpha_p: f64,
        beta: f64,
        eps: f64,
    ) -> *mut tl_tensor;

    /// Applies an activation to a gate and multiplies the result by another operand (gated linear unit).
    ///
    /// Computes `c[i] = activation(gate[i]) * up[i]`.
    /// - Shapes: With `b`: `a`, `b` and `c` have the same shape, the gate is `a` and up is `b`. Without
    ///   `b`: `a` is {2 n, m, x, y} and `c` is {n, m, x, y}, the gate is the first half of each row of `a`
    ///   and up the second half. If `a` has rows of 2 n + 1 elements, the last one is not read.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32: the activation has an error of at
    ///   most 1e-6 of its value, and the product is rounded once.
    /// - Result: The type of `a`.
    /// - `b` is optional: tl_none() leaves it out.
    /// - `op`: the activation.
    ///
    /// Since 0.1.
    pub fn tl_glu(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        op: tl_glu_op,
        params: *const tl_glu_params,
    ) -> *mut tl_tensor;

    /// Subtracts the mean of each row and divides by the standard deviation (layer normalisation without
    /// weight and bias).
    ///
    /// Computes `c[i, r] = (a[i, r] - mean(a[r])) / sqrt(variance(a[r]) + eps)`; `variance(x) = mean((x -
    /// mean(x))^2)`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    /// - `eps`: added to the variance, so that rows without variation become 0. Range: 0 to 1e38.
    ///
    /// Since 0.1.
    pub fn tl_norm(ctx: *mut tl_context, a: *mut tl_tensor, eps: f64) -> *mut tl_tensor;

    /// Divides each row by its root mean square.
    ///
    /// Computes `c[i, r] = a[i, r] / sqrt(mean(a[r]^2) + eps)`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    /// - `eps`: added to the mean square, so that rows of zeros stay zeros. Range: 0 to 1e38.
    ///
    /// Since 0.1.
    pub fn tl_rms_norm(ctx: *mut tl_context, a: *mut tl_tensor, eps: f64) -> *mut tl_tensor;

    /// Divides each row by its Euclidean length.
    ///
    /// Computes `c[i, r] = a[i, r] / max(sqrt(sum(a[r]^2)), eps)`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    /// - `eps`: smallest divisor, so that rows of zeros stay zeros. Range: 0 to 1e38.
    ///
    /// Since 0.1.
    pub fn tl_l2_norm(ctx: *mut tl_context, a: *mut tl_tensor, eps: f64) -> *mut tl_tensor;

    /// Subtracts the mean of each group of channels and divides by the standard deviation.
    ///
    /// Computes `c[i] = (a[i] - mean(G)) / sqrt(variance(G) + eps)`.
    ///
    /// G is the group of `a[i]`. The channels are dimension 2. With k = ceil(channels / groups), group j
    /// has the channels j k to j k + k - 1; the last groups have the channels that remain.
    /// - Shapes: `a` {n, m, channels, batch}. `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    /// - `groups`: number of groups. At most the number of channels. At least 1.
    /// - `eps`: added to the variance, so that groups without variation become 0. Range: 0 to 1e38.
    ///
    /// Since 0.1.
    pub fn tl_group_norm(ctx: *mut tl_context, a: *mut tl_tensor, groups: i64, eps: f64) -> *mut tl_tensor;

    /// Computes the softmax of each row: weights that sum to 1.
    ///
    /// Computes `c[i, r] = e^(a[i, r] - max(a[r])) / sum over j of e^(a[j, r] - max(a[r]))`.
    ///
    /// -infinity has the weight 0. A row that has only -infinity, or has NaN or infinity in it, becomes
    /// NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_soft_max(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Scales and masks each row and computes its softmax (attention weights).
    ///
    /// Computes `x[i] = scale a[i, r] + slope(h) mask[i, r]`; `c[i, r] = e^(x[i] - m) / (e^(sinks[h] - m) +
    /// sum over j of e^(x[j] - m))`.
    ///
    /// m is the largest of x and `sinks[h]`, and h is the index in dimension 2, the head. The terms of an
    /// operand that is left out are dropped. slope(h) is 1 if `max_bias` is 0. Otherwise let p be the
    /// largest power of 2 that is at most the number of heads: slope(h) is 2^(-max_bias (h + 1) / p) for h
    /// < p, and 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the other heads (Press, Smith and Lewis, Train
    /// Short, Test Long, 2022). -infinity has the weight 0. Without `sinks`, a row that has only -infinity
    /// becomes NaN. A row with NaN or infinity in it becomes NaN.
    /// - Shapes: `a` {n, m, heads, batch}, `mask` {n, m', x, y}, `sinks` {heads}. `c` has the shape of `a`.
    ///   m' is at least m; further rows of `mask` are not read. x divides heads and y divides batch.
    /// - Types: `a` and `mask` are each F32, F16 or BF16, and `sinks` is F32. Sums are computed as by
    ///   tl_sum(), everything else in F32. The result is rounded once.
    /// - Result: The type of `a`.
    /// - `mask` and `sinks` are optional: tl_none() leaves one out.
    ///
    /// Since 0.1.
    pub fn tl_soft_max_ext(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        mask: *mut tl_tensor,
        sinks: *mut tl_tensor,
        params: *const tl_soft_max_ext_params,
    ) -> *mut tl_tensor;

    /// Computes the logarithm of the tl_soft_max() of each row.
    ///
    /// Computes `c[i, r] = a[i, r] - m - log(sum over j of e^(a[j, r] - m))`; `m = max(a[r])`.
    ///
    /// -infinity stays -infinity. A row that has only -infinity, or has NaN or infinity in it, becomes NaN.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
    ///   rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_log_soft_max(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Rotates pairs of elements of each row by angles that are proportional to its position (rotary
    /// position embedding).
    ///
    /// Computes `(x, y) = m (x cos t - y sin t, x sin t + y cos t)`; `t = position w(k)`; `w(k) =
    /// freq_base^(-2 k / n_dims) / freq_factors[k] * (freq_scale (1 - r(k)) + r(k))`.
    ///
    /// (x, y) is pair k of the n_dims / 2 pairs of a row. All other elements are copied. With `vision`
    /// there are n_dims pairs, and k in w(k) counts from the first pair of the section. Without
    /// `freq_factors` all factors are 1. Without `ext_factor`, r(k) = 0 and m = attn_factor. With
    /// `ext_factor` (YaRN, Peng and others, 2023), m = attn_factor (1 + 0.1 ln(1 / freq_scale)) and r(k) =
    /// ext_factor (1 - q), where q is (k - low) / max(high - low, 0.001) limited to 0 to 1. There low =
    /// max(0, floor(d(beta_fast))), high = min(n_dims - 1, ceil(d(beta_slow))) and d(beta) = n_dims
    /// ln(n_ctx_orig / (2 pi beta)) / (2 ln freq_base).
    /// - Shapes: `a` {n, heads, tokens, batch}, `positions` {tokens} or {tokens, batch}, `freq_factors`
    ///   {n_dims / 2}. `c` has the shape of `a`. If `mode` is `mrope`, `imrope` or `vision`, `positions` is
    ///   {4 tokens} or {4 tokens, batch}: all positions of the first section, then all of the second, and
    ///   so on.
    /// - Types: `a` is F32, F16 or BF16, `positions` I32 or I64, `freq_factors` F32. Angles are computed in
    ///   F64 and the rest in F32, with an error of at most 8 * 2^-24 m (|x| + |y|). The result is rounded
    ///   once to the type of `a`.
    /// - Result: The type of `a`.
    /// - `freq_factors` is optional: tl_none() leaves it out.
    ///
    /// Since 0.1.
    pub fn tl_rope(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        positions: *mut tl_tensor,
        freq_factors: *mut tl_tensor,
        params: *const tl_rope_params,
    ) -> *mut tl_tensor;

    /// Computes attention: for each query, the mean of the values, weighted by the softmax of its products
    /// with the keys.
    ///
    /// Computes `x[j] = scale (q[., t, h, b] . k[., j, h', b']) + slope(h) mask[j, t]`; `w = softmax(x)`;
    /// `c[d, h, t, b] = sum over j of w[j] v[d, j, h', b']`.
    ///
    /// h' = h / (heads / heads') is the head of `k` and `v` that query head h uses, and b' follows in the
    /// same way. With `sinks`, `e^sinks[h]` is one more summand of the softmax, which has no value. With
    /// `logit_softcap` s above 0, the product becomes s tanh(scale (q . k) / s). slope(h) is 1 if
    /// `max_bias` is 0. Otherwise let p be the largest power of 2 that is at most the number of heads:
    /// slope(h) is 2^(-max_bias (h + 1) / p) for h < p, and 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the
    /// other heads (Press, Smith and Lewis, Train Short, Test Long, 2022). Keys with a mask of -infinity
    /// for all queries of a block are skipped. Other masked keys multiply their value by 0, which gives NaN
    /// if the value is not finite. A query without keys becomes NaN unless there are `sinks`. A query with
    /// NaN or infinity among its products becomes NaN.
    /// - Shapes: `q` {n, tokens, heads, batch}, `k` {n, keys, heads', batch'}, `v`
    ///   {m, keys, heads', batch'}, `mask` {keys, tokens', x, y}, `sinks` {heads}, `c`
    ///   {m, heads, tokens, batch}. heads' divides heads and batch' divides batch. tokens' is at least
    ///   tokens; further rows of `mask` are not read. x divides heads and y divides batch.
    /// - Types: `q` and `mask` are each F32, F16 or BF16. `k` and `v` each have a float type, or a
    ///   quantised type other than Q8_1 and Q8_K. `sinks` is F32. Computed in F32: products and sums over
    ///   up to 144 keys, and then block by block. e^x is computed to within 1e-6.
    /// - Result: F32.
    /// - `mask` and `sinks` are optional: tl_none() leaves one out.
    ///
    /// Since 0.1.
    pub fn tl_flash_attn_ext(
        ctx: *mut tl_context,
        q: *mut tl_tensor,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        mask: *mut tl_tensor,
        sinks: *mut tl_tensor,
        params: *const tl_flash_attn_ext_params,
    ) -> *mut tl_tensor;

    /// Computes causal attention of tokens of several sequences, whose keys and values lie in pages of a
    /// pool.
    ///
    /// Computes `x[j] = scale (q[., t, h] . k[., h', r(j)]) for j from max(0, p - window + 1) to p, where p
    /// = positions[t]`; `w = softmax(x)`; `c[d, h, t] = sum over j of w[j] v[d, h', r(j)]`; `r(j) = page
    /// pages[floor(j / page), sequences[t]] + j mod page`.
    ///
    /// A token sees the keys of its own sequence up to its own position, or the last `window` of them if
    /// `window` is above 0. h' = h / (heads / heads') is the head of `k` and `v` that query head h uses.
    /// Rows of `k` and `v` that no token sees are not read, nor are numbers of pages that no token needs.
    /// With `sinks`, `e^sinks[h]` is one more summand of the softmax, which has no value. With
    /// `logit_softcap` s above 0, the product becomes s tanh(scale (q . k) / s). A query with NaN or
    /// infinity among its products becomes NaN. A number of a page, a position or a sequence that does not
    /// exist is an error of the run. One pool serves any number of sequences: PagedAttention (Kwon and
    /// others, 2023).
    /// - Shapes: `q` {n, tokens, heads}, `k` {n, heads', rows}, `v` {m, heads', rows}, `pages`
    ///   {most, n_sequences}, `positions` {tokens}, `sequences` {tokens}, `sinks` {heads}, `c`
    ///   {m, heads, tokens}. heads' divides heads and `page` divides rows.
    /// - Types: `q` is F32, F16 or BF16. `k` and `v` each have a float type, or a quantised type other than
    ///   Q8_1 and Q8_K. `pages`, `positions` and `sequences` are I32 or I64. `sinks` is F32. Computed in
    ///   F32: products and sums over up to 256 keys, and then block by block. e^x is computed to within
    ///   1e-6.
    /// - Result: F32.
    /// - `sinks` is optional: tl_none() leaves it out.
    ///
    /// Since 0.1.
    pub fn tl_paged_attention(
        ctx: *mut tl_context,
        q: *mut tl_tensor,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        pages: *mut tl_tensor,
        positions: *mut tl_tensor,
        sequences: *mut tl_tensor,
        sinks: *mut tl_tensor,
        params: *const tl_paged_attention_params,
    ) -> *mut tl_tensor;

    /// Sums `a` over dimensions.
    ///
    /// Computes `c[k] = sum over r of a[k, r]`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. Along dimension 0,
    /// elements are summed in F32 in blocks of 1024, each of which has 32 partial sums that are added
    /// pairwise. If dimension 0 stays, they are summed in F32 in blocks of 32. Blocks are summed in F64.
    /// The error is at most 2^-18.6 of the sum of the magnitudes. The order depends on the shape and on the
    /// positions of the elements alone.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. The sum of no elements is 0.
    /// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
    ///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
    ///   depends on the shape alone.
    ///
    /// Since 0.1.
    pub fn tl_sum(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_sum_params) -> *mut tl_tensor;

    /// Sums each row of `a`.
    ///
    /// Computes `c[0, i1, i2, i3] = sum over i of a[i, i1, i2, i3]`.
    ///
    /// It is tl_sum() over dimension 0, which stays with 1 element.
    /// - Shapes: `a` {n, m, x, y}, `c` {1, m, x, y}. The sum of an empty row is 0.
    /// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
    ///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
    ///   depends on the shape alone.
    ///
    /// Since 0.1.
    pub fn tl_sum_rows(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Computes the mean of `a` over dimensions.
    ///
    /// Computes `c[k] = (sum over r of a[k, r]) / n`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
    /// elements.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. The mean of no elements is NaN.
    /// - Types: `a` is a float, an integer or BOOL. Summed as by tl_sum(), integers in F64, and divided in
    ///   F64. `c` is F32 for F32, F16 and BF16, rounded once, and F64 for other types.
    ///
    /// Since 0.1.
    pub fn tl_mean(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_mean_params) -> *mut tl_tensor;

    /// Computes the running sums of each row of `a`.
    ///
    /// Computes `c[i, i1, i2, i3] = sum over j <= i of a[j, i1, i2, i3]`.
    ///
    /// In F32, the sum of the preceding blocks of 1024 elements is computed as by tl_sum(). Within such a
    /// block, elements are summed in blocks of 256: runs of 16 pairwise, and these one after another. The
    /// error is at most 2^-18.7 of the sum of the magnitudes up to the element.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
    ///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
    ///   depends on the shape alone.
    ///
    /// Since 0.1.
    pub fn tl_cumsum(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Finds the index of the largest element of `a` over dimensions.
    ///
    /// Computes `c[k] = the smallest r for which a[k, r] is largest`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are
    /// counted in the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index
    /// i0 + i1 times the extent of dimension 0. NaN is less than everything else, so NaN alone gives 0. -0
    /// and 0 are equal.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
    ///   unless `c` is empty. At most 2^31 - 1 elements are reduced to one.
    /// - Types: `a` is a float, an integer or BOOL.
    /// - Result: I32.
    ///
    /// Since 0.1.
    pub fn tl_argmax(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_argmax_params) -> *mut tl_tensor;

    /// Computes the indices that sort each row of `a`.
    ///
    /// Computes `a[c[0], i1, i2, i3] <= a[c[1], i1, i2, i3] <= .. in ascending order, >= in descending
    /// order`.
    ///
    /// Equal elements keep their order in both directions. -0 and 0 are equal, and NaN is last in both
    /// directions.
    /// - Shapes: `c` has the shape of `a`. Rows have at most 2^31 - 1 elements.
    /// - Types: `a` is a float, an integer or BOOL.
    /// - Result: I32.
    ///
    /// Since 0.1.
    pub fn tl_argsort(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_argsort_params) -> *mut tl_tensor;

    /// Finds the indices of the `k` largest elements of each row of `a`, the largest first.
    ///
    /// Computes `c[j, i1, i2, i3] = the index of the (j + 1)-th largest element of row (i1, i2, i3) of a`.
    ///
    /// Among equal elements, the one with the smaller index comes first. -0 and 0 are equal, and NaN is
    /// less than everything else.
    /// - Shapes: `a` {n, m, x, y}, `c` {k, m, x, y}. k is 0 to n, and n is at most 2^31 - 1.
    /// - Types: `a` is a float, an integer or BOOL.
    /// - Result: I32.
    /// - `k`: number of elements of each row. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_top_k(ctx: *mut tl_context, a: *mut tl_tensor, k: i64) -> *mut tl_tensor;

    /// Counts the positions at which `a` and `b` are equal.
    ///
    /// Computes `c[0] = number of i with a[i] = b[i]`.
    ///
    /// NaN equals nothing. -0 and 0 are equal.
    /// - Shapes: `a` and `b` have the same shape. `c` {1}.
    /// - Types: `a` and `b` have the same type, which is not quantised.
    /// - Result: I64.
    ///
    /// Since 0.1.
    pub fn tl_count_equal(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Computes the mean over all rows of the cross entropy of the labels `b` and the softmax of the logits
    /// `a`.
    ///
    /// Computes `c[0] = -(1 / rows) * sum over rows and i of b[i] * log(soft_max(a)[i])`.
    ///
    /// Each row is taken relative to its largest element, so no exponential overflows. Where `b` is 0
    /// nothing is added, even if `a` is -infinity. NaN in either operand makes the result NaN.
    /// - Shapes: `a` (logits) and `b` (labels, as probabilities) have the same shape. `c` {1}. Without rows
    ///   the result is NaN.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Sums are computed as by tl_sum().
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_cross_entropy_loss(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Finds the largest element of `a` over dimensions.
    ///
    /// Computes `c[k] = the largest a[k, r] over all r`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the
    /// elements is NaN. 0 counts as larger than -0.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
    ///   unless `c` is empty.
    /// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a`, but is F32 if that is F16 or
    ///   BF16.
    ///
    /// Since 0.1.
    pub fn tl_max(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_max_params) -> *mut tl_tensor;

    /// Finds the smallest element of `a` over dimensions.
    ///
    /// Computes `c[k] = the smallest a[k, r] over all r`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the
    /// elements is NaN. 0 counts as larger than -0.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
    ///   unless `c` is empty.
    /// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a`, but is F32 if that is F16 or
    ///   BF16.
    ///
    /// Since 0.1.
    pub fn tl_min(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_min_params) -> *mut tl_tensor;

    /// Finds the index of the smallest element of `a` over dimensions.
    ///
    /// Computes `c[k] = the smallest r for which a[k, r] is smallest`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are
    /// counted in the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index
    /// i0 + i1 times the extent of dimension 0. NaN is greater than everything else, so NaN alone gives 0.
    /// -0 and 0 are equal.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
    ///   unless `c` is empty. At most 2^31 - 1 elements are reduced to one.
    /// - Types: `a` is a float, an integer or BOOL.
    /// - Result: I32.
    ///
    /// Since 0.1.
    pub fn tl_argmin(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_argmin_params) -> *mut tl_tensor;

    /// Computes the variance of `a` over dimensions.
    ///
    /// Computes `c[k] = (sum over r of (a[k, r] - mean)^2) / (n - correction)`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
    /// elements. Elements are taken in blocks: of 1024 along dimension 0, or of 32 if dimension 0 stays.
    /// The mean and the squares of a block are computed in F32, in a second pass over it, and blocks are
    /// joined in F64. The divisor is 0 where n is less than `correction`, and 0 / 0 is NaN.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each.
    /// - Types: `a` is a float, an integer or BOOL. Integers are computed in F64. `c` is F32 for F32, F16
    ///   and BF16, rounded once, and F64 for other types.
    /// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the
    ///   elements, as in NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch
    ///   and candle. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_var(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        correction: i64,
        params: *const tl_var_params,
    ) -> *mut tl_tensor;

    /// Computes the standard deviation of `a` over dimensions: the square root of tl_var().
    ///
    /// Computes `c[k] = sqrt((sum over r of (a[k, r] - mean)^2) / (n - correction))`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
    /// elements.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each.
    /// - Types: `a` is a float, an integer or BOOL. Computed as tl_var(), with the root in F64. `c` is F32
    ///   for F32, F16 and BF16, rounded once, and F64 for other types.
    /// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the
    ///   elements, as in NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch
    ///   and candle. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_std(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        correction: i64,
        params: *const tl_std_params,
    ) -> *mut tl_tensor;

    /// Multiplies the elements of `a` over dimensions.
    ///
    /// Computes `c[k] = product over r of a[k, r]`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. Products of floats are
    /// computed in F64, in an order that depends on the shape alone.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. The product of no elements is 1.
    /// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
    ///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
    ///   depends on the shape alone.
    ///
    /// Since 0.1.
    pub fn tl_prod(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_prod_params) -> *mut tl_tensor;

    /// Tests whether any element of `a` is not 0, over dimensions.
    ///
    /// Computes `c[k] = 1 if a[k, r] != 0 for some r, else 0`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. No elements give 0.
    /// - Types: `a` is a float, an integer or BOOL. `c` is BOOL if `a` is, and F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_any(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_any_params) -> *mut tl_tensor;

    /// Tests whether no element of `a` is 0, over dimensions.
    ///
    /// Computes `c[k] = 1 if a[k, r] != 0 for every r, else 0`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. No elements give 1.
    /// - Types: `a` is a float, an integer or BOOL. `c` is BOOL if `a` is, and F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_all(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_all_params) -> *mut tl_tensor;

    /// Computes the logarithm of the sum of the exponentials of `a` over dimensions.
    ///
    /// Computes `c[k] = log(sum over r of e^a[k, r])`.
    ///
    /// k is an index in the dimensions that stay, r one in the reduced dimensions. Elements are taken
    /// relative to the largest, so no exponential overflows.
    /// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
    ///   `keep` is true, they stay with 1 element each. No elements give -infinity.
    /// - Types: `a` is a float, an integer or BOOL. Exponentials are computed in F32, or in F64 for other
    ///   types, and summed as by tl_sum(); the logarithm is computed in F64. `c` is F32 for F32, F16 and
    ///   BF16, rounded once, and F64 for other types.
    ///
    /// Since 0.1.
    pub fn tl_log_sum_exp(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        params: *const tl_log_sum_exp_params,
    ) -> *mut tl_tensor;

    /// Repeats `a` until it fills a shape.
    ///
    /// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
    ///
    /// Element-wise operations broadcast operands without tl_repeat(), and a tl_view() with strides of 0
    /// repeats rows without copying them.
    /// - Shapes: `a` {n0, n1, n2, n3}. Each extent of `c` is a multiple of that of `a`.
    /// - Types: Any type. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
    ///
    /// Since 0.1.
    pub fn tl_repeat(ctx: *mut tl_context, a: *mut tl_tensor, n_dims: i32, ne: *const i64) -> *mut tl_tensor;

    /// Concatenates `a` and `b` along a dimension.
    ///
    /// Computes `c[i] = a[i] if i < n else b[i - n]`.
    ///
    /// i is the index in dimension `dim`, and n is the size of `a` there. tl_cat() takes any number of
    /// tensors. By name, the operation takes up to 10.
    /// - Shapes: `a` and `b` have the same shape except in dimension `dim`, where `c` has the sum of their
    ///   sizes.
    /// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    ///
    /// Since 0.1.
    pub fn tl_concat(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor, dim: i64) -> *mut tl_tensor;

    /// Extends `a` in each dimension, by zeros or by its own repetitions.
    ///
    /// Computes `c[i] = a[i - lp] if a has element i - lp else 0`.
    ///
    /// With `circular`, `c[i]` = `a[(i - lp) mod n]`, where n is the extent of `a` in the dimension.
    /// - Shapes: Dimension d of `c` has the size of that of `a` plus `lp[d]` and `p[d]`. With `circular`,
    ///   dimensions of `a` that are extended are not empty.
    /// - Types: Any type. For a quantised type `p[0]` and `lp[0]` are multiples of the block size. Elements
    ///   are copied exactly.
    /// - Result: The type of `a`.
    /// - `p`: number of elements after the last one of each dimension. Each at least 0.
    ///
    /// Since 0.1.
    pub fn tl_pad(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        p: *const i64,
        params: *const tl_pad_params,
    ) -> *mut tl_tensor;

    /// Extends each row of `a` at both ends by its mirror image.
    ///
    /// Computes `c[i] = a[p0 - i] for i < p0`; `c[i] = a[i - p0] for p0 <= i < p0 + n`; `c[i] =
    /// a[2 (n - 1) - (i - p0)] for i >= p0 + n`.
    /// - Shapes: `a` {n, ..}, `c` {p0 + n + p1, ..}. p0 and p1 must be less than n.
    /// - Types: Any type that is not quantised. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `p0`: number of elements before each row. At least 0.
    /// - `p1`: number of elements after each row. At least 0.
    ///
    /// Since 0.1.
    pub fn tl_pad_reflect_1d(ctx: *mut tl_context, a: *mut tl_tensor, p0: i64, p1: i64) -> *mut tl_tensor;

    /// Shifts `a` cyclically in each dimension.
    ///
    /// Computes `c[(i + shift) mod n] = a[i] in each dimension, of size n`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: Any type. For a quantised type `shift[0]` is a multiple of the block size. Elements are
    ///   copied exactly.
    /// - Result: The type of `a`.
    /// - `shift`: shift in each dimension. A negative one shifts toward the beginning.
    ///
    /// Since 0.1.
    pub fn tl_roll(ctx: *mut tl_context, a: *mut tl_tensor, shift: *const i64) -> *mut tl_tensor;

    /// Makes matrices that have the rows of `a` as their diagonals.
    ///
    /// Computes `c[i0, i1, i2, i3] = a[i0, 0, i2, i3] if i0 = i1 else 0`.
    /// - Shapes: `a` {n, 1, x, y}, `c` {n, n, x, y}.
    /// - Types: Any type that is not quantised. Elements are copied exactly.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_diag(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Keeps a triangle of each matrix of `a` and sets all other elements to 0.
    ///
    /// Computes `c[i0, i1] = a[i0, i1] if (i0, i1) is in the triangle else 0`.
    /// - Shapes: `c` has the shape of `a`. Matrices need not be square.
    /// - Types: Any type that is not quantised. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `part`: the triangle that is kept.
    ///
    /// Since 0.1.
    pub fn tl_tri(ctx: *mut tl_context, a: *mut tl_tensor, part: tl_tri_type) -> *mut tl_tensor;

    /// Sets the attention scores of later positions to -infinity (causal mask).
    ///
    /// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else -infinity`.
    /// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `n_past`: position of the first query. At least 0.
    ///
    /// Since 0.1.
    pub fn tl_diag_mask_inf(ctx: *mut tl_context, a: *mut tl_tensor, n_past: i64) -> *mut tl_tensor;

    /// Sets the attention scores of later positions to 0 (causal mask).
    ///
    /// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else 0`.
    /// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `n_past`: position of the first query. At least 0.
    ///
    /// Since 0.1.
    pub fn tl_diag_mask_zero(ctx: *mut tl_context, a: *mut tl_tensor, n_past: i64) -> *mut tl_tensor;

    /// Adds `b` to a window of a copy of `a`.
    ///
    /// Computes `c = a`; `window(c)[i0, i1, i2, i3] += b[i0, i1, i2, i3]`.
    ///
    /// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and
    /// `nb3`. `a` is not changed.
    /// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements
    ///   of the window may share memory.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32 and rounded once to the type of `a`.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_acc(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_acc_params,
    ) -> *mut tl_tensor;

    /// Stores `b` in a window of a copy of `a`.
    ///
    /// Computes `c = a`; `window(c)[i0, i1, i2, i3] = b[i0, i1, i2, i3]`.
    ///
    /// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and
    /// `nb3`. `a` is not changed.
    /// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements
    ///   of the window may share memory.
    /// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_set(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_set_params,
    ) -> *mut tl_tensor;

    /// Gathers elements of `a` by index along a dimension.
    ///
    /// Computes `c[i0, i1, i2, i3] = a[indices[i0, i1, i2, i3], i1, i2, i3]`.
    ///
    /// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3.
    /// - Shapes: `c` has the shape of `indices`. In dimensions other than `dim`, `indices` is at most as
    ///   large as `a`.
    /// - Types: `a` has any type that is not quantised, and `indices` is I32 or I64. Elements are copied
    ///   exactly.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range. The message names the
    ///   first such element.
    ///
    /// Since 0.1.
    pub fn tl_gather(ctx: *mut tl_context, a: *mut tl_tensor, indices: *mut tl_tensor, dim: i64) -> *mut tl_tensor;

    /// Adds to each row of `a` the row of `b` that `ids` selects.
    ///
    /// Computes `c[i, u, t] = a[i, u, t] + b[i, ids[u, t]]`.
    /// - Shapes: `a` {n, used, tokens}, `b` {n, experts}, `ids` {used, tokens}. `c` has the shape of `a`.
    /// - Types: `a` and `b` are each F32, F16 or BF16, and `ids` is I32 or I64. Computed in F32 and rounded
    ///   once to the type of `a`.
    /// - Result: The type of `a`.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range. The message names
    ///   the first such element.
    ///
    /// Since 0.1.
    pub fn tl_add_id(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor, ids: *mut tl_tensor)
        -> *mut tl_tensor;

    /// Makes a vector of equally spaced numbers.
    ///
    /// Computes `c[i] = start + i step`.
    /// - Shapes: `c` {n}, n = (stop - start) / step, rounded up. `stop` itself is not included. n is 0 if
    ///   `start` equals `stop`.
    /// - Types: F32. Computed in F64 and rounded once.
    /// - Result: F32.
    /// - `start`: the first number.
    /// - `stop`: end of the range, which is not included.
    /// - `step`: difference between neighbours. It is negative if the numbers decrease.
    ///
    /// Since 0.1.
    pub fn tl_arange(ctx: *mut tl_context, start: f64, stop: f64, step: f64) -> *mut tl_tensor;

    /// Adds the elements of `b` to elements of a copy of `a`, by index along a dimension.
    ///
    /// Computes `c = a`; `c[indices[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3], i1, i2, i3] +=
    /// b[i0, i1, i2, i3]`.
    ///
    /// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3.
    /// Elements are added in the order of `b`, so the bits are always the same. Integers wrap around. `a`
    /// is not changed.
    /// - Shapes: `c` has the shape of `a`. In dimensions other than `dim`, `b` is at most as large as `a`.
    ///   `indices` {n0, n1, n2, n3} is broadcast to `b`: each of its dimensions is 1 or divides that of
    ///   `b`.
    /// - Types: `a` is F32 and `b` is F32, F16 or BF16, or both are I32, I64 or F64. `indices` is I32 or
    ///   I64. `c` has the type of `a`.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range, for which nothing is
    ///   added. The message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_scatter_add(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        indices: *mut tl_tensor,
        dim: i64,
    ) -> *mut tl_tensor;

    /// Reverses `a` along a dimension.
    ///
    /// Computes `c[i] = a[n - 1 - i]`.
    ///
    /// i is the index in dimension `dim`, and n is the size of `a` there.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: Any type. If `dim` is 0, it is not quantised. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    ///
    /// Since 0.1.
    pub fn tl_flip(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64) -> *mut tl_tensor;

    /// Turns each index into a row with a 1 at the index and 0 elsewhere.
    ///
    /// Computes `c[i, j0, j1, j2] = 1 if indices[j0, j1, j2] = i else 0`.
    ///
    /// An index outside 0 to classes - 1, such as -1, gives a row of zeros.
    /// - Shapes: `indices` {n0, n1, n2}, `c` {classes, n0, n1, n2}.
    /// - Types: `indices` is an integer or BOOL. `c` is F32.
    /// - Result: F32.
    /// - `classes`: the number of classes. Range: 0 to 16777216.
    ///
    /// Since 0.1.
    pub fn tl_one_hot(ctx: *mut tl_context, indices: *mut tl_tensor, classes: i64) -> *mut tl_tensor;

    /// Makes an identity matrix.
    ///
    /// Computes `c[i, j] = 1 if i = j else 0`.
    /// - Shapes: `c` {n, n}.
    /// - Types: F32.
    /// - Result: F32.
    /// - `n`: the number of rows. Range: 0 to 16777216.
    ///
    /// Since 0.1.
    pub fn tl_eye(ctx: *mut tl_context, n: i64) -> *mut tl_tensor;

    /// Makes a vector of `n` equally spaced numbers from `start` to `stop`.
    ///
    /// Computes `c[i] = start + i (stop - start) / (n - 1)`.
    ///
    /// `stop` is the last number, unlike that of tl_arange(). A single number is `start`.
    /// - Shapes: `c` {n}.
    /// - Types: F32. Computed in F64 and rounded once, where F64 tells neighbours apart.
    /// - Result: F32.
    /// - `start`: the first number.
    /// - `stop`: the last number.
    /// - `n`: how many numbers. At least 0.
    ///
    /// Since 0.1.
    pub fn tl_linspace(ctx: *mut tl_context, start: f64, stop: f64, n: i64) -> *mut tl_tensor;

    /// Turns each time into a row of cosines and sines of growing periods (sinusoidal embedding).
    ///
    /// Computes `c[j, t] = cos(timesteps[t] w(j)) for j < h`; `c[j + h, t] = sin(timesteps[t] w(j))`; `w(j)
    /// = max_period^(-j / h)`; `h = floor(dim / 2)`.
    ///
    /// The last element of a row is 0 if `dim` is odd.
    /// - Shapes: `timesteps` {n}, `c` {dim, n}.
    /// - Types: `timesteps` is F32, F16 or BF16. Computed in F32: angles are off by up to 4e-7 of their
    ///   size.
    /// - Result: F32.
    /// - `dim`: length of a row. Range: 1 to 1048576.
    /// - `max_period`: the period that the slowest of infinitely many waves would have, in radians. At
    ///   least 1.
    ///
    /// Since 0.1.
    pub fn tl_timestep_embedding(
        ctx: *mut tl_context,
        timesteps: *mut tl_tensor,
        dim: i64,
        max_period: i64,
    ) -> *mut tl_tensor;

    /// Enlarges or reduces images, by a factor or to a size.
    ///
    /// Computes `c[i0, i1] = sum over j0 and j1 of w0(i0, j0) w1(i1, j1) a[j0, j1]`.
    ///
    /// In a dimension of n pixels that becomes one of m, the centre of pixel i is x = (i + 1/2) n / m -
    /// 1/2, or with `align_corners` i (n - 1) / (m - 1). `nearest` takes pixel floor(i n / m), or floor(i
    /// (n - 1) / (m - 1)). `bilinear` has the weights 1 - |j - x| for the pixels j around x, and `bicubic`
    /// those of cubic convolution with a = -0.75 (Keys, 1981) for the four around it. Beyond an edge, the
    /// pixels at the edge are used. With `antialias`, `bilinear` has the weights 1 - |j - x| / max(1, n /
    /// m), divided by their sum, as far as they are above 0 and j exists. Dimensions 2 and 3 are always
    /// those of `nearest`.
    /// - Shapes: `a` {w, h, x, y}, `c` {factor w, factor h, x, y}, or the shape `ne`. Either `factor` or
    ///   `ne` is given.
    /// - Types: F32, F16 or BF16. With `nearest`, elements are copied exactly. Otherwise they are computed
    ///   in F32, first between rows and then between columns, and rounded once.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_upscale(ctx: *mut tl_context, a: *mut tl_tensor, params: *const tl_upscale_params) -> *mut tl_tensor;

    /// Takes the maximum or the average of each window that slides along the rows of `a`.
    ///
    /// Computes `c[o] = max or average over t < k of a[o s + t - p]`.
    ///
    /// Only elements inside `a` take part. In a window without one, which p >= k makes, the maximum is the
    /// lowest number of F32 and the average 0, as in ggml. The maximum is exact, and is NaN if a window has
    /// a NaN. The average is summed in F64 and rounded once. It is taken over the elements inside `a`, as
    /// in ggml, or with `count_padding` over all `k`, as in PyTorch.
    /// - Shapes: `a` {n, ..}, `c` {(n + 2 p - k) / s + 1, ..}, rounded down.
    /// - Types: F32, F16 or BF16.
    /// - Result: The type of `a`.
    /// - `op`: the operation on a window.
    /// - `k`: length of the window. At least 1.
    ///
    /// Since 0.1.
    pub fn tl_pool_1d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        op: tl_pool_1d_op,
        k: i64,
        params: *const tl_pool_1d_params,
    ) -> *mut tl_tensor;

    /// Takes the maximum or the average of each window that slides over the matrices of `a`.
    ///
    /// Computes `c[x, y] = max or average over t0 < k0, t1 < k1 of a[x s0 + t0 - p0, y s1 + t1 - p1]`.
    ///
    /// The maximum is that of the elements inside `a`. In a window without one, which p0 >= k0 or p1 >= k1
    /// makes, the maximum is the lowest number of F32 and the average 0, as in ggml. A maximum is exact,
    /// and is NaN if a window has a NaN. The average is summed in F64 and rounded once. It is taken over
    /// all k0 k1 elements, where padding counts as zeros, as in ggml and PyTorch, or with `skip_padding`
    /// over the elements inside `a`.
    /// - Shapes: `a` {w, h, ..}, `c` {(w + 2 p0 - k0) / s0 + 1, (h + 2 p1 - k1) / s1 + 1, ..}, rounded
    ///   down.
    /// - Types: F32, F16 or BF16.
    /// - Result: The type of `a`.
    /// - `op`: the operation on a window.
    /// - `k0`: width of the window. At least 1.
    /// - `k1`: height of the window. At least 1.
    ///
    /// Since 0.1.
    pub fn tl_pool_2d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        op: tl_pool_2d_op,
        k0: i64,
        k1: i64,
        params: *const tl_pool_2d_params,
    ) -> *mut tl_tensor;

    /// Copies the elements under each window of a convolution into a row of the result.
    ///
    /// Computes `c[(channel kh + ty) kw + tx, x, y, n] =
    /// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only
    /// the shape is used. The convolution is the product of the result and the kernel, reshaped to
    /// {kw kh channels, outputs}.
    /// - Shapes: For images: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c`
    ///   {kw kh channels, w', h', images}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2
    ///   p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down. For signals: `a` {k, channels, outputs}, `b`
    ///   {n, channels, signals}, `c` {k channels, (n + 2 p0 - (k - 1) d0 - 1) / s0 + 1, signals}, rounded
    ///   down.
    /// - Types: `a` and `b` are each F32, F16 or BF16. `c` has the type `to`, to which each element is
    ///   rounded once.
    ///
    /// Since 0.1.
    pub fn tl_im2col(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_im2col_params,
    ) -> *mut tl_tensor;

    /// Convolves the signals `b` with the kernel `a`.
    ///
    /// Computes `c[x, m, n] = sum over channels and t < k of a[t, channel, m]
    /// b[x s + t d - p, channel, n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off.
    /// - Shapes: `a` {k, channels, outputs}, `b` {n, channels, signals}, `c`
    ///   {(n + 2 p - (k - 1) d - 1) / s + 1, outputs, signals}, rounded down.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_1d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_1d_params,
    ) -> *mut tl_tensor;

    /// Convolves the images `b` with the kernel `a`.
    ///
    /// Computes `c[x, y, m, n] = sum over channels, tx < kw and ty < kh of a[tx, ty, channel, m]
    /// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off.
    /// - Shapes: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c`
    ///   {w', h', outputs, images}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 -
    ///   (kh - 1) d1 - 1) / s1 + 1, both rounded down.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_2d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_2d_params,
    ) -> *mut tl_tensor;

    /// Convolves each channel of the signals `b` with the same channel of the kernel `a` (depthwise).
    ///
    /// Computes `c[x, m, n] = sum over t < k of a[t, 0, m] b[x s + t d - p, m, n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off.
    /// - Shapes: `a` {k, 1, channels}, `b` {n, channels, signals}, `c`
    ///   {(n + 2 p - (k - 1) d - 1) / s + 1, channels, signals}, rounded down.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_1d_dw(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_1d_dw_params,
    ) -> *mut tl_tensor;

    /// Convolves each channel of the images `b` with the same channel of the kernel `a` (depthwise).
    ///
    /// Computes `c[x, y, m, n] = sum over tx < kw and ty < kh of a[tx, ty, 0, m]
    /// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, m, n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off.
    /// - Shapes: `a` {kw, kh, 1, channels}, `b` {w, h, channels, images}, `c` {w', h', channels, images},
    ///   with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1,
    ///   both rounded down.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_2d_dw(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_2d_dw_params,
    ) -> *mut tl_tensor;

    /// Computes the transposed convolution of the signals `b` with the kernel `a`.
    ///
    /// Computes `c[x s + t d - p, m, n] = sum over channels, and the x and t < k that give this index, of
    /// a[t, m, channel] b[x, channel, n]`.
    /// - Shapes: `a` {k, outputs, channels}, `b` {n, channels, signals}, `c`
    ///   {(n - 1) s - 2 p + (k - 1) d + 1, outputs, signals}.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_transpose_1d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_transpose_1d_params,
    ) -> *mut tl_tensor;

    /// Computes the transposed convolution of the images `b` with the kernel `a`.
    ///
    /// Computes `c[x stride + tx d0 - p0, y stride + ty d1 - p1, m, n] = sum over channels, and the x, y,
    /// tx < kw and ty < kh that give these indices, of a[tx, ty, m, channel] b[x, y, channel, n]`.
    /// - Shapes: `a` {kw, kh, outputs, channels}, `b` {w, h, channels, images}, `c`
    ///   {w', h', outputs, images}, with w' = (w - 1) stride - 2 p0 + (kw - 1) d0 + 1 and h' = (h - 1)
    ///   stride - 2 p1 + (kh - 1) d1 + 1.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    ///
    /// Since 0.1.
    pub fn tl_conv_transpose_2d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        params: *const tl_conv_transpose_2d_params,
    ) -> *mut tl_tensor;

    /// Copies the elements under each window of a convolution of volumes into a row of the result.
    ///
    /// Computes `c[((channel kd + tz) kh + ty) kw + tx, x, y, z + d' n] =
    /// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only
    /// the shape is used.
    /// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
    ///   {kw kh kd channels, w', h', d' volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' =
    ///   (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at
    ///   most 4096.
    /// - Types: `a` and `b` are each F32, F16 or BF16. `c` has the type `to`, to which each element is
    ///   rounded once.
    /// - `channels`: number of channels of a volume of `b`. At least 1.
    ///
    /// Since 0.1.
    pub fn tl_im2col_3d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        channels: i64,
        params: *const tl_im2col_3d_params,
    ) -> *mut tl_tensor;

    /// Convolves the volumes `b` with the kernel `a`.
    ///
    /// Computes `c[x, y, z, m + outputs n] = sum over channels, tx < kw, ty < kh and tz < kd of
    /// a[tx, ty, tz, channel + channels m]
    /// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
    ///
    /// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
    /// as by PyTorch: ggml computes one position, whose window is cut off. It is the sum of a tl_conv_2d()
    /// for each plane of the kernel.
    /// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
    ///   {w', h', d', outputs volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2
    ///   p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at most 4096.
    /// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    /// - `channels`: number of channels of a volume of `b`. At least 1.
    ///
    /// Since 0.1.
    pub fn tl_conv_3d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        channels: i64,
        params: *const tl_conv_3d_params,
    ) -> *mut tl_tensor;

    /// Adds up windows that overlap: the second half of a transposed convolution of signals.
    ///
    /// Computes `c[x, channel] = sum over t < k and j with j stride + t - padding = x of
    /// a[t + k channel, j]`.
    /// - Shapes: `a` {k channels, n}, `c` {(n - 1) stride + k - 2 padding, channels}. k is at most 4096
    ///   times `stride`.
    /// - Types: F32, F16 or BF16. Sums are computed in F32 and rounded once.
    /// - Result: The type of `a`.
    /// - `stride`: distance of neighbouring windows in the result. At least 1.
    /// - `padding`: number of elements cut off at both ends of the result. At least 0.
    /// - `channels`: number of channels of the result. At least 1.
    ///
    /// Since 0.1.
    pub fn tl_col2im_1d(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        stride: i64,
        padding: i64,
        channels: i64,
    ) -> *mut tl_tensor;

    /// Convolves each channel of sequences with its own short kernel, without looking ahead, as state space
    /// models do.
    ///
    /// Computes `c[i, t, s] = f(sum over j < k of kernel[j, i] x[t + j, i, s] + bias[i])`; `x is `state`
    /// followed by `a`, or `a``.
    ///
    /// f is `silu` if that is true, otherwise nothing. The first tokens need k - 1 elements before them:
    /// these are the `state`, which are the last k - 1 elements of x when the next tokens come, or `a`
    /// begins with them. A tl_conv_1d_dw(), transposed.
    /// - Shapes: `a` {t, channels, sequences} with a `state` {k - 1, channels, sequences}, or
    ///   {k - 1 + t, channels, sequences} without one. `kernel` {k, channels}, `bias` {channels}, `c`
    ///   {channels, t, sequences}.
    /// - Types: All operands are each F32, F16 or BF16. Computed in F32.
    /// - Result: F32.
    /// - `state` and `bias` are optional: tl_none() leaves one out.
    ///
    /// Since 0.1.
    pub fn tl_ssm_conv(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        kernel: *mut tl_tensor,
        state: *mut tl_tensor,
        bias: *mut tl_tensor,
        params: *const tl_ssm_conv_params,
    ) -> *mut tl_tensor;

    /// Draws random numbers that are uniformly distributed between two bounds.
    ///
    /// Computes `c[i] = low + (high - low) u[i]`; `u[i] = (the upper 24 bits of word i) 2^-24`.
    ///
    /// Elements i are counted along dimension 0 first. Word i is word i mod 4 of Philox4x32-10 (J. K.
    /// Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011).
    /// Its key is the lower and the upper half of the seed. Its counter is i / 4, `stream`, and the lower
    /// and the upper half of the counter in `state`. So results depend on `state`, `stream` and the shape
    /// alone, and a graph draws the same numbers in each run until the caller advances the counter.
    /// Operations with the same stream draw the same words, and those with another stream draw others. low
    /// <= c <= high: c is high only if low + (high - low) (1 - 2^-24) rounds to it, and never if low is 0
    /// and high is above 2^-126.
    /// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
    /// - Types: `state` is I64, `c` is F32. The bounds are rounded to F32, and so is each operation of the
    ///   formula, so the bits are the same on every device.
    /// - Result: F32.
    /// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
    /// - `low`: lower bound.
    /// - `high`: upper bound. It is not less than `low`.
    /// - `stream`: stream of random words. Operations that are to draw different numbers need different
    ///   streams. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_random_uniform(
        ctx: *mut tl_context,
        state: *mut tl_tensor,
        n_dims: i32,
        ne: *const i64,
        low: f64,
        high: f64,
        stream: i64,
    ) -> *mut tl_tensor;

    /// Draws normally distributed random numbers.
    ///
    /// Computes `c[i] = mean + deviation z`; `z = quantile of the standard normal distribution at (word i +
    /// 1/2) 2^-32`.
    ///
    /// Words are those of tl_random_uniform(). The quantile is computed by the rational functions of M. J.
    /// Wichura (AS 241, 1988). The largest |z| is 6.338, at 2^-33.
    /// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
    /// - Types: `state` is I64, `c` is F32. Everything is computed in F64, with each operation rounded, and
    ///   `c` is then rounded to F32, so the bits are the same on every device.
    /// - Result: F32.
    /// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
    /// - `mean`: mean of the distribution.
    /// - `deviation`: standard deviation. At least 0.
    /// - `stream`: stream of random words. Operations that are to draw different numbers need different
    ///   streams. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_random_normal(
        ctx: *mut tl_context,
        state: *mut tl_tensor,
        n_dims: i32,
        ne: *const i64,
        mean: f64,
        deviation: f64,
        stream: i64,
    ) -> *mut tl_tensor;

    /// Sets random elements of `a` to 0 and scales the others up to keep the mean.
    ///
    /// Computes `c[i] = a[i] / (1 - p) if word i >= p 2^32 else 0`.
    ///
    /// Words are those of tl_random_uniform(), with i counted along dimension 0 first. An element that is
    /// dropped becomes 0 even if it is NaN.
    /// - Shapes: `c` has the shape of `a`, with at most 2^34 elements. `state` {2}: a seed and a counter.
    /// - Types: `a` is F32, F16 or BF16 with any strides, and `state` is I64. 1 - p is rounded to F32, and
    ///   the quotient is rounded to F32 and then to the type of `a`, so the bits are the same on every
    ///   device.
    /// - Result: The type of `a`.
    /// - `p`: probability that an element is dropped: 0 or more, and less than 1.
    /// - `stream`: stream of random words. Operations that are to draw different numbers need different
    ///   streams. Range: 0 to 2^31 - 1.
    ///
    /// Since 0.1.
    pub fn tl_dropout(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        state: *mut tl_tensor,
        p: f64,
        stream: i64,
    ) -> *mut tl_tensor;

    /// Updates `a` by a step of gradient descent.
    ///
    /// Computes `a[i] = a[i] (1 - rate decay) - rate grad[i]`.
    ///
    /// Operands that are written must be contiguous and not constant, and must not share memory with
    /// another operand. A node that was differentiated reads the values from before the step, regardless of
    /// the order of the outputs of the graph.
    /// - Shapes: `a` and `grad` have the same shape. `settings` {2} holds rate and decay.
    /// - Types: `a` is F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation of the
    ///   formula is rounded to F32, so the bits are the same on every device.
    /// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    ///
    /// Since 0.1.
    pub fn tl_opt_step_sgd(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        grad: *mut tl_tensor,
        settings: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Updates `a` by a step of gradient descent with momentum.
    ///
    /// Computes `velocity[i] = momentum velocity[i] + grad[i]`; `a[i] = a[i] (1 - rate decay) - rate
    /// velocity[i]`.
    ///
    /// Operands that are written must be contiguous and not constant, and must not share memory with
    /// another operand. A node that was differentiated reads the values from before the step, regardless of
    /// the order of the outputs of the graph.
    /// - Shapes: `a`, `grad` and `velocity` have the same shape. `velocity` is zeros before the first step.
    ///   `settings` {3} holds rate, decay and momentum.
    /// - Types: `a` and `velocity` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each
    ///   operation of the formula is rounded to F32, so the bits are the same on every device.
    /// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    /// - `velocity` is overwritten as well.
    ///
    /// Since 0.1.
    pub fn tl_opt_step_momentum(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        grad: *mut tl_tensor,
        velocity: *mut tl_tensor,
        settings: *mut tl_tensor,
        params: *const tl_opt_step_momentum_params,
    ) -> *mut tl_tensor;

    /// Updates `a` by a step of AdamW (I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization,
    /// 2019).
    ///
    /// Computes `m[i] = beta1 m[i] + (1 - beta1) grad[i]`; `v[i] = beta2 v[i] + (1 - beta2) grad[i]^2`;
    /// `a[i] = a[i] (1 - rate decay) - rate m[i] unbias1 / (sqrt(v[i] unbias2) + eps)`.
    ///
    /// With a decay of 0 this is Adam. Operands that are written must be contiguous and not constant, and
    /// must not share memory with another operand. A node that was differentiated reads the values from
    /// before the step, regardless of the order of the outputs of the graph.
    /// - Shapes: `a`, `grad`, `m` and `v` have the same shape. `m` and `v` are zeros before the first step.
    ///   `settings` {7} holds rate, beta1, beta2, eps, decay, unbias1 = 1 / (1 - beta1^t) and unbias2 = 1 /
    ///   (1 - beta2^t), where t is 1 in the first step.
    /// - Types: `a`, `m` and `v` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation
    ///   of the formula is rounded to F32, so the bits are the same on every device.
    /// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    /// - `m` and `v` are overwritten as well.
    ///
    /// Since 0.1.
    pub fn tl_opt_step_adamw(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        grad: *mut tl_tensor,
        m: *mut tl_tensor,
        v: *mut tl_tensor,
        settings: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Updates `a` by a step of Lion (X. Chen and others, Symbolic Discovery of Optimization Algorithms,
    /// 2023).
    ///
    /// Computes `a[i] = a[i] (1 - rate decay) - rate sgn(beta1 m[i] + (1 - beta1) grad[i])`; `m[i] = beta2
    /// m[i] + (1 - beta2) grad[i]`.
    ///
    /// Operands that are written must be contiguous and not constant, and must not share memory with
    /// another operand. A node that was differentiated reads the values from before the step, regardless of
    /// the order of the outputs of the graph.
    /// - Shapes: `a`, `grad` and `m` have the same shape. `m` is zeros before the first step. `settings`
    ///   {4} holds rate, beta1, beta2 and decay.
    /// - Types: `a` and `m` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation of
    ///   the formula is rounded to F32, so the bits are the same on every device.
    /// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
    ///   of the graph, or use it in another node: otherwise nothing is written.
    /// - `m` is overwritten as well.
    ///
    /// Since 0.1.
    pub fn tl_opt_step_lion(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        grad: *mut tl_tensor,
        m: *mut tl_tensor,
        settings: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Computes the elements of a matrix product whose neurons are active, and sets all others to 0.
    ///
    /// Computes `c[i, t] = sum over k of a[k, i] * b[k, t] if neuron i is active for token t else 0`.
    ///
    /// Row i of `a` belongs to neuron i, and row t of `b` to token t. With `rows`, `a` has the weights of
    /// these neurons only, in ascending order, and `c` is 0 for all others. Without `scores`, `rows` is
    /// required, and all of its neurons are active. k = 0 gives zeros.
    /// - Shapes: `a` {k, n}, `b` {k, T}, `scores` {n, T}, `c` {n, T}. With `rows` {m}: `a` {k, m}, and n is
    ///   that of `scores` or the attribute `n`.
    /// - Types: `a` and `b` as for tl_mul_mat(), and with the same rounding of `b`. `scores` is F32, and
    ///   `rows` is I32.
    /// - Result: F32.
    /// - `scores` and `rows` are optional: tl_none() leaves one out.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
    ///   range. The message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_mul_mat_sparse(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        scores: *mut tl_tensor,
        rows: *mut tl_tensor,
        params: *const tl_mul_mat_sparse_params,
    ) -> *mut tl_tensor;

    /// Sums the rows of `a_t`, each multiplied by the activation of its neuron, over the active neurons.
    ///
    /// Computes `c[k, t] = sum over active i with h[i, t] != 0 of h[i, t] * a_t[k, i]`.
    ///
    /// This is the product with the transpose of `a_t`, of which only the rows of active neurons are read.
    /// With `rows`, `a_t` has the rows of these neurons only, in ascending order, and all others count as
    /// zeros. Without `scores`, `h` itself is tested. Products and sums are computed in F32, and no operand
    /// is rounded.
    /// - Shapes: `a_t` {k, n}, `h` {n, T}, `scores` {n, T}, `c` {k, T}. With `rows` {m}: `a_t` {k, m}.
    /// - Types: `a_t` has a float type, or a quantised type other than Q8_1 and Q8_K. `h` is F32, F16 or
    ///   BF16, `scores` is F32, and `rows` is I32.
    /// - Result: F32.
    /// - `scores` and `rows` are optional: tl_none() leaves one out.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
    ///   range. The message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_axpy(
        ctx: *mut tl_context,
        a_t: *mut tl_tensor,
        h: *mut tl_tensor,
        scores: *mut tl_tensor,
        rows: *mut tl_tensor,
        params: *const tl_axpy_params,
    ) -> *mut tl_tensor;

    /// Computes a gated feed-forward block over its active neurons only.
    ///
    /// Computes `c[j, t] = sum over active i of activation(sum over k of gate[k, i] x[k, t]) * (sum over k
    /// of up[k, i] x[k, t]) * down_t[j, i]`.
    ///
    /// Row i of each matrix belongs to neuron i, and the down projection is transposed. With `rows`, the
    /// matrices have the rows of these neurons only, in ascending order, out of the neurons that `scores`
    /// has. Without `scores`, the operation finds the active neurons itself: it computes one projection of
    /// all neurons, which `first` selects, and tests it. The projection by `gate` is tested after the
    /// activation. `rows` must then be left out.
    /// - Shapes: `x` {k, T}, `gate` {k, n}, `up` {k, n}, `down_t` {m, n}, `scores` {n, T}, `c` {m, T}. With
    ///   `rows` {r}, the matrices have r rows instead of n.
    /// - Types: `gate`, `up` and `down_t` each have a float type, or a quantised type other than Q8_1 and
    ///   Q8_K. `x` is F32, F16 or BF16, `scores` is F32, and `rows` is I32. Kernels may round `x`, as for
    ///   tl_mul_mat().
    /// - Result: F32.
    /// - `scores` and `rows` are optional: tl_none() leaves one out.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
    ///   range. The message names the first such element.
    ///
    /// Since 0.1.
    pub fn tl_sparse_ffn(
        ctx: *mut tl_context,
        x: *mut tl_tensor,
        gate: *mut tl_tensor,
        up: *mut tl_tensor,
        down_t: *mut tl_tensor,
        scores: *mut tl_tensor,
        rows: *mut tl_tensor,
        params: *const tl_sparse_ffn_params,
    ) -> *mut tl_tensor;

    /// Keeps the bits that `a` and `b` both have.
    ///
    /// Computes `c[i] = a[i mod shape(a)] & b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_bitwise_and(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Joins the bits of `a` and `b`.
    ///
    /// Computes `c[i] = a[i mod shape(a)] | b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_bitwise_or(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Keeps the bits that either `a` or `b` has, but not both.
    ///
    /// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_bitwise_xor(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Inverts each bit of `a`; BOOL has one.
    ///
    /// Computes `c[i] = ~a[i]`.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: I8, I16, I32, I64, U8 or BOOL.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_bitwise_not(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Moves the bits of each element of `a` up by as many places as `b` says.
    ///
    /// Computes `c[i] = a[i mod shape(a)] * 2^b[i mod shape(b)]`.
    ///
    /// A `b` below 0, or as large as the bits of the type, moves all bits out. Bits that leave the type are
    /// lost, and zeros come in.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are both I8, I16, I32, I64 or U8.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_shift_left(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Moves the bits of each element of `a` down by as many places as `b` says.
    ///
    /// Computes `c[i] = floor(a[i mod shape(a)] / 2^b[i mod shape(b)])`.
    ///
    /// A `b` below 0, or as large as the bits of the type, moves all bits out. Copies of the sign come in.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are both I8, I16, I32, I64 or U8.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_shift_right(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` and `b` are both not 0.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] != 0 and b[i mod shape(b)] != 0 else 0`.
    ///
    /// NaN counts as not 0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
    ///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_logical_and(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` or `b` is not 0.
    ///
    /// Computes `c[i] = 1 if a[i mod shape(a)] != 0 or b[i mod shape(b)] != 0 else 0`.
    ///
    /// NaN counts as not 0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
    ///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_logical_or(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether either `a` or `b` is not 0, but not both.
    ///
    /// Computes `c[i] = 1 if (a[i mod shape(a)] != 0) != (b[i mod shape(b)] != 0) else 0`.
    ///
    /// NaN counts as not 0.
    /// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
    ///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
    ///   elements then repeat as tiles. A dimension that a shape lacks is 1.
    /// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
    ///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_logical_xor(ctx: *mut tl_context, a: *mut tl_tensor, b: *mut tl_tensor) -> *mut tl_tensor;

    /// Tests whether `a` is 0.
    ///
    /// Computes `c[i] = 1 if a[i] = 0 else 0`.
    ///
    /// NaN counts as not 0.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a` if that is BOOL, F32, F16 or
    ///   BF16, and is F32 otherwise.
    ///
    /// Since 0.1.
    pub fn tl_logical_not(ctx: *mut tl_context, a: *mut tl_tensor) -> *mut tl_tensor;

    /// Divides images into square windows.
    ///
    /// Computes `c[i, x, y, p + px q + px py n] = a[i, p w + x, q w + y, n], or 0 beyond the edges of `a``.
    ///
    /// px and py are the numbers of windows across and down, rounded up.
    /// - Shapes: `a` {n, w0, h0, images}, `c` {n, w, w, px py images}, px = w0 / `w` and py = h0 / `w`,
    ///   rounded up.
    /// - Types: Any type without blocks. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `w`: width and height of a window. Range: 1 to 1048576.
    ///
    /// Since 0.1.
    pub fn tl_win_part(ctx: *mut tl_context, a: *mut tl_tensor, w: i64) -> *mut tl_tensor;

    /// Puts the windows of tl_win_part() together.
    ///
    /// Computes `c[i, x, y, n] = a[i, x mod w, y mod w, floor(x / w) + px floor(y / w) + px py n]`.
    ///
    /// px = `w0` / `w` and py = `h0` / `w`, rounded up.
    /// - Shapes: `a` {n, w, w, px py images}, `c` {n, w0, h0, images}.
    /// - Types: Any type without blocks. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `w0`: width of the images. Range: 1 to 16777216.
    /// - `h0`: height of the images. Range: 1 to 16777216.
    /// - `w`: width and height of a window. Range: 1 to 1048576.
    ///
    /// Since 0.1.
    pub fn tl_win_unpart(ctx: *mut tl_context, a: *mut tl_tensor, w0: i64, h0: i64, w: i64) -> *mut tl_tensor;

    /// Gathers the rows of `a` that belong to the distances between queries and keys.
    ///
    /// Computes `c[i, k, q] = a[i, q - k + kh - 1]`.
    /// - Shapes: `a` {n, qh + kh - 1}, `c` {n, kh, qh}.
    /// - Types: F32, F16, BF16, F64, I32 or I64. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `qh`: number of queries. Range: 1 to 1048576.
    /// - `kh`: number of keys. Range: 1 to 1048576.
    ///
    /// Since 0.1.
    pub fn tl_get_rel_pos(ctx: *mut tl_context, a: *mut tl_tensor, qh: i64, kh: i64) -> *mut tl_tensor;

    /// Adds to attention scores a term for the horizontal and one for the vertical distance.
    ///
    /// Computes `c[x + kw y, i, n] = a[x + kw y, i, n] + pw[x, i, n] + ph[y, i, n]`.
    ///
    /// i = qx + qw qy is a query, and x and y are the column and the row of a key.
    /// - Shapes: `a` {kw kh, qw qh, batch}, `pw` {kw, qw, qh, batch}, `ph` {kh, qw, qh, batch}. `c` has the
    ///   shape of `a`.
    /// - Types: `a`, `pw` and `ph` are each F32, F16 or BF16. Each addition is computed in F32 and rounded
    ///   once to the type of `a`.
    /// - Result: The type of `a`.
    ///
    /// Since 0.1.
    pub fn tl_add_rel_pos(
        ctx: *mut tl_context,
        a: *mut tl_tensor,
        pw: *mut tl_tensor,
        ph: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Runs the gated delta rule over the tokens of sequences (Yang and others, Gated Delta Networks,
    /// 2024).
    ///
    /// Computes `M[j, i] = e^g M[j, i] + beta (v[j] - sum over i of e^g M[j, i] k[i]) k[i]`; `c[j] = sum
    /// over i of M[j, i] q[i] / sqrt(S)`.
    ///
    /// This is for a token of a head, and M is the state that the token before it left: `state` for the
    /// first one. g is a number for each head, or one for each i. Head h uses head h mod heads' of `q` and
    /// `k`, and sequence n uses theirs number n sequences' / sequences. The second result are the states
    /// after the last token, and after those before it with `n_states` above 1: state s of that many is the
    /// one s tokens before the end, after those of all sequences for s - 1. It is 0 if there are fewer
    /// tokens than that. Without tokens, state 0 is `state`.
    /// - Shapes: `q` and `k` {S, heads', tokens, sequences'}, `v` and `c` {S, heads, tokens, sequences},
    ///   `g` {1 or S, heads, tokens, sequences}, `beta` {1, heads, tokens, sequences}, `state`
    ///   {S, S, heads, sequences} with index i first. heads' divides heads and sequences' divides
    ///   sequences.
    /// - Types: All F32, as is what is computed. e^x is computed to within 1e-6.
    /// - Result: F32.
    /// - Result 1, by tl_result(): the states, {S, S, heads, sequences `n_states`}.
    ///
    /// Since 0.1.
    pub fn tl_gated_delta_net(
        ctx: *mut tl_context,
        q: *mut tl_tensor,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        g: *mut tl_tensor,
        beta: *mut tl_tensor,
        state: *mut tl_tensor,
        params: *const tl_gated_delta_net_params,
    ) -> *mut tl_tensor;

    /// Runs a selective state space model over the tokens of sequences (Gu and Dao, Mamba, 2023).
    ///
    /// Computes `M[j, i] = e^(d a[i]) M[j, i] + d x[j] b[i]`; `y[j] = sum over i of M[j, i] c[i]`; `d =
    /// log(1 + e^dt)`.
    ///
    /// This is for a token of a head, and M is the state that the token before it left. Sequence n begins
    /// with state number `ids[n]` of `state`. `a` is a number for each head (Mamba 2), or one for each i
    /// (Mamba). Head h uses group h / (heads / groups) of `b` and `c`. The second result are the states
    /// after the last token, and after those before it with `n_states` above 1: state s of that many is the
    /// one s tokens before the end, after those of all sequences for s - 1. It is 0 if there are fewer
    /// tokens than that. Without tokens, state 0 is `state`.
    /// - Shapes: `state` {d_state, dim, heads, any} with index i first, `x` and y
    ///   {dim, heads, tokens, sequences}, `dt` {heads, tokens, sequences}, `a` {1 or d_state, heads}, `b`
    ///   and `c` {d_state, groups, tokens, sequences}, `ids` {sequences}. groups divides heads.
    /// - Types: `ids` is I32 or I64, the others are F32, as is what is computed. e^x is computed to within
    ///   1e-6.
    /// - Result: F32.
    /// - Result 1, by tl_result(): the states, {d_state, dim, heads, sequences `n_states`}.
    /// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an id that is no state. The message names the
    ///   first such element.
    ///
    /// Since 0.1.
    pub fn tl_ssm_scan(
        ctx: *mut tl_context,
        state: *mut tl_tensor,
        x: *mut tl_tensor,
        dt: *mut tl_tensor,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        c: *mut tl_tensor,
        ids: *mut tl_tensor,
        params: *const tl_ssm_scan_params,
    ) -> *mut tl_tensor;

    /// Runs the time mixing of RWKV 6 over the tokens of sequences (Peng and others, Eagle and Finch,
    /// 2024).
    ///
    /// Computes `c[j] = sum over i of r[i] (M[i, j] + tf[i] k[i] v[j])`; `M[i, j] = td[i] M[i, j] + k[i]
    /// v[j]`.
    ///
    /// This is for a token of a head, and M is the state that the token before it left: `state` for the
    /// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
    /// - Shapes: `k`, `v`, `r` and `td` {S, heads, tokens}, `tf` {S, heads}, `state` {S S heads, sequences}
    ///   with index j first, `c` {S heads, tokens}. sequences divides tokens.
    /// - Types: All F32, as is what is computed.
    /// - Result: F32.
    /// - Result 1, by tl_result(): the states, in the shape of `state`.
    ///
    /// Since 0.1.
    pub fn tl_rwkv_wkv6(
        ctx: *mut tl_context,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        r: *mut tl_tensor,
        tf: *mut tl_tensor,
        td: *mut tl_tensor,
        state: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Runs the time mixing of RWKV 7 over the tokens of sequences (Peng and others, Goose, 2025).
    ///
    /// Computes `M[j, i] = w[i] M[j, i] + v[j] k[i] + b[i] sum over l of M[j, l] a[l]`; `c[j] = sum over i
    /// of M[j, i] r[i]`.
    ///
    /// This is for a token of a head, and M is the state that the token before it left: `state` for the
    /// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
    /// - Shapes: `r`, `w`, `k`, `v`, `a` and `b` {S, heads, tokens}, `state` {S S heads, sequences} with
    ///   index i first, `c` {S heads, tokens}. sequences divides tokens.
    /// - Types: All F32, as is what is computed.
    /// - Result: F32.
    /// - Result 1, by tl_result(): the states, in the shape of `state`.
    ///
    /// Since 0.1.
    pub fn tl_rwkv_wkv7(
        ctx: *mut tl_context,
        r: *mut tl_tensor,
        w: *mut tl_tensor,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        a: *mut tl_tensor,
        b: *mut tl_tensor,
        state: *mut tl_tensor,
    ) -> *mut tl_tensor;

    /// Runs gated linear attention over the tokens of sequences (Yang and others, 2023).
    ///
    /// Computes `M[i, j] = g[i] M[i, j] + k[i] v[j]`; `c[j] = scale sum over i of q[i] M[i, j]`.
    ///
    /// This is for a token of a head, and M is the state that the token before it left: `state` for the
    /// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
    /// - Shapes: `k`, `v`, `q` and `g` {S, heads, tokens}, `state` {S S heads, sequences} with index j
    ///   first, `c` {S heads, tokens}. sequences divides tokens.
    /// - Types: All F32, as is what is computed.
    /// - Result: F32.
    /// - Result 1, by tl_result(): the states, in the shape of `state`.
    /// - `scale`: factor of the result.
    ///
    /// Since 0.1.
    pub fn tl_gated_linear_attn(
        ctx: *mut tl_context,
        k: *mut tl_tensor,
        v: *mut tl_tensor,
        q: *mut tl_tensor,
        g: *mut tl_tensor,
        state: *mut tl_tensor,
        scale: f64,
    ) -> *mut tl_tensor;

    /// Adds the tensors `a` of all ranks of a group, element by element.
    ///
    /// Computes `c = the sum of `a` over all ranks`.
    ///
    /// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
    /// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
    /// others. Sums of F16, BF16, and of F32 and F64 of at most 64 KiB, are computed in the order of the
    /// ranks, so their bits do not depend on what connects the ranks. Larger sums of F32 and F64 have equal
    /// bits on all ranks.
    /// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_all_sum(ctx: *mut tl_context, a: *mut tl_tensor, group: *const tl_group) -> *mut tl_tensor;

    /// Finds the largest elements of the tensors `a` of all ranks of a group.
    ///
    /// Computes `c = the largest element of `a` over all ranks, in each position`.
    ///
    /// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
    /// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
    /// others. NaN if one of the elements is NaN. 0 counts as larger than -0.
    /// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_all_max(ctx: *mut tl_context, a: *mut tl_tensor, group: *const tl_group) -> *mut tl_tensor;

    /// Concatenates the tensors `a` of all ranks of a group along a dimension, in the order of the ranks.
    ///
    /// Computes `c[i0, k + rank * ne1, i2, i3] = a[i0, k, i2, i3] of that rank`.
    ///
    /// The formula is for `dim` 1. All ranks of the group compute it, each in a graph of its own. The nodes
    /// of groups are computed in the order in which they were built. A rank that fails, or misses the
    /// deadline, is an error on the others.
    /// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`, but as many times
    ///   its elements in dimension `dim` as there are ranks.
    /// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_all_gather(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Adds the tensors `a` of all ranks of a group, and gives each rank its part along a dimension.
    ///
    /// Computes `c[i0, k, i2, i3] = the sum of a[i0, k + rank * ne1 / ranks, i2, i3] over all ranks`.
    ///
    /// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute
    /// it, each in a graph of its own. The nodes of groups are computed in the order in which they were
    /// built. A rank that fails, or misses the deadline, is an error on the others. Sums are computed in
    /// the order of the ranks.
    /// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of
    ///   dimension `dim`, and `c` has as many times fewer in it.
    /// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
    ///   type. Integers wrap around where they overflow.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_sum_scatter(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Gives all ranks of a group the tensor `a` of one of them.
    ///
    /// Computes `c = `a` of the rank `root``.
    ///
    /// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
    /// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
    /// others.
    /// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
    /// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `root`: the rank whose tensor it is. Range: 0 to 2^31 - 1.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_broadcast(ctx: *mut tl_context, a: *mut tl_tensor, root: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Gives each rank of a group its part of the tensors `a` of all ranks, in the order of the ranks.
    ///
    /// Computes `c[i0, k + r * ne1 / ranks, i2, i3] = a[i0, k + rank * ne1 / ranks, i2, i3] of rank r`.
    ///
    /// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute
    /// it, each in a graph of its own. The nodes of groups are computed in the order in which they were
    /// built. A rank that fails, or misses the deadline, is an error on the others.
    /// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of
    ///   dimension `dim`. `c` has the shape of `a`.
    /// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_all_to_all(ctx: *mut tl_context, a: *mut tl_tensor, dim: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Sends `a` to another rank of a group, which receives it with tl_receive().
    ///
    /// Computes `c = a`.
    ///
    /// The tensor is copied, so the sender does not wait. It is sent when the node is computed: make it, or
    /// a node that reads it, an output of the graph. All ranks of the group compute it, each in a graph of
    /// its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
    /// or misses the deadline, is an error on the others.
    /// - Shapes: `c` has the shape of `a`.
    /// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `to`: the rank that receives it. Range: 0 to 2^31 - 1.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_send(ctx: *mut tl_context, a: *mut tl_tensor, to: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Receives the tensor that another rank of a group sends with tl_send().
    ///
    /// Computes `c = what the rank `from` sends`.
    ///
    /// Only the shape and the type of `a` are used. All ranks of the group compute it, each in a graph of
    /// its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
    /// or misses the deadline, is an error on the others.
    /// - Shapes: `c` has the shape of `a`, which is that of what is sent.
    /// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
    /// - Result: The type of `a`.
    /// - `from`: the rank that sends it. Range: 0 to 2^31 - 1.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_receive(ctx: *mut tl_context, a: *mut tl_tensor, from: i64, group: *const tl_group) -> *mut tl_tensor;

    /// Marks `a`, which is the same on all ranks of a group, as an operand of what the ranks compute
    /// differently.
    ///
    /// Computes `c = a`.
    ///
    /// Nothing is computed. With tensor parallelism, the input of a layer whose matrices are divided among
    /// the ranks is such an operand.
    /// - Shapes: `c` has the shape and the strides of `a`.
    /// - Types: Any type.
    /// - Result: A view of `a`. Nothing is computed.
    /// - `group`: the group, of which this process or thread is a rank.
    ///
    /// Since 0.1.
    pub fn tl_copy_to_group(ctx: *mut tl_context, a: *mut tl_tensor, group: *const tl_group) -> *mut tl_tensor;
}
