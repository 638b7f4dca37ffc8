// Q6_K: 256 elements, 210 bytes: 6-bit codes around zero; each 16 elements have a signed 8-bit scale.
//
//   off   0  u8  ql[128]     low four bits: of element 128n + 32r + l a nibble (low for r < 2) of byte 64n + 32(r%2) + l
//       128  u8  qh[64]      high two bits: 2r, 2r + 1 of byte 32n + l
//       192  i8  scales[16]  of sub-block e/16
//       208  f16 d           scale, may be negative
//
// y = (d * scale) * q, q in -32..31
#pragma once

#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct Q6_K {
    struct Block {
        std::uint8_t ql[128];
        std::uint8_t qh[64];
        std::int8_t scales[16];
        std::uint16_t d;
    };
    static constexpr const char *name = "q6_K";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 16, zero = 32, largest_code = 63;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const int n = run / 16, r = run / 4 % 4, l = run % 4 * run_length;
        const std::uint8_t *ql = block.ql + 64 * n + 32 * (r % 2) + l, *qh = block.qh + 32 * n + l;
        const int low = r / 2 * 4, high = r * 2;
        store_eight(codes, (load_eight(ql) >> low & each(15)) | (load_eight(qh) >> high & each(3)) << 4);
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return block.scales[group]; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<Q6_K>(block, group); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int n = 0; n < 2; n++) {
            for (int l = 0; l < 32; l++) {
                const std::uint8_t *q = codes + 128 * n + l;
                block.ql[64 * n + l] = static_cast<std::uint8_t>((q[0] & 15) | (q[64] & 15) << 4);
                block.ql[64 * n + 32 + l] = static_cast<std::uint8_t>((q[32] & 15) | (q[96] & 15) << 4);
                block.qh[32 * n + l] = static_cast<std::uint8_t>(q[0] >> 4 | q[32] >> 4 << 2 | q[64] >> 4 << 4 | q[96] >> 4 << 6);
            }
        }
    }
    static void store_scales(Block &block, const BlockScales &kept) {
        block.d = to_half(kept.scale[0]);
        store_steps(block, kept.scale_steps);
    }
    static void store_steps(Block &block, const int *scales) {
        for (int s = 0; s < 16; s++) block.scales[s] = static_cast<std::int8_t>(scales[s]);
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<Q6_K>(block, run, values); }

    // Scales that map a sub-block's largest magnitude to 29 .. 34.25.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        encoding::ScaledLevels<16> best;
        encoding::search_super_block<encoding::Uniform<-32, 31>>(in, -128, 127, 29.0f, 0.35f, best);
        block.d = encoding::half_bits(in, best.d);
        store_steps(block, best.scale);
        std::uint8_t codes[256];
        for (int i = 0; i < 256; i++) codes[i] = static_cast<std::uint8_t>(static_cast<int>(best.levels[i]) + zero);
        store_codes(block, codes);
    }
};

static_assert(sizeof(Q6_K::Block) == 210);

}  // namespace TL_FORMATS
