// solve_tri: a thread owns a column, a system of its own, and computes its unknowns one after the other. Neighbours read and write
// neighbours, and the same coefficients. Limited by memory, which serves the unknowns from the L2 cache.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core {

namespace {

using device::View;

__global__ void solve_columns(View a, DType a_type, View b, DType b_type, View c, bool lower, bool unit, std::int64_t n_matrices) {
    device::for_each_row(n_matrices, [&](std::int64_t matrix) {
        const std::int64_t i2 = matrix % c.ne[2], i3 = matrix / c.ne[2], n = c.ne[1];
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const auto unknown = [&](std::int64_t r) -> float & { return *reinterpret_cast<float *>(c.at(r, i2, i3) + i * c.nb[0]); };
            for (std::int64_t at = 0; at < n; at++) {
                const std::int64_t r = lower ? at : n - 1 - at, begin = lower ? 0 : r + 1;
                const char *row = a.at(r, i2, i3);
                float sum = device::load_element(b_type, b.at(r, i2, i3) + i * b.nb[0]);
                for (std::int64_t k = begin; k < begin + at; k++)
                    sum = fmaf(-device::load_element(a_type, row + k * a.nb[0]), unknown(k), sum);
                unknown(r) = unit ? sum : sum / device::load_element(a_type, row + r * a.nb[0]);
            }
        });
    });
}

cudaError_t launch_solve(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::SolveTriAttrs>(*step.node);
    const TensorRef &a = step.src[0], &b = step.src[1];
    const std::int64_t n_matrices = step.dst.ne[2] * step.dst.ne[3];
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_matrices);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, solve_columns, device::view_of(a), a.type, device::view_of(b), b.type,
                  device::view_of(step.dst), attrs.lower, attrs.unit, n_matrices);
}

constexpr CudaKernel table[] = {
    {{.op = Op::solve_tri, .name = "solve_tri", .plan = plan_always<>}, launch_solve},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::solve = table;

}  // namespace tensorlib::core
