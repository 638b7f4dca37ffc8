// Shared by the functions that make nodes.
#pragma once

#include "handles.hpp"
#include "ops/op_def.hpp"

#include <array>
#include <span>
#include <vector>

namespace tensorlib::capi {

// Makes a node in this context.
template <std::size_t N>
core::Tensor *node(core::Context &context, core::Op op, const std::array<tl_tensor *, N> &src, std::span<const core::Attr> attrs = {}) {
    std::array<core::Tensor *, N> unwrapped;
    for (std::size_t i = 0; i < N; i++) unwrapped[i] = unwrap_operand(src[i]);
    return core::build_node(context, op, unwrapped, attrs);
}

// The whole function of an operation without attributes, or whose attributes are only checked when the node is built.
template <std::size_t N>
tl_tensor *build(tl_context *ctx, core::Op op, const std::array<tl_tensor *, N> &src, std::span<const core::Attr> attrs = {}) {
    return constructed(ctx, [&](core::Context &context) { return node<N>(context, op, src, attrs); });
}

// A caller's options, whose defaults are zeros; NULL stands for all defaults. A struct that ends before an option leaves it
// out.
template <class T>
T options_of(const T *params, const char *function) {
    return params ? read_params<sizeof(std::size_t)>(params, function) : T{};
}

// The operands that a count and a pointer describe.
inline std::vector<core::Tensor *> operands_of(const core::OpDef &def, const char *name, tl_tensor *const *src, size_t n_src) {
    core::check_operand_count(def, n_src);
    if (n_src > 0) required(src, def.name, name);
    std::vector<core::Tensor *> unwrapped;
    for (size_t i = 0; i < n_src; i++) unwrapped.push_back(unwrap_operand(src[i]));
    return unwrapped;
}

// The number by which a node names its group.
inline int64_t group_number(const tl_group *group, const char *op) {
    return static_cast<int64_t>(unwrap(required(group, op, "group"))->id());
}

// The shape that a count and a pointer describe.
inline std::span<const int64_t> shape_of(const char *op, int32_t n_dims, const int64_t *ne) {
    if (n_dims < 1 || n_dims > core::max_dims) core::fail(Status::invalid_argument, "%s: n_dims is %d: 1 to 4 are valid", op, n_dims);
    return {required(ne, op, "ne"), static_cast<std::size_t>(n_dims)};
}

}  // namespace tensorlib::capi
