// out_prod_id: sums of outer products, for each expert over its own columns.
//
//   set up:   the slots (u, t) of ids, sorted by their experts, in the order of their numbers   one thread
//   compute:  for each expert and range of rows of its matrix (a chunk): one block of its       the thread's workspace
//             columns after the other, a's rows of it as panels, b's as groups of columns
//             of c, and their product
//
// An expert without columns gets zeros, and its chunks read nothing. A sum is taken in the order of the columns,
// regardless of threads.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/mul_mat_id.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

using namespace by_expert;

namespace {

// The most rows of a chunk: their panels for a block of columns take 192 KiB, which stay in the L2 cache.
constexpr std::int64_t most_rows = 256;
// Groups of b's elements that are read together, as whole cache lines of each column.
constexpr std::int64_t groups = 8;

// What the plan decides.
struct RowsPerChunk {
    std::int64_t count;
};

// How the product is divided. Its matrices are {N, M}, and it sums over its columns.
struct Cut {
    Slots slots;
    std::int64_t N, M, MR, NR, KC, used, rows_per_chunk, row_chunks;
    WorkspaceParts thread;
    std::size_t panels, group, decoded;

    Cut(const Tensor &node, std::int64_t rows, const simd::SimdTable &simd) noexcept
        : slots(node.src[2]->layout.n_elements(), node.layout.ne[2]),
          N(node.layout.ne[0]),
          M(node.layout.ne[1]),
          MR(simd.gemm.rows),
          NR(simd.gemm.columns),
          KC(packed::largest_kc),
          used(node.src[2]->layout.ne[0]),
          rows_per_chunk(rows),
          row_chunks(ceil_div(N, rows)) {
        panels = thread.add<float>(ceil_div(rows, MR) * MR * KC);
        group = thread.add<float>(NR * KC);
        decoded = thread.add<float>(std::max(rows, groups * NR) * KC);
    }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        return reinterpret_cast<float *>(step.workspace + slots.parts.size + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

}  // namespace

void by_expert::plan_outer_products(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const std::int64_t MR = simd.gemm.rows, rows = p.node.layout.ne[0] == 0 ? MR : rows_of_chunk(p, MR, most_rows / MR);
    const Cut cut(p.node, rows, simd);
    plan.keep(RowsPerChunk{rows});
    plan.chunks(Stage::set_up) = 1;
    plan.chunks(Stage::compute) = p.node.layout.n_elements() == 0 ? 0 : cut.slots.experts * cut.row_chunks;
    plan.workspace = cut.slots.parts.size + static_cast<std::size_t>(p.n_threads) * cut.thread.size;
}

namespace {

// An expert's columns: positions of the sorted slots.
struct Columns {
    const Entry *first;
    std::int64_t count;
};

Columns columns_of(const Cut &cut, const Step &step, std::int64_t expert) noexcept {
    const ExpertRange *runs = Slots::at<ExpertRange>(step, cut.slots.runs), *end = runs + *Slots::at<std::int64_t>(step, cut.slots.n_runs);
    const ExpertRange *run = std::lower_bound(runs, end, expert, [](const ExpertRange &r, std::int64_t e) { return r.expert < e; });
    if (run == end || run->expert != expert) return {nullptr, 0};
    const Entry *entries = Slots::at<Entry>(step, cut.slots.entries[static_cast<std::size_t>(cut.slots.passes & 1)]);
    return {entries + run->first, run->size()};
}

// Decodes elements [first, first + n) of an operand's columns, one column after the other.
void decode(const Cut &cut, const TensorRef &t, const Columns &columns, std::int64_t first, std::int64_t n, float *to,
            const simd::SimdTable &simd) noexcept {
    for (std::int64_t k = 0; k < columns.count; k++) load_row(t, column_of(t, cut.used, columns.first[k].slot), first, n, to + k * n, simd);
}

// Packs n of `height` elements of decoded columns, starting with `first`, as a panel.
void pack(const float *decoded, std::int64_t height, std::int64_t first, std::int64_t n, std::int64_t width, std::int64_t kc, float *panel,
          const simd::SimdTable &simd) noexcept {
    constexpr std::ptrdiff_t size = sizeof(float);
    simd.pack.f32(kc, reinterpret_cast<const char *>(decoded + first), height * size, size, static_cast<int>(n), static_cast<int>(width),
                  panel);
}

// Adds the outer products of a block of columns to rows of the expert's matrix, or starts its sums with them.
void multiply(const Cut &cut, const Step &step, const Slice &slice, const Columns &columns, const Range &rows, float *matrix,
              bool add) noexcept {
    float *panels = cut.of_thread(step, slice, cut.panels), *group = cut.of_thread(step, slice, cut.group);
    float *decoded = cut.of_thread(step, slice, cut.decoded);
    const std::int64_t kc = columns.count, height = rows.end - rows.begin;
    decode(cut, step.src[0], columns, rows.begin, height, decoded, slice.simd);
    for (std::int64_t i = 0; i < height; i += cut.MR)
        pack(decoded, height, i, std::min(cut.MR, height - i), cut.MR, kc, panels + i * kc, slice.simd);
    for (std::int64_t from = 0; from < cut.M; from += groups * cut.NR) {
        const std::int64_t width = std::min(groups * cut.NR, cut.M - from);
        decode(cut, step.src[1], columns, from, width, decoded, slice.simd);
        for (std::int64_t j = 0; j < width; j += cut.NR) {
            const std::int64_t n = std::min(cut.NR, width - j);
            pack(decoded, width, j, n, n, kc, group, slice.simd);
            float *to = matrix + (from + j) * cut.N + rows.begin;
            for (std::int64_t i = 0; i < height; i += cut.MR) {
                slice.simd.gemm.f32.from_cache[n - 1](kc, panels + i * kc, group, to + i, cut.N,
                                                      static_cast<int>(std::min(cut.MR, height - i)), add);
            }
        }
    }
}

void ignore(const Step &, std::int64_t) noexcept {}

}  // namespace

void by_expert::run_outer_products(const Step &step, const Slice &slice) noexcept {
    const Cut cut(*step.node, step.plan.kept<RowsPerChunk>().count, slice.simd);
    if (slice.stage == Stage::set_up) return set_up(cut.slots, step, ignore);
    const std::int64_t expert = slice.chunk / cut.row_chunks, first = slice.chunk % cut.row_chunks * cut.rows_per_chunk;
    const Range rows{first, std::min(first + cut.rows_per_chunk, cut.N)};
    float *matrix = reinterpret_cast<float *>(step.dst.data) + expert * cut.N * cut.M;
    const Columns columns = columns_of(cut, step, expert);
    if (columns.count == 0) {
        for (std::int64_t j = 0; j < cut.M; j++) std::fill_n(matrix + j * cut.N + rows.begin, rows.end - rows.begin, 0.0f);
    }
    for (std::int64_t k = 0; k < columns.count; k += cut.KC)
        multiply(cut, step, slice, {columns.first + k, std::min(cut.KC, columns.count - k)}, rows, matrix, k > 0);
}

}  // namespace tensorlib::core
