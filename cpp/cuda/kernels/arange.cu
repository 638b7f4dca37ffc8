// arange: equally spaced numbers, computed in F64 and rounded once. A thread owns one. Limited by writing them, or by
// F64 on devices with few F64 units.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core {

namespace {

// As on the CPU: not fused.
__device__ double step_from(double start, double i, double step) {
#if defined(TENSORLIB_SIMT)
    return start + i * step;
#else
    return __dadd_rn(start, __dmul_rn(i, step));
#endif
}

__global__ void write_steps(float *c, std::int64_t n, double start, double step) {
    device::for_each_unit(n, [&](std::int64_t i) { c[i] = static_cast<float>(step_from(start, static_cast<double>(i), step)); });
}

cudaError_t launch_arange(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::ArangeAttrs>(*step.node);
    const device::RowGrid grid = device::row_grid(n, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, write_steps, reinterpret_cast<float *>(step.dst.data), n, attrs.start,
                  attrs.step);
}

constexpr CudaKernel table[] = {
    {{.op = Op::arange, .name = "arange", .plan = plan_always<>}, launch_arange},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::arange = table;

}  // namespace tensorlib::core
