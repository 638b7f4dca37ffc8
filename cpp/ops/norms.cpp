// Norms and soft_max, described in norms.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/masks.hpp"

#include <algorithm>

namespace tensorlib::core::ops {

namespace {

// Shared by all: the operand is a float, and the result has its shape and type.
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
    const Tensor *mask = src[1], *sinks = src[2];
    const Extents &na = src[0]->layout.ne;
    check_floats(facts::soft_max_ext, src.first(mask ? 2 : 1));
    check_mask(facts::soft_max_ext, src, {.mask = mask, .sinks = sinks, .columns = na[0], .rows = na[1], .heads = na[2], .batches = na[3]},
               attrs.max_bias);
    same_infer(facts::soft_max_ext, src, result);
}

// Reads all operands, writes the result, and takes `flops` operations per element: one or two sums and a factor; e^x
// takes 20.
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
constexpr OpDef log_soft_max{facts::log_soft_max, {.infer = plain_infer, .cost = row_cost<24>}};
constexpr OpDef soft_max_ext{facts::soft_max_ext, {.infer = with_attrs<SoftMaxExtAttrs, soft_max_ext_infer>, .cost = row_cost<26>}};

}  // namespace tensorlib::core::ops
