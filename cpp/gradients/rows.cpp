// Gradient rules of norms, soft_max and reductions, which work along rows.
#include "gradients/masks.hpp"
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/reduction.hpp"

#include <limits>

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

// A reduction's gradient, which has a value for each group, in a shape that repeats into that of its operand.
struct Groups {
    explicit Groups(const Rule &r) : node(r.node()), set(ops::reduced_dims(node).set) {
        for (std::size_t d = 0; d < max_dims; d++) {
            if (set >> d & 1) kept[d] = 1;
        }
    }
    Value of(const Value &v) const { return v.shaped(kept); }
    double divisor() const { return ops::reduced_result(node).divisor; }

    const Tensor &node;
    unsigned set;
    Extents kept = node.src[0]->layout.ne;
};

// Repeated explicitly, because a sum's gradient has an element for each group.
constexpr GradientRule sum{[](Rule &r) { r.give(0, [&] { return Groups(r).of(r.g()).repeated(r.ne(0)); }); }};
constexpr GradientRule sum_rows = sum;
constexpr GradientRule mean{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        return (groups.of(r.g()) * (1 / groups.divisor())).repeated(r.ne(0));
    });
}};
// Elements that are equally large share g.
constexpr GradientRule max{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        const Value is_extreme = r[0].op(Op::eq, groups.of(r.c()));
        const Value share = groups.of(r.g()) / is_extreme.reduced(Op::sum, groups.set);
        return share.where(is_extreme);
    });
}};
constexpr GradientRule min = max;
constexpr GradientRule var{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        const Value a = r[0];
        return (a - a.reduced(Op::mean, groups.set)) * (groups.of(r.g()) * (2 / groups.divisor()));
    });
}};
// Where all elements are equal, the slope has no limit; 0 is its mean over all directions.
constexpr GradientRule std{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        const Value a = r[0], c = groups.of(r.c());
        const Value scaled = ((a - a.reduced(Op::mean, groups.set)) / c) * (groups.of(r.g()) * (1 / groups.divisor()));
        return scaled.where(c);
    });
}};
// With a single 0, only its own gradient is not 0; with several, none is.
constexpr GradientRule prod{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        const Value a = r[0], zero = a.filled(0), one = a.filled(1), is_zero = a.op(Op::eq, zero);
        const Value zeros = is_zero.reduced(Op::sum, groups.set), g = groups.of(r.g());
        const Value others = is_zero.op(Op::where, {&one.tensor(), &a.tensor()});
        const Value product = others.reduced(Op::prod, groups.set) * g;
        const Value at_zero = product.where(zeros.op(Op::eq, zeros.filled(1))),
                    elsewhere = product.where(zeros.op(Op::eq, zeros.filled(0)));
        const Value quotient = elsewhere / others;
        return is_zero.op(Op::where, {&at_zero.tensor(), &quotient.tensor()});
    });
}};
// Where c is -infinity, so is each element, and the exponentials would be NaN.
constexpr GradientRule log_sum_exp{[](Rule &r) {
    r.give(0, [&] {
        const Groups groups(r);
        const Value a = r[0], c = groups.of(r.c());
        const Value weights = (a - c).op(Op::exp) * groups.of(r.g());
        return weights.where(c.op(Op::gt, c.filled(-std::numeric_limits<double>::infinity())));
    });
}};
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
constexpr GradientRule argmax = no_gradient, argmin = no_gradient, any = no_gradient, all = no_gradient;
constexpr GradientRule argsort = no_gradient, top_k = no_gradient, count_equal = no_gradient;

}  // namespace tensorlib::core::gradients::rules
