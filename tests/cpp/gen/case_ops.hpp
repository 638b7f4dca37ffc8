// The operations of the cases by their functions. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#pragma once

#include "case_attrs.hpp"

#include <optional>
#include <string>

// Nothing where it is none of these. One operand: by Tensor's method.
inline std::optional<tl::Tensor> case_op(const std::string &op, const CaseOperands &s, const CaseAttrs &attrs) {
    if (op == "add") return tl::add(s.at(0), s.at(1));
    if (op == "sub") return tl::sub(s.at(0), s.at(1));
    if (op == "mul") return tl::mul(s.at(0), s.at(1));
    if (op == "div") return tl::div(s.at(0), s.at(1));
    if (op == "maximum") return tl::maximum(s.at(0), s.at(1));
    if (op == "minimum") return tl::minimum(s.at(0), s.at(1));
    if (op == "pow") return tl::pow(s.at(0), s.at(1));
    if (op == "eq") return tl::eq(s.at(0), s.at(1));
    if (op == "ne") return tl::ne(s.at(0), s.at(1));
    if (op == "lt") return tl::lt(s.at(0), s.at(1));
    if (op == "le") return tl::le(s.at(0), s.at(1));
    if (op == "gt") return tl::gt(s.at(0), s.at(1));
    if (op == "ge") return tl::ge(s.at(0), s.at(1));
    if (op == "add1") return tl::add1(s.at(0), s.at(1));
    if (op == "where") return tl::where(s.at(0), s.at(1), s.at(2));
    if (op == "scale") {
        tl::ScaleOptions options;
        options.bias = attrs.number("bias");
        return s.at(0).scale(attrs.number("scale"), options);
    }
    if (op == "clamp") return s.at(0).clamp(attrs.number("min"), attrs.number("max"));
    if (op == "fill") return s.at(0).fill(attrs.number("value"));
    if (op == "masked_fill") return tl::masked_fill(s.at(0), s.at(1), attrs.number("value"));
    if (op == "out_prod") return tl::out_prod(s.at(0), s.at(1));
    if (op == "out_prod_id") return tl::out_prod_id(s.at(0), s.at(1), s.at(2), attrs.integer("experts"));
    if (op == "solve_tri")
        return tl::solve_tri(s.at(0), s.at(1), attrs.integer("left") != 0, attrs.integer("lower") != 0, attrs.integer("unit") != 0);
    if (op == "transpose") return s.at(0).transpose();
    if (op == "stop_gradient") return s.at(0).stop_gradient();
    if (op == "expand") return s.at(0).expand(attrs.ints("ne"));
    if (op == "unsqueeze") return s.at(0).unsqueeze(attrs.integer("dim"));
    if (op == "squeeze") return s.at(0).squeeze(attrs.integer("dim"));
    if (op == "flatten") return s.at(0).flatten(attrs.integer("first"), attrs.integer("last"));
    if (op == "select") return s.at(0).select(attrs.integer("dim"), attrs.integer("index"));
    if (op == "result") return s.at(0).result(attrs.integer("number"));
    if (op == "cont") return s.at(0).cont();
    if (op == "cpy") return tl::cpy(s.at(0), s.at(1));
    if (op == "dup") return s.at(0).dup();
    if (op == "get_rows") return tl::get_rows(s.at(0), s.at(1));
    if (op == "set_rows") return tl::set_rows(s.at(0), s.at(1), s.at(2));
    if (op == "index_select") return tl::index_select(s.at(0), s.at(1), attrs.integer("dim"));
    if (op == "abs") return s.at(0).abs();
    if (op == "neg") return s.at(0).neg();
    if (op == "sqr") return s.at(0).sqr();
    if (op == "sqrt") return s.at(0).sqrt();
    if (op == "log") return s.at(0).log();
    if (op == "exp") return s.at(0).exp();
    if (op == "expm1") return s.at(0).expm1();
    if (op == "sin") return s.at(0).sin();
    if (op == "cos") return s.at(0).cos();
    if (op == "sgn") return s.at(0).sgn();
    if (op == "step") return s.at(0).step();
    if (op == "floor") return s.at(0).floor();
    if (op == "ceil") return s.at(0).ceil();
    if (op == "round") return s.at(0).round();
    if (op == "trunc") return s.at(0).trunc();
    if (op == "erf") return s.at(0).erf();
    if (op == "relu") return s.at(0).relu();
    if (op == "sigmoid") return s.at(0).sigmoid();
    if (op == "tanh") return s.at(0).tanh();
    if (op == "elu") return s.at(0).elu();
    if (op == "softplus") return s.at(0).softplus();
    if (op == "silu") return s.at(0).silu();
    if (op == "gelu") return s.at(0).gelu();
    if (op == "gelu_erf") return s.at(0).gelu_erf();
    if (op == "gelu_quick") return s.at(0).gelu_quick();
    if (op == "hardswish") return s.at(0).hardswish();
    if (op == "hardsigmoid") return s.at(0).hardsigmoid();
    if (op == "leaky_relu") return s.at(0).leaky_relu(attrs.number("slope"));
    if (op == "xielu") return s.at(0).xielu(attrs.number("alpha_n"), attrs.number("alpha_p"), attrs.number("beta"), attrs.number("eps"));
    if (op == "glu") {
        tl::GluOptions options;
        options.split = attrs.integer("split") != 0;
        options.swapped = attrs.integer("swapped") != 0;
        options.alpha = attrs.number("alpha");
        options.limit = attrs.number("limit");
        return tl::glu(s.at(0), s.at_if_given(1),
                       static_cast<tl::GluOp>(attrs.choice("op", {"reglu", "geglu", "swiglu", "geglu_erf", "geglu_quick", "swiglu_oai"})),
                       options);
    }
    if (op == "norm") return s.at(0).norm(attrs.number("eps"));
    if (op == "rms_norm") return s.at(0).rms_norm(attrs.number("eps"));
    if (op == "l2_norm") return s.at(0).l2_norm(attrs.number("eps"));
    if (op == "group_norm") return s.at(0).group_norm(attrs.integer("groups"), attrs.number("eps"));
    if (op == "soft_max") return s.at(0).soft_max();
    if (op == "soft_max_ext") {
        tl::SoftMaxExtOptions options;
        options.scale = attrs.number("scale");
        options.max_bias = attrs.number("max_bias");
        return tl::soft_max_ext(s.at(0), s.at_if_given(1), s.at_if_given(2), options);
    }
    if (op == "log_soft_max") return s.at(0).log_soft_max();
    if (op == "rope") {
        tl::RopeOptions options;
        options.mode = static_cast<tl::RopeMode>(attrs.choice("mode", {"normal", "neox", "mrope", "imrope", "vision"}));
        options.n_dims = attrs.integer("n_dims");
        options.offset = attrs.integer("offset");
        options.sections = attrs.list<4>("sections");
        options.n_ctx_orig = attrs.integer("n_ctx_orig");
        options.freq_base = attrs.number("freq_base");
        options.freq_scale = attrs.number("freq_scale");
        options.ext_factor = attrs.number("ext_factor");
        options.attn_factor = attrs.number("attn_factor");
        options.beta_fast = attrs.number("beta_fast");
        options.beta_slow = attrs.number("beta_slow");
        options.inverse = attrs.integer("inverse") != 0;
        return tl::rope(s.at(0), s.at(1), s.at_if_given(2), options);
    }
    if (op == "flash_attn_ext") {
        tl::FlashAttnExtOptions options;
        options.scale = attrs.number("scale");
        options.max_bias = attrs.number("max_bias");
        options.logit_softcap = attrs.number("logit_softcap");
        return tl::flash_attn_ext(s.at(0), s.at(1), s.at(2), s.at_if_given(3), s.at_if_given(4), options);
    }
    if (op == "paged_attention") {
        tl::PagedAttentionOptions options;
        options.page = attrs.integer("page");
        options.window = attrs.integer("window");
        options.scale = attrs.number("scale");
        options.logit_softcap = attrs.number("logit_softcap");
        return tl::paged_attention(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at_if_given(6), options);
    }
    if (op == "sum") {
        tl::SumOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).sum(options);
    }
    if (op == "sum_rows") return s.at(0).sum_rows();
    if (op == "mean") {
        tl::MeanOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).mean(options);
    }
    if (op == "cumsum") return s.at(0).cumsum();
    if (op == "argmax") {
        tl::ArgmaxOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).argmax(options);
    }
    if (op == "argsort") {
        tl::ArgsortOptions options;
        options.order = static_cast<tl::ArgsortOrder>(attrs.choice("order", {"asc", "desc"}));
        return s.at(0).argsort(options);
    }
    if (op == "top_k") return s.at(0).top_k(attrs.integer("k"));
    if (op == "count_equal") return tl::count_equal(s.at(0), s.at(1));
    if (op == "cross_entropy_loss") return tl::cross_entropy_loss(s.at(0), s.at(1));
    if (op == "max") {
        tl::MaxOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).max(options);
    }
    if (op == "min") {
        tl::MinOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).min(options);
    }
    if (op == "argmin") {
        tl::ArgminOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).argmin(options);
    }
    if (op == "var") {
        tl::VarOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).var(attrs.integer("correction"), options);
    }
    if (op == "std") {
        tl::StdOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).stddev(attrs.integer("correction"), options);
    }
    if (op == "prod") {
        tl::ProdOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).prod(options);
    }
    if (op == "any") {
        tl::AnyOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).any(options);
    }
    if (op == "all") {
        tl::AllOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).all(options);
    }
    if (op == "log_sum_exp") {
        tl::LogSumExpOptions options;
        options.dims = attrs.dims("dims");
        options.keep = attrs.integer("keep") != 0;
        return s.at(0).log_sum_exp(options);
    }
    if (op == "repeat") return s.at(0).repeat(attrs.ints("ne"));
    if (op == "concat") return tl::concat(s.at(0), s.at(1), attrs.integer("dim"));
    if (op == "pad") {
        tl::PadOptions options;
        options.lp = attrs.list<4>("lp");
        options.circular = attrs.integer("circular") != 0;
        return s.at(0).pad(attrs.list<4>("p"), options);
    }
    if (op == "pad_reflect_1d") return s.at(0).pad_reflect_1d(attrs.integer("p0"), attrs.integer("p1"));
    if (op == "roll") return s.at(0).roll(attrs.list<4>("shift"));
    if (op == "diag") return s.at(0).diag();
    if (op == "tri") return s.at(0).tri(static_cast<tl::TriType>(attrs.choice("type", {"lower", "lower_diag", "upper", "upper_diag"})));
    if (op == "diag_mask_inf") return s.at(0).diag_mask_inf(attrs.integer("n_past"));
    if (op == "diag_mask_zero") return s.at(0).diag_mask_zero(attrs.integer("n_past"));
    if (op == "acc") {
        tl::AccOptions options;
        options.nb1 = attrs.integer("nb1");
        options.nb2 = attrs.integer("nb2");
        options.nb3 = attrs.integer("nb3");
        options.offset = attrs.integer("offset");
        return tl::acc(s.at(0), s.at(1), options);
    }
    if (op == "set") {
        tl::SetOptions options;
        options.nb1 = attrs.integer("nb1");
        options.nb2 = attrs.integer("nb2");
        options.nb3 = attrs.integer("nb3");
        options.offset = attrs.integer("offset");
        return tl::set(s.at(0), s.at(1), options);
    }
    if (op == "gather") return tl::gather(s.at(0), s.at(1), attrs.integer("dim"));
    if (op == "add_id") return tl::add_id(s.at(0), s.at(1), s.at(2));
    if (op == "arange") return s.context().arange(attrs.number("start"), attrs.number("stop"), attrs.number("step"));
    if (op == "scatter_add") return tl::scatter_add(s.at(0), s.at(1), s.at(2), attrs.integer("dim"));
    if (op == "flip") return s.at(0).flip(attrs.integer("dim"));
    if (op == "one_hot") return s.at(0).one_hot(attrs.integer("classes"));
    if (op == "eye") return s.context().eye(attrs.integer("n"));
    if (op == "linspace") return s.context().linspace(attrs.number("start"), attrs.number("stop"), attrs.integer("n"));
    if (op == "timestep_embedding") return s.at(0).timestep_embedding(attrs.integer("dim"), attrs.integer("max_period"));
    if (op == "upscale") {
        tl::UpscaleOptions options;
        options.factor = attrs.integer("factor");
        options.mode = static_cast<tl::UpscaleMode>(attrs.choice("mode", {"nearest", "bilinear", "bicubic"}));
        options.shape = attrs.list<4>("ne");
        options.align_corners = attrs.integer("align_corners") != 0;
        options.antialias = attrs.integer("antialias") != 0;
        return s.at(0).upscale(options);
    }
    if (op == "pool_1d") {
        tl::Pool1dOptions options;
        options.s = attrs.integer("s");
        options.p = attrs.integer("p");
        options.count_padding = attrs.integer("count_padding") != 0;
        return s.at(0).pool_1d(static_cast<tl::PoolOp>(attrs.choice("op", {"max", "avg"})), attrs.integer("k"), options);
    }
    if (op == "pool_2d") {
        tl::Pool2dOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.skip_padding = attrs.integer("skip_padding") != 0;
        return s.at(0).pool_2d(static_cast<tl::PoolOp>(attrs.choice("op", {"max", "avg"})), attrs.integer("k0"), attrs.integer("k1"),
                               options);
    }
    if (op == "im2col") {
        tl::Im2colOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        options.is_2d = attrs.integer("is_2D") != 0;
        options.to = static_cast<tl::Im2colTo>(attrs.choice("to", {"f32", "f16", "bf16"}));
        return tl::im2col(s.at(0), s.at(1), options);
    }
    if (op == "conv_1d") {
        tl::Conv1dOptions options;
        options.s = attrs.integer("s");
        options.p = attrs.integer("p");
        options.d = attrs.integer("d");
        return tl::conv_1d(s.at(0), s.at(1), options);
    }
    if (op == "conv_2d") {
        tl::Conv2dOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        return tl::conv_2d(s.at(0), s.at(1), options);
    }
    if (op == "conv_1d_dw") {
        tl::Conv1dDwOptions options;
        options.s = attrs.integer("s");
        options.p = attrs.integer("p");
        options.d = attrs.integer("d");
        return tl::conv_1d_dw(s.at(0), s.at(1), options);
    }
    if (op == "conv_2d_dw") {
        tl::Conv2dDwOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        return tl::conv_2d_dw(s.at(0), s.at(1), options);
    }
    if (op == "conv_transpose_1d") {
        tl::ConvTranspose1dOptions options;
        options.s = attrs.integer("s");
        options.p = attrs.integer("p");
        options.d = attrs.integer("d");
        return tl::conv_transpose_1d(s.at(0), s.at(1), options);
    }
    if (op == "conv_transpose_2d") {
        tl::ConvTranspose2dOptions options;
        options.stride = attrs.integer("stride");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        return tl::conv_transpose_2d(s.at(0), s.at(1), options);
    }
    if (op == "im2col_3d") {
        tl::Im2col3dOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.s2 = attrs.integer("s2");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.p2 = attrs.integer("p2");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        options.d2 = attrs.integer("d2");
        options.to = static_cast<tl::Im2col3dTo>(attrs.choice("to", {"f32", "f16", "bf16"}));
        return tl::im2col_3d(s.at(0), s.at(1), attrs.integer("channels"), options);
    }
    if (op == "conv_3d") {
        tl::Conv3dOptions options;
        options.s0 = attrs.integer("s0");
        options.s1 = attrs.integer("s1");
        options.s2 = attrs.integer("s2");
        options.p0 = attrs.integer("p0");
        options.p1 = attrs.integer("p1");
        options.p2 = attrs.integer("p2");
        options.d0 = attrs.integer("d0");
        options.d1 = attrs.integer("d1");
        options.d2 = attrs.integer("d2");
        return tl::conv_3d(s.at(0), s.at(1), attrs.integer("channels"), options);
    }
    if (op == "col2im_1d") return s.at(0).col2im_1d(attrs.integer("stride"), attrs.integer("padding"), attrs.integer("channels"));
    if (op == "ssm_conv") {
        tl::SsmConvOptions options;
        options.silu = attrs.integer("silu") != 0;
        return tl::ssm_conv(s.at(0), s.at(1), s.at_if_given(2), s.at_if_given(3), options);
    }
    if (op == "random_uniform")
        return s.at(0).random_uniform(attrs.ints("ne"), attrs.number("low"), attrs.number("high"), attrs.integer("stream"));
    if (op == "random_normal")
        return s.at(0).random_normal(attrs.ints("ne"), attrs.number("mean"), attrs.number("deviation"), attrs.integer("stream"));
    if (op == "dropout") return tl::dropout(s.at(0), s.at(1), attrs.number("p"), attrs.integer("stream"));
    if (op == "opt_step_sgd") return tl::opt_step_sgd(s.at(0), s.at(1), s.at(2));
    if (op == "opt_step_momentum") {
        tl::OptStepMomentumOptions options;
        options.nesterov = attrs.integer("nesterov") != 0;
        return tl::opt_step_momentum(s.at(0), s.at(1), s.at(2), s.at(3), options);
    }
    if (op == "opt_step_adamw") return tl::opt_step_adamw(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4));
    if (op == "opt_step_lion") return tl::opt_step_lion(s.at(0), s.at(1), s.at(2), s.at(3));
    if (op == "mul_mat_sparse") {
        tl::MulMatSparseOptions options;
        options.by = static_cast<tl::SparseBy>(attrs.choice("by", {"score", "magnitude", "positive"}));
        options.threshold = attrs.number("threshold");
        options.n = attrs.integer("n");
        options.exact = attrs.integer("exact") != 0;
        return tl::mul_mat_sparse(s.at(0), s.at(1), s.at_if_given(2), s.at_if_given(3), options);
    }
    if (op == "axpy") {
        tl::AxpyOptions options;
        options.by = static_cast<tl::SparseBy>(attrs.choice("by", {"score", "magnitude", "positive"}));
        options.threshold = attrs.number("threshold");
        return tl::axpy(s.at(0), s.at(1), s.at_if_given(2), s.at_if_given(3), options);
    }
    if (op == "sparse_ffn") {
        tl::SparseFfnOptions options;
        options.activation = static_cast<tl::SparseFfnActivation>(attrs.choice("activation", {"relu", "silu", "gelu"}));
        options.by = static_cast<tl::SparseBy>(attrs.choice("by", {"score", "magnitude", "positive"}));
        options.threshold = attrs.number("threshold");
        options.first = static_cast<tl::SparseFfnFirst>(attrs.choice("first", {"gate", "up"}));
        return tl::sparse_ffn(s.at(0), s.at(1), s.at(2), s.at(3), s.at_if_given(4), s.at_if_given(5), options);
    }
    if (op == "bitwise_and") return tl::bitwise_and(s.at(0), s.at(1));
    if (op == "bitwise_or") return tl::bitwise_or(s.at(0), s.at(1));
    if (op == "bitwise_xor") return tl::bitwise_xor(s.at(0), s.at(1));
    if (op == "bitwise_not") return s.at(0).bitwise_not();
    if (op == "shift_left") return tl::shift_left(s.at(0), s.at(1));
    if (op == "shift_right") return tl::shift_right(s.at(0), s.at(1));
    if (op == "logical_and") return tl::logical_and(s.at(0), s.at(1));
    if (op == "logical_or") return tl::logical_or(s.at(0), s.at(1));
    if (op == "logical_xor") return tl::logical_xor(s.at(0), s.at(1));
    if (op == "logical_not") return s.at(0).logical_not();
    if (op == "win_part") return s.at(0).win_part(attrs.integer("w"));
    if (op == "win_unpart") return s.at(0).win_unpart(attrs.integer("w0"), attrs.integer("h0"), attrs.integer("w"));
    if (op == "get_rel_pos") return s.at(0).get_rel_pos(attrs.integer("qh"), attrs.integer("kh"));
    if (op == "add_rel_pos") return tl::add_rel_pos(s.at(0), s.at(1), s.at(2));
    if (op == "gated_delta_net") {
        tl::GatedDeltaNetOptions options;
        options.n_states = attrs.integer("n_states");
        return tl::gated_delta_net(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), options);
    }
    if (op == "ssm_scan") {
        tl::SsmScanOptions options;
        options.n_states = attrs.integer("n_states");
        return tl::ssm_scan(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at(6), options);
    }
    if (op == "rwkv_wkv6") return tl::rwkv_wkv6(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5));
    if (op == "rwkv_wkv7") return tl::rwkv_wkv7(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at(6));
    if (op == "gated_linear_attn") return tl::gated_linear_attn(s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), attrs.number("scale"));
    if (op == "all_sum") return s.at(0).all_sum(attrs.group());
    if (op == "all_max") return s.at(0).all_max(attrs.group());
    if (op == "all_gather") return s.at(0).all_gather(attrs.integer("dim"), attrs.group());
    if (op == "sum_scatter") return s.at(0).sum_scatter(attrs.integer("dim"), attrs.group());
    if (op == "broadcast") return s.at(0).broadcast(attrs.integer("root"), attrs.group());
    if (op == "all_to_all") return s.at(0).all_to_all(attrs.integer("dim"), attrs.group());
    if (op == "send") return s.at(0).send(attrs.integer("to"), attrs.group());
    if (op == "receive") return s.at(0).receive(attrs.integer("from"), attrs.group());
    if (op == "copy_to_group") return s.at(0).copy_to_group(attrs.group());
    return std::nullopt;
}
