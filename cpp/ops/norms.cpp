// Norms and soft_max: what norms.toml describes.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

// What all share: floats in, the same shape and type out.
void same_infer(const OpFacts &def, std::span<Tensor *const> src, NodeSpec &result) {
    check_floats(def, src.first(1));
    const Layout &a = src[0]->layout;
    result.layout = contiguous_layout(def.name, a.type, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
}

void plain_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) { same_infer(op_def(result.op), src, result); }

template <class A>
void eps_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    result.make_attrs<A>(given);
    same_infer(op_def(result.op), src, result);
}

void group_norm_infer(std::span<Tensor *const> src, const GroupNormAttrs &attrs, NodeSpec &result) {
    const std::int64_t channels = src[0]->layout.ne[2];
    if (attrs.groups > std::max<std::int64_t>(channels, 1)) {
        fail(Status::invalid_argument, "group_norm: a is %s, groups is %lld: 1 to %lld are valid, the size of dimension 2",
             tensor_text(*src[0]).c_str(), static_cast<long long>(attrs.groups),
             static_cast<long long>(std::max<std::int64_t>(channels, 1)));
    }
    same_infer(facts::group_norm, src, result);
}

void soft_max_ext_infer(std::span<Tensor *const> src, const SoftMaxExtAttrs &attrs, NodeSpec &result) {
    const Tensor &a = *src[0], *mask = src[1], *sinks = src[2];
    const Extents &na = a.layout.ne;
    const auto operands = [&] { return operands_text(facts::soft_max_ext, src); };
    check_floats(facts::soft_max_ext, src.first(mask ? 2 : 1));
    if (mask) {
        const Extents &nm = mask->layout.ne;
        const auto divides = [](std::int64_t n, std::int64_t of) { return n == 0 ? of == 0 : of % n == 0; };
        if (nm[0] != na[0] || nm[1] < na[1] || !divides(nm[2], na[2]) || !divides(nm[3], na[3])) {
            fail(Status::shape_mismatch,
                 "soft_max_ext: %s: a mask {%lld, %lld or more, x, y} is valid, x dividing %lld and y dividing %lld", operands().c_str(),
                 static_cast<long long>(na[0]), static_cast<long long>(na[1]), static_cast<long long>(na[2]),
                 static_cast<long long>(na[3]));
        }
    } else if (attrs.max_bias > 0) {
        fail(Status::invalid_argument,
             "soft_max_ext: a is %s, mask is left out, max_bias is %.12g: it is a factor of the mask, which must be there",
             tensor_text(a).c_str(), attrs.max_bias);
    }
    if (sinks) {
        if (sinks->layout.type != DType::f32) fail(Status::type_mismatch, "soft_max_ext: %s: sinks must be f32", operands().c_str());
        if (sinks->layout.ne != Extents{na[2], 1, 1, 1})
            fail(Status::shape_mismatch, "soft_max_ext: %s: sinks {%lld} are valid, one for each of a's dimension 2", operands().c_str(),
                 static_cast<long long>(na[2]));
    }
    same_infer(facts::soft_max_ext, src, result);
}

// Reads all, writes the result; so many operations an element: a sum or two, a factor; e^x takes 20.
template <int flops>
Cost row_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    for (std::size_t i = 1; i < node.n_src; i++) {
        if (node.src[i]) cost.bytes += static_cast<double>(node.src[i]->layout.nbytes());
    }
    cost.flops = flops * static_cast<double>(node.layout.n_elements());
    return cost;
}

}  // namespace

constexpr OpDef norm{facts::norm, {.infer = eps_infer<NormAttrs>, .cost = row_cost<6>}};
constexpr OpDef rms_norm{facts::rms_norm, {.infer = eps_infer<RmsNormAttrs>, .cost = row_cost<3>}};
constexpr OpDef l2_norm{facts::l2_norm, {.infer = eps_infer<L2NormAttrs>, .cost = row_cost<3>}};
constexpr OpDef group_norm{facts::group_norm, {.infer = with_attrs<GroupNormAttrs, group_norm_infer>, .cost = row_cost<6>}};
constexpr OpDef soft_max{facts::soft_max, {.infer = plain_infer, .cost = row_cost<24>}};
constexpr OpDef soft_max_ext{facts::soft_max_ext, {.infer = with_attrs<SoftMaxExtAttrs, soft_max_ext_infer>, .cost = row_cost<26>}};

}  // namespace tensorlib::core::ops
