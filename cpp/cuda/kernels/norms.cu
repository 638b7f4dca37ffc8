// Norms and soft_max: a block takes one row, or group of rows, after the other. Limited by memory: two or three passes,
// of which the first reads it and the others mostly hit the L2 cache.
//
// Threads stride through the row, so a warp's elements are contiguous. Sums and maxima are those of device/block.cuh,
// whose order depends on the shape alone.
//
//   norm_rows           a row of dimension 0: norm, rms_norm, l2_norm
//   norm_groups         some of dimension 2, all of dimensions 0 and 1: group_norm
//   soft_max_rows       the largest, the sum of exponentials, the weights: exponentials are computed twice rather than
//                       stored
//   log_soft_max_rows   the largest, the sum of exponentials, the differences minus its logarithm
#include "base/checked.hpp"
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/block.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "math/alibi.hpp"
#include "math/exponential.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using ops::GroupNormAttrs;
using ops::L2NormAttrs;
using ops::NormAttrs;
using ops::RmsNormAttrs;
using ops::SoftMaxExtAttrs;

using device::View;
using Number = math::Real<device::Lane>;

struct Operand {
    View view;
    DType type;
};

enum class Norm : int { standard, rms, l2 };

// Normalises n elements; x(i) is the address of one of a, y(i) that of the result's.
template <class X, class Y>
__device__ void normalise(Norm norm, double eps, std::int64_t n, const Operand &a, const Operand &c, X x, Y y) {
    const auto value = [&](std::int64_t i) { return device::load_element(a.type, x(i)); };
    const auto count = static_cast<double>(n);
    float center = 0;
    if (norm == Norm::standard) center = static_cast<float>(device::block_sum_of(n, value) / count);
    const double squares = device::block_sum_of(n, [&](std::int64_t i) {
        const float d = value(i) - center;
        return d * d;
    });
    const double length = ::sqrt(squares);
    const double divisor = norm == Norm::l2 ? (length < eps ? eps : length) : ::sqrt(squares / count + eps);
    const auto factor = static_cast<float>(1 / divisor);
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) device::store_element(c.type, y(i), (value(i) - center) * factor);
}

__global__ void norm_rows(Norm norm, double eps, Operand a, Operand c, std::int64_t n_rows) {
    for (std::int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const RowIndex at = c.view.index(row);
        const char *x = a.view.at(at);
        char *y = c.view.at(at);
        normalise(
            norm, eps, c.view.ne[0], a, c, [&](std::int64_t i) { return x + i * a.view.nb[0]; },
            [&](std::int64_t i) { return y + i * c.view.nb[0]; });
    }
}

__global__ void norm_groups(double eps, Operand a, Operand c, std::int64_t channels, std::int64_t per_batch, std::int64_t n_groups) {
    const std::int64_t n0 = c.view.ne[0], n1 = c.view.ne[1];
    for (std::int64_t group = blockIdx.x; group < n_groups; group += gridDim.x) {
        const std::int64_t i3 = group / per_batch, first = group % per_batch * channels;
        const std::int64_t n = n0 * n1 * min(channels, c.view.ne[2] - first);
        const auto at = [&](const View &v, std::int64_t i) {
            const std::int64_t row = i / n0;
            return v.at(row % n1, first + row / n1, i3) + i % n0 * v.nb[0];
        };
        normalise(
            Norm::standard, eps, n, a, c, [&](std::int64_t i) { return at(a.view, i); }, [&](std::int64_t i) { return at(c.view, i); });
    }
}

// mask and sinks are null if there are none.
struct Weights {
    Operand mask;
    View sinks;
    float scale;
    double max_bias;
};

__global__ void soft_max_rows(Operand a, Operand c, Weights w, std::int64_t n_rows) {
    const std::int64_t n = c.view.ne[0];
    for (std::int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const RowIndex at = c.view.index(row);
        const char *x = a.view.at(at);
        char *y = c.view.at(at);
        const char *mask = w.mask.view.data ? w.mask.view.at(at.i1, at.i2 % w.mask.view.ne[2], at.i3 % w.mask.view.ne[3]) : nullptr;
        const float slope = mask ? alibi_slope(at.i2, c.view.ne[2], w.max_bias) : 0;
        const auto logit = [&](std::int64_t i) {
            const float value = __fmul_rn(device::load_element(a.type, x + i * a.view.nb[0]), w.scale);
            return mask ? fmaf(device::load_element(w.mask.type, mask + i * w.mask.view.nb[0]), slope, value) : value;
        };
        double most = -math::infinity;
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) most = ::fmax(most, static_cast<double>(logit(i)));
        const float *sink = w.sinks.data ? reinterpret_cast<const float *>(w.sinks.data + at.i2 * w.sinks.nb[0]) : nullptr;
        if (sink) most = ::fmax(most, static_cast<double>(*sink));
        most = device::block_largest(most);
        const auto largest = static_cast<float>(most);
        const auto exponential = [&](std::int64_t i) { return exp(Number(device::Lane::sub(logit(i), largest))).reg; };
        double sum = device::block_sum_of(n, exponential);
        if (sink) sum += ::exp(static_cast<double>(*sink) - most);
        const auto factor = static_cast<float>(1 / sum);
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x)
            device::store_element(c.type, y + i * c.view.nb[0], exponential(i) * factor);
    }
}

__global__ void log_soft_max_rows(Operand a, Operand c, std::int64_t n_rows) {
    const std::int64_t n = c.view.ne[0];
    for (std::int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const RowIndex at = c.view.index(row);
        const char *x = a.view.at(at);
        char *y = c.view.at(at);
        const auto value = [&](std::int64_t i) { return device::load_element(a.type, x + i * a.view.nb[0]); };
        double most = -math::infinity;
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) most = ::fmax(most, static_cast<double>(value(i)));
        const auto largest = static_cast<float>(device::block_largest(most));
        // Does not add the largest and the logarithm: rounding that sum could cost as much as the result.
        const auto difference = [&](std::int64_t i) { return device::Lane::sub(value(i), largest); };
        const double sum = device::block_sum_of(n, [&](std::int64_t i) { return exp(Number(difference(i))).reg; });
        const auto log_sum = static_cast<float>(::log(sum));
        for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x)
            device::store_element(c.type, y + i * c.view.nb[0], difference(i) - log_sum);
    }
}

Operand operand_of(const TensorRef &t) noexcept { return {device::view_of(t), t.type}; }

// A block for each of `units` units of n elements, as far as a grid reaches.
Launch launch_of(const Step &step, std::int64_t units, std::int64_t n) noexcept {
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(units, device::largest_grid_x));
    return {step.kernel->name, dim3(blocks), dim3(static_cast<unsigned>(device::block_threads(n))), device::block_bytes};
}

template <Norm norm, class Attributes>
cudaError_t launch_rows(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const std::int64_t n_rows = step.node->layout.n_rows();
    return launch(stream, launch_of(step, n_rows, step.dst.ne[0]), norm_rows, norm, attrs_of<Attributes>(*step.node).eps,
                  operand_of(step.src[0]), operand_of(step.dst), n_rows);
}

cudaError_t launch_groups(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &c = step.dst;
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto &attrs = attrs_of<GroupNormAttrs>(*step.node);
    const std::int64_t channels = ceil_div(c.ne[2], attrs.groups), per_batch = ceil_div(c.ne[2], channels);
    const std::int64_t n_groups = per_batch * c.ne[3];
    return launch(stream, launch_of(step, n_groups, c.ne[0] * c.ne[1] * channels), norm_groups, attrs.eps, operand_of(step.src[0]),
                  operand_of(c), channels, per_batch, n_groups);
}

cudaError_t launch_weights(const Step &step, const CudaStream &stream, const Weights &weights) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const std::int64_t n_rows = step.node->layout.n_rows();
    return launch(stream, launch_of(step, n_rows, step.dst.ne[0]), soft_max_rows, operand_of(step.src[0]), operand_of(step.dst), weights,
                  n_rows);
}

cudaError_t launch_soft_max(const Step &step, const CudaStream &stream) noexcept {
    return launch_weights(step, stream, {.mask = {}, .sinks = {}, .scale = 1, .max_bias = 0});
}

cudaError_t launch_log_soft_max(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const std::int64_t n_rows = step.node->layout.n_rows();
    return launch(stream, launch_of(step, n_rows, step.dst.ne[0]), log_soft_max_rows, operand_of(step.src[0]), operand_of(step.dst),
                  n_rows);
}

cudaError_t launch_soft_max_ext(const Step &step, const CudaStream &stream) noexcept {
    const auto &attrs = attrs_of<SoftMaxExtAttrs>(*step.node);
    return launch_weights(step, stream,
                          {operand_of(step.src[1]), device::view_of(step.src[2]), static_cast<float>(attrs.scale), attrs.max_bias});
}

constexpr CudaKernel table[] = {
    {{.op = Op::norm, .name = "norm_rows", .plan = plan_always<>}, launch_rows<Norm::standard, NormAttrs>},
    {{.op = Op::rms_norm, .name = "norm_rows", .plan = plan_always<>}, launch_rows<Norm::rms, RmsNormAttrs>},
    {{.op = Op::l2_norm, .name = "norm_rows", .plan = plan_always<>}, launch_rows<Norm::l2, L2NormAttrs>},
    {{.op = Op::group_norm, .name = "norm_groups", .plan = plan_always<>}, launch_groups},
    {{.op = Op::soft_max, .name = "soft_max_rows", .plan = plan_always<>}, launch_soft_max},
    {{.op = Op::log_soft_max, .name = "log_soft_max_rows", .plan = plan_always<>}, launch_log_soft_max},
    {{.op = Op::soft_max_ext, .name = "soft_max_rows", .plan = plan_always<>}, launch_soft_max_ext},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::norms = table;

}  // namespace tensorlib::core
