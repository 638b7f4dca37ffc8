// What pool_1d, pool_2d and upscale compute, for their kernels.
#pragma once

#include "graph/tensor.hpp"
#include "ops/sliding.hpp"

namespace tensorlib::core::ops {

// The windows of a pool_1d or a pool_2d.
struct Pool {
    Sliding x, y;
    bool average;
    bool count_padding;  // an average divides by the whole window, including its padding
};
Pool pool_of(const Tensor &node) noexcept;

// The maximum of a window without an element: the lowest number of F32. Its average is 0.
constexpr float largest_of_none = -3.402823466e38f;

// The larger of a and b, or NaN if one of them is NaN; 0 is larger than -0. It has no branches, because these would be
// mispredicted.
TL_HOST_DEVICE inline float larger(float a, float b) {
    const std::uint32_t bits_a = __builtin_bit_cast(std::uint32_t, a), bits_b = __builtin_bit_cast(std::uint32_t, b);
    const std::uint32_t takes_a = 0u - static_cast<std::uint32_t>((a > b) | (a != a)), equal = 0u - static_cast<std::uint32_t>(a == b);
    const std::uint32_t other = (bits_a & takes_a) | (bits_b & ~takes_a);
    return __builtin_bit_cast(float, (bits_a & bits_b & equal) | (other & ~equal));
}

// A pixel of an image that is `factor` times as large lies between two pixels of the image, in one dimension. Its value
// is (1 - part) of `first` plus part of `second`, or `first` alone if part is 0.
struct Between {
    std::int64_t first, second;
    float part;
};
TL_HOST_DEVICE inline Between between(std::int64_t pixel, std::int64_t factor, std::int64_t extent) {
    // (pixel + 1/2) / factor - 1/2, as a whole number and a remainder in units of 1 / (2 factor).
    const std::int64_t whole = pixel / factor, parts = 2 * (pixel % factor) + 1 - factor;
    const std::int64_t first = parts < 0 ? whole - 1 : whole, rest = parts < 0 ? parts + 2 * factor : parts;
    if (first < 0) return {0, 0, 0};
    if (first + 1 >= extent) return {first, first, 0};
    return {first, first + 1, static_cast<float>(static_cast<double>(rest) / static_cast<double>(2 * factor))};
}

}  // namespace tensorlib::core::ops
