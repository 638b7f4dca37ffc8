// The gradient rule of custom operations: whatever their makers build.
#include "ops/custom.hpp"
#include "gradients/rule.hpp"

#include "base/fail.hpp"
#include "ops/elementwise.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

Tensor &gradient_of(Rule &r, const CustomOp &op, std::size_t operand) {
    Tensor &node = const_cast<Tensor &>(r.node());
    Tensor *made = op.gradient(r.nodes().context(), node, r.g().tensor(), operand);
    const auto refuse = [&](const std::string &what) {
        fail(Status::invalid_argument, "gradients: %s of %s: the gradient of operand %zu %s: f32 of the operand's shape is valid",
             op_text(node).c_str(), sources_text(node).c_str(), operand, what.c_str());
    };
    if (!made) refuse("is NULL");
    if (!ops::is_float(made->layout.type) || made->layout.ne != r.ne(operand)) refuse("is " + tensor_text(*made));
    return *made;
}

}  // namespace

constexpr GradientRule custom{
    [](Rule &r) {
        const CustomOp &op = CustomOp::of(r.node());
        for (std::size_t i = 0; i < r.node().n_src; i++) r.give(i, [&] { return r.f32(gradient_of(r, op, i)); });
    },
    [](const Tensor &node) { return CustomOp::of(node).has_gradient() ? std::string() : op_text(node) + " has no gradient function"; }};

}  // namespace tensorlib::core::gradients::rules
