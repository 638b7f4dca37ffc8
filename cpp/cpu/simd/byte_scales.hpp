// The scales of activations that are rounded to integers.
#pragma once

#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

// The bits of the largest magnitude of n elements, in a loop that compilers vectorise. Magnitudes are ordered as their
// bits; from 0x7f800000 there is a NaN or an infinity.
inline int32_t largest_bits_of(const float *x, int n) {
    int32_t largest = 0;
    for (int i = 0; i < n; i++) {
        int32_t bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        largest = larger(largest, bits & 0x7fffffff);
    }
    return largest;
}
// The magnitude, or NaN if an element is not finite.
inline float magnitude_of(int32_t bits) {
    if (bits >= 0x7f800000) return __builtin_nanf("");
    float magnitude;
    __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
    return magnitude;
}

// How values map to integers: the largest magnitude, above 0, becomes `steps`. Below 2^-100 the inverse might overflow,
// so values are multiplied twice; the first multiplication changes no digit.
struct Scaling {
    float lift, inverse, scale;
    Scaling(float largest, float steps)
        : lift(largest < 0x1p-100f ? 0x1p100f : 1.0f), inverse(steps / (largest * lift)), scale(largest * lift / steps / lift) {}
};

}  // namespace tensorlib::core::simd::TL_ISA
