// mul_mat_sparse: computes the elements of a product whose neurons are active.
//
// The list of active neurons is made first (sparse.cuh). Then a warp multiplies a row of the list by each of the
// columns in which it is active. Its lanes take elements of k, or runs of 8, and multiply in F32, as in mul_mat_id. c
// is set to zeros before. No shared memory. Limited by reading the rows, each once per column.
#include "cuda/device/dot.cuh"
#include "cuda/kernels/sparse.cuh"

namespace tensorlib::core {

using namespace sparse;

namespace {

constexpr int warps_per_block = 8;

// Registers are bounded as in mul_mat_blocks.
template <bool blocks>
__global__ void __launch_bounds__(warps_per_block * 32, 4)
    multiply_active(device::View a, DType a_type, device::View b, DType b_type, Neurons neurons, Mask mask, List list, float *c,
                    std::int64_t columns) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t place = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y;
    if (place >= *list.count) return;
    const std::int64_t row = list.rows[place], neuron = neurons.of(row, false);
    for (std::int64_t t = blockIdx.y; t < columns; t += gridDim.y) {
        if (!mask.active(neuron, t)) continue;
        const float sum =
            device::warp_sum(device::dot<blocks>(a_type, a.at(row, 0, 0), a.nb[0], b_type, b.at(t, 0, 0), b.nb[0], a.ne[0], lane));
        if (lane == 0) c[t * neurons.count + neuron] = sum;
    }
}

void plan_list(const Problem &p, KernelPlan &plan) noexcept {
    // The extents of an empty tensor may be any numbers.
    if (!is_nothing(p.node)) plan.workspace = list_bytes(p.node.src[0]->layout.ne[1]);
}

template <bool blocks>
cudaError_t launch_products(const Step &step, const CudaStream &stream) noexcept {
    if (is_nothing(*step.node)) return cudaSuccess;
    const auto [scores, rows] = ops::sparse_operands;
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const bool numbered = step.node->src[rows] != nullptr, tests = step.node->src[scores] != nullptr;
    const Neurons neurons{numbered ? device::numbers_of(step, rows) : device::Numbers{}, numbered, c.ne[0]};
    const Matrix tested = tests ? matrix_of(step.src[scores]) : Matrix{};
    const Mask mask{tested, tested, tests, false, ops::sparse_rule(*step.node)};
    const List list = list_at(step.workspace, a.ne[1]);
    const std::size_t bytes = step.node->layout.nbytes();
    if (bytes > 0) {
        if (const cudaError_t error = cudaMemsetAsync(c.data, 0, bytes, stream.stream); error != cudaSuccess) return error;
    }
    if (a.ne[1] == 0) return cudaSuccess;
    if (const cudaError_t error = launch_list(step, stream, neurons, mask, list, b.ne[1]); error != cudaSuccess) return error;
    if (bytes == 0) return cudaSuccess;
    const dim3 grid(static_cast<unsigned>(ceil_div(a.ne[1], warps_per_block)),
                    static_cast<unsigned>(std::min(b.ne[1], device::largest_grid_y)));
    return launch(stream, {step.kernel->name, grid, dim3(32, warps_per_block)}, multiply_active<blocks>, device::view_of(a), a.type,
                  device::view_of(b), b.type, neurons, mask, list, reinterpret_cast<float *>(c.data), b.ne[1]);
}

const char *refuse_blocks(const Problem &p) noexcept {
    return device::is_element(p.node.src[0]->layout.type) ? nullptr : "not a plain float";
}

constexpr CudaKernel table[] = {
    {{.op = Op::mul_mat_sparse, .name = "mul_mat_sparse_plain", .plan = plan_unless<refuse_blocks, plan_list>}, launch_products<false>},
    {{.op = Op::mul_mat_sparse, .name = "mul_mat_sparse_blocks", .plan = plan_always<plan_list>}, launch_products<true>},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::sparse = table;

}  // namespace tensorlib::core
