// Q4_K: 256 elements, 144 bytes: 4-bit codes; each 32 elements have a 6-bit scale and a 6-bit minimum.
//
//   off  0  f16 d         scale of the scales
//        2  f16 dmin      scale of the minimums
//        4  u8  k[12]     scales and minimums (six_bit_scales.hpp)
//       16  u8  qs[128]   nibbles: byte 32c + l holds elements 64c + l (low) and 64c + 32 + l (high)
//
// y = (d * scale) * q - (dmin * min)
#pragma once

#include "dtype/encode/affine_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_k.hpp"
#include "dtype/six_bit_scales.hpp"

namespace TL_FORMATS {

struct Q4_K {
    struct Block {
        std::uint16_t d, dmin;
        std::uint8_t k[12];
        std::uint8_t qs[128];
    };
    static constexpr const char *name = "q4_K";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 32, offset_group = 32, largest_code = 15;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<64>(block.qs + run / 8 * 32, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return six_bit_scales(block.k, group).scale; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<Q4_K>(block, group); }
    TL_HOST_DEVICE static float unit_offset(const Block &block) { return -from_half(block.dmin); }
    TL_HOST_DEVICE static int offset_steps(const Block &block, int group) { return six_bit_scales(block.k, group).min; }
    TL_HOST_DEVICE static float group_offset(const Block &block, int group) { return offset_by_steps<Q4_K>(block, group); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int c = 0; c < 4; c++) store_nibbles<64>(block.qs + 32 * c, codes + 64 * c);
    }
    static void store_scales(Block &block, const BlockScales &kept) {
        block.d = to_half(kept.scale[0]), block.dmin = to_half(-kept.offset[0]);
        store_six_bit_scales(block.k, kept.scale_steps, kept.offset_steps);
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q4_K>(block, run, values); }

    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        encoding::AffineLevels<32> best;
        encoding::search_super_block<15>(in, 63, 0.12f, best);
        block.d = encoding::half_bits(in, best.d), block.dmin = encoding::half_bits(in, best.dmin);
        store_six_bit_scales(block.k, best.scale, best.min);
        for (int c = 0; c < 4; c++) store_nibbles<64>(block.qs + 32 * c, best.levels + 64 * c);
    }
};

static_assert(sizeof(Q4_K::Block) == 144);

}  // namespace TL_FORMATS
