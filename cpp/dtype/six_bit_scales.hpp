// The 6-bit scales and minimums of Q4_K's and Q5_K's eight sub-blocks, in twelve bytes:
//
//   s = 0..3  scale = bits 0..5 of k[s]                                 min = bits 0..5 of k[s + 4]
//   s = 4..7  scale = low nibble of k[s + 4], bits 6, 7 of k[s - 4]     min = high nibble of k[s + 4], bits 6, 7 of k[s]
#pragma once

#include "dtype/format.hpp"

namespace TL_FORMATS {

struct ScaleAndMin {
    int scale, min;
};

TL_HOST_DEVICE constexpr ScaleAndMin six_bit_scales(const std::uint8_t *k, int s) {
    if (s < 4) return {k[s] & 63, k[s + 4] & 63};
    return {(k[s + 4] & 15) | k[s - 4] >> 6 << 4, k[s + 4] >> 4 | k[s] >> 6 << 4};
}

// The inverse, for all eight.
inline void store_six_bit_scales(std::uint8_t *k, const int *scales, const int *mins) {
    for (int s = 0; s < 4; s++) {
        k[s] = static_cast<std::uint8_t>(scales[s] | scales[s + 4] >> 4 << 6);
        k[s + 4] = static_cast<std::uint8_t>(mins[s] | mins[s + 4] >> 4 << 6);
        k[s + 8] = static_cast<std::uint8_t>((scales[s + 4] & 15) | (mins[s + 4] & 15) << 4);
    }
}

}  // namespace TL_FORMATS
