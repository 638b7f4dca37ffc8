// Q2_K: 256 elements, 84 bytes: 2-bit codes; each 16 elements have a 4-bit scale and a 4-bit minimum.
//
//   off  0  u8  scales[16]  of sub-block e/16: low nibble the scale, high nibble the minimum
//       16  u8  qs[64]      codes: element 128n + 32j + l has bits 2j, 2j + 1 of byte 32n + l
//       80  f16 d           scale of the scales
//       82  f16 dmin        scale of the minimums
//
// y = (d * scale) * q - (dmin * min)
#pragma once

#include "dtype/crumbs.hpp"
#include "dtype/encode/affine_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct Q2_K {
    struct Block {
        std::uint8_t scales[16];
        std::uint8_t qs[64];
        std::uint16_t d, dmin;
    };
    static constexpr const char *name = "q2_K";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 16, offset_group = 16, largest_code = 3, largest_step = 15;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const std::uint8_t *qs = block.qs + run / 16 * 32 + run % 4 * run_length;
        const int shift = run / 4 % 4 * 2;
        store_eight(codes, load_eight(qs) >> shift & each(3));
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return block.scales[group] & 15; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<Q2_K>(block, group); }
    TL_HOST_DEVICE static float unit_offset(const Block &block) { return -from_half(block.dmin); }
    TL_HOST_DEVICE static int offset_steps(const Block &block, int group) { return block.scales[group] >> 4; }
    TL_HOST_DEVICE static float group_offset(const Block &block, int group) { return offset_by_steps<Q2_K>(block, group); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_crumbs(block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) {
        block.d = to_half(kept.scale[0]), block.dmin = to_half(-kept.offset[0]);
        store_steps(block, kept.scale_steps, kept.offset_steps);
    }
    static void store_steps(Block &block, const int *scales, const int *mins) {
        for (int s = 0; s < 16; s++) block.scales[s] = static_cast<std::uint8_t>(scales[s] | mins[s] << 4);
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q2_K>(block, run, values); }

    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        encoding::AffineLevels<16> best;
        encoding::search_super_block<3>(in, 15, 0.5f, best);
        block.d = encoding::half_bits(in, best.d), block.dmin = encoding::half_bits(in, best.dmin);
        store_steps(block, best.scale, best.min);
        store_crumbs(block.qs, best.levels);
    }
};

static_assert(sizeof(Q2_K::Block) == 84);

}  // namespace TL_FORMATS
