// mul_mat_id: multiplies each column of b by the matrix that an index selects, an expert's. The columns of one expert
// are multiplied together, so its weights are read, and unpacked or packed, once for all of them.
//
//   set up:     the slots (u, t) of ids, sorted by their experts; the runs of one expert   one thread
//   for each round of positions in that order:
//     prepare:  b's columns in that order, as bytes or floats                        shared workspace, all threads
//     compute:  for each run and range of rows (a chunk): the expert's rows by the run's columns,
//               a tile at a time, from which each column goes to its position in c   the thread's workspace
//
// The number of chunks is fixed before the set-up counts each expert's columns. There are chunks for as many runs as a
// round can have, the smaller of its positions and the experts; chunks without a run end at once. Weights of quantised
// types are multiplied in integers (as in mul_mat_integer.cpp), others in floats: by dot products for up to 8 columns
// of an expert in a round, packed for more. The shapes alone determine the rounds, and the indices determine the runs.
// A column's bits depend on neither threads nor chunks.
#include "cpu/kernels/mul_mat_id.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/convert.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

using namespace by_expert;

namespace {

// A pass of a radix sort: stable, and without an array of all experts.
void sort_by_byte(const Entry *from, Entry *to, std::int64_t n, int byte) noexcept {
    const auto digit = [byte](const Entry &e) { return static_cast<std::size_t>(e.expert >> (8 * byte) & 255); };
    std::array<std::int64_t, 257> first{};
    for (std::int64_t i = 0; i < n; i++) first[digit(from[i]) + 1]++;
    for (std::size_t d = 1; d < first.size(); d++) first[d] += first[d - 1];
    for (std::int64_t i = 0; i < n; i++) to[first[digit(from[i])]++] = from[i];
}

}  // namespace

std::int64_t by_expert::expert_of(const Step &step, std::int64_t experts, std::int64_t slot) noexcept {
    const TensorRef &ids = step.src[2];
    const auto u = static_cast<std::size_t>(slot % ids.ne[0]), t = static_cast<std::size_t>(slot / ids.ne[0]);
    const std::int64_t number = integer_value(ids.type, ids.data + u * ids.nb[0] + t * ids.nb[1]);
    if (number >= ops::no_expert && number < experts) return number;
    note_fault(step, 2, slot);
    return ops::no_expert;
}

void by_expert::make_zeros(const Step &step, std::int64_t slot) noexcept {
    std::memset(column_of_c(step, slot), 0, static_cast<std::size_t>(step.dst.ne[0]) * sizeof(float));
}

void by_expert::set_up(const Slots &slots, const Step &step, void (*without)(const Step &step, std::int64_t slot) noexcept) noexcept {
    Entry *from = Slots::at<Entry>(step, slots.entries[0]), *to = Slots::at<Entry>(step, slots.entries[1]);
    std::int64_t n = 0, n_runs = 0;
    for (std::int64_t slot = 0; slot < slots.count; slot++) {
        const std::int64_t expert = expert_of(step, slots.experts, slot);
        if (expert < 0) {
            without(step, slot);
        } else {
            from[n++] = {expert, slot};
        }
    }
    for (int byte = 0; byte < slots.passes; byte++, std::swap(from, to)) sort_by_byte(from, to, n, byte);
    ExpertRange *runs = Slots::at<ExpertRange>(step, slots.runs);
    for (std::int64_t place = 0; place < n; place++) {
        if (place == 0 || from[place].expert != from[place - 1].expert) runs[n_runs++] = {from[place].expert, place, place};
        runs[n_runs - 1].end++;
    }
    *Slots::at<std::int64_t>(step, slots.n_runs) = n_runs;
}

void by_expert::scatter(const Step &step, const Entry *slots, std::int64_t n, const float *tile, std::int64_t height, std::int64_t first,
                        std::int64_t rows, bool add) noexcept {
    for (std::int64_t j = 0; j < n; j++, tile += height) {
        float *to = column_of_c(step, slots[j].slot) + first;
        if (add) {
            for (std::int64_t i = 0; i < rows; i++) to[i] += tile[i];
        } else {
            std::memcpy(to, tile, static_cast<std::size_t>(rows) * sizeof(float));
        }
    }
}

void by_expert::fetch_targets(const Step &step, const Entry *slots, std::int64_t n, std::int64_t first, std::int64_t rows) noexcept {
    constexpr std::int64_t line = 64 / sizeof(float);
    for (std::int64_t j = 0; j < n; j++) {
        const float *to = column_of_c(step, slots[j].slot) + first;
        for (std::int64_t i = 0; i < rows; i += line) __builtin_prefetch(to + i, 1, 3);
    }
}

std::int64_t by_expert::rows_of_chunk(const Problem &p, std::int64_t tile, std::int64_t most) noexcept {
    const std::int64_t tiles = ceil_div(p.node.layout.ne[0], tile);
    return tile * std::clamp<std::int64_t>(p.n_threads == 1 ? most : tiles / (4 * p.n_threads), 1, std::min(most, tiles));
}

void by_expert::plan_rounds(const Problem &p, const Blocking &b, std::int64_t places_per_chunk, std::size_t columns, std::size_t thread,
                            KernelPlan &plan) noexcept {
    plan.chunks(Stage::set_up) = 1;
    plan.n_rounds = ceil_div(b.slots.count, b.places);
    const std::int64_t runs = std::min(b.places, b.slots.most_runs);
    plan.chunks(Stage::prepare) = ceil_div(b.places, places_per_chunk);
    plan.chunks(Stage::compute) = std::max<std::int64_t>(1, runs * b.row_chunks);
    plan.workspace = b.slots.parts.size + columns + static_cast<std::size_t>(p.n_threads) * thread;
}

namespace {

// ---- Nothing to add, or no elements: zeros. The indices are checked all the same.

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[0] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

void run_empty(const Step &step, const Slice &) noexcept {
    for (std::int64_t slot = 0; slot < step.node->layout.n_rows(); slot++) expert_of(step, step.src[0].ne[2], slot);
    std::memset(step.dst.data, 0, step.node->layout.nbytes());
}

constexpr CpuKernel table[] = {
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_integer", .plan = plan_unless<integer::refuse, plan_integers>}, run_integers},
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_constant", .plan = plan_unless<packed::refuse_constant, plan_constant>}, run_floats},
    {{.op = Op::mul_mat_id, .name = "mul_mat_id_f32", .plan = plan_always<plan_floats>}, run_floats},
    {{.op = Op::out_prod_id, .name = "out_prod_id", .plan = plan_always<plan_outer_products>}, run_outer_products},
};

}  // namespace

const std::span<const CpuKernel> kernels::mul_mat_id = table;

}  // namespace tensorlib::core
