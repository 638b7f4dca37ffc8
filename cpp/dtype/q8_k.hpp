// Q8_K: 256 elements, 292 bytes: the activation partner of the 256-element formats; files do not hold it.
//
//   off   0  f32 d          scale, of the sign opposite to the extreme's
//         4  i8  qs[256]    codes, -127..127
//       260  i16 bsums[16]  sums of 16 consecutive codes
//
// y = d * qs
#pragma once

#include "dtype/f16.hpp"

namespace TL_FORMATS {

struct Q8_K {
    struct Block {
        float d;
        std::int8_t qs[256];
        std::int16_t bsums[16];
    };
    static constexpr const char *name = "q8_K";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::activation;

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        for (int i = 0; i < run_length; i++) values[i] = block.d * static_cast<float>(block.qs[run * run_length + i]);
    }
};

static_assert(sizeof(Q8_K::Block) == 292);

}  // namespace TL_FORMATS
