// pow(a, b) = e^(b log |a|), with a's sign if b is odd. The result's relative error is the absolute error of b log |a|,
// which goes to 89 and below -104. The logarithm and the product are therefore sums of two floats, accurate to about
// 2^-40.
#pragma once

#include "math/exponential.hpp"

namespace TL_MATH {

// high + low, where low is less than about an ulp of high.
template <class V>
struct Sum {
    Real<V> high, low;
};

// a + b exactly, if |a| >= |b| or a is 0.
template <class V>
TL_MATH_INLINE Sum<V> exact_sum(Real<V> a, Real<V> b) {
    const Real<V> s = a + b;
    return {s, (a - s) + b};
}

// log x for 0 < x < infinity: k ln 2 + 2 artanh(s), s = f / (f + 2), |s| <= 0.172. artanh(s) = s + s u (1/3 + u q(u))
// with u = s^2, where q is the minimax polynomial up to u = 0.0296 with an error of 8.7e-12 in u^2 q. 1/3, s, u and the
// products of large terms are sums of two floats.
template <class V>
TL_MATH_INLINE Sum<V> exact_log(Real<V> x) {
    constexpr float third = 0x1.555556p-2f, third_low = -0x1.555556p-27f;
    const auto [k, f] = mantissa_of_any(x);
    const Real<V> d = f + 2.0f, d_low = f - (d - 2.0f);
    const Real<V> s = f / d, s_low = (fused_sum(s.negated(), d, f) - s * d_low) / d;
    const Real<V> u = s * s, u_low = fma(s + s, s_low, product_error(s, s, u));
    const Sum<V> v = exact_sum(Real<V>(third), u * polynomial(u, 0.200000763f, 0.142735288f, 0.117104985f));
    const Real<V> w = u * v.high, w_low = fma(u_low, v.high, fma(u, v.low + third_low, product_error(u, v.high, w)));
    const Real<V> g = s * w, g_low = fma(s_low, w, fma(s, w_low, product_error(s, w, g)));
    const Sum<V> half = exact_sum(s, g);
    const Sum<V> all = exact_sum(k * ln2_high, half.high + half.high);
    const Real<V> low = half.low + (s_low + g_low);
    return {all.high, all.low + fma(k, Real<V>(ln2_low), low + low)};
}

// The special cases are those of the C standard.
template <class V>
TL_MATH_INLINE Real<V> pow(Real<V> a, Real<V> b) {
    const auto negative = a < 0.0f;
    const Real<V> x = a.magnitude();
    Sum<V> log_x = exact_log(x);
    // At 0 and infinity the logarithm's limit, so that b's sign decides; beyond 128 of either sign, the low part is
    // zero.
    log_x.high = Real<V>::select(x == 0.0f, -infinity, Real<V>::select(x == infinity, infinity, log_x.high));
    const Real<V> z = log_x.high * b;
    const Real<V> z_low = Real<V>::select(z.magnitude() < 128.0f, fma(log_x.low, b, product_error(log_x.high, b, z)), 0.0f);
    const auto [n, r] = by_ln2(max(Real<V>(-105.0f), min(Real<V>(90.0f), z)));
    Real<V> y = scaled(exp_of_rest(r + z_low), n);

    // |a| = 1 with b = infinity, for which z is NaN.
    y = Real<V>::select(x == 1.0f, 1.0f, y);
    const Real<V> half = b * 0.5f;
    const auto whole = nearest(b) == b, even = nearest(half) == half;
    y = y ^ Real<V>::select(whole, Real<V>::select(even, 0.0f, a.sign()), 0.0f);
    const Real<V> of_negative = Real<V>::select(whole, y, Real<V>::select(x < infinity, not_a_number, y));
    y = Real<V>::select(negative, of_negative, y);
    // NaN if one of the two is NaN, except for 1 and 0.
    const Real<V> ordered = Real<V>::select(V::both(a == a, b == b), y, a + b);
    return Real<V>::select(V::either(a == 1.0f, b == 0.0f), 1.0f, ordered);
}

}  // namespace TL_MATH
