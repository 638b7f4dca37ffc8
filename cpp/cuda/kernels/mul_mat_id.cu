// mul_mat_id: multiplies each column of b by the matrix that an index selects. Correct for all types and any strides,
// but fast for few columns only, because an expert's weights are read again for each of its columns.
//
// A warp takes an element of c: row m of the expert times the slot's column. Its lanes take elements of k, or runs of 8
// for a quantised type, lane, lane + 32, ..., and multiply in F32. The lanes' sums are added over the warp. No shared
// memory. An index that is no expert's gives zeros, and its row 0 records a fault, unless the index is -1.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/dot.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/op_def.hpp"

namespace tensorlib::core {

namespace {

constexpr int warps_per_block = 8;

// Registers are bounded as in mul_mat_blocks.
template <bool blocks>
__global__ void __launch_bounds__(warps_per_block * 32, 4) mul_mat_id(device::View a, DType a_type, device::View b, DType b_type,
                                                                      device::Numbers ids, float *c, std::int64_t M, std::int64_t n_slots) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t m = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.y, used = ids.view.ne[0];
    for (std::int64_t slot = blockIdx.y; slot < n_slots; slot += gridDim.y) {
        const std::int64_t u = slot % used, t = slot / used;
        const std::int64_t expert = ids.at(u, t, 0, a.ne[2], m == 0 && lane == 0, ops::no_expert);
        // Indices are checked even if there are no rows.
        if (m >= M) continue;
        float sum = 0;
        if (expert >= 0) {
            sum = device::dot<blocks>(a_type, a.at(m, expert, 0), a.nb[0], b_type, b.at(u % b.ne[1], t, 0), b.nb[0], a.ne[0], lane);
        }
        sum = device::warp_sum(sum);
        if (lane == 0) c[slot * M + m] = sum;
    }
}

const char *refuse_blocks(const Problem &p) noexcept {
    return device::is_element(p.node.src[0]->layout.type) ? nullptr : "not a plain float";
}

template <bool blocks>
cudaError_t launch_slots(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t n_slots = c.ne[1] * c.ne[2], M = c.ne[0];
    if (n_slots == 0) return cudaSuccess;
    const auto rows = static_cast<unsigned>(std::max<std::int64_t>((M + warps_per_block - 1) / warps_per_block, 1));
    const auto slots = static_cast<unsigned>(std::min<std::int64_t>(n_slots, device::largest_grid_y));
    return launch(stream, {step.kernel->name, dim3(rows, slots), dim3(32, warps_per_block)}, mul_mat_id<blocks>, device::view_of(a), a.type,
                  device::view_of(b), b.type, device::numbers_of(step, 2), reinterpret_cast<float *>(c.data), M, n_slots);
}

constexpr CudaKernel table[] = {
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_plain", .plan = plan_unless<refuse_blocks>}, launch_slots<false>},
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_blocks", .plan = plan_always<>}, launch_slots<true>},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::mul_mat_id = table;

}  // namespace tensorlib::core
