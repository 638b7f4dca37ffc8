// sum, sum_rows, mean and cumsum, in the CPU's order (cpp/cpu/kernels/sums.cpp), for identical bits. Limited by memory.
//
//   sums      a warp owns a segment of a row of up to 64 blocks of 1024 elements: lane l adds elements l, l + 32, .. of
//             a block in F32, the lanes are added pairwise, and blocks in F64. A second launch joins rows of several
//             segments, a thread a row.
//   running   a warp owns a segment too, 512 elements at a time in shared memory: read along the row, then a lane adds
//             up a run of 16, and all lanes add the sum before their runs: in F32 up to 16 of them, before these in
//             F64. For rows of several segments, a previous launch makes the segments' sums; within one, a block's are
//             made in the same way.
//
// Shared memory: 32 runs of 16 + 1 floats per warp, 17,408 bytes per block. Lanes read their runs 17 floats apart, so
// from different banks.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr std::int64_t block_elements = 1024, segment_elements = 64 * block_elements;
constexpr int run = 16, padded_run = run + 1, runs_together = 16, warps_per_block = 8;

// What is summed: rows, or all elements in ne order as one.
struct Lines {
    device::View a;
    DType type;
    bool all;
    std::int64_t count, length, segments;

    __device__ float at(std::int64_t line, std::int64_t i) const {
        const char *row = all ? a.row(i / a.ne[0]) + i % a.ne[0] * a.nb[0] : a.row(line) + i * a.nb[0];
        return device::load_element(type, row);
    }
    __device__ std::int64_t begin(std::int64_t unit) const { return unit % segments * segment_elements; }
    __device__ std::int64_t end(std::int64_t unit) const { return min(begin(unit) + segment_elements, length); }
};

std::int64_t segments_of(std::int64_t length) noexcept { return std::max<std::int64_t>(ceil_div(length, segment_elements), 1); }

Lines lines_of(const Step &step) noexcept {
    const Layout &a = step.node->src[0]->layout;
    const bool all = step.node->op == Op::sum;
    TensorRef from = step.src[0];
    const std::int64_t count = all ? 1 : a.n_rows(), length = all ? a.n_elements() : a.ne[0];
    if (all && a.contiguous()) from.ne = {length, 1, 1, 1}, from.nb[0] = traits(a.type).size;
    return {device::view_of(from), from.type, all, count, length, segments_of(length)};
}

void plan_lines(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const bool all = p.node.op == Op::sum;
    const std::int64_t segments = segments_of(all ? a.n_elements() : a.ne[0]);
    if (segments > 1) plan.workspace = static_cast<std::size_t>(segments * (all ? 1 : a.n_rows())) * sizeof(double);
}

// Calls work(unit) for the units of this warp.
template <class Work>
__device__ void for_each_unit_of_warp(std::int64_t units, Work work) {
    const std::int64_t step = std::int64_t{gridDim.x} * warps_per_block;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y; unit < units; unit += step) work(unit);
}

// A row's sum, or its mean, as the result stores it.
__device__ float stored(double sum, std::int64_t length, bool mean) {
    return static_cast<float>(mean ? sum / static_cast<double>(length) : sum);
}

// Writes either `c` or `sums`: c if rows are whole.
__global__ void sum_segments(Lines lines, float *c, double *sums, bool mean) {
    const int lane = static_cast<int>(threadIdx.x);
    for_each_unit_of_warp(lines.count * lines.segments, [&](std::int64_t unit) {
        const std::int64_t line = unit / lines.segments, end = lines.end(unit);
        double sum = 0;
        for (std::int64_t from = lines.begin(unit); from < end; from += block_elements) {
            const std::int64_t block_end = min(from + block_elements, end);
            float part = 0;
            for (std::int64_t i = from + lane; i < block_end; i += device::warp_size) part += lines.at(line, i);
            sum += static_cast<double>(device::warp_sum(part));
        }
        if (lane != 0) return;
        if (sums) {
            sums[unit] = sum;
        } else {
            c[unit] = stored(sum, lines.length, mean);
        }
    });
}

__global__ void add_segments(const double *sums, float *c, std::int64_t count, std::int64_t segments, std::int64_t length, bool mean) {
    device::for_each_unit(count, [&](std::int64_t line) {
        double sum = 0;
        for (std::int64_t s = 0; s < segments; s++) sum += sums[line * segments + s];
        c[line] = stored(sum, length, mean);
    });
}

// For rows of several segments, `sums` are those of sum_segments.
__global__ void running_segments(Lines lines, float *c, const double *sums) {
    constexpr int tile_elements = static_cast<int>(device::warp_size) * run;
    const int lane = static_cast<int>(threadIdx.x);
    float *tile = device::shared_memory<float>() + threadIdx.y * (device::warp_size * padded_run);
    float *own = tile + lane * padded_run;
    const auto place = [](int i) { return i / run * padded_run + i % run; };
    for_each_unit_of_warp(lines.count * lines.segments, [&](std::int64_t unit) {
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

dim3 warp_grid(std::int64_t units) noexcept {
    return dim3(static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(units, warps_per_block), 1, device::largest_grid_x)));
}
constexpr unsigned warp_threads = device::warp_size;

cudaError_t launch_sums(const Step &step, const CudaStream &stream) noexcept {
    const Lines lines = lines_of(step);
    const bool mean = step.node->op == Op::mean, cut = lines.segments > 1;
    if (lines.count == 0) return cudaSuccess;
    auto *c = reinterpret_cast<float *>(step.dst.data);
    double *sums = cut ? reinterpret_cast<double *>(step.workspace) : nullptr;
    const dim3 block(warp_threads, warps_per_block);
    const cudaError_t error =
        launch(stream, {step.kernel->name, warp_grid(lines.count * lines.segments), block}, sum_segments, lines, c, sums, mean);
    if (error != cudaSuccess || !cut) return error;
    const device::RowGrid grid = device::row_grid(lines.count, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_segments, static_cast<const double *>(sums), c, lines.count,
                  lines.segments, lines.length, mean);
}

cudaError_t launch_running(const Step &step, const CudaStream &stream) noexcept {
    const Lines lines = lines_of(step);
    if (lines.count == 0 || lines.length == 0) return cudaSuccess;
    auto *sums = reinterpret_cast<double *>(step.workspace);
    constexpr std::size_t shared = sizeof(float) * warps_per_block * device::warp_size * padded_run;
    const dim3 grid = warp_grid(lines.count * lines.segments), block(warp_threads, warps_per_block);
    if (lines.segments > 1) {
        const cudaError_t error =
            launch(stream, {step.kernel->name, grid, block}, sum_segments, lines, static_cast<float *>(nullptr), sums, false);
        if (error != cudaSuccess) return error;
    }
    return launch(stream, {step.kernel->name, grid, block, shared}, running_segments, lines, reinterpret_cast<float *>(step.dst.data),
                  static_cast<const double *>(sums));
}

constexpr CudaKernel table[] = {
    {{.op = Op::sum, .name = "sum", .plan = plan_always<plan_lines>}, launch_sums},
    {{.op = Op::sum_rows, .name = "sum_rows", .plan = plan_always<plan_lines>}, launch_sums},
    {{.op = Op::mean, .name = "mean", .plan = plan_always<plan_lines>}, launch_sums},
    {{.op = Op::cumsum, .name = "cumsum", .plan = plan_always<plan_lines>}, launch_running},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::sums = table;

}  // namespace tensorlib::core
