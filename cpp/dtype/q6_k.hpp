// Q6_K: 256 elements, 210 bytes: 6-bit codes around zero; each 16 elements have a signed 8-bit scale.
//
//   off   0  u8  ql[128]     low four bits: of element 128n + 32r + l a nibble (low for r < 2) of byte 64n + 32(r%2) + l
//       128  u8  qh[64]      high two bits: 2r, 2r + 1 of byte 32n + l
//       192  i8  scales[16]  of sub-block e/16
//       208  f16 d           scale, may be negative
//
// y = (d * scale) * q, q in -32..31
#pragma once

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

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float scale = from_half(block.d) * static_cast<float>(block.scales[run / 2]);
        const int n = run / 16, r = run / 4 % 4, l = run % 4 * run_length;
        const std::uint8_t *ql = block.ql + 64 * n + 32 * (r % 2) + l, *qh = block.qh + 32 * n + l;
        const int low = r / 2 * 4, high = r * 2;
        for (int i = 0; i < run_length; i++) {
            values[i] = scale * static_cast<float>(((ql[i] >> low & 15) | (qh[i] >> high & 3) << 4) - 32);
        }
    }
};

static_assert(sizeof(Q6_K::Block) == 210);

}  // namespace TL_FORMATS
