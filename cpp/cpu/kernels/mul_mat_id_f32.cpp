// mul_mat_id for any types and strides, in F32. Each position has K floats of the shared workspace: its column, or its
// share of a panel [K][n].
//
// Few columns are multiplied by a's rows in place, with dot products. More columns are multiplied by panels, which are
// made for all rows of a chunk, a block of k at a time. With a constant's copy, some groups of columns use a panel for
// all of k at once, with sums in the thread's tiles.
#include "cpu/kernels/mul_mat_id.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"

#include <algorithm>

namespace tensorlib::core {

using namespace by_expert;

namespace {

struct FloatBlocking : Blocking {
    std::int64_t MR, NR, most_dots;
    DotTiles as_they_lie;
    // Whether panels come from the constant's copy; the copy, its micro-kernels, the elements of one step of these, and
    // the bytes of a panel and of its part for a step.
    bool reads_copy;
    const std::byte *copy;
    const simd::SimdTable::Gemm &gemm;
    std::int64_t per_step, together;  // whole groups of columns whose panels stay in the L2 cache for all of k
    std::size_t copy_panel, copy_step;
    WorkspaceParts columns, thread;
    std::size_t panels, decoded, tile;

    FloatBlocking(const Tensor &node, const KernelPlan &plan, const simd::SimdTable &simd) noexcept
        : Blocking(node, plan.kept<Decisions>()),
          MR(simd.gemm.rows),
          NR(simd.gemm.columns),
          as_they_lie(tiles_as_it_lies(node.src[0]->layout, simd)),
          reads_copy(plan.copies[0].planned()),
          copy(plan.copies[0].data),
          gemm(reads_copy ? packed::gemm_of_copy(node.src[0]->layout.type, in_order, simd) : packed::gemm_of_floats(in_order, simd)),
          per_step(reads_copy && node.src[0]->layout.type == DType::bf16 ? 2 : 1),
          together(packed::most_few_columns / NR * NR),
          copy_panel(reads_copy ? static_cast<std::size_t>(simd.panels[dtype_index(node.src[0]->layout.type)].bytes(K)) : 0),
          copy_step(reads_copy ? copy_panel / static_cast<std::size_t>(K / per_step) : 0) {
        // Rows of F32 that are not contiguous along k are gathered by packing. A product that uses a copy has the bits
        // of panels, with or without the copy.
        most_dots = !in_order && !plan.copies[0].used() && (as_they_lie || node.src[0]->layout.type != DType::f32) ? most_dot_columns : 0;
        columns.add<float>(places * K);
        panels = thread.add<float>(reads_copy ? 0 : ceil_div(rows_per_chunk, MR) * MR * KC);
        const auto dot_rows = static_cast<std::int64_t>(simd::max_dot_rows * decoded_floats(K));
        decoded = thread.add<float>(reads_copy ? NR * KC : std::max(std::max(MR, NR) * KC, as_they_lie ? 0 : dot_rows));
        tile = thread.add<float>(std::max<std::int64_t>(MR * (reads_copy ? together : NR), simd::max_dot_rows * simd::max_dot_columns));
    }

    float *column(const Step &step, std::int64_t place) const noexcept {
        return reinterpret_cast<float *>(step.workspace + slots.parts.size) + place * K;
    }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        std::byte *threads = step.workspace + slots.parts.size + columns.size;
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

// The panel of a group of columns, in consecutive blocks of k.
void pack_group(const FloatBlocking &b, const Step &step, const Slice &slice, const Round &round, std::int64_t first, int n) noexcept {
    float *decoded = b.of_thread(step, slice, b.decoded), *panel = b.column(step, first);
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        for (int j = 0; j < n; j++) {
            load_row(step.src[1], column_of_b(step, round.entries(first + j)->slot), k, kc, decoded + j * kc, slice.simd);
        }
        constexpr std::ptrdiff_t size = sizeof(float);
        slice.simd.pack.f32(kc, reinterpret_cast<const char *>(decoded), size, kc * size, n, n, panel + k * n);
    }
}

void pack_columns(const FloatBlocking &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    const std::int64_t begin = slice.chunk * b.NR, end = std::min(begin + b.NR, round.size());
    for (std::int64_t place = begin; place < end; place++) {
        const ExpertRange run = round.run_of(place);
        if (run.size() <= b.most_dots) {
            load_row(step.src[1], column_of_b(step, round.entries(place)->slot), 0, b.K, b.column(step, place), slice.simd);
        } else if ((place - run.first) % b.NR == 0) {
            // The group's other columns may be another chunk's positions, so they are packed here.
            pack_group(b, step, slice, round, place, static_cast<int>(std::min(b.NR, run.end - place)));
        }
    }
}

void multiply_dots(const FloatBlocking &b, const Step &step, const Slice &slice, const Round &round, const ExpertRange &run,
                   const Range &rows) noexcept {
    const TensorRef &a = step.src[0];
    const DotTiles tiles = b.as_they_lie ? b.as_they_lie : slice.simd.dot.f32;
    float *tile = b.of_thread(step, slice, b.tile), *decoded = b.of_thread(step, slice, b.decoded);
    const std::ptrdiff_t column_stride = b.K * static_cast<std::ptrdiff_t>(sizeof(float));
    for (std::int64_t m = rows.begin; m < rows.end;) {
        const std::int64_t R = std::min<std::int64_t>(slice.simd.dot.rows, rows.end - m);
        const auto *first = reinterpret_cast<const char *>(row_address(a, {m, run.expert, 0}));
        const RowsAsFloats weights = float_rows(a, first, R, decoded_floats(b.K), !b.as_they_lie, decoded, slice.simd);
        for (std::int64_t place = run.first; place < run.end;) {
            const std::int64_t width = std::min<std::int64_t>(slice.simd.dot.columns, run.end - place);
            tiles[R - 1][width - 1](b.K, weights.first, weights.stride, reinterpret_cast<const char *>(b.column(step, place)),
                                    column_stride, tile, simd::max_dot_rows);
            scatter(step, round.entries(place), width, tile, simd::max_dot_rows, m, R, false);
            place += width;
        }
        m += R;
    }
}

void multiply_packed(const FloatBlocking &b, const Step &step, const Slice &slice, const Round &round, const ExpertRange &run,
                     const Range &rows) noexcept {
    float *panels = b.of_thread(step, slice, b.panels), *decoded = b.of_thread(step, slice, b.decoded);
    float *tile = b.of_thread(step, slice, b.tile);
    const auto height = [&](std::int64_t m) { return static_cast<int>(std::min(b.MR, rows.end - m)); };
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        for (std::int64_t m = rows.begin; m < rows.end; m += b.MR) {
            const auto *first = reinterpret_cast<const char *>(row_address(step.src[0], {m, run.expert, 0}));
            packed::pack_floats(step.src[0], first, k, kc, height(m), static_cast<int>(b.MR), panels + (m - rows.begin) * kc, decoded,
                                slice.simd);
        }
        for (std::int64_t place = run.first; place < run.end; place += b.NR) {
            const std::int64_t n = std::min(b.NR, run.end - place);
            const float *columns = b.column(step, place) + k * n;
            for (std::int64_t m = rows.begin; m < rows.end; m += b.MR) {
                b.gemm.from_cache[n - 1](kc, panels + (m - rows.begin) * kc, columns, tile, b.MR, height(m), false);
                scatter(step, round.entries(place), n, tile, b.MR, m, height(m), k > 0);
            }
        }
    }
}

void multiply_copy(const FloatBlocking &b, const Step &step, const Slice &slice, const Round &round, const ExpertRange &run,
                   const Range &rows) noexcept {
    float *tiles = b.of_thread(step, slice, b.tile);
    for (std::int64_t m = rows.begin; m < rows.end; m += b.MR) {
        // Panels are numbered across all experts.
        const std::byte *panel = b.copy + static_cast<std::size_t>(run.expert * ceil_div(b.M, b.MR) + m / b.MR) * b.copy_panel;
        for (std::int64_t first = run.first; first < run.end; first += b.together) {
            const std::int64_t end = std::min(first + b.together, run.end);
            for (std::int64_t k = 0; k < b.K; k += b.KC) {
                const std::int64_t steps = std::min(b.KC, b.K - k) / b.per_step;
                const void *part = panel + static_cast<std::size_t>(k / b.per_step) * b.copy_step;
                for (std::int64_t place = first; place < end; place += b.NR) {
                    const std::int64_t n = std::min(b.NR, end - place);
                    const auto kernel = (place == run.first ? b.gemm.from_memory : b.gemm.from_cache)[n - 1];
                    kernel(steps, part, b.column(step, place) + k * n, tiles + (place - first) * b.MR, b.MR, static_cast<int>(b.MR), k > 0);
                }
            }
            scatter(step, round.entries(first), end - first, tiles, b.MR, m, std::min(b.MR, rows.end - m), false);
        }
    }
}

}  // namespace

void by_expert::plan_constant(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    plan_floats(p, plan);
}

void by_expert::plan_floats(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Layout &a = p.node.src[0]->layout;
    const std::int64_t block = std::max<std::int64_t>(16, traits(a.type).block_size);
    plan.keep(Decisions{.KC = even_block(a.ne[0], plan.copies[0].used() ? packed::few_columns_kc : packed::largest_kc, block),
                        .places = std::clamp<std::int64_t>(packed::round_floats / a.ne[0], 1, p.node.layout.n_rows()),
                        .rows_per_chunk = rows_of_chunk(p, simd.gemm.rows, packed::largest_mc / simd.gemm.rows),
                        .batch_invariant = p.batch_invariant});
    const FloatBlocking b(p.node, plan, simd);
    plan_rounds(p, b, b.NR, b.columns.size, b.thread.size, plan);
}

void by_expert::run_floats(const Step &step, const Slice &slice) noexcept {
    const FloatBlocking b(*step.node, step.plan, slice.simd);
    if (slice.stage == Stage::set_up) {
        set_up(b.slots, step, make_zeros);
        return;
    }
    if (slice.stage == Stage::prepare) {
        pack_columns(b, step, slice);
        return;
    }
    const Round round = b.round(step, slice);
    ExpertRange run;
    Range rows;
    if (!b.work_of(round, slice, run, rows)) return;
    if (b.reads_copy) {
        multiply_copy(b, step, slice, round, run, rows);
    } else if (run.size() <= b.most_dots) {
        multiply_dots(b, step, slice, round, run, rows);
    } else {
        multiply_packed(b, step, slice, round, run, rows);
    }
}

}  // namespace tensorlib::core
