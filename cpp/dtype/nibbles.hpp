// Codes of four bits, two per byte: byte j holds element j in its low half and element j + n/2 in its high half, where
// n elements share `bytes`.
#pragma once

#include "dtype/format.hpp"

namespace TL_FORMATS {

// The eight bytes with a run's codes, and which half has them.
struct Nibbles {
    const std::uint8_t *bytes;
    int shift;

    TL_HOST_DEVICE constexpr int operator[](int i) const { return bytes[i] >> shift & 15; }
    // All codes, a byte each.
    TL_HOST_DEVICE std::uint64_t all() const { return load_eight(bytes) >> shift & each(15); }
};

// n is a power of two, 16 or more.
template <int n>
TL_HOST_DEVICE constexpr Nibbles nibbles(const std::uint8_t *bytes, int run) {
    constexpr int runs_per_half = n / 2 / run_length;
    return {bytes + run % runs_per_half * run_length, run / runs_per_half % 2 * 4};
}

// The inverse, for all n elements: codes 0..15, of any type.
template <int n, class Code>
inline void store_nibbles(std::uint8_t *bytes, const Code *codes) {
    for (int j = 0; j < n / 2; j++) {
        bytes[j] = static_cast<std::uint8_t>(static_cast<int>(codes[j]) | static_cast<int>(codes[j + n / 2]) << 4);
    }
}

// For bytes, whose low halves are taken eight at a time.
template <int n>
inline void store_nibbles(std::uint8_t *bytes, const std::uint8_t *codes) {
    for (int j = 0; j < n / 2; j += 8) {
        store_eight(bytes + j, (load_eight(codes + j) & each(15)) | (load_eight(codes + j + n / 2) & each(15)) << 4);
    }
}

// Five-bit codes of 32 elements, Q5_0's and Q5_1's: the low four bits as nibbles, the fifth of element e in bit e of four bytes.
inline void store_fifth_bits(std::uint8_t *high, std::uint8_t *bytes, const std::uint8_t *codes) {
    store_nibbles<32>(bytes, codes);
    for (int k = 0; k < 4; k++) high[k] = static_cast<std::uint8_t>(gather_bits(load_eight(codes + 8 * k) >> 4));
}

}  // namespace TL_FORMATS
