// Expands the grids to words from their codes, at compile time.
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/grid_codes.inc"

namespace tensorlib::core::codebooks {

// Entries of 64 / 8 or 32 / 8 elements, `bits` each, from codes of 16 bits.
template <class Word, int n>
constexpr void expand_grid(Word (&grid)[n], const std::uint16_t (&codes)[n], int bits, const std::int8_t (&levels)[8]) {
    for (int k = 0; k < n; k++) {
        Word word = 0;
        for (int i = 0; i < static_cast<int>(sizeof(Word)); i++) {
            const int level = codes[k] >> (bits * i) & ((1 << bits) - 1);
            word |= static_cast<Word>(static_cast<std::uint8_t>(levels[level])) << (8 * i);
        }
        grid[k] = word;
    }
}

constexpr Grids expand() {
    // Zeros: levels that no entry has.
    constexpr std::int8_t magnitudes[8] = {8, 25, 43, 0, 0, 0, 0, 0}, ternary[8] = {-1, 0, 1, 0, 0, 0, 0, 0};
    constexpr std::int8_t odd[8] = {1, 3, 5, 7, 9, 11, 13, 15}, fours[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    constexpr std::uint16_t iq2xxs[] = {TL_IQ2XXS_CODES}, iq2xs[] = {TL_IQ2XS_CODES}, iq2s[] = {TL_IQ2S_CODES}, iq1s[] = {TL_IQ1S_CODES},
                            iq3xxs[] = {TL_IQ3XXS_CODES}, iq3s[] = {TL_IQ3S_CODES};
    Grids grids{};
    expand_grid(grids.iq2xxs, iq2xxs, 2, magnitudes);
    expand_grid(grids.iq2xs, iq2xs, 2, magnitudes);
    expand_grid(grids.iq2s, iq2s, 2, magnitudes);
    expand_grid(grids.iq1s, iq1s, 2, ternary);
    expand_grid(grids.iq3xxs, iq3xxs, 3, fours);
    expand_grid(grids.iq3s, iq3s, 3, odd);
    return grids;
}

}  // namespace tensorlib::core::codebooks
