// The plain rules: scales from the extremes of 32 values, without a search. They are for values that a program computes, as in caches,
// where encoding must not take longer than the product that reads them. The reference has the same rules.
//
// A rule fails if its scale or offset would lose digits as F16 (below 2^-14, or beyond 65504), and then the search encodes the block.
#pragma once

#include "dtype/encode/input.hpp"

namespace TL_FORMATS::encoding {

// Whether one of 32 values is this one.
TL_ENCODE_INLINE bool has_value(const float *values, float value) {
    int found = 0;
    for (int i = 0; i < 32; i++) found |= values[i] == value;
    return found != 0;
}

// Codes 0 .. 2 zero - 1 of (code - zero) d, where a value of the largest magnitude has code 0. `largest` is that magnitude.
template <int zero>
TL_ENCODE_INLINE bool codes_by_rule(const float *values, float largest, std::uint16_t &d, std::uint8_t *codes) {
    const float scale = (has_value(values, -largest) ? largest : -largest) / zero;
    if (!keeps_digits_as_half(scale)) return false;
    F16::encode(&scale, d);
    const float inverse = 1.0f / scale;
    for (int i = 0; i < 32; i++) {
        const int code = static_cast<int>(values[i] * inverse + (zero + 0.5f));
        codes[i] = static_cast<std::uint8_t>(code < 2 * zero ? code : 2 * zero - 1);
    }
    return true;
}

// Integers in the order of the floats that they stand for.
TL_ENCODE_INLINE std::int32_t order_of(float value) {
    std::int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}
TL_ENCODE_INLINE float value_of(std::int32_t order) {
    const std::int32_t bits = order ^ ((order >> 31) & 0x7fffffff);
    return float_of(static_cast<std::uint32_t>(bits));
}

// Codes 0 .. steps of m + code d, from the smallest value to the largest.
template <int steps>
TL_ENCODE_INLINE bool line_by_rule(const float *values, std::uint16_t &d, std::uint16_t &m, std::uint8_t *codes) {
    std::int32_t low = order_of(values[0]), high = low;
    for (int i = 1; i < 32; i++) {
        const std::int32_t order = order_of(values[i]);
        low = order < low ? order : low;
        high = order > high ? order : high;
    }
    const float offset = value_of(low), scale = (value_of(high) - offset) / steps;
    if (!keeps_digits_as_half(scale) || (offset != 0 && !keeps_digits_as_half(offset))) return false;
    F16::encode(&scale, d);
    F16::encode(&offset, m);
    const float inverse = 1.0f / scale;
    for (int i = 0; i < 32; i++) {
        const int code = static_cast<int>((values[i] - offset) * inverse + 0.5f);
        codes[i] = static_cast<std::uint8_t>(code < steps ? code : steps);
    }
    return true;
}

}  // namespace TL_FORMATS::encoding
