// cumsum, in the CPU's order (cpp/cpu/kernels/cumsum.cpp), for identical bits. Limited by memory.
//
// A warp owns a segment of a row of up to 64 blocks of 1024 elements, 512 at a time in shared memory: read along the row,
// then a lane adds up a run of 16, and all lanes add the sum before their runs: in F32 up to 16 of them, before these in
// F64. For rows of several segments, a previous launch makes the segments' sums, as `sum` does (reductions.cu); within
// one, a block's are made in the same way.
//
// Shared memory: 32 runs of 16 + 1 floats per warp, 17,408 bytes per block. Lanes read their runs 17 floats apart, so
// from different banks.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/device/warp_units.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr std::int64_t block_elements = 1024, segment_elements = 64 * block_elements;
constexpr int run = 16, padded_run = run + 1, runs_together = 16;

// The rows that are summed.
struct Lines {
    device::View a;
    DType type;
    std::int64_t count, length, segments;

    __device__ float at(std::int64_t line, std::int64_t i) const { return device::load_element(type, a.row(line) + i * a.nb[0]); }
    __device__ std::int64_t begin(std::int64_t unit) const { return unit % segments * segment_elements; }
    __device__ std::int64_t end(std::int64_t unit) const { return min(begin(unit) + segment_elements, length); }
};

std::int64_t segments_of(std::int64_t length) noexcept { return std::max<std::int64_t>(ceil_div(length, segment_elements), 1); }

Lines lines_of(const Step &step) noexcept {
    const Layout &a = step.node->src[0]->layout;
    return {device::view_of(step.src[0]), step.src[0].type, a.n_rows(), a.ne[0], segments_of(a.ne[0])};
}

void plan_lines(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const std::int64_t segments = segments_of(a.ne[0]);
    if (segments > 1) plan.workspace = static_cast<std::size_t>(segments * a.n_rows()) * sizeof(double);
}

__global__ void sum_segments(Lines lines, double *sums) {
    const int lane = static_cast<int>(threadIdx.x);
    device::for_each_unit_of_warp(lines.count * lines.segments, [&](std::int64_t unit) {
        const std::int64_t line = unit / lines.segments, end = lines.end(unit);
        double sum = 0;
        for (std::int64_t from = lines.begin(unit); from < end; from += block_elements) {
            const std::int64_t block_end = min(from + block_elements, end);
            float part = 0;
            for (std::int64_t i = from + lane; i < block_end; i += device::warp_size) part += lines.at(line, i);
            sum += static_cast<double>(device::warp_sum(part));
        }
        if (lane == 0) sums[unit] = sum;
    });
}

// For rows of several segments, `sums` are those of sum_segments.
__global__ void running_segments(Lines lines, float *c, const double *sums) {
    constexpr int tile_elements = static_cast<int>(device::warp_size) * run;
    const int lane = static_cast<int>(threadIdx.x);
    float *tile = device::shared_memory<float>() + threadIdx.y * (device::warp_size * padded_run);
    float *own = tile + lane * padded_run;
    const auto place = [](int i) { return i / run * padded_run + i % run; };
    device::for_each_unit_of_warp(lines.count * lines.segments, [&](std::int64_t unit) {
        const std::int64_t line = unit / lines.segments, end = lines.end(unit);
        double before = 0, segment = 0;
        for (std::int64_t s = line * lines.segments; s < unit; s++) before += sums[s];
        for (std::int64_t block = lines.begin(unit); block < end; block += block_elements) {
            // The sum before the run's block of 16 runs, the sum in that block before the run, and the block's parts,
            // as in sum_segments.
            double so_far = before + segment;
            float part = 0;
            for (std::int64_t from = block; from < min(block + block_elements, end); from += tile_elements) {
#pragma unroll 1
                for (int k = lane; k < tile_elements; k += device::warp_size) {
                    const float x = from + k < end ? lines.at(line, from + k) : 0.0f;
                    tile[place(k)] = x;
                    part += x;
                }
                __syncwarp();
                // Pairs, then each next power of two, whose upper half adds the last element of the lower half.
                for (int half = 1; half < run; half *= 2) {
                    for (int j = half; j < run; j++) {
                        if (j & half) own[j] += own[(j & ~(2 * half - 1)) + half - 1];
                    }
                }
                double base = 0;
                float runs = 0, mine = 0;
                for (int l = 0; l < static_cast<int>(device::warp_size); l++) {
                    if (l % runs_together == 0) runs = 0;
                    if (l == lane) base = so_far, mine = runs;
                    runs += __shfl_sync(device::all_lanes, own[run - 1], l);
                    if (l % runs_together == runs_together - 1) so_far += static_cast<double>(runs);
                }
                const auto rounded = static_cast<float>(base);
                for (int j = 0; j < run; j++) own[j] = rounded + (mine + own[j]);
                __syncwarp();
                for (int k = lane; k < tile_elements && from + k < end; k += device::warp_size)
                    c[line * lines.length + from + k] = tile[place(k)];
                __syncwarp();
            }
            segment += static_cast<double>(device::warp_sum(part));
        }
    });
}

cudaError_t launch_running(const Step &step, const CudaStream &stream) noexcept {
    const Lines lines = lines_of(step);
    if (lines.count == 0 || lines.length == 0) return cudaSuccess;
    auto *sums = reinterpret_cast<double *>(step.workspace);
    constexpr std::size_t shared = sizeof(float) * device::warps_per_block * device::warp_size * padded_run;
    const dim3 grid = device::warp_grid(lines.count * lines.segments), block = device::warp_block();
    if (lines.segments > 1) {
        const cudaError_t error = launch(stream, {step.kernel->name, grid, block}, sum_segments, lines, sums);
        if (error != cudaSuccess) return error;
    }
    return launch(stream, {step.kernel->name, grid, block, shared}, running_segments, lines, reinterpret_cast<float *>(step.dst.data),
                  static_cast<const double *>(sums));
}

constexpr CudaKernel table[] = {
    {{.op = Op::cumsum, .name = "cumsum", .plan = plan_always<plan_lines>}, launch_running},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::running_sums = table;

}  // namespace tensorlib::core
