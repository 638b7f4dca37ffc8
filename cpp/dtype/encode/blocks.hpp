// Encodes n elements of any type. The traits and each ISA instantiate it.
#pragma once

#include "dtype/encode/input.hpp"

namespace TL_FORMATS::encoding {

// The first NaN or infinity of n values, or -1.
inline std::int64_t first_not_finite(const float *values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i++) {
        if ((bits_of(values[i]) & 0x7f800000u) == 0x7f800000u) return i;
    }
    return -1;
}

// Types that have a plain rule (rules.hpp) and a search.
template <class Format>
concept HasRule = requires(const float *values, typename Format::Block &block) { Format::encode_by_rule(values, 0.0f, block); };

// Encodes n elements, a multiple of the type's block size; weights are as many, or null for ones. Returns the first
// position that the type cannot hold, or -1: nothing of that block and later ones is written. Quantised types hold only
// finite numbers.
template <class Format>
inline std::int64_t encode_blocks(const float *values, const float *weights, void *blocks, std::int64_t n) {
    // Blocks may lie at any address, so each is made here and copied.
    auto *to = static_cast<unsigned char *>(blocks);
    typename Format::Block block;
    constexpr auto size = static_cast<int>(Format::block_size);
    for (std::int64_t i = 0; i < n; i += size, to += sizeof block) {
        if constexpr (size == 1) {
            (void)weights;
            if (!Format::encode(values + i, block)) return i;
        } else {
            if (largest_bits(values + i, size) >= 0x7f800000u) return i + first_not_finite(values + i, size);
            Format::encode(values + i, weights ? weights + i : nullptr, block);
        }
        std::memcpy(to, &block, sizeof block);
    }
    return -1;
}

// Encodes n elements without weights, by the type's rule if it has one. `encode` is the type's own, for the blocks for which the rule
// fails.
template <class Format, class Encode>
inline std::int64_t encode_blocks_by_rule(const float *values, void *blocks, std::int64_t n, Encode encode) {
    if constexpr (!HasRule<Format>) {
        return encode(values, nullptr, blocks, n);
    } else {
        auto *to = static_cast<unsigned char *>(blocks);
        typename Format::Block block;
        constexpr auto size = static_cast<int>(Format::block_size);
        for (std::int64_t i = 0; i < n; i += size, to += sizeof block) {
            const std::uint32_t largest = largest_bits(values + i, size);
            if (largest >= 0x7f800000u) return i + first_not_finite(values + i, size);
            if (Format::encode_by_rule(values + i, float_of(largest), block)) {
                std::memcpy(to, &block, sizeof block);
            } else {
                encode(values + i, nullptr, to, size);
            }
        }
        return -1;
    }
}

}  // namespace TL_FORMATS::encoding
