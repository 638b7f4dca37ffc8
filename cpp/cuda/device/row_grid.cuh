// Elementwise work over rows: which thread owns what, for all kernels that traverse tensors in this way.
//
//   block  up to 256 threads, x along dimension 0, y over rows: powers of two, no more than the next one to the extent
//   grid   x over the rest of a row, y over the rest of the rows; threads continue in steps of the grid past its end
//
// A unit is what one thread moves at a time: an element or a vector.
#pragma once

#include "base/checked.hpp"

#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>

namespace tensorlib::core::device {

constexpr std::int64_t threads_per_block = 256;
constexpr std::int64_t largest_grid_y = 65535;
// Enough for any device; larger work is done in several steps of the grid.
constexpr std::int64_t largest_grid_x = 1 << 24;

struct RowGrid {
    dim3 grid, block;
};

inline RowGrid row_grid(std::int64_t units, std::int64_t n_rows) noexcept {
    std::int64_t x = 1, y = 1;
    while (x < threads_per_block && x < units) x *= 2;
    while (x * y < threads_per_block && y < n_rows) y *= 2;
    const std::int64_t blocks_x = std::clamp<std::int64_t>(ceil_div(units, x), 1, largest_grid_x);
    const std::int64_t blocks_y = std::clamp<std::int64_t>(ceil_div(n_rows, y), 1, largest_grid_y);
    return {dim3(static_cast<unsigned>(blocks_x), static_cast<unsigned>(blocks_y)),
            dim3(static_cast<unsigned>(x), static_cast<unsigned>(y))};
}

// Calls work(row) for the thread's rows; work calls for_each_unit() for the thread's units of a row.
template <class Work>
__device__ void for_each_row(std::int64_t n_rows, Work work) {
    const std::int64_t step = std::int64_t{gridDim.y} * blockDim.y;
    for (std::int64_t row = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < n_rows; row += step) work(row);
}
template <class Work>
__device__ void for_each_unit(std::int64_t units, Work work) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < units; unit += step) work(unit);
}

}  // namespace tensorlib::core::device
