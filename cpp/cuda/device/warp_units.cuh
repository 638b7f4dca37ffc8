// Work of which a warp does a unit at a time: blocks of 8 warps, and a grid that continues past its end.
#pragma once

#include "cuda/device/device.cuh"
#include "cuda/device/row_grid.cuh"

#include <algorithm>

namespace tensorlib::core::device {

constexpr int warps_per_block = 8;

inline dim3 warp_block() noexcept { return dim3(warp_size, warps_per_block); }
inline dim3 warp_grid(std::int64_t units) noexcept {
    return dim3(static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(units, std::int64_t{warps_per_block}), 1, largest_grid_x)));
}

// Calls work(unit) for the units of this warp.
template <class Work>
__device__ void for_each_unit_of_warp(std::int64_t units, Work work) {
    const std::int64_t step = std::int64_t{gridDim.x} * warps_per_block;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y; unit < units; unit += step) work(unit);
}

}  // namespace tensorlib::core::device
