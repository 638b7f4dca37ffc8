// F16: IEEE 754 binary16.
//
//   bit 15 sign | 14..10 exponent, bias 15 | 9..0 fraction
//
// Decoding is exact. Encoding rounds to nearest even. Values that round to 2^16 or more become infinity; below 2^-14,
// results are multiples of 2^-24 (gradual underflow). NaN becomes the quiet NaN 0x7E00 with its sign.
#pragma once

#include "dtype/format.hpp"

#include <cstdint>
#include <cstring>

namespace TL_FORMATS {

struct F16 {
    using Block = std::uint16_t;
    static constexpr const char *name = "f16";
    static constexpr std::int64_t block_size = 1;
    static constexpr Kind kind = Kind::floating;

    TL_HOST_DEVICE static void decode(const Block &half, float *values) {
        // Computes all three cases, then selects: compilers vectorise that.
        const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
        const std::uint32_t exponent = half & 0x7c00u, fraction = half & 0x3ffu;
        // 112 = 127 - 15, the difference of the biases.
        const std::uint32_t normal = ((half & 0x7fffu) << 13) + (112u << 23);
        // Zero or subnormal: fraction * 2^-24, a product that F32 holds exactly.
        const float magnitude = static_cast<float>(static_cast<std::int32_t>(fraction)) * (1.0f / 16777216.0f);
        std::uint32_t subnormal;
        std::memcpy(&subnormal, &magnitude, sizeof subnormal);
        // The quiet bit is set for NaNs.
        const std::uint32_t special = 0x7f800000u | fraction << 13 | (fraction != 0 ? 0x400000u : 0u);
        const std::uint32_t bits = sign | (exponent == 0 ? subnormal : exponent == 0x7c00u ? special : normal);
        std::memcpy(values, &bits, sizeof bits);
    }

    TL_HOST_DEVICE static bool encode(const float *values, Block &half) {
        std::uint32_t bits;
        std::memcpy(&bits, values, sizeof bits);
        const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
        std::uint32_t result;
        if (magnitude > 0x7f800000u) {
            result = 0x7e00u;
        } else if (magnitude >= 0x477ff000u) {
            result = 0x7c00u;  // from 65520, half way between the largest finite value and 2^16
        } else if (magnitude < 0x38800000u) {
            // Below 2^-14. Adding 0.5 = 2^-1, whose last fraction bit is 2^-24, rounds to a multiple of that.
            float value;
            std::memcpy(&value, &magnitude, sizeof value);
            value += 0.5f;
            std::memcpy(&result, &value, sizeof result);
            result -= 0x3f000000u;
        } else {
            // Drops 13 bits: adds half of the last kept place minus one, and one more if that place is odd.
            result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
        }
        half = static_cast<std::uint16_t>(sign | result);
        return true;
    }
};

static_assert(sizeof(F16::Block) == 2);

#if defined(__F16C__) && !defined(__CUDACC__)
typedef short HalfLanes __attribute__((vector_size(16)));
typedef float HalfFloats __attribute__((vector_size(16)));
#endif

// A block's scale.
TL_HOST_DEVICE inline float from_half(std::uint16_t bits) {
#if defined(__F16C__) && !defined(__CUDACC__)
    // A single decode() takes twenty instructions, which is most of the work for blocks of 32.
    return __builtin_ia32_vcvtph2ps(HalfLanes{static_cast<short>(bits)})[0];
#else
    float value;
    F16::decode(bits, &value);
    return value;
#endif
}

// Encodes a block's scale.
inline std::uint16_t to_half(float value) {
#if defined(__F16C__) && !defined(__CUDACC__)
    return static_cast<std::uint16_t>(__builtin_ia32_vcvtps2ph(HalfFloats{value}, 0)[0]);
#else
    std::uint16_t bits;
    F16::encode(&value, bits);
    return bits;
#endif
}

}  // namespace TL_FORMATS
