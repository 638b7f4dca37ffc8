// The codebooks of storage types: grids of eight or four elements, and sixteen values for 4-bit codes.
//
// A grid's entry is a word with a byte per element, element 0 lowest. The grids are data, and every instruction set
// shares them, so there is one copy in the library (codebooks.cpp), and one in the device code of each CUDA source.
#pragma once

#include "dtype/format.hpp"

namespace tensorlib::core::codebooks {

struct Grids {
    std::uint64_t iq2xxs[256], iq2xs[512], iq2s[1024], iq1s[2048];
    std::uint32_t iq3xxs[256], iq3s[512];
};

extern const Grids host_grids;

// The grids as floats, element by element, [element][entry], for encoders to search. Built on the first call.
struct GridLevels {
    float iq2xxs[8 * 256], iq2xs[8 * 512], iq2s[8 * 1024], iq1s[8 * 2048];
    float iq3xxs[4 * 256], iq3s[4 * 512];
};
const GridLevels &grid_levels() noexcept;

}  // namespace tensorlib::core::codebooks

#if defined(__CUDACC__)
#include "dtype/grid_expansion.hpp"
namespace tensorlib::core::codebooks {
static __device__ const Grids device_grids = expand();
}
#endif

namespace TL_FORMATS {

TL_HOST_DEVICE inline const core::codebooks::Grids &grids() {
#if defined(__CUDA_ARCH__)
    return core::codebooks::device_grids;
#else
    return core::codebooks::host_grids;
#endif
}

TL_HOST_DEVICE inline std::uint64_t iq2xxs_grid(int index) { return grids().iq2xxs[index]; }
TL_HOST_DEVICE inline std::uint64_t iq2xs_grid(int index) { return grids().iq2xs[index]; }
TL_HOST_DEVICE inline std::uint64_t iq2s_grid(int index) { return grids().iq2s[index]; }
TL_HOST_DEVICE inline std::uint64_t iq1s_grid(int index) { return grids().iq1s[index]; }
TL_HOST_DEVICE inline std::uint32_t iq3xxs_grid(int index) { return grids().iq3xxs[index]; }
TL_HOST_DEVICE inline std::uint32_t iq3s_grid(int index) { return grids().iq3s[index]; }

// Sixteen signed bytes in two words: on a device, a shift is faster than memory.
struct Table16 {
    std::uint64_t low, high;

    TL_HOST_DEVICE constexpr int operator[](int q) const { return static_cast<std::int8_t>((q < 8 ? low : high) >> 8 * (q & 7)); }
};

// The values, each plus `zero`.
TL_HOST_DEVICE constexpr Table16 table16(const std::int8_t (&values)[16], int zero = 0) {
    Table16 table{};
    for (int i = 0; i < 8; i++) {
        table.low |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(values[i] + zero)) << 8 * i;
        table.high |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(values[8 + i] + zero)) << 8 * i;
    }
    return table;
}

#define TL_IQ4NL_VALUES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
#define TL_FP4_VALUES 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12

// IQ4_NL, IQ4_XS.
TL_HOST_DEVICE inline int iq4nl_value(int q) {
    constexpr Table16 table = table16({TL_IQ4NL_VALUES});
    return table[q];
}

// E2M1, doubled: bit 3 of the code is the sign.
TL_HOST_DEVICE inline int fp4_value(int q) {
    constexpr Table16 table = table16({TL_FP4_VALUES});
    return table[q];
}

// The value as a float; on the host, a load is faster.
TL_HOST_DEVICE inline float iq4nl_level(int q) {
#if defined(__CUDA_ARCH__)
    return static_cast<float>(iq4nl_value(q));
#else
    static constexpr float levels[16] = {TL_IQ4NL_VALUES};
    return levels[q];
#endif
}
TL_HOST_DEVICE inline float fp4_level(int q) {
#if defined(__CUDA_ARCH__)
    return static_cast<float>(fp4_value(q));
#else
    static constexpr float levels[16] = {TL_FP4_VALUES};
    return levels[q];
#endif
}

}  // namespace TL_FORMATS
