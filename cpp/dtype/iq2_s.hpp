// IQ2_S: 256 elements, 82 bytes: runs of 8 from a grid of 1024 entries, a sign bit each, a 4-bit scale per 16.
//
//   off  0  f16 d
//        2  u8  qs[32]     low eight bits of the grid index of run e/8
//       34  u8  signs[32]  of run e/8: bit j set where element j is negative
//       66  u8  qh[8]      per 32: bits 2l, 2l + 1 the index's bits 8, 9 of run l
//       74  u8  scales[8]  as in IQ2_XS
//
// y = d * (0.5 + scale) * 0.25 * grid, signed
#pragma once

#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ2_S {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[32];
        std::uint8_t signs[32];
        std::uint8_t qh[8];
        std::uint8_t scales[8];
    };
    static constexpr const char *name = "iq2_s";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const int index = block.qs[run] | (block.qh[run / 4] >> run % 4 * 2 & 3) << 8;
        const float scale = from_half(block.d) * (0.5f + static_cast<float>(block.scales[run / 4] >> run / 2 % 2 * 4 & 15)) * 0.25f;
        decode_signed(scale, iq2s_grid(index), block.signs[run], values);
    }
};

static_assert(sizeof(IQ2_S::Block) == 82);

}  // namespace TL_FORMATS
