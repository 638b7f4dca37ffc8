// exp, log and functions that are made of them.
//
// exp(x) = 2^n e^r with n = x / ln 2 rounded and |r| <= ln 2 / 2; e^r = 1 + (r + r^2 q(r)). The sum's last addition
// rounds at the size of the result, the one before at a quarter of it at most.
// log(x) = k ln 2 + log(1 + f) with 1 + f from sqrt(1/2) to sqrt(2).
#pragma once

#include "math/lanes.hpp"

namespace TL_MATH {

constexpr float log2_e = 0x1.715476p0f;
// ln 2 in two parts. The first one has 15 bits: n times it is exact, and so is the difference from x.
constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;

// x = n ln 2 + r.
template <class V>
struct Reduced {
    Real<V> n, r;
};
template <class V>
TL_MATH_INLINE Reduced<V> by_ln2(Real<V> x) {
    const Real<V> n = fma(x, Real<V>(log2_e), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    return {n, fma(n, Real<V>(-ln2_low), fma(n, Real<V>(-ln2_high), x))};
}

// e^r - 1 for |r| <= 0.35, as r and a term to add. q is the minimax polynomial of (e^r - 1 - r) / r^2 for the error
// relative to e^r - 1, 2^-28.1 on this interval. If r^2 / 2 is below 2^-126, only one product rounds.
template <class V>
TL_MATH_INLINE Real<V> above_r(Real<V> r) {
    return r * (r * polynomial(r, 0.5f, 0.166666359f, 0.0416665114f, 0.00834150985f, 0.00139300968f, 0.000150315536f));
}

// q for the error relative to e^r, 2^-28.2: one term less.
template <class V>
TL_MATH_INLINE Real<V> exp_quotient(Real<V> r) {
    return polynomial(r, 0.49999994f, 0.166665152f, 0.0416680835f, 0.00836934801f, 0.0013840365f);
}

// e^r.
template <class V>
TL_MATH_INLINE Real<V> exp_of_rest(Real<V> r) {
    return fma(r * r, exp_quotient(r), r) + 1.0f;
}

// e^-104 < 2^-150 rounds to 0, and e^89 > 2^128 to infinity. r = s + low, where s is exact. Adding these to r^2 q one
// after the other, instead of r, whose rounding is as much as the sum's, keeps the result within 0.9 ulp instead of
// 1.02.
template <class V>
TL_MATH_INLINE Real<V> exp(Real<V> x) {
    const Real<V> c = max(Real<V>(-104.0f), min(Real<V>(89.0f), x));
    const Real<V> n = fma(c, Real<V>(log2_e), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    const Real<V> s = fma(n, Real<V>(-ln2_high), c), low = n * -ln2_low, r = s + low;
    return scaled((s + fma(r * r, exp_quotient(r), low)) + 1.0f, n);
}

// 2^n (r + a) + 2^n - 1, where a is above_r(r). The sum of r and 2^n - 1 comes first: r is exact except for one
// rounding, and 1 + 2 r, the difference in which bits are lost (n = 1), adds none; a is small. Everything is divided by
// 2 if 2^n would overflow. Below -20 the result is -1. If x^2 / 2 is less than half an ulp, the result is x, with the
// sign of a zero.
template <class V>
TL_MATH_INLINE Real<V> expm1(Real<V> x) {
    const auto [n, r] = by_ln2(max(Real<V>(-20.0f), min(Real<V>(89.0f), x)));
    const auto largest = Real<V>(127.0f) < n;
    const Real<V> one = Real<V>::select(largest, 0.5f, 1.0f), power = power_of_two(min(Real<V>(127.0f), n));
    const Real<V> y = fma(power, above_r(r), fma(power, r, power - one));
    return Real<V>::select(x.magnitude() < 0x1p-25f, x, Real<V>::select(largest, y + y, y));
}

// x = 2^k (1 + f), with 1 + f from sqrt(1/2) up to but below sqrt(2), for x > 0 and finite; f is exact.
template <class V>
struct Mantissa {
    Real<V> k, f;
};
template <class V>
TL_MATH_INLINE Mantissa<V> mantissa(Real<V> x) {
    constexpr int32_t one = 0x3f800000, sqrt_half = 0x3f3504f3, fraction = 0x7fffff, two_23 = 0x4b000000;
    // Counted from the bits of sqrt(1/2), the exponent is k + 127, and the fraction is that of m.
    const auto moved = V::add(V::bits(x.reg), V::whole(one - sqrt_half));
    const auto m = V::add(V::bit_and(moved, V::whole(fraction)), V::whole(sqrt_half));
    return {Real<V>::of_bits(V::bit_or(V::right(moved, 23), V::whole(two_23))) - (0x1p23f + 127), Real<V>::of_bits(m) - 1.0f};
}
// As mantissa(), including x below 2^-126.
template <class V>
TL_MATH_INLINE Mantissa<V> mantissa_of_any(Real<V> x) {
    const auto subnormal = x < smallest_normal;
    const auto [k, f] = mantissa(Real<V>::select(subnormal, x * 0x1p23f, x));
    return {k - Real<V>::select(subnormal, 23.0f, 0.0f), f};
}

// k ln 2 + log(1 + f) + c for a small c. Uses the minimax polynomial of (log(1 + f) - f + f^2 / 2) / f^3 for the error
// relative to log(1 + f) from sqrt(1/2) - 1 to sqrt(2) - 1: 2^-28.2.
template <class V>
TL_MATH_INLINE Real<V> log_of(Mantissa<V> x, Real<V> c) {
    const auto [k, f] = x;
    const Real<V> p = polynomial(f, -0.5f, 0.333333135f, -0.250001669f, 0.200022236f, -0.166593581f, 0.142095521f, -0.125498742f,
                                 0.121106282f, -0.109256707f, 0.0535311587f);
    return fma(k, Real<V>(ln2_high), f + fma(f * f, p, fma(k, Real<V>(ln2_low), c)));
}

template <class V>
TL_MATH_INLINE Real<V> log(Real<V> x) {
    const Real<V> y = log_of(mantissa_of_any(x), Real<V>(0.0f));
    const Real<V> limit = Real<V>::select(x == 0.0f, -infinity, x + Real<V>::select(x < 0.0f, not_a_number, 0.0f));
    return Real<V>::select(V::both(Real<V>(0.0f) < x, x < infinity), y, limit);
}

// The log of u = 1 + x rounded, plus the lost part divided by u. u is exact below 2^-1 if x is negative, so the loss is
// relatively small.
template <class V>
TL_MATH_INLINE Real<V> log1p(Real<V> x) {
    const Real<V> u = x + 1.0f;
    // The sum lost bits of the smaller one.
    const Real<V> lost = Real<V>::select(x < 1.0f, x - (u - 1.0f), 1.0f - (u - x));
    const Real<V> y = log_of(mantissa(u), lost / u);
    const Real<V> limit = Real<V>::select(x == -1.0f, -infinity, x + Real<V>::select(x < -1.0f, not_a_number, 0.0f));
    const Real<V> tiny = Real<V>::select(x.magnitude() < 0x1p-25f, x, y);
    return Real<V>::select(V::both(Real<V>(-1.0f) < x, x < infinity), tiny, limit);
}

// For small |x|, x + x^3 p(x^2), where p is the minimax polynomial of (tanh(x) / x - 1) / x^2 for the error relative to
// tanh up to 0.55: 2^-29.7. Above 0.55, 1 - 2 / (e^2x + 1), whose quotient is at most 1/2, so its error counts half.
// From 9.02 the result is 1.
template <class V>
TL_MATH_INLINE Real<V> tanh(Real<V> x) {
    const Real<V> a = x.magnitude(), u = x * x, double_a = min(Real<V>(20.0f), a + a);
    const Real<V> p = polynomial(u, -0.333333164f, 0.133325443f, -0.0538475476f, 0.021050714f, -0.0062428466f);
    const auto [n, r] = by_ln2(double_a);
    const Real<V> large = 1.0f - Real<V>(2.0f) / fma(exp_of_rest(r), power_of_two(n), Real<V>(1.0f));
    return with_sign(Real<V>::select(a < 0.55f, fma(a * u, p, a), large), x);
}

// 2^64 e^w for w = a (h + h_low) ln 2 from -131 to 0, where h_low is about half an ulp of h. It is raised, so that a
// tail keeps its digits below 2^-126 until it is multiplied by `lower`, last. w goes to -104 and further, where half an
// ulp of it is 4e-6, so the rest of the exponent is taken from the product itself. 2^f = 1 + f g(f), where g is the
// minimax polynomial for the relative error up to 1/2: 9.7e-8, enough for 1e-6.
constexpr float lower = 0x1p-64f;
constexpr float log2_e_low = 0x1.4ae0cp-26f;
template <class V>
TL_MATH_INLINE Real<V> raised_exp(Real<V> a, Real<V> h, Real<V> h_low) {
    const Real<V> n = fma(a, h, Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
    const Real<V> f = fma(a, h_low, fused_sum(a, h, n.negated()));
    const Real<V> p = fma(f, polynomial(f, 0.693146944f, 0.24022229f, 0.0555080175f, 0.00967235398f, 0.00132395863f), Real<V>(1.0f));
    return p * power_of_two<64>(n);
}

}  // namespace TL_MATH
