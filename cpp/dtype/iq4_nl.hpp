// IQ4_NL: 32 elements, 18 bytes: 4-bit codes into a table of 16 values that lie closer together around zero.
//
//   off 0  f16 d        scale, may be negative
//       2  u8  qs[16]   nibbles as in Q4_0
//
// y = d * table[q]
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct IQ4_NL {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "iq4_nl";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 32, zero = 128, largest_code = 241;
    static constexpr Table16 codebook = table16({TL_IQ4NL_VALUES}, zero);
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_nibbles<32>(block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        const Nibbles q = nibbles<32>(block.qs, run);
        for (int i = 0; i < run_length; i++) values[i] = d * iq4nl_level(q[i]);
    }

    // Scales that map the largest magnitude to 95 .. 155 of the table's -127 .. 113.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<32> in(values, weights);
        float levels[32];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Nonlinear>(in, 95.0f, 4.0f, true, levels));
        int codes[32];
        for (int i = 0; i < 32; i++) codes[i] = block.d == 0 ? 0 : encoding::Nonlinear::code(levels[i]);
        store_nibbles<32>(block.qs, codes);
    }
};

static_assert(sizeof(IQ4_NL::Block) == 18);

}  // namespace TL_FORMATS
