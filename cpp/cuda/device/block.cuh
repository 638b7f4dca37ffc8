// Reductions over all threads of a block, in an order that depends only on the numbers of blocks and threads.
#pragma once

#include "cuda/device/device.cuh"

#include <cstdint>

namespace tensorlib::core::device {

// The most threads of a block that calls these functions; whole warps, along x. Shared memory: block_bytes.
constexpr int most_block_threads = 256;
constexpr std::size_t block_bytes = most_block_threads / warp_size * sizeof(double);

// As many threads as n elements keep busy.
inline int block_threads(std::int64_t n) noexcept {
    int threads = static_cast<int>(warp_size);
    while (threads < most_block_threads && threads < n) threads *= 2;
    return threads;
}

// Joins the values of all threads and returns the result in each thread: those of a warp in a tree, then those of the
// warps in order.
template <class Join>
__device__ double over_block(double value, double nothing, Join join) {
    auto *of_warps = shared_memory<double>();
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value = join(value, __shfl_xor_sync(all_lanes, value, distance));
    const int warps = static_cast<int>(blockDim.x / warp_size);
    if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = value;
    __syncthreads();
    double all = nothing;
    for (int w = 0; w < warps; w++) all = join(all, of_warps[w]);
    __syncthreads();
    return all;
}

__device__ inline double block_sum(double value) {
    return over_block(value, 0.0, [](double a, double b) { return a + b; });
}

// Ignores NaN.
__device__ inline double block_largest(double value) {
    return over_block(value, -static_cast<double>(INFINITY), [](double a, double b) { return a > b || b != b ? a : b; });
}

// The sum of each(i) for i from 0 to n - 1. A thread adds 32 elements in F32, as few as the CPU, before it continues in
// F64.
template <class Each>
__device__ double block_sum_of(std::int64_t n, Each each) {
    constexpr int elements_in_f32 = 32;
    double sum = 0;
    const std::int64_t step = blockDim.x;
    for (std::int64_t from = threadIdx.x; from < n; from += elements_in_f32 * step) {
        const std::int64_t end = min(n, from + elements_in_f32 * step);
        float part = 0;
        for (std::int64_t i = from; i < end; i += step) part += each(i);
        sum += static_cast<double>(part);
    }
    return block_sum(sum);
}

}  // namespace tensorlib::core::device
