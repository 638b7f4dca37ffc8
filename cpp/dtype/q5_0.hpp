// Q5_0: 32 elements, 22 bytes: 5-bit codes around zero with one scale.
//
//   off 0  f16 d        scale, may be negative
//       2  u8  qh[4]    a 32-bit word: bit e is the fifth bit of element e
//       6  u8  qs[16]   low four bits, nibbles as in Q4_0
//
// y = (q - 16) * d
#pragma once

#include "dtype/encode/rules.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct Q5_0 {
    struct Block {
        std::uint16_t d;
        std::uint8_t qh[4];
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "q5_0";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 32, zero = 16, largest_code = 31;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs, run);
        store_eight(codes, q.all() | spread_bits(block.qh[run]) << 4);
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_fifth_bits(block.qh, block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q5_0>(block, run, values); }

    // Scales that map the largest magnitude to 14 .. 17.75.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<32> in(values, weights);
        float levels[32];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Uniform<-16, 15>>(in, 14.0f, 0.25f, true, levels));
        std::uint8_t codes[32];
        for (int i = 0; i < 32; i++) codes[i] = static_cast<std::uint8_t>(static_cast<int>(levels[i]) + zero);
        store_codes(block, codes);
    }
    static bool encode_by_rule(const float *values, float largest, Block &block) {
        std::uint8_t codes[32];
        const bool fits = encoding::codes_by_rule<zero>(values, largest, block.d, codes);
        if (fits) store_codes(block, codes);
        return fits;
    }
};

static_assert(sizeof(Q5_0::Block) == 22);

}  // namespace TL_FORMATS
