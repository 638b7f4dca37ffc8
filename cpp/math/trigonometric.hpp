// sin and cos.
//
// x = n pi/2 + r with |r| <= pi/4, plus up to 2^-8 because of n's rounding. The result is sin r or cos r, with a sign:
// n's two lowest bits say which. Up to 2^16, three parts of pi/2 are subtracted. Beyond, vectors with such a lane
// multiply by the bits of 2/pi that matter.
#pragma once

#include "math/lanes.hpp"

namespace TL_MATH {

constexpr float farthest = 0x1p16f;

// x = n pi/2 + r for |x| > farthest, n modulo 4, in integers. x = m 2^e with an integer m of 24 bits. The part of 2/pi
// 2^e that is a multiple of 4 gives multiples of 4, because m is an integer. The next 96 bits are taken, the first of
// which stands for 2. Their product with m, modulo 4, has an error below 2^-70, and no float is nearer to a multiple of
// pi/2 than about 2^-31.
TL_HOST_DEVICE inline void by_half_pi(float x, float *n, float *r) {
    // 2/pi in words, after a word of zeros, because e is at least -7.
    constexpr uint32_t words[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const auto bits = __builtin_bit_cast(uint32_t, x);
    const int exponent = static_cast<int>(bits >> 23 & 0xff);
    if (exponent == 0xff) {
        *n = 0;
        *r = not_a_number;
        return;
    }
    const uint64_t m = (bits & 0x7fffff) | 0x800000;
    const int e = exponent - 150, from = e - 2 + 32, word = from / 32, shift = from % 32;
    const auto taken = [&](int i) { return ((uint64_t{words[i]} << 32 | words[i + 1]) << shift) >> 32; };
    const uint64_t low = m * taken(word + 2), middle = m * taken(word + 1) + (low >> 32), high = m * taken(word) + (middle >> 32);
    const uint64_t turns = high << 32 | (middle & 0xffffffff);  // 2^64 is a whole turn
    const auto quarter = static_cast<int>((turns + (uint64_t{1} << 61)) >> 62);
    const double rest = static_cast<double>(static_cast<int64_t>(turns << 2)) * (0x1.921fb54442d18p0 * 0x1p-64);
    const bool negative = (bits >> 31) != 0;
    *n = static_cast<float>(negative ? 4 - quarter : quarter);
    *r = static_cast<float>(negative ? -rest : rest);
}

// Corrects the lanes of n and r whose x is beyond `farthest`.
template <class V>
TL_HOST_DEVICE __attribute__((noinline)) void correct_far(const float *x, float *n, float *r) {
    for (int i = 0; i < V::width; i++) {
        if (!(__builtin_fabsf(x[i]) <= farthest)) by_half_pi(x[i], n + i, r + i);
    }
}

template <class V>
struct Quarters {
    Real<V> n, r;
};
template <class V>
TL_MATH_INLINE Quarters<V> by_half_pi(Real<V> x) {
    const Real<V> n = fma(x, Real<V>(0x1.45f306p-1f), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    // The first difference is exact: both are multiples of 2^-24, and it is below 1. The last part reaches 2^-73.
    const Real<V> r =
        fused_sum(n, Real<V>(0x1.ee59dap-50f), fused_sum(n, Real<V>(0x1.777a5cp-25f), fused_sum(n, Real<V>(-0x1.921fb6p0f), x)));
    if (V::all(x.magnitude() <= farthest)) return {n, r};
    float far_x[V::width], far_n[V::width], far_r[V::width];
    V::store(far_x, x.reg);
    V::store(far_n, n.reg);
    V::store(far_r, r.reg);
    correct_far<V>(far_x, far_n, far_r);
    return {Real<V>::of(V::load(far_n)), Real<V>::of(V::load(far_r))};
}

// sin(r + n pi/2). Uses the minimax polynomials of (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4, for errors
// relative to sin and cos up to 1.01 pi/4: 2^-27.8 and 2^-32.7.
template <class V>
TL_MATH_INLINE Real<V> sin_of(Real<V> n, Real<V> r) {
    const Real<V> u = r * r;
    const Real<V> s = fma(r * u, polynomial(u, -0.166666538f, 0.00833210628f, -0.000195079658f), r);
    const Real<V> c = polynomial(u, 1.0f, -0.5f, 0.0416666456f, -0.00138872978f, 2.44300845e-05f);
    const auto quarter = V::bits((n + Real<V>(whole_in_bits)).reg);
    const auto odd = V::signs(V::floats(V::left(quarter, 31)));
    const Real<V> sign = Real<V>::of_bits(V::left(V::bit_and(quarter, V::whole(2)), 30));
    return Real<V>::select(odd, c, s) ^ sign;
}

// If x^3 / 6 is less than half an ulp, the result is x, with the sign of a zero.
template <class V>
TL_MATH_INLINE Real<V> sin(Real<V> x) {
    const auto [n, r] = by_half_pi(x);
    return Real<V>::select(x.magnitude() < 0x1p-12f, x, sin_of(n, r));
}

template <class V>
TL_MATH_INLINE Real<V> cos(Real<V> x) {
    const auto [n, r] = by_half_pi(x);
    return sin_of(n + 1.0f, r);
}

}  // namespace TL_MATH
