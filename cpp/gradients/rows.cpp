// Gradient rules of norms, soft_max and reductions, which work along rows.
#include "gradients/masks.hpp"
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

// g without its component along c, and without its mean if the rows were centred; c is a row of a divided by its size.
Value orthogonal(const Value &g, const Value &c, bool centred) {
    const Value rest = g - c * (g * c).mean_rows();
    return centred ? rest - g.mean_rows() : rest;
}

// Rows of v divided by sqrt(a's variance + eps), or by the root mean square if they are not centred.
Value over_deviation(const Value &v, const Value &a, bool centred, double eps) {
    const Value centre = centred ? a - a.mean_rows() : a;
    return v / (centre.op(Op::sqr).mean_rows() + eps).op(Op::sqrt);
}

Value soft_max_back(const Value &g, const Value &weights) { return weights * (g - (g * weights).sum_rows()); }

}  // namespace

constexpr GradientRule norm{
    [](Rule &r) { r.give(0, [&] { return over_deviation(orthogonal(r.g(), r.c(), true), r[0], true, r.attrs<ops::NormAttrs>().eps); }); }};
constexpr GradientRule rms_norm{[](Rule &r) {
    r.give(0, [&] { return over_deviation(orthogonal(r.g(), r.c(), false), r[0], false, r.attrs<ops::RmsNormAttrs>().eps); });
}};
// If the length is below eps, the row was divided by a constant.
constexpr GradientRule l2_norm{[](Rule &r) {
    r.give(0, [&] {
        const Value length = r[0].op(Op::sqr).sum_rows().op(Op::sqrt), eps = length.filled(r.attrs<ops::L2NormAttrs>().eps);
        const Value along = (r.g() * r.c()).sum_rows().where(length.op(Op::gt, eps));
        return (r.g() - r.c() * along) / length.op(Op::maximum, eps);
    });
}};
// Each group of channels is a row; the last groups may be smaller, or empty.
constexpr GradientRule group_norm{[](Rule &r) {
    const auto &attrs = r.attrs<ops::GroupNormAttrs>();
    const Extents ne = r.ne(0);
    const std::int64_t channels = ne[2], most = (channels + attrs.groups - 1) / attrs.groups;
    const auto of_groups = [&](std::int64_t from, std::int64_t group, std::int64_t groups) {
        const Extents rows{ne[0] * ne[1] * group, groups, ne[3], 1};
        const auto part = [&](const Value &v) { return v.narrowed(2, from, group * groups).shaped(rows); };
        const Value g = orthogonal(part(r.g()), part(r.c()), true);
        return over_deviation(g, part(r[0]), true, attrs.eps).shaped({ne[0], ne[1], group * groups, ne[3]});
    };
    r.give(0, [&] {
        if (r.node().layout.n_elements() == 0) return r.g();
        const std::int64_t whole = channels / most, left = channels % most;
        const Value first = of_groups(0, most, whole);
        if (left == 0) return first;
        return first.op(Op::concat, of_groups(whole * most, left, 1), {Attr::of_int("dim", 2)});
    });
}};
constexpr GradientRule soft_max{[](Rule &r) { r.give(0, [&] { return soft_max_back(r.g(), r.c()); }); }};
constexpr GradientRule log_soft_max{[](Rule &r) { r.give(0, [&] { return r.g() - r.c().op(Op::exp) * r.g().sum_rows(); }); }};
constexpr GradientRule soft_max_ext{[](Rule &r) {
    const auto &attrs = r.attrs<ops::SoftMaxExtAttrs>();
    const Value g = r.g(), weights = r.c(), d = soft_max_back(g, weights);
    r.give(0, [&] { return d * attrs.scale; });
    if (r.has(1)) r.give(1, [&] { return mask_gradient(d, r.ne(1), attrs.max_bias); });
    if (r.has(2)) r.give(2, [&] { return sinks_gradient(g, weights); });
}};

// Repeated explicitly, because a sum's gradient is one element.
constexpr GradientRule sum{[](Rule &r) { r.give(0, [&] { return r.g().repeated(r.ne(0)); }); }};
constexpr GradientRule sum_rows = sum;
constexpr GradientRule mean{[](Rule &r) { r.give(0, [&] { return (r.g() * (1 / static_cast<double>(r.ne(0)[0]))).repeated(r.ne(0)); }); }};
// Running sums from the end: the sum of the row minus the sums before.
constexpr GradientRule cumsum{[](Rule &r) {
    r.give(0, [&] {
        const Value g = r.g();
        return g - g.op(Op::cumsum) + g.sum_rows();
    });
}};
constexpr GradientRule cross_entropy_loss{[](Rule &r) {
    const Value a = r[0];
    const double rows = static_cast<double>(a.tensor().layout.n_rows());
    const Value g = r.g() * (1 / rows);
    // A row without labels has no effect, whatever its values: a completely masked row has no soft_max.
    r.give(0, [&] {
        const Value labels = r[1].sum_rows();
        return ((a.op(Op::soft_max) * labels).where(labels) - r[1]) * g;
    });
    r.give(1, [&] { return (-(a.op(Op::log_soft_max) * g)).where(g); });
}};
constexpr GradientRule argmax = no_gradient, argsort = no_gradient, top_k = no_gradient, count_equal = no_gradient;

}  // namespace tensorlib::core::gradients::rules
