// cross_entropy_loss, computed as on the CPU (cpp/cpu/kernels/losses.cpp): a block takes a row, which it reads twice.
// It first finds the largest element. Then it sums e^(a - e), b, and b (a - e) in F64: each thread its elements, then a
// warp's, then the warps' in order. The rows' losses go to the workspace, and a warp adds them in a second launch.
//
// The order of the sums differs from the CPU's, so bits differ within the bound. Limited by memory, or by F64 on GPUs
// with few F64 units.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/block.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

#include "math/exponential.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using Number = math::Real<device::Lane>;
__global__ void row_losses(device::View a, DType a_type, device::View b, DType b_type, double *losses, std::int64_t n_rows) {
    const std::int64_t n = a.ne[0];
    for (std::int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const char *from_a = a.row(row), *from_b = b.row(row);
        float most = -math::infinity;
        // fmaxf returns the other operand if one is NaN.
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, device::load_element(a_type, from_a + i * a.nb[0]));
        const auto base = static_cast<float>(device::block_largest(static_cast<double>(most)));
        const float e = base == -math::infinity ? 0.0f : base;
        double exponentials = 0, labels = 0, weighted = 0;
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
            const float x = device::load_element(a_type, from_a + i * a.nb[0]) - e, w = device::load_element(b_type, from_b + i * b.nb[0]);
            exponentials += static_cast<double>(exp(Number(x)).reg);
            labels += static_cast<double>(w);
            weighted += w == 0 ? 0.0 : static_cast<double>(w) * static_cast<double>(x);
        }
        exponentials = device::block_sum(exponentials);
        labels = device::block_sum(labels);
        weighted = device::block_sum(weighted);
        if (threadIdx.x == 0) {
            const double log_sum = log(exponentials);
            losses[row] = (labels == 0 && log_sum == log_sum ? 0.0 : labels * log_sum) - weighted;
        }
    }
}

__global__ void mean_loss(const double *losses, std::int64_t n_losses, float *c, std::int64_t n_rows) {
    double loss = 0;
    for (std::int64_t row = threadIdx.x; row < n_losses; row += device::warp_size) loss += losses[row];
    loss = device::warp_sum(loss);
    if (threadIdx.x == 0) *c = static_cast<float>(loss / static_cast<double>(n_rows));
}

// Empty rows have no losses.
std::int64_t losses_of(const Layout &a) noexcept { return a.ne[0] == 0 ? 0 : a.n_rows(); }

void plan_loss(const Problem &p, KernelPlan &plan) noexcept {
    plan.workspace = static_cast<std::size_t>(losses_of(p.node.src[0]->layout)) * sizeof(double);
}

cudaError_t launch_loss(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->src[0]->layout.n_rows(), n_losses = losses_of(step.node->src[0]->layout);
    auto *losses = reinterpret_cast<double *>(step.workspace);
    if (n_losses > 0) {
        const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(n_losses, device::largest_grid_x));
        const cudaError_t error = launch(
            stream,
            {step.kernel->name, dim3(blocks), dim3(static_cast<unsigned>(device::block_threads(step.node->src[0]->layout.ne[0]))),
             device::block_bytes},
            row_losses, device::view_of(step.src[0]), step.src[0].type, device::view_of(step.src[1]), step.src[1].type, losses, n_losses);
        if (error != cudaSuccess) return error;
    }
    return launch(stream, {step.kernel->name, dim3(1), dim3(device::warp_size)}, mean_loss, static_cast<const double *>(losses), n_losses,
                  reinterpret_cast<float *>(step.dst.data), n_rows);
}

constexpr CudaKernel table[] = {
    {{.op = Op::cross_entropy_loss, .name = "cross_entropy_loss", .plan = plan_always<plan_loss>}, launch_loss},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::losses = table;

}  // namespace tensorlib::core
