// sparse_ffn: a gated block of the active neurons alone, in one step.
//
//   for each round of 128 columns, with scores two phases, without three:
//     find:   prepare: the columns as the products read them; of scores the list of active neurons   all threads
//             compute: without scores the first projection of all neurons, and what is tested of it  s [columns][n]
//     gate:   prepare: without scores the list                                                       one thread
//             compute: the projections of the active rows (a chunk), activated and multiplied        z [columns][n], by places of the list
//     down:   compute: sums of the active rows, each times z, as in axpy                             (axpy.cpp)
//   combine:  of few columns, the slices' sums
//
// With scores `find` computes nothing, and its chunks are gate's. The products are those of mul_mat_sparse (row_products.cpp), so few
// columns read packed rows of constants, others a constant's panels where most neurons are active, and all of the first projection. A
// round's z of 11,008 neurons and 128 columns is 5.5 MiB.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/axpy.hpp"
#include "cpu/kernels/row_products.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr std::size_t x_at = 0, gate_at = 1, up_at = 2, down_at = 3, scores_at = ops::ffn_operands.scores, rows_at = ops::ffn_operands.rows;

enum class Phase { find, gate, down };

// Which is which in KernelPlan::copies.
enum Copies { copy_of_gate, copy_of_up, copy_of_down };

struct Blocking {
    const Tensor &node;
    bool scored, up_first;
    std::int64_t tokens, columns, n;
    RowProducts gate, up;
    WeightedRows down;
    std::int64_t unit;  // of places of a chunk
    WorkspaceParts parts;
    ActiveRows active;
    std::size_t scores, tested, z, of_gate, of_up, sums, threads, thread_of_up, thread_bytes;

    Blocking(const Tensor &of, const KernelPlan &plan, const simd::SimdTable &simd) noexcept
        : node(of),
          scored(of.src[scores_at] != nullptr),
          up_first(attrs_of<ops::SparseFfnAttrs>(of).first == ops::SparseFfnFirst::up),
          tokens(of.layout.ne[1]),
          columns(std::min(tokens, sparse_columns)),
          n(of.src[gate_at]->layout.ne[1]),
          gate(of.src[gate_at]->layout, columns, tokens == 1, false, plan.copies[copy_of_gate], simd),
          up(of.src[up_at]->layout, columns, tokens == 1, false, plan.copies[copy_of_up], simd),
          down(of.src[down_at]->layout, columns, tokens <= WeightedRows::few_columns, plan.copies[copy_of_down], simd),
          unit(std::max(gate.least_of_chunk(), up.least_of_chunk())),
          active(n, of.src[rows_at] != nullptr, parts) {
        const auto bytes = [&](std::size_t size) { return parts.add<std::byte>(static_cast<std::int64_t>(size)); };
        scores = parts.add<float>(scored ? FloatColumns::staged_floats(of.src[scores_at]->layout, columns) : 0);
        tested = parts.add<float>(scored ? 0 : columns * n), z = parts.add<float>(columns * n);
        of_gate = bytes(gate.shared_bytes()), of_up = bytes(up.shared_bytes()), sums = bytes(down.shared_bytes());
        WorkspaceParts thread;
        thread.add<std::byte>(static_cast<std::int64_t>(std::max(gate.thread_bytes(), down.thread_bytes())));
        thread_of_up = thread.add<std::byte>(static_cast<std::int64_t>(up.thread_bytes()));
        thread_bytes = thread.size;
        threads = bytes(thread_bytes * static_cast<std::size_t>(plan.choice[choice_threads]));
    }

    std::int64_t phases() const noexcept { return scored ? 2 : 3; }
    std::int64_t row_chunks(std::int64_t n_threads) const noexcept { return std::max(gate.chunks(n_threads), up.chunks(n_threads)); }
};

// A slice's round of columns and phase.
struct Work {
    const Blocking &b;
    const Step &step;
    const simd::SimdTable &simd;
    Phase phase;
    std::int64_t first, columns;
    std::byte *thread;
    ops::SparseRule rule;

    Work(const Blocking &blocking, const Step &of, const Slice &slice) noexcept
        : b(blocking),
          step(of),
          simd(slice.simd),
          phase(static_cast<Phase>(slice.round % b.phases() + (b.scored && slice.round % b.phases() > 0 ? 1 : 0))),
          first(slice.round / b.phases() * sparse_columns),
          columns(std::min(sparse_columns, b.tokens - first)),
          thread(of.workspace + b.threads + static_cast<std::size_t>(slice.thread) * b.thread_bytes),
          rule(ops::sparse_rule(*of.node)) {}

    RowProducts::Round round(std::size_t part) const noexcept { return {step.src[x_at], first, columns, step.workspace + part}; }
    float *column_of(std::size_t part, std::int64_t j) const noexcept { return reinterpret_cast<float *>(step.workspace + part) + j * b.n; }
    // A chunk's part of the list. Where a projection reads panels, chunks are of rows, so that none cuts a panel.
    Range places(std::int64_t chunk) const noexcept {
        const std::int64_t count = b.active.count(step.workspace), threads = step.plan.choice[choice_threads];
        std::int64_t of_panels = 0;
        for (const RowProducts *p : {&b.gate, &b.up}) {
            if (p->reads_panels(count)) of_panels = std::max(of_panels, p->rows_of_panels(threads));
        }
        // (Groups of both are powers of two, the larger one whole ones of the other.)
        const std::int64_t per_chunk = of_panels > 0 ? std::max(b.unit, of_panels) : per_chunk_of(count, b.row_chunks(threads), b.unit);
        return places_of(chunk, per_chunk, b.active.list(step.workspace), count, of_panels > 0);
    }
    FloatColumns scores() const noexcept {
        return b.scored ? FloatColumns(step.src[scores_at], step.workspace + b.scores) : FloatColumns();
    }
    void activate(std::int64_t n, const float *from, float *to) const noexcept {
        constexpr TileOp formulas[] = {TileOp::relu, TileOp::silu, TileOp::gelu};
        const auto which = static_cast<std::size_t>(attrs_of<ops::SparseFfnAttrs>(b.node).activation);
        simd::TileArgs args{};
        args.n = n, args.src[0] = from, args.dst = to;
        simd.tiles.loops[static_cast<std::size_t>(formulas[which])](args);
    }
};

// Of scores, or of the first projection; before that is there, all neurons.
void find_active(const Work &w) noexcept {
    const Blocking &b = w.b;
    std::byte *base = w.step.workspace;
    b.active.clear(base);
    if (w.step.node->src[rows_at]) b.active.read_numbers(base, w.step, rows_at, ops::sparse_neurons(*w.step.node));
    if (!b.scored && w.phase == Phase::find) {
        b.active.add_all(base);
    } else {
        const FloatColumns scores = w.scores();
        if (b.scored) scores.load(w.first, w.columns, w.simd);
        for (std::int64_t j = 0; j < w.columns; j++) {
            b.active.add(base, w.rule, b.scored ? scores.at(w.first, j) : w.column_of(b.tested, j), nullptr);
        }
    }
    b.active.compact(base);
}

// The rows of a chunk by one projection: calls take(place in the list, column, value), which is anything where not wanted(place, column).
template <class Wanted, class Take>
void project(const Work &w, bool up, std::int64_t chunk, Wanted wanted, Take take) noexcept {
    const Blocking &b = w.b;
    const RowProducts &products = up ? b.up : b.gate;
    const std::int64_t *list = b.active.list(w.step.workspace), count = b.active.count(w.step.workspace);
    products.multiply(w.step.src[up ? up_at : gate_at], list, w.places(chunk), products.reads_panels(count),
                      w.round(up ? b.of_up : b.of_gate), w.thread + (up ? b.thread_of_up : 0), wanted, [&](const RowProducts::Tile &tile) {
                          for (std::int64_t j = 0; j < w.columns; j++) {
                              const float *from = tile.data + j * tile.height;
                              for (std::int64_t i = 0; i < tile.n; i++) take(tile.first + i, j, from[tile.row(list, i)]);
                          }
                      });
}

// What is tested: the list has all neurons, so places are rows.
void project_first(const Work &w, std::int64_t chunk) noexcept {
    const Blocking &b = w.b;
    const Range rows = w.places(chunk);
    if (rows.begin == rows.end) return;
    project(
        w, b.up_first, chunk, [](std::int64_t, std::int64_t) { return true; },
        [&](std::int64_t place, std::int64_t j, float value) { w.column_of(b.tested, j)[place] = value; });
    if (b.up_first) return;
    for (std::int64_t j = 0; j < w.columns; j++) {
        float *of_rows = w.column_of(b.tested, j) + rows.begin;
        w.activate(rows.end - rows.begin, of_rows, of_rows);
    }
}

// z of a chunk of the list: 0 where a column's neuron is not active.
void project_active(const Work &w, std::int64_t chunk) noexcept {
    const Blocking &b = w.b;
    const std::int64_t *list = b.active.list(w.step.workspace);
    const Range places = w.places(chunk);
    if (places.begin == places.end) return;
    const FloatColumns scores = w.scores();
    const auto tested = [&](std::int64_t place, std::int64_t j) {
        const std::int64_t row = list[place];
        return b.scored ? scores.at(w.first, j)[b.active.neuron(w.step.workspace, row)] : w.column_of(b.tested, j)[row];
    };
    const auto wanted = [&](std::int64_t place, std::int64_t j) { return w.rule.active(tested(place, j)); };
    if (b.scored || b.up_first) {
        project(w, false, chunk, wanted, [&](std::int64_t place, std::int64_t j, float value) { w.column_of(b.z, j)[place] = value; });
        for (std::int64_t j = 0; j < w.columns; j++) {
            float *z = w.column_of(b.z, j) + places.begin;
            w.activate(places.end - places.begin, z, z);
        }
    }
    const auto join = [&](std::int64_t place, std::int64_t j, float gate, float up) {
        w.column_of(b.z, j)[place] = wanted(place, j) ? gate * up : 0;
    };
    if (!b.scored && b.up_first) {
        for (std::int64_t j = 0; j < w.columns; j++) {
            for (std::int64_t place = places.begin; place < places.end; place++)
                join(place, j, w.column_of(b.z, j)[place], tested(place, j));
        }
        return;
    }
    project(w, true, chunk, wanted, [&](std::int64_t place, std::int64_t j, float up) {
        join(place, j, b.scored ? w.column_of(b.z, j)[place] : tested(place, j), up);
    });
}

void plan_block(const Problem &p, KernelPlan &plan) noexcept {
    plan.choice[choice_threads] = p.n_threads;
    const std::int64_t tokens = p.node.layout.ne[1];
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    for (const auto &[operand, copy] : {std::pair(gate_at, copy_of_gate), std::pair(up_at, copy_of_up)}) {
        const Layout &a = p.node.src[operand]->layout;
        if (RowProducts::of_integers(a, false, simd)) plan_copy(p, plan, copy, operand, RowProducts::packed_as(a, tokens, simd));
    }
    if (WeightedRows::takes_packed_rows(p.node.src[down_at]->layout, tokens, simd))
        plan_copy(p, plan, copy_of_down, down_at, PackedAs::rows);
    const Blocking b(p.node, plan, simd);
    if (b.gate.reads_rows()) plan.unread &= ~(1u << gate_at);
    if (b.up.reads_rows()) plan.unread &= ~(1u << up_at);
    plan.rounding = *b.gate.rounding() ? b.gate.rounding() : b.up.rounding();
    plan.n_rounds = ceil_div(b.tokens, sparse_columns) * b.phases();
    plan.chunks(Stage::prepare) = 1 + ceil_div(b.columns, integer::columns_per_chunk);
    plan.chunks(Stage::compute) = std::max<std::int64_t>({b.row_chunks(p.n_threads), b.down.chunks(), 1});
    plan.chunks(Stage::combine) = b.down.combine_chunks();
    plan.workspace = b.parts.size;
}

void prepare(const Work &w, std::int64_t chunk) noexcept {
    if (chunk == 0) {
        if (w.phase == Phase::find || (w.phase == Phase::gate && !w.b.scored)) find_active(w);
        return;
    }
    if (w.phase != Phase::find) return;
    const std::int64_t begin = (chunk - 1) * integer::columns_per_chunk;
    for (std::int64_t j = begin; j < std::min(begin + integer::columns_per_chunk, w.columns); j++) {
        w.b.gate.prepare(w.round(w.b.of_gate), j, w.thread);
        w.b.up.prepare(w.round(w.b.of_up), j, w.thread + w.b.thread_of_up);
    }
}

void run_block(const Step &step, const Slice &slice) noexcept {
    const Blocking b(*step.node, step.plan, slice.simd);
    if (slice.stage == Stage::prepare) {
        prepare(Work(b, step, slice), slice.chunk);
        return;
    }
    // Behind the stage that may write it.
    const std::int64_t m = step.dst.ne[0], count = b.active.count(step.workspace), *list = b.active.list(step.workspace);
    float *c = reinterpret_cast<float *>(step.dst.data);
    if (slice.stage == Stage::combine) {
        b.down.combine(count, b.tokens, slice.chunk, step.workspace + b.sums, c);
        return;
    }
    const Work w(b, step, slice);
    if (w.phase == Phase::down) {
        if (slice.chunk >= b.down.chunks()) return;
        const auto weight = [&](std::int64_t place, std::int64_t j) { return w.column_of(b.z, j)[place]; };
        const WeightedRows::Work<decltype(weight)> work{step.src[down_at], list, count, w.columns, c + w.first * m, weight};
        b.down.run(work, slice.chunk, step.workspace + b.sums, w.thread);
    } else if (w.phase == Phase::find && !b.scored) {
        project_first(w, slice.chunk);
    } else {
        project_active(w, slice.chunk);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::sparse_ffn, .name = "sparse_ffn_empty", .plan = plan_unless<refuse_unless_empty>}, check_rows},
    {{.op = Op::sparse_ffn, .name = "sparse_ffn_rows", .plan = plan_always<plan_block>}, run_block},
};

}  // namespace

const std::span<const CpuKernel> kernels::sparse_blocks = table;

}  // namespace tensorlib::core
