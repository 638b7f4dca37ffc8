// gated_delta_net, ssm_scan, rwkv_wkv7: lanes own the elements of a row of a head's state for all tokens, and keep them in registers. Rows
// of up to 128 elements have 8 lanes (RWKV 7: of up to 64), so that a warp has 4 rows and sums take 3 shuffles; wider ones have more. A
// token's vectors are loaded while the token before it is computed. Limited by the latency of a token for few heads, and by arithmetic for
// many. Registers: the row, and each vector of a token twice, 16 each (RWKV 7: 8). Rows of more than 256 elements stay in memory, and a
// warp has one.
//
// rwkv_wkv6, gated_linear_attn: a thread owns a column of a state, because columns belong to results, and changes it in the node.
//
// No shared memory.
#include "ops/recurrent.hpp"

#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/device/warp_units.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

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

__device__ float number_at(const char *p) { return *reinterpret_cast<const float *>(p); }

// A vector, or a number, for each token.
struct PerToken {
    const char *first;
    std::int64_t step, element;  // bytes

    __device__ const char *at(std::int64_t token) const { return first + token * step; }
    __device__ float number(std::int64_t token) const { return number_at(at(token)); }
};

// ---- Rows

// Where a warp's lane is: lane number `lane` of the row.
struct Place {
    const Operands &o;
    std::int64_t head, sequence, row;
    int lane;
    bool writes;  // not if this row only fills the warp

    __device__ float *state(std::int64_t slot) const { return o.node + o.sizes.state_at(head, sequence, slot) + row * o.sizes.columns; }
    __device__ void result(std::int64_t token, float value) const {
        if (writes && lane == 0) o.node[o.sizes.result_at(head, token, sequence) + row] = value;
    }
};

// A lane's elements of a row: E of them, in groups of 4 that follow those of the other lanes. `exact`: the row has L E elements, and
// vectors of 16 bytes are aligned.
template <int E, int L, bool exact>
struct RowInRegisters {
    static constexpr int lanes = L;
    Place place;
    float values[E];

    struct Vector {
        float values[E];
        __device__ float operator[](int j) const { return values[j]; }
    };

    __device__ explicit RowInRegisters(const Place &p) : place(p) {}
    __device__ int index(int j) const { return j / 4 * 4 * L + place.lane * 4 + j % 4; }
    __device__ float &operator[](int j) { return values[j]; }

    // Calls f(j, j % 4) for the elements that the row has.
    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int j = 0; j < E; j++) {
            if (exact || index(j) < place.o.sizes.columns) f(j, j % 4);
        }
    }
    __device__ void read(float (&to)[E], const char *p, std::int64_t step) const {
        if constexpr (exact) {
#pragma unroll
            for (int j = 0; j < E; j += 4) {
                const auto four = device::load_vector<float4>(p + std::int64_t{4} * index(j));
                to[j] = four.x, to[j + 1] = four.y, to[j + 2] = four.z, to[j + 3] = four.w;
            }
        } else {
            each([&](int j, int) { to[j] = number_at(p + index(j) * step); });
        }
    }
    __device__ Vector vector(const PerToken &from, std::int64_t token) const {
        Vector v{};
        read(v.values, from.at(token), from.element);
        return v;
    }
    __device__ void load(const char *p, std::int64_t step) { read(values, p, step); }
    __device__ void store(std::int64_t slot) const {
        if (!place.writes) return;
        float *to = place.state(slot);
        if constexpr (exact) {
#pragma unroll
            for (int j = 0; j < E; j += 4)
                device::store_vector(to + index(j), make_float4(values[j], values[j + 1], values[j + 2], values[j + 3]));
        } else {
            each([&](int j, int) { to[index(j)] = values[j]; });
        }
    }
};

// The row is changed where the node has it.
struct RowInMemory {
    static constexpr int lanes = device::warp_size;
    Place place;
    float *values;

    struct Vector {
        const char *p;
        std::int64_t step;
        __device__ float operator[](std::int64_t i) const { return number_at(p + i * step); }
    };

    __device__ explicit RowInMemory(const Place &p) : place(p), values(p.state(0)) {}
    __device__ float &operator[](std::int64_t i) { return values[i]; }
    template <class F>
    __device__ void each(F f) const {
        for (std::int64_t i = place.lane; i < place.o.sizes.columns; i += lanes) f(i, 0);
    }
    __device__ Vector vector(const PerToken &from, std::int64_t token) const { return {from.at(token), from.element}; }
    __device__ void load(const char *p, std::int64_t step) {
        each([&](std::int64_t i, int) { values[i] = number_at(p + i * step); });
    }
    __device__ void store(std::int64_t slot) const {
        if (slot == 0) return;
        float *to = place.state(slot);
        each([&](std::int64_t i, int) { to[i] = values[i]; });
    }
};

// f(j, sum so far) over the row's elements, in every lane of the row.
template <class Row, class F>
__device__ float sum_over(const Row &row, F f) {
    float parts[4] = {};
    row.each([&](auto j, int part) { parts[part] = f(j, parts[part]); });
    float sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
#pragma unroll
    for (int distance = Row::lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(device::all_lanes, sum, distance);
    return sum;
}

// ---- Rules of rows: the first state, what a token needs, and what it does

struct Nothing {};

// `gates`: a decay for each element.
template <class Row, bool gates>
struct Delta {
    enum : int { q_at, k_at, v_at, g_at, beta_at, state_at };
    PerToken q, k, v, g, beta;

    struct Token {
        typename Row::Vector q, k;
        std::conditional_t<gates, typename Row::Vector, Nothing> g;
        float v, decay, beta;
    };

    __device__ explicit Delta(const Place &place) {
        const View *src = place.o.src;
        const auto own = [&](int operand, std::int64_t i) {
            const View &t = src[operand];
            return PerToken{t.at(place.head, 0, place.sequence) + i * t.nb[0], t.nb[2], t.nb[0]};
        };
        const auto shared = [&](int operand) {
            const View &t = src[operand];
            return PerToken{t.at(place.head % t.ne[1], 0, place.sequence * t.ne[3] / place.o.sizes.sequences), t.nb[2], t.nb[0]};
        };
        q = shared(q_at), k = shared(k_at), v = own(v_at, place.row), g = own(g_at, 0), beta = own(beta_at, 0);
    }
    __device__ bool begin(Row &row) const {
        const View &state = row.place.o.src[state_at];
        row.load(state.at(row.place.row, row.place.head, row.place.sequence), state.nb[0]);
        return true;
    }
    __device__ Token token(const Row &row, std::int64_t t) const {
        Token now{};
        now.q = row.vector(q, t), now.k = row.vector(k, t);
        if constexpr (gates) {
            now.g = row.vector(g, t);
        } else {
            now.decay = expf(g.number(t));
        }
        now.v = v.number(t), now.beta = beta.number(t);
        return now;
    }
    __device__ float step(Row &row, const Token &now) const {
        const float product = sum_over(row, [&](auto j, float sum) {
            if constexpr (gates) {
                row[j] *= expf(now.g[j]);
            } else {
                row[j] *= now.decay;
            }
            return fmaf(row[j], now.k[j], sum);
        });
        const float add = now.beta * (now.v - product);
        const float sum = sum_over(row, [&](auto j, float part) {
            row[j] = fmaf(add, now.k[j], row[j]);
            return fmaf(row[j], now.q[j], part);
        });
        return sum * row.place.o.scale;
    }
};

// `rates`: a rate for each element.
template <class Row, bool rates>
struct Scan {
    enum : int { state_at, x_at, dt_at, a_at, b_at, c_at };
    PerToken x, dt, b, c;
    std::conditional_t<rates, typename Row::Vector, float> a;

    struct Token {
        typename Row::Vector b, c;
        float x, d;
    };

    __device__ explicit Scan(const Place &place) {
        const View *src = place.o.src;
        const std::int64_t per_group = place.o.sizes.heads / src[b_at].ne[1];
        const auto shared = [&](int operand) {
            const View &t = src[operand];
            return PerToken{t.at(place.head / (per_group > 0 ? per_group : 1), 0, place.sequence), t.nb[2], t.nb[0]};
        };
        b = shared(b_at), c = shared(c_at);
        const View &of_x = src[x_at], &of_dt = src[dt_at];
        x = {of_x.at(place.head, 0, place.sequence) + place.row * of_x.nb[0], of_x.nb[2], of_x.nb[0]};
        dt = {of_dt.at(0, place.sequence, 0) + place.head * of_dt.nb[0], of_dt.nb[1], of_dt.nb[0]};
    }
    __device__ bool begin(Row &row) {
        const Place &place = row.place;
        const View &state = place.o.src[state_at], &of_a = place.o.src[a_at];
        const bool notes = place.row == 0 && place.head == 0 && place.lane == 0;
        const std::int64_t id = place.o.ids.at(place.sequence, 0, 0, state.ne[3], notes);
        if (id < 0) return false;
        row.load(state.at(place.row, place.head, id), state.nb[0]);
        const PerToken own{of_a.at(place.head, 0, 0), 0, of_a.nb[0]};
        if constexpr (rates) {
            a = row.vector(own, 0);
        } else {
            a = own.number(0);
        }
        return true;
    }
    __device__ Token token(const Row &row, std::int64_t t) const {
        Token now{};
        now.b = row.vector(b, t), now.c = row.vector(c, t);
        const auto wide = static_cast<double>(dt.number(t));
        now.d = static_cast<float>(wide > 30 ? wide : ::log1p(::exp(wide)));
        now.x = x.number(t);
        return now;
    }
    __device__ float step(Row &row, const Token &now) const {
        const float add = now.d * now.x;
        float all = 1;
        if constexpr (!rates) all = expf(now.d * a);
        return sum_over(row, [&](auto j, float sum) {
            float decay = all;
            if constexpr (rates) decay = expf(now.d * a[j]);
            row[j] = fmaf(add, now.b[j], decay * row[j]);
            return fmaf(row[j], now.c[j], sum);
        });
    }
};

template <class Row>
struct Wkv7 {
    enum : int { r_at, w_at, k_at, v_at, a_at, b_at, state_at };
    PerToken r, w, k, v, a, b;

    struct Token {
        typename Row::Vector r, w, k, a, b;
        float v;
    };

    __device__ explicit Wkv7(const Place &place) {
        const auto mixed = [&](int operand, std::int64_t i) {
            const View &t = place.o.src[operand];
            return PerToken{t.at(place.head, place.sequence * place.o.sizes.tokens, 0) + i * t.nb[0], t.nb[2], t.nb[0]};
        };
        r = mixed(r_at, 0), w = mixed(w_at, 0), k = mixed(k_at, 0), v = mixed(v_at, place.row), a = mixed(a_at, 0), b = mixed(b_at, 0);
    }
    __device__ bool begin(Row &row) const {
        const Place &place = row.place;
        const View &state = place.o.src[state_at];
        const std::int64_t element = (place.head * place.o.sizes.rows + place.row) * place.o.sizes.columns;
        row.load(state.at(place.sequence, 0, 0) + element * state.nb[0], state.nb[0]);
        return true;
    }
    __device__ Token token(const Row &row, std::int64_t t) const {
        return {row.vector(r, t), row.vector(w, t), row.vector(k, t), row.vector(a, t), row.vector(b, t), v.number(t)};
    }
    __device__ float step(Row &row, const Token &now) const {
        const float product = sum_over(row, [&](auto j, float sum) { return fmaf(row[j], now.a[j], sum); });
        return sum_over(row, [&](auto j, float sum) {
            row[j] = fmaf(product, now.b[j], fmaf(now.v, now.k[j], now.w[j] * row[j]));
            return fmaf(row[j], now.r[j], sum);
        });
    }
};

template <class Row, class Rule>
__device__ void run_row(const Place &place) {
    const Recurrent &sizes = place.o.sizes;
    for (std::int64_t slot = sizes.tokens > 1 ? sizes.tokens : 1; slot < sizes.n_states; slot++) {
        float *missing = place.state(slot);
        for (std::int64_t i = place.lane; place.writes && i < sizes.columns; i += Row::lanes) missing[i] = 0;
    }
    Row row(place);
    Rule rule(place);
    if (!rule.begin(row)) return;
    if (sizes.tokens > 0) {
        typename Rule::Token next = rule.token(row, 0);
        for (std::int64_t t = 0; t < sizes.tokens; t++) {
            const typename Rule::Token now = next;
            if (t + 1 < sizes.tokens) next = rule.token(row, t + 1);
            place.result(t, rule.step(row, now));
            const std::int64_t slot = sizes.tokens - 1 - t;
            if (slot > 0 && slot < sizes.n_states) row.store(slot);
        }
    }
    row.store(0);
}

// `groups`: of as many rows as a warp has, in a head.
template <class Row, class Rule>
__global__ void recurrent_rows(Operands o, std::int64_t groups) {
    constexpr int rows = device::warp_size / Row::lanes;
    device::for_each_unit_of_warp(groups * o.sizes.heads * o.sizes.sequences, [&](std::int64_t unit) {
        const std::int64_t head = unit / groups, row = unit % groups * rows + threadIdx.x / Row::lanes, last = o.sizes.rows - 1;
        run_row<Row, Rule>({o, head % o.sizes.heads, head / o.sizes.heads, row < last ? row : last,
                            static_cast<int>(threadIdx.x % Row::lanes), row <= last});
    });
}

// Whether rows of a state, in operands and in the node, and the vectors of tokens may be read 16 bytes at a time.
bool has_vectors(const Step &step, const Recurrent &sizes) noexcept {
    bool aligned = is_aligned(step.dst.data, 16) && sizes.results() % 4 == 0;
    for (std::size_t i = 0; i < step.node->n_src; i++) {
        const TensorRef &t = step.src[i];
        // Others are read as numbers.
        if (t.type == DType::f32 && t.ne[0] >= sizes.columns) aligned = aligned && t.nb[0] == sizeof(float) && rows_aligned(t, 16);
    }
    return aligned;
}

// `most`: the elements that a lane may have, so that nothing is spilled.
template <template <class> class Rule, int most>
cudaError_t launch_rows(const Step &step, const CudaStream &stream, const Operands &o) noexcept {
    const std::int64_t columns = o.sizes.columns;
    const auto with = [&]<class Row>(Row *) {
        const std::int64_t groups = ceil_div(o.sizes.rows, std::int64_t{device::warp_size / Row::lanes});
        const dim3 grid = device::warp_grid(groups * o.sizes.heads * o.sizes.sequences);
        return launch(stream, {step.kernel->name, grid, device::warp_block()}, recurrent_rows<Row, Rule<Row>>, o, groups);
    };
    const bool vectors = has_vectors(step, o.sizes);
    // The lanes of E elements that a row of `width` takes.
    const auto sized = [&]<int E, int width>(std::integer_sequence<int, E, width>) {
        if (vectors && columns == width) return with(static_cast<RowInRegisters<E, width / E, true> *>(nullptr));
        return with(static_cast<RowInRegisters<E, width / E, false> *>(nullptr));
    };
    if (columns <= 32) return sized(std::integer_sequence<int, 4, 32>{});
    if (columns <= 64) return sized(std::integer_sequence<int, 8, 64>{});
    if (columns <= 128) return sized(std::integer_sequence<int, most, 128>{});
    if (columns <= 256) return sized(std::integer_sequence<int, most, 256>{});
    return with(static_cast<RowInMemory *>(nullptr));
}

template <class Row>
using DeltaOfHeads = Delta<Row, false>;
template <class Row>
using DeltaOfElements = Delta<Row, true>;
template <class Row>
using ScanOfHeads = Scan<Row, false>;
template <class Row>
using ScanOfElements = Scan<Row, true>;

// ---- Columns

// A thread's column of the state of a head of a sequence.
struct Column {
    const Operands &o;
    std::int64_t head, sequence, column;

    __device__ float &element(std::int64_t row) const {
        return o.node[o.sizes.state_at(head, sequence, 0) + row * o.sizes.columns + column];
    }
    __device__ float &out(std::int64_t token) const { return o.node[o.sizes.result_at(head, token, sequence) + column]; }
    // Element i of an operand {S, heads, tokens}, for a token of this sequence.
    __device__ float mixed(int operand, std::int64_t i, std::int64_t token) const {
        const View &t = o.src[operand];
        return number_at(t.at(head, sequence * o.sizes.tokens + token, 0) + i * t.nb[0]);
    }
    __device__ void load_state(int operand) const {
        const View &t = o.src[operand];
        for (std::int64_t i = 0; i < o.sizes.rows; i++) {
            const std::int64_t place = (head * o.sizes.rows + i) * o.sizes.columns + column;
            element(i) = number_at(t.at(sequence, 0, 0) + place * t.nb[0]);
        }
    }
};

struct Wkv6 {
    __device__ static void run(const Column &column) {
        enum : int { k_at, v_at, r_at, tf_at, td_at, state_at };
        const View &tf = column.o.src[tf_at];
        column.load_state(state_at);
        for (std::int64_t t = 0; t < column.o.sizes.tokens; t++) {
            const float v = column.mixed(v_at, column.column, t);
            float sum = 0;
            for (std::int64_t i = 0; i < column.o.sizes.rows; i++) {
                float &x = column.element(i);
                const float kv = column.mixed(k_at, i, t) * v;
                sum = fmaf(column.mixed(r_at, i, t), fmaf(number_at(tf.at(column.head, 0, 0) + i * tf.nb[0]), kv, x), sum);
                x = fmaf(column.mixed(td_at, i, t), x, kv);
            }
            column.out(t) = sum;
        }
    }
};

struct Linear {
    __device__ static void run(const Column &column) {
        enum : int { k_at, v_at, q_at, g_at, state_at };
        column.load_state(state_at);
        for (std::int64_t t = 0; t < column.o.sizes.tokens; t++) {
            const float v = column.mixed(v_at, column.column, t);
            float sum = 0;
            for (std::int64_t i = 0; i < column.o.sizes.rows; i++) {
                float &x = column.element(i);
                x = fmaf(column.mixed(g_at, i, t), x, column.mixed(k_at, i, t) * v);
                sum = fmaf(column.mixed(q_at, i, t), x, sum);
            }
            column.out(t) = sum * column.o.scale;
        }
    }
};

template <class Rule>
__global__ void recurrent_columns(Operands o, std::int64_t n_heads) {
    device::for_each_row(n_heads, [&](std::int64_t head) {
        device::for_each_unit(o.sizes.columns,
                              [&](std::int64_t column) { Rule::run({o, head % o.sizes.heads, head / o.sizes.heads, column}); });
    });
}

template <class Rule>
cudaError_t launch_columns(const Step &step, const CudaStream &stream, const Operands &o) noexcept {
    const std::int64_t n_heads = o.sizes.heads * o.sizes.sequences;
    const device::RowGrid grid = device::row_grid(o.sizes.columns, n_heads);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, recurrent_columns<Rule>, o, n_heads);
}

// ---- The table

// Only `g` of the delta rule and `a` of the scan may be numbers of heads.
cudaError_t launch_delta(const Step &step, const CudaStream &stream, const Operands &o) noexcept {
    return o.src[3].ne[0] > 1 ? launch_rows<DeltaOfElements, 16>(step, stream, o) : launch_rows<DeltaOfHeads, 16>(step, stream, o);
}
cudaError_t launch_scan(const Step &step, const CudaStream &stream, const Operands &o) noexcept {
    return o.src[3].ne[0] > 1 ? launch_rows<ScanOfElements, 16>(step, stream, o) : launch_rows<ScanOfHeads, 16>(step, stream, o);
}

template <cudaError_t (*launch_rule)(const Step &, const CudaStream &, const Operands &) noexcept>
cudaError_t launch_recurrent(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    Operands o{};
    o.sizes = ops::recurrent(*step.node);
    o.node = reinterpret_cast<float *>(step.dst.data);
    for (std::size_t i = 0; i < step.node->n_src; i++) o.src[i] = device::view_of(step.src[i]);
    if (step.node->op == Op::ssm_scan) o.ids = device::numbers_of(step, 6);
    o.scale = step.node->op == Op::gated_linear_attn ? static_cast<float>(attrs_of<ops::GatedLinearAttnAttrs>(*step.node).scale)
                                                     : 1 / std::sqrt(static_cast<float>(o.sizes.columns));
    return launch_rule(step, stream, o);
}

constexpr CudaKernel table[] = {
    {{.op = Op::gated_delta_net, .name = "gated_delta_net", .plan = plan_always<>}, launch_recurrent<launch_delta>},
    {{.op = Op::ssm_scan, .name = "ssm_scan", .plan = plan_always<>}, launch_recurrent<launch_scan>},
    {{.op = Op::rwkv_wkv6, .name = "rwkv_wkv6", .plan = plan_always<>}, launch_recurrent<launch_columns<Wkv6>>},
    {{.op = Op::rwkv_wkv7, .name = "rwkv_wkv7", .plan = plan_always<>}, launch_recurrent<launch_rows<Wkv7, 8>>},
    {{.op = Op::gated_linear_attn, .name = "gated_linear_attn", .plan = plan_always<>}, launch_recurrent<launch_columns<Linear>>},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::recurrent = table;

}  // namespace tensorlib::core
