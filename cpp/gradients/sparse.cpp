// Rules of sparse products: which neurons are active counts as constant, so gradients flow through the active ones alone.
#include "ops/sparse.hpp"
#include "gradients/rule.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

using By = ops::SparseRule::By;
constexpr std::size_t scores_at = ops::sparse_operands.scores, rows_at = ops::sparse_operands.rows;

// When neurons are active, as attributes of the operations that the gradient is made of.
struct Mask {
    By by;
    double threshold;

    Attr by_attr() const { return Attr::of_int("by", static_cast<std::int64_t>(by)); }
    Attr threshold_attr() const { return Attr::of_number("threshold", threshold); }
    // v where what is tested is active, else 0.
    Value of(const Value &v, const Value &tested) const {
        switch (by) {
            case By::score: return v.where(tested.op(Op::ge, tested.filled(threshold)));
            case By::magnitude: return v.where(tested.op(Op::abs).op(Op::ge, tested.filled(threshold)));
            case By::positive: break;
        }
        return v.where(tested.op(Op::gt, tested.filled(0)));
    }
};
// Of a number nothing is left out.
constexpr Mask all_active{By::magnitude, 0};

template <class A>
Mask mask_of(const Rule &r) {
    return {static_cast<By>(r.attrs<A>().by), r.attrs<A>().threshold};
}

// Of {N, T} the neurons that the weights have rows of, {n, T}.
Value of_rows(const Rule &r, const Value &v) {
    Tensor *rows = r.source(rows_at);
    return rows ? v.transposed().contiguous().op(Op::get_rows, {rows}).transposed() : v;
}

Value weights(const Rule &r) { return Value(r.nodes(), *r.source(0)); }

}  // namespace

// c = mask (a^T b): da = b (mask g)^T, and db, a sum of rows of a by what is active of g, is axpy.
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

}  // namespace tensorlib::core::gradients::rules
