// Gradient rules of sparse products. Which neurons are active counts as constant, so gradients flow only through active
// ones.
#include "ops/sparse.hpp"
#include "gradients/activated.hpp"
#include "gradients/rule.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

using By = ops::SparseRule::By;
constexpr std::size_t scores_at = ops::sparse_operands.scores, rows_at = ops::sparse_operands.rows;

// When neurons are active, as attributes of the operations that compute the gradient.
struct Mask {
    By by;
    double threshold;

    Attr by_attr() const { return Attr::of_int("by", static_cast<std::int64_t>(by)); }
    Attr threshold_attr() const { return Attr::of_number("threshold", threshold); }
    // v where what is tested is active, otherwise 0.
    Value of(const Value &v, const Value &tested) const {
        switch (by) {
            case By::score: return v.where(tested.op(Op::ge, tested.filled(threshold)));
            case By::magnitude: return v.where(tested.op(Op::abs).op(Op::ge, tested.filled(threshold)));
            case By::positive: break;
        }
        return v.where(tested.op(Op::gt, tested.filled(0)));
    }
};
// With this rule, nothing is left out.
constexpr Mask all_active{By::magnitude, 0};

template <class A>
Mask mask_of(const Rule &r) {
    return {static_cast<By>(r.attrs<A>().by), r.attrs<A>().threshold};
}

// The neurons for which the weights have rows: {n, T} out of {N, T}.
Value of_rows(const Rule &r, const Value &v, std::size_t operand = rows_at) {
    Tensor *rows = r.source(operand);
    return rows ? v.transposed().contiguous().op(Op::get_rows, {rows}).transposed() : v;
}

Activated gate_of(ops::SparseFfnActivation activation, const Value &x) {
    switch (activation) {
        case ops::SparseFfnActivation::relu: return activated(Op::relu, x);
        case ops::SparseFfnActivation::silu: return activated(Op::silu, x);
        case ops::SparseFfnActivation::gelu: break;
    }
    return activated(Op::gelu, x);
}

Value weights(const Rule &r) { return Value(r.nodes(), *r.source(0)); }

}  // namespace

// c = mask (a^T b): da = b (mask g)^T, and db, a sum of rows of a weighted by the active elements of g, is axpy.
constexpr GradientRule mul_mat_sparse{[](Rule &r) {
    Tensor *scores = r.source(scores_at);
    const Mask mask = scores ? mask_of<ops::MulMatSparseAttrs>(r) : all_active;
    r.give(0, [&] { return r[1].op(Op::out_prod, of_rows(r, scores ? mask.of(r.g(), r[scores_at]) : r.g())); });
    r.give(1,
           [&] { return weights(r).op(Op::axpy, {&r.g().tensor(), scores, r.source(rows_at)}, {mask.by_attr(), mask.threshold_attr()}); });
}};

// c = a_t (mask h): da_t = g (mask h)^T, and dh, products of the active rows, is mul_mat_sparse.
constexpr GradientRule axpy{[](Rule &r) {
    const Mask mask = mask_of<ops::AxpyAttrs>(r);
    const Value tested = r[r.has(scores_at) ? scores_at : 1];
    r.give(0, [&] { return r.g().op(Op::out_prod, of_rows(r, mask.of(r[1], tested))); });
    r.give(1, [&] {
        return weights(r).op(Op::mul_mat_sparse, {&r.g().tensor(), &tested.tensor(), r.source(rows_at)},
                             {mask.by_attr(), mask.threshold_attr(), Attr::of_int("exact", 1)});
    });
}};

// c = down_t z, z = mask (activation(G) U), G = gate^T x, U = up^T x. The block is computed with the operations that it
// consists of, for the neurons for which the matrices have rows.
constexpr GradientRule sparse_ffn{[](Rule &r) {
    const auto &attrs = r.attrs<ops::SparseFfnAttrs>();
    constexpr std::size_t scores_of = ops::ffn_operands.scores, rows_of = ops::ffn_operands.rows;
    const Mask mask = mask_of<ops::SparseFfnAttrs>(r);
    const auto matrix = [&](std::size_t operand) { return Value(r.nodes(), *r.source(operand)); };
    const Value &x = r[0];
    const bool up_first = attrs.first == ops::SparseFfnFirst::up;
    const auto found = [&] {
        const Value first = matrix(up_first ? 2 : 1).op(Op::mul_mat, {r.source(0)});
        return up_first ? first : gate_of(attrs.activation, first).value;
    };
    const Value tested = r.has(scores_of) ? of_rows(r, r[scores_of], rows_of) : found();
    // Products of the active rows with v, and their weighted sums.
    const auto products = [&](std::size_t operand, const Value &v, bool exact) {
        return matrix(operand).op(Op::mul_mat_sparse, {&v.tensor(), &tested.tensor(), nullptr},
                                  {mask.by_attr(), mask.threshold_attr(), Attr::of_int("exact", exact)});
    };
    const auto sums = [&](std::size_t operand, const Value &h) {
        return matrix(operand).op(Op::axpy, {&h.tensor(), &tested.tensor(), nullptr}, {mask.by_attr(), mask.threshold_attr()});
    };
    const Value pre = products(1, x, false), up = products(2, x, false);
    const Activated gate = gate_of(attrs.activation, pre);
    const Value dz = products(3, r.g(), true), d_up = dz * gate.value, d_gate = dz * up * gate.derivative;
    r.give(0, [&] { return sums(1, d_gate) + sums(2, d_up); });
    r.give(1, [&] { return x.op(Op::out_prod, d_gate); });
    r.give(2, [&] { return x.op(Op::out_prod, d_up); });
    r.give(3, [&] { return r.g().op(Op::out_prod, gate.value * up); });
}};

}  // namespace tensorlib::core::gradients::rules
