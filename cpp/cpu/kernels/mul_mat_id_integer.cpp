// mul_mat_id of quantised weights by activations rounded to bytes, as in mul_mat_integer.cpp.
#include "cpu/kernels/mul_mat_id.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"

#include <algorithm>

namespace tensorlib::core {

using namespace by_expert;

namespace {

// Panels of a chunk: several consecutive ones, because the next one is prefetched.
constexpr std::int64_t most_panels = 16;

struct Bytes : Blocking {
    const simd::SimdTable::IntegerFormat &format;
    std::int64_t rows, columns;
    ByteLayout layout;  // one token takes columns one by one, because each expert has one
    // As in mul_mat_integer.cpp: up to how many columns of an expert take all of k at once; the constant's copy, and
    // the bytes of a panel.
    std::int64_t straight_through;
    const char *copy;
    bool copy_missing;
    std::size_t copy_panel;
    WorkspaceParts thread;
    std::size_t codes, code_scales, code_offsets, row, tile;

    Bytes(const Tensor &node, const KernelPlan &plan, const simd::SimdTable &simd) noexcept
        : Blocking(node, plan.kept<Decisions>()),
          format(simd.integer.formats[dtype_index(node.src[0]->layout.type)]),
          rows(simd.integer.rows),
          columns(simd.integer.columns),
          layout(format, K, places, in_16_bits(format, node.layout.ne[2], in_order)),
          straight_through(plan.copies[0].used() ? format.packed_columns : 0),
          copy(reinterpret_cast<const char *>(plan.copies[0].data)),
          copy_missing(plan.copies[0].missing()),
          copy_panel(static_cast<std::size_t>(simd.panels[dtype_index(node.src[0]->layout.type)].bytes(K))) {
        if (layout.one) columns = 1;
        const std::int64_t kc = copy_missing ? whole_k() : KC;
        codes = thread.add<std::uint8_t>(kc * rows), code_scales = thread.add<float>(kc / format.scale_group * rows);
        code_offsets = thread.add<float>(format.offset_group ? kc / format.offset_group * rows : 0);
        row = thread.add<float>(K), tile = thread.add<float>((plan.copies[0].planned() ? rows_per_chunk : rows) * columns);
    }
    std::int64_t whole_k() const noexcept { return ceil_div(K, simd::scaled_bytes) * simd::scaled_bytes; }

    std::byte *columns_at(const Step &step) const noexcept { return step.workspace + slots.parts.size; }
    template <class T>
    T *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        return reinterpret_cast<T *>(columns_at(step) + layout.size + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

void quantize_columns(const Bytes &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    const TensorRef &src = step.src[1];
    const bool as_it_lies = src.type == DType::f32 && src.nb[0] == sizeof(float);
    auto *row = b.of_thread<float>(step, slice, b.row);
    const std::int64_t begin = slice.chunk * integer::columns_per_chunk, end = std::min(begin + integer::columns_per_chunk, round.size());
    for (std::int64_t place = begin; place < end; place++) {
        const ExpertRange run = round.run_of(place);
        const std::int64_t first = place - (place - run.first) % b.columns, n = std::min(b.columns, run.end - first);
        const std::byte *from = column_of_b(step, round.entries(place)->slot);
        if (!as_it_lies) load_row(src, from, 0, b.K, row, slice.simd);
        quantize(slice.simd, b.layout, as_it_lies ? reinterpret_cast<const float *>(from) : row, b.columns_at(step), first, n, place);
    }
}

void multiply(const Bytes &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    ExpertRange run;
    Range chunk;
    if (!b.work_of(round, slice, run, chunk)) return;
    const TensorRef &a = step.src[0];
    auto *codes = b.of_thread<std::uint8_t>(step, slice, b.codes);
    auto *scales = b.of_thread<float>(step, slice, b.code_scales), *offsets = b.of_thread<float>(step, slice, b.code_offsets);
    auto *tile = b.of_thread<float>(step, slice, b.tile);
    const bool straight_through = run.size() <= b.straight_through, as_packed = straight_through && !b.copy_missing;
    const std::int64_t block_of_k = straight_through ? b.whole_k() : b.KC;
    // Few columns wait for memory, so panels are read without a pause between them.
    const std::int64_t height = as_packed && run.size() <= b.columns ? b.rows_per_chunk : b.rows;
    for (std::int64_t m = chunk.begin; m < chunk.end; m += height) {
        const int rows = static_cast<int>(std::min(height, chunk.end - m));
        // Panels are numbered across all experts.
        const auto panel = static_cast<std::size_t>(run.expert * ceil_div(b.M, b.rows) + m / b.rows);
        simd::PackedPanel packed{b.copy ? b.copy + panel * b.copy_panel : nullptr, b.format.codebook,
                                 slice.simd.integer.prefetch_distance[0]};
        if (as_packed) {
            for (std::int64_t place = run.first; place < run.end; place += b.columns) {
                const std::int64_t n = std::min(b.columns, run.end - place);
                fetch_targets(step, round.entries(place), n, m, rows);
                packed.ahead = slice.simd.integer.prefetch_distance[n - 1];
                const auto kernel = b.layout.one ? b.format.gemm_packed_one : b.format.gemm_packed[n - 1];
                kernel(b.K, packed, b.layout.at(b.columns_at(step), place, n, 0), tile, height, rows);
                scatter(step, round.entries(place), n, tile, height, m, rows, false);
            }
            continue;
        }
        for (std::int64_t k = 0; k < b.K; k += block_of_k) {
            const std::int64_t kc = std::min(block_of_k, b.K - k);
            integer::unpack_panel(b.format, packed, a, {m, run.expert, 0}, k, kc, rows, codes, scales, offsets);
            for (std::int64_t place = run.first; place < run.end; place += b.columns) {
                const std::int64_t n = std::min(b.columns, run.end - place);
                fetch_targets(step, round.entries(place), n, m, rows);
                const auto kernel = b.layout.one ? b.format.gemm_one : b.format.gemm[n - 1];
                kernel(kc, {codes, scales, offsets}, b.layout.at(b.columns_at(step), place, n, k), tile, b.rows, rows, false);
                scatter(step, round.entries(place), n, tile, b.rows, m, rows, k > 0);
            }
        }
    }
}

}  // namespace

void by_expert::plan_integers(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Layout &a = p.node.src[0]->layout;
    const simd::SimdTable::IntegerFormat &format = simd.integer.formats[dtype_index(a.type)];
    const ByteLayout of_place(format, a.ne[0], 1, in_16_bits(format, p.node.layout.ne[2], p.batch_invariant));
    const auto bytes = static_cast<std::int64_t>(of_place.size);
    const std::int64_t largest = p.batch_invariant ? a.ne[0] : integer::largest_kc;  // as in mul_mat_integer.cpp
    plan.keep(Decisions{.KC = even_block(a.ne[0], largest, simd::scaled_bytes),
                        .places = std::clamp<std::int64_t>(integer::round_bytes / bytes, 1, p.node.layout.n_rows()),
                        .rows_per_chunk = rows_of_chunk(p, simd.integer.rows, most_panels),
                        .batch_invariant = p.batch_invariant});
    const Bytes b(p.node, plan, simd);
    plan.rounding = rounding_of(b.layout.one);
    plan_rounds(p, b, integer::columns_per_chunk, b.layout.size, b.thread.size, plan);
}

void by_expert::run_integers(const Step &step, const Slice &slice) noexcept {
    const Bytes b(*step.node, step.plan, slice.simd);
    if (slice.stage == Stage::set_up) {
        set_up(b.slots, step, make_zeros);
    } else if (slice.stage == Stage::prepare) {
        quantize_columns(b, step, slice);
    } else {
        multiply(b, step, slice);
    }
}

}  // namespace tensorlib::core
