// What op_functions.hpp declares. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#include "api/handles.hpp"
#include "ops/op_def.hpp"

namespace tensorlib {

Tensor ContextOps::add(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::add, {&a, &b}); }

Tensor ContextOps::sub(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::sub, {&a, &b}); }

Tensor ContextOps::mul(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::mul, {&a, &b}); }

Tensor ContextOps::div(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::div, {&a, &b}); }

Tensor ContextOps::maximum(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::maximum, {&a, &b}); }

Tensor ContextOps::minimum(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::minimum, {&a, &b}); }

Tensor ContextOps::pow(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::pow, {&a, &b}); }

Tensor ContextOps::eq(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::eq, {&a, &b}); }

Tensor ContextOps::ne(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::ne, {&a, &b}); }

Tensor ContextOps::lt(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::lt, {&a, &b}); }

Tensor ContextOps::le(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::le, {&a, &b}); }

Tensor ContextOps::gt(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::gt, {&a, &b}); }

Tensor ContextOps::ge(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::ge, {&a, &b}); }

Tensor ContextOps::add1(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::add1, {&a, &b}); }

Tensor ContextOps::where(const Tensor &condition, const Tensor &a, const Tensor &b) const {
    return Nodes::make(*this, core::Op::where, {&condition, &a, &b});
}

Tensor ContextOps::scale(const Tensor &a, double scale, const ScaleOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("scale", scale),
        core::Attr::of_number("bias", options.bias),
    };
    return Nodes::make(*this, core::Op::scale, {&a}, attrs);
}

Tensor ContextOps::clamp(const Tensor &a, double min, double max) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("min", min),
        core::Attr::of_number("max", max),
    };
    return Nodes::make(*this, core::Op::clamp, {&a}, attrs);
}

Tensor ContextOps::fill(const Tensor &a, double value) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("value", value),
    };
    return Nodes::make(*this, core::Op::fill, {&a}, attrs);
}

Tensor ContextOps::masked_fill(const Tensor &a, const Tensor &mask, double value) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("value", value),
    };
    return Nodes::make(*this, core::Op::masked_fill, {&a, &mask}, attrs);
}

Tensor ContextOps::out_prod(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::out_prod, {&a, &b}); }

Tensor ContextOps::out_prod_id(const Tensor &a, const Tensor &b, const Tensor &ids, std::int64_t experts) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("experts", experts),
    };
    return Nodes::make(*this, core::Op::out_prod_id, {&a, &b, &ids}, attrs);
}

Tensor ContextOps::solve_tri(const Tensor &a, const Tensor &b, bool left, bool lower, bool unit) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("left", left),
        core::Attr::of_int("lower", lower),
        core::Attr::of_int("unit", unit),
    };
    return Nodes::make(*this, core::Op::solve_tri, {&a, &b}, attrs);
}

Tensor ContextOps::transpose(const Tensor &a) const { return Nodes::make(*this, core::Op::transpose, {&a}); }

Tensor ContextOps::stop_gradient(const Tensor &a) const { return Nodes::make(*this, core::Op::stop_gradient, {&a}); }

Tensor ContextOps::expand(const Tensor &a, const Shape &shape) const {
    const core::Attr attrs[] = {
        shape_attr("expand", shape),
    };
    return Nodes::make(*this, core::Op::expand, {&a}, attrs);
}

Tensor ContextOps::unsqueeze(const Tensor &a, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::unsqueeze, {&a}, attrs);
}

Tensor ContextOps::squeeze(const Tensor &a, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::squeeze, {&a}, attrs);
}

Tensor ContextOps::flatten(const Tensor &a, std::int64_t first, std::int64_t last) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("first", first),
        core::Attr::of_int("last", last),
    };
    return Nodes::make(*this, core::Op::flatten, {&a}, attrs);
}

Tensor ContextOps::select(const Tensor &a, std::int64_t dim, std::int64_t index) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
        core::Attr::of_int("index", index),
    };
    return Nodes::make(*this, core::Op::select, {&a}, attrs);
}

Tensor ContextOps::result(const Tensor &a, std::int64_t number) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("number", number),
    };
    return Nodes::make(*this, core::Op::result, {&a}, attrs);
}

Tensor ContextOps::cont(const Tensor &a) const { return Nodes::make(*this, core::Op::cont, {&a}); }

Tensor ContextOps::cpy(const Tensor &src, const Tensor &dst) const { return Nodes::make(*this, core::Op::cpy, {&src, &dst}); }

Tensor ContextOps::dup(const Tensor &a) const { return Nodes::make(*this, core::Op::dup, {&a}); }

Tensor ContextOps::get_rows(const Tensor &a, const Tensor &rows) const { return Nodes::make(*this, core::Op::get_rows, {&a, &rows}); }

Tensor ContextOps::set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) const {
    return Nodes::make(*this, core::Op::set_rows, {&a, &b, &rows});
}

Tensor ContextOps::index_select(const Tensor &a, const Tensor &indices, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::index_select, {&a, &indices}, attrs);
}

Tensor ContextOps::abs(const Tensor &a) const { return Nodes::make(*this, core::Op::abs, {&a}); }

Tensor ContextOps::neg(const Tensor &a) const { return Nodes::make(*this, core::Op::neg, {&a}); }

Tensor ContextOps::sqr(const Tensor &a) const { return Nodes::make(*this, core::Op::sqr, {&a}); }

Tensor ContextOps::sqrt(const Tensor &a) const { return Nodes::make(*this, core::Op::sqrt, {&a}); }

Tensor ContextOps::log(const Tensor &a) const { return Nodes::make(*this, core::Op::log, {&a}); }

Tensor ContextOps::exp(const Tensor &a) const { return Nodes::make(*this, core::Op::exp, {&a}); }

Tensor ContextOps::expm1(const Tensor &a) const { return Nodes::make(*this, core::Op::expm1, {&a}); }

Tensor ContextOps::sin(const Tensor &a) const { return Nodes::make(*this, core::Op::sin, {&a}); }

Tensor ContextOps::cos(const Tensor &a) const { return Nodes::make(*this, core::Op::cos, {&a}); }

Tensor ContextOps::sgn(const Tensor &a) const { return Nodes::make(*this, core::Op::sgn, {&a}); }

Tensor ContextOps::step(const Tensor &a) const { return Nodes::make(*this, core::Op::step, {&a}); }

Tensor ContextOps::floor(const Tensor &a) const { return Nodes::make(*this, core::Op::floor, {&a}); }

Tensor ContextOps::ceil(const Tensor &a) const { return Nodes::make(*this, core::Op::ceil, {&a}); }

Tensor ContextOps::round(const Tensor &a) const { return Nodes::make(*this, core::Op::round, {&a}); }

Tensor ContextOps::trunc(const Tensor &a) const { return Nodes::make(*this, core::Op::trunc, {&a}); }

Tensor ContextOps::erf(const Tensor &a) const { return Nodes::make(*this, core::Op::erf, {&a}); }

Tensor ContextOps::relu(const Tensor &a) const { return Nodes::make(*this, core::Op::relu, {&a}); }

Tensor ContextOps::sigmoid(const Tensor &a) const { return Nodes::make(*this, core::Op::sigmoid, {&a}); }

Tensor ContextOps::tanh(const Tensor &a) const { return Nodes::make(*this, core::Op::tanh, {&a}); }

Tensor ContextOps::elu(const Tensor &a) const { return Nodes::make(*this, core::Op::elu, {&a}); }

Tensor ContextOps::softplus(const Tensor &a) const { return Nodes::make(*this, core::Op::softplus, {&a}); }

Tensor ContextOps::silu(const Tensor &a) const { return Nodes::make(*this, core::Op::silu, {&a}); }

Tensor ContextOps::gelu(const Tensor &a) const { return Nodes::make(*this, core::Op::gelu, {&a}); }

Tensor ContextOps::gelu_erf(const Tensor &a) const { return Nodes::make(*this, core::Op::gelu_erf, {&a}); }

Tensor ContextOps::gelu_quick(const Tensor &a) const { return Nodes::make(*this, core::Op::gelu_quick, {&a}); }

Tensor ContextOps::hardswish(const Tensor &a) const { return Nodes::make(*this, core::Op::hardswish, {&a}); }

Tensor ContextOps::hardsigmoid(const Tensor &a) const { return Nodes::make(*this, core::Op::hardsigmoid, {&a}); }

Tensor ContextOps::leaky_relu(const Tensor &a, double slope) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("slope", slope),
    };
    return Nodes::make(*this, core::Op::leaky_relu, {&a}, attrs);
}

Tensor ContextOps::xielu(const Tensor &a, double alpha_n, double alpha_p, double beta, double eps) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("alpha_n", alpha_n),
        core::Attr::of_number("alpha_p", alpha_p),
        core::Attr::of_number("beta", beta),
        core::Attr::of_number("eps", eps),
    };
    return Nodes::make(*this, core::Op::xielu, {&a}, attrs);
}

Tensor ContextOps::glu(const Tensor &a, const std::optional<Tensor> &b, GluOp op, const GluOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("op", static_cast<std::int64_t>(op)), core::Attr::of_int("split", options.split),
        core::Attr::of_int("swapped", options.swapped),          core::Attr::of_number("alpha", options.alpha),
        core::Attr::of_number("limit", options.limit),
    };
    return Nodes::make(*this, core::Op::glu, {&a, if_given(b)}, attrs);
}

Tensor ContextOps::norm(const Tensor &a, double eps) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("eps", eps),
    };
    return Nodes::make(*this, core::Op::norm, {&a}, attrs);
}

Tensor ContextOps::rms_norm(const Tensor &a, double eps) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("eps", eps),
    };
    return Nodes::make(*this, core::Op::rms_norm, {&a}, attrs);
}

Tensor ContextOps::l2_norm(const Tensor &a, double eps) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("eps", eps),
    };
    return Nodes::make(*this, core::Op::l2_norm, {&a}, attrs);
}

Tensor ContextOps::group_norm(const Tensor &a, std::int64_t groups, double eps) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("groups", groups),
        core::Attr::of_number("eps", eps),
    };
    return Nodes::make(*this, core::Op::group_norm, {&a}, attrs);
}

Tensor ContextOps::soft_max(const Tensor &a) const { return Nodes::make(*this, core::Op::soft_max, {&a}); }

Tensor ContextOps::soft_max_ext(const Tensor &a, const std::optional<Tensor> &mask, const std::optional<Tensor> &sinks,
                                const SoftMaxExtOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("scale", options.scale),
        core::Attr::of_number("max_bias", options.max_bias),
    };
    return Nodes::make(*this, core::Op::soft_max_ext, {&a, if_given(mask), if_given(sinks)}, attrs);
}

Tensor ContextOps::log_soft_max(const Tensor &a) const { return Nodes::make(*this, core::Op::log_soft_max, {&a}); }

Tensor ContextOps::rope(const Tensor &a, const Tensor &positions, const std::optional<Tensor> &freq_factors,
                        const RopeOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("mode", static_cast<std::int64_t>(options.mode)),
        core::Attr::of_int("n_dims", options.n_dims),
        core::Attr::of_int("offset", options.offset),
        core::Attr::of_ints("sections", options.sections),
        core::Attr::of_int("n_ctx_orig", options.n_ctx_orig),
        core::Attr::of_number("freq_base", options.freq_base),
        core::Attr::of_number("freq_scale", options.freq_scale),
        core::Attr::of_number("ext_factor", options.ext_factor),
        core::Attr::of_number("attn_factor", options.attn_factor),
        core::Attr::of_number("beta_fast", options.beta_fast),
        core::Attr::of_number("beta_slow", options.beta_slow),
        core::Attr::of_int("inverse", options.inverse),
    };
    return Nodes::make(*this, core::Op::rope, {&a, &positions, if_given(freq_factors)}, attrs);
}

Tensor ContextOps::flash_attn_ext(const Tensor &q, const Tensor &k, const Tensor &v, const std::optional<Tensor> &mask,
                                  const std::optional<Tensor> &sinks, const FlashAttnExtOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("scale", options.scale),
        core::Attr::of_number("max_bias", options.max_bias),
        core::Attr::of_number("logit_softcap", options.logit_softcap),
    };
    return Nodes::make(*this, core::Op::flash_attn_ext, {&q, &k, &v, if_given(mask), if_given(sinks)}, attrs);
}

Tensor ContextOps::paged_attention(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &pages, const Tensor &positions,
                                   const Tensor &sequences, const std::optional<Tensor> &sinks,
                                   const PagedAttentionOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("page", options.page),
        core::Attr::of_int("window", options.window),
        core::Attr::of_number("scale", options.scale),
        core::Attr::of_number("logit_softcap", options.logit_softcap),
    };
    return Nodes::make(*this, core::Op::paged_attention, {&q, &k, &v, &pages, &positions, &sequences, if_given(sinks)}, attrs);
}

Tensor ContextOps::sum(const Tensor &a, const SumOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::sum, {&a}, attrs);
}

Tensor ContextOps::sum_rows(const Tensor &a) const { return Nodes::make(*this, core::Op::sum_rows, {&a}); }

Tensor ContextOps::mean(const Tensor &a, const MeanOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::mean, {&a}, attrs);
}

Tensor ContextOps::cumsum(const Tensor &a) const { return Nodes::make(*this, core::Op::cumsum, {&a}); }

Tensor ContextOps::argmax(const Tensor &a, const ArgmaxOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::argmax, {&a}, attrs);
}

Tensor ContextOps::argsort(const Tensor &a, const ArgsortOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("order", static_cast<std::int64_t>(options.order)),
    };
    return Nodes::make(*this, core::Op::argsort, {&a}, attrs);
}

Tensor ContextOps::top_k(const Tensor &a, std::int64_t k) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("k", k),
    };
    return Nodes::make(*this, core::Op::top_k, {&a}, attrs);
}

Tensor ContextOps::count_equal(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::count_equal, {&a, &b}); }

Tensor ContextOps::cross_entropy_loss(const Tensor &a, const Tensor &b) const {
    return Nodes::make(*this, core::Op::cross_entropy_loss, {&a, &b});
}

Tensor ContextOps::max(const Tensor &a, const MaxOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::max, {&a}, attrs);
}

Tensor ContextOps::min(const Tensor &a, const MinOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::min, {&a}, attrs);
}

Tensor ContextOps::argmin(const Tensor &a, const ArgminOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::argmin, {&a}, attrs);
}

Tensor ContextOps::var(const Tensor &a, std::int64_t correction, const VarOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("correction", correction),
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::var, {&a}, attrs);
}

Tensor ContextOps::stddev(const Tensor &a, std::int64_t correction, const StdOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("correction", correction),
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::std, {&a}, attrs);
}

Tensor ContextOps::prod(const Tensor &a, const ProdOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::prod, {&a}, attrs);
}

Tensor ContextOps::any(const Tensor &a, const AnyOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::any, {&a}, attrs);
}

Tensor ContextOps::all(const Tensor &a, const AllOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::all, {&a}, attrs);
}

Tensor ContextOps::log_sum_exp(const Tensor &a, const LogSumExpOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("dims", options.dims.values()),
        core::Attr::of_int("keep", options.keep),
    };
    return Nodes::make(*this, core::Op::log_sum_exp, {&a}, attrs);
}

Tensor ContextOps::repeat(const Tensor &a, const Shape &shape) const {
    const core::Attr attrs[] = {
        shape_attr("repeat", shape),
    };
    return Nodes::make(*this, core::Op::repeat, {&a}, attrs);
}

Tensor ContextOps::concat(const Tensor &a, const Tensor &b, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::concat, {&a, &b}, attrs);
}

Tensor ContextOps::pad(const Tensor &a, const std::array<std::int64_t, 4> &p, const PadOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("p", p),
        core::Attr::of_ints("lp", options.lp),
        core::Attr::of_int("circular", options.circular),
    };
    return Nodes::make(*this, core::Op::pad, {&a}, attrs);
}

Tensor ContextOps::pad_reflect_1d(const Tensor &a, std::int64_t p0, std::int64_t p1) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("p0", p0),
        core::Attr::of_int("p1", p1),
    };
    return Nodes::make(*this, core::Op::pad_reflect_1d, {&a}, attrs);
}

Tensor ContextOps::roll(const Tensor &a, const std::array<std::int64_t, 4> &shift) const {
    const core::Attr attrs[] = {
        core::Attr::of_ints("shift", shift),
    };
    return Nodes::make(*this, core::Op::roll, {&a}, attrs);
}

Tensor ContextOps::diag(const Tensor &a) const { return Nodes::make(*this, core::Op::diag, {&a}); }

Tensor ContextOps::tri(const Tensor &a, TriType part) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("type", static_cast<std::int64_t>(part)),
    };
    return Nodes::make(*this, core::Op::tri, {&a}, attrs);
}

Tensor ContextOps::diag_mask_inf(const Tensor &a, std::int64_t n_past) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("n_past", n_past),
    };
    return Nodes::make(*this, core::Op::diag_mask_inf, {&a}, attrs);
}

Tensor ContextOps::diag_mask_zero(const Tensor &a, std::int64_t n_past) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("n_past", n_past),
    };
    return Nodes::make(*this, core::Op::diag_mask_zero, {&a}, attrs);
}

Tensor ContextOps::acc(const Tensor &a, const Tensor &b, const AccOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("nb1", options.nb1),
        core::Attr::of_int("nb2", options.nb2),
        core::Attr::of_int("nb3", options.nb3),
        core::Attr::of_int("offset", options.offset),
    };
    return Nodes::make(*this, core::Op::acc, {&a, &b}, attrs);
}

Tensor ContextOps::set(const Tensor &a, const Tensor &b, const SetOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("nb1", options.nb1),
        core::Attr::of_int("nb2", options.nb2),
        core::Attr::of_int("nb3", options.nb3),
        core::Attr::of_int("offset", options.offset),
    };
    return Nodes::make(*this, core::Op::set, {&a, &b}, attrs);
}

Tensor ContextOps::gather(const Tensor &a, const Tensor &indices, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::gather, {&a, &indices}, attrs);
}

Tensor ContextOps::add_id(const Tensor &a, const Tensor &b, const Tensor &ids) const {
    return Nodes::make(*this, core::Op::add_id, {&a, &b, &ids});
}

Tensor ContextOps::arange(double start, double stop, double step) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("start", start),
        core::Attr::of_number("stop", stop),
        core::Attr::of_number("step", step),
    };
    return Nodes::make(*this, core::Op::arange, {}, attrs);
}

Tensor ContextOps::scatter_add(const Tensor &a, const Tensor &b, const Tensor &indices, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::scatter_add, {&a, &b, &indices}, attrs);
}

Tensor ContextOps::flip(const Tensor &a, std::int64_t dim) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
    };
    return Nodes::make(*this, core::Op::flip, {&a}, attrs);
}

Tensor ContextOps::one_hot(const Tensor &indices, std::int64_t classes) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("classes", classes),
    };
    return Nodes::make(*this, core::Op::one_hot, {&indices}, attrs);
}

Tensor ContextOps::eye(std::int64_t n) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("n", n),
    };
    return Nodes::make(*this, core::Op::eye, {}, attrs);
}

Tensor ContextOps::linspace(double start, double stop, std::int64_t n) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("start", start),
        core::Attr::of_number("stop", stop),
        core::Attr::of_int("n", n),
    };
    return Nodes::make(*this, core::Op::linspace, {}, attrs);
}

Tensor ContextOps::timestep_embedding(const Tensor &timesteps, std::int64_t dim, std::int64_t max_period) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
        core::Attr::of_int("max_period", max_period),
    };
    return Nodes::make(*this, core::Op::timestep_embedding, {&timesteps}, attrs);
}

Tensor ContextOps::upscale(const Tensor &a, const UpscaleOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("factor", options.factor),       core::Attr::of_int("mode", static_cast<std::int64_t>(options.mode)),
        core::Attr::of_ints("ne", options.shape),           core::Attr::of_int("align_corners", options.align_corners),
        core::Attr::of_int("antialias", options.antialias),
    };
    return Nodes::make(*this, core::Op::upscale, {&a}, attrs);
}

Tensor ContextOps::pool_1d(const Tensor &a, PoolOp op, std::int64_t k, const Pool1dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("op", static_cast<std::int64_t>(op)),
        core::Attr::of_int("k", k),
        core::Attr::of_int("s", options.s),
        core::Attr::of_int("p", options.p),
        core::Attr::of_int("count_padding", options.count_padding),
    };
    return Nodes::make(*this, core::Op::pool_1d, {&a}, attrs);
}

Tensor ContextOps::pool_2d(const Tensor &a, PoolOp op, std::int64_t k0, std::int64_t k1, const Pool2dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("op", static_cast<std::int64_t>(op)),
        core::Attr::of_int("k0", k0),
        core::Attr::of_int("k1", k1),
        core::Attr::of_int("s0", options.s0),
        core::Attr::of_int("s1", options.s1),
        core::Attr::of_int("p0", options.p0),
        core::Attr::of_int("p1", options.p1),
        core::Attr::of_int("skip_padding", options.skip_padding),
    };
    return Nodes::make(*this, core::Op::pool_2d, {&a}, attrs);
}

Tensor ContextOps::im2col(const Tensor &a, const Tensor &b, const Im2colOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s0", options.s0),       core::Attr::of_int("s1", options.s1),
        core::Attr::of_int("p0", options.p0),       core::Attr::of_int("p1", options.p1),
        core::Attr::of_int("d0", options.d0),       core::Attr::of_int("d1", options.d1),
        core::Attr::of_int("is_2D", options.is_2d), core::Attr::of_int("to", static_cast<std::int64_t>(options.to)),
    };
    return Nodes::make(*this, core::Op::im2col, {&a, &b}, attrs);
}

Tensor ContextOps::conv_1d(const Tensor &a, const Tensor &b, const Conv1dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s", options.s),
        core::Attr::of_int("p", options.p),
        core::Attr::of_int("d", options.d),
    };
    return Nodes::make(*this, core::Op::conv_1d, {&a, &b}, attrs);
}

Tensor ContextOps::conv_2d(const Tensor &a, const Tensor &b, const Conv2dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s0", options.s0), core::Attr::of_int("s1", options.s1), core::Attr::of_int("p0", options.p0),
        core::Attr::of_int("p1", options.p1), core::Attr::of_int("d0", options.d0), core::Attr::of_int("d1", options.d1),
    };
    return Nodes::make(*this, core::Op::conv_2d, {&a, &b}, attrs);
}

Tensor ContextOps::conv_1d_dw(const Tensor &a, const Tensor &b, const Conv1dDwOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s", options.s),
        core::Attr::of_int("p", options.p),
        core::Attr::of_int("d", options.d),
    };
    return Nodes::make(*this, core::Op::conv_1d_dw, {&a, &b}, attrs);
}

Tensor ContextOps::conv_2d_dw(const Tensor &a, const Tensor &b, const Conv2dDwOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s0", options.s0), core::Attr::of_int("s1", options.s1), core::Attr::of_int("p0", options.p0),
        core::Attr::of_int("p1", options.p1), core::Attr::of_int("d0", options.d0), core::Attr::of_int("d1", options.d1),
    };
    return Nodes::make(*this, core::Op::conv_2d_dw, {&a, &b}, attrs);
}

Tensor ContextOps::conv_transpose_1d(const Tensor &a, const Tensor &b, const ConvTranspose1dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("s", options.s),
        core::Attr::of_int("p", options.p),
        core::Attr::of_int("d", options.d),
    };
    return Nodes::make(*this, core::Op::conv_transpose_1d, {&a, &b}, attrs);
}

Tensor ContextOps::conv_transpose_2d(const Tensor &a, const Tensor &b, const ConvTranspose2dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("stride", options.stride), core::Attr::of_int("p0", options.p0), core::Attr::of_int("p1", options.p1),
        core::Attr::of_int("d0", options.d0),         core::Attr::of_int("d1", options.d1),
    };
    return Nodes::make(*this, core::Op::conv_transpose_2d, {&a, &b}, attrs);
}

Tensor ContextOps::im2col_3d(const Tensor &a, const Tensor &b, std::int64_t channels, const Im2col3dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("channels", channels),
        core::Attr::of_int("s0", options.s0),
        core::Attr::of_int("s1", options.s1),
        core::Attr::of_int("s2", options.s2),
        core::Attr::of_int("p0", options.p0),
        core::Attr::of_int("p1", options.p1),
        core::Attr::of_int("p2", options.p2),
        core::Attr::of_int("d0", options.d0),
        core::Attr::of_int("d1", options.d1),
        core::Attr::of_int("d2", options.d2),
        core::Attr::of_int("to", static_cast<std::int64_t>(options.to)),
    };
    return Nodes::make(*this, core::Op::im2col_3d, {&a, &b}, attrs);
}

Tensor ContextOps::conv_3d(const Tensor &a, const Tensor &b, std::int64_t channels, const Conv3dOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("channels", channels), core::Attr::of_int("s0", options.s0), core::Attr::of_int("s1", options.s1),
        core::Attr::of_int("s2", options.s2),     core::Attr::of_int("p0", options.p0), core::Attr::of_int("p1", options.p1),
        core::Attr::of_int("p2", options.p2),     core::Attr::of_int("d0", options.d0), core::Attr::of_int("d1", options.d1),
        core::Attr::of_int("d2", options.d2),
    };
    return Nodes::make(*this, core::Op::conv_3d, {&a, &b}, attrs);
}

Tensor ContextOps::col2im_1d(const Tensor &a, std::int64_t stride, std::int64_t padding, std::int64_t channels) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("stride", stride),
        core::Attr::of_int("padding", padding),
        core::Attr::of_int("channels", channels),
    };
    return Nodes::make(*this, core::Op::col2im_1d, {&a}, attrs);
}

Tensor ContextOps::ssm_conv(const Tensor &a, const Tensor &kernel, const std::optional<Tensor> &state, const std::optional<Tensor> &bias,
                            const SsmConvOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("silu", options.silu),
    };
    return Nodes::make(*this, core::Op::ssm_conv, {&a, &kernel, if_given(state), if_given(bias)}, attrs);
}

Tensor ContextOps::random_uniform(const Tensor &state, const Shape &shape, double low, double high, std::int64_t stream) const {
    const core::Attr attrs[] = {
        shape_attr("random_uniform", shape),
        core::Attr::of_number("low", low),
        core::Attr::of_number("high", high),
        core::Attr::of_int("stream", stream),
    };
    return Nodes::make(*this, core::Op::random_uniform, {&state}, attrs);
}

Tensor ContextOps::random_normal(const Tensor &state, const Shape &shape, double mean, double deviation, std::int64_t stream) const {
    const core::Attr attrs[] = {
        shape_attr("random_normal", shape),
        core::Attr::of_number("mean", mean),
        core::Attr::of_number("deviation", deviation),
        core::Attr::of_int("stream", stream),
    };
    return Nodes::make(*this, core::Op::random_normal, {&state}, attrs);
}

Tensor ContextOps::dropout(const Tensor &a, const Tensor &state, double p, std::int64_t stream) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("p", p),
        core::Attr::of_int("stream", stream),
    };
    return Nodes::make(*this, core::Op::dropout, {&a, &state}, attrs);
}

Tensor ContextOps::opt_step_sgd(const Tensor &a, const Tensor &grad, const Tensor &settings) const {
    return Nodes::make(*this, core::Op::opt_step_sgd, {&a, &grad, &settings});
}

Tensor ContextOps::opt_step_momentum(const Tensor &a, const Tensor &grad, const Tensor &velocity, const Tensor &settings,
                                     const OptStepMomentumOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("nesterov", options.nesterov),
    };
    return Nodes::make(*this, core::Op::opt_step_momentum, {&a, &grad, &velocity, &settings}, attrs);
}

Tensor ContextOps::opt_step_adamw(const Tensor &a, const Tensor &grad, const Tensor &m, const Tensor &v, const Tensor &settings) const {
    return Nodes::make(*this, core::Op::opt_step_adamw, {&a, &grad, &m, &v, &settings});
}

Tensor ContextOps::opt_step_lion(const Tensor &a, const Tensor &grad, const Tensor &m, const Tensor &settings) const {
    return Nodes::make(*this, core::Op::opt_step_lion, {&a, &grad, &m, &settings});
}

Tensor ContextOps::mul_mat_sparse(const Tensor &a, const Tensor &b, const std::optional<Tensor> &scores, const std::optional<Tensor> &rows,
                                  const MulMatSparseOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("by", static_cast<std::int64_t>(options.by)),
        core::Attr::of_number("threshold", options.threshold),
        core::Attr::of_int("n", options.n),
        core::Attr::of_int("exact", options.exact),
    };
    return Nodes::make(*this, core::Op::mul_mat_sparse, {&a, &b, if_given(scores), if_given(rows)}, attrs);
}

Tensor ContextOps::axpy(const Tensor &a_t, const Tensor &h, const std::optional<Tensor> &scores, const std::optional<Tensor> &rows,
                        const AxpyOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("by", static_cast<std::int64_t>(options.by)),
        core::Attr::of_number("threshold", options.threshold),
    };
    return Nodes::make(*this, core::Op::axpy, {&a_t, &h, if_given(scores), if_given(rows)}, attrs);
}

Tensor ContextOps::sparse_ffn(const Tensor &x, const Tensor &gate, const Tensor &up, const Tensor &down_t,
                              const std::optional<Tensor> &scores, const std::optional<Tensor> &rows,
                              const SparseFfnOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("activation", static_cast<std::int64_t>(options.activation)),
        core::Attr::of_int("by", static_cast<std::int64_t>(options.by)),
        core::Attr::of_number("threshold", options.threshold),
        core::Attr::of_int("first", static_cast<std::int64_t>(options.first)),
    };
    return Nodes::make(*this, core::Op::sparse_ffn, {&x, &gate, &up, &down_t, if_given(scores), if_given(rows)}, attrs);
}

Tensor ContextOps::bitwise_and(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::bitwise_and, {&a, &b}); }

Tensor ContextOps::bitwise_or(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::bitwise_or, {&a, &b}); }

Tensor ContextOps::bitwise_xor(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::bitwise_xor, {&a, &b}); }

Tensor ContextOps::bitwise_not(const Tensor &a) const { return Nodes::make(*this, core::Op::bitwise_not, {&a}); }

Tensor ContextOps::shift_left(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::shift_left, {&a, &b}); }

Tensor ContextOps::shift_right(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::shift_right, {&a, &b}); }

Tensor ContextOps::logical_and(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::logical_and, {&a, &b}); }

Tensor ContextOps::logical_or(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::logical_or, {&a, &b}); }

Tensor ContextOps::logical_xor(const Tensor &a, const Tensor &b) const { return Nodes::make(*this, core::Op::logical_xor, {&a, &b}); }

Tensor ContextOps::logical_not(const Tensor &a) const { return Nodes::make(*this, core::Op::logical_not, {&a}); }

Tensor ContextOps::win_part(const Tensor &a, std::int64_t w) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("w", w),
    };
    return Nodes::make(*this, core::Op::win_part, {&a}, attrs);
}

Tensor ContextOps::win_unpart(const Tensor &a, std::int64_t w0, std::int64_t h0, std::int64_t w) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("w0", w0),
        core::Attr::of_int("h0", h0),
        core::Attr::of_int("w", w),
    };
    return Nodes::make(*this, core::Op::win_unpart, {&a}, attrs);
}

Tensor ContextOps::get_rel_pos(const Tensor &a, std::int64_t qh, std::int64_t kh) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("qh", qh),
        core::Attr::of_int("kh", kh),
    };
    return Nodes::make(*this, core::Op::get_rel_pos, {&a}, attrs);
}

Tensor ContextOps::add_rel_pos(const Tensor &a, const Tensor &pw, const Tensor &ph) const {
    return Nodes::make(*this, core::Op::add_rel_pos, {&a, &pw, &ph});
}

Tensor ContextOps::gated_delta_net(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &g, const Tensor &beta,
                                   const Tensor &state, const GatedDeltaNetOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("n_states", options.n_states),
    };
    return Nodes::make(*this, core::Op::gated_delta_net, {&q, &k, &v, &g, &beta, &state}, attrs);
}

Tensor ContextOps::ssm_scan(const Tensor &state, const Tensor &x, const Tensor &dt, const Tensor &a, const Tensor &b, const Tensor &c,
                            const Tensor &ids, const SsmScanOptions &options) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("n_states", options.n_states),
    };
    return Nodes::make(*this, core::Op::ssm_scan, {&state, &x, &dt, &a, &b, &c, &ids}, attrs);
}

Tensor ContextOps::rwkv_wkv6(const Tensor &k, const Tensor &v, const Tensor &r, const Tensor &tf, const Tensor &td,
                             const Tensor &state) const {
    return Nodes::make(*this, core::Op::rwkv_wkv6, {&k, &v, &r, &tf, &td, &state});
}

Tensor ContextOps::rwkv_wkv7(const Tensor &r, const Tensor &w, const Tensor &k, const Tensor &v, const Tensor &a, const Tensor &b,
                             const Tensor &state) const {
    return Nodes::make(*this, core::Op::rwkv_wkv7, {&r, &w, &k, &v, &a, &b, &state});
}

Tensor ContextOps::gated_linear_attn(const Tensor &k, const Tensor &v, const Tensor &q, const Tensor &g, const Tensor &state,
                                     double scale) const {
    const core::Attr attrs[] = {
        core::Attr::of_number("scale", scale),
    };
    return Nodes::make(*this, core::Op::gated_linear_attn, {&k, &v, &q, &g, &state}, attrs);
}

Tensor ContextOps::all_sum(const Tensor &a, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::all_sum, {&a}, attrs);
}

Tensor ContextOps::all_max(const Tensor &a, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::all_max, {&a}, attrs);
}

Tensor ContextOps::all_gather(const Tensor &a, std::int64_t dim, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::all_gather, {&a}, attrs);
}

Tensor ContextOps::sum_scatter(const Tensor &a, std::int64_t dim, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::sum_scatter, {&a}, attrs);
}

Tensor ContextOps::broadcast(const Tensor &a, std::int64_t root, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("root", root),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::broadcast, {&a}, attrs);
}

Tensor ContextOps::all_to_all(const Tensor &a, std::int64_t dim, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("dim", dim),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::all_to_all, {&a}, attrs);
}

Tensor ContextOps::send(const Tensor &a, std::int64_t to, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("to", to),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::send, {&a}, attrs);
}

Tensor ContextOps::receive(const Tensor &a, std::int64_t from, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("from", from),
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::receive, {&a}, attrs);
}

Tensor ContextOps::copy_to_group(const Tensor &a, const Group &group) const {
    const core::Attr attrs[] = {
        core::Attr::of_int("group", Nodes::number_of(group)),
    };
    return Nodes::make(*this, core::Op::copy_to_group, {&a}, attrs);
}

Tensor add(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).add(a, b); }

Tensor sub(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).sub(a, b); }

Tensor mul(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).mul(a, b); }

Tensor div(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).div(a, b); }

Tensor maximum(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).maximum(a, b); }

Tensor minimum(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).minimum(a, b); }

Tensor pow(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).pow(a, b); }

Tensor eq(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).eq(a, b); }

Tensor ne(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).ne(a, b); }

Tensor lt(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).lt(a, b); }

Tensor le(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).le(a, b); }

Tensor gt(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).gt(a, b); }

Tensor ge(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).ge(a, b); }

Tensor add1(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).add1(a, b); }

Tensor where(const Tensor &condition, const Tensor &a, const Tensor &b) {
    return Nodes::youngest_of({&condition, &a, &b}).where(condition, a, b);
}

Tensor scale(const Tensor &a, double scale, const ScaleOptions &options) { return Nodes::youngest_of({&a}).scale(a, scale, options); }

Tensor clamp(const Tensor &a, double min, double max) { return Nodes::youngest_of({&a}).clamp(a, min, max); }

Tensor fill(const Tensor &a, double value) { return Nodes::youngest_of({&a}).fill(a, value); }

Tensor masked_fill(const Tensor &a, const Tensor &mask, double value) {
    return Nodes::youngest_of({&a, &mask}).masked_fill(a, mask, value);
}

Tensor out_prod(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).out_prod(a, b); }

Tensor out_prod_id(const Tensor &a, const Tensor &b, const Tensor &ids, std::int64_t experts) {
    return Nodes::youngest_of({&a, &b, &ids}).out_prod_id(a, b, ids, experts);
}

Tensor solve_tri(const Tensor &a, const Tensor &b, bool left, bool lower, bool unit) {
    return Nodes::youngest_of({&a, &b}).solve_tri(a, b, left, lower, unit);
}

Tensor transpose(const Tensor &a) { return Nodes::youngest_of({&a}).transpose(a); }

Tensor stop_gradient(const Tensor &a) { return Nodes::youngest_of({&a}).stop_gradient(a); }

Tensor expand(const Tensor &a, const Shape &shape) { return Nodes::youngest_of({&a}).expand(a, shape); }

Tensor unsqueeze(const Tensor &a, std::int64_t dim) { return Nodes::youngest_of({&a}).unsqueeze(a, dim); }

Tensor squeeze(const Tensor &a, std::int64_t dim) { return Nodes::youngest_of({&a}).squeeze(a, dim); }

Tensor flatten(const Tensor &a, std::int64_t first, std::int64_t last) { return Nodes::youngest_of({&a}).flatten(a, first, last); }

Tensor select(const Tensor &a, std::int64_t dim, std::int64_t index) { return Nodes::youngest_of({&a}).select(a, dim, index); }

Tensor result(const Tensor &a, std::int64_t number) { return Nodes::youngest_of({&a}).result(a, number); }

Tensor cont(const Tensor &a) { return Nodes::youngest_of({&a}).cont(a); }

Tensor cpy(const Tensor &src, const Tensor &dst) { return Nodes::youngest_of({&src, &dst}).cpy(src, dst); }

Tensor dup(const Tensor &a) { return Nodes::youngest_of({&a}).dup(a); }

Tensor get_rows(const Tensor &a, const Tensor &rows) { return Nodes::youngest_of({&a, &rows}).get_rows(a, rows); }

Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) { return Nodes::youngest_of({&a, &b, &rows}).set_rows(a, b, rows); }

Tensor index_select(const Tensor &a, const Tensor &indices, std::int64_t dim) {
    return Nodes::youngest_of({&a, &indices}).index_select(a, indices, dim);
}

Tensor abs(const Tensor &a) { return Nodes::youngest_of({&a}).abs(a); }

Tensor neg(const Tensor &a) { return Nodes::youngest_of({&a}).neg(a); }

Tensor sqr(const Tensor &a) { return Nodes::youngest_of({&a}).sqr(a); }

Tensor sqrt(const Tensor &a) { return Nodes::youngest_of({&a}).sqrt(a); }

Tensor log(const Tensor &a) { return Nodes::youngest_of({&a}).log(a); }

Tensor exp(const Tensor &a) { return Nodes::youngest_of({&a}).exp(a); }

Tensor expm1(const Tensor &a) { return Nodes::youngest_of({&a}).expm1(a); }

Tensor sin(const Tensor &a) { return Nodes::youngest_of({&a}).sin(a); }

Tensor cos(const Tensor &a) { return Nodes::youngest_of({&a}).cos(a); }

Tensor sgn(const Tensor &a) { return Nodes::youngest_of({&a}).sgn(a); }

Tensor step(const Tensor &a) { return Nodes::youngest_of({&a}).step(a); }

Tensor floor(const Tensor &a) { return Nodes::youngest_of({&a}).floor(a); }

Tensor ceil(const Tensor &a) { return Nodes::youngest_of({&a}).ceil(a); }

Tensor round(const Tensor &a) { return Nodes::youngest_of({&a}).round(a); }

Tensor trunc(const Tensor &a) { return Nodes::youngest_of({&a}).trunc(a); }

Tensor erf(const Tensor &a) { return Nodes::youngest_of({&a}).erf(a); }

Tensor relu(const Tensor &a) { return Nodes::youngest_of({&a}).relu(a); }

Tensor sigmoid(const Tensor &a) { return Nodes::youngest_of({&a}).sigmoid(a); }

Tensor tanh(const Tensor &a) { return Nodes::youngest_of({&a}).tanh(a); }

Tensor elu(const Tensor &a) { return Nodes::youngest_of({&a}).elu(a); }

Tensor softplus(const Tensor &a) { return Nodes::youngest_of({&a}).softplus(a); }

Tensor silu(const Tensor &a) { return Nodes::youngest_of({&a}).silu(a); }

Tensor gelu(const Tensor &a) { return Nodes::youngest_of({&a}).gelu(a); }

Tensor gelu_erf(const Tensor &a) { return Nodes::youngest_of({&a}).gelu_erf(a); }

Tensor gelu_quick(const Tensor &a) { return Nodes::youngest_of({&a}).gelu_quick(a); }

Tensor hardswish(const Tensor &a) { return Nodes::youngest_of({&a}).hardswish(a); }

Tensor hardsigmoid(const Tensor &a) { return Nodes::youngest_of({&a}).hardsigmoid(a); }

Tensor leaky_relu(const Tensor &a, double slope) { return Nodes::youngest_of({&a}).leaky_relu(a, slope); }

Tensor xielu(const Tensor &a, double alpha_n, double alpha_p, double beta, double eps) {
    return Nodes::youngest_of({&a}).xielu(a, alpha_n, alpha_p, beta, eps);
}

Tensor glu(const Tensor &a, const std::optional<Tensor> &b, GluOp op, const GluOptions &options) {
    return Nodes::youngest_of({&a, if_given(b)}).glu(a, b, op, options);
}

Tensor norm(const Tensor &a, double eps) { return Nodes::youngest_of({&a}).norm(a, eps); }

Tensor rms_norm(const Tensor &a, double eps) { return Nodes::youngest_of({&a}).rms_norm(a, eps); }

Tensor l2_norm(const Tensor &a, double eps) { return Nodes::youngest_of({&a}).l2_norm(a, eps); }

Tensor group_norm(const Tensor &a, std::int64_t groups, double eps) { return Nodes::youngest_of({&a}).group_norm(a, groups, eps); }

Tensor soft_max(const Tensor &a) { return Nodes::youngest_of({&a}).soft_max(a); }

Tensor soft_max_ext(const Tensor &a, const std::optional<Tensor> &mask, const std::optional<Tensor> &sinks,
                    const SoftMaxExtOptions &options) {
    return Nodes::youngest_of({&a, if_given(mask), if_given(sinks)}).soft_max_ext(a, mask, sinks, options);
}

Tensor log_soft_max(const Tensor &a) { return Nodes::youngest_of({&a}).log_soft_max(a); }

Tensor rope(const Tensor &a, const Tensor &positions, const std::optional<Tensor> &freq_factors, const RopeOptions &options) {
    return Nodes::youngest_of({&a, &positions, if_given(freq_factors)}).rope(a, positions, freq_factors, options);
}

Tensor flash_attn_ext(const Tensor &q, const Tensor &k, const Tensor &v, const std::optional<Tensor> &mask,
                      const std::optional<Tensor> &sinks, const FlashAttnExtOptions &options) {
    return Nodes::youngest_of({&q, &k, &v, if_given(mask), if_given(sinks)}).flash_attn_ext(q, k, v, mask, sinks, options);
}

Tensor paged_attention(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &pages, const Tensor &positions,
                       const Tensor &sequences, const std::optional<Tensor> &sinks, const PagedAttentionOptions &options) {
    return Nodes::youngest_of({&q, &k, &v, &pages, &positions, &sequences, if_given(sinks)})
        .paged_attention(q, k, v, pages, positions, sequences, sinks, options);
}

Tensor sum(const Tensor &a, const SumOptions &options) { return Nodes::youngest_of({&a}).sum(a, options); }

Tensor sum_rows(const Tensor &a) { return Nodes::youngest_of({&a}).sum_rows(a); }

Tensor mean(const Tensor &a, const MeanOptions &options) { return Nodes::youngest_of({&a}).mean(a, options); }

Tensor cumsum(const Tensor &a) { return Nodes::youngest_of({&a}).cumsum(a); }

Tensor argmax(const Tensor &a, const ArgmaxOptions &options) { return Nodes::youngest_of({&a}).argmax(a, options); }

Tensor argsort(const Tensor &a, const ArgsortOptions &options) { return Nodes::youngest_of({&a}).argsort(a, options); }

Tensor top_k(const Tensor &a, std::int64_t k) { return Nodes::youngest_of({&a}).top_k(a, k); }

Tensor count_equal(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).count_equal(a, b); }

Tensor cross_entropy_loss(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).cross_entropy_loss(a, b); }

Tensor max(const Tensor &a, const MaxOptions &options) { return Nodes::youngest_of({&a}).max(a, options); }

Tensor min(const Tensor &a, const MinOptions &options) { return Nodes::youngest_of({&a}).min(a, options); }

Tensor argmin(const Tensor &a, const ArgminOptions &options) { return Nodes::youngest_of({&a}).argmin(a, options); }

Tensor var(const Tensor &a, std::int64_t correction, const VarOptions &options) {
    return Nodes::youngest_of({&a}).var(a, correction, options);
}

Tensor stddev(const Tensor &a, std::int64_t correction, const StdOptions &options) {
    return Nodes::youngest_of({&a}).stddev(a, correction, options);
}

Tensor prod(const Tensor &a, const ProdOptions &options) { return Nodes::youngest_of({&a}).prod(a, options); }

Tensor any(const Tensor &a, const AnyOptions &options) { return Nodes::youngest_of({&a}).any(a, options); }

Tensor all(const Tensor &a, const AllOptions &options) { return Nodes::youngest_of({&a}).all(a, options); }

Tensor log_sum_exp(const Tensor &a, const LogSumExpOptions &options) { return Nodes::youngest_of({&a}).log_sum_exp(a, options); }

Tensor repeat(const Tensor &a, const Shape &shape) { return Nodes::youngest_of({&a}).repeat(a, shape); }

Tensor concat(const Tensor &a, const Tensor &b, std::int64_t dim) { return Nodes::youngest_of({&a, &b}).concat(a, b, dim); }

Tensor pad(const Tensor &a, const std::array<std::int64_t, 4> &p, const PadOptions &options) {
    return Nodes::youngest_of({&a}).pad(a, p, options);
}

Tensor pad_reflect_1d(const Tensor &a, std::int64_t p0, std::int64_t p1) { return Nodes::youngest_of({&a}).pad_reflect_1d(a, p0, p1); }

Tensor roll(const Tensor &a, const std::array<std::int64_t, 4> &shift) { return Nodes::youngest_of({&a}).roll(a, shift); }

Tensor diag(const Tensor &a) { return Nodes::youngest_of({&a}).diag(a); }

Tensor tri(const Tensor &a, TriType part) { return Nodes::youngest_of({&a}).tri(a, part); }

Tensor diag_mask_inf(const Tensor &a, std::int64_t n_past) { return Nodes::youngest_of({&a}).diag_mask_inf(a, n_past); }

Tensor diag_mask_zero(const Tensor &a, std::int64_t n_past) { return Nodes::youngest_of({&a}).diag_mask_zero(a, n_past); }

Tensor acc(const Tensor &a, const Tensor &b, const AccOptions &options) { return Nodes::youngest_of({&a, &b}).acc(a, b, options); }

Tensor set(const Tensor &a, const Tensor &b, const SetOptions &options) { return Nodes::youngest_of({&a, &b}).set(a, b, options); }

Tensor gather(const Tensor &a, const Tensor &indices, std::int64_t dim) {
    return Nodes::youngest_of({&a, &indices}).gather(a, indices, dim);
}

Tensor add_id(const Tensor &a, const Tensor &b, const Tensor &ids) { return Nodes::youngest_of({&a, &b, &ids}).add_id(a, b, ids); }

Tensor scatter_add(const Tensor &a, const Tensor &b, const Tensor &indices, std::int64_t dim) {
    return Nodes::youngest_of({&a, &b, &indices}).scatter_add(a, b, indices, dim);
}

Tensor flip(const Tensor &a, std::int64_t dim) { return Nodes::youngest_of({&a}).flip(a, dim); }

Tensor one_hot(const Tensor &indices, std::int64_t classes) { return Nodes::youngest_of({&indices}).one_hot(indices, classes); }

Tensor timestep_embedding(const Tensor &timesteps, std::int64_t dim, std::int64_t max_period) {
    return Nodes::youngest_of({&timesteps}).timestep_embedding(timesteps, dim, max_period);
}

Tensor upscale(const Tensor &a, const UpscaleOptions &options) { return Nodes::youngest_of({&a}).upscale(a, options); }

Tensor pool_1d(const Tensor &a, PoolOp op, std::int64_t k, const Pool1dOptions &options) {
    return Nodes::youngest_of({&a}).pool_1d(a, op, k, options);
}

Tensor pool_2d(const Tensor &a, PoolOp op, std::int64_t k0, std::int64_t k1, const Pool2dOptions &options) {
    return Nodes::youngest_of({&a}).pool_2d(a, op, k0, k1, options);
}

Tensor im2col(const Tensor &a, const Tensor &b, const Im2colOptions &options) { return Nodes::youngest_of({&a, &b}).im2col(a, b, options); }

Tensor conv_1d(const Tensor &a, const Tensor &b, const Conv1dOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_1d(a, b, options);
}

Tensor conv_2d(const Tensor &a, const Tensor &b, const Conv2dOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_2d(a, b, options);
}

Tensor conv_1d_dw(const Tensor &a, const Tensor &b, const Conv1dDwOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_1d_dw(a, b, options);
}

Tensor conv_2d_dw(const Tensor &a, const Tensor &b, const Conv2dDwOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_2d_dw(a, b, options);
}

Tensor conv_transpose_1d(const Tensor &a, const Tensor &b, const ConvTranspose1dOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_transpose_1d(a, b, options);
}

Tensor conv_transpose_2d(const Tensor &a, const Tensor &b, const ConvTranspose2dOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_transpose_2d(a, b, options);
}

Tensor im2col_3d(const Tensor &a, const Tensor &b, std::int64_t channels, const Im2col3dOptions &options) {
    return Nodes::youngest_of({&a, &b}).im2col_3d(a, b, channels, options);
}

Tensor conv_3d(const Tensor &a, const Tensor &b, std::int64_t channels, const Conv3dOptions &options) {
    return Nodes::youngest_of({&a, &b}).conv_3d(a, b, channels, options);
}

Tensor col2im_1d(const Tensor &a, std::int64_t stride, std::int64_t padding, std::int64_t channels) {
    return Nodes::youngest_of({&a}).col2im_1d(a, stride, padding, channels);
}

Tensor ssm_conv(const Tensor &a, const Tensor &kernel, const std::optional<Tensor> &state, const std::optional<Tensor> &bias,
                const SsmConvOptions &options) {
    return Nodes::youngest_of({&a, &kernel, if_given(state), if_given(bias)}).ssm_conv(a, kernel, state, bias, options);
}

Tensor random_uniform(const Tensor &state, const Shape &shape, double low, double high, std::int64_t stream) {
    return Nodes::youngest_of({&state}).random_uniform(state, shape, low, high, stream);
}

Tensor random_normal(const Tensor &state, const Shape &shape, double mean, double deviation, std::int64_t stream) {
    return Nodes::youngest_of({&state}).random_normal(state, shape, mean, deviation, stream);
}

Tensor dropout(const Tensor &a, const Tensor &state, double p, std::int64_t stream) {
    return Nodes::youngest_of({&a, &state}).dropout(a, state, p, stream);
}

Tensor opt_step_sgd(const Tensor &a, const Tensor &grad, const Tensor &settings) {
    return Nodes::youngest_of({&a, &grad, &settings}).opt_step_sgd(a, grad, settings);
}

Tensor opt_step_momentum(const Tensor &a, const Tensor &grad, const Tensor &velocity, const Tensor &settings,
                         const OptStepMomentumOptions &options) {
    return Nodes::youngest_of({&a, &grad, &velocity, &settings}).opt_step_momentum(a, grad, velocity, settings, options);
}

Tensor opt_step_adamw(const Tensor &a, const Tensor &grad, const Tensor &m, const Tensor &v, const Tensor &settings) {
    return Nodes::youngest_of({&a, &grad, &m, &v, &settings}).opt_step_adamw(a, grad, m, v, settings);
}

Tensor opt_step_lion(const Tensor &a, const Tensor &grad, const Tensor &m, const Tensor &settings) {
    return Nodes::youngest_of({&a, &grad, &m, &settings}).opt_step_lion(a, grad, m, settings);
}

Tensor mul_mat_sparse(const Tensor &a, const Tensor &b, const std::optional<Tensor> &scores, const std::optional<Tensor> &rows,
                      const MulMatSparseOptions &options) {
    return Nodes::youngest_of({&a, &b, if_given(scores), if_given(rows)}).mul_mat_sparse(a, b, scores, rows, options);
}

Tensor axpy(const Tensor &a_t, const Tensor &h, const std::optional<Tensor> &scores, const std::optional<Tensor> &rows,
            const AxpyOptions &options) {
    return Nodes::youngest_of({&a_t, &h, if_given(scores), if_given(rows)}).axpy(a_t, h, scores, rows, options);
}

Tensor sparse_ffn(const Tensor &x, const Tensor &gate, const Tensor &up, const Tensor &down_t, const std::optional<Tensor> &scores,
                  const std::optional<Tensor> &rows, const SparseFfnOptions &options) {
    return Nodes::youngest_of({&x, &gate, &up, &down_t, if_given(scores), if_given(rows)})
        .sparse_ffn(x, gate, up, down_t, scores, rows, options);
}

Tensor bitwise_and(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).bitwise_and(a, b); }

Tensor bitwise_or(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).bitwise_or(a, b); }

Tensor bitwise_xor(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).bitwise_xor(a, b); }

Tensor bitwise_not(const Tensor &a) { return Nodes::youngest_of({&a}).bitwise_not(a); }

Tensor shift_left(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).shift_left(a, b); }

Tensor shift_right(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).shift_right(a, b); }

Tensor logical_and(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).logical_and(a, b); }

Tensor logical_or(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).logical_or(a, b); }

Tensor logical_xor(const Tensor &a, const Tensor &b) { return Nodes::youngest_of({&a, &b}).logical_xor(a, b); }

Tensor logical_not(const Tensor &a) { return Nodes::youngest_of({&a}).logical_not(a); }

Tensor win_part(const Tensor &a, std::int64_t w) { return Nodes::youngest_of({&a}).win_part(a, w); }

Tensor win_unpart(const Tensor &a, std::int64_t w0, std::int64_t h0, std::int64_t w) {
    return Nodes::youngest_of({&a}).win_unpart(a, w0, h0, w);
}

Tensor get_rel_pos(const Tensor &a, std::int64_t qh, std::int64_t kh) { return Nodes::youngest_of({&a}).get_rel_pos(a, qh, kh); }

Tensor add_rel_pos(const Tensor &a, const Tensor &pw, const Tensor &ph) {
    return Nodes::youngest_of({&a, &pw, &ph}).add_rel_pos(a, pw, ph);
}

Tensor gated_delta_net(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &g, const Tensor &beta, const Tensor &state,
                       const GatedDeltaNetOptions &options) {
    return Nodes::youngest_of({&q, &k, &v, &g, &beta, &state}).gated_delta_net(q, k, v, g, beta, state, options);
}

Tensor ssm_scan(const Tensor &state, const Tensor &x, const Tensor &dt, const Tensor &a, const Tensor &b, const Tensor &c,
                const Tensor &ids, const SsmScanOptions &options) {
    return Nodes::youngest_of({&state, &x, &dt, &a, &b, &c, &ids}).ssm_scan(state, x, dt, a, b, c, ids, options);
}

Tensor rwkv_wkv6(const Tensor &k, const Tensor &v, const Tensor &r, const Tensor &tf, const Tensor &td, const Tensor &state) {
    return Nodes::youngest_of({&k, &v, &r, &tf, &td, &state}).rwkv_wkv6(k, v, r, tf, td, state);
}

Tensor rwkv_wkv7(const Tensor &r, const Tensor &w, const Tensor &k, const Tensor &v, const Tensor &a, const Tensor &b,
                 const Tensor &state) {
    return Nodes::youngest_of({&r, &w, &k, &v, &a, &b, &state}).rwkv_wkv7(r, w, k, v, a, b, state);
}

Tensor gated_linear_attn(const Tensor &k, const Tensor &v, const Tensor &q, const Tensor &g, const Tensor &state, double scale) {
    return Nodes::youngest_of({&k, &v, &q, &g, &state}).gated_linear_attn(k, v, q, g, state, scale);
}

Tensor all_sum(const Tensor &a, const Group &group) { return Nodes::youngest_of({&a}).all_sum(a, group); }

Tensor all_max(const Tensor &a, const Group &group) { return Nodes::youngest_of({&a}).all_max(a, group); }

Tensor all_gather(const Tensor &a, std::int64_t dim, const Group &group) { return Nodes::youngest_of({&a}).all_gather(a, dim, group); }

Tensor sum_scatter(const Tensor &a, std::int64_t dim, const Group &group) { return Nodes::youngest_of({&a}).sum_scatter(a, dim, group); }

Tensor broadcast(const Tensor &a, std::int64_t root, const Group &group) { return Nodes::youngest_of({&a}).broadcast(a, root, group); }

Tensor all_to_all(const Tensor &a, std::int64_t dim, const Group &group) { return Nodes::youngest_of({&a}).all_to_all(a, dim, group); }

Tensor send(const Tensor &a, std::int64_t to, const Group &group) { return Nodes::youngest_of({&a}).send(a, to, group); }

Tensor receive(const Tensor &a, std::int64_t from, const Group &group) { return Nodes::youngest_of({&a}).receive(a, from, group); }

Tensor copy_to_group(const Tensor &a, const Group &group) { return Nodes::youngest_of({&a}).copy_to_group(a, group); }

Tensor TensorOps::scale(double scale, const ScaleOptions &options) const {
    return tensorlib::scale(static_cast<const Tensor &>(*this), scale, options);
}

Tensor TensorOps::clamp(double min, double max) const { return tensorlib::clamp(static_cast<const Tensor &>(*this), min, max); }

Tensor TensorOps::fill(double value) const { return tensorlib::fill(static_cast<const Tensor &>(*this), value); }

Tensor TensorOps::transpose() const { return tensorlib::transpose(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::stop_gradient() const { return tensorlib::stop_gradient(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::expand(const Shape &shape) const { return tensorlib::expand(static_cast<const Tensor &>(*this), shape); }

Tensor TensorOps::unsqueeze(std::int64_t dim) const { return tensorlib::unsqueeze(static_cast<const Tensor &>(*this), dim); }

Tensor TensorOps::squeeze(std::int64_t dim) const { return tensorlib::squeeze(static_cast<const Tensor &>(*this), dim); }

Tensor TensorOps::flatten(std::int64_t first, std::int64_t last) const {
    return tensorlib::flatten(static_cast<const Tensor &>(*this), first, last);
}

Tensor TensorOps::select(std::int64_t dim, std::int64_t index) const {
    return tensorlib::select(static_cast<const Tensor &>(*this), dim, index);
}

Tensor TensorOps::result(std::int64_t number) const { return tensorlib::result(static_cast<const Tensor &>(*this), number); }

Tensor TensorOps::cont() const { return tensorlib::cont(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::dup() const { return tensorlib::dup(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::abs() const { return tensorlib::abs(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::neg() const { return tensorlib::neg(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sqr() const { return tensorlib::sqr(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sqrt() const { return tensorlib::sqrt(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::log() const { return tensorlib::log(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::exp() const { return tensorlib::exp(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::expm1() const { return tensorlib::expm1(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sin() const { return tensorlib::sin(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::cos() const { return tensorlib::cos(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sgn() const { return tensorlib::sgn(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::step() const { return tensorlib::step(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::floor() const { return tensorlib::floor(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::ceil() const { return tensorlib::ceil(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::round() const { return tensorlib::round(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::trunc() const { return tensorlib::trunc(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::erf() const { return tensorlib::erf(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::relu() const { return tensorlib::relu(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sigmoid() const { return tensorlib::sigmoid(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::tanh() const { return tensorlib::tanh(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::elu() const { return tensorlib::elu(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::softplus() const { return tensorlib::softplus(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::silu() const { return tensorlib::silu(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::gelu() const { return tensorlib::gelu(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::gelu_erf() const { return tensorlib::gelu_erf(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::gelu_quick() const { return tensorlib::gelu_quick(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::hardswish() const { return tensorlib::hardswish(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::hardsigmoid() const { return tensorlib::hardsigmoid(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::leaky_relu(double slope) const { return tensorlib::leaky_relu(static_cast<const Tensor &>(*this), slope); }

Tensor TensorOps::xielu(double alpha_n, double alpha_p, double beta, double eps) const {
    return tensorlib::xielu(static_cast<const Tensor &>(*this), alpha_n, alpha_p, beta, eps);
}

Tensor TensorOps::norm(double eps) const { return tensorlib::norm(static_cast<const Tensor &>(*this), eps); }

Tensor TensorOps::rms_norm(double eps) const { return tensorlib::rms_norm(static_cast<const Tensor &>(*this), eps); }

Tensor TensorOps::l2_norm(double eps) const { return tensorlib::l2_norm(static_cast<const Tensor &>(*this), eps); }

Tensor TensorOps::group_norm(std::int64_t groups, double eps) const {
    return tensorlib::group_norm(static_cast<const Tensor &>(*this), groups, eps);
}

Tensor TensorOps::soft_max() const { return tensorlib::soft_max(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::log_soft_max() const { return tensorlib::log_soft_max(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::sum(const SumOptions &options) const { return tensorlib::sum(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::sum_rows() const { return tensorlib::sum_rows(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::mean(const MeanOptions &options) const { return tensorlib::mean(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::cumsum() const { return tensorlib::cumsum(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::argmax(const ArgmaxOptions &options) const { return tensorlib::argmax(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::argsort(const ArgsortOptions &options) const { return tensorlib::argsort(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::top_k(std::int64_t k) const { return tensorlib::top_k(static_cast<const Tensor &>(*this), k); }

Tensor TensorOps::max(const MaxOptions &options) const { return tensorlib::max(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::min(const MinOptions &options) const { return tensorlib::min(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::argmin(const ArgminOptions &options) const { return tensorlib::argmin(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::var(std::int64_t correction, const VarOptions &options) const {
    return tensorlib::var(static_cast<const Tensor &>(*this), correction, options);
}

Tensor TensorOps::stddev(std::int64_t correction, const StdOptions &options) const {
    return tensorlib::stddev(static_cast<const Tensor &>(*this), correction, options);
}

Tensor TensorOps::prod(const ProdOptions &options) const { return tensorlib::prod(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::any(const AnyOptions &options) const { return tensorlib::any(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::all(const AllOptions &options) const { return tensorlib::all(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::log_sum_exp(const LogSumExpOptions &options) const {
    return tensorlib::log_sum_exp(static_cast<const Tensor &>(*this), options);
}

Tensor TensorOps::repeat(const Shape &shape) const { return tensorlib::repeat(static_cast<const Tensor &>(*this), shape); }

Tensor TensorOps::pad(const std::array<std::int64_t, 4> &p, const PadOptions &options) const {
    return tensorlib::pad(static_cast<const Tensor &>(*this), p, options);
}

Tensor TensorOps::pad_reflect_1d(std::int64_t p0, std::int64_t p1) const {
    return tensorlib::pad_reflect_1d(static_cast<const Tensor &>(*this), p0, p1);
}

Tensor TensorOps::roll(const std::array<std::int64_t, 4> &shift) const {
    return tensorlib::roll(static_cast<const Tensor &>(*this), shift);
}

Tensor TensorOps::diag() const { return tensorlib::diag(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::tri(TriType part) const { return tensorlib::tri(static_cast<const Tensor &>(*this), part); }

Tensor TensorOps::diag_mask_inf(std::int64_t n_past) const { return tensorlib::diag_mask_inf(static_cast<const Tensor &>(*this), n_past); }

Tensor TensorOps::diag_mask_zero(std::int64_t n_past) const {
    return tensorlib::diag_mask_zero(static_cast<const Tensor &>(*this), n_past);
}

Tensor TensorOps::flip(std::int64_t dim) const { return tensorlib::flip(static_cast<const Tensor &>(*this), dim); }

Tensor TensorOps::one_hot(std::int64_t classes) const { return tensorlib::one_hot(static_cast<const Tensor &>(*this), classes); }

Tensor TensorOps::timestep_embedding(std::int64_t dim, std::int64_t max_period) const {
    return tensorlib::timestep_embedding(static_cast<const Tensor &>(*this), dim, max_period);
}

Tensor TensorOps::upscale(const UpscaleOptions &options) const { return tensorlib::upscale(static_cast<const Tensor &>(*this), options); }

Tensor TensorOps::pool_1d(PoolOp op, std::int64_t k, const Pool1dOptions &options) const {
    return tensorlib::pool_1d(static_cast<const Tensor &>(*this), op, k, options);
}

Tensor TensorOps::pool_2d(PoolOp op, std::int64_t k0, std::int64_t k1, const Pool2dOptions &options) const {
    return tensorlib::pool_2d(static_cast<const Tensor &>(*this), op, k0, k1, options);
}

Tensor TensorOps::col2im_1d(std::int64_t stride, std::int64_t padding, std::int64_t channels) const {
    return tensorlib::col2im_1d(static_cast<const Tensor &>(*this), stride, padding, channels);
}

Tensor TensorOps::random_uniform(const Shape &shape, double low, double high, std::int64_t stream) const {
    return tensorlib::random_uniform(static_cast<const Tensor &>(*this), shape, low, high, stream);
}

Tensor TensorOps::random_normal(const Shape &shape, double mean, double deviation, std::int64_t stream) const {
    return tensorlib::random_normal(static_cast<const Tensor &>(*this), shape, mean, deviation, stream);
}

Tensor TensorOps::bitwise_not() const { return tensorlib::bitwise_not(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::logical_not() const { return tensorlib::logical_not(static_cast<const Tensor &>(*this)); }

Tensor TensorOps::win_part(std::int64_t w) const { return tensorlib::win_part(static_cast<const Tensor &>(*this), w); }

Tensor TensorOps::win_unpart(std::int64_t w0, std::int64_t h0, std::int64_t w) const {
    return tensorlib::win_unpart(static_cast<const Tensor &>(*this), w0, h0, w);
}

Tensor TensorOps::get_rel_pos(std::int64_t qh, std::int64_t kh) const {
    return tensorlib::get_rel_pos(static_cast<const Tensor &>(*this), qh, kh);
}

Tensor TensorOps::all_sum(const Group &group) const { return tensorlib::all_sum(static_cast<const Tensor &>(*this), group); }

Tensor TensorOps::all_max(const Group &group) const { return tensorlib::all_max(static_cast<const Tensor &>(*this), group); }

Tensor TensorOps::all_gather(std::int64_t dim, const Group &group) const {
    return tensorlib::all_gather(static_cast<const Tensor &>(*this), dim, group);
}

Tensor TensorOps::sum_scatter(std::int64_t dim, const Group &group) const {
    return tensorlib::sum_scatter(static_cast<const Tensor &>(*this), dim, group);
}

Tensor TensorOps::broadcast(std::int64_t root, const Group &group) const {
    return tensorlib::broadcast(static_cast<const Tensor &>(*this), root, group);
}

Tensor TensorOps::all_to_all(std::int64_t dim, const Group &group) const {
    return tensorlib::all_to_all(static_cast<const Tensor &>(*this), dim, group);
}

Tensor TensorOps::send(std::int64_t to, const Group &group) const { return tensorlib::send(static_cast<const Tensor &>(*this), to, group); }

Tensor TensorOps::receive(std::int64_t from, const Group &group) const {
    return tensorlib::receive(static_cast<const Tensor &>(*this), from, group);
}

Tensor TensorOps::copy_to_group(const Group &group) const { return tensorlib::copy_to_group(static_cast<const Tensor &>(*this), group); }

}  // namespace tensorlib
