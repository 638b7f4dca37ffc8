// Gradient rules of matrix products.
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

const Attr exact = Attr::of_int("exact", 1);

// The columns of all slices as one matrix.
Value side_by_side(const Value &v) {
    const Extents &ne = v.ne();
    return v.shaped({ne[0], ne[1] * ne[2] * ne[3], 1, 1});
}

}  // namespace

// c = a^T b by slices, so da = b g^T and db = a g. Operands keep their types; the rounding of a weight is ignored.
constexpr GradientRule mul_mat{[](Rule &r) {
    const Value a(r.nodes(), *r.source(0));
    // If all slices share a weight, one product of all columns replaces one per slice, whose results would be summed.
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
    r.give(0, [&] { return g.transposed().op(Op::mul_mat, r[1], {exact}).slices_summed_to(r.ne(0)); });
    r.give(1, [&] { return Value(r.nodes(), *r.source(0)).op(Op::mul_mat, g, {exact}).transposed(); });
}};

// Each column of g belongs to one expert; its outer product is added to the expert's matrix.
constexpr GradientRule mul_mat_id{[](Rule &r) {
    const Value g = r.g();
    Tensor *ids = r.source(2);
    r.give(0, [&] {
        const Value b(r.nodes(), *r.source(1));
        return b.op(Op::out_prod_id, {&g.tensor(), ids}, {Attr::of_int("experts", r.ne(0)[2])});
    });
    r.give(1, [&] { return r[0].transposed().contiguous().op(Op::mul_mat_id, {&g.tensor(), ids}, {exact}); });
}};

// The gradient of a column is its expert's matrix times the other operand's column.
constexpr GradientRule out_prod_id{[](Rule &r) {
    const Value g = r.g();
    Tensor *ids = r.source(2);
    r.give(0, [&] { return g.transposed().contiguous().op(Op::mul_mat_id, {r.source(1), ids}, {exact}); });
    r.give(1, [&] { return g.op(Op::mul_mat_id, {r.source(0), ids}, {exact}); });
}};

// The transposed system for g, and its outer products with the unknowns.
constexpr GradientRule solve_tri{[](Rule &r) {
    const auto &attrs = r.attrs<ops::SolveTriAttrs>();
    const auto solved = [&] {
        return r[0].transposed().op(
            Op::solve_tri, r.g(), {Attr::of_int("left", 1), Attr::of_int("lower", attrs.lower ? 0 : 1), Attr::of_int("unit", attrs.unit)});
    };
    r.give(0, [&] {
        const char *triangle = attrs.lower ? (attrs.unit ? "lower" : "lower_diag") : (attrs.unit ? "upper" : "upper_diag");
        return (r.c().op(Op::mul_mat, solved(), {exact}) * -1.0).op(Op::tri, {}, {Attr::of_text("type", triangle)});
    });
    r.give(1, solved);
}};

}  // namespace tensorlib::core::gradients::rules
