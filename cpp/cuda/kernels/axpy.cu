// axpy, and sums of active neurons' rows for other operations (sparse.cuh says which thread owns what).
#include "cuda/kernels/sparse.cuh"

namespace tensorlib::core {

using namespace sparse;

namespace {

constexpr int sum_threads = 256;

__global__ void list_active(Neurons neurons, Mask mask, List list, std::int64_t columns) {
    auto *of_warps = device::shared_memory<int>();
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    std::int64_t base = 0;
    for (std::int64_t first = 0; first < list.all; first += list_threads) {
        const std::int64_t row = first + thread;
        bool active = false;
        if (row < list.all) {
            const std::int64_t neuron = neurons.of(row, true);
            for (std::int64_t t = 0; t < columns && neuron >= 0 && !active; t++) active = mask.active(neuron, t);
        }
        const unsigned votes = __ballot_sync(device::all_lanes, active);
        if (lane == 0) of_warps[warp] = __popc(votes);
        __syncthreads();
        std::int64_t place = base + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < list_warps; w++) {
            if (w < warp) place += of_warps[w];
            base += of_warps[w];
        }
        if (active) list.rows[place] = row;
        __syncthreads();
    }
    if (thread == 0) *list.count = base;
}

// The outputs of a thread: one, or a run of 8.
template <bool blocks>
constexpr int outputs = blocks ? static_cast<int>(run_length) : 1;

template <bool blocks>
__device__ void add_row(const device::View &a, DType type, std::int64_t row, std::int64_t unit, float weight, float *sums) {
    if constexpr (blocks) {
        float values[run_length];
        device::decode_run(type, a.at(row, 0, 0), unit, values);
#pragma unroll
        for (int i = 0; i < static_cast<int>(run_length); i++) sums[i] = fmaf(weight, values[i], sums[i]);
    } else {
        sums[0] = fmaf(weight, device::load_element(type, a.at(row, 0, 0) + unit * a.nb[0]), sums[0]);
    }
}

// to: c, or partial sums [slice][columns][K]. If a is quantised, a thread keeps two sums and a value for each of its 8
// outputs. A multiprocessor has 65,536 registers. That is 64 per thread if four thread blocks share them, which spills
// on compute capabilities 7.5 and 8.0, and 85 if three do.
template <bool blocks>
__global__ void __launch_bounds__(sum_threads, blocks ? 3 : 4)
    sum_slices(device::View a, DType type, Neurons neurons, Mask mask, List list, float *to, bool partial, std::int64_t columns) {
    const std::int64_t K = a.ne[0], count = *list.count, unit = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
    if (unit >= K / outputs<blocks>) return;
    for (std::int64_t t = blockIdx.y; t < columns; t += gridDim.y) {
        float total[outputs<blocks>] = {};
        for (std::int64_t s = blockIdx.z; s * slice < count; s += gridDim.z) {
            float sums[outputs<blocks>] = {};
            for (std::int64_t p = s * slice; p < min((s + 1) * slice, count); p++) {
                const std::int64_t row = list.rows[p], neuron = neurons.of(row, false);
                if (mask.active(neuron, t)) add_row<blocks>(a, type, row, unit, mask.weights.at(neuron, t), sums);
            }
#pragma unroll
            for (int i = 0; i < outputs<blocks>; i++) {
                if (partial) {
                    to[(s * columns + t) * K + unit * outputs<blocks> + i] = sums[i];
                } else {
                    total[i] += sums[i];
                }
            }
        }
        if (partial) continue;
#pragma unroll
        for (int i = 0; i < outputs<blocks>; i++) to[t * K + unit * outputs<blocks> + i] = total[i];
    }
}

__global__ void add_slices(const float *partial, List list, float *c, std::int64_t outputs) {
    const std::int64_t slices = (*list.count + slice - 1) / slice;
    device::for_each_unit(outputs, [&](std::int64_t i) {
        float total = 0;
        for (std::int64_t s = 0; s < slices; s++) total += partial[s * outputs + i];
        c[i] = total;
    });
}

template <bool blocks>
cudaError_t launch_slices(const Step &step, const CudaStream &stream, const Sums &sums, bool partial) noexcept {
    const std::int64_t K = sums.a_t.ne[0], units = K / outputs<blocks>;
    const std::int64_t slices = partial ? std::min<std::int64_t>(ceil_div(sums.list.all, slice), device::largest_grid_y) : 1;
    const dim3 grid(static_cast<unsigned>(ceil_div(units, sum_threads)),
                    static_cast<unsigned>(std::min(sums.columns, device::largest_grid_y)), static_cast<unsigned>(slices));
    return launch(stream, {step.kernel->name, grid, dim3(sum_threads)}, sum_slices<blocks>, device::view_of(sums.a_t), sums.a_t.type,
                  sums.neurons, sums.mask, sums.list, partial ? sums.partial : sums.c, partial, sums.columns);
}

Mask mask_of(const Step &step) noexcept {
    const auto [scores, rows] = ops::sparse_operands;
    const Matrix h = matrix_of(step.src[1]);
    return {step.node->src[scores] ? matrix_of(step.src[scores]) : h, h, true, true, ops::sparse_rule(*step.node)};
}

void plan_axpy(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    // The extents of an empty tensor may be any numbers.
    if (is_nothing(p.node)) return;
    plan.workspace = list_bytes(a.ne[1]) + partial_bytes(a.ne[1], p.node.layout.ne[1], a.ne[0]);
}

cudaError_t launch_axpy(const Step &step, const CudaStream &stream) noexcept {
    if (is_nothing(*step.node)) return cudaSuccess;
    constexpr int rows = ops::sparse_operands.rows;
    const bool numbered = step.node->src[rows] != nullptr;
    const Neurons neurons{numbered ? device::numbers_of(step, rows) : device::Numbers{}, numbered, step.src[1].ne[0]};
    const std::int64_t all = step.src[0].ne[1], columns = step.dst.ne[1];
    const List list = list_at(step.workspace, all);
    const Mask mask = mask_of(step);
    if (const cudaError_t error = launch_list(step, stream, neurons, mask, list, columns); error != cudaSuccess) return error;
    auto *partial = reinterpret_cast<float *>(step.workspace + list_bytes(all));
    return launch_sums(step, stream, {step.src[0], neurons, mask, list, reinterpret_cast<float *>(step.dst.data), partial, columns});
}

constexpr CudaKernel table[] = {{{.op = Op::axpy, .name = "axpy_rows", .plan = plan_always<plan_axpy>}, launch_axpy}};

}  // namespace

cudaError_t sparse::launch_list(const Step &step, const CudaStream &stream, const Neurons &neurons, const Mask &mask, const List &list,
                                std::int64_t columns) noexcept {
    return launch(stream, {step.kernel->name, dim3(1), dim3(list_threads), list_warps * sizeof(int)}, list_active, neurons, mask, list,
                  columns);
}

cudaError_t sparse::launch_sums(const Step &step, const CudaStream &stream, const Sums &sums) noexcept {
    const std::int64_t outputs = sums.a_t.ne[0] * sums.columns;
    if (outputs == 0) return cudaSuccess;
    if (sums.list.all == 0) return cudaMemsetAsync(sums.c, 0, static_cast<std::size_t>(outputs) * sizeof(float), stream.stream);
    const bool partial = sums.columns <= few_columns;
    const cudaError_t error = device::is_element(sums.a_t.type) ? launch_slices<false>(step, stream, sums, partial)
                                                                : launch_slices<true>(step, stream, sums, partial);
    if (error != cudaSuccess || !partial) return error;
    const device::RowGrid grid = device::row_grid(outputs, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_slices, sums.partial, sums.list, sums.c, outputs);
}

const std::span<const CudaKernel> cuda_kernels::axpy = table;

}  // namespace tensorlib::core
