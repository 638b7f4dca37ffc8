// gated_delta_net, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn: a chunk is some rows (or columns) of the states of some heads, for
// all tokens. They are independent of other rows, so there is no barrier between tokens, and a result does not depend on the number of
// threads. The state that a node returns is where the rows are changed.
//
//   rows      one pass for each token (SimdTable::Recurrences::advance). What the delta rule and RWKV 7 add to a row depends on the row's
//             product with a vector. So a pass adds what the token before it adds, and computes the products that its own token needs:
//             with that vector and with the query. The result needs no pass: if M' = e M + add k, then M' q = e (M q) + add (k q).
//   columns   one pass for each token (SimdTable::Recurrences::columns), which computes the result from the old columns in the same way
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
constexpr std::size_t vectors = 11;
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

    // The product of two vectors of a row's length.
    float product(const float *a, const float *b) const noexcept {
        float result;
        simd.dot.f32[0][0](sizes.columns, reinterpret_cast<const char *>(a), 0, reinterpret_cast<const char *>(b), 0, &result, 0);
        return result;
    }
};

// The rows of a unit, token after token. The pass of the next token adds what a token adds.
class Rows {
public:
    using Advance = simd::SimdTable::Recurrences::Advance;

    // `first` and `stride`: where the unit's rows are in the operand `state`. Rows that are not adjacent floats are copied to the node.
    Rows(const Unit &unit, const TensorRef &state, const std::byte *first, std::size_t stride) noexcept : unit_(unit) {
        const std::int64_t columns = unit.sizes.columns;
        next_.n = columns, next_.count = static_cast<int>(unit.count), next_.from = unit.row(0), next_.stride = columns;
        const bool in_place = state.nb[0] == sizeof(float) && stride % sizeof(float) == 0;
        if (in_place && unit.sizes.tokens > 0) {
            next_.from = reinterpret_cast<const float *>(first), next_.stride = static_cast<std::int64_t>(stride / sizeof(float));
            return;
        }
        for (std::int64_t r = 0; r < unit.count; r++)
            load_row(state, first + static_cast<std::size_t>(r) * stride, 0, columns, unit.row(r), unit.simd);
    }
    // Adds what is due, and multiplies the rows by two vectors.
    void multiply(const float *first, const float *second, float *firsts, float *seconds) noexcept {
        next_.first = first, next_.second = second, next_.firsts = firsts, next_.seconds = seconds;
        apply();
    }
    // What the next pass adds. Its vectors must last until then.
    Advance &due() noexcept {
        next_.to = unit_.row(0);
        return next_;
    }
    // Adds what is due if the state after this token is kept, and keeps it.
    void finish(std::int64_t token) noexcept {
        if (unit_.sizes.tokens - 1 - token >= unit_.sizes.n_states) return;
        next_.first = next_.second = nullptr;
        apply();
        unit_.keep(token);
    }

private:
    void apply() noexcept {
        unit_.simd.recurrences.advance(next_);
        if (!next_.to) return;
        next_.from = next_.to, next_.stride = unit_.sizes.columns, next_.to = nullptr;
    }

    const Unit &unit_;
    Advance next_;
};

// Products of a unit's rows.
using Products = float[results_of_unit];

void run_delta(const Unit &u) noexcept {
    enum : int { q_at, k_at, v_at, g_at, beta_at, state_at };
    // Those with two are needed until the next token.
    enum : int { q_stage, v_stage, k_stage, decay_stage = k_stage + 2, decayed_k = decay_stage + 2, decayed_q };
    const Step &step = u.step;
    const Recurrent &sizes = u.sizes;
    const TensorRef &g = step.src[g_at], &q_operand = step.src[q_at], &state = step.src[state_at];
    const std::int64_t head = u.head % q_operand.ne[1], sequence = u.sequence * q_operand.ne[3] / sizes.sequences;
    const float scale = 1 / std::sqrt(static_cast<float>(sizes.columns));
    const bool each = g.ne[0] > 1;
    Rows rows(u, state, row_address(state, {u.first, u.head, u.sequence}), state.nb[1]);
    Products products, queried, add;
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex own{u.head, t, u.sequence}, shared{head, t, sequence};
        const int turn = static_cast<int>(t % 2);
        const float *q = u.vector(q_at, shared, q_stage), *k = u.vector(k_at, shared, k_stage + turn), *v = u.vector(v_at, own, v_stage);
        const float beta = u.number(beta_at, own), all = each ? 1 : std::exp(u.number(g_at, own));
        float *decay = nullptr;
        if (each) {
            decay = u.stage(decay_stage + turn);
            u.simd.norms.exponentials(sizes.columns, u.vector(g_at, own, decay_stage + turn), 0, decay);
            for (std::int64_t i = 0; i < sizes.columns; i++) {
                u.stage(decayed_k)[i] = decay[i] * k[i];
                u.stage(decayed_q)[i] = decay[i] * q[i];
            }
        }
        rows.multiply(each ? u.stage(decayed_k) : k, each ? u.stage(decayed_q) : q, products, queried);
        const float key_and_query = u.product(k, q);
        float *out = u.result(t);
        for (std::int64_t r = 0; r < u.count; r++) {
            add[r] = beta * (v[u.first + r] - all * products[r]);
            out[r] = (all * queried[r] + add[r] * key_and_query) * scale;
        }
        auto &due = rows.due();
        due.decay = decay, due.all = all, due.k = k, due.add = add;
        rows.finish(t);
    }
}

double softplus(double x) noexcept { return x > 30 ? x : std::log1p(std::exp(x)); }

void run_scan(const Unit &u) noexcept {
    enum : int { state_at, x_at, dt_at, a_at, b_at, c_at, ids_at };
    enum : int { b_stage, c_stage, x_stage, rate_stage, decay_stage };
    const Step &step = u.step;
    const Recurrent &sizes = u.sizes;
    const TensorRef &state = step.src[state_at], &ids = step.src[ids_at], &a = step.src[a_at];
    const std::int64_t id = integer_value(ids.type, ids.data + static_cast<std::size_t>(u.sequence) * ids.nb[0]);
    if (id < 0 || id >= state.ne[3]) {
        note_fault(step, ids_at, u.sequence);
        return;
    }
    const std::int64_t group = u.head / std::max<std::int64_t>(sizes.heads / step.src[b_at].ne[1], 1);
    const bool each = a.ne[0] > 1;
    Rows rows(u, state, row_address(state, {u.first, u.head, id}), state.nb[1]);
    Products add;
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex shared{group, t, u.sequence};
        const float *b = u.vector(b_at, shared, b_stage), *c = u.vector(c_at, shared, c_stage),
                    *x = u.vector(x_at, {u.head, t, u.sequence}, x_stage);
        const auto d = static_cast<float>(softplus(static_cast<double>(u.number(dt_at, {t, u.sequence, 0}, u.head))));
        float *decay = nullptr;
        if (each) {
            const float *rates = u.vector(a_at, {u.head, 0, 0}, rate_stage);
            decay = u.stage(decay_stage);
            for (std::int64_t i = 0; i < sizes.columns; i++) decay[i] = d * rates[i];
            u.simd.norms.exponentials(sizes.columns, decay, 0, decay);
        }
        for (std::int64_t r = 0; r < u.count; r++) add[r] = d * x[u.first + r];
        auto &due = rows.due();
        due.decay = decay, due.all = each ? 1 : std::exp(d * u.number(a_at, {u.head, 0, 0})), due.k = b, due.add = add;
        rows.multiply(nullptr, c, nullptr, u.result(t));
        u.keep(t);
    }
}

// Where the state of a head begins in a row of them: element `head S S`.
const std::byte *state_of_head(const Unit &u, const TensorRef &state) noexcept {
    const std::int64_t place = (u.head * u.sizes.rows + (u.sizes.results_are_rows ? u.first : 0)) * u.sizes.columns;
    return row_address(state, {u.sequence, 0, 0}) + static_cast<std::size_t>(place) * state.nb[0];
}

void run_wkv7(const Unit &u) noexcept {
    enum : int { r_at, w_at, k_at, v_at, a_at, b_at, state_at };
    enum : int { r_stage, a_stage, decayed_r, w_stage, k_stage = w_stage + 2, v_stage = k_stage + 2, b_stage = v_stage + 2 };
    const Recurrent &sizes = u.sizes;
    const TensorRef &state = u.step.src[state_at];
    Rows rows(u, state, state_of_head(u, state), static_cast<std::size_t>(sizes.columns) * state.nb[0]);
    Products products[2], queried;
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const int turn = static_cast<int>(t % 2);
        const float *query = u.vector(r_at, at, r_stage), *w = u.vector(w_at, at, w_stage + turn), *k = u.vector(k_at, at, k_stage + turn),
                    *v = u.vector(v_at, at, v_stage + turn), *a = u.vector(a_at, at, a_stage), *b = u.vector(b_at, at, b_stage + turn);
        for (std::int64_t i = 0; i < sizes.columns; i++) u.stage(decayed_r)[i] = w[i] * query[i];
        rows.multiply(a, u.stage(decayed_r), products[turn], queried);
        const float key_and_query = u.product(k, query), b_and_query = u.product(b, query);
        float *out = u.result(t);
        for (std::int64_t r = 0; r < u.count; r++) out[r] = queried[r] + v[u.first + r] * key_and_query + products[turn][r] * b_and_query;
        auto &due = rows.due();
        due.decay = w, due.k = k, due.add = v + u.first, due.b = b, due.add_b = products[turn];
        rows.finish(t);
    }
}

// The columns of a unit, token after token.
class Columns {
public:
    Columns(const Unit &unit, const TensorRef &state) noexcept : unit_(unit) {
        const std::int64_t columns = unit.sizes.columns;
        const std::byte *first = state_of_head(unit, state);
        next_.rows = unit.sizes.rows, next_.width = unit.count;
        next_.from = next_.to = unit.row(0), next_.from_stride = next_.to_stride = columns;
        if (state.nb[0] == sizeof(float) && unit.sizes.tokens > 0) {
            next_.from = reinterpret_cast<const float *>(first) + unit.first;
            return;
        }
        for (std::int64_t r = 0; r < unit.rows(); r++) load_row(state, first, r * columns + unit.first, unit.count, unit.row(r), unit.simd);
    }
    // out = of_row . columns + of_v v; columns = decay columns + k v.
    void pass(const float *v, const float *of_row, float of_v, const float *decay, const float *k, float *out) noexcept {
        next_.v = v + unit_.first, next_.of_row = of_row, next_.of_v = of_v, next_.decay = decay, next_.k = k, next_.out = out;
        unit_.simd.recurrences.columns(next_);
        next_.from = next_.to;
    }

private:
    const Unit &unit_;
    simd::SimdTable::Recurrences::Columns next_;
};

void run_wkv6(const Unit &u) noexcept {
    enum : int { k_at, v_at, r_at, tf_at, td_at, state_at };
    enum : int { k_stage, v_stage, r_stage, tf_stage, td_stage, bonus_stage };
    const Recurrent &sizes = u.sizes;
    Columns columns(u, u.step.src[state_at]);
    const float *tf = u.vector(tf_at, {u.head, 0, 0}, tf_stage);
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const float *k = u.vector(k_at, at, k_stage), *r = u.vector(r_at, at, r_stage);
        float *bonus = u.stage(bonus_stage);
        for (std::int64_t i = 0; i < sizes.rows; i++) bonus[i] = tf[i] * k[i];
        columns.pass(u.vector(v_at, at, v_stage), r, u.product(r, bonus), u.vector(td_at, at, td_stage), k, u.result(t));
    }
}

void run_linear(const Unit &u) noexcept {
    enum : int { k_at, v_at, q_at, g_at, state_at };
    enum : int { k_stage, v_stage, q_stage, g_stage, decayed_stage };
    const Recurrent &sizes = u.sizes;
    const auto scale = static_cast<float>(attrs_of<ops::GatedLinearAttnAttrs>(*u.step.node).scale);
    Columns columns(u, u.step.src[state_at]);
    for (std::int64_t t = 0; t < sizes.tokens; t++) {
        const RowIndex at{u.head, u.sequence * sizes.tokens + t, 0};
        const float *k = u.vector(k_at, at, k_stage), *q = u.vector(q_at, at, q_stage), *g = u.vector(g_at, at, g_stage);
        float *decayed = u.stage(decayed_stage);
        for (std::int64_t i = 0; i < sizes.rows; i++) decayed[i] = scale * q[i] * g[i];
        columns.pass(u.vector(v_at, at, v_stage), decayed, scale * u.product(q, k), g, k, u.result(t));
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
