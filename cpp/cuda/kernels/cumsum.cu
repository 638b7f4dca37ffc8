// cumsum, in the CPU's order (cpp/cpu/kernels/cumsum.cpp), for identical bits. Limited by memory.
//
// A warp owns a segment of a row of up to 64 blocks of 1024 elements, 512 at a time in shared memory: read along the row,
// then a lane adds up a run of 16, and all lanes add the sum before their runs: in F32 up to 16 of them, before these in
// F64. For rows of several segments, a previous launch makes the segments' sums, as `sum` does (reductions.cu); within
// one, a block's are made in the same way.
//
// I64, for all integers, and F64 are summed in the order of ops::running_together, which is a lane's run.
//
// Shared memory: 32 runs of 16 + 1 floats per warp, 17,408 bytes per block. Lanes read their runs 17 floats apart, so
// from different banks. I64 and F64 take twice as much.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/device/warp_units.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"
#include "math/numbers.hpp"
#include "ops/reduction.hpp"

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

    template <class E>
    __device__ E at(std::int64_t line, std::int64_t i) const {
        return device::load_as_number<E>(type, a.row(line) + i * a.nb[0]);
    }
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
            for (std::int64_t i = from + lane; i < block_end; i += device::warp_size) part += lines.at<float>(line, i);
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
                    const float x = from + k < end ? lines.at<float>(line, from + k) : 0.0f;
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

static_assert(run == ops::running_together, "a lane sums a run");

// Numbers N of a unit, up to `end`, starting with `from`: each lane gets a run, and returns its number of elements.
template <class N>
__device__ int load_run(const Lines &lines, std::int64_t line, std::int64_t from, std::int64_t end, N *tile) {
    constexpr int tile_elements = static_cast<int>(device::warp_size) * run;
    const int lane = static_cast<int>(threadIdx.x);
    for (int k = lane; k < tile_elements && from + k < end; k += device::warp_size)
        tile[k / run * padded_run + k % run] = lines.at<N>(line, from + k);
    __syncwarp();
    return static_cast<int>(max(std::int64_t{0}, min(std::int64_t{run}, end - from - lane * run)));
}

// Adds the sums of the lanes' runs to the segment's, one after another. Returns the segment's before the lane's own run.
template <class N>
__device__ N join_runs(N own, N &in_segment) {
    N before = in_segment;
    for (int l = 0; l < static_cast<int>(device::warp_size); l++) {
        if (l == static_cast<int>(threadIdx.x)) before = in_segment;
        in_segment = math::Numbers<N>::add(in_segment, __shfl_sync(device::all_lanes, own, l));
    }
    return before;
}

// The sums of segments if c is null; otherwise the running sums, for which rows of several segments need them.
template <class N>
__global__ void running_numbers(Lines lines, N *c, N *sums) {
    using Number = math::Numbers<N>;
    constexpr int tile_elements = static_cast<int>(device::warp_size) * run;
    const int lane = static_cast<int>(threadIdx.x);
    N *tile = device::shared_memory<N>() + threadIdx.y * (device::warp_size * padded_run);
    N *own = tile + lane * padded_run;
    device::for_each_unit_of_warp(lines.count * lines.segments, [&](std::int64_t unit) {
        const std::int64_t line = unit / lines.segments, end = lines.end(unit);
        N before = 0, in_segment = 0;
        for (std::int64_t s = line * lines.segments; c && s < unit; s++) before = Number::add(before, sums[s]);
        for (std::int64_t from = lines.begin(unit); from < end; from += tile_elements) {
            const int n = load_run(lines, line, from, end, tile);
            N sum = 0;
            for (int j = 0; j < n; j++) own[j] = sum = Number::add(sum, own[j]);
            const N base = Number::add(before, join_runs(sum, in_segment));
            for (int j = 0; j < n; j++) own[j] = Number::add(base, own[j]);
            __syncwarp();
            for (int k = lane; c && k < tile_elements && from + k < end; k += device::warp_size)
                c[line * lines.length + from + k] = tile[k / run * padded_run + k % run];
            __syncwarp();
        }
        if (!c && lane == 0) sums[unit] = in_segment;
    });
}

template <class N>
cudaError_t launch_numbers(const Step &step, const CudaStream &stream, const Lines &lines) noexcept {
    auto *sums = reinterpret_cast<N *>(step.workspace);
    constexpr std::size_t shared = sizeof(N) * device::warps_per_block * device::warp_size * padded_run;
    const Launch each{step.kernel->name, device::warp_grid(lines.count * lines.segments), device::warp_block(), shared};
    if (lines.segments > 1) {
        const cudaError_t error = launch(stream, each, running_numbers<N>, lines, static_cast<N *>(nullptr), sums);
        if (error != cudaSuccess) return error;
    }
    return launch(stream, each, running_numbers<N>, lines, reinterpret_cast<N *>(step.dst.data), sums);
}

cudaError_t launch_running(const Step &step, const CudaStream &stream) noexcept {
    const Lines lines = lines_of(step);
    if (lines.count == 0 || lines.length == 0) return cudaSuccess;
    if (step.dst.type == DType::i64) return launch_numbers<std::int64_t>(step, stream, lines);
    if (step.dst.type == DType::f64) return launch_numbers<double>(step, stream, lines);
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
