// flash_attn_ext and paged_attention: a block takes one query of a token's head after the other, and one tile of 256 keys after
// the other:
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

// paged_attention's operands: which pages hold a sequence's keys, and what each token sees.
struct Pages {
    device::Numbers table, positions, sequences;
    std::int64_t page, window;
};

// mask and sinks are null if there are none. Only one operation has a mask, and only the other one has pages.
struct Attention {
    Operand q, k, v, mask;
    View sinks, c;
    float scale, cap;
    double max_bias;
    Pages pages;
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

// The keys that a query sees, and the addresses of their rows.
struct KeyRange {
    std::int64_t begin, end;
};

// flash_attn_ext: k {n, keys, heads', batch'}.
struct OneAfterTheOther {
    const char *key_rows, *value_rows;
    std::int64_t key_stride, value_stride;

    __device__ OneAfterTheOther(const Attention &x, const RowIndex &at) {
        const std::int64_t shared = at.i1 / (x.c.ne[1] / x.k.view.ne[2]), of_batch = at.i3 / (x.c.ne[3] / x.k.view.ne[3]);
        key_rows = x.k.view.at(0, shared, of_batch), value_rows = x.v.view.at(0, shared, of_batch);
        key_stride = x.k.view.nb[1], value_stride = x.v.view.nb[1];
    }
    __device__ static KeyRange seen(const Attention &x, const RowIndex &) { return {0, x.k.view.ne[1]}; }
    __device__ const char *key(std::int64_t j) const { return key_rows + j * key_stride; }
    __device__ const char *value(std::int64_t j) const { return value_rows + j * value_stride; }
};

// paged_attention: k {n, heads', rows}.
struct InPages {
    const char *key_rows, *value_rows;
    const Attention &x;
    std::int64_t sequence;

    __device__ InPages(const Attention &all, const RowIndex &at)
        : x(all), sequence(all.pages.sequences.at(at.i2, 0, 0, all.pages.table.view.ne[1], false)) {
        const std::int64_t shared = at.i1 / (x.c.ne[1] / x.k.view.ne[1]);
        key_rows = x.k.view.at(shared, 0, 0), value_rows = x.v.view.at(shared, 0, 0);
    }
    // No keys where a number does not exist. The first head's threads record it: an atomic minimum, so their number does not
    // matter.
    __device__ static KeyRange seen(const Attention &x, const RowIndex &at) {
        const Pages &p = x.pages;
        const bool notes = at.i1 == 0 && threadIdx.x == 0;
        const View &table = p.table.view;
        const std::int64_t sequence = p.sequences.at(at.i2, 0, 0, table.ne[1], notes);
        if (sequence < 0) return {0, 0};
        const std::int64_t position = p.positions.at(at.i2, 0, 0, table.ne[0] * p.page, notes);
        if (position < 0) return {0, 0};
        const std::int64_t begin = p.window > 0 ? max(position + 1 - p.window, static_cast<std::int64_t>(0)) : 0;
        for (std::int64_t i = begin / p.page; i * p.page <= position; i++) {
            if (p.table.at(i, sequence, 0, x.k.view.ne[2] / p.page, notes) < 0) return {0, 0};
        }
        return {begin, position + 1};
    }
    __device__ std::int64_t row(std::int64_t j) const {
        const Pages &p = x.pages;
        return p.table.at(j / p.page, sequence, 0, x.k.view.ne[2] / p.page, false) * p.page + j % p.page;
    }
    __device__ const char *key(std::int64_t j) const { return key_rows + row(j) * x.k.view.nb[2]; }
    __device__ const char *value(std::int64_t j) const { return value_rows + row(j) * x.v.view.nb[2]; }
};

template <bool blocks_k, bool blocks_v, class Rows>
__global__ void attention(Attention x, std::int64_t n_queries) {
    constexpr int R = run_of<blocks_v>;
    float *scores = device::shared_memory<float>() + device::block_bytes / sizeof(float);
    const int warp = static_cast<int>(threadIdx.x / device::warp_size), warps = static_cast<int>(blockDim.x / device::warp_size);
    const std::int64_t heads = x.c.ne[1];
    for (std::int64_t number = blockIdx.x; number < n_queries; number += gridDim.x) {
        const RowIndex at = x.c.index(number);  // head, token, batch
        const std::int64_t head = at.i1, token = at.i2, batch = at.i3;
        const char *query = x.q.view.at(token, head, batch);
        const KeyRange keys = Rows::seen(x, at);
        const Rows rows(x, at);
        const View &m = x.mask.view;
        const char *mask = m.data ? m.at(token, head % m.ne[2], batch % m.ne[3]) : nullptr;
        const float slope = mask ? alibi_slope(head, heads, x.max_bias) : 0;
        auto *c = reinterpret_cast<float *>(x.c.at(at));
        float most = -math::infinity;
        double sum = 0;
        for (std::int64_t first = keys.begin; first < keys.end; first += tile) {
            const int n = static_cast<int>(min(keys.end - first, static_cast<std::int64_t>(tile)));
            for (int j = warp; j < n; j += warps) {
                float score = __fmul_rn(product<blocks_k>(x, query, rows.key(first + j)), x.scale);
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
                for (int i = 0; i < R; i++) acc[i] = first == keys.begin ? 0.0f : __fmul_rn(c[run * R + i], factor);
                for (int j = 0; j < n; j++) {
                    load_run<blocks_v>(x.v, rows.value(first + j), run, values);
#pragma unroll
                    for (int i = 0; i < R; i++) acc[i] = fmaf(values[i], scores[j], acc[i]);
                }
#pragma unroll
                for (int i = 0; i < R; i++) c[run * R + i] = acc[i];
            }
            __syncthreads();
        }
        const float factor = normaliser(x, head, most, sum);
        for (std::int64_t d = threadIdx.x; d < x.c.ne[0]; d += blockDim.x) c[d] = __fmul_rn(keys.begin == keys.end ? 0.0f : c[d], factor);
    }
}

// The factor of the products, and the cap. With a soft cap, the factor includes the division by the cap.
void set_scale(Attention &all, double scale, double cap, const TensorRef &q) noexcept {
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.ne[0]));
    all.scale = static_cast<float>(cap > 0 ? scale / cap : scale), all.cap = static_cast<float>(cap);
}

template <class Rows>
cudaError_t launch_as(const Step &step, const CudaStream &stream, const Attention &all) noexcept {
    const std::int64_t n_queries = step.node->layout.n_rows();
    const bool k = device::is_element(all.k.type), v = device::is_element(all.v.type);
    const auto kernel = k   ? v ? attention<false, false, Rows> : attention<false, true, Rows>
                          : v ? attention<true, false, Rows>
                            : attention<true, true, Rows>;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(n_queries, device::largest_grid_x));
    return launch(stream, {step.kernel->name, dim3(blocks), dim3(tile), device::block_bytes + tile * sizeof(float)}, kernel, all,
                  n_queries);
}

cudaError_t launch_attention(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::FlashAttnExtAttrs>(*step.node);
    const auto &src = step.src;
    Attention all{operand_of(src[0]),
                  operand_of(src[1]),
                  operand_of(src[2]),
                  operand_of(src[3]),
                  device::view_of(src[4]),
                  device::view_of(step.dst),
                  0,
                  0,
                  attrs.max_bias,
                  {}};
    set_scale(all, attrs.scale, attrs.logit_softcap, src[0]);
    return launch_as<OneAfterTheOther>(step, stream, all);
}

cudaError_t launch_paged(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::PagedAttentionAttrs>(*step.node);
    const auto &src = step.src;
    Attention all{operand_of(src[0]),
                  operand_of(src[1]),
                  operand_of(src[2]),
                  {},
                  device::view_of(src[6]),
                  device::view_of(step.dst),
                  0,
                  0,
                  0,
                  {device::numbers_of(step, 3), device::numbers_of(step, 4), device::numbers_of(step, 5), attrs.page, attrs.window}};
    set_scale(all, attrs.scale, attrs.logit_softcap, src[0]);
    return launch_as<InPages>(step, stream, all);
}

constexpr CudaKernel table[] = {
    {{.op = Op::flash_attn_ext, .name = "attention", .plan = plan_always<>}, launch_attention},
    {{.op = Op::paged_attention, .name = "attention_paged", .plan = plan_always<>}, launch_paged},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::attention = table;

}  // namespace tensorlib::core
