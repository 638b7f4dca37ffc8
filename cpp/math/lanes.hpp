// The numbers that formulas are written with: Real<V> is a register of V's floats, with operators. Each operation
// rounds once and is one instruction or few. Nothing is fused except fma() on a V with fused multiply-adds.
//
// V has, as static functions:
//
//   Reg, Whole, Mask, width         width floats, as many integers of 32 bits, as many truth values
//   fused                           whether fma() rounds once; a product and a sum otherwise
//   broadcast, load, store          of one float; of width floats in memory
//   add, sub, mul, div, sqrt, fma   fma(a, b, c) = a b + c
//   min, max                        a < b ? a : b and a > b ? a : b, which is b if one of the two is NaN
//   nearest                         the nearest integer, the even one of two; the sign of v stays
//   scale                           if there is such an instruction: v 2^n, rounded once, n an integer or NaN
//   less, less_equal, equal         false if one of the two is NaN
//   signs                           whether the sign bit is set
//   both, either, all, select       select(m, yes, no)
//   bits, floats                    reinterprets the bits as the other kind
//   whole, add, bit_and, bit_or, bit_xor, left, right        of integers; right() shifts zeros in
#pragma once

#include "dtype/host_device.hpp"

#include <stdint.h>

// The namespace of the formulas. Each ISA of cpu/simd compiles them into its own namespace: a single copy for all would
// be whichever the linker kept.
#if !defined(TL_MATH)
#define TL_MATH tensorlib::core::math
#endif

// A call costs more than most formulas, and registers do not survive it.
#define TL_MATH_INLINE TL_HOST_DEVICE __attribute__((always_inline)) inline

namespace TL_MATH {

template <class V>
struct Real {
    using Mask = typename V::Mask;

    typename V::Reg reg;

    Real() = default;
    TL_MATH_INLINE Real(float x) : reg(V::broadcast(x)) {}
    TL_MATH_INLINE static Real of(typename V::Reg reg) {
        Real x;
        x.reg = reg;
        return x;
    }
    TL_MATH_INLINE static Real of_bits(typename V::Whole bits) { return of(V::floats(bits)); }

    TL_MATH_INLINE friend Real operator+(Real a, Real b) { return of(V::add(a.reg, b.reg)); }
    TL_MATH_INLINE friend Real operator-(Real a, Real b) { return of(V::sub(a.reg, b.reg)); }
    TL_MATH_INLINE friend Real operator*(Real a, Real b) { return of(V::mul(a.reg, b.reg)); }
    TL_MATH_INLINE friend Real operator/(Real a, Real b) { return of(V::div(a.reg, b.reg)); }
    TL_MATH_INLINE friend Mask operator<(Real a, Real b) { return V::less(a.reg, b.reg); }
    TL_MATH_INLINE friend Mask operator<=(Real a, Real b) { return V::less_equal(a.reg, b.reg); }
    TL_MATH_INLINE friend Mask operator==(Real a, Real b) { return V::equal(a.reg, b.reg); }
    // Operators on the bits.
    TL_MATH_INLINE friend Real operator&(Real a, Real b) { return of_bits(V::bit_and(V::bits(a.reg), V::bits(b.reg))); }
    TL_MATH_INLINE friend Real operator|(Real a, Real b) { return of_bits(V::bit_or(V::bits(a.reg), V::bits(b.reg))); }
    TL_MATH_INLINE friend Real operator^(Real a, Real b) { return of_bits(V::bit_xor(V::bits(a.reg), V::bits(b.reg))); }

    // Not an operator, because that would suggest the sign of 0 - x.
    TL_MATH_INLINE Real negated() const { return *this ^ Real(-0.0f); }
    TL_MATH_INLINE Real magnitude() const { return of_bits(V::bit_and(V::bits(reg), V::whole(0x7fffffff))); }
    TL_MATH_INLINE Real sign() const { return *this & Real(-0.0f); }

    TL_MATH_INLINE friend Real fma(Real a, Real b, Real c) { return of(V::fma(a.reg, b.reg, c.reg)); }
    TL_MATH_INLINE friend Real sqrt(Real x) { return of(V::sqrt(x.reg)); }
    TL_MATH_INLINE friend Real nearest(Real x) { return of(V::nearest(x.reg)); }
    // The second operand if one is NaN.
    TL_MATH_INLINE friend Real min(Real a, Real b) { return of(V::min(a.reg, b.reg)); }
    TL_MATH_INLINE friend Real max(Real a, Real b) { return of(V::max(a.reg, b.reg)); }
    TL_MATH_INLINE static Real select(Mask m, Real yes, Real no) { return of(V::select(m, yes.reg, no.reg)); }
    // The magnitude of x, whose sign bit is clear, with the sign of y.
    TL_MATH_INLINE friend Real with_sign(Real x, Real y) { return x | y.sign(); }
};

constexpr float infinity = __builtin_inff();
constexpr float not_a_number = __builtin_nanf("");
constexpr float smallest_normal = 0x1p-126f;

// c0 + x (c1 + x (c2 + ...)), starting with the last one.
template <class V>
TL_MATH_INLINE Real<V> polynomial(Real<V>, float c) {
    return c;
}
template <class V, class... Rest>
TL_MATH_INLINE Real<V> polynomial(Real<V> x, float c, Rest... rest) {
    return fma(polynomial(x, rest...), x, c);
}

// The error of the product p = a b: a b = p + product_error(a, b, p). Without fused multiply-adds, it uses halves of
// 12 bits, whose products are exact (T. J. Dekker, 1971).
template <class V>
TL_MATH_INLINE Real<V> product_error(Real<V> a, Real<V> b, Real<V> p) {
    if constexpr (V::fused) {
        return fma(a, b, p.negated());
    } else {
        const auto high = [](Real<V> x) { return Real<V>::of_bits(V::bit_and(V::bits(x.reg), V::whole(-0x1000))); };
        const Real<V> a_high = high(a), a_low = a - a_high, b_high = high(b), b_low = b - b_high;
        return (((a_high * b_high - p) + a_high * b_low) + a_low * b_high) + a_low * b_low;
    }
}

// a b + c if c is nearly -a b, or if the sum's error is that of the last addition: as if fused, even without fused
// multiply-adds.
template <class V>
TL_MATH_INLINE Real<V> fused_sum(Real<V> a, Real<V> b, Real<V> c) {
    if constexpr (V::fused) {
        return fma(a, b, c);
    } else {
        const Real<V> p = a * b;
        return (p + c) + product_error(a, b, p);
    }
}

// Integers n, |n| < 2^22, that are added to it are in its low bits.
constexpr float whole_in_bits = 0x1.8p23f;

// 2^(n + more) for an integer n + more from -126 to 127; unspecified if n is NaN.
template <int more = 0, class V>
TL_MATH_INLINE Real<V> power_of_two(Real<V> n) {
    return Real<V>::of_bits(V::left(V::bits((n + Real<V>(whole_in_bits + (more + 127))).reg), 23));
}

// x 2^n for an integer n from -252 to 254, rounded once if x 2^(n / 2) is not below 2^-126; NaN if x is NaN.
template <class V>
TL_MATH_INLINE Real<V> scaled(Real<V> x, Real<V> n) {
    if constexpr (requires { &V::scale; }) {
        return Real<V>::of(V::scale(x.reg, n.reg));
    } else {
        const Real<V> half = fma(n, Real<V>(0.5f), Real<V>(whole_in_bits)) - Real<V>(whole_in_bits);
        return x * power_of_two(half) * power_of_two(n - half);
    }
}

}  // namespace TL_MATH
