// MXFP4: 32 elements, 17 bytes: 4-bit floats (E2M1) with a power of two as their scale. OCP Microscaling Formats 1.0.
//
//   off 0  u8 e        scale 2^(e - 127); 255, NaN there, decodes as a power of two too
//       1  u8 qs[16]   nibbles as in Q4_0: bit 3 the sign, bits 0..2 one of 0, 0.5, 1, 1.5, 2, 3, 4, 6
//
// y = table[q] * 2^(e - 128), the table being doubled. Code 8, minus zero, decodes to +0.
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct MXFP4 {
    struct Block {
        std::uint8_t e;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "mxfp4";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    // 2^(e - 128), which is subnormal below e = 2.
    TL_HOST_DEVICE static float half_power(unsigned e) {
        const std::uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float scale = half_power(block.e);
        const Nibbles q = nibbles<32>(block.qs, run);
        for (int i = 0; i < run_length; i++) values[i] = static_cast<float>(fp4_value(q[i])) * scale;
    }
};

static_assert(sizeof(MXFP4::Block) == 17);

}  // namespace TL_FORMATS
