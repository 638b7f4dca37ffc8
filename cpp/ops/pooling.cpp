// Pooling and upscaling, which convolution.toml describes.
#include "ops/pooling.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/resampling.hpp"
#include "ops/sliding_check.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

Pool pool_of(const Pool1dAttrs &attrs, const Extents &ne) noexcept {
    return {{.elements = ne[0], .taps = attrs.k, .stride = attrs.s ? attrs.s : attrs.k, .padding = attrs.p},
            {},
            attrs.op == PoolOp::avg,
            attrs.count_padding};
}

Pool pool_of(const Pool2dAttrs &attrs, const Extents &ne) noexcept {
    return {{.elements = ne[0], .taps = attrs.k0, .stride = attrs.s0 ? attrs.s0 : attrs.k0, .padding = attrs.p0},
            {.elements = ne[1], .taps = attrs.k1, .stride = attrs.s1 ? attrs.s1 : attrs.k1, .padding = attrs.p1},
            attrs.op == PoolOp::avg,
            !attrs.skip_padding};
}

template <class A>
void pool_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const Layout &a = src[0]->layout;
    check_floats(def, src);
    Pool pool = pool_of(attrs, a.ne);
    check_windows(def, src, 0, pool.x);
    Extents ne = a.ne;
    ne[0] = pool.x.positions;
    if (A::operation == Op::pool_2d) {
        check_windows(def, src, 1, pool.y);
        ne[1] = pool.y.positions;
    }
    result.layout =
        contiguous_layout(def.name, a.type, {ne.data(), static_cast<std::size_t>(std::max(a.n_dims, A::operation == Op::pool_2d ? 2 : 1))});
}

// One operation for each element of each window.
Cost pool_cost(const Tensor &node) {
    const Pool pool = ops::pool_of(node);
    Cost cost = copy_cost(node);
    cost.flops = static_cast<double>(node.layout.n_elements()) * static_cast<double>(pool.x.taps) * static_cast<double>(pool.y.taps);
    return cost;
}

void upscale_infer(std::span<Tensor *const> src, const UpscaleAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout;
    check_floats(facts::upscale, src);
    const auto refuse = [&](const char *what) {
        fail(Status::invalid_argument, "upscale: a is %s, factor is %lld, ne is %s: %s", tensor_text(*src[0]).c_str(), shown(attrs.factor),
             attrs.ne.n == 0 ? "not given" : "given", what);
    };
    if ((attrs.factor > 0) == (attrs.ne.n > 0)) refuse("either a factor or ne is valid");
    if (attrs.antialias && attrs.mode != UpscaleMode::bilinear)
        fail(Status::invalid_argument, "upscale: mode is %s, antialias is 1: bilinear alone has it",
             facts::upscale_mode_values[static_cast<std::size_t>(attrs.mode)]);
    Extents ne = attrs.ne.n > 0 ? attrs.ne.values : a.ne;
    for (std::size_t d = 0; d < max_dims; d++) {
        // Kernels compute positions in halves of a pixel, and products of two extents.
        std::int64_t halves, product;
        if (d < 2 && attrs.factor > 0 && __builtin_mul_overflow(ne[d], attrs.factor, &ne[d]))
            refuse("an image of more than 2^63 - 1 pixels");
        if (__builtin_mul_overflow(std::max(ne[d], attrs.factor), std::int64_t{4}, &halves) ||
            __builtin_mul_overflow(ne[d], a.ne[d], &product))
            refuse("an image of more than 2^63 - 1 pixels");
        if (ne[d] > 0 && a.ne[d] == 0) refuse("an image without pixels stays one");
    }
    const std::size_t n_dims = attrs.ne.n > 0 ? max_dims : static_cast<std::size_t>(std::max(2, a.n_dims));
    result.layout = contiguous_layout("upscale", a.type, {ne.data(), n_dims});
}

// For each tap a multiplication and an addition, between rows and between columns.
Cost upscale_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    if (attrs_of<UpscaleAttrs>(node).mode == UpscaleMode::nearest || node.layout.n_elements() == 0) return cost;
    const Resized all = resized(node);
    cost.flops =
        2.0 * static_cast<double>(all.dims[0].most_taps() + all.dims[1].most_taps()) * static_cast<double>(node.layout.n_elements());
    return cost;
}

}  // namespace

Pool pool_of(const Tensor &node) noexcept {
    const Extents &ne = node.src[0]->layout.ne;
    Pool pool = node.op == Op::pool_1d ? pool_of(attrs_of<Pool1dAttrs>(node), ne) : pool_of(attrs_of<Pool2dAttrs>(node), ne);
    pool.x.positions = node.layout.ne[0];
    if (node.op == Op::pool_2d) pool.y.positions = node.layout.ne[1];
    return pool;
}

Resized resized(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<UpscaleAttrs>(node);
    const Filter filter = attrs.mode == UpscaleMode::nearest   ? Filter::nearest
                          : attrs.mode == UpscaleMode::bicubic ? Filter::cubic
                          : attrs.antialias                    ? Filter::triangle
                                                               : Filter::linear;
    Resized all;
    for (std::size_t d = 0; d < max_dims; d++)
        all.dims[d] = {node.src[0]->layout.ne[d], node.layout.ne[d], d < 2 ? filter : Filter::nearest, d < 2 && attrs.align_corners};
    return all;
}

std::int64_t upscale_factor(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<UpscaleAttrs>(node);
    const Extents &a = node.src[0]->layout.ne, &c = node.layout.ne;
    if (attrs.mode == UpscaleMode::bicubic || attrs.align_corners || attrs.antialias) return 0;
    if (attrs.factor > 0) return attrs.factor;
    const std::int64_t factor = a[0] > 0 ? c[0] / a[0] : 0;
    return factor > 0 && c == Extents{a[0] * factor, a[1] * factor, a[2], a[3]} ? factor : 0;
}

constexpr OpDef upscale{facts::upscale, {.infer = with_attrs<UpscaleAttrs, upscale_infer>, .cost = upscale_cost}};

constexpr OpDef pool_1d{facts::pool_1d, {.infer = with_attrs<Pool1dAttrs, pool_infer<Pool1dAttrs>>, .cost = pool_cost}};

constexpr OpDef pool_2d{facts::pool_2d, {.infer = with_attrs<Pool2dAttrs, pool_infer<Pool2dAttrs>>, .cost = pool_cost}};

}  // namespace tensorlib::core::ops
