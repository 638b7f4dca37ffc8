// 32 values as 8-bit codes: Q8_0 and Q8_1.
//
// By the types' rule, dd = largest / 127, codes are x / dd to nearest, ties away from zero, and d is dd as F16. If d
// would be an F16 below 2^-14, which has fewer digits, or beyond 65504, codes are chosen for the stored d. The rule
// could be off by up to the whole value there.
#pragma once

#include "dtype/encode/scale_search.hpp"

#include <math.h>

namespace TL_FORMATS::encoding {

// Rounds to the nearest integer, ties away from zero; |v| is at most 2^30. v minus its integral part is exact.
TL_ENCODE_INLINE int round_half_away(float v) {
    const int whole = static_cast<int>(v);
    const float rest = v - static_cast<float>(whole);
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

// Fills codes and returns d. `unrounded` becomes dd, or d if codes are chosen for that.
TL_ENCODE_INLINE std::uint16_t eight_bits_by_rule(const float *values, std::int8_t *codes, float &unrounded) {
    const float largest = float_of(largest_bits(values, 32));
    float dd = largest / 127.0f;
    std::uint16_t d;
    F16::encode(&dd, d);
    if (!keeps_digits_as_half(dd)) {
        // Up to a multiple of 2^-24, so that codes stay within 127; there is nothing to round for zeros.
        const float units = fminf(ceilf(dd * 0x1p24f), 65504.0f * 0x1p24f);
        dd = units * 0x1p-24f;
        F16::encode(&dd, d);
    }
    unrounded = dd;
    const float inverse = dd > 0 ? 1.0f / dd : 0;
    if (dd < 65504.0f) {
        for (int i = 0; i < 32; i++) codes[i] = static_cast<std::int8_t>(round_half_away(values[i] * inverse));
    } else {
        for (int i = 0; i < 32; i++) {
            codes[i] = static_cast<std::int8_t>(round_half_away(fminf(fmaxf(values[i] * inverse, -127.0f), 127.0f)));
        }
    }
    return d;
}

inline bool all_equal(const float *weights, int n) {
    bool equal = true;
    for (int i = 1; i < n; i++) equal &= weights[i] == weights[0];
    return equal;
}

// Encodes Q8_0 from values and weights.
inline std::uint16_t eight_bits(const float *values, const float *weights, std::int8_t *codes) {
    float unrounded;
    if (!weights || all_equal(weights, 32)) return eight_bits_by_rule(values, codes, unrounded);
    const Input<32> in(values, weights);
    float levels[32];
    const float d = search_levels<Uniform<-127, 127>>(in, 120.0f, 1.0f, false, levels);
    for (int i = 0; i < 32; i++) codes[i] = static_cast<std::int8_t>(levels[i]);
    return half_bits(in, d);
}

}  // namespace TL_FORMATS::encoding
