// TQ2_0: 256 elements of -1, 0 and 1 with one scale, 66 bytes: 2-bit codes.
//
//   off  0  u8  qs[64]  codes, arranged as in Q2_K; code 3 stands for 2 and is not written
//       64  f16 d       scale
//
// y = (q - 1) * d
#pragma once

#include "dtype/crumbs.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct TQ2_0 {
    struct Block {
        std::uint8_t qs[64];
        std::uint16_t d;
    };
    static constexpr const char *name = "tq2_0";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 256, zero = 1, largest_code = 3;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const std::uint8_t *qs = block.qs + run / 16 * 32 + run % 4 * run_length;
        const int shift = run / 4 % 4 * 2;
        store_eight(codes, load_eight(qs) >> shift & each(3));
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_crumbs(block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<TQ2_0>(block, run, values); }

    // Scales that map the largest magnitude to 0.9 .. 6.9: values that round to more than 1 are cut off.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        float levels[256];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Uniform<-1, 1>>(in, 0.6f, 0.4f, false, levels));
        for (float &level : levels) level += 1;
        store_crumbs(block.qs, levels);
    }
};

static_assert(sizeof(TQ2_0::Block) == 66);

}  // namespace TL_FORMATS
