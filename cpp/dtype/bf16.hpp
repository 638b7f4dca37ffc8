// BF16: the upper 16 bits of an F32.
//
//   bit 15 sign | 14..7 exponent, bias 127 | 6..0 fraction
//
// Decoding is exact. Encoding rounds to nearest even, so large values may round to infinity. NaN keeps its sign and
// upper bits and becomes quiet.
#pragma once

#include "dtype/format.hpp"

#include <cstdint>
#include <cstring>

namespace TL_FORMATS {

struct BF16 {
    using Block = std::uint16_t;
    static constexpr const char *name = "bf16";
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::floating;

    TL_HOST_DEVICE static void decode(const Block &half, float *values) {
        const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
        std::memcpy(values, &bits, sizeof bits);
    }

    TL_HOST_DEVICE static bool encode(const float *values, Block &half) {
        std::uint32_t bits;
        std::memcpy(&bits, values, sizeof bits);
        if ((bits & 0x7fffffffu) > 0x7f800000u) {
            half = static_cast<std::uint16_t>((bits >> 16) | 0x40u);
        } else {
            half = static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
        }
        return true;
    }
};

static_assert(sizeof(BF16::Block) == 2);

}  // namespace TL_FORMATS
