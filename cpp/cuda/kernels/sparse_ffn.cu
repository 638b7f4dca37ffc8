// sparse_ffn: a gated block of only the active neurons, as a sequence of launches.
//
//   project      a warp a neuron, by each of the columns in which it is active: its lanes take elements of k, or runs
//                of 8; lane 0 applies the activation to the sum, or multiplies it by the result of the other projection
//   list_active  which neurons are active, by scores, or by the first projection of all neurons
//   sum_slices   sums of the active rows, as in axpy (sparse.cuh)
//
// No shared memory except the list's. Limited by reading the rows, each once per column.
#include "cuda/device/dot.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/kernels/sparse.cuh"
#include "math/formulas.hpp"

namespace tensorlib::core {

using namespace sparse;

namespace {

constexpr int warps_per_block = 8;
constexpr std::size_t x_at = 0, gate_at = 1, up_at = 2, down_at = 3, scores_at = ops::ffn_operands.scores, rows_at = ops::ffn_operands.rows;
using Activation = ops::SparseFfnActivation;

__device__ float activated(Activation activation, float value) {
    using Number = math::Real<device::Lane>;
    const Number x(value);
    switch (activation) {
        case Activation::relu: return math::relu(x).reg;
        case Activation::silu: return math::silu(x).reg;
        case Activation::gelu: break;
    }
    return math::gelu(x).reg;
}

// Where a projection's sums go: {N, T} floats. If there is a list, only its active elements; otherwise all.
struct Into {
    float *to;
    const float *times;  // null: nothing
    bool activates;
    Activation activation;

    __device__ void store(std::int64_t at, float sum) const {
        const float value = activates ? activated(activation, sum) : sum;
        to[at] = times ? times[at] * value : value;
    }
};

// Registers are bounded as in mul_mat_blocks.
template <bool blocks>
__global__ void __launch_bounds__(warps_per_block * 32, 4)
    project(device::View a, DType a_type, Matrix x, Neurons neurons, Mask mask, List list, Into into, std::int64_t columns) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t place = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y;
    const bool listed = list.rows != nullptr;
    if (place >= (listed ? *list.count : list.all)) return;
    const std::int64_t row = listed ? list.rows[place] : place, neuron = neurons.of(row, false);
    for (std::int64_t t = blockIdx.y; t < columns; t += gridDim.y) {
        if (listed && !mask.active(neuron, t)) continue;
        const float sum = device::warp_sum(
            device::dot<blocks>(a_type, a.at(row, 0, 0), a.nb[0], x.type, x.view.at(t, 0, 0), x.view.nb[0], a.ne[0], lane));
        if (lane == 0) into.store(t * neurons.count + neuron, sum);
    }
}

cudaError_t launch_project(const Step &step, const CudaStream &stream, std::size_t operand, const Neurons &neurons, const Mask &mask,
                           const List &list, const Into &into) noexcept {
    const TensorRef &a = step.src[operand];
    const std::int64_t columns = step.dst.ne[1];
    const dim3 grid(static_cast<unsigned>(ceil_div(a.ne[1], warps_per_block)),
                    static_cast<unsigned>(std::min(columns, device::largest_grid_y)));
    const auto kernel = device::is_element(a.type) ? project<false> : project<true>;
    return launch(stream, {step.kernel->name, grid, dim3(32, warps_per_block)}, kernel, device::view_of(a), a.type,
                  matrix_of(step.src[x_at]), neurons, mask, list, into, columns);
}

// {N, T} floats of the workspace.
struct Parts {
    std::size_t tested, z, partial, size;
    explicit Parts(const Tensor &node) noexcept {
        const std::int64_t columns = node.layout.ne[1], rows = node.src[gate_at]->layout.ne[1];
        const auto bytes = [&](std::int64_t n) { return round_up(static_cast<std::size_t>(n * columns) * sizeof(float), 256); };
        tested = list_bytes(rows);
        z = tested + (node.src[scores_at] ? 0 : bytes(rows));
        partial = z + bytes(ops::sparse_neurons(node));
        size = partial + partial_bytes(rows, columns, node.layout.ne[0]);
    }
};
Matrix floats_at(float *data, std::int64_t n, std::int64_t columns) noexcept {
    constexpr std::int64_t size = sizeof(float);
    return {{reinterpret_cast<char *>(data), {n, columns, 1, 1}, {size, size * n, size * n * columns, size * n * columns}}, DType::f32};
}

void plan_block(const Problem &p, KernelPlan &plan) noexcept {
    // The extents of an empty tensor may be any numbers.
    if (p.node.layout.n_elements() > 0) {
        plan.workspace = Parts(p.node).size;
    } else if (!is_nothing(p.node)) {
        plan.workspace = list_bytes(p.node.src[gate_at]->layout.ne[1]);
    }
}

// An error ends the launches.
cudaError_t launch_projections(const Step &step, const CudaStream &stream, const Neurons &neurons, const Mask &mask, const List &list,
                               float *tested, float *z) noexcept {
    const auto &attrs = attrs_of<ops::SparseFfnAttrs>(*step.node);
    const std::int64_t columns = step.dst.ne[1];
    const bool scored = !tested, up_first = attrs.first == ops::SparseFfnFirst::up;
    const auto run = [&](bool up, const List &of, float *to, const float *times) {
        return launch_project(step, stream, up ? up_at : gate_at, neurons, mask, of, {to, times, !up, attrs.activation});
    };
    if (!scored) {
        const cudaError_t error = run(up_first, {nullptr, nullptr, list.all}, tested, nullptr);
        if (error != cudaSuccess) return error;
    }
    if (const cudaError_t error = launch_list(step, stream, neurons, mask, list, columns); error != cudaSuccess) return error;
    if (!scored) return run(!up_first, list, z, tested);
    if (const cudaError_t error = run(false, list, z, nullptr); error != cudaSuccess) return error;
    return run(true, list, z, z);
}

cudaError_t launch_block(const Step &step, const CudaStream &stream) noexcept {
    if (is_nothing(*step.node)) return cudaSuccess;
    const bool scored = step.node->src[scores_at], numbered = step.node->src[rows_at];
    const std::int64_t rows = step.src[gate_at].ne[1], columns = step.dst.ne[1], n = ops::sparse_neurons(*step.node);
    const Neurons neurons{numbered ? device::numbers_of(step, rows_at) : device::Numbers{}, numbered, n};
    const List list = list_at(step.workspace, rows);
    if (step.node->layout.n_elements() == 0) {
        const Mask none{{}, {}, false, false, ops::sparse_rule(*step.node)};
        return launch_list(step, stream, neurons, none, list, 0);
    }
    const Parts parts(*step.node);
    float *tested = scored ? nullptr : reinterpret_cast<float *>(step.workspace + parts.tested);
    float *z = reinterpret_cast<float *>(step.workspace + parts.z);
    const Matrix of = scored ? matrix_of(step.src[scores_at]) : floats_at(tested, n, columns);
    Mask mask{of, floats_at(z, n, columns), true, false, ops::sparse_rule(*step.node)};
    if (rows > 0) {
        const cudaError_t error = launch_projections(step, stream, neurons, mask, list, tested, z);
        if (error != cudaSuccess) return error;
    }
    mask.leaves_out_zeros = true;
    auto *partial = reinterpret_cast<float *>(step.workspace + parts.partial);
    return launch_sums(step, stream, {step.src[down_at], neurons, mask, list, reinterpret_cast<float *>(step.dst.data), partial, columns});
}

constexpr CudaKernel table[] = {{{.op = Op::sparse_ffn, .name = "sparse_ffn", .plan = plan_always<plan_block>}, launch_block}};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::sparse_blocks = table;

}  // namespace tensorlib::core
