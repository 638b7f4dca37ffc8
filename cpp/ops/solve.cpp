// solve_tri, which mul_mat.toml describes: checks, shape and cost.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::ops {

namespace {

void solve_tri_infer(std::span<Tensor *const> src, const SolveTriAttrs &attrs, NodeSpec &result) {
    const Layout &a = src[0]->layout, &b = src[1]->layout;
    check_floats(facts::solve_tri, src);
    const auto operands = [&] { return operands_text(facts::solve_tri, src); };
    if (!attrs.left)
        fail(Status::invalid_argument, "solve_tri: %s, left is 0: left = 1 is valid, with both operands transposed", operands().c_str());
    if (a.ne[0] != a.ne[1] || b.ne[1] != a.ne[0] || b.ne[2] != a.ne[2] || b.ne[3] != a.ne[3])
        fail(Status::shape_mismatch, "solve_tri: %s: a {n, n, x, y} and b {m, n, x, y} are valid", operands().c_str());
    result.layout = contiguous_layout("solve_tri", DType::f32, {b.ne.data(), static_cast<std::size_t>(b.n_dims)});
}

// A multiplication and an addition for half of the elements of a, in each system.
Cost solve_tri_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = static_cast<double>(node.layout.n_elements()) * static_cast<double>(node.layout.ne[1]);
    return cost;
}

}  // namespace

constexpr OpDef solve_tri{facts::solve_tri, {.infer = with_attrs<SolveTriAttrs, solve_tri_infer>, .cost = solve_tri_cost}};

}  // namespace tensorlib::core::ops
