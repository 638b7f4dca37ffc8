// gated_delta_net, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn: a thread owns a row of a head's state, or a column where columns
// belong to results, for all tokens, and changes it in the node. Limited by memory and latency: a row is read twice and written once for
// each token. No shared memory.
#include "ops/recurrent.hpp"

#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core {

namespace {

using device::View;
using ops::Recurrent;

// Operands of a node, in their order, and its memory.
struct Operands {
    View src[7];
    Recurrent sizes;
    float *node;
    device::Numbers ids;  // of ssm_scan
    float scale;
};

__device__ float at(const View &t, std::int64_t i0, std::int64_t i1, std::int64_t i2 = 0, std::int64_t i3 = 0) {
    return *reinterpret_cast<const float *>(t.at(i1, i2, i3) + i0 * t.nb[0]);
}

// A thread's row of the state of a head of a sequence.
struct Row {
    const Operands &o;
    std::int64_t head, sequence, result;

    __device__ float &element(std::int64_t i, std::int64_t slot = 0) const {
        const Recurrent &sizes = o.sizes;
        const std::int64_t place = sizes.results_are_rows ? result * sizes.columns + i : i * sizes.columns + result;
        return o.node[sizes.state_at(head, sequence, slot) + place];
    }
    __device__ std::int64_t elements() const { return o.sizes.results_are_rows ? o.sizes.columns : o.sizes.rows; }
    __device__ float &out(std::int64_t token) const { return o.node[o.sizes.result_at(head, token, sequence) + result]; }
    __device__ void keep(std::int64_t token) const {
        const std::int64_t slot = o.sizes.tokens - 1 - token;
        if (slot == 0 || slot >= o.sizes.n_states) return;
        for (std::int64_t i = 0; i < elements(); i++) element(i, slot) = element(i);
    }
    __device__ void clear_missing_states() const {
        for (std::int64_t slot = o.sizes.tokens > 1 ? o.sizes.tokens : 1; slot < o.sizes.n_states; slot++) {
            for (std::int64_t i = 0; i < elements(); i++) element(i, slot) = 0;
        }
    }
    // Element i of an operand {S, heads, tokens}, for a token of this sequence.
    __device__ float mixed(int operand, std::int64_t i, std::int64_t token) const {
        return at(o.src[operand], i, head, sequence * o.sizes.tokens + token);
    }
    __device__ void load_state(int operand) const {
        const std::int64_t of_head = head * o.sizes.rows * o.sizes.columns;
        for (std::int64_t i = 0; i < elements(); i++) {
            const std::int64_t place = o.sizes.results_are_rows ? result * o.sizes.columns + i : i * o.sizes.columns + result;
            element(i) = at(o.src[operand], of_head + place, sequence);
        }
    }
};

struct Delta {
    __device__ static void run(const Row &row) {
        enum : int { q_at, k_at, v_at, g_at, beta_at, state_at };
        const View *src = row.o.src;
        const std::int64_t n = row.elements(), head = row.head % src[q_at].ne[1],
                           sequence = row.sequence * src[q_at].ne[3] / row.o.sizes.sequences;
        const bool each = src[g_at].ne[0] > 1;
        for (std::int64_t i = 0; i < n; i++) row.element(i) = at(src[state_at], i, row.result, row.head, row.sequence);
        for (std::int64_t t = 0; t < row.o.sizes.tokens; t++) {
            const auto decay = [&](std::int64_t i) { return expf(at(src[g_at], each ? i : 0, row.head, t, row.sequence)); };
            float product = 0, sum = 0;
            for (std::int64_t i = 0; i < n; i++) product = fmaf(decay(i) * row.element(i), at(src[k_at], i, head, t, sequence), product);
            const float add =
                at(src[beta_at], 0, row.head, t, row.sequence) * (at(src[v_at], row.result, row.head, t, row.sequence) - product);
            for (std::int64_t i = 0; i < n; i++) {
                float &x = row.element(i);
                x = fmaf(add, at(src[k_at], i, head, t, sequence), decay(i) * x);
                sum = fmaf(x, at(src[q_at], i, head, t, sequence), sum);
            }
            row.out(t) = sum * row.o.scale;
            row.keep(t);
        }
    }
};

struct Scan {
    __device__ static void run(const Row &row) {
        enum : int { state_at, x_at, dt_at, a_at, b_at, c_at };
        const View *src = row.o.src;
        const std::int64_t id = row.o.ids.at(row.sequence, 0, 0, src[state_at].ne[3], row.result == 0 && row.head == 0);
        if (id < 0) return;
        const std::int64_t n = row.elements(), per_group = row.o.sizes.heads / src[b_at].ne[1],
                           group = row.head / (per_group > 0 ? per_group : 1);
        const bool each = src[a_at].ne[0] > 1;
        for (std::int64_t i = 0; i < n; i++) row.element(i) = at(src[state_at], i, row.result, row.head, id);
        for (std::int64_t t = 0; t < row.o.sizes.tokens; t++) {
            const auto dt = static_cast<double>(at(src[dt_at], row.head, t, row.sequence));
            const auto d = static_cast<float>(dt > 30 ? dt : ::log1p(::exp(dt)));
            const float add = d * at(src[x_at], row.result, row.head, t, row.sequence);
            float sum = 0;
            for (std::int64_t i = 0; i < n; i++) {
                float &x = row.element(i);
                x = fmaf(add, at(src[b_at], i, group, t, row.sequence), expf(d * at(src[a_at], each ? i : 0, row.head)) * x);
                sum = fmaf(x, at(src[c_at], i, group, t, row.sequence), sum);
            }
            row.out(t) = sum;
            row.keep(t);
        }
    }
};

struct Wkv7 {
    __device__ static void run(const Row &row) {
        enum : int { r_at, w_at, k_at, v_at, a_at, b_at, state_at };
        const std::int64_t n = row.elements();
        row.load_state(state_at);
        for (std::int64_t t = 0; t < row.o.sizes.tokens; t++) {
            float product = 0, sum = 0;
            for (std::int64_t i = 0; i < n; i++) product = fmaf(row.element(i), row.mixed(a_at, i, t), product);
            const float v = row.mixed(v_at, row.result, t);
            for (std::int64_t i = 0; i < n; i++) {
                float &x = row.element(i);
                x = fmaf(product, row.mixed(b_at, i, t), fmaf(v, row.mixed(k_at, i, t), row.mixed(w_at, i, t) * x));
                sum = fmaf(x, row.mixed(r_at, i, t), sum);
            }
            row.out(t) = sum;
        }
    }
};

struct Wkv6 {
    __device__ static void run(const Row &row) {
        enum : int { k_at, v_at, r_at, tf_at, td_at, state_at };
        const std::int64_t n = row.elements();
        row.load_state(state_at);
        for (std::int64_t t = 0; t < row.o.sizes.tokens; t++) {
            const float v = row.mixed(v_at, row.result, t);
            float sum = 0;
            for (std::int64_t i = 0; i < n; i++) {
                float &x = row.element(i);
                const float kv = row.mixed(k_at, i, t) * v;
                sum = fmaf(row.mixed(r_at, i, t), fmaf(at(row.o.src[tf_at], i, row.head), kv, x), sum);
                x = fmaf(row.mixed(td_at, i, t), x, kv);
            }
            row.out(t) = sum;
        }
    }
};

struct Linear {
    __device__ static void run(const Row &row) {
        enum : int { k_at, v_at, q_at, g_at, state_at };
        const std::int64_t n = row.elements();
        row.load_state(state_at);
        for (std::int64_t t = 0; t < row.o.sizes.tokens; t++) {
            const float v = row.mixed(v_at, row.result, t);
            float sum = 0;
            for (std::int64_t i = 0; i < n; i++) {
                float &x = row.element(i);
                x = fmaf(row.mixed(g_at, i, t), x, row.mixed(k_at, i, t) * v);
                sum = fmaf(row.mixed(q_at, i, t), x, sum);
            }
            row.out(t) = sum * row.o.scale;
        }
    }
};

template <class Rule>
__global__ void recurrent_rows(Operands o, std::int64_t n_heads) {
    device::for_each_row(n_heads, [&](std::int64_t at) {
        device::for_each_unit(o.sizes.result_elements(), [&](std::int64_t result) {
            const Row row{o, at % o.sizes.heads, at / o.sizes.heads, result};
            row.clear_missing_states();
            Rule::run(row);
        });
    });
}

template <class Rule>
cudaError_t launch_recurrent(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    Operands o{};
    o.sizes = ops::recurrent(*step.node);
    o.node = reinterpret_cast<float *>(step.dst.data);
    for (std::size_t i = 0; i < step.node->n_src; i++) o.src[i] = device::view_of(step.src[i]);
    if (step.node->op == Op::ssm_scan) o.ids = device::numbers_of(step, 6);
    o.scale = step.node->op == Op::gated_linear_attn ? static_cast<float>(attrs_of<ops::GatedLinearAttnAttrs>(*step.node).scale)
                                                     : 1 / std::sqrt(static_cast<float>(o.sizes.columns));
    const std::int64_t n_heads = o.sizes.heads * o.sizes.sequences;
    const device::RowGrid grid = device::row_grid(o.sizes.result_elements(), n_heads);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, recurrent_rows<Rule>, o, n_heads);
}

constexpr CudaKernel table[] = {
    {{.op = Op::gated_delta_net, .name = "gated_delta_net", .plan = plan_always<>}, launch_recurrent<Delta>},
    {{.op = Op::ssm_scan, .name = "ssm_scan", .plan = plan_always<>}, launch_recurrent<Scan>},
    {{.op = Op::rwkv_wkv6, .name = "rwkv_wkv6", .plan = plan_always<>}, launch_recurrent<Wkv6>},
    {{.op = Op::rwkv_wkv7, .name = "rwkv_wkv7", .plan = plan_always<>}, launch_recurrent<Wkv7>},
    {{.op = Op::gated_linear_attn, .name = "gated_linear_attn", .plan = plan_always<>}, launch_recurrent<Linear>},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::recurrent = table;

}  // namespace tensorlib::core
