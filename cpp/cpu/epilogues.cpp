#include "cpu/epilogues.hpp"

namespace tensorlib::core {

namespace {

// Of one column: n floats of c, and the operand's row, from the same element on, or its one number.
void add(const leaf::LeafTable &leaf, std::int64_t n, float *c, const float *operand, bool one) noexcept {
    if (one) {
        leaf.elementwise.add_scalar(n, c, *operand, c);
    } else {
        leaf.elementwise.add(n, c, operand, c);
    }
}

struct Entry {
    Op op;
    void (*column)(const leaf::LeafTable &leaf, std::int64_t n, float *c, const float *operand, bool one) noexcept;
};
constexpr Entry table[] = {
    {Op::add, add},
};

}  // namespace

void finish_tile(const Step &step, const leaf::LeafTable &leaf, std::int64_t batch, std::int64_t row, std::int64_t rows,
                 std::int64_t column, std::int64_t columns) noexcept {
    if (!step.epilogue) return;
    const Entry *entry = table;
    while (entry->op != step.epilogue->op) ++entry;
    const TensorRef &c = step.dst, &o = step.epilogue_operand;
    const bool one = o.ne[0] == 1 && c.ne[0] != 1;
    for (std::int64_t j = column; j < column + columns; j++) {
        const RowIndex at{j, batch % c.ne[2], batch / c.ne[2]};
        const auto *operand = reinterpret_cast<const float *>(row_address(o, {at.i1 % o.ne[1], at.i2 % o.ne[2], at.i3 % o.ne[3]}));
        entry->column(leaf, rows, reinterpret_cast<float *>(row_address(c, at)) + row, one ? operand : operand + row, one);
    }
}

}  // namespace tensorlib::core
