#include "runtime/epilogue.hpp"

namespace tensorlib::core {

namespace {

// A row of floats, a matrix, or one number a row, repeating over the columns and beyond.
int add_operand(const Tensor &node, const Tensor &product) noexcept {
    if (node.layout.type != DType::f32 || node.layout.ne != product.layout.ne) return -1;
    const int other = node.src[0] == &product ? 1 : 0;
    const Layout &operand = node.src[other]->layout;
    const bool rows = operand.ne[0] == node.layout.ne[0] && operand.rows_contiguous();
    return operand.type == DType::f32 && (rows || operand.ne[0] == 1) ? other : -1;
}

constexpr EpilogueDef table[] = {
    {Op::add, add_operand},
};

}  // namespace

const EpilogueDef *find_epilogue(Op op) noexcept {
    for (const EpilogueDef &epilogue : table) {
        if (epilogue.op == op) return &epilogue;
    }
    return nullptr;
}

}  // namespace tensorlib::core
