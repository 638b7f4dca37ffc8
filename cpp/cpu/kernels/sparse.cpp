// mul_mat_sparse: computes the elements of a product whose neurons are active.
//
//   for each round of 128 columns:
//     prepare:  the list of active neurons                                   one thread
//               the columns as the products read them, and zeros in c        all threads
//     compute:  for each group of active rows (a chunk): their products;     the thread's workspace
//               each column takes those that are active in it
//
// The number of chunks is fixed before the list exists. The list is divided among as many chunks as there are; if it is
// shorter, the last ones have nothing to do. Few columns read a constant's rows from its packed rows; if all are
// active, that is as fast as the dense product reads panels. For more columns, gathering does not pay if the list has
// most of a's rows. If a has a packed copy, all its panels are read then, and inactive rows among a panel's 32 are
// skipped.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/active_rows.hpp"
#include "cpu/kernels/row_products.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

struct Blocking {
    std::int64_t tokens, columns;
    RowProducts products;
    WorkspaceParts parts;
    ActiveRows active;
    std::size_t scores, shared, threads;

    Blocking(const Tensor &node, const KernelPlan &plan, int n_threads, const simd::SimdTable &simd) noexcept
        : tokens(node.layout.ne[1]),
          columns(std::min(tokens, sparse_columns)),
          products(node.src[0]->layout, columns, tokens == 1, ops::is_exact(node), plan.copies[0], simd),
          active(node.src[0]->layout.ne[1], node.src[ops::sparse_operands.rows] != nullptr, parts) {
        const Tensor *s = node.src[ops::sparse_operands.scores];
        scores = parts.add<float>(s ? FloatColumns::staged_floats(s->layout, columns) : 0);
        shared = parts.add<std::byte>(static_cast<std::int64_t>(products.shared_bytes()));
        threads = parts.add<std::byte>(static_cast<std::int64_t>(products.thread_bytes()) * n_threads);
    }
    RowProducts::Round round(const Step &step, const Slice &slice) const noexcept {
        const std::int64_t first = slice.round * sparse_columns;
        return {step.src[1], first, std::min(sparse_columns, tokens - first), step.workspace + shared};
    }
    std::byte *thread(const Step &step, const Slice &slice) const noexcept {
        return step.workspace + threads + static_cast<std::size_t>(slice.thread) * products.thread_bytes();
    }
    FloatColumns scores_of(const Step &step) const noexcept {
        constexpr int at = ops::sparse_operands.scores;
        return step.node->src[at] ? FloatColumns(step.src[at], step.workspace + scores) : FloatColumns();
    }
};

void find_active(const Blocking &b, const Step &step, const RowProducts::Round &round, const simd::SimdTable &simd) noexcept {
    const auto [scores, rows] = ops::sparse_operands;
    const ops::SparseRule rule = ops::sparse_rule(*step.node);
    b.active.clear(step.workspace);
    if (step.node->src[rows]) b.active.read_numbers(step.workspace, step, rows, step.dst.ne[0]);
    if (step.node->src[scores]) {
        const FloatColumns s = b.scores_of(step);
        s.load(round.first, round.columns, simd);
        for (std::int64_t j = 0; j < round.columns; j++) b.active.add(step.workspace, rule, s.at(round.first, j), nullptr);
    } else {
        b.active.add_all(step.workspace);
    }
    b.active.compact(step.workspace);
}

// Stores a tile's active rows.
template <class Wanted>
void store(const Blocking &b, const Step &step, const RowProducts::Round &round, const RowProducts::Tile &tile, const std::int64_t *list,
           Wanted wanted) noexcept {
    for (std::int64_t j = 0; j < round.columns; j++) {
        float *c = reinterpret_cast<float *>(step.dst.data) + (round.first + j) * step.dst.ne[0];
        const float *from = tile.data + j * tile.height;
        for (std::int64_t i = 0; i < tile.n; i++) {
            if (wanted(tile.first + i, j)) c[b.active.neuron(step.workspace, list[tile.first + i])] = from[tile.row(list, i)];
        }
    }
}

void multiply_group(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const RowProducts::Round round = b.round(step, slice);
    const std::int64_t *list = b.active.list(step.workspace), count = b.active.count(step.workspace);
    const bool panels = b.products.reads_panels(count);
    const std::int64_t per_chunk = panels ? b.products.rows_of_panels(step.plan.kept<PlannedThreads>().count)
                                          : per_chunk_of(count, step.plan.chunks(Stage::compute), b.products.least_of_chunk());
    const Range places = places_of(slice.chunk, per_chunk, list, count, panels);
    // For one column, the list has exactly its active neurons.
    const bool tests = step.node->src[ops::sparse_operands.scores] != nullptr && round.columns > 1;
    const ops::SparseRule rule = ops::sparse_rule(*step.node);
    const FloatColumns scores = b.scores_of(step);
    const auto wanted = [&](std::int64_t place, std::int64_t j) {
        return !tests || rule.active(scores.at(round.first, j)[b.active.neuron(step.workspace, list[place])]);
    };
    b.products.multiply(step.src[0], list, places, panels, round, b.thread(step, slice), wanted,
                        [&](const RowProducts::Tile &tile) { store(b, step, round, tile, list, wanted); });
}

void plan_rows(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    if (RowProducts::of_integers(p.node.src[0]->layout, ops::is_exact(p.node), simd)) {
        plan_copy(p, plan, 0, 0, RowProducts::packed_as(p.node.src[0]->layout, p.node.layout.ne[1], simd));
    }
    const Blocking b(p.node, plan, p.n_threads, simd);
    if (b.products.reads_rows()) plan.unread = 0;
    plan.rounding = b.products.rounding();
    plan.n_rounds = ceil_div(b.tokens, sparse_columns);
    plan.chunks(Stage::prepare) = 1 + ceil_div(b.columns, integer::columns_per_chunk);
    plan.chunks(Stage::compute) = b.products.chunks(p.n_threads);
    plan.workspace = b.parts.size;
    plan.keep(PlannedThreads{p.n_threads});
}

void run_rows(const Step &step, const Slice &slice) noexcept {
    const Blocking b(*step.node, step.plan, step.plan.kept<PlannedThreads>().count, slice.simd);
    const RowProducts::Round round = b.round(step, slice);
    if (slice.stage == Stage::compute) {
        multiply_group(b, step, slice);
    } else if (slice.chunk == 0) {
        find_active(b, step, round, slice.simd);
    } else {
        const std::int64_t begin = (slice.chunk - 1) * integer::columns_per_chunk;
        for (std::int64_t j = begin; j < std::min(begin + integer::columns_per_chunk, round.columns); j++) {
            b.products.prepare(round, j, b.thread(step, slice));
            std::fill_n(reinterpret_cast<float *>(step.dst.data) + (round.first + j) * step.dst.ne[0], step.dst.ne[0], 0.0f);
        }
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::mul_mat_sparse, .name = "mul_mat_sparse_empty", .plan = plan_unless<refuse_unless_empty>}, check_rows},
    {{.op = Op::mul_mat_sparse, .name = "mul_mat_sparse_rows", .plan = plan_unless<refuse_batch_invariant, plan_rows>}, run_rows},
};

}  // namespace

const std::span<const CpuKernel> kernels::sparse = table;

}  // namespace tensorlib::core
