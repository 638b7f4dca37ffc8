// The input of every encoder: a block's values and weights, scaled to a common size by powers of two, which changes no
// digit. The largest value is then in [1, 2), so no square under- or overflows, even if values are 1e-38 or 3e38.
#pragma once

#include "dtype/encode/lanes.hpp"
#include "dtype/f16.hpp"

namespace TL_FORMATS::encoding {

TL_ENCODE_INLINE std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
TL_ENCODE_INLINE float float_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Whether a scale as F16 has all of its 11 digits.
TL_ENCODE_INLINE bool keeps_digits_as_half(float value) {
    const float size = fabsf(value);
    return size >= 0x1p-14f && size <= 65504.0f;
}

// 2^e, e in -126..127.
TL_ENCODE_INLINE float power_of_two(int e) { return float_of(static_cast<std::uint32_t>(e + 127) << 23); }

// The largest magnitude's bits, which are ordered as the magnitudes are; from 0x7f800000 there is a NaN or an infinity.
TL_ENCODE_INLINE std::uint32_t largest_bits(const float *values, int n) {
    std::int32_t largest = 0;
    for (int i = 0; i < n; i++) {
        std::int32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    return static_cast<std::uint32_t>(largest);
}

// floor(log2), limited to where both 2^e and 2^-e are normal: smaller values stay below 1.
TL_ENCODE_INLINE int exponent_of(std::uint32_t bits) {
    const int e = static_cast<int>(bits >> 23) - 127;
    return e < -126 ? -126 : e > 126 ? 126 : e;
}

template <int n>
struct Input {
    float x[n];   // values * 2^-exponent
    float w[n];   // weights, the largest in [1, 2)
    float wx[n];  // w * x
    float largest;
    float up, down;  // 2^exponent, 2^-exponent: a scale d here stands for d * up
    int exponent;
    bool zero;      // only zeros
    bool weighted;  // not all weights are equal

    Input(const float *values, const float *weights) {
        const std::uint32_t bits = largest_bits(values, n);
        zero = bits == 0;
        exponent = exponent_of(bits);
        up = power_of_two(exponent), down = power_of_two(-exponent);
        largest = float_of(bits) * down;
        for (int i = 0; i < n; i++) x[i] = values[i] * down;
        weighted = false;
        for (int i = 1; weights && i < n; i++) weighted = weighted || weights[i] != weights[0];
        if (!weighted) {
            for (int i = 0; i < n; i++) w[i] = 1.0f;
        } else {
            // At least 2^-24 of the largest: an element without importance still decides ties.
            const float by = power_of_two(-exponent_of(largest_bits(weights, n)));
            for (int i = 0; i < n; i++) w[i] = weights[i] * by > 0x1p-24f ? weights[i] * by : 0x1p-24f;
        }
        for (int i = 0; i < n; i++) wx[i] = w[i] * x[i];
    }
};

// Scales as a block can store them: rounded to F16's 11 significant bits, to multiples of 2^-24 below 2^-14, and
// neither zero (an all-zero block has that) nor beyond 65504, the largest finite F16. d and the result are in an
// Input's units.
template <int n>
TL_ENCODE_INLINE Lanes round_to_half(const Input<n> &in, const Lanes &d) {
    Lanes r = max(min(d * in.up, all(65504.0f)), all(-65504.0f));
    // Veltkamp's splitting: the upper 24 - 13 bits.
    const Lanes t = r * 8193.0f, normal = t - (t - r);
    // 0.75's last bit counts 2^-24.
    const Lanes subnormal = (r + 0.75f) - 0.75f;
    const Lanes size = abs(r);
    Lanes rounded = where_less(size, all(0x1p-14f), subnormal, normal);
    rounded = where_less(abs(rounded), all(0x1p-24f), where_less(r, all(0), all(-0x1p-24f), all(0x1p-24f)), rounded);
    return rounded * in.down;
}

// The F16 of a scale from round_to_half(), or zero.
template <int n>
TL_ENCODE_INLINE std::uint16_t half_bits(const Input<n> &in, float d) {
    const float value = d * in.up;
    std::uint16_t half;
    F16::encode(&value, half);
    return half;
}

}  // namespace TL_FORMATS::encoding
