// Codes of four bits, two a byte: byte j holds element j in its low half and element j + n/2 in its high half, n being the
// elements that share `bytes`.
#pragma once

#include "dtype/format.hpp"

namespace TL_FORMATS {

// The eight bytes that hold a run's codes, and the half that does.
struct Nibbles {
    const std::uint8_t *bytes;
    int shift;

    TL_HOST_DEVICE constexpr int operator[](int i) const { return bytes[i] >> shift & 15; }
};

// n a power of two, 16 or more.
template <int n>
TL_HOST_DEVICE constexpr Nibbles nibbles(const std::uint8_t *bytes, int run) {
    constexpr int runs_per_half = n / 2 / run_length;
    return {bytes + run % runs_per_half * run_length, run / runs_per_half % 2 * 4};
}

}  // namespace TL_FORMATS
