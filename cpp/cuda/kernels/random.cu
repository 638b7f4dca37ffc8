// random_uniform, random_normal, dropout: each element uses its own word of Philox (math/random.hpp). A thread owns a
// block of 4 words and their elements. No shared memory. Limited by writing them; normal numbers by F64 on devices with
// few F64 units.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "math/random.hpp"
#include "ops/gen/op_facts.hpp"

#include "base/checked.hpp"

namespace tensorlib::core {

namespace {

// The address of the state, and an operation's stream of it. Each thread reads the state, mostly from the L1 cache.
struct Drawn {
    const char *state;
    std::int64_t stride;
    std::int64_t stream;

    __device__ RandomSource source() const {
        return math::random_source(*reinterpret_cast<const std::int64_t *>(state), *reinterpret_cast<const std::int64_t *>(state + stride),
                                   stream);
    }
};

Drawn drawn_of(const TensorRef &state, std::int64_t stream) noexcept {
    return {reinterpret_cast<const char *>(state.data), static_cast<std::int64_t>(state.nb[0]), stream};
}

// Calls put(i, word) for the elements of the thread's blocks.
template <class Put>
__device__ void for_each_word(const Drawn &drawn, std::int64_t n, Put put) {
    const RandomSource source = drawn.source();
    device::for_each_unit((n + 3) / 4, [&](std::int64_t block) {
        std::uint32_t words[4];
        math::random_words(source, static_cast<std::uint32_t>(block), words);
#pragma unroll
        for (int w = 0; w < 4; w++) {
            if (4 * block + w < n) put(4 * block + w, words[w]);
        }
    });
}

__global__ void write_uniform(Drawn drawn, float *c, std::int64_t n, float low, float span) {
    for_each_word(drawn, n, [&](std::int64_t i, std::uint32_t word) { c[i] = math::uniform(word, low, span); });
}

__global__ void write_normal(Drawn drawn, float *c, std::int64_t n, double mean, double deviation) {
    for_each_word(drawn, n, [&](std::int64_t i, std::uint32_t word) { c[i] = math::normal(word, mean, deviation); });
}

// whole: a's elements are contiguous, so addresses need no divisions.
__global__ void write_kept(Drawn drawn, device::View a, bool whole, DType type, char *c, std::int64_t size, std::int64_t n,
                           math::DropoutThreshold threshold) {
    for_each_word(drawn, n, [&](std::int64_t i, std::uint32_t word) {
        const char *from = whole ? a.data + i * size : a.row(i / a.ne[0]) + i % a.ne[0] * a.nb[0];
        device::store_element(type, c + i * size, math::dropped(word, threshold, device::load_element(type, from)));
    });
}

template <class... P, class... A>
cudaError_t launch_blocks(const Step &step, const CudaStream &stream, void (*kernel)(P...), A... args) noexcept {
    const device::RowGrid grid = device::row_grid(ceil_div(step.node->layout.n_elements(), 4), 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, kernel, args...);
}

cudaError_t launch_uniform(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::RandomUniformAttrs>(*step.node);
    const auto low = static_cast<float>(attrs.low);
    return launch_blocks(step, stream, write_uniform, drawn_of(step.src[0], attrs.stream), reinterpret_cast<float *>(step.dst.data), n, low,
                         static_cast<float>(attrs.high) - low);
}

cudaError_t launch_normal(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::RandomNormalAttrs>(*step.node);
    return launch_blocks(step, stream, write_normal, drawn_of(step.src[0], attrs.stream), reinterpret_cast<float *>(step.dst.data), n,
                         attrs.mean, attrs.deviation);
}

cudaError_t launch_dropout(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const TensorRef &a = step.src[0];
    const auto &attrs = attrs_of<ops::DropoutAttrs>(*step.node);
    return launch_blocks(step, stream, write_kept, drawn_of(step.src[1], attrs.stream), device::view_of(a),
                         step.node->src[0]->layout.contiguous(), a.type, reinterpret_cast<char *>(step.dst.data),
                         static_cast<std::int64_t>(traits(a.type).size), n, math::dropout_threshold(attrs.p));
}

constexpr CudaKernel table[] = {
    {{.op = Op::random_uniform, .name = "random_uniform", .plan = plan_always<>}, launch_uniform},
    {{.op = Op::random_normal, .name = "random_normal", .plan = plan_always<>}, launch_normal},
    {{.op = Op::dropout, .name = "dropout", .plan = plan_always<>}, launch_dropout},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::random = table;

}  // namespace tensorlib::core
