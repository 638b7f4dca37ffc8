// Q5_1: 32 elements, 24 bytes: 5-bit codes with a step and a minimum.
//
//   off 0  f16 d        step
//       2  f16 m        minimum
//       4  u8  qh[4]    a 32-bit word: bit e is the fifth bit of element e
//       8  u8  qs[16]   low four bits, nibbles as in Q4_0
//
// y = q * d + m
#pragma once

#include "dtype/encode/affine_search.hpp"
#include "dtype/encode/rules.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_1.hpp"

namespace TL_FORMATS {

struct Q5_1 {
    struct Block {
        std::uint16_t d, m;
        std::uint8_t qh[4];
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "q5_1";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_1;

    static constexpr int scale_group = 32, offset_group = 32, largest_code = 31;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs, run);
        store_eight(codes, q.all() | spread_bits(block.qh[run]) << 4);
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    TL_HOST_DEVICE static float group_offset(const Block &block, int) { return from_half(block.m); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_fifth_bits(block.qh, block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]), block.m = to_half(kept.offset[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q5_1>(block, run, values); }

    // Each end of the range is cut by up to a thirty-first, one step.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<32> in(values, weights);
        float levels[32];
        const encoding::ScaleAndOffset best = encoding::search_line<31>(in, 1.0f / 31, levels);
        block.d = encoding::half_bits(in, best.d), block.m = encoding::half_bits(in, best.m);
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i++) codes[i] = static_cast<std::uint8_t>(levels[i]);
        store_codes(block, codes);
    }
    static bool encode_by_rule(const float *values, float, Block &block) {
        std::uint8_t codes[32];
        const bool fits = encoding::line_by_rule<31>(values, block.d, block.m, codes);
        if (fits) store_codes(block, codes);
        return fits;
    }
};

static_assert(sizeof(Q5_1::Block) == 24);

}  // namespace TL_FORMATS
