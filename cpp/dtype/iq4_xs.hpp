// IQ4_XS: 256 elements, 136 bytes: IQ4_NL's table, with a signed 6-bit scale per 32.
//
//   off 0  f16 d            scale, may be negative
//       2  u16 scales_h     bits 2b, 2b + 1: the high two bits of the scale's code of sub-block b = e/32
//       4  u8  scales_l[4]  its low four: nibble b%2 of byte b/2; the code is 32 more than the scale
//       8  u8  qs[128]      sixteen bytes a sub-block, nibbles as in Q4_0
//
// y = (d * scale) * table[q]
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ4_XS {
    struct Block {
        std::uint16_t d;
        std::uint16_t scales_h;
        std::uint8_t scales_l[4];
        std::uint8_t qs[128];
    };
    static constexpr const char *name = "iq4_xs";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    TL_HOST_DEVICE static int six_bit_scale(const Block &block, int b) {
        return (block.scales_l[b / 2] >> b % 2 * 4 & 15) | (block.scales_h >> 2 * b & 3) << 4;
    }

    static constexpr int scale_group = 32, zero = 128, largest_code = 241;
    static constexpr Table16 codebook = table16({TL_IQ4NL_VALUES}, zero);
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs + run / 4 * 16, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return six_bit_scale(block, group) - 32; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ4_XS>(block, group); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int b = 0; b < 8; b++) store_nibbles<32>(block.qs + 16 * b, codes + 32 * b);
    }
    static void store_scales(Block &block, const BlockScales &kept) {
        block.d = to_half(kept.scale[0]);
        store_steps(block, kept.scale_steps);
    }
    static void store_steps(Block &block, const int *scales) {
        int high = 0;
        for (int b = 0; b < 8; b++) high |= (scales[b] + 32) >> 4 << 2 * b;
        block.scales_h = static_cast<std::uint16_t>(high);
        for (int k = 0; k < 4; k++) {
            block.scales_l[k] = static_cast<std::uint8_t>(((scales[2 * k] + 32) & 15) | ((scales[2 * k + 1] + 32) & 15) << 4);
        }
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const int b = run / 4;
        const float scale = group_scale(block, b);
        const Nibbles q = nibbles<32>(block.qs + b * 16, run);
        for (int i = 0; i < run_length; i++) values[i] = scale * iq4nl_level(q[i]);
    }

    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        encoding::ScaledLevels<32> best;
        encoding::search_super_block<encoding::Nonlinear>(in, -32, 31, 95.0f, 4.0f, best);
        block.d = encoding::half_bits(in, best.d);
        store_steps(block, best.scale);
        std::uint8_t codes[256];
        for (int i = 0; i < 256; i++) codes[i] = static_cast<std::uint8_t>(encoding::Nonlinear::code(best.levels[i]));
        store_codes(block, codes);
    }
};

static_assert(sizeof(IQ4_XS::Block) == 136);

}  // namespace TL_FORMATS
