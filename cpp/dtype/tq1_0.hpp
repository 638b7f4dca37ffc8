// TQ1_0: 256 elements of -1, 0 and 1 with one scale, 54 bytes: five base-3 digits a byte.
//
//   off  0  u8  qs[48]  elements 0..159: digit e/32 of byte e%32; 160..239: digit (e-160)/16 of byte 32 + (e-160)%16
//       48  u8  qh[4]   elements 240..255: digit (e-240)/4 of byte (e-240)%4
//       52  f16 d       scale
//
// A byte is ceil(256 v / 243), v the number whose base-3 digits are the elements + 1, the first one foremost. So byte * 3^n mod
// 256, as a fraction of 256, begins with digit n: times 3, over 256. y = (digit - 1) * d
#pragma once

#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct TQ1_0 {
    struct Block {
        std::uint8_t qs[48];
        std::uint8_t qh[4];
        std::uint16_t d;
    };
    static constexpr const char *name = "tq1_0";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    // Element e's digit.
    TL_HOST_DEVICE static int digit(const Block &block, int e) {
        int byte, n;
        if (e < 160) {
            byte = block.qs[e % 32], n = e / 32;
        } else if (e < 240) {
            byte = block.qs[32 + e % 16], n = e / 16 - 10;
        } else {
            byte = block.qh[e % 4], n = e / 4 - 60;
        }
        // 3^n in a byte each: n = 0..4.
        const auto power = static_cast<int>(0x511b090301ull >> (8 * n) & 255);
        return (byte * power & 255) * 3 >> 8;
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        for (int i = 0; i < run_length; i++) values[i] = static_cast<float>(digit(block, run * run_length + i) - 1) * d;
    }
};

static_assert(sizeof(TQ1_0::Block) == 54);

}  // namespace TL_FORMATS
