// Q8_1: 32 elements, 36 bytes: Q8_0 with the sum of its decoded values, which products with weights that have a minimum
// need. For activations only; files do not hold it.
//
//   off 0  f16 d        scale
//       2  f16 s        d * (sum of the codes)
//       4  i8  qs[32]   codes, -127..127
//
// y = qs * d
#pragma once

#include "dtype/encode/eight_bits.hpp"
#include "dtype/f16.hpp"

namespace TL_FORMATS {

struct Q8_1 {
    struct Block {
        std::uint16_t d, s;
        std::int8_t qs[32];
    };
    static constexpr const char *name = "q8_1";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::activation;

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        for (int i = 0; i < run_length; i++) values[i] = static_cast<float>(block.qs[run * run_length + i]) * d;
    }

    // As Q8_0 without weights. s is limited to F16's range.
    static void encode(const float *values, const float *, Block &block) {
        float unrounded;
        block.d = encoding::eight_bits_by_rule(values, block.qs, unrounded);
        int sum = 0;
        for (int i = 0; i < 32; i++) sum += block.qs[i];
        const float s = fminf(fmaxf(static_cast<float>(sum) * unrounded, -65504.0f), 65504.0f);
        F16::encode(&s, block.s);
    }
};

static_assert(sizeof(Q8_1::Block) == 36);

}  // namespace TL_FORMATS
