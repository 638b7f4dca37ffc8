// Q8_0: 32 elements, 34 bytes: 8-bit codes with one scale. For weights, and the activation partner of 32-element types.
//
//   off 0  f16 d        scale
//       2  i8  qs[32]   codes, -127..127
//
// y = qs * d
#pragma once

#include "dtype/encode/eight_bits.hpp"
#include "dtype/f16.hpp"

namespace TL_FORMATS {

struct Q8_0 {
    struct Block {
        std::uint16_t d;
        std::int8_t qs[32];
    };
    static constexpr const char *name = "q8_0";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 32, zero = 128, largest_code = 255;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        store_eight(codes, load_eight(block.qs + run * run_length) ^ each(0x80));
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int i = 0; i < 32; i++) block.qs[i] = static_cast<std::int8_t>(codes[i] ^ 0x80);
    }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q8_0>(block, run, values); }

    // The type's own rule, whose speed products and caches need: d = largest / 127, nearest codes (eight_bits.hpp). If
    // weights differ, the scale is searched.
    static void encode(const float *values, const float *weights, Block &block) {
        block.d = encoding::eight_bits(values, weights, block.qs);
    }
};

static_assert(sizeof(Q8_0::Block) == 34);

}  // namespace TL_FORMATS
