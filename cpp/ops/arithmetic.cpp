// Element-by-element arithmetic: what arithmetic.toml describes.
#include "base/fail.hpp"
#include "ops/op_facts.hpp"

namespace tensorlib::core::ops {

namespace {

bool is_arithmetic(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

void check_arithmetic(const char *op, const Tensor &a, const Tensor &b) {
    if (is_arithmetic(a.layout.type) && is_arithmetic(b.layout.type)) return;
    fail(Status::type_mismatch, "%s: a is %s, b is %s: each must be f32, f16 or bf16", op, tensor_text(a).c_str(), tensor_text(b).c_str());
}

// Whether b repeats into a: every dimension of a is a multiple of b's. A zero dimension of b meets only a zero in a.
bool repeats_into(const Extents &b, const Extents &a) {
    for (int d = 0; d < max_dims; d++) {
        if (b[d] == 0 ? a[d] != 0 : a[d] % b[d] != 0) return false;
    }
    return true;
}

void add_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1];
    check_arithmetic("add", a, b);
    if (!repeats_into(b.layout.ne, a.layout.ne)) {
        fail(Status::shape_mismatch, "add: a is %s, b is %s: each dimension of b must be 1 or divide that of a", tensor_text(a).c_str(),
             tensor_text(b).c_str());
    }
    result.layout = contiguous_layout("add", a.layout.type, {a.layout.ne.data(), static_cast<std::size_t>(a.layout.n_dims)});
}

Cost add_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = static_cast<double>(node.layout.n_elements());
    return cost;
}

Formula add_formula(const Tensor &) noexcept { return {.op = TileOp::add, .sources = {{{0, 0}, {1, 0}}}}; }

}  // namespace

constexpr OpDef add{facts::add, {.infer = add_infer, .cost = add_cost, .formula = add_formula}};

}  // namespace tensorlib::core::ops
