// IQ2_XS: 256 elements, 74 bytes: runs of 8 from a grid of 512 entries, signs in 7 bits, a 4-bit scale per 16.
//
//   off  0  f16 d
//        2  u16 qs[32]     of run e/8: bits 0..8 the grid index, bits 9..15 the signs
//       66  u8  scales[8]  per 32: low nibble for the first 16, high nibble for the second
//
// y = d * (0.5 + scale) * 0.25 * grid, signed
#pragma once

#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ2_XS {
    struct Block {
        std::uint16_t d;
        std::uint16_t qs[32];
        std::uint8_t scales[8];
    };
    static constexpr const char *name = "iq2_xs";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const unsigned q = block.qs[run];
        const float scale = from_half(block.d) * (0.5f + static_cast<float>(block.scales[run / 4] >> run / 2 % 2 * 4 & 15)) * 0.25f;
        decode_signed(scale, iq2xs_grid(q & 511), even_signs(q >> 9), values);
    }
};

static_assert(sizeof(IQ2_XS::Block) == 74);

}  // namespace TL_FORMATS
