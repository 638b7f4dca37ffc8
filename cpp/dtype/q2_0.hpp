// Q2_0: 64 elements, 18 bytes: 2-bit codes with one scale.
//
//   off 0  f16 d        scale
//       2  u8  qs[16]   element e has bits 2(e%4), 2(e%4) + 1 of byte e/4
//
// y = (q - 1) * d
#pragma once

#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct Q2_0 {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "q2_0";
    static constexpr std::int64_t block_size = 64;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 64, zero = 1, largest_code = 3;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        std::uint64_t bits = block.qs[2 * run] | static_cast<std::uint64_t>(block.qs[2 * run + 1]) << 8;
        // Spreads two bits to each byte: separates halves, then quarters, then eighths.
        bits = (bits | bits << 24) & 0x000000ff000000ffull;
        bits = (bits | bits << 12) & 0x000f000f000f000full;
        store_eight(codes, (bits | bits << 6) & each(3));
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int k = 0; k < 16; k++) {
            int bits = 0;
            for (int i = 0; i < 4; i++) bits |= codes[4 * k + i] << 2 * i;
            block.qs[k] = static_cast<std::uint8_t>(bits);
        }
    }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q2_0>(block, run, values); }

    // Scales that map the largest magnitude to 0.9 .. 5.4, of either sign: the levels are -1 .. 2.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<64> in(values, weights);
        float levels[64];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Uniform<-1, 2>>(in, 0.7f, 0.3f, true, levels));
        std::uint8_t codes[64];
        for (int i = 0; i < 64; i++) codes[i] = static_cast<std::uint8_t>(static_cast<int>(levels[i]) + zero);
        store_codes(block, codes);
    }
};

static_assert(sizeof(Q2_0::Block) == 18);

}  // namespace TL_FORMATS
