#include "cpu/kernels/attention_segment.hpp"

#include "math/tile_op.hpp"

#include <cmath>
#include <cstring>

namespace tensorlib::core::attention {

SegmentParts::SegmentParts(std::int64_t n_elements, std::int64_t m_elements, bool batch_invariant) noexcept
    : n(n_elements),
      m(m_elements),
      row_floats(static_cast<std::int64_t>(decoded_floats(n))),
      part_floats(static_cast<std::int64_t>(decoded_floats(m + 2))),
      in_order(batch_invariant) {
    queries = thread.add<float>(most_columns * row_floats);
    scores = thread.add<float>(most_columns * segment_keys);
    mask = thread.add<float>(segment_keys);
    decoded = thread.add<float>(decoded_rows * std::max(n, m));
}

namespace {

// Calls f(first key, n, address, stride) for the rows of a run: once for all rows in place, or for some at a time as floats.
template <class F>
void for_rows(const ColumnSegment &u, const TensorRef &t, std::size_t row_stride, std::int64_t first_key, const RowRun &run, bool in_place,
              F f) noexcept {
    if (in_place) {
        f(first_key, run.n, reinterpret_cast<const char *>(run.first), static_cast<std::ptrdiff_t>(row_stride));
        return;
    }
    float *decoded = u.at(u.parts.decoded);
    const std::byte *row = run.first;
    for (std::int64_t i = 0; i < run.n; i += decoded_rows) {
        const std::int64_t n = std::min(decoded_rows, run.n - i);
        for (std::int64_t j = 0; j < n; j++, row += row_stride) load_row(t, row, 0, t.ne[0], decoded + j * t.ne[0], u.simd);
        f(first_key + i, n, reinterpret_cast<const char *>(decoded), bytes_of(t.ne[0]));
    }
}

using Weighted = simd::SimdTable::Attention::Weighted;
const Weighted *weighted_in_place(const TensorRef &v, const simd::SimdTable::Attention &simd) noexcept {
    if (v.nb[0] != traits(v.type).size) return nullptr;
    const Weighted *table = v.type == DType::f32 ? simd.f32 : v.type == DType::f16 ? simd.f16 : v.type == DType::bf16 ? simd.bf16 : nullptr;
    return table && table[0] ? table : nullptr;
}

}  // namespace

void multiply_keys(const ColumnSegment &u, std::int64_t first_key, const RowRun &run) noexcept {
    const simd::SimdTable::Dots &dots = u.simd.dot;
    const DotTiles own = u.operands.k_tiles, tiles = own ? own : dots.f32;
    // For a batch-invariant graph.
    const simd::SimdTable::DotF32 *one = u.parts.in_order && own == dots.f16    ? dots.f16_in_order
                                         : u.parts.in_order && own == dots.bf16 ? dots.bf16_in_order
                                                                                : nullptr;
    const auto multiply = [&](std::int64_t key, std::int64_t n, const char *rows, std::ptrdiff_t stride) {
        for (std::int64_t i = 0; i < n; i += dots.rows) {
            const std::int64_t height = std::min<std::int64_t>(dots.rows, n - i);
            for (int j = 0; j < u.columns; j += dots.columns) {
                const int width = std::min(dots.columns, u.columns - j);
                const simd::SimdTable::DotF32 kernel = width == 1 && one ? one[height - 1] : tiles[height - 1][width - 1];
                kernel(u.parts.n, rows + i * stride, stride, reinterpret_cast<const char *>(u.query(j)), bytes_of(u.parts.row_floats),
                       u.scores(j) + (key - u.keys.begin) + i, segment_keys);
            }
        }
    };
    for_rows(u, u.operands.k, u.operands.k_stride, first_key, run, own, multiply);
}

void flatten_scores(const ColumnSegment &u, int j, float cap) noexcept {
    if (cap <= 0) return;
    float *s = u.scores(j);
    u.simd.tiles.loops[static_cast<std::size_t>(TileOp::tanh)](
        {.n = u.keys.end - u.keys.begin, .src = {s}, .repeated = 0, .dst = s, .params = nullptr});
}

void weigh(const ColumnSegment &u, int j, float cap, const float *mask, float slope, float *part) noexcept {
    const std::int64_t n = u.keys.end - u.keys.begin;
    float *s = u.scores(j);
    part[0] = u.simd.norms.logits(n, s, cap > 0 ? cap : 1, mask, slope, s);
    part[1] = static_cast<float>(u.simd.norms.exponentials(n, s, part[0] == nothing ? 0 : part[0], s));
}

void add_values(const ColumnSegment &u, int first_column, int columns, std::int64_t first_key, const RowRun &run, float *y,
                std::ptrdiff_t ldy) noexcept {
    const simd::SimdTable::Attention &simd = u.simd.attention;
    const TensorRef &v = u.operands.v;
    const Weighted *own = weighted_in_place(v, simd), *kernels = own ? own : simd.f32;
    // Columns whose sums are not in registers read a few rows again, which are in the L1 cache.
    const std::int64_t some = columns <= simd.columns ? segment_keys : decoded_rows;
    const auto add = [&](std::int64_t key, std::int64_t n, const char *rows, std::ptrdiff_t stride) {
        for (std::int64_t i = 0; i < n; i += some) {
            for (int j = 0; j < columns; j += simd.columns) {
                const int width = std::min(simd.columns, columns - j);
                kernels[width - 1](std::min(some, n - i), u.parts.m, rows + i * stride, stride,
                                   u.scores(first_column + j) + (key - u.keys.begin) + i, segment_keys, y + j * ldy, ldy);
            }
        }
    };
    for_rows(u, v, u.operands.v_stride, first_key, run, own, add);
}

void clear_part(const SegmentParts &parts, float *part) noexcept {
    part[0] = nothing;
    std::memset(part + 1, 0, static_cast<std::size_t>(bytes_of(parts.m + 1)));
}

Combined combine(const SegmentParts &parts, const float *first, std::int64_t count, float *y, const simd::SimdTable &simd) noexcept {
    Combined all{static_cast<double>(nothing), 0};
    for (std::int64_t s = 0; s < count; s++) {
        const auto own = static_cast<double>(first[s * parts.part_floats]);
        if (own > all.largest) all.largest = own;
    }
    const double base = all.largest == static_cast<double>(nothing) ? 0 : all.largest;
    std::memset(y, 0, static_cast<std::size_t>(bytes_of(parts.m)));
    for (std::int64_t s = 0; s < count; s++) {
        const float *part = first + s * parts.part_floats;
        const double factor = std::exp(static_cast<double>(part[0]) - base);
        all.sum += static_cast<double>(part[1]) * factor;
        const auto f = static_cast<float>(factor);
        if (f != 0) simd.attention.f32[0](1, parts.m, reinterpret_cast<const char *>(part + 2), 0, &f, 1, y, parts.m);
    }
    return all;
}

}  // namespace tensorlib::core::attention
