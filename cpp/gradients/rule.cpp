#include "gradients/rule.hpp"

namespace tensorlib::core::gradients {

Value Rule::f32(Tensor &t) const { return Value(nodes_, t).cast(DType::f32); }

void Rule::put(std::size_t operand, const Value &gradient) {
    const Value summed = gradient.summed_to(ne(operand));
    Tensor *&sum = sums_.of(*node_.src[operand]);
    sum = sum ? &(Value(nodes_, *sum) + summed).tensor() : &summed.tensor();
}

const GradientRule &rule_of(Op op) noexcept {
    switch (op) {
        case Op::leaf: break;
#define TL_OP(name, number) \
    case Op::name: return rules::name;
#define TL_COMPOSED_OP(name, number) \
    case Op::name: break;
#include "graph/gen/op_list.inc"
#undef TL_COMPOSED_OP
#undef TL_OP
    }
    return no_gradient;  // leafs are where gradients end, and composed operations make other nodes
}

}  // namespace tensorlib::core::gradients
