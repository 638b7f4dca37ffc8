// What the types with grids share: signs in seven bits, and runs of eight from magnitudes and signs.
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/format.hpp"

namespace TL_FORMATS {

// Eight signs in seven bits: the number of negative elements is even, so the eighth is the parity of the others.
TL_HOST_DEVICE constexpr unsigned even_signs(unsigned code) {
    unsigned parity = code ^ code >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return code | (parity & 1u) << 7;
}

// Byte i of a grid's entry.
TL_HOST_DEVICE constexpr int grid_element(std::uint64_t entry, int i) { return static_cast<std::int8_t>(entry >> (8 * i)); }

// Two entries of four elements as one of eight.
TL_HOST_DEVICE constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) { return low | static_cast<std::uint64_t>(high) << 32; }

// scale * magnitude, negated if the element's bit is set.
TL_HOST_DEVICE inline void decode_signed(float scale, std::uint64_t magnitudes, unsigned signs, float *values) {
    for (int i = 0; i < run_length; i++) {
        values[i] = negate_if(bit(signs, i), scale * static_cast<float>(grid_element(magnitudes, i)));
    }
}

// Eight magnitudes below 64 with signs as codes around 64: 64 + g, or 64 - g = 127 - (64 + g) + 1.
constexpr int signed_zero = 64;
TL_HOST_DEVICE inline void signed_codes(std::uint64_t magnitudes, unsigned signs, std::uint8_t *codes) {
    const std::uint64_t negative = spread_bits(signs), above = magnitudes + each(64);
    store_eight(codes, (above ^ negative * 127) + negative);
}

// Values -1, 0, 1 with delta as codes of eighths around 9: 9 + 8 v + 1 or - 1.
constexpr int shifted_zero = 9;
TL_HOST_DEVICE inline void shifted_codes(std::uint64_t entry, bool negative, std::uint8_t *codes) {
    // -1, 0, 1 are 3, 0, 1 in two bits, and one more 0, 1, 2: no carries.
    store_eight(codes, (((entry & each(3)) + each(1)) & each(3)) * 8 + each(shifted_zero - 8 + (negative ? -1 : 1)));
}

// IQ1: scale * (value + delta), where delta is 1/8 with a sign.
TL_HOST_DEVICE inline void decode_shifted(float scale, std::uint64_t entry, bool negative, float *values) {
    const float delta = negative ? -0.125f : 0.125f;
    for (int i = 0; i < run_length; i++) values[i] = scale * (static_cast<float>(grid_element(entry, i)) + delta);
}

}  // namespace TL_FORMATS
