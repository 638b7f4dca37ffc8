// Activations and gated activations. Where they cancel or leave the range of normal floats, they are written so that no
// digits are lost: their errors are below 1e-6 of the result, or a subnormal step if that is more. A tail that is less
// than any float becomes -0.
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

// -min(|x|, most); NaN for NaN.
template <class V>
TL_MATH_INLINE Real<V> tail_of(Real<V> x, float most) {
    return max(Real<V>(-most), x | Real<V>(-0.0f));
}

// 1 / (1 + e^-x), by e^-|x|, which does not overflow.
template <class V>
TL_MATH_INLINE Real<V> sigmoid(Real<V> x) {
    const Real<V> e = raised_exp(tail_of(x, 104.0f), Real<V>(log2_e), Real<V>(log2_e_low));
    return Real<V>::select(x < 0.0f, e, 0x1p64f) / fma(e, Real<V>(lower), Real<V>(1.0f)) * lower;
}

// 2^64 x s(w), where s is the logistic function e^w / (1 + e^w), for w = a (h + h_low) ln 2 as in raised_exp(). With x
// = a = -|x| it gives x s(|w|) too: x s(w) = max(x, 0) + a s(-|w|) on both sides of 0, where only x - x / 2 cancels.
template <class V>
TL_MATH_INLINE Real<V> raised_logistic(Real<V> x, Real<V> a, Real<V> h, Real<V> h_low) {
    const Real<V> e = raised_exp(a, h, h_low);
    return x * e / fma(e, Real<V>(lower), Real<V>(1.0f));
}

// x s(x). From -110 down, the tail is less than 2^-150.
template <class V>
TL_MATH_INLINE Real<V> silu(Real<V> x) {
    const Real<V> a = tail_of(x, 110.0f);
    return fma(raised_logistic(a, a, Real<V>(log2_e), Real<V>(log2_e_low)), Real<V>(lower), positive_part(x));
}

// x s(1.702 x): 1.702 / ln 2 in two parts. At |x| = 65, the tail is less than 2^-150.
template <class V>
TL_MATH_INLINE Real<V> gelu_quick(Real<V> x) {
    const Real<V> a = tail_of(x, 65.0f);
    return fma(raised_logistic(a, a, Real<V>(0x1.3a4cbep1f), Real<V>(-0x1.c08ecap-26f)), Real<V>(lower), positive_part(x));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 = x s(x h ln 2) for h = c0 + c1 x^2, c0 = 2 sqrt(2 / pi) / ln 2, c1
// = 0.044715 c0. c0 is rounded to a multiple of 2^-20. Then c0 - h, where h is rounded and below 16, is exact, and a
// multiply-add gives the error of h. At |x| = 11, x h is 162, and the tail is less than 2^-150.
template <class V>
TL_MATH_INLINE Real<V> gelu(Real<V> x) {
    constexpr float c0 = 0x1.26aecp1f, c0_low = 0x1.0de73ap-22f, c1 = 0x1.a5a7dp-4f, c1_low = -0x1.151aaep-29f;
    const Real<V> a = tail_of(x, 11.0f), s = a * a, h = fma(s, Real<V>(c1), Real<V>(c0));
    const Real<V> known = fma(s, Real<V>(c1_low), fma(product_error(a, a, s), Real<V>(c1), Real<V>(c0_low)));
    const Real<V> h_low = fused_sum(s, Real<V>(c1), c0 - h) + known;
    return fma(raised_logistic(a, a, h, h_low), Real<V>(lower), positive_part(x));
}

// log(1 + e^x) = max(x, 0) + log(1 + e), where e = e^-|x|. log(1 + e) = e p(e), where p is the minimax polynomial of
// log(1 + e) / e for the relative error from 0 to 1, 6.4e-8. max(x, 0) is 0 for NaN: the sum of two NaN would be one or
// the other, depending on the compiler.
template <class V>
TL_MATH_INLINE Real<V> softplus(Real<V> x) {
    const Real<V> raised = raised_exp(tail_of(x, 104.0f), Real<V>(log2_e), Real<V>(log2_e_low));
    const Real<V> p = polynomial(raised * lower, 0.99999994f, -0.49999094f, 0.33310315f, -0.247697905f, 0.18807292f, -0.130033299f,
                                 0.0701766089f, -0.0244090706f, 0.00392573187f);
    return fma(raised * p, Real<V>(lower), max(x, Real<V>(0.0f)));
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

// alpha_p x^2 + beta x for x > 0, otherwise alpha_n (e^m - 1 - x) + beta x with m = min(x, eps) (arXiv 2411.13010,
// whose alphas are results of a softplus; here they are the factors themselves). Near 0, e^m - 1 - m is above_r(), not
// a difference. From n = -1 down, the sum is taken as (beta - alpha_n) x + alpha_n (e^m - 1), which is right at
// -infinity.
template <class V>
TL_MATH_INLINE Real<V> xielu(Real<V> x, Real<V> alpha_n, Real<V> alpha_p, Real<V> beta, Real<V> eps) {
    const Real<V> m = max(Real<V>(-20.0f), min(Real<V>(0.0f), min(eps, x)));
    const auto [n, r] = by_ln2(m);
    const Real<V> power = power_of_two(n), above = above_r(r), slope = beta - alpha_n;
    const Real<V> near = alpha_n * (above + (m - x)) + beta * x;
    const Real<V> far = Real<V>::select(slope == 0.0f, 0.0f, slope * x) + alpha_n * fma(power, above, fma(power, r, power - 1.0f));
    return Real<V>::select(Real<V>(0.0f) < x, fma(alpha_p, x, beta) * x, Real<V>::select(n == 0.0f, near, far));
}

// g s(alpha g) (clamp(b, -limit, limit) + 1) with g = min(a, limit). The factor of alpha is limited to 130 / |alpha|:
// beyond it, the tail is less than 2^-150 (for |alpha| > 2^-31). g may be large if alpha is small, so it is lowered
// first and not last.
template <class V>
TL_MATH_INLINE Real<V> swiglu_oai(Real<V> a, Real<V> b, Real<V> alpha, Real<V> limit) {
    const Real<V> most = min(Real<V>(0x1.fffffep127f), Real<V>(130.0f) / alpha.magnitude()), g = min(limit, a);
    const Real<V> c = max(most.negated(), min(most, g)), w = alpha * c;
    const auto large = Real<V>(1.0f) < c.magnitude();
    // The sign of -w. c with it gives a product that is not above 0, and x s(w) = x - x s(-w) for w > 0.
    const Real<V> down = w.sign().negated(), h = alpha * log2_e;
    const Real<V> h_low = fma(alpha, Real<V>(log2_e_low), product_error(alpha, Real<V>(log2_e), h));
    const Real<V> tail = raised_logistic(Real<V>::select(large, c * lower, c), c ^ down, h, h_low) ^ down;
    const Real<V> gate = fma(tail, Real<V>::select(large, 1.0f, lower), Real<V>::select(w < 0.0f, -0.0f, g));
    return gate * (min(limit, max(limit.negated(), b)) + 1.0f);
}

}  // namespace TL_MATH
