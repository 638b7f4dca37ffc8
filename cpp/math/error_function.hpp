// erf, and the normal distribution function times x.
#pragma once

#include "math/exponential.hpp"

namespace TL_MATH {

// Up to 0.8, x + x p(x^2), where p is the minimax polynomial of erf(x) / x - 1 for the error relative to erf: 2^-28.1.
// Above 0.8, 1 - e^-q(x), where q is that of -log(1 - erf x) for the error relative to erf: 2^-28.2. There 1 - erf is
// at most 0.35 of erf, so its other errors count little. Beyond 3.95 the result is 1.
template <class V>
TL_MATH_INLINE Real<V> erf(Real<V> x) {
    const Real<V> a = x.magnitude(), u = x * x, b = min(Real<V>(3.95f), a);
    const Real<V> p = polynomial(u, 0.128379166f, -0.376126081f, 0.112831622f, -0.0268222429f, 0.00508686528f, -0.000654224074f);
    const Real<V> q =
        polynomial(b, 5.68557589e-05f, 1.12827134f, 0.636142075f, 0.104876496f, -0.0226974636f, 0.00316492142f, -0.000208701764f);
    const auto [n, r] = by_ln2(q.negated());
    const Real<V> large = 1.0f - exp_of_rest(r) * power_of_two(n);
    return with_sign(Real<V>::select(a < 0.8f, fma(a, p, a), large), x);
}

// max(x, 0), or -0 if x is negative. Added to a tail that rounds to 0, fused or not, it leaves the tail its sign.
template <class V>
TL_MATH_INLINE Real<V> positive_part(Real<V> x) {
    return max(Real<V>(-0.0f), x);
}

// x Phi(x), where Phi(x) = (1 + erf(x / sqrt 2)) / 2: max(x, 0) - y Phi(-y) with y = |x|, where only x - x / 2 cancels.
// Phi(-y) = e^(-y^2 / 2) t g(t) for t = 4 / (y + 4), where g is the minimax polynomial for the relative error up to y =
// 14.6: 6.4e-8. At y = 14.5, the tail is less than 2^-150. The exponent, up to 105, needs more than a float's digits,
// so r is taken from the product itself. The tail is lowered last, because its digits would be lost below 2^-126.
template <class V>
TL_MATH_INLINE Real<V> gelu_erf(Real<V> x) {
    const Real<V> y = min(Real<V>(14.5f), x.magnitude()), half = y * -0.5f;
    const Real<V> n = fma(y * half, Real<V>(log2_e), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    const Real<V> r = fma(n, Real<V>(-ln2_low), fused_sum(y, half, n * -ln2_high));
    const Real<V> t = Real<V>(4.0f) / (y + 4.0f);
    const Real<V> g = polynomial(t, 0.0997919589f, 0.0986077338f, 0.103117175f, 0.0353272744f, 0.196244299f, -0.197943434f, 0.289372176f,
                                 -0.149584815f, 0.0250675995f);
    return fma(exp_of_rest(r) * power_of_two<64>(n) * (y * t * g), Real<V>(-lower), positive_part(x));
}

}  // namespace TL_MATH
