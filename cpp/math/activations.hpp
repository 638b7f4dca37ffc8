// Activations, and gates made of them. Where they cancel or leave the range of normal floats they are written so that digits are not lost:
// their errors are below 1e-6 of the result, and one subnormal step below 2^-126.
#pragma once

#include "math/error_function.hpp"

namespace TL_MATH {

template <class V>
TL_MATH_INLINE Real<V> relu(Real<V> x) {
    return Real<V>::select(x <= 0.0f, 0.0f, x);
}

template <class V>
TL_MATH_INLINE Real<V> leaky_relu(Real<V> x, Real<V> slope) {
    return Real<V>::select(x <= 0.0f, slope * x, x);
}

// 1 / (1 + e^-x), by e^-|x|, which does not overflow.
template <class V>
TL_MATH_INLINE Real<V> sigmoid(Real<V> x) {
    const Real<V> e = exp(x | Real<V>(-0.0f));
    return Real<V>::select(x < 0.0f, e, 1.0f) / (e + 1.0f);
}

// a s(w) for a <= 0 and w = n ln 2 + r <= 0, s the logistic function: a e^w / (1 + e^w). It is scaled last, as its digits would be lost
// below 2^-126. With a = -|x| it makes x s(|w|) too: x s(w) = max(x, 0) + a s(-|w|) on both sides of 0, where nothing cancels but x - x
// / 2.
template <class V>
TL_MATH_INLINE Real<V> logistic_tail(Real<V> a, Reduced<V> w) {
    const Real<V> p = exp_of_rest(w.r);
    return scaled(a * p / (scaled(p, w.n) + 1.0f), w.n);
}

// a (h + h_low) = n ln 2 + r, where |a h| <= 175 and h_low is half an ulp of h or so. The tail goes down to w = -104 and further, where
// half an ulp of w is 4e-6: so r is taken from the product itself.
template <class V>
TL_MATH_INLINE Reduced<V> product_by_ln2(Real<V> a, Real<V> h, Real<V> h_low) {
    const Real<V> n = fma(a * h, Real<V>(log2_e), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    const Real<V> r = fused_sum(a, h, n * -ln2_high);
    return {n, fma(a, h_low, fma(n, Real<V>(-ln2_low), r))};
}

// -min(|x|, most); NaN for NaN.
template <class V>
TL_MATH_INLINE Real<V> tail_of(Real<V> x, float most) {
    return max(Real<V>(-most), x | Real<V>(-0.0f));
}

// x s(x). From -170 on the tail is less than 2^-150.
template <class V>
TL_MATH_INLINE Real<V> silu(Real<V> x) {
    const Real<V> a = tail_of(x, 170.0f);
    return max(Real<V>(0.0f), x) + logistic_tail(a, by_ln2(a));
}

// x s(1.702 x), 1.702 in two parts.
template <class V>
TL_MATH_INLINE Real<V> gelu_quick(Real<V> x) {
    const Real<V> a = tail_of(x, 100.0f);
    return max(Real<V>(0.0f), x) + logistic_tail(a, product_by_ln2(a, Real<V>(0x1.b3b646p0f), Real<V>(-0x1.78d4fep-26f)));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 = x s(x h) for h = c0 + c1 x^2, c0 = 2 sqrt(2 / pi), c1 = 0.044715 c0. c0 is rounded to
// a multiple of 2^-20: then c0 - h, where h is rounded and below 16, is exact, and the error of h is a multiply-add. At |x| = 12.75 x h is
// 168.
template <class V>
TL_MATH_INLINE Real<V> gelu(Real<V> x) {
    constexpr float c0 = 0x1.98845p0f, c0_low = 0x1.9ea1b2p-23f, c1 = 0x1.2444f2p-4f, c1_low = 0x1.49b16ap-29f;
    const Real<V> a = tail_of(x, 12.75f), s = a * a, h = fma(s, Real<V>(c1), Real<V>(c0));
    const Real<V> known = fma(s, Real<V>(c1_low), fma(product_error(a, a, s), Real<V>(c1), Real<V>(c0_low)));
    const Real<V> h_low = fused_sum(s, Real<V>(c1), c0 - h) + known;
    return max(Real<V>(0.0f), x) + logistic_tail(a, product_by_ln2(a, h, h_low));
}

// log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|: e p(e), p the minimax polynomial of log(1 + e) / e for the relative error from 0 to
// 1, 5.3e-9.
template <class V>
TL_MATH_INLINE Real<V> softplus(Real<V> x) {
    const Real<V> e = exp(x | Real<V>(-0.0f));
    const Real<V> p = polynomial(e, 1.0f, -0.499999315f, 0.333304644f, -0.24958019f, 0.196921021f, -0.153448805f, 0.106611282f,
                                 -0.057457231f, 0.0200862419f, -0.00329046859f);
    return fma(e, p, max(Real<V>(0.0f), x));
}

template <class V>
TL_MATH_INLINE Real<V> elu(Real<V> x) {
    return Real<V>::select(x <= 0.0f, expm1(x), x);
}

// (min(max(x + 3, 0), 6)) / 6; 1/6 as a float times 6 is 1.
template <class V>
TL_MATH_INLINE Real<V> hardsigmoid(Real<V> x) {
    return min(Real<V>(6.0f), max(Real<V>(0.0f), x + 3.0f)) * (1.0f / 6);
}

template <class V>
TL_MATH_INLINE Real<V> hardswish(Real<V> x) {
    const Real<V> above = max(Real<V>(-3.0f), x);
    return above * hardsigmoid(above);
}

// alpha_p x^2 + beta x for x > 0, alpha_n (e^m - 1 - x) + beta x with m = min(x, eps) elsewhere (arXiv 2411.13010, whose alphas come out of
// a softplus first; here they are what multiplies). Near 0 e^m - 1 - m is above_r(), not a difference; from n = -1 on the sum is taken as
// (beta - alpha_n) x + alpha_n (e^m - 1), which is right at -infinity.
template <class V>
TL_MATH_INLINE Real<V> xielu(Real<V> x, Real<V> alpha_n, Real<V> alpha_p, Real<V> beta, Real<V> eps) {
    const Real<V> m = max(Real<V>(-20.0f), min(Real<V>(0.0f), min(eps, x)));
    const auto [n, r] = by_ln2(m);
    const Real<V> power = power_of_two(n), above = above_r(r), slope = beta - alpha_n;
    const Real<V> near = alpha_n * (above + (m - x)) + beta * x;
    const Real<V> far = Real<V>::select(slope == 0.0f, 0.0f, slope * x) + alpha_n * fma(power, above, fma(power, r, power - 1.0f));
    return Real<V>::select(Real<V>(0.0f) < x, fma(alpha_p, x, beta) * x, Real<V>::select(n == 0.0f, near, far));
}

// g s(alpha g) (clamp(b, -limit, limit) + 1) with g = min(a, limit). What alpha multiplies is kept below 170 / |alpha|: beyond, the tail is
// less than 2^-150 (for |alpha| > 2^-94).
template <class V>
TL_MATH_INLINE Real<V> swiglu_oai(Real<V> a, Real<V> b, Real<V> alpha, Real<V> limit) {
    const Real<V> most = min(Real<V>(0x1.fffffep127f), Real<V>(170.0f) / alpha.magnitude()), g = min(limit, a);
    const Real<V> c = max(most.negated(), min(most, g)), down = (alpha * c).sign().negated();
    // -|alpha c|, by the sign of c.
    const Real<V> tail = logistic_tail(c, product_by_ln2(c ^ down, alpha, Real<V>(0.0f)));
    const Real<V> gate = Real<V>::select(alpha * c < 0.0f, tail, g - tail);
    return gate * (min(limit, max(limit.negated(), b)) + 1.0f);
}

}  // namespace TL_MATH
