// Q8_K: 256 elements, 292 bytes: the activation partner of the 256-element types; files do not hold it.
//
//   off   0  f32 d          scale, with the sign opposite to the extreme's
//         4  i8  qs[256]    codes, -127..127
//       260  i16 bsums[16]  sums of 16 consecutive codes
//
// y = d * qs
#pragma once

#include "dtype/f16.hpp"

#include <math.h>

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

    // The first element of the largest magnitude becomes -127, which determines d's sign: -127 / largest is the inverse
    // of d. If that has no finite value (below 4e-37), the block is zero. d is limited so that 127 d stays within F32.
    // Weights do not matter for activations.
    static void encode(const float *values, const float *, Block &block) {
        float extreme = 0;
        for (int i = 0; i < 256; i++) extreme = fabsf(values[i]) > fabsf(extreme) ? values[i] : extreme;
        const float inverse = fabsf(extreme) < 4e-37f ? 0 : -127.0f / extreme;
        block.d = inverse == 0 ? 0 : fminf(fmaxf(1 / inverse, -2.679e36f), 2.679e36f);
        // To nearest even, by 1.5 * 2^23, whose last bit counts ones. No magnitude exceeds 127, the extreme's.
        for (int i = 0; i < 256; i++) block.qs[i] = static_cast<std::int8_t>(values[i] * inverse + 12582912.0f - 12582912.0f);
        for (int g = 0; g < 16; g++) {
            int sum = 0;
            for (int i = 0; i < 16; i++) sum += block.qs[16 * g + i];
            block.bsums[g] = static_cast<std::int16_t>(sum);
        }
    }
};

static_assert(sizeof(Q8_K::Block) == 292);

}  // namespace TL_FORMATS
