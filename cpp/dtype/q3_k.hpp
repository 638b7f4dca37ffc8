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

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const int s = run / 2;
        const int code = (block.scales[s % 8] >> s / 8 * 4 & 15) | (block.scales[8 + s % 4] >> s / 4 * 2 & 3) << 4;
        const float scale = from_half(block.d) * static_cast<float>(code - 32);
        const std::uint8_t *qs = block.qs + run / 16 * 32 + run % 4 * run_length, *hmask = block.hmask + run % 4 * run_length;
        const int shift = run / 4 % 4 * 2, high = run / 4;
        for (int i = 0; i < run_length; i++) {
            values[i] = scale * static_cast<float>((qs[i] >> shift & 3) + (hmask[i] >> high & 1) * 4 - 4);
        }
    }
};

static_assert(sizeof(Q3_K::Block) == 110);

}  // namespace TL_FORMATS
