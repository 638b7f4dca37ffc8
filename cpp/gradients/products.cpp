// Rules of matrix products.
#include "gradients/rule.hpp"
#include "ops/op_facts.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

// The columns of all slices side by side, as one matrix.
Value side_by_side(const Value &v) {
    const Extents &ne = v.ne();
    return v.shaped({ne[0], ne[1] * ne[2] * ne[3], 1, 1});
}

}  // namespace

// c = a^T b by slices, so da = b g^T and db = a g. Operands keep their types: what is rounded in a weight counts as none.
constexpr GradientRule mul_mat{[](Rule &r) {
    const Value a(r.nodes(), *r.source(0));
    // A weight that all slices share: one product of all columns, in place of one a slice, whose results would be summed.
    if (r.ne(0)[2] * r.ne(0)[3] == 1) {
        const Value g = side_by_side(r.g());
        r.give(0, [&] { return side_by_side(r[1]).op(Op::out_prod, g); });
        r.give(1, [&] { return a.op(Op::out_prod, g.transposed()).shaped(r.ne(1)); });
        return;
    }
    const Value g = r.g();
    r.give(0, [&] { return r[1].op(Op::out_prod, g).slices_summed_to(r.ne(0)); });
    r.give(1, [&] { return a.op(Op::out_prod, g.transposed()); });
}};

// c = a b^T.
constexpr GradientRule out_prod{[](Rule &r) {
    const Value g = r.g();
    const Attr exact = Attr::of_int("exact", 1);
    r.give(0, [&] { return g.transposed().op(Op::mul_mat, r[1], {exact}).slices_summed_to(r.ne(0)); });
    r.give(1, [&] { return Value(r.nodes(), *r.source(0)).op(Op::mul_mat, g, {exact}).transposed(); });
}};

// Each column of g belongs to one expert: the product with all experts' masks gives each its own.
constexpr GradientRule mul_mat_id{[](Rule &r) {
    const Value g = r.g();
    Tensor *ids = r.source(2);
    const std::int64_t k = r.ne(0)[0], m = r.ne(0)[1], experts = r.ne(0)[2], used = r.ne(2)[0], columns = used * r.ne(2)[1];
    r.give(0, [&] {
        // -1 is row 0 of a matrix that has one row more, which is then cut off. (Numbers of experts are exact in F32: 2^24 of them would
        // be masks of more bytes than there are.)
        const Value numbers = Value(r.nodes(), *ids).shaped({columns, 1, 1, 1}).cast(DType::f32) + 1;
        const Value all = g.unit_matrix(experts + 1).op(Op::get_rows, {&numbers.cast(DType::i32).tensor()});
        const Value mine = all.narrowed(0, 1, experts);
        const Value masks = mine.transposed().contiguous().shaped({1, columns, experts, 1});
        const Value inputs = r[1].repeated({k, used, r.ne(2)[1], 1}).shaped({k, columns, 1, 1});
        return inputs.op(Op::out_prod, g.shaped({m, columns, 1, 1}).repeated({m, columns, experts, 1}) * masks);
    });
    r.give(1, [&] { return r[0].transposed().contiguous().op(Op::mul_mat_id, {&g.tensor(), ids}, {Attr::of_int("exact", 1)}); });
}};

}  // namespace tensorlib::core::gradients::rules
