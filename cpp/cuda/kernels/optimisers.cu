// Optimiser steps (math/optimisers.hpp). A thread owns an element of the parameter and of its state, which are
// contiguous. No shared memory. Limited by memory.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "math/optimisers.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core {

namespace {

using device::View;

// The gradient, with any strides; `whole`: its elements are contiguous, so addresses need no divisions.
struct Gradient {
    View view;
    DType type;
    std::int64_t size;
    bool whole;

    __device__ float at(std::int64_t i) const {
        const char *from = whole ? view.data + i * size : view.row(i / view.ne[0]) + i % view.ne[0] * view.nb[0];
        return device::load_element(type, from);
    }
};

Gradient gradient_of(const Step &step) noexcept {
    const TensorRef &g = step.src[1];
    return {device::view_of(g), g.type, static_cast<std::int64_t>(traits(g.type).size), step.node->src[1]->layout.contiguous()};
}

// Settings, of any stride, in registers.
template <int n>
struct Settings {
    const char *data;
    std::int64_t stride;

    __device__ void read(float *to) const {
#pragma unroll
        for (int i = 0; i < n; i++) to[i] = *reinterpret_cast<const float *>(data + i * stride);
    }
};

template <int n>
Settings<n> settings_of(const TensorRef &t) noexcept {
    return {reinterpret_cast<const char *>(t.data), static_cast<std::int64_t>(t.nb[0])};
}

__global__ void step_sgd(Settings<2> settings, Gradient g, float *a, std::int64_t n) {
    float given[2];
    settings.read(given);
    device::for_each_unit(n, [&](std::int64_t i) { math::step_sgd(given, g.at(i), a[i]); });
}

__global__ void step_momentum(Settings<3> settings, bool nesterov, Gradient g, float *velocity, float *a, std::int64_t n) {
    float given[3];
    settings.read(given);
    device::for_each_unit(n, [&](std::int64_t i) { math::step_momentum(given, nesterov, g.at(i), velocity[i], a[i]); });
}

__global__ void step_adamw(Settings<7> settings, Gradient g, float *m, float *v, float *a, std::int64_t n) {
    float given[7];
    settings.read(given);
    device::for_each_unit(n, [&](std::int64_t i) { math::step_adamw(given, g.at(i), m[i], v[i], a[i]); });
}

__global__ void step_lion(Settings<4> settings, Gradient g, float *m, float *a, std::int64_t n) {
    float given[4];
    settings.read(given);
    device::for_each_unit(n, [&](std::int64_t i) { math::step_lion(given, g.at(i), m[i], a[i]); });
}

float *floats(const TensorRef &t) noexcept { return reinterpret_cast<float *>(t.data); }

template <class... P, class... A>
cudaError_t launch_elements(const Step &step, const CudaStream &stream, void (*kernel)(P...), A... args) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(n, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, kernel, args..., n);
}

cudaError_t launch_sgd(const Step &step, const CudaStream &stream) noexcept {
    return launch_elements(step, stream, step_sgd, settings_of<2>(step.src[2]), gradient_of(step), floats(step.src[0]));
}

cudaError_t launch_momentum(const Step &step, const CudaStream &stream) noexcept {
    return launch_elements(step, stream, step_momentum, settings_of<3>(step.src[3]),
                           attrs_of<ops::OptStepMomentumAttrs>(*step.node).nesterov, gradient_of(step), floats(step.src[2]),
                           floats(step.src[0]));
}

cudaError_t launch_adamw(const Step &step, const CudaStream &stream) noexcept {
    return launch_elements(step, stream, step_adamw, settings_of<7>(step.src[4]), gradient_of(step), floats(step.src[2]),
                           floats(step.src[3]), floats(step.src[0]));
}

cudaError_t launch_lion(const Step &step, const CudaStream &stream) noexcept {
    return launch_elements(step, stream, step_lion, settings_of<4>(step.src[3]), gradient_of(step), floats(step.src[2]),
                           floats(step.src[0]));
}

constexpr CudaKernel table[] = {
    {{.op = Op::opt_step_sgd, .name = "step_sgd", .plan = plan_always<>}, launch_sgd},
    {{.op = Op::opt_step_momentum, .name = "step_momentum", .plan = plan_always<>}, launch_momentum},
    {{.op = Op::opt_step_adamw, .name = "step_adamw", .plan = plan_always<>}, launch_adamw},
    {{.op = Op::opt_step_lion, .name = "step_lion", .plan = plan_always<>}, launch_lion},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::optimisers = table;

}  // namespace tensorlib::core
