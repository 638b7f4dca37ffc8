// What im2col and the convolutions compute, for their kernels. One struct describes those of signals and images, dense,
// depthwise and transposed.
#pragma once

#include "graph/tensor.hpp"
#include "ops/sliding.hpp"

namespace tensorlib::core::ops {

// c[x, y, m, n] = sum over channels and taps of kernel[tap, channel, m] * image[element, channel, n], where the tap
// meets the element at position (x, y). A signal has extent 1 along y. by_channel: output m reads only the image's
// channel m, and the kernel has one channel. transposed: (x, y) is an element of the windows, and the image has a value
// for each position.
struct Convolution {
    Sliding x, y;
    std::int64_t channels = 0, outputs = 0, images = 0;
    bool by_channel = false, transposed = false;
    // Strides of b and of a, in bytes.
    struct {
        std::int64_t x, y, channel, image;
    } image{};
    struct {
        std::int64_t x, y, channel, output;
    } kernel{};

    TL_HOST_DEVICE std::int64_t taps() const { return x.taps * y.taps; }
    // The largest number of products that an element of the result is a sum of.
    TL_HOST_DEVICE std::int64_t products() const { return channels * taps(); }
};

Convolution convolution_of(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
