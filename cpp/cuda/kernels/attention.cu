// flash_attn_ext: a block takes one query of a token's head after the other, and one tile of 256 keys after the other:
//
//   scores    a warp a key, its lanes along it; then cap and mask: shared memory, 1 KiB
//   weights   a thread a key: e ^ (score - largest so far), their largest and sum over the block (device/block.cuh)
//   values    a thread an element of the result, or a run of 8 if v is quantised, down the tile's keys: next to each
//             other in v's rows. The earlier sum, which is stored in the result itself, is rescaled to the new largest
//             on the way
//
// Keys and values are read again for each query, from the L2 cache as long as a head's fit in it. That, and the sums
// over warps, limit it. The shape alone determines all orders.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/block.cuh"
#include "cuda/device/convert.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "math/alibi.hpp"
#include "math/exponential.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cmath>

namespace tensorlib::core {

namespace {

using device::View;
using Number = math::Real<device::Lane>;

constexpr int tile = device::most_block_threads;

struct Operand {
    View view;
    DType type;
};
Operand operand_of(const TensorRef &t) noexcept { return {device::view_of(t), t.type}; }

// mask and sinks are null if there are none.
struct Attention {
    Operand q, k, v, mask;
    View sinks, c;
    float scale, cap;
    double max_bias;
};

// Elements that a thread takes at a time: one, or a run of a quantised type.
template <bool blocks>
constexpr int run_of = blocks ? run_length : 1;

template <bool blocks>
__device__ void load_run(const Operand &operand, const char *row, std::int64_t run, float (&values)[run_of<blocks>]) {
    if constexpr (blocks) {
        device::decode_run(operand.type, row, run, values);
    } else {
        values[0] = device::load_element(operand.type, row + run * operand.view.nb[0]);
    }
}

// A query's product with a key, over a warp.
template <bool blocks>
__device__ float product(const Attention &x, const char *query, const char *key) {
    constexpr int R = run_of<blocks>;
    float sum = 0;
    for (std::int64_t run = threadIdx.x % device::warp_size; run < x.k.view.ne[0] / R; run += device::warp_size) {
        float values[R];
        load_run<blocks>(x.k, key, run, values);
#pragma unroll
        for (int i = 0; i < R; i++) sum = fmaf(values[i], device::load_element(x.q.type, query + (run * R + i) * x.q.view.nb[0]), sum);
    }
    return device::warp_sum(sum);
}

// What the weighted sum of the values is multiplied by: 1 over the sum of the weights, to which the head's sink adds. Weights
// are relative to the largest score.
__device__ float normaliser(const Attention &x, std::int64_t head, float largest, double sum) {
    if (!x.sinks.data) return static_cast<float>(1 / sum);
    const auto sink = static_cast<double>(*reinterpret_cast<const float *>(x.sinks.data + head * x.sinks.nb[0]));
    const double all = ::fmax(static_cast<double>(largest), sink);
    const double share = largest == -math::infinity ? 0 : ::exp(static_cast<double>(largest) - all);
    return static_cast<float>(share / ((share == 0 ? 0 : sum * share) + ::exp(sink - all)));
}

template <bool blocks_k, bool blocks_v>
__global__ void attention(Attention x, std::int64_t n_queries) {
    constexpr int R = run_of<blocks_v>;
    float *scores = device::shared_memory<float>() + device::block_bytes / sizeof(float);
    const int warp = static_cast<int>(threadIdx.x / device::warp_size), warps = static_cast<int>(blockDim.x / device::warp_size);
    const std::int64_t heads = x.c.ne[1], keys = x.k.view.ne[1];
    for (std::int64_t number = blockIdx.x; number < n_queries; number += gridDim.x) {
        const RowIndex at = x.c.index(number);  // head, token, batch
        const std::int64_t head = at.i1, token = at.i2, batch = at.i3;
        const char *query = x.q.view.at(token, head, batch);
        const std::int64_t shared = head / (heads / x.k.view.ne[2]), of_batch = batch / (x.c.ne[3] / x.k.view.ne[3]);
        const char *key_rows = x.k.view.at(0, shared, of_batch), *value_rows = x.v.view.at(0, shared, of_batch);
        const View &m = x.mask.view;
        const char *mask = m.data ? m.at(token, head % m.ne[2], batch % m.ne[3]) : nullptr;
        const float slope = mask ? alibi_slope(head, heads, x.max_bias) : 0;
        auto *c = reinterpret_cast<float *>(x.c.at(at));
        float most = -math::infinity;
        double sum = 0;
        for (std::int64_t first = 0; first < keys; first += tile) {
            const int n = static_cast<int>(min(keys - first, static_cast<std::int64_t>(tile)));
            for (int j = warp; j < n; j += warps) {
                float score = __fmul_rn(product<blocks_k>(x, query, key_rows + (first + j) * x.k.view.nb[1]), x.scale);
                if (x.cap > 0) score = __fmul_rn(x.cap, tanh(Number(score)).reg);
                if (mask) score = fmaf(device::load_element(x.mask.type, mask + (first + j) * m.nb[0]), slope, score);
                if (threadIdx.x % device::warp_size == 0) scores[j] = score;
            }
            __syncthreads();
            const int own = static_cast<int>(threadIdx.x);
            const float score = own < n ? scores[own] : -math::infinity;
            const float before = most;
            most = static_cast<float>(device::block_largest(::fmax(static_cast<double>(before), static_cast<double>(score))));
            // A query whose keys have all been masked so far has no largest to subtract.
            const float base = most == -math::infinity ? 0.0f : most;
            const float factor = exp(Number(device::Lane::sub(before, base))).reg;
            const float weight = own < n ? exp(Number(device::Lane::sub(score, base))).reg : 0.0f;
            if (own < n) scores[own] = weight;
            sum = sum * static_cast<double>(factor) + device::block_sum(static_cast<double>(weight));
            for (std::int64_t run = own; run < x.c.ne[0] / R; run += blockDim.x) {
                float acc[R], values[R];
#pragma unroll
                for (int i = 0; i < R; i++) acc[i] = first == 0 ? 0.0f : __fmul_rn(c[run * R + i], factor);
                for (int j = 0; j < n; j++) {
                    load_run<blocks_v>(x.v, value_rows + (first + j) * x.v.view.nb[1], run, values);
#pragma unroll
                    for (int i = 0; i < R; i++) acc[i] = fmaf(values[i], scores[j], acc[i]);
                }
#pragma unroll
                for (int i = 0; i < R; i++) c[run * R + i] = acc[i];
            }
            __syncthreads();
        }
        const float factor = normaliser(x, head, most, sum);
        for (std::int64_t d = threadIdx.x; d < x.c.ne[0]; d += blockDim.x) c[d] = __fmul_rn(keys == 0 ? 0.0f : c[d], factor);
    }
}

cudaError_t launch_attention(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::FlashAttnExtAttrs>(*step.node);
    const TensorRef &q = step.src[0], &k = step.src[1], &v = step.src[2];
    const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(q.ne[0])), cap = attrs.logit_softcap;
    const Attention all{operand_of(q),
                        operand_of(k),
                        operand_of(v),
                        operand_of(step.src[3]),
                        device::view_of(step.src[4]),
                        device::view_of(step.dst),
                        static_cast<float>(cap > 0 ? scale / cap : scale),
                        static_cast<float>(cap),
                        attrs.max_bias};
    const std::int64_t n_queries = step.node->layout.n_rows();
    const auto kernel = device::is_element(k.type)   ? device::is_element(v.type) ? attention<false, false> : attention<false, true>
                          : device::is_element(v.type) ? attention<true, false>
                                                     : attention<true, true>;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(n_queries, device::largest_grid_x));
    return launch(stream, {step.kernel->name, dim3(blocks), dim3(tile), device::block_bytes + tile * sizeof(float)}, kernel, all,
                  n_queries);
}

constexpr CudaKernel table[] = {
    {{.op = Op::flash_attn_ext, .name = "attention", .plan = plan_always<>}, launch_attention},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::attention = table;

}  // namespace tensorlib::core
