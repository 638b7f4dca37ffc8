// Pooling and upscaling, which convolution.toml describes.
#include "ops/pooling.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"
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

void check_pooled(const OpFacts &def, std::span<Tensor *const> src, int dim, Sliding &windows) {
    if (windows.padding >= windows.taps) {
        fail(Status::invalid_argument,
             "%s: %s, dimension %d: a window of %lld and padding %lld: less padding than that is valid, as a window "
             "would have no element",
             def.name, operands_text(def, src).c_str(), dim, static_cast<long long>(windows.taps), static_cast<long long>(windows.padding));
    }
    check_windows(def, src, dim, windows);
}

template <class A>
void pool_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const Layout &a = src[0]->layout;
    check_floats(def, src);
    Pool pool = pool_of(attrs, a.ne);
    check_pooled(def, src, 0, pool.x);
    Extents ne = a.ne;
    ne[0] = pool.x.positions;
    if (A::operation == Op::pool_2d) {
        check_pooled(def, src, 1, pool.y);
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
    Extents ne = a.ne;
    for (std::size_t d = 0; d < 2; d++) {
        // Kernels compute positions in halves of a pixel.
        std::int64_t halves;
        if (__builtin_mul_overflow(ne[d], attrs.factor, &ne[d]) || __builtin_mul_overflow(attrs.factor, std::int64_t{4}, &halves)) {
            fail(Status::invalid_argument, "upscale: a is %s, factor is %lld: an image of more than 2^63 - 1 pixels",
                 tensor_text(*src[0]).c_str(), static_cast<long long>(attrs.factor));
        }
    }
    result.layout = contiguous_layout("upscale", a.type, {ne.data(), static_cast<std::size_t>(std::max(2, a.n_dims))});
}

// Each pixel of a bilinear result takes three interpolations.
Cost upscale_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    if (attrs_of<UpscaleAttrs>(node).mode == UpscaleMode::bilinear) cost.flops = 9.0 * static_cast<double>(node.layout.n_elements());
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

constexpr OpDef upscale{facts::upscale, {.infer = with_attrs<UpscaleAttrs, upscale_infer>, .cost = upscale_cost}};

constexpr OpDef pool_1d{facts::pool_1d, {.infer = with_attrs<Pool1dAttrs, pool_infer<Pool1dAttrs>>, .cost = pool_cost}};

constexpr OpDef pool_2d{facts::pool_2d, {.infer = with_attrs<Pool2dAttrs, pool_infer<Pool2dAttrs>>, .cost = pool_cost}};

}  // namespace tensorlib::core::ops
