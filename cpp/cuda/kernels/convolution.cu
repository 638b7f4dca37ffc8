// im2col and convolutions, including depthwise and transposed ones: a thread owns an element of the result, whose sum
// it takes in the order of rows and columns of taps, and of channels in each. Neighbours read neighbouring elements of
// the image, and the same element of the kernel. Limited by the caches, from which each product takes two elements. A
// fast convolution would use tiles, as mul_mat_tiled.cu does.
#include "ops/convolution.hpp"

#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

using ops::Convolution;

struct Operands {
    const char *kernel, *image;
    DType kernel_type, image_type;
};
Operands operands_of(const Step &step) noexcept {
    return {reinterpret_cast<const char *>(step.src[0].data), reinterpret_cast<const char *>(step.src[1].data), step.src[0].type,
            step.src[1].type};
}

// Adds one tap of all channels, at an element of an image.
__device__ float add_tap(const Convolution &c, const Operands &o, const char *kernel, const char *image, std::int64_t stride, float sum) {
    for (std::int64_t channel = 0; channel < c.channels; channel++) {
        sum = device::Lane::fma(device::load_element(o.kernel_type, kernel + channel * c.kernel.channel),
                                device::load_element(o.image_type, image + channel * stride), sum);
    }
    return sum;
}

// The sum for an element of a dense or a depthwise convolution; `image` is an image, or one of its channels.
__device__ float window_sum(const Convolution &c, const Operands &o, const char *kernel, const char *image, std::int64_t x,
                            std::int64_t y) {
    const Sliding::Range xs = c.x.taps_at(x), ys = c.y.taps_at(y);
    float sum = 0;
    for (std::int64_t ty = ys.begin; ty < ys.end; ty++) {
        for (std::int64_t tx = xs.begin; tx < xs.end; tx++) {
            sum = add_tap(c, o, kernel + tx * c.kernel.x + ty * c.kernel.y,
                          image + c.x.element(x, tx) * c.image.x + c.y.element(y, ty) * c.image.y, c.image.channel, sum);
        }
    }
    return sum;
}

__device__ float transposed_sum(const Convolution &c, const Operands &o, const char *kernel, const char *image, std::int64_t x,
                                std::int64_t y) {
    float sum = 0;
    for (std::int64_t ty = 0; ty < c.y.taps; ty++) {
        std::int64_t at_y;
        if (!c.y.position_of(y, ty, at_y)) continue;
        for (std::int64_t tx = 0; tx < c.x.taps; tx++) {
            std::int64_t at_x;
            if (!c.x.position_of(x, tx, at_x)) continue;
            sum = add_tap(c, o, kernel + tx * c.kernel.x + ty * c.kernel.y, image + at_x * c.image.x + at_y * c.image.y, c.image.channel,
                          sum);
        }
    }
    return sum;
}

// A row of the grid is one of the result, whose elements are contiguous.
__global__ void convolve(Convolution c, Operands o, float *result, std::int64_t n_rows) {
    const std::int64_t width = c.transposed ? c.x.elements : c.x.positions, height = c.transposed ? c.y.elements : c.y.positions;
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const std::int64_t y = row % height, output = row / height % c.outputs, number = row / height / c.outputs;
        const char *kernel = o.kernel + output * c.kernel.output;
        const char *image = o.image + number * c.image.image + (c.by_channel ? output * c.image.channel : 0);
        device::for_each_unit(width, [&](std::int64_t x) {
            result[row * width + x] = c.transposed ? transposed_sum(c, o, kernel, image, x, y) : window_sum(c, o, kernel, image, x, y);
        });
    });
}

// A row of the grid is a position; a thread takes a tap of a channel.
__global__ void take_columns(Convolution c, Operands o, char *result, DType type, int size, std::int64_t n_rows) {
    const std::int64_t n = c.products();
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const std::int64_t x = row % c.x.positions, y = row / c.x.positions % c.y.positions, number = row / c.x.positions / c.y.positions;
        const char *image = o.image + number * c.image.image;
        device::for_each_unit(n, [&](std::int64_t k) {
            const std::int64_t at_x = c.x.element(x, k % c.x.taps), at_y = c.y.element(y, k / c.x.taps % c.y.taps);
            float value = 0;
            if (at_x >= 0 && at_x < c.x.elements && at_y >= 0 && at_y < c.y.elements)
                value = device::load_element(o.image_type, image + at_x * c.image.x + at_y * c.image.y + k / c.taps() * c.image.channel);
            device::store_element(type, result + (row * n + k) * size, value);
        });
    });
}

cudaError_t launch_convolution(const Step &step, const CudaStream &stream) noexcept {
    const Convolution c = ops::convolution_of(*step.node);
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const std::int64_t width = step.dst.ne[0];
    const device::RowGrid grid = device::row_grid(width, n / width);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, convolve, c, operands_of(step),
                  reinterpret_cast<float *>(step.dst.data), n / width);
}

cudaError_t launch_im2col(const Step &step, const CudaStream &stream) noexcept {
    const Convolution c = ops::convolution_of(*step.node);
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const std::int64_t width = step.dst.ne[0];
    const device::RowGrid grid = device::row_grid(width, n / width);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, take_columns, c, operands_of(step),
                  reinterpret_cast<char *>(step.dst.data), step.dst.type, static_cast<int>(traits(step.dst.type).size), n / width);
}

constexpr CudaKernel table[] = {
    {{.op = Op::im2col, .name = "im2col", .plan = plan_always<>}, launch_im2col},
    {{.op = Op::conv_1d, .name = "convolution", .plan = plan_always<>}, launch_convolution},
    {{.op = Op::conv_2d, .name = "convolution", .plan = plan_always<>}, launch_convolution},
    {{.op = Op::conv_1d_dw, .name = "convolution", .plan = plan_always<>}, launch_convolution},
    {{.op = Op::conv_2d_dw, .name = "convolution", .plan = plan_always<>}, launch_convolution},
    {{.op = Op::conv_transpose_1d, .name = "convolution", .plan = plan_always<>}, launch_convolution},
    {{.op = Op::conv_transpose_2d, .name = "convolution", .plan = plan_always<>}, launch_convolution},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::convolution = table;

}  // namespace tensorlib::core
