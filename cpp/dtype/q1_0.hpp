// Q1_0: 128 elements, 18 bytes: signs with one scale.
//
//   off 0  f16 d        scale
//       2  u8  qs[16]   bit e%8 of byte e/8
//
// y = d if the bit is set, otherwise -d
#pragma once

#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct Q1_0 {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "q1_0";
    static constexpr std::int64_t block_size = 128;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 128, zero = 1, largest_code = 2;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        store_eight(codes, spread_bits(block.qs[run]) << 1);
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int k = 0; k < 16; k++) block.qs[k] = static_cast<std::uint8_t>(gather_bits(load_eight(codes + 8 * k) >> 1));
    }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        for (int i = 0; i < run_length; i++) values[i] = negate_if(bit(block.qs[run], i) ^ 1u, d);
    }

    // The nearest sign for each, so d is the weighted mean of the magnitudes.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<128> in(values, weights);
        float levels[128];
        for (int i = 0; i < 128; i++) levels[i] = in.x[i] < 0 ? -1.0f : 1.0f;
        float p = 0, q = 0;
        for (int i = 0; i < 128; i++) p += in.wx[i] * levels[i], q += in.w[i];
        block.d = in.zero ? static_cast<std::uint16_t>(0) : encoding::half_bits(in, p / q);
        if ((block.d & 0x7c00u) == 0x7c00u) block.d = 0x7bff;
        std::uint8_t codes[128];
        for (int i = 0; i < 128; i++) codes[i] = levels[i] > 0 ? 2 : 0;
        store_codes(block, codes);
    }
};

static_assert(sizeof(Q1_0::Block) == 18);

}  // namespace TL_FORMATS
