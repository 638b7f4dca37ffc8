// sparse_ffn: a gated feed-forward block that computes only the active neurons, in one step.
//
// The step takes 128 columns at a time, in three turns. With scores it needs no first turn.
//   find     prepare: the columns, as the products read them                                        all threads
//            compute: the first projection of all neurons, and the value that the rule tests        tested [columns][n]
//   project  prepare: the list of active neurons; with scores, the columns too                      one thread lists
//            compute: both projections of the listed rows (a chunk), activated and multiplied       z [columns][n], in list order
//   sum      compute: the rows of the down projection, each times z, as in axpy (axpy.cpp)
// For few columns, the stage combine adds up the sums of the slices of the list.
//
// The products are those of mul_mat_sparse (row_products.cpp). Few columns read packed rows of constants. More columns read a constant's
// panels for the first projection and where most neurons are active. With 11,008 neurons, z of 128 columns is 5.5 MiB.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/axpy.hpp"
#include "cpu/kernels/row_products.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <type_traits>

namespace tensorlib::core {

namespace {

constexpr std::size_t x_at = 0, gate_at = 1, up_at = 2, down_at = 3, scores_at = ops::ffn_operands.scores, rows_at = ops::ffn_operands.rows;

// The entries of KernelPlan::copies.
enum Copies { copy_of_gate, copy_of_up, copy_of_down };

// A turn of the three: a round of the step's stages.
enum class Turn { find, project, sum };

// Everything that follows from the node and its plan. The stage set_up makes it, at the beginning of the workspace.
struct Block {
    // Offsets of the workspace's parts; those of a thread are relative to the thread's.
    struct Offsets {
        std::size_t scores, tested, z, gate, up, sums, threads, thread_of_up, thread_bytes;
    };

    std::span<const Turn> turns;
    bool scored, up_first;
    std::int64_t tokens, columns, n;
    int n_threads;
    TileOp activation;
    ops::SparseRule rule;
    RowProducts gate, up;
    WeightedRows down;
    std::int64_t least_of_chunk;  // places of the list
    WorkspaceParts parts;         // this struct first
    ActiveRows active;
    Offsets at;

    Block(const Tensor &node, const KernelPlan &plan, const simd::SimdTable &simd) noexcept
        : scored(node.src[scores_at] != nullptr),
          up_first(attrs_of<ops::SparseFfnAttrs>(node).first == ops::SparseFfnFirst::up),
          tokens(node.layout.ne[1]),
          columns(std::min(tokens, sparse_columns)),
          n(node.src[gate_at]->layout.ne[1]),
          n_threads(plan.kept<PlannedThreads>().count),
          activation(formula_of(attrs_of<ops::SparseFfnAttrs>(node).activation)),
          rule(ops::sparse_rule(node)),
          gate(node.src[gate_at]->layout, columns, tokens == 1, false, plan.copies[copy_of_gate], simd),
          up(node.src[up_at]->layout, columns, tokens == 1, false, plan.copies[copy_of_up], simd),
          down(node.src[down_at]->layout, columns, tokens <= WeightedRows::few_columns, plan.copies[copy_of_down], simd),
          least_of_chunk(std::max(gate.least_of_chunk(), up.least_of_chunk())),
          parts(own_part()),
          active(n, node.src[rows_at] != nullptr, parts),
          at(lay_out(node)) {
        static constexpr Turn all[] = {Turn::find, Turn::project, Turn::sum};
        turns = scored ? std::span<const Turn>(all).subspan(1) : all;
    }

    static const Block &of(const Step &step) noexcept { return *std::launder(reinterpret_cast<const Block *>(step.workspace)); }

    std::int64_t n_rounds() const noexcept { return ceil_div(tokens, sparse_columns) * static_cast<std::int64_t>(turns.size()); }
    std::int64_t row_chunks() const noexcept { return std::max(gate.chunks(n_threads), up.chunks(n_threads)); }

private:
    static WorkspaceParts own_part() noexcept {
        WorkspaceParts parts;
        parts.add<Block>(1);
        return parts;
    }
    static TileOp formula_of(ops::SparseFfnActivation activation) noexcept {
        constexpr TileOp formulas[] = {TileOp::relu, TileOp::silu, TileOp::gelu};
        return formulas[static_cast<std::size_t>(activation)];
    }
    Offsets lay_out(const Tensor &node) noexcept {
        const auto bytes = [](WorkspaceParts &of, std::size_t size) { return of.add<std::byte>(static_cast<std::int64_t>(size)); };
        Offsets found{};
        found.scores = parts.add<float>(scored ? FloatColumns::staged_floats(node.src[scores_at]->layout, columns) : 0);
        found.tested = parts.add<float>(scored ? 0 : columns * n);
        found.z = parts.add<float>(columns * n);
        found.gate = bytes(parts, gate.shared_bytes());
        found.up = bytes(parts, up.shared_bytes());
        found.sums = bytes(parts, down.shared_bytes());
        WorkspaceParts thread;
        bytes(thread, std::max(gate.thread_bytes(), down.thread_bytes()));
        found.thread_of_up = bytes(thread, up.thread_bytes());
        found.thread_bytes = thread.size;
        found.threads = bytes(parts, thread.size * static_cast<std::size_t>(n_threads));
        return found;
    }
};
static_assert(std::is_trivially_destructible_v<Block> && alignof(Block) <= 64, "it ends with the workspace");

// One turn for some columns, as a thread sees it.
struct Work {
    const Block &b;
    const Step &step;
    const simd::SimdTable &simd;
    Turn turn;
    std::int64_t first, columns;
    std::byte *thread;

    Work(const Step &of, const Slice &slice) noexcept
        : b(Block::of(of)),
          step(of),
          simd(slice.simd),
          turn(b.turns[static_cast<std::size_t>(slice.round) % b.turns.size()]),
          first(slice.round / static_cast<std::int64_t>(b.turns.size()) * sparse_columns),
          columns(std::min(sparse_columns, b.tokens - first)),
          thread(of.workspace + b.at.threads + static_cast<std::size_t>(slice.thread) * b.at.thread_bytes) {}

    const std::int64_t *list() const noexcept { return b.active.list(step.workspace); }
    std::int64_t count() const noexcept { return b.active.count(step.workspace); }
    // Column `first` + j of tested or z.
    float *column_of(std::size_t part, std::int64_t j) const noexcept { return reinterpret_cast<float *>(step.workspace + part) + j * b.n; }
    FloatColumns scores() const noexcept {
        return b.scored ? FloatColumns(step.src[scores_at], step.workspace + b.at.scores) : FloatColumns();
    }
    // A chunk's part of the list. Where a projection reads panels, chunks are cut by rows, so that none cuts a panel.
    Range places(std::int64_t chunk) const noexcept {
        std::int64_t of_panels = 0;
        for (const RowProducts *p : {&b.gate, &b.up}) {
            if (p->reads_panels(count())) of_panels = std::max(of_panels, p->rows_of_panels(b.n_threads));
        }
        // Both sizes of groups are powers of two, so the larger one is a multiple of the other.
        const std::int64_t per_chunk =
            of_panels > 0 ? std::max(b.least_of_chunk, of_panels) : per_chunk_of(count(), b.row_chunks(), b.least_of_chunk);
        return places_of(chunk, per_chunk, list(), count(), of_panels > 0);
    }
    void activate(float *values, std::int64_t n) const noexcept {
        simd::TileArgs args{};
        args.n = n, args.src[0] = values, args.dst = values;
        simd.tiles.loops[static_cast<std::size_t>(b.activation)](args);
    }
};

void prepare_columns(const Work &w, std::int64_t block_of_columns) noexcept {
    const RowProducts::Round gate{w.step.src[x_at], w.first, w.columns, w.step.workspace + w.b.at.gate};
    const RowProducts::Round up{w.step.src[x_at], w.first, w.columns, w.step.workspace + w.b.at.up};
    const std::int64_t begin = block_of_columns * integer::columns_per_chunk;
    for (std::int64_t j = begin; j < std::min(begin + integer::columns_per_chunk, w.columns); j++) {
        w.b.gate.prepare(gate, j, w.thread);
        w.b.up.prepare(up, j, w.thread + w.b.at.thread_of_up);
    }
}

// Lists the active neurons; all of them in the turn that computes what is tested.
void list_active(const Work &w) noexcept {
    const Block &b = w.b;
    std::byte *base = w.step.workspace;
    b.active.clear(base);
    if (w.step.node->src[rows_at]) b.active.read_numbers(base, w.step, rows_at, ops::sparse_neurons(*w.step.node));
    if (w.turn == Turn::find) {
        b.active.add_all(base);
    } else {
        const FloatColumns scores = w.scores();
        if (b.scored) scores.load(w.first, w.columns, w.simd);
        for (std::int64_t j = 0; j < w.columns; j++) {
            b.active.add(base, b.rule, b.scored ? scores.at(w.first, j) : w.column_of(b.at.tested, j), nullptr);
        }
    }
    b.active.compact(base);
}

enum class Projection { gate, up };

// The rows of a chunk by one projection: calls take(place in the list, column, value). The value is unspecified where not
// wanted(place, column).
template <class Wanted, class Take>
void project(const Work &w, Projection which, std::int64_t chunk, Wanted wanted, Take take) noexcept {
    const Block &b = w.b;
    const bool up = which == Projection::up;
    const RowProducts &products = up ? b.up : b.gate;
    const RowProducts::Round round{w.step.src[x_at], w.first, w.columns, w.step.workspace + (up ? b.at.up : b.at.gate)};
    const std::int64_t *list = w.list();
    products.multiply(w.step.src[up ? up_at : gate_at], list, w.places(chunk), products.reads_panels(w.count()), round,
                      w.thread + (up ? b.at.thread_of_up : 0), wanted, [&](const RowProducts::Tile &tile) {
                          for (std::int64_t j = 0; j < w.columns; j++) {
                              const float *from = tile.data + j * tile.height;
                              for (std::int64_t i = 0; i < tile.n; i++) take(tile.first + i, j, from[tile.row(list, i)]);
                          }
                      });
}

// The turn find: the list has all neurons, so places are rows.
void find(const Work &w, std::int64_t chunk) noexcept {
    const Block &b = w.b;
    const Range rows = w.places(chunk);
    if (rows.begin == rows.end) return;
    const auto all = [](std::int64_t, std::int64_t) { return true; };
    const auto store = [&](std::int64_t place, std::int64_t j, float value) { w.column_of(b.at.tested, j)[place] = value; };
    project(w, b.up_first ? Projection::up : Projection::gate, chunk, all, store);
    if (b.up_first) return;
    for (std::int64_t j = 0; j < w.columns; j++) w.activate(w.column_of(b.at.tested, j) + rows.begin, rows.end - rows.begin);
}

// The turn project: z of a chunk of the list, 0 where a column's neuron is inactive.
void project_active(const Work &w, std::int64_t chunk) noexcept {
    const Block &b = w.b;
    const std::int64_t *list = w.list();
    const Range places = w.places(chunk);
    if (places.begin == places.end) return;
    const FloatColumns scores = w.scores();
    const auto tested = [&](std::int64_t place, std::int64_t j) {
        const std::int64_t row = list[place];
        return b.scored ? scores.at(w.first, j)[b.active.neuron(w.step.workspace, row)] : w.column_of(b.at.tested, j)[row];
    };
    const auto wanted = [&](std::int64_t place, std::int64_t j) { return b.rule.active(tested(place, j)); };
    const auto z = [&](std::int64_t place, std::int64_t j) -> float & { return w.column_of(b.at.z, j)[place]; };
    const auto join = [&](std::int64_t place, std::int64_t j, float gate, float up) { z(place, j) = wanted(place, j) ? gate * up : 0; };
    if (b.scored || b.up_first) {
        project(w, Projection::gate, chunk, wanted, [&](std::int64_t place, std::int64_t j, float gate) { z(place, j) = gate; });
        for (std::int64_t j = 0; j < w.columns; j++) w.activate(w.column_of(b.at.z, j) + places.begin, places.end - places.begin);
    }
    if (!b.scored && b.up_first) {
        for (std::int64_t j = 0; j < w.columns; j++) {
            for (std::int64_t place = places.begin; place < places.end; place++) join(place, j, z(place, j), tested(place, j));
        }
        return;
    }
    project(w, Projection::up, chunk, wanted,
            [&](std::int64_t place, std::int64_t j, float up) { join(place, j, b.scored ? z(place, j) : tested(place, j), up); });
}

// The turn sum.
void sum(const Work &w, std::int64_t chunk) noexcept {
    const Block &b = w.b;
    if (chunk >= b.down.chunks()) return;
    float *c = reinterpret_cast<float *>(w.step.dst.data) + w.first * w.step.dst.ne[0];
    const auto weight = [&](std::int64_t place, std::int64_t j) { return w.column_of(b.at.z, j)[place]; };
    const WeightedRows::Work<decltype(weight)> work{w.step.src[down_at], w.list(), w.count(), w.columns, c, weight};
    b.down.run(work, chunk, w.step.workspace + b.at.sums, w.thread);
}

void plan_block(const Problem &p, KernelPlan &plan) noexcept {
    plan.keep(PlannedThreads{p.n_threads});
    const std::int64_t tokens = p.node.layout.ne[1];
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    for (const auto &[operand, copy] : {std::pair(gate_at, copy_of_gate), std::pair(up_at, copy_of_up)}) {
        const Layout &a = p.node.src[operand]->layout;
        if (RowProducts::of_integers(a, false, simd)) plan_copy(p, plan, copy, operand, RowProducts::packed_as(a, tokens, simd));
    }
    if (WeightedRows::takes_packed_rows(p.node.src[down_at]->layout, tokens, simd))
        plan_copy(p, plan, copy_of_down, down_at, PackedAs::rows);
    const Block b(p.node, plan, simd);
    if (b.gate.reads_rows()) plan.unread &= ~(1u << gate_at);
    if (b.up.reads_rows()) plan.unread &= ~(1u << up_at);
    plan.rounding = *b.gate.rounding() ? b.gate.rounding() : b.up.rounding();
    plan.n_rounds = b.n_rounds();
    plan.chunks(Stage::set_up) = 1;
    plan.chunks(Stage::prepare) = 1 + ceil_div(b.columns, integer::columns_per_chunk);
    plan.chunks(Stage::compute) = std::max<std::int64_t>({b.row_chunks(), b.down.chunks(), 1});
    plan.chunks(Stage::combine) = b.down.combine_chunks();
    plan.workspace = b.parts.size;
}

// Chunk 0 lists, the others take columns. The first turn of a round has both, and later ones the list alone.
void prepare(const Work &w, std::int64_t chunk) noexcept {
    if (chunk == 0) {
        if (w.turn != Turn::sum) list_active(w);
    } else if (w.turn == w.b.turns.front()) {
        prepare_columns(w, chunk - 1);
    }
}

void compute(const Work &w, std::int64_t chunk) noexcept {
    switch (w.turn) {
        case Turn::find: return find(w, chunk);
        case Turn::project: return project_active(w, chunk);
        case Turn::sum: return sum(w, chunk);
    }
}

void run_block(const Step &step, const Slice &slice) noexcept {
    switch (slice.stage) {
        case Stage::set_up: new (step.workspace) Block(*step.node, step.plan, slice.simd); return;
        case Stage::prepare: return prepare(Work(step, slice), slice.chunk);
        case Stage::compute: return compute(Work(step, slice), slice.chunk);
        case Stage::combine: {
            const Block &b = Block::of(step);
            float *c = reinterpret_cast<float *>(step.dst.data);
            return b.down.combine(b.active.count(step.workspace), b.tokens, slice.chunk, step.workspace + b.at.sums, c);
        }
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::sparse_ffn, .name = "sparse_ffn_empty", .plan = plan_unless<refuse_unless_empty>}, check_rows},
    {{.op = Op::sparse_ffn, .name = "sparse_ffn_rows", .plan = plan_unless<refuse_batch_invariant, plan_block>}, run_block},
};

}  // namespace

const std::span<const CpuKernel> kernels::sparse_blocks = table;

}  // namespace tensorlib::core
