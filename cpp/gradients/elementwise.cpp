// Gradient rules of elementwise operations: arithmetic, functions of one operand, activations and gates.
#include "gradients/activated.hpp"
#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tensorlib::core::gradients::rules {

namespace {

Value sigmoid_of(const Value &a) { return a.op(Op::sigmoid); }

// 1 for elements above `border`, otherwise 0.
Value above(const Value &a, double border = 0) { return a.scaled(1, -border).op(Op::step); }

// Limits x to `most` in magnitude, for derivatives of functions that become straight lines in both directions. At that
// point the derivatives have reached 0 or 1 in F32, and their formulas avoid infinities, such as the square of 2e19.
Value held(const Value &x, double most) { return x.op(Op::clamp, {}, {Attr::of_number("min", -most), Attr::of_number("max", most)}); }

// e^-130 is 0 in F32.
double logistic_end(double factor) { return std::min(130 / std::abs(factor), static_cast<double>(std::numeric_limits<float>::max())); }

// The derivative of x s(factor x): s (1 + factor x (1 - s)).
Value swish_derivative(const Value &x, double factor) {
    const Value near = held(x, logistic_end(factor)) * factor, s = sigmoid_of(near);
    return s * (near * s.scaled(-1, 1) + 1);
}

// (1 + t) / 2 + x (1 - t^2) h / 2 with t = tanh(k (x + 0.044715 x^3)), h = k (1 + 0.134145 x^2), k = sqrt(2 / pi). At 10 t is 1 in F32.
Value gelu_derivative(const Value &all) {
    const double k = std::sqrt(2 / std::numbers::pi);
    const Value x = held(all, 10), square = x.op(Op::sqr), t = (x * square.scaled(k * 0.044715, k)).op(Op::tanh);
    return t.scaled(0.5, 0.5) + x * t.op(Op::sqr).scaled(-0.5, 0.5) * square.scaled(k * 0.134145, k);
}

// The normal distribution function at x, plus x times its density. At 16 they are 1 and 0 in F32.
Value gelu_erf_derivative(const Value &all) {
    const Value x = held(all, 16), below = (x * (1 / std::numbers::sqrt2)).op(Op::erf).scaled(0.5, 0.5);
    return below + x * ((x.op(Op::sqr) * -0.5).op(Op::exp) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2));
}

// m s(alpha m) for m = min(x, limit). Above the limit, the gate keeps its value at the limit; at the limit, its
// derivative is still the one below it.
Activated limited_gate(const ops::GluAttrs &attrs, const Value &x) {
    const double end = logistic_end(attrs.alpha), most = std::numeric_limits<float>::max();
    const auto between = [&](double least, double largest) {
        return x.op(Op::clamp, {}, {Attr::of_number("min", least), Attr::of_number("max", largest)});
    };
    const Value below = x.op(Op::le, x.filled(attrs.limit)), capped = between(-most, attrs.limit);
    // The tail ends before -infinity, because -infinity times 0 is NaN.
    const Value tail_held = attrs.alpha < 0 ? between(-most, std::min(end, attrs.limit)) : between(-end, attrs.limit);
    return {tail_held * sigmoid_of(tail_held * attrs.alpha), swish_derivative(capped, attrs.alpha).where(below)};
}

Activated gate_of(const ops::GluAttrs &attrs, const Value &x) {
    switch (attrs.op) {
        case ops::GluOp::reglu: return activated(Op::relu, x);
        case ops::GluOp::geglu: return activated(Op::gelu, x);
        case ops::GluOp::swiglu: return activated(Op::silu, x);
        case ops::GluOp::geglu_erf: return {x.op(Op::gelu_erf), gelu_erf_derivative(x)};
        case ops::GluOp::geglu_quick: return {x.op(Op::gelu_quick), swish_derivative(x, 1.702)};
        case ops::GluOp::swiglu_oai: break;
    }
    return limited_gate(attrs, x);
}

void glu_build(Rule &r) {
    const auto &attrs = r.attrs<ops::GluAttrs>();
    const bool split = r.has(1);
    const std::int64_t n = r.node().layout.ne[0];
    const Value first = split ? r[0] : r[0].narrowed(0, 0, n).contiguous(), second = split ? r[1] : r[0].narrowed(0, n, n).contiguous();
    const Value &x = attrs.swapped ? second : first, &up = attrs.swapped ? first : second, g = r.g();
    const Activated gate = gate_of(attrs, x);
    Value d_gate = g * gate.derivative, d_up = g * gate.value;
    if (attrs.op == ops::GluOp::swiglu_oai) {
        const Value inside = up.op(Op::clamp, {}, {Attr::of_number("min", -attrs.limit), Attr::of_number("max", attrs.limit)});
        d_gate = d_gate * (inside + 1);
        d_up = d_up.where(up.op(Op::eq, inside));
    } else {
        d_gate = d_gate * up;
    }
    const Value &d_first = attrs.swapped ? d_up : d_gate, &d_second = attrs.swapped ? d_gate : d_up;
    if (split) {
        r.give(0, [&] { return d_first; });
        r.give(1, [&] { return d_second; });
    } else {
        r.give(0, [&] { return d_first.op(Op::concat, d_second, {Attr::of_int("dim", 0)}).padded(0, 0, r.ne(0)[0] - 2 * n); });
    }
}

// g times a derivative that may be infinite. A later mask makes g 0 there, and 0 times infinity would be NaN.
Value masked(const Value &g, const Value &gradient) { return gradient.where(g); }

// For a function of one operand: g times its derivative.
template <class Derivative>
void times(Rule &r, Derivative &&derivative) {
    r.give(0, [&] { return r.g() * derivative(); });
}

}  // namespace

constexpr GradientRule add{[](Rule &r) {
    r.give(0, [&] { return r.g(); });
    r.give(1, [&] { return r.g(); });
}};
constexpr GradientRule add1 = add;
constexpr GradientRule sub{[](Rule &r) {
    r.give(0, [&] { return r.g(); });
    r.give(1, [&] { return -r.g(); });
}};
constexpr GradientRule mul{[](Rule &r) {
    r.give(0, [&] { return r.g() * r[1]; });
    r.give(1, [&] { return r.g() * r[0]; });
}};
constexpr GradientRule div{[](Rule &r) {
    r.give(0, [&] { return r.g() / r[1]; });
    r.give(1, [&] { return -(r.g() * r.c() / r[1]); });
}};
// If both are equal, the whole gradient goes to a.
constexpr GradientRule maximum{[](Rule &r) {
    r.give(0, [&] { return r.g().where(r[0].op(Op::ge, r[1])); });
    r.give(1, [&] { return r.g().where(r[0].op(Op::lt, r[1])); });
}};
constexpr GradientRule minimum{[](Rule &r) {
    r.give(0, [&] { return r.g().where(r[0].op(Op::le, r[1])); });
    r.give(1, [&] { return r.g().where(r[0].op(Op::gt, r[1])); });
}};
// a^0 is 1 for every a, and 0^b and infinity^b are 0 for most b. In these cases log(a) and a^(b - 1) must not be
// multiplied.
constexpr GradientRule pow{[](Rule &r) {
    r.give(0, [&] {
        const Value power = r[0].op(Op::pow, r[1].scaled(1, -1));
        return masked(r.g(), r.g() * (power * r[1]).where(r[1]).where(power));
    });
    r.give(1, [&] { return masked(r.g(), (r.g() * r.c() * r[0].op(Op::log)).where(r[0]).where(r.c())); });
}};
constexpr GradientRule bitwise_and = no_gradient, bitwise_or = no_gradient, bitwise_xor = no_gradient, bitwise_not = no_gradient;
constexpr GradientRule shift_left = no_gradient, shift_right = no_gradient;
constexpr GradientRule eq = no_gradient, ne = no_gradient, lt = no_gradient, le = no_gradient, gt = no_gradient, ge = no_gradient;
constexpr GradientRule where{[](Rule &r) {
    const Value g = r.g();
    const auto repeated = [&] { return r[0].ne() == g.ne() ? r[0] : r[0].repeated(g.ne()); };
    r.give(1, [&] { return g.where(repeated()); });
    r.give(2, [&] { return repeated().op(Op::where, {&g.filled(0).tensor(), &g.tensor()}); });
}};
constexpr GradientRule scale{[](Rule &r) { r.give(0, [&] { return r.g() * r.attrs<ops::ScaleAttrs>().scale; }); }};
constexpr GradientRule clamp{[](Rule &r) {
    r.give(0, [&] {
        const auto &attrs = r.attrs<ops::ClampAttrs>();
        const Value a = r[0];
        return r.g().where(a.op(Op::ge, a.filled(attrs.min))).where(a.op(Op::le, a.filled(attrs.max)));
    });
}};
constexpr GradientRule fill = no_gradient;

constexpr GradientRule abs{[](Rule &r) { times(r, [&] { return r[0].op(Op::sgn); }); }};
constexpr GradientRule neg{[](Rule &r) { r.give(0, [&] { return -r.g(); }); }};
constexpr GradientRule sqr{[](Rule &r) { times(r, [&] { return r[0] * 2; }); }};
constexpr GradientRule sqrt{[](Rule &r) { r.give(0, [&] { return masked(r.g(), r.g() * 0.5 / r.unrounded()); }); }};
constexpr GradientRule log{[](Rule &r) { r.give(0, [&] { return masked(r.g(), r.g() / r[0]); }); }};
constexpr GradientRule exp{[](Rule &r) { times(r, [&] { return r.unrounded(); }); }};
constexpr GradientRule expm1{[](Rule &r) { times(r, [&] { return r.unrounded() + 1; }); }};
constexpr GradientRule erf{[](Rule &r) { times(r, [&] { return (-r[0].op(Op::sqr)).op(Op::exp) * (2 * std::numbers::inv_sqrtpi); }); }};
constexpr GradientRule sin{[](Rule &r) { times(r, [&] { return r[0].op(Op::cos); }); }};
constexpr GradientRule cos{[](Rule &r) { times(r, [&] { return -r[0].op(Op::sin); }); }};
constexpr GradientRule sgn = no_gradient, step = no_gradient, floor = no_gradient, ceil = no_gradient, round = no_gradient,
                       trunc = no_gradient;

// The result suffices, so the operand need not be kept, and relu can be fused into the product or chain before it.
constexpr GradientRule relu{[](Rule &r) { r.give(0, [&] { return r.g().where(above(r.c())); }); }};
constexpr GradientRule sigmoid{[](Rule &r) { times(r, [&] { return r.unrounded() * r.unrounded().scaled(-1, 1); }); }};
constexpr GradientRule tanh{[](Rule &r) { times(r, [&] { return r.unrounded().op(Op::sqr).scaled(-1, 1); }); }};
constexpr GradientRule elu{[](Rule &r) {
    // c is a above 0, and e^a - 1 below: min(c, 0) + 1 is the derivative on both sides.
    times(r, [&] { return r.unrounded().op(Op::minimum, r.unrounded().filled(0)) + 1; });
}};
constexpr GradientRule softplus{[](Rule &r) { times(r, [&] { return sigmoid_of(r[0]); }); }};
constexpr GradientRule silu{[](Rule &r) { times(r, [&] { return swish_derivative(r[0], 1); }); }};
constexpr GradientRule gelu{[](Rule &r) { times(r, [&] { return gelu_derivative(r[0]); }); }};
constexpr GradientRule gelu_erf{[](Rule &r) { times(r, [&] { return gelu_erf_derivative(r[0]); }); }};
constexpr GradientRule gelu_quick{[](Rule &r) { times(r, [&] { return swish_derivative(r[0], 1.702); }); }};
// (2 a + 3) / 6 between -3 and 3, 0 below and 1 above; it jumps at both ends.
constexpr GradientRule hardswish{[](Rule &r) {
    r.give(0, [&] {
        const Value a = r[0], inside = r.g() * a.scaled(2.0 / 6, 3.0 / 6);
        const Value upper = a.op(Op::ge, a.filled(3)).op(Op::where, {&r.g().tensor(), &inside.tensor()});
        return upper.where(above(a, -3));
    });
}};
constexpr GradientRule hardsigmoid{
    [](Rule &r) { r.give(0, [&] { return (r.g() * (1.0 / 6)).where(r[0].op(Op::abs).op(Op::lt, r[0].filled(3))); }); }};
constexpr GradientRule leaky_relu{[](Rule &r) {
    const double slope = r.attrs<ops::LeakyReluAttrs>().slope;
    r.give(0, [&] { return above(r[0]).op(Op::where, {&r.g().tensor(), &(r.g() * slope).tensor()}); });
}};
constexpr GradientRule xielu{[](Rule &r) {
    const auto &attrs = r.attrs<ops::XieluAttrs>();
    times(r, [&] {
        const Value a = r[0], upper = a.scaled(2 * attrs.alpha_p, attrs.beta);
        const Value below = a.op(Op::exp).where(a.op(Op::lt, a.filled(attrs.eps))).scaled(attrs.alpha_n, attrs.beta - attrs.alpha_n);
        return above(a).op(Op::where, {&upper.tensor(), &below.tensor()});
    });
}};
constexpr GradientRule glu{glu_build};

}  // namespace tensorlib::core::gradients::rules

namespace tensorlib::core::gradients {

Activated activated(Op activation, const Value &x) {
    using namespace rules;
    const Value value = x.op(activation);
    if (activation == Op::relu) return {value, above(x)};
    return {value, activation == Op::silu ? swish_derivative(x, 1) : gelu_derivative(x)};
}

}  // namespace tensorlib::core::gradients
