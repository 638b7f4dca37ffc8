// gated_delta_net, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn: a chunk is some rows (or columns) of the states of some heads, for
// all tokens. They are independent of other rows, so there is no barrier between tokens, and a result does not depend on the number of
// threads. The state that a node returns is where the rows are changed.
//
//   rows      for each token: products with a vector (the delta rule, RWKV 7), then the rows and their products with the query
//             (SimdTable::Recurrences::update)
//   columns   for each token and row: the sums of the result and the row (SimdTable::Recurrences::lane)
#include "ops/recurrent.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"
#include "cpu/kernels/convert.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tensorlib::core {

namespace {

using ops::Recurrent;

// Results of a unit: 32 rows of 128 floats are 16 KiB, which stay in the L1 cache, and decays are computed once for them.
constexpr std::int64_t results_of_unit = 32;

std::int64_t units_of(const Recurrent &sizes) noexcept {
    return ceil_div(sizes.result_elements(), results_of_unit) * sizes.heads * sizes.sequences;
}

// A thread's part of the workspace: vectors that are decoded or computed, for a token.
constexpr std::size_t vectors = 6;
std::int64_t vector_floats(const Recurrent &sizes) noexcept { return ceil_div(std::max(sizes.rows, sizes.columns), 16) * 16; }

void plan_recurrent(const Problem &p, KernelPlan &plan) noexcept {
    plan.chunks(Stage::compute) = 0;
    if (p.node.layout.n_elements() == 0) return;
    const Recurrent sizes = ops::recurrent(p.node);
    const double work = static_cast<double>(sizes.rows * sizes.columns) * static_cast<double>(sizes.heads * sizes.sequences) *
                        static_cast<double>(sizes.tokens + sizes.n_states) * sizeof(float);
    plan.chunks(Stage::compute) = chunks_for(units_of(sizes), static_cast<std::int64_t>(std::min(work, 0x1p62)), p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * vectors * static_cast<std::size_t>(vector_floats(sizes)) * sizeof(float);
}

// A unit: results [first, first + count) of a head of a sequence.
struct Unit {
    const Step &step;
    const simd::SimdTable &simd;
    const Recurrent &sizes;
    float *scratch;
    std::int64_t sequence, head, first, count;

    float *stage(int i) const noexcept { return scratch + i * vector_floats(sizes); }
    // A vector of an operand, in place or in this stage.
    const float *vector(int operand, const RowIndex &at, int to) const noexcept {
        const TensorRef &t = step.src[operand];
        return floats_of(t, row_address(t, at), 0, t.ne[0], stage(to), simd);
    }
    float number(int operand, const RowIndex &at, std::int64_t i = 0) const noexcept {
        const TensorRef &t = step.src[operand];
        float value;
        std::memcpy(&value, row_address(t, at) + static_cast<std::size_t>(i) * t.nb[0], sizeof value);
        return value;
    }
    float *node(std::int64_t at) const noexcept { return reinterpret_cast<float *>(step.dst.data) + at; }
    float *result(std::int64_t token) const noexcept { return node(sizes.result_at(head, token, sequence)) + first; }

    // The unit's part of a row of a state: all of a row, or some columns.
    std::int64_t rows() const noexcept { return sizes.results_are_rows ? count : sizes.rows; }
    std::int64_t row_elements() const noexcept { return sizes.results_are_rows ? sizes.columns : count; }
    float *row(std::int64_t r, std::int64_t slot = 0) const noexcept {
        const std::int64_t at = sizes.results_are_rows ? (first + r) * sizes.columns : r * sizes.columns + first;
        return node(sizes.state_at(head, sequence, slot)) + at;
    }
    // Copies the rows as they are to the state's number after this token, if that is kept.
    void keep(std::int64_t token) const noexcept {
        const std::int64_t slot = sizes.tokens - 1 - token;
        if (slot == 0 || slot >= sizes.n_states) return;
        for (std::int64_t r = 0; r < rows(); r++) std::copy_n(row(r), row_elements(), row(r, slot));
    }
    void clear_missing_states() const noexcept {
        for (std::int64_t slot = std::max<std::int64_t>(sizes.tokens, 1); slot < sizes.n_states; slot++) {
            for (std::int64_t r = 0; r < rows(); r++) std::fill_n(row(r, slot), row_elements(), 0.0f);
        }
    }
    // The products of some rows with a vector.
    void multiply(std::int64_t r, std::int64_t n_rows, const float *x, float *products) const noexcept {
        const simd::SimdTable::Dots &dots = simd.dot;
        const auto stride = static_cast<std::ptrdiff_t>(sizes.columns) * static_cast<std::ptrdiff_t>(sizeof(float));
        for (std::int64_t i = 0; i < n_rows; i += dots.rows) {
            const std::int64_t height = std::min<std::int64_t>(dots.rows, n_rows - i);
            dots.f32[height - 1][0](sizes.columns, reinterpret_cast<const char *>(row(r + i)), stride, reinterpret_cast<const char *>(x), 0,
                                    products + i, 0);
        }
    }
};

constexpr std::int64_t together = simd::max_updated_rows;

void run_delta(const Unit &u) noexcept {
    enum : int { q_at, k_at, v_at, g_at, beta_at, state_at };
    const Step &step = u.step;
    const Recurrent &sizes = u.sizes;
    const TensorRef &g = step.src[g_at], &q_operand = step.src[q_at];
    for (std::int64_t r = 0; r < u.count; r++)
        load_row(step.src[state_at], row_address(step.src[state_at], {u.first + r, u.head, u.sequence}), 0, sizes.columns, u.row(r),
                 u.simd);
    const std::int64_t head = u.head % q_operand.ne[1], sequence = u.sequence * q_operand.ne[3] / sizes.sequences;
    const float scale = 1 / std::sqrt(static_cast<float>(sizes.columns));
    const bool each = g.ne[0] > 1;
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex own{u.head, t, u.sequence}, shared{head, t, sequence};
        const float *q = u.vector(q_at, shared, 0), *k = u.vector(k_at, shared, 1), *v = u.vector(v_at, own, 2);
        const float beta = u.number(beta_at, own);
        float all = 1;
        float *decay = nullptr;
        const float *read = k;
        if (each) {
            // The rule's products are those with the decayed state.
            decay = u.stage(3);
            const float *gates = u.vector(g_at, own, 4);
            u.simd.norms.exponentials(sizes.columns, gates, 0, decay);
            float *decayed = u.stage(5);
            for (std::int64_t i = 0; i < sizes.columns; i++) decayed[i] = decay[i] * k[i];
            read = decayed;
        } else {
            all = std::exp(u.number(g_at, own));
        }
        float *out = u.result(t);
        for (std::int64_t r = 0; r < u.count; r += together) {
            const std::int64_t n = std::min(together, u.count - r);
            float add[together];
            u.multiply(r, n, read, add);
            for (std::int64_t i = 0; i < n; i++) add[i] = beta * (v[u.first + r + i] - (each ? add[i] : all * add[i]));
            u.simd.recurrences.update({.n = sizes.columns,
                                       .count = static_cast<int>(n),
                                       .rows = u.row(r),
                                       .decay = decay,
                                       .all = all,
                                       .k = k,
                                       .add = add,
                                       .b = nullptr,
                                       .add_b = nullptr,
                                       .q = q,
                                       .out = out + r});
        }
        for (std::int64_t r = 0; r < u.count; r++) out[r] *= scale;
        u.keep(t);
    }
}

double softplus(double x) noexcept { return x > 30 ? x : std::log1p(std::exp(x)); }

void run_scan(const Unit &u) noexcept {
    enum : int { state_at, x_at, dt_at, a_at, b_at, c_at, ids_at };
    const Step &step = u.step;
    const Recurrent &sizes = u.sizes;
    const TensorRef &state = step.src[state_at], &ids = step.src[ids_at], &a = step.src[a_at];
    const std::int64_t id = integer_value(ids.type, ids.data + static_cast<std::size_t>(u.sequence) * ids.nb[0]);
    if (id < 0 || id >= state.ne[3]) {
        note_fault(step, ids_at, u.sequence);
        return;
    }
    for (std::int64_t r = 0; r < u.count; r++)
        load_row(state, row_address(state, {u.first + r, u.head, id}), 0, sizes.columns, u.row(r), u.simd);
    const std::int64_t group = u.head / std::max<std::int64_t>(sizes.heads / step.src[b_at].ne[1], 1);
    const bool each = a.ne[0] > 1;
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex shared{group, t, u.sequence};
        const float *b = u.vector(b_at, shared, 0), *c = u.vector(c_at, shared, 1), *x = u.vector(x_at, {u.head, t, u.sequence}, 2);
        const auto d = static_cast<float>(softplus(static_cast<double>(u.number(dt_at, {t, u.sequence, 0}, u.head))));
        float all = 1;
        float *decay = nullptr;
        if (each) {
            const float *rates = u.vector(a_at, {u.head, 0, 0}, 4);
            decay = u.stage(3);
            for (std::int64_t i = 0; i < sizes.columns; i++) decay[i] = d * rates[i];
            u.simd.norms.exponentials(sizes.columns, decay, 0, decay);
        } else {
            all = std::exp(d * u.number(a_at, {u.head, 0, 0}));
        }
        for (std::int64_t r = 0; r < u.count; r += together) {
            const std::int64_t n = std::min(together, u.count - r);
            float add[together];
            for (std::int64_t i = 0; i < n; i++) add[i] = d * x[u.first + r + i];
            u.simd.recurrences.update({.n = sizes.columns,
                                       .count = static_cast<int>(n),
                                       .rows = u.row(r),
                                       .decay = decay,
                                       .all = all,
                                       .k = b,
                                       .add = add,
                                       .b = nullptr,
                                       .add_b = nullptr,
                                       .q = c,
                                       .out = u.result(t) + r});
        }
        u.keep(t);
    }
}

// The state of a head begins at element `head S S` of a row.
void load_state(const Unit &u, int operand) noexcept {
    const TensorRef &state = u.step.src[operand];
    const std::byte *row = row_address(state, {u.sequence, 0, 0});
    const std::int64_t of_head = u.head * u.sizes.rows * u.sizes.columns;
    for (std::int64_t r = 0; r < u.rows(); r++) {
        const std::int64_t at = u.sizes.results_are_rows ? (u.first + r) * u.sizes.columns : r * u.sizes.columns + u.first;
        load_row(state, row, of_head + at, u.row_elements(), u.row(r), u.simd);
    }
}

void run_wkv7(const Unit &u) noexcept {
    enum : int { r_at, w_at, k_at, v_at, a_at, b_at, state_at };
    const Recurrent &sizes = u.sizes;
    load_state(u, state_at);
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const float *query = u.vector(r_at, at, 0), *w = u.vector(w_at, at, 1), *k = u.vector(k_at, at, 2), *v = u.vector(v_at, at, 3),
                    *a = u.vector(a_at, at, 4), *b = u.vector(b_at, at, 5);
        for (std::int64_t r = 0; r < u.count; r += together) {
            const std::int64_t n = std::min(together, u.count - r);
            float products[together];
            u.multiply(r, n, a, products);
            u.simd.recurrences.update({.n = sizes.columns,
                                       .count = static_cast<int>(n),
                                       .rows = u.row(r),
                                       .decay = w,
                                       .all = 1,
                                       .k = k,
                                       .add = v + u.first + r,
                                       .b = b,
                                       .add_b = products,
                                       .q = query,
                                       .out = u.result(t) + r});
        }
    }
}

void run_wkv6(const Unit &u) noexcept {
    enum : int { k_at, v_at, r_at, tf_at, td_at, state_at };
    const Recurrent &sizes = u.sizes;
    load_state(u, state_at);
    const float *tf = u.vector(tf_at, {u.head, 0, 0}, 0);
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const float *k = u.vector(k_at, at, 1), *v = u.vector(v_at, at, 2), *query = u.vector(r_at, at, 3), *td = u.vector(td_at, at, 4);
        float *out = u.result(t);
        std::fill_n(out, u.count, 0.0f);
        for (std::int64_t i = 0; i < sizes.rows; i++)
            u.simd.recurrences.lane(u.count, u.row(i), v + u.first, query[i], query[i] * tf[i] * k[i], td[i], k[i], out);
    }
}

void run_linear(const Unit &u) noexcept {
    enum : int { k_at, v_at, q_at, g_at, state_at };
    const Recurrent &sizes = u.sizes;
    const auto scale = static_cast<float>(attrs_of<ops::GatedLinearAttnAttrs>(*u.step.node).scale);
    load_state(u, state_at);
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const float *k = u.vector(k_at, at, 1), *v = u.vector(v_at, at, 2), *q = u.vector(q_at, at, 3), *g = u.vector(g_at, at, 4);
        float *out = u.result(t);
        std::fill_n(out, u.count, 0.0f);
        for (std::int64_t i = 0; i < sizes.rows; i++) {
            const float query = scale * q[i];
            u.simd.recurrences.lane(u.count, u.row(i), v + u.first, query * g[i], query * k[i], g[i], k[i], out);
        }
    }
}

template <void (*run_unit)(const Unit &) noexcept>
void run_recurrent(const Step &step, const Slice &slice) noexcept {
    const Recurrent sizes = ops::recurrent(*step.node);
    const std::int64_t per_head = ceil_div(sizes.result_elements(), results_of_unit);
    const Range part = part_of(units_of(sizes), slice.chunk, step.plan.chunks(Stage::compute));
    auto *scratch = reinterpret_cast<float *>(step.workspace) + slice.thread * static_cast<std::int64_t>(vectors) * vector_floats(sizes);
    for (std::int64_t unit = part.begin; unit < part.end; unit++) {
        const std::int64_t first = unit % per_head * results_of_unit, head = unit / per_head % sizes.heads,
                           sequence = unit / per_head / sizes.heads;
        const Unit own{step, slice.simd, sizes, scratch, sequence, head, first, std::min(results_of_unit, sizes.result_elements() - first)};
        own.clear_missing_states();
        run_unit(own);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::gated_delta_net, .name = "gated_delta_net", .plan = plan_always<plan_recurrent>}, run_recurrent<run_delta>},
    {{.op = Op::ssm_scan, .name = "ssm_scan", .plan = plan_always<plan_recurrent>}, run_recurrent<run_scan>},
    {{.op = Op::rwkv_wkv6, .name = "rwkv_wkv6", .plan = plan_always<plan_recurrent>}, run_recurrent<run_wkv6>},
    {{.op = Op::rwkv_wkv7, .name = "rwkv_wkv7", .plan = plan_always<plan_recurrent>}, run_recurrent<run_wkv7>},
    {{.op = Op::gated_linear_attn, .name = "gated_linear_attn", .plan = plan_always<plan_recurrent>}, run_recurrent<run_linear>},
};

}  // namespace

const std::span<const CpuKernel> kernels::recurrent = table;

}  // namespace tensorlib::core
