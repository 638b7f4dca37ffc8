// A C function for each operation. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#include "nodes.hpp"

using namespace tensorlib;
using capi::build;
using capi::constructed;
using capi::node;
using capi::options_of;
using capi::required;
using capi::shape_of;
using core::Attr;
using core::Op;

tl_tensor *tl_add(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::add, {a, b}); }

tl_tensor *tl_sub(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::sub, {a, b}); }

tl_tensor *tl_mul(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::mul, {a, b}); }

tl_tensor *tl_div(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::div, {a, b}); }

tl_tensor *tl_maximum(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::maximum, {a, b}); }

tl_tensor *tl_minimum(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::minimum, {a, b}); }

tl_tensor *tl_pow(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::pow, {a, b}); }

tl_tensor *tl_eq(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::eq, {a, b}); }

tl_tensor *tl_ne(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::ne, {a, b}); }

tl_tensor *tl_lt(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::lt, {a, b}); }

tl_tensor *tl_le(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::le, {a, b}); }

tl_tensor *tl_gt(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::gt, {a, b}); }

tl_tensor *tl_ge(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::ge, {a, b}); }

tl_tensor *tl_add1(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::add1, {a, b}); }

tl_tensor *tl_where(tl_context *ctx, tl_tensor *condition, tl_tensor *a, tl_tensor *b) {
    return build<3>(ctx, Op::where, {condition, a, b});
}

tl_tensor *tl_scale(tl_context *ctx, tl_tensor *a, double scale, const tl_scale_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_scale_params options = options_of(params, "scale");
        const Attr attrs[] = {
            Attr::of_number("scale", scale),
            Attr::of_number("bias", options.bias),
        };
        return node<1>(context, Op::scale, {a}, attrs);
    });
}

tl_tensor *tl_clamp(tl_context *ctx, tl_tensor *a, double min, double max) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("min", min),
            Attr::of_number("max", max),
        };
        return node<1>(context, Op::clamp, {a}, attrs);
    });
}

tl_tensor *tl_fill(tl_context *ctx, tl_tensor *a, double value) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("value", value),
        };
        return node<1>(context, Op::fill, {a}, attrs);
    });
}

tl_tensor *tl_masked_fill(tl_context *ctx, tl_tensor *a, tl_tensor *mask, double value) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("value", value),
        };
        return node<2>(context, Op::masked_fill, {a, mask}, attrs);
    });
}

tl_tensor *tl_out_prod(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::out_prod, {a, b}); }

tl_tensor *tl_out_prod_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids, int64_t experts) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("experts", experts),
        };
        return node<3>(context, Op::out_prod_id, {a, b, ids}, attrs);
    });
}

tl_tensor *tl_solve_tri(tl_context *ctx, tl_tensor *a, tl_tensor *b, bool left, bool lower, bool unit) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("left", left),
            Attr::of_int("lower", lower),
            Attr::of_int("unit", unit),
        };
        return node<2>(context, Op::solve_tri, {a, b}, attrs);
    });
}

tl_tensor *tl_transpose(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::transpose, {a}); }

tl_tensor *tl_stop_gradient(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::stop_gradient, {a}); }

tl_tensor *tl_expand(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_ints("ne", shape_of("expand", n_dims, ne)),
        };
        return node<1>(context, Op::expand, {a}, attrs);
    });
}

tl_tensor *tl_unsqueeze(tl_context *ctx, tl_tensor *a, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<1>(context, Op::unsqueeze, {a}, attrs);
    });
}

tl_tensor *tl_squeeze(tl_context *ctx, tl_tensor *a, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<1>(context, Op::squeeze, {a}, attrs);
    });
}

tl_tensor *tl_flatten(tl_context *ctx, tl_tensor *a, int64_t first, int64_t last) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("first", first),
            Attr::of_int("last", last),
        };
        return node<1>(context, Op::flatten, {a}, attrs);
    });
}

tl_tensor *tl_select(tl_context *ctx, tl_tensor *a, int64_t dim, int64_t index) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
            Attr::of_int("index", index),
        };
        return node<1>(context, Op::select, {a}, attrs);
    });
}

tl_tensor *tl_result(tl_context *ctx, tl_tensor *a, int64_t number) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("number", number),
        };
        return node<1>(context, Op::result, {a}, attrs);
    });
}

tl_tensor *tl_cont(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::cont, {a}); }

tl_tensor *tl_cpy(tl_context *ctx, tl_tensor *src, tl_tensor *dst) { return build<2>(ctx, Op::cpy, {src, dst}); }

tl_tensor *tl_dup(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::dup, {a}); }

tl_tensor *tl_get_rows(tl_context *ctx, tl_tensor *a, tl_tensor *rows) { return build<2>(ctx, Op::get_rows, {a, rows}); }

tl_tensor *tl_set_rows(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *rows) { return build<3>(ctx, Op::set_rows, {a, b, rows}); }

tl_tensor *tl_index_select(tl_context *ctx, tl_tensor *a, tl_tensor *indices, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<2>(context, Op::index_select, {a, indices}, attrs);
    });
}

tl_tensor *tl_abs(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::abs, {a}); }

tl_tensor *tl_neg(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::neg, {a}); }

tl_tensor *tl_sqr(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sqr, {a}); }

tl_tensor *tl_sqrt(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sqrt, {a}); }

tl_tensor *tl_log(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::log, {a}); }

tl_tensor *tl_exp(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::exp, {a}); }

tl_tensor *tl_expm1(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::expm1, {a}); }

tl_tensor *tl_sin(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sin, {a}); }

tl_tensor *tl_cos(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::cos, {a}); }

tl_tensor *tl_sgn(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sgn, {a}); }

tl_tensor *tl_step(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::step, {a}); }

tl_tensor *tl_floor(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::floor, {a}); }

tl_tensor *tl_ceil(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::ceil, {a}); }

tl_tensor *tl_round(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::round, {a}); }

tl_tensor *tl_trunc(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::trunc, {a}); }

tl_tensor *tl_erf(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::erf, {a}); }

tl_tensor *tl_relu(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::relu, {a}); }

tl_tensor *tl_sigmoid(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sigmoid, {a}); }

tl_tensor *tl_tanh(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::tanh, {a}); }

tl_tensor *tl_elu(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::elu, {a}); }

tl_tensor *tl_softplus(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::softplus, {a}); }

tl_tensor *tl_silu(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::silu, {a}); }

tl_tensor *tl_gelu(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::gelu, {a}); }

tl_tensor *tl_gelu_erf(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::gelu_erf, {a}); }

tl_tensor *tl_gelu_quick(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::gelu_quick, {a}); }

tl_tensor *tl_hardswish(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::hardswish, {a}); }

tl_tensor *tl_hardsigmoid(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::hardsigmoid, {a}); }

tl_tensor *tl_leaky_relu(tl_context *ctx, tl_tensor *a, double slope) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("slope", slope),
        };
        return node<1>(context, Op::leaky_relu, {a}, attrs);
    });
}

tl_tensor *tl_xielu(tl_context *ctx, tl_tensor *a, double alpha_n, double alpha_p, double beta, double eps) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("alpha_n", alpha_n),
            Attr::of_number("alpha_p", alpha_p),
            Attr::of_number("beta", beta),
            Attr::of_number("eps", eps),
        };
        return node<1>(context, Op::xielu, {a}, attrs);
    });
}

tl_tensor *tl_glu(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_glu_op op, const tl_glu_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_glu_params options = options_of(params, "glu");
        const Attr attrs[] = {
            Attr::of_int("op", op),
            Attr::of_int("split", capi::flag(options.split, "glu", "split")),
            Attr::of_int("swapped", capi::flag(options.swapped, "glu", "swapped")),
            Attr::of_number("alpha", options.alpha),
            Attr::of_number("limit", options.limit),
        };
        return node<2>(context, Op::glu, {a, b}, attrs);
    });
}

tl_tensor *tl_norm(tl_context *ctx, tl_tensor *a, double eps) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("eps", eps),
        };
        return node<1>(context, Op::norm, {a}, attrs);
    });
}

tl_tensor *tl_rms_norm(tl_context *ctx, tl_tensor *a, double eps) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("eps", eps),
        };
        return node<1>(context, Op::rms_norm, {a}, attrs);
    });
}

tl_tensor *tl_l2_norm(tl_context *ctx, tl_tensor *a, double eps) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("eps", eps),
        };
        return node<1>(context, Op::l2_norm, {a}, attrs);
    });
}

tl_tensor *tl_group_norm(tl_context *ctx, tl_tensor *a, int64_t groups, double eps) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("groups", groups),
            Attr::of_number("eps", eps),
        };
        return node<1>(context, Op::group_norm, {a}, attrs);
    });
}

tl_tensor *tl_soft_max(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::soft_max, {a}); }

tl_tensor *tl_soft_max_ext(tl_context *ctx, tl_tensor *a, tl_tensor *mask, tl_tensor *sinks, const tl_soft_max_ext_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_soft_max_ext_params options = options_of(params, "soft_max_ext");
        const Attr attrs[] = {
            Attr::of_number("scale", options.scale),
            Attr::of_number("max_bias", options.max_bias),
        };
        return node<3>(context, Op::soft_max_ext, {a, mask, sinks}, attrs);
    });
}

tl_tensor *tl_log_soft_max(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::log_soft_max, {a}); }

tl_tensor *tl_rope(tl_context *ctx, tl_tensor *a, tl_tensor *positions, tl_tensor *freq_factors, const tl_rope_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_rope_params options = options_of(params, "rope");
        const Attr attrs[] = {
            Attr::of_int("mode", options.mode),
            Attr::of_int("n_dims", options.n_dims),
            Attr::of_int("offset", options.offset),
            Attr::of_ints("sections", options.sections),
            Attr::of_int("n_ctx_orig", options.n_ctx_orig),
            Attr::of_number("freq_base", options.freq_base),
            Attr::of_number("freq_scale", options.freq_scale),
            Attr::of_number("ext_factor", options.ext_factor),
            Attr::of_number("attn_factor", options.attn_factor),
            Attr::of_number("beta_fast", options.beta_fast),
            Attr::of_number("beta_slow", options.beta_slow),
            Attr::of_int("inverse", capi::flag(options.inverse, "rope", "inverse")),
        };
        return node<3>(context, Op::rope, {a, positions, freq_factors}, attrs);
    });
}

tl_tensor *tl_flash_attn_ext(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v, tl_tensor *mask, tl_tensor *sinks,
                             const tl_flash_attn_ext_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_flash_attn_ext_params options = options_of(params, "flash_attn_ext");
        const Attr attrs[] = {
            Attr::of_number("scale", options.scale),
            Attr::of_number("max_bias", options.max_bias),
            Attr::of_number("logit_softcap", options.logit_softcap),
        };
        return node<5>(context, Op::flash_attn_ext, {q, k, v, mask, sinks}, attrs);
    });
}

tl_tensor *tl_paged_attention(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v, tl_tensor *pages, tl_tensor *positions,
                              tl_tensor *sequences, tl_tensor *sinks, const tl_paged_attention_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_paged_attention_params options = options_of(params, "paged_attention");
        const Attr attrs[] = {
            Attr::of_int("page", options.page),
            Attr::of_int("window", options.window),
            Attr::of_number("scale", options.scale),
            Attr::of_number("logit_softcap", options.logit_softcap),
        };
        return node<7>(context, Op::paged_attention, {q, k, v, pages, positions, sequences, sinks}, attrs);
    });
}

tl_tensor *tl_sum(tl_context *ctx, tl_tensor *a, const tl_sum_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_sum_params options = options_of(params, "sum");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "sum", "keep")),
        };
        return node<1>(context, Op::sum, {a}, attrs);
    });
}

tl_tensor *tl_sum_rows(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::sum_rows, {a}); }

tl_tensor *tl_mean(tl_context *ctx, tl_tensor *a, const tl_mean_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_mean_params options = options_of(params, "mean");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "mean", "keep")),
        };
        return node<1>(context, Op::mean, {a}, attrs);
    });
}

tl_tensor *tl_cumsum(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::cumsum, {a}); }

tl_tensor *tl_argmax(tl_context *ctx, tl_tensor *a, const tl_argmax_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_argmax_params options = options_of(params, "argmax");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "argmax", "keep")),
        };
        return node<1>(context, Op::argmax, {a}, attrs);
    });
}

tl_tensor *tl_argsort(tl_context *ctx, tl_tensor *a, const tl_argsort_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_argsort_params options = options_of(params, "argsort");
        const Attr attrs[] = {
            Attr::of_int("order", options.order),
        };
        return node<1>(context, Op::argsort, {a}, attrs);
    });
}

tl_tensor *tl_top_k(tl_context *ctx, tl_tensor *a, int64_t k) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("k", k),
        };
        return node<1>(context, Op::top_k, {a}, attrs);
    });
}

tl_tensor *tl_count_equal(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::count_equal, {a, b}); }

tl_tensor *tl_cross_entropy_loss(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::cross_entropy_loss, {a, b}); }

tl_tensor *tl_max(tl_context *ctx, tl_tensor *a, const tl_max_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_max_params options = options_of(params, "max");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "max", "keep")),
        };
        return node<1>(context, Op::max, {a}, attrs);
    });
}

tl_tensor *tl_min(tl_context *ctx, tl_tensor *a, const tl_min_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_min_params options = options_of(params, "min");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "min", "keep")),
        };
        return node<1>(context, Op::min, {a}, attrs);
    });
}

tl_tensor *tl_argmin(tl_context *ctx, tl_tensor *a, const tl_argmin_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_argmin_params options = options_of(params, "argmin");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "argmin", "keep")),
        };
        return node<1>(context, Op::argmin, {a}, attrs);
    });
}

tl_tensor *tl_var(tl_context *ctx, tl_tensor *a, int64_t correction, const tl_var_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_var_params options = options_of(params, "var");
        const Attr attrs[] = {
            Attr::of_int("correction", correction),
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "var", "keep")),
        };
        return node<1>(context, Op::var, {a}, attrs);
    });
}

tl_tensor *tl_std(tl_context *ctx, tl_tensor *a, int64_t correction, const tl_std_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_std_params options = options_of(params, "std");
        const Attr attrs[] = {
            Attr::of_int("correction", correction),
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "std", "keep")),
        };
        return node<1>(context, Op::std, {a}, attrs);
    });
}

tl_tensor *tl_prod(tl_context *ctx, tl_tensor *a, const tl_prod_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_prod_params options = options_of(params, "prod");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "prod", "keep")),
        };
        return node<1>(context, Op::prod, {a}, attrs);
    });
}

tl_tensor *tl_any(tl_context *ctx, tl_tensor *a, const tl_any_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_any_params options = options_of(params, "any");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "any", "keep")),
        };
        return node<1>(context, Op::any, {a}, attrs);
    });
}

tl_tensor *tl_all(tl_context *ctx, tl_tensor *a, const tl_all_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_all_params options = options_of(params, "all");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "all", "keep")),
        };
        return node<1>(context, Op::all, {a}, attrs);
    });
}

tl_tensor *tl_log_sum_exp(tl_context *ctx, tl_tensor *a, const tl_log_sum_exp_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_log_sum_exp_params options = options_of(params, "log_sum_exp");
        const Attr attrs[] = {
            Attr::of_dims("dims", options.dims),
            Attr::of_int("keep", capi::flag(options.keep, "log_sum_exp", "keep")),
        };
        return node<1>(context, Op::log_sum_exp, {a}, attrs);
    });
}

tl_tensor *tl_repeat(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_ints("ne", shape_of("repeat", n_dims, ne)),
        };
        return node<1>(context, Op::repeat, {a}, attrs);
    });
}

tl_tensor *tl_concat(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<2>(context, Op::concat, {a, b}, attrs);
    });
}

tl_tensor *tl_pad(tl_context *ctx, tl_tensor *a, const int64_t *p, const tl_pad_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_pad_params options = options_of(params, "pad");
        const Attr attrs[] = {
            Attr::of_ints("p", {required(p, "pad", "p"), 4}),
            Attr::of_ints("lp", options.lp),
            Attr::of_int("circular", capi::flag(options.circular, "pad", "circular")),
        };
        return node<1>(context, Op::pad, {a}, attrs);
    });
}

tl_tensor *tl_pad_reflect_1d(tl_context *ctx, tl_tensor *a, int64_t p0, int64_t p1) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("p0", p0),
            Attr::of_int("p1", p1),
        };
        return node<1>(context, Op::pad_reflect_1d, {a}, attrs);
    });
}

tl_tensor *tl_roll(tl_context *ctx, tl_tensor *a, const int64_t *shift) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_ints("shift", {required(shift, "roll", "shift"), 4}),
        };
        return node<1>(context, Op::roll, {a}, attrs);
    });
}

tl_tensor *tl_diag(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::diag, {a}); }

tl_tensor *tl_tri(tl_context *ctx, tl_tensor *a, tl_tri_type part) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("type", part),
        };
        return node<1>(context, Op::tri, {a}, attrs);
    });
}

tl_tensor *tl_diag_mask_inf(tl_context *ctx, tl_tensor *a, int64_t n_past) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("n_past", n_past),
        };
        return node<1>(context, Op::diag_mask_inf, {a}, attrs);
    });
}

tl_tensor *tl_diag_mask_zero(tl_context *ctx, tl_tensor *a, int64_t n_past) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("n_past", n_past),
        };
        return node<1>(context, Op::diag_mask_zero, {a}, attrs);
    });
}

tl_tensor *tl_acc(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_acc_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_acc_params options = options_of(params, "acc");
        const Attr attrs[] = {
            Attr::of_int("nb1", options.nb1),
            Attr::of_int("nb2", options.nb2),
            Attr::of_int("nb3", options.nb3),
            Attr::of_int("offset", options.offset),
        };
        return node<2>(context, Op::acc, {a, b}, attrs);
    });
}

tl_tensor *tl_set(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_set_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_set_params options = options_of(params, "set");
        const Attr attrs[] = {
            Attr::of_int("nb1", options.nb1),
            Attr::of_int("nb2", options.nb2),
            Attr::of_int("nb3", options.nb3),
            Attr::of_int("offset", options.offset),
        };
        return node<2>(context, Op::set, {a, b}, attrs);
    });
}

tl_tensor *tl_gather(tl_context *ctx, tl_tensor *a, tl_tensor *indices, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<2>(context, Op::gather, {a, indices}, attrs);
    });
}

tl_tensor *tl_add_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids) { return build<3>(ctx, Op::add_id, {a, b, ids}); }

tl_tensor *tl_arange(tl_context *ctx, double start, double stop, double step) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("start", start),
            Attr::of_number("stop", stop),
            Attr::of_number("step", step),
        };
        return node<0>(context, Op::arange, {}, attrs);
    });
}

tl_tensor *tl_scatter_add(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *indices, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<3>(context, Op::scatter_add, {a, b, indices}, attrs);
    });
}

tl_tensor *tl_flip(tl_context *ctx, tl_tensor *a, int64_t dim) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
        };
        return node<1>(context, Op::flip, {a}, attrs);
    });
}

tl_tensor *tl_one_hot(tl_context *ctx, tl_tensor *indices, int64_t classes) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("classes", classes),
        };
        return node<1>(context, Op::one_hot, {indices}, attrs);
    });
}

tl_tensor *tl_eye(tl_context *ctx, int64_t n) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("n", n),
        };
        return node<0>(context, Op::eye, {}, attrs);
    });
}

tl_tensor *tl_linspace(tl_context *ctx, double start, double stop, int64_t n) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("start", start),
            Attr::of_number("stop", stop),
            Attr::of_int("n", n),
        };
        return node<0>(context, Op::linspace, {}, attrs);
    });
}

tl_tensor *tl_timestep_embedding(tl_context *ctx, tl_tensor *timesteps, int64_t dim, int64_t max_period) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
            Attr::of_int("max_period", max_period),
        };
        return node<1>(context, Op::timestep_embedding, {timesteps}, attrs);
    });
}

tl_tensor *tl_upscale(tl_context *ctx, tl_tensor *a, const tl_upscale_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_upscale_params options = options_of(params, "upscale");
        const Attr attrs[] = {
            Attr::of_int("factor", options.factor),
            Attr::of_int("mode", options.mode),
            Attr::of_ints("ne", options.ne),
            Attr::of_int("align_corners", capi::flag(options.align_corners, "upscale", "align_corners")),
            Attr::of_int("antialias", capi::flag(options.antialias, "upscale", "antialias")),
        };
        return node<1>(context, Op::upscale, {a}, attrs);
    });
}

tl_tensor *tl_pool_1d(tl_context *ctx, tl_tensor *a, tl_pool_1d_op op, int64_t k, const tl_pool_1d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_pool_1d_params options = options_of(params, "pool_1d");
        const Attr attrs[] = {
            Attr::of_int("op", op),
            Attr::of_int("k", k),
            Attr::of_int("s", options.s),
            Attr::of_int("p", options.p),
            Attr::of_int("count_padding", capi::flag(options.count_padding, "pool_1d", "count_padding")),
        };
        return node<1>(context, Op::pool_1d, {a}, attrs);
    });
}

tl_tensor *tl_pool_2d(tl_context *ctx, tl_tensor *a, tl_pool_2d_op op, int64_t k0, int64_t k1, const tl_pool_2d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_pool_2d_params options = options_of(params, "pool_2d");
        const Attr attrs[] = {
            Attr::of_int("op", op),         Attr::of_int("k0", k0),
            Attr::of_int("k1", k1),         Attr::of_int("s0", options.s0),
            Attr::of_int("s1", options.s1), Attr::of_int("p0", options.p0),
            Attr::of_int("p1", options.p1), Attr::of_int("skip_padding", capi::flag(options.skip_padding, "pool_2d", "skip_padding")),
        };
        return node<1>(context, Op::pool_2d, {a}, attrs);
    });
}

tl_tensor *tl_im2col(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_im2col_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_im2col_params options = options_of(params, "im2col");
        const Attr attrs[] = {
            Attr::of_int("s0", options.s0),
            Attr::of_int("s1", options.s1),
            Attr::of_int("p0", options.p0),
            Attr::of_int("p1", options.p1),
            Attr::of_int("d0", options.d0),
            Attr::of_int("d1", options.d1),
            Attr::of_int("is_2D", capi::flag(options.is_2d, "im2col", "is_2D")),
            Attr::of_int("to", options.to),
        };
        return node<2>(context, Op::im2col, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_1d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_1d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_1d_params options = options_of(params, "conv_1d");
        const Attr attrs[] = {
            Attr::of_int("s", options.s),
            Attr::of_int("p", options.p),
            Attr::of_int("d", options.d),
        };
        return node<2>(context, Op::conv_1d, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_2d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_2d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_2d_params options = options_of(params, "conv_2d");
        const Attr attrs[] = {
            Attr::of_int("s0", options.s0), Attr::of_int("s1", options.s1), Attr::of_int("p0", options.p0),
            Attr::of_int("p1", options.p1), Attr::of_int("d0", options.d0), Attr::of_int("d1", options.d1),
        };
        return node<2>(context, Op::conv_2d, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_1d_dw(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_1d_dw_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_1d_dw_params options = options_of(params, "conv_1d_dw");
        const Attr attrs[] = {
            Attr::of_int("s", options.s),
            Attr::of_int("p", options.p),
            Attr::of_int("d", options.d),
        };
        return node<2>(context, Op::conv_1d_dw, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_2d_dw(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_2d_dw_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_2d_dw_params options = options_of(params, "conv_2d_dw");
        const Attr attrs[] = {
            Attr::of_int("s0", options.s0), Attr::of_int("s1", options.s1), Attr::of_int("p0", options.p0),
            Attr::of_int("p1", options.p1), Attr::of_int("d0", options.d0), Attr::of_int("d1", options.d1),
        };
        return node<2>(context, Op::conv_2d_dw, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_transpose_1d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_transpose_1d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_transpose_1d_params options = options_of(params, "conv_transpose_1d");
        const Attr attrs[] = {
            Attr::of_int("s", options.s),
            Attr::of_int("p", options.p),
            Attr::of_int("d", options.d),
        };
        return node<2>(context, Op::conv_transpose_1d, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_transpose_2d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_transpose_2d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_transpose_2d_params options = options_of(params, "conv_transpose_2d");
        const Attr attrs[] = {
            Attr::of_int("stride", options.stride), Attr::of_int("p0", options.p0), Attr::of_int("p1", options.p1),
            Attr::of_int("d0", options.d0),         Attr::of_int("d1", options.d1),
        };
        return node<2>(context, Op::conv_transpose_2d, {a, b}, attrs);
    });
}

tl_tensor *tl_im2col_3d(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t channels, const tl_im2col_3d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_im2col_3d_params options = options_of(params, "im2col_3d");
        const Attr attrs[] = {
            Attr::of_int("channels", channels), Attr::of_int("s0", options.s0), Attr::of_int("s1", options.s1),
            Attr::of_int("s2", options.s2),     Attr::of_int("p0", options.p0), Attr::of_int("p1", options.p1),
            Attr::of_int("p2", options.p2),     Attr::of_int("d0", options.d0), Attr::of_int("d1", options.d1),
            Attr::of_int("d2", options.d2),     Attr::of_int("to", options.to),
        };
        return node<2>(context, Op::im2col_3d, {a, b}, attrs);
    });
}

tl_tensor *tl_conv_3d(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t channels, const tl_conv_3d_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_conv_3d_params options = options_of(params, "conv_3d");
        const Attr attrs[] = {
            Attr::of_int("channels", channels), Attr::of_int("s0", options.s0), Attr::of_int("s1", options.s1),
            Attr::of_int("s2", options.s2),     Attr::of_int("p0", options.p0), Attr::of_int("p1", options.p1),
            Attr::of_int("p2", options.p2),     Attr::of_int("d0", options.d0), Attr::of_int("d1", options.d1),
            Attr::of_int("d2", options.d2),
        };
        return node<2>(context, Op::conv_3d, {a, b}, attrs);
    });
}

tl_tensor *tl_col2im_1d(tl_context *ctx, tl_tensor *a, int64_t stride, int64_t padding, int64_t channels) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("stride", stride),
            Attr::of_int("padding", padding),
            Attr::of_int("channels", channels),
        };
        return node<1>(context, Op::col2im_1d, {a}, attrs);
    });
}

tl_tensor *tl_ssm_conv(tl_context *ctx, tl_tensor *a, tl_tensor *kernel, tl_tensor *state, tl_tensor *bias,
                       const tl_ssm_conv_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_ssm_conv_params options = options_of(params, "ssm_conv");
        const Attr attrs[] = {
            Attr::of_int("silu", capi::flag(options.silu, "ssm_conv", "silu")),
        };
        return node<4>(context, Op::ssm_conv, {a, kernel, state, bias}, attrs);
    });
}

tl_tensor *tl_random_uniform(tl_context *ctx, tl_tensor *state, int32_t n_dims, const int64_t *ne, double low, double high,
                             int64_t stream) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_ints("ne", shape_of("random_uniform", n_dims, ne)),
            Attr::of_number("low", low),
            Attr::of_number("high", high),
            Attr::of_int("stream", stream),
        };
        return node<1>(context, Op::random_uniform, {state}, attrs);
    });
}

tl_tensor *tl_random_normal(tl_context *ctx, tl_tensor *state, int32_t n_dims, const int64_t *ne, double mean, double deviation,
                            int64_t stream) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_ints("ne", shape_of("random_normal", n_dims, ne)),
            Attr::of_number("mean", mean),
            Attr::of_number("deviation", deviation),
            Attr::of_int("stream", stream),
        };
        return node<1>(context, Op::random_normal, {state}, attrs);
    });
}

tl_tensor *tl_dropout(tl_context *ctx, tl_tensor *a, tl_tensor *state, double p, int64_t stream) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("p", p),
            Attr::of_int("stream", stream),
        };
        return node<2>(context, Op::dropout, {a, state}, attrs);
    });
}

tl_tensor *tl_opt_step_sgd(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *settings) {
    return build<3>(ctx, Op::opt_step_sgd, {a, grad, settings});
}

tl_tensor *tl_opt_step_momentum(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *velocity, tl_tensor *settings,
                                const tl_opt_step_momentum_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_opt_step_momentum_params options = options_of(params, "opt_step_momentum");
        const Attr attrs[] = {
            Attr::of_int("nesterov", capi::flag(options.nesterov, "opt_step_momentum", "nesterov")),
        };
        return node<4>(context, Op::opt_step_momentum, {a, grad, velocity, settings}, attrs);
    });
}

tl_tensor *tl_opt_step_adamw(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *m, tl_tensor *v, tl_tensor *settings) {
    return build<5>(ctx, Op::opt_step_adamw, {a, grad, m, v, settings});
}

tl_tensor *tl_opt_step_lion(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *m, tl_tensor *settings) {
    return build<4>(ctx, Op::opt_step_lion, {a, grad, m, settings});
}

tl_tensor *tl_mul_mat_sparse(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *scores, tl_tensor *rows,
                             const tl_mul_mat_sparse_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_mul_mat_sparse_params options = options_of(params, "mul_mat_sparse");
        const Attr attrs[] = {
            Attr::of_int("by", options.by),
            Attr::of_number("threshold", options.threshold),
            Attr::of_int("n", options.n),
            Attr::of_int("exact", capi::flag(options.exact, "mul_mat_sparse", "exact")),
        };
        return node<4>(context, Op::mul_mat_sparse, {a, b, scores, rows}, attrs);
    });
}

tl_tensor *tl_axpy(tl_context *ctx, tl_tensor *a_t, tl_tensor *h, tl_tensor *scores, tl_tensor *rows, const tl_axpy_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_axpy_params options = options_of(params, "axpy");
        const Attr attrs[] = {
            Attr::of_int("by", options.by),
            Attr::of_number("threshold", options.threshold),
        };
        return node<4>(context, Op::axpy, {a_t, h, scores, rows}, attrs);
    });
}

tl_tensor *tl_sparse_ffn(tl_context *ctx, tl_tensor *x, tl_tensor *gate, tl_tensor *up, tl_tensor *down_t, tl_tensor *scores,
                         tl_tensor *rows, const tl_sparse_ffn_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_sparse_ffn_params options = options_of(params, "sparse_ffn");
        const Attr attrs[] = {
            Attr::of_int("activation", options.activation),
            Attr::of_int("by", options.by),
            Attr::of_number("threshold", options.threshold),
            Attr::of_int("first", options.first),
        };
        return node<6>(context, Op::sparse_ffn, {x, gate, up, down_t, scores, rows}, attrs);
    });
}

tl_tensor *tl_bitwise_and(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::bitwise_and, {a, b}); }

tl_tensor *tl_bitwise_or(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::bitwise_or, {a, b}); }

tl_tensor *tl_bitwise_xor(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::bitwise_xor, {a, b}); }

tl_tensor *tl_bitwise_not(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::bitwise_not, {a}); }

tl_tensor *tl_shift_left(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::shift_left, {a, b}); }

tl_tensor *tl_shift_right(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::shift_right, {a, b}); }

tl_tensor *tl_logical_and(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::logical_and, {a, b}); }

tl_tensor *tl_logical_or(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::logical_or, {a, b}); }

tl_tensor *tl_logical_xor(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::logical_xor, {a, b}); }

tl_tensor *tl_logical_not(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::logical_not, {a}); }

tl_tensor *tl_win_part(tl_context *ctx, tl_tensor *a, int64_t w) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("w", w),
        };
        return node<1>(context, Op::win_part, {a}, attrs);
    });
}

tl_tensor *tl_win_unpart(tl_context *ctx, tl_tensor *a, int64_t w0, int64_t h0, int64_t w) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("w0", w0),
            Attr::of_int("h0", h0),
            Attr::of_int("w", w),
        };
        return node<1>(context, Op::win_unpart, {a}, attrs);
    });
}

tl_tensor *tl_get_rel_pos(tl_context *ctx, tl_tensor *a, int64_t qh, int64_t kh) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("qh", qh),
            Attr::of_int("kh", kh),
        };
        return node<1>(context, Op::get_rel_pos, {a}, attrs);
    });
}

tl_tensor *tl_add_rel_pos(tl_context *ctx, tl_tensor *a, tl_tensor *pw, tl_tensor *ph) {
    return build<3>(ctx, Op::add_rel_pos, {a, pw, ph});
}

tl_tensor *tl_gated_delta_net(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v, tl_tensor *g, tl_tensor *beta, tl_tensor *state,
                              const tl_gated_delta_net_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_gated_delta_net_params options = options_of(params, "gated_delta_net");
        const Attr attrs[] = {
            Attr::of_int("n_states", options.n_states),
        };
        return node<6>(context, Op::gated_delta_net, {q, k, v, g, beta, state}, attrs);
    });
}

tl_tensor *tl_ssm_scan(tl_context *ctx, tl_tensor *state, tl_tensor *x, tl_tensor *dt, tl_tensor *a, tl_tensor *b, tl_tensor *c,
                       tl_tensor *ids, const tl_ssm_scan_params *params) {
    return constructed(ctx, [&](core::Context &context) {
        const tl_ssm_scan_params options = options_of(params, "ssm_scan");
        const Attr attrs[] = {
            Attr::of_int("n_states", options.n_states),
        };
        return node<7>(context, Op::ssm_scan, {state, x, dt, a, b, c, ids}, attrs);
    });
}

tl_tensor *tl_rwkv_wkv6(tl_context *ctx, tl_tensor *k, tl_tensor *v, tl_tensor *r, tl_tensor *tf, tl_tensor *td, tl_tensor *state) {
    return build<6>(ctx, Op::rwkv_wkv6, {k, v, r, tf, td, state});
}

tl_tensor *tl_rwkv_wkv7(tl_context *ctx, tl_tensor *r, tl_tensor *w, tl_tensor *k, tl_tensor *v, tl_tensor *a, tl_tensor *b,
                        tl_tensor *state) {
    return build<7>(ctx, Op::rwkv_wkv7, {r, w, k, v, a, b, state});
}

tl_tensor *tl_gated_linear_attn(tl_context *ctx, tl_tensor *k, tl_tensor *v, tl_tensor *q, tl_tensor *g, tl_tensor *state, double scale) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_number("scale", scale),
        };
        return node<5>(context, Op::gated_linear_attn, {k, v, q, g, state}, attrs);
    });
}

tl_tensor *tl_all_sum(tl_context *ctx, tl_tensor *a, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("group", capi::group_number(group, "all_sum")),
        };
        return node<1>(context, Op::all_sum, {a}, attrs);
    });
}

tl_tensor *tl_all_max(tl_context *ctx, tl_tensor *a, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("group", capi::group_number(group, "all_max")),
        };
        return node<1>(context, Op::all_max, {a}, attrs);
    });
}

tl_tensor *tl_all_gather(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
            Attr::of_int("group", capi::group_number(group, "all_gather")),
        };
        return node<1>(context, Op::all_gather, {a}, attrs);
    });
}

tl_tensor *tl_sum_scatter(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
            Attr::of_int("group", capi::group_number(group, "sum_scatter")),
        };
        return node<1>(context, Op::sum_scatter, {a}, attrs);
    });
}

tl_tensor *tl_broadcast(tl_context *ctx, tl_tensor *a, int64_t root, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("root", root),
            Attr::of_int("group", capi::group_number(group, "broadcast")),
        };
        return node<1>(context, Op::broadcast, {a}, attrs);
    });
}

tl_tensor *tl_all_to_all(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("dim", dim),
            Attr::of_int("group", capi::group_number(group, "all_to_all")),
        };
        return node<1>(context, Op::all_to_all, {a}, attrs);
    });
}

tl_tensor *tl_send(tl_context *ctx, tl_tensor *a, int64_t to, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("to", to),
            Attr::of_int("group", capi::group_number(group, "send")),
        };
        return node<1>(context, Op::send, {a}, attrs);
    });
}

tl_tensor *tl_receive(tl_context *ctx, tl_tensor *a, int64_t from, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("from", from),
            Attr::of_int("group", capi::group_number(group, "receive")),
        };
        return node<1>(context, Op::receive, {a}, attrs);
    });
}

tl_tensor *tl_copy_to_group(tl_context *ctx, tl_tensor *a, const tl_group *group) {
    return constructed(ctx, [&](core::Context &context) {
        const Attr attrs[] = {
            Attr::of_int("group", capi::group_number(group, "copy_to_group")),
        };
        return node<1>(context, Op::copy_to_group, {a}, attrs);
    });
}
