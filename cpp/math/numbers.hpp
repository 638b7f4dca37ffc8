// Arithmetic in I32, I64 and F64. Each ISA and CUDA compile these functions, so all devices give
// identical bits, except for powers in F64.
//
// Integers wrap: results are those modulo 2^32 or 2^64. A quotient is rounded towards 0; a divisor of 0 gives 0, and whoever
// calls reports it, as for an exponent below 0. F64 follows IEEE 754, and its powers are those of the C or CUDA library.
#pragma once

#include "math/lanes.hpp"

#include <math.h>
#include <stdint.h>
#include <type_traits>

namespace TL_MATH {

TL_MATH_INLINE uint64_t bits_of(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
TL_MATH_INLINE double from_bits(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T>
struct Numbers {
    static constexpr bool integer = std::is_integral_v<T>;
    // Arithmetic of unsigned integers wraps, that of signed ones is undefined where it overflows.
    using U = typename std::conditional_t<integer, std::make_unsigned<T>, std::type_identity<T>>::type;

    TL_MATH_INLINE static T add(T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
    TL_MATH_INLINE static T sub(T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }
    TL_MATH_INLINE static T mul(T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
    TL_MATH_INLINE static T div(T a, T b) {
        if constexpr (integer) {
            if (b == 0) return 0;
            // The quotient of the smallest integer and -1 is one more than the largest.
            if (b == -1) return neg(a);
        }
        return a / b;
    }
    // NaN if either is NaN; 0 is larger than -0.
    TL_MATH_INLINE static T maximum(T a, T b) {
        if constexpr (!integer) {
            if (a != a || b != b) return a != a ? a : b;
            if (a == b) return from_bits(bits_of(a) & bits_of(b));  // -0 has a bit, and 0 none
        }
        return a > b ? a : b;
    }
    TL_MATH_INLINE static T minimum(T a, T b) {
        if constexpr (!integer) {
            if (a != a || b != b) return a != a ? a : b;
            if (a == b) return from_bits(bits_of(a) | bits_of(b));
        }
        return a < b ? a : b;
    }
    // By squaring: a factor for each bit of b.
    TL_MATH_INLINE static T pow(T a, T b) {
        if constexpr (!integer) return ::pow(a, b);
        if (b < 0) return 0;
        T power = 1;
        for (U bits = static_cast<U>(b);;) {
            if (static_cast<uint64_t>(bits) & 1) power = mul(power, a);
            bits = static_cast<U>(static_cast<uint64_t>(bits) >> 1);
            if (bits == 0) return power;
            a = mul(a, a);
        }
    }
    TL_MATH_INLINE static T neg(T a) {
        if constexpr (integer) return static_cast<T>(U{0} - static_cast<U>(a));
        return -a;
    }
    TL_MATH_INLINE static T abs(T a) {
        if constexpr (integer) return a < 0 ? neg(a) : a;
        return ::fabs(static_cast<double>(a));
    }
    TL_MATH_INLINE static T sqr(T a) { return mul(a, a); }
    // 0, -0 and NaN are kept.
    TL_MATH_INLINE static T sgn(T a) { return a > 0 ? T{1} : a < 0 ? T{-1} : a; }
    // NaN stays NaN.
    TL_MATH_INLINE static T clamp(T a, T least, T most) {
        a = a < least ? least : a;
        return a > most ? most : a;
    }
    TL_MATH_INLINE static T bits_and(T a, T b) { return static_cast<T>(a & b); }
    TL_MATH_INLINE static T bits_or(T a, T b) { return static_cast<T>(a | b); }
    TL_MATH_INLINE static T bits_xor(T a, T b) { return static_cast<T>(a ^ b); }
    // Inverts the bits of `bits`, which are all of the type's.
    TL_MATH_INLINE static T bits_not(T a, T bits) { return static_cast<T>(a ^ bits); }
    // A count that is none of the type's bits moves all of them out.
    TL_MATH_INLINE static bool stays(T count) { return static_cast<U>(count) < 8 * sizeof(T); }
    TL_MATH_INLINE static T shift_left(T a, T count) { return stays(count) ? static_cast<T>(static_cast<U>(a) << count) : T{0}; }
    TL_MATH_INLINE static T shift_right(T a, T count) {
        if (stays(count)) return static_cast<T>(a >> count);
        if constexpr (std::is_signed_v<T>) return a < 0 ? T{-1} : T{0};
        return 0;
    }
    TL_MATH_INLINE static T scale(T a, T factor, T added) { return add(mul(a, factor), added); }
};

// The integer next to x, and of two the one farther from 0.
TL_MATH_INLINE double round_f64(double x) {
    const double whole = ::trunc(x);
    return ::fabs(x - whole) >= 0.5 ? whole + ::copysign(1.0, x) : whole;
}

}  // namespace TL_MATH
