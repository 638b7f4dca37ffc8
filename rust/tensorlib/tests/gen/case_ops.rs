//! The operations of the cases by their methods. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

use crate::case_attrs::{CaseAttrs, CaseOperands};
use tensorlib::{Result, Tensor};

/// None where it is none of these.
pub fn build(op: &str, s: &CaseOperands, attrs: &CaseAttrs) -> Option<Result<Tensor>> {
    Some(match op {
        "add" => s[0].add(&s[1]),
        "sub" => s[0].sub(&s[1]),
        "mul" => s[0].mul(&s[1]),
        "div" => s[0].div(&s[1]),
        "maximum" => s[0].maximum(&s[1]),
        "minimum" => s[0].minimum(&s[1]),
        "pow" => s[0].pow(&s[1]),
        "eq" => s[0].eq(&s[1]),
        "ne" => s[0].ne(&s[1]),
        "lt" => s[0].lt(&s[1]),
        "le" => s[0].le(&s[1]),
        "gt" => s[0].gt(&s[1]),
        "ge" => s[0].ge(&s[1]),
        "add1" => s[0].add1(&s[1]),
        "where" => s[0].where_cond(&s[1], &s[2]),
        "scale" => {
            let scale = attrs.number("scale");
            let options = tensorlib::ScaleOptions::new();
            let options = options.bias(attrs.number("bias"));
            s[0].scale(scale, options)
        }
        "clamp" => {
            let min = attrs.number("min");
            let max = attrs.number("max");
            s[0].clamp(min, max)
        }
        "fill" => {
            let value = attrs.number("value");
            s[0].fill(value)
        }
        "masked_fill" => {
            let value = attrs.number("value");
            s[0].masked_fill(&s[1], value)
        }
        "out_prod" => s[0].out_prod(&s[1]),
        "out_prod_id" => {
            let experts = attrs.integer("experts");
            s[0].out_prod_id(&s[1], &s[2], experts)
        }
        "solve_tri" => {
            let left = attrs.integer("left") != 0;
            let lower = attrs.integer("lower") != 0;
            let unit = attrs.integer("unit") != 0;
            s[0].solve_tri(&s[1], left, lower, unit)
        }
        "transpose" => s[0].transpose(),
        "stop_gradient" => s[0].stop_gradient(),
        "expand" => {
            let shape = attrs.ints("ne");
            s[0].expand(shape)
        }
        "unsqueeze" => {
            let dim = attrs.integer("dim");
            s[0].unsqueeze(dim)
        }
        "squeeze" => {
            let dim = attrs.integer("dim");
            s[0].squeeze(dim)
        }
        "flatten" => {
            let first = attrs.integer("first");
            let last = attrs.integer("last");
            s[0].flatten(first, last)
        }
        "select" => {
            let dim = attrs.integer("dim");
            let index = attrs.integer("index");
            s[0].select(dim, index)
        }
        "result" => {
            let number = attrs.integer("number");
            s[0].result(number)
        }
        "cont" => s[0].cont(),
        "cpy" => s[0].cpy(&s[1]),
        "dup" => s[0].dup(),
        "get_rows" => s[0].get_rows(&s[1]),
        "set_rows" => s[0].set_rows(&s[1], &s[2]),
        "index_select" => {
            let dim = attrs.integer("dim");
            s[0].index_select(&s[1], dim)
        }
        "abs" => s[0].abs(),
        "neg" => s[0].neg(),
        "sqr" => s[0].sqr(),
        "sqrt" => s[0].sqrt(),
        "log" => s[0].log(),
        "exp" => s[0].exp(),
        "expm1" => s[0].expm1(),
        "sin" => s[0].sin(),
        "cos" => s[0].cos(),
        "sgn" => s[0].sgn(),
        "step" => s[0].step(),
        "floor" => s[0].floor(),
        "ceil" => s[0].ceil(),
        "round" => s[0].round(),
        "trunc" => s[0].trunc(),
        "erf" => s[0].erf(),
        "relu" => s[0].relu(),
        "sigmoid" => s[0].sigmoid(),
        "tanh" => s[0].tanh(),
        "elu" => s[0].elu(),
        "softplus" => s[0].softplus(),
        "silu" => s[0].silu(),
        "gelu" => s[0].gelu(),
        "gelu_erf" => s[0].gelu_erf(),
        "gelu_quick" => s[0].gelu_quick(),
        "hardswish" => s[0].hardswish(),
        "hardsigmoid" => s[0].hardsigmoid(),
        "leaky_relu" => {
            let slope = attrs.number("slope");
            s[0].leaky_relu(slope)
        }
        "xielu" => {
            let alpha_n = attrs.number("alpha_n");
            let alpha_p = attrs.number("alpha_p");
            let beta = attrs.number("beta");
            let eps = attrs.number("eps");
            s[0].xielu(alpha_n, alpha_p, beta, eps)
        }
        "glu" => {
            let op = match attrs.text("op") {
                "" | "reglu" => tensorlib::GluOp::Reglu,
                "geglu" => tensorlib::GluOp::Geglu,
                "swiglu" => tensorlib::GluOp::Swiglu,
                "geglu_erf" => tensorlib::GluOp::GegluErf,
                "geglu_quick" => tensorlib::GluOp::GegluQuick,
                "swiglu_oai" => tensorlib::GluOp::SwigluOai,
                other => panic!("op: {other} is none of its words"),
            };
            let options = tensorlib::GluOptions::new();
            let options = options.split(attrs.integer("split") != 0);
            let options = options.swapped(attrs.integer("swapped") != 0);
            let options = options.alpha(attrs.number("alpha"));
            let options = options.limit(attrs.number("limit"));
            s[0].glu(s.if_given(1), op, options)
        }
        "norm" => {
            let eps = attrs.number("eps");
            s[0].norm(eps)
        }
        "rms_norm" => {
            let eps = attrs.number("eps");
            s[0].rms_norm(eps)
        }
        "l2_norm" => {
            let eps = attrs.number("eps");
            s[0].l2_norm(eps)
        }
        "group_norm" => {
            let groups = attrs.integer("groups");
            let eps = attrs.number("eps");
            s[0].group_norm(groups, eps)
        }
        "soft_max" => s[0].soft_max(),
        "soft_max_ext" => {
            let options = tensorlib::SoftMaxExtOptions::new();
            let options = options.scale(attrs.number("scale"));
            let options = options.max_bias(attrs.number("max_bias"));
            s[0].soft_max_ext(s.if_given(1), s.if_given(2), options)
        }
        "log_soft_max" => s[0].log_soft_max(),
        "rope" => {
            let mode = match attrs.text("mode") {
                "" | "normal" => tensorlib::RopeMode::Normal,
                "neox" => tensorlib::RopeMode::Neox,
                "mrope" => tensorlib::RopeMode::Mrope,
                "imrope" => tensorlib::RopeMode::Imrope,
                "vision" => tensorlib::RopeMode::Vision,
                other => panic!("mode: {other} is none of its words"),
            };
            let options = tensorlib::RopeOptions::new();
            let options = options.mode(mode);
            let options = options.n_dims(attrs.integer("n_dims"));
            let options = options.offset(attrs.integer("offset"));
            let options = options.sections(attrs.list("sections"));
            let options = options.n_ctx_orig(attrs.integer("n_ctx_orig"));
            let options = options.freq_base(attrs.number("freq_base"));
            let options = options.freq_scale(attrs.number("freq_scale"));
            let options = options.ext_factor(attrs.number("ext_factor"));
            let options = options.attn_factor(attrs.number("attn_factor"));
            let options = options.beta_fast(attrs.number("beta_fast"));
            let options = options.beta_slow(attrs.number("beta_slow"));
            let options = options.inverse(attrs.integer("inverse") != 0);
            s[0].rope(&s[1], s.if_given(2), options)
        }
        "flash_attn_ext" => {
            let options = tensorlib::FlashAttnExtOptions::new();
            let options = options.scale(attrs.number("scale"));
            let options = options.max_bias(attrs.number("max_bias"));
            let options = options.logit_softcap(attrs.number("logit_softcap"));
            s[0].flash_attn_ext(&s[1], &s[2], s.if_given(3), s.if_given(4), options)
        }
        "paged_attention" => {
            let options = tensorlib::PagedAttentionOptions::new();
            let options = options.page(attrs.integer("page"));
            let options = options.window(attrs.integer("window"));
            let options = options.scale(attrs.number("scale"));
            let options = options.logit_softcap(attrs.number("logit_softcap"));
            s[0].paged_attention(&s[1], &s[2], &s[3], &s[4], &s[5], s.if_given(6), options)
        }
        "sum" => s[0].sum(attrs.dims()),
        "sum_rows" => s[0].sum_rows(),
        "mean" => s[0].mean(attrs.dims()),
        "cumsum" => s[0].cumsum(),
        "argmax" => s[0].argmax(attrs.dims()),
        "argsort" => {
            let order = match attrs.text("order") {
                "" | "asc" => tensorlib::ArgsortOrder::Asc,
                "desc" => tensorlib::ArgsortOrder::Desc,
                other => panic!("order: {other} is none of its words"),
            };
            let options = tensorlib::ArgsortOptions::new();
            let options = options.order(order);
            s[0].argsort(options)
        }
        "top_k" => {
            let k = attrs.integer("k");
            s[0].top_k(k)
        }
        "count_equal" => s[0].count_equal(&s[1]),
        "cross_entropy_loss" => s[0].cross_entropy_loss(&s[1]),
        "max" => s[0].max(attrs.dims()),
        "min" => s[0].min(attrs.dims()),
        "argmin" => s[0].argmin(attrs.dims()),
        "var" => {
            let correction = attrs.integer("correction");
            s[0].var(correction, attrs.dims())
        }
        "std" => {
            let correction = attrs.integer("correction");
            s[0].std(correction, attrs.dims())
        }
        "prod" => s[0].prod(attrs.dims()),
        "any" => s[0].any(attrs.dims()),
        "all" => s[0].all(attrs.dims()),
        "log_sum_exp" => s[0].log_sum_exp(attrs.dims()),
        "repeat" => {
            let shape = attrs.ints("ne");
            s[0].repeat(shape)
        }
        "concat" => {
            let dim = attrs.integer("dim");
            s[0].concat(&s[1], dim)
        }
        "pad" => {
            let p = attrs.list("p");
            let options = tensorlib::PadOptions::new();
            let options = options.lp(attrs.list("lp"));
            let options = options.circular(attrs.integer("circular") != 0);
            s[0].pad(p, options)
        }
        "pad_reflect_1d" => {
            let p0 = attrs.integer("p0");
            let p1 = attrs.integer("p1");
            s[0].pad_reflect_1d(p0, p1)
        }
        "roll" => {
            let shift = attrs.list("shift");
            s[0].roll(shift)
        }
        "diag" => s[0].diag(),
        "tri" => {
            let part = match attrs.text("type") {
                "" | "lower" => tensorlib::TriType::Lower,
                "lower_diag" => tensorlib::TriType::LowerDiag,
                "upper" => tensorlib::TriType::Upper,
                "upper_diag" => tensorlib::TriType::UpperDiag,
                other => panic!("type: {other} is none of its words"),
            };
            s[0].tri(part)
        }
        "diag_mask_inf" => {
            let n_past = attrs.integer("n_past");
            s[0].diag_mask_inf(n_past)
        }
        "diag_mask_zero" => {
            let n_past = attrs.integer("n_past");
            s[0].diag_mask_zero(n_past)
        }
        "acc" => {
            let options = tensorlib::AccOptions::new();
            let options = options.nb1(attrs.integer("nb1"));
            let options = options.nb2(attrs.integer("nb2"));
            let options = options.nb3(attrs.integer("nb3"));
            let options = options.offset(attrs.integer("offset"));
            s[0].acc(&s[1], options)
        }
        "set" => {
            let options = tensorlib::SetOptions::new();
            let options = options.nb1(attrs.integer("nb1"));
            let options = options.nb2(attrs.integer("nb2"));
            let options = options.nb3(attrs.integer("nb3"));
            let options = options.offset(attrs.integer("offset"));
            s[0].set_window(&s[1], options)
        }
        "gather" => {
            let dim = attrs.integer("dim");
            s[0].gather(&s[1], dim)
        }
        "add_id" => s[0].add_id(&s[1], &s[2]),
        "arange" => {
            let start = attrs.number("start");
            let stop = attrs.number("stop");
            let step = attrs.number("step");
            s.context.arange(start, stop, step)
        }
        "scatter_add" => {
            let dim = attrs.integer("dim");
            s[0].scatter_add(&s[1], &s[2], dim)
        }
        "flip" => {
            let dim = attrs.integer("dim");
            s[0].flip(dim)
        }
        "one_hot" => {
            let classes = attrs.integer("classes");
            s[0].one_hot(classes)
        }
        "eye" => {
            let n = attrs.integer("n");
            s.context.eye(n)
        }
        "linspace" => {
            let start = attrs.number("start");
            let stop = attrs.number("stop");
            let n = attrs.integer("n");
            s.context.linspace(start, stop, n)
        }
        "timestep_embedding" => {
            let dim = attrs.integer("dim");
            let max_period = attrs.integer("max_period");
            s[0].timestep_embedding(dim, max_period)
        }
        "upscale" => {
            let mode = match attrs.text("mode") {
                "" | "nearest" => tensorlib::UpscaleMode::Nearest,
                "bilinear" => tensorlib::UpscaleMode::Bilinear,
                "bicubic" => tensorlib::UpscaleMode::Bicubic,
                other => panic!("mode: {other} is none of its words"),
            };
            let options = tensorlib::UpscaleOptions::new();
            let options = options.factor(attrs.integer("factor"));
            let options = options.mode(mode);
            let options = options.shape(attrs.list("ne"));
            let options = options.align_corners(attrs.integer("align_corners") != 0);
            let options = options.antialias(attrs.integer("antialias") != 0);
            s[0].upscale(options)
        }
        "pool_1d" => {
            let op = match attrs.text("op") {
                "" | "max" => tensorlib::PoolOp::Max,
                "avg" => tensorlib::PoolOp::Avg,
                other => panic!("op: {other} is none of its words"),
            };
            let k = attrs.integer("k");
            let options = tensorlib::Pool1dOptions::new();
            let options = options.s(attrs.integer("s"));
            let options = options.p(attrs.integer("p"));
            let options = options.count_padding(attrs.integer("count_padding") != 0);
            s[0].pool_1d(op, k, options)
        }
        "pool_2d" => {
            let op = match attrs.text("op") {
                "" | "max" => tensorlib::PoolOp::Max,
                "avg" => tensorlib::PoolOp::Avg,
                other => panic!("op: {other} is none of its words"),
            };
            let k0 = attrs.integer("k0");
            let k1 = attrs.integer("k1");
            let options = tensorlib::Pool2dOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.skip_padding(attrs.integer("skip_padding") != 0);
            s[0].pool_2d(op, k0, k1, options)
        }
        "im2col" => {
            let to = match attrs.text("to") {
                "" | "f32" => tensorlib::Im2colTo::F32,
                "f16" => tensorlib::Im2colTo::F16,
                "bf16" => tensorlib::Im2colTo::Bf16,
                other => panic!("to: {other} is none of its words"),
            };
            let options = tensorlib::Im2colOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            let options = options.is_2d(attrs.integer("is_2D") != 0);
            let options = options.to(to);
            s[0].im2col(&s[1], options)
        }
        "conv_1d" => {
            let options = tensorlib::Conv1dOptions::new();
            let options = options.s(attrs.integer("s"));
            let options = options.p(attrs.integer("p"));
            let options = options.d(attrs.integer("d"));
            s[0].conv_1d(&s[1], options)
        }
        "conv_2d" => {
            let options = tensorlib::Conv2dOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            s[0].conv_2d(&s[1], options)
        }
        "conv_1d_dw" => {
            let options = tensorlib::Conv1dDwOptions::new();
            let options = options.s(attrs.integer("s"));
            let options = options.p(attrs.integer("p"));
            let options = options.d(attrs.integer("d"));
            s[0].conv_1d_dw(&s[1], options)
        }
        "conv_2d_dw" => {
            let options = tensorlib::Conv2dDwOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            s[0].conv_2d_dw(&s[1], options)
        }
        "conv_transpose_1d" => {
            let options = tensorlib::ConvTranspose1dOptions::new();
            let options = options.s(attrs.integer("s"));
            let options = options.p(attrs.integer("p"));
            let options = options.d(attrs.integer("d"));
            s[0].conv_transpose_1d(&s[1], options)
        }
        "conv_transpose_2d" => {
            let options = tensorlib::ConvTranspose2dOptions::new();
            let options = options.stride(attrs.integer("stride"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            s[0].conv_transpose_2d(&s[1], options)
        }
        "im2col_3d" => {
            let channels = attrs.integer("channels");
            let to = match attrs.text("to") {
                "" | "f32" => tensorlib::Im2col3dTo::F32,
                "f16" => tensorlib::Im2col3dTo::F16,
                "bf16" => tensorlib::Im2col3dTo::Bf16,
                other => panic!("to: {other} is none of its words"),
            };
            let options = tensorlib::Im2col3dOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.s2(attrs.integer("s2"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.p2(attrs.integer("p2"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            let options = options.d2(attrs.integer("d2"));
            let options = options.to(to);
            s[0].im2col_3d(&s[1], channels, options)
        }
        "conv_3d" => {
            let channels = attrs.integer("channels");
            let options = tensorlib::Conv3dOptions::new();
            let options = options.s0(attrs.integer("s0"));
            let options = options.s1(attrs.integer("s1"));
            let options = options.s2(attrs.integer("s2"));
            let options = options.p0(attrs.integer("p0"));
            let options = options.p1(attrs.integer("p1"));
            let options = options.p2(attrs.integer("p2"));
            let options = options.d0(attrs.integer("d0"));
            let options = options.d1(attrs.integer("d1"));
            let options = options.d2(attrs.integer("d2"));
            s[0].conv_3d(&s[1], channels, options)
        }
        "col2im_1d" => {
            let stride = attrs.integer("stride");
            let padding = attrs.integer("padding");
            let channels = attrs.integer("channels");
            s[0].col2im_1d(stride, padding, channels)
        }
        "ssm_conv" => {
            let options = tensorlib::SsmConvOptions::new();
            let options = options.silu(attrs.integer("silu") != 0);
            s[0].ssm_conv(&s[1], s.if_given(2), s.if_given(3), options)
        }
        "random_uniform" => {
            let shape = attrs.ints("ne");
            let low = attrs.number("low");
            let high = attrs.number("high");
            let stream = attrs.integer("stream");
            s[0].random_uniform(shape, low, high, stream)
        }
        "random_normal" => {
            let shape = attrs.ints("ne");
            let mean = attrs.number("mean");
            let deviation = attrs.number("deviation");
            let stream = attrs.integer("stream");
            s[0].random_normal(shape, mean, deviation, stream)
        }
        "dropout" => {
            let p = attrs.number("p");
            let stream = attrs.integer("stream");
            s[0].dropout(&s[1], p, stream)
        }
        "opt_step_sgd" => s[0].opt_step_sgd(&s[1], &s[2]),
        "opt_step_momentum" => {
            let options = tensorlib::OptStepMomentumOptions::new();
            let options = options.nesterov(attrs.integer("nesterov") != 0);
            s[0].opt_step_momentum(&s[1], &s[2], &s[3], options)
        }
        "opt_step_adamw" => s[0].opt_step_adamw(&s[1], &s[2], &s[3], &s[4]),
        "opt_step_lion" => s[0].opt_step_lion(&s[1], &s[2], &s[3]),
        "mul_mat_sparse" => {
            let by = match attrs.text("by") {
                "" | "score" => tensorlib::SparseBy::Score,
                "magnitude" => tensorlib::SparseBy::Magnitude,
                "positive" => tensorlib::SparseBy::Positive,
                other => panic!("by: {other} is none of its words"),
            };
            let options = tensorlib::MulMatSparseOptions::new();
            let options = options.by(by);
            let options = options.threshold(attrs.number("threshold"));
            let options = options.n(attrs.integer("n"));
            let options = options.exact(attrs.integer("exact") != 0);
            s[0].mul_mat_sparse(&s[1], s.if_given(2), s.if_given(3), options)
        }
        "axpy" => {
            let by = match attrs.text("by") {
                "" | "score" => tensorlib::SparseBy::Score,
                "magnitude" => tensorlib::SparseBy::Magnitude,
                "positive" => tensorlib::SparseBy::Positive,
                other => panic!("by: {other} is none of its words"),
            };
            let options = tensorlib::AxpyOptions::new();
            let options = options.by(by);
            let options = options.threshold(attrs.number("threshold"));
            s[0].axpy(&s[1], s.if_given(2), s.if_given(3), options)
        }
        "sparse_ffn" => {
            let activation = match attrs.text("activation") {
                "" | "relu" => tensorlib::SparseFfnActivation::Relu,
                "silu" => tensorlib::SparseFfnActivation::Silu,
                "gelu" => tensorlib::SparseFfnActivation::Gelu,
                other => panic!("activation: {other} is none of its words"),
            };
            let by = match attrs.text("by") {
                "" | "score" => tensorlib::SparseBy::Score,
                "magnitude" => tensorlib::SparseBy::Magnitude,
                "positive" => tensorlib::SparseBy::Positive,
                other => panic!("by: {other} is none of its words"),
            };
            let first = match attrs.text("first") {
                "" | "gate" => tensorlib::SparseFfnFirst::Gate,
                "up" => tensorlib::SparseFfnFirst::Up,
                other => panic!("first: {other} is none of its words"),
            };
            let options = tensorlib::SparseFfnOptions::new();
            let options = options.activation(activation);
            let options = options.by(by);
            let options = options.threshold(attrs.number("threshold"));
            let options = options.first(first);
            s[0].sparse_ffn(&s[1], &s[2], &s[3], s.if_given(4), s.if_given(5), options)
        }
        "bitwise_and" => s[0].bitwise_and(&s[1]),
        "bitwise_or" => s[0].bitwise_or(&s[1]),
        "bitwise_xor" => s[0].bitwise_xor(&s[1]),
        "bitwise_not" => s[0].bitwise_not(),
        "shift_left" => s[0].shift_left(&s[1]),
        "shift_right" => s[0].shift_right(&s[1]),
        "logical_and" => s[0].logical_and(&s[1]),
        "logical_or" => s[0].logical_or(&s[1]),
        "logical_xor" => s[0].logical_xor(&s[1]),
        "logical_not" => s[0].logical_not(),
        "win_part" => {
            let w = attrs.integer("w");
            s[0].win_part(w)
        }
        "win_unpart" => {
            let w0 = attrs.integer("w0");
            let h0 = attrs.integer("h0");
            let w = attrs.integer("w");
            s[0].win_unpart(w0, h0, w)
        }
        "get_rel_pos" => {
            let qh = attrs.integer("qh");
            let kh = attrs.integer("kh");
            s[0].get_rel_pos(qh, kh)
        }
        "add_rel_pos" => s[0].add_rel_pos(&s[1], &s[2]),
        "gated_delta_net" => {
            let options = tensorlib::GatedDeltaNetOptions::new();
            let options = options.n_states(attrs.integer("n_states"));
            s[0].gated_delta_net(&s[1], &s[2], &s[3], &s[4], &s[5], options)
        }
        "ssm_scan" => {
            let options = tensorlib::SsmScanOptions::new();
            let options = options.n_states(attrs.integer("n_states"));
            s[0].ssm_scan(&s[1], &s[2], &s[3], &s[4], &s[5], &s[6], options)
        }
        "rwkv_wkv6" => s[0].rwkv_wkv6(&s[1], &s[2], &s[3], &s[4], &s[5]),
        "rwkv_wkv7" => s[0].rwkv_wkv7(&s[1], &s[2], &s[3], &s[4], &s[5], &s[6]),
        "gated_linear_attn" => {
            let scale = attrs.number("scale");
            s[0].gated_linear_attn(&s[1], &s[2], &s[3], &s[4], scale)
        }
        "all_sum" => {
            let group = attrs.group();
            s[0].all_sum(group)
        }
        "all_max" => {
            let group = attrs.group();
            s[0].all_max(group)
        }
        "all_gather" => {
            let dim = attrs.integer("dim");
            let group = attrs.group();
            s[0].all_gather(dim, group)
        }
        "sum_scatter" => {
            let dim = attrs.integer("dim");
            let group = attrs.group();
            s[0].sum_scatter(dim, group)
        }
        "broadcast" => {
            let root = attrs.integer("root");
            let group = attrs.group();
            s[0].broadcast(root, group)
        }
        "all_to_all" => {
            let dim = attrs.integer("dim");
            let group = attrs.group();
            s[0].all_to_all(dim, group)
        }
        "send" => {
            let to = attrs.integer("to");
            let group = attrs.group();
            s[0].send(to, group)
        }
        "receive" => {
            let from = attrs.integer("from");
            let group = attrs.group();
            s[0].receive(from, group)
        }
        "copy_to_group" => {
            let group = attrs.group();
            s[0].copy_to_group(group)
        }
        _ => return None,
    })
}
