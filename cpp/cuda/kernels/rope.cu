// rope: a thread rotates a pair of each head of a token, by an angle that it computes once, in double; or it copies an
// element that is not rotated. Limited by memory, or by the angles if there are few heads. No shared memory.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/rotation.hpp"

namespace tensorlib::core {

namespace {

using device::View;
using ops::Rotation;

__device__ std::int64_t integer_at(DType type, const char *p) {
    return type == DType::i32 ? *reinterpret_cast<const std::int32_t *>(p) : *reinterpret_cast<const std::int64_t *>(p);
}

__global__ void rope(View a, View c, DType type, View positions, DType position_type, View factors, Rotation rotation, std::int64_t units,
                     std::int64_t n_tokens) {
    device::for_each_row(n_tokens, [&](std::int64_t token) {
        const std::int64_t i2 = token % c.ne[2], i3 = token / c.ne[2];
        device::for_each_unit(units, [&](std::int64_t k) {
            const bool turned = k < rotation.pairs;
            float cosine = 1, sine = 0;
            if (turned) {
                const Rotation::Use use = rotation.use_of(k);
                const std::int64_t i = i2 + c.ne[2] * use.position;
                const char *position = positions.data + i * positions.nb[0] + (positions.ne[1] == 1 ? 0 : i3 * positions.nb[1]);
                const float factor = factors.data ? *reinterpret_cast<const float *>(factors.data + k * factors.nb[0]) : 1;
                const double rate = rotation.rate(k, ::pow(rotation.step, static_cast<double>(use.exponent)), static_cast<double>(factor));
                const double angle = static_cast<double>(integer_at(position_type, position)) * rate;
                cosine = static_cast<float>(::cos(angle)) * rotation.size;
                sine = static_cast<float>(::sin(angle)) * rotation.size;
            }
            // Elements that are not rotated lie before the others and after them.
            const std::int64_t other = k - rotation.pairs, copied = other < rotation.first ? other : other + 2 * rotation.pairs;
            const std::int64_t first = !turned ? copied : rotation.first + (rotation.neighbours ? 2 * k : k);
            const std::int64_t second = !turned || rotation.neighbours ? first + 1 : first + rotation.pairs;
            for (std::int64_t i1 = 0; i1 < c.ne[1]; i1++) {
                const char *x = a.at(i1, i2, i3);
                char *y = c.at(i1, i2, i3);
                const float low = device::load_element(type, x + first * a.nb[0]);
                if (!turned) {
                    device::store_element(type, y + first * c.nb[0], low);
                    continue;
                }
                const float high = device::load_element(type, x + second * a.nb[0]);
                device::store_element(type, y + first * c.nb[0], fmaf(low, cosine, -(high * sine)));
                device::store_element(type, y + second * c.nb[0], fmaf(low, sine, high * cosine));
            }
        });
    });
}

cudaError_t launch_rope(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const TensorRef &c = step.dst, &positions = step.src[1];
    const Rotation rotation = ops::rotation_of(*step.node);
    // A unit per pair, and per element that is not rotated.
    const std::int64_t units = c.ne[0] - rotation.pairs, n_tokens = c.ne[2] * c.ne[3];
    const device::RowGrid grid = device::row_grid(units, n_tokens);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, rope, device::view_of(step.src[0]), device::view_of(c), c.type,
                  device::view_of(positions), positions.type, device::view_of(step.src[2]), rotation, units, n_tokens);
}

constexpr CudaKernel table[] = {
    {{.op = Op::rope, .name = "rope", .plan = plan_always<>}, launch_rope},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::rope = table;

}  // namespace tensorlib::core
