// Q1_0: 128 elements, 18 bytes: signs with one scale.
//
//   off 0  f16 d        scale
//       2  u8  qs[16]   bit e%8 of byte e/8
//
// y = d where the bit is set, else -d
#pragma once

#include "dtype/f16.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct Q1_0 {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "q1_0";
    static constexpr std::int64_t block_size = 128;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        for (int i = 0; i < run_length; i++) values[i] = block.qs[run] >> i & 1 ? d : -d;
    }
};

static_assert(sizeof(Q1_0::Block) == 18);

}  // namespace TL_FORMATS
