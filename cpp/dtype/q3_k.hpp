// Q3_K: 256 elements, 110 bytes: 3-bit codes around zero; each 16 elements have a signed 6-bit scale.
//
//   off   0  u8  hmask[32]   third bits: element e has bit e/32 of byte e%32; a set bit means "do not subtract 4"
//        32  u8  qs[64]      low two bits, as in Q2_K
//        96  u8  scales[12]  sixteen 6-bit codes, 32 more than the scale: of sub-block s the low four bits are a nibble of byte
//                            s%8 (low for s < 8), the high two are bits 2(s/4), 2(s/4) + 1 of byte 8 + s%4
//       108  f16 d           scale, may be negative
//
// y = (d * scale) * q, q in -4..3
#pragma once

#include "dtype/crumbs.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct Q3_K {
    struct Block {
        std::uint8_t hmask[32];
        std::uint8_t qs[64];
        std::uint8_t scales[12];
        std::uint16_t d;
    };
    static constexpr const char *name = "q3_K";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    TL_HOST_DEVICE static int six_bit_scale(const Block &block, int s) {
        return (block.scales[s % 8] >> s / 8 * 4 & 15) | (block.scales[8 + s % 4] >> s / 4 * 2 & 3) << 4;
    }

    static constexpr int scale_group = 16, zero = 4, largest_code = 7;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const std::uint8_t *qs = block.qs + run / 16 * 32 + run % 4 * run_length, *hmask = block.hmask + run % 4 * run_length;
        const int shift = run / 4 % 4 * 2, high = run / 4;
        store_eight(codes, (load_eight(qs) >> shift & each(3)) | (load_eight(hmask) >> high & each(1)) << 2);
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return six_bit_scale(block, group) - 32; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<Q3_K>(block, group); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        std::uint8_t low[256];
        for (int i = 0; i < 256; i++) low[i] = codes[i] & 3;
        store_crumbs(block.qs, low);
        for (int l = 0; l < 32; l++) {
            int bits = 0;
            for (int k = 0; k < 8; k++) bits |= codes[32 * k + l] >> 2 << k;
            block.hmask[l] = static_cast<std::uint8_t>(bits);
        }
    }
    static void store_scales(Block &block, const BlockScales &kept) {
        block.d = to_half(kept.scale[0]);
        store_steps(block, kept.scale_steps);
    }
    static void store_steps(Block &block, const int *scales) {
        for (std::uint8_t &byte : block.scales) byte = 0;
        for (int s = 0; s < 16; s++) {
            const int code = scales[s] + 32;
            block.scales[s % 8] = static_cast<std::uint8_t>(block.scales[s % 8] | (code & 15) << s / 8 * 4);
            block.scales[8 + s % 4] = static_cast<std::uint8_t>(block.scales[8 + s % 4] | code >> 4 << s / 4 * 2);
        }
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q3_K>(block, run, values); }

    // Scales that map a sub-block's largest magnitude to 2.5 .. 5.5.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        encoding::ScaledLevels<16> best;
        encoding::search_super_block<encoding::Uniform<-4, 3>>(in, -32, 31, 2.5f, 0.2f, best);
        block.d = encoding::half_bits(in, best.d);
        std::uint8_t codes[256];
        for (int i = 0; i < 256; i++) codes[i] = static_cast<std::uint8_t>(static_cast<int>(best.levels[i]) + zero);
        store_codes(block, codes);
        store_steps(block, best.scale);
    }
};

static_assert(sizeof(Q3_K::Block) == 110);

}  // namespace TL_FORMATS
