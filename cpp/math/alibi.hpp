// Attention with linear biases (O. Press, N. A. Smith, M. Lewis, Train Short, Test Long, 2022): each head's factor of the mask.
#pragma once

#include "dtype/host_device.hpp"

#include <math.h>
#include <stdint.h>

namespace tensorlib::core {

// The factor of head number `head`; max_bias is 8 in the paper, and 0 gives 1. Let n be the largest power of two that
// is at most the number of heads. The first n heads have 2^(-max_bias (h + 1) / n). The others have the factors that
// twice as many heads would have between these.
TL_HOST_DEVICE inline float alibi_slope(int64_t head, int64_t n_heads, double max_bias) {
    if (max_bias == 0) return 1;
    int64_t n = 1;
    while (n <= n_heads / 2) n *= 2;
    const auto steps = static_cast<double>(head < n ? 2 * (head + 1) : 2 * (head - n) + 1);
    return static_cast<float>(exp2(-max_bias * steps / static_cast<double>(2 * n)));
}

}  // namespace tensorlib::core
