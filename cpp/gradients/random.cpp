// Gradient rules of operations that draw random numbers.
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::gradients::rules {

constexpr GradientRule random_uniform = no_gradient, random_normal = no_gradient;
// The backward pass drops identical elements, because only the state determines them.
constexpr GradientRule dropout{[](Rule &r) {
    const auto &attrs = r.attrs<ops::DropoutAttrs>();
    r.give(0, [&] { return r.g().op(Op::dropout, {r.source(1)}, {Attr::of_number("p", attrs.p), Attr::of_int("stream", attrs.stream)}); });
}};

}  // namespace tensorlib::core::gradients::rules
