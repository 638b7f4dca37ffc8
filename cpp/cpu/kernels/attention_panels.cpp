#include "cpu/kernels/attention_panels.hpp"

#include <algorithm>
#include <limits>

namespace tensorlib::core::attention {

namespace {

std::int64_t bytes(std::int64_t floats) noexcept { return floats * static_cast<std::int64_t>(sizeof(float)); }

simd::SimdTable::PackF32 pack_of(DType type, const simd::SimdTable &simd) noexcept {
    return type == DType::f32 ? simd.pack.f32 : type == DType::f16 ? simd.pack.f16 : type == DType::bf16 ? simd.pack.bf16 : nullptr;
}

}  // namespace

PanelParts::PanelParts(std::int64_t n_elements, std::int64_t m_elements, float softcap, std::int64_t panels,
                       const simd::SimdTable &simd) noexcept
    : n(n_elements), m(m_elements), MR(simd.gemm.rows), NR(simd.gemm.columns), cap(softcap) {
    queries = thread.add<float>(panels * MR * n);
    sums = thread.add<float>(panels * MR * m);
    scores = thread.add<float>(MR * block_keys);
    mask = thread.add<float>(MR * block_keys);
    const std::int64_t largest = std::max(n, m);
    rows = thread.add<float>(std::max(MR * std::max(largest, block_keys), block_keys * largest));
    stats = thread.add<float>(panels * 4 * MR);
}

PackedFrom::PackedFrom(const float *rows, std::int64_t row_floats, const simd::SimdTable &simd) noexcept
    : pack(simd.pack.f32), first(reinterpret_cast<const char *>(rows)), row(bytes(row_floats)), element(sizeof(float)) {}

PackedFrom::PackedFrom(const TensorRef &t, const std::byte *from, std::int64_t count, float *to, const simd::SimdTable &simd) noexcept
    : pack(pack_of(t.type, simd)),
      first(reinterpret_cast<const char *>(from)),
      row(static_cast<std::ptrdiff_t>(t.nb[1])),
      element(static_cast<std::ptrdiff_t>(t.nb[0])) {
    if (pack) return;
    decode_rows(t, from, count, to, simd);
    *this = PackedFrom(to, t.ne[0], simd);
}

void pack_keys(const PanelParts &parts, const PackedFrom &from, std::int64_t count, float *to) noexcept {
    for (std::int64_t key = 0; key < count; key += parts.NR) {
        const int width = static_cast<int>(std::min(parts.NR, count - key));
        from.pack(parts.n, from.first + key * from.row, from.element, from.row, width, width, to + key * parts.n);
    }
}

void pack_values(const PanelParts &parts, const PackedFrom &from, std::int64_t count, float *to) noexcept {
    for (std::int64_t d = 0; d < parts.m; d += parts.NR) {
        const int width = static_cast<int>(std::min(parts.NR, parts.m - d));
        from.pack(count, from.first + d * from.element, from.row, from.element, width, width, to + d * count);
    }
}

Panel begin_panel(const PanelWork &w, std::int64_t place, std::int64_t columns) noexcept {
    const PanelParts &parts = w.parts;
    const std::int64_t MR = parts.MR;
    float *stats = w.at(parts.stats) + place * 4 * MR;
    const Panel p{columns,
                  {std::numeric_limits<std::int64_t>::max(), 0},
                  false,
                  w.at(parts.queries) + place * MR * parts.n,
                  w.at(parts.sums) + place * MR * parts.m,
                  stats,
                  stats + MR,
                  stats + 2 * MR,
                  stats + 3 * MR};
    std::fill_n(p.slopes, MR, 0.0f);
    std::fill_n(p.largest, MR, -std::numeric_limits<float>::infinity());
    std::fill_n(p.sum, MR, 0.0f);
    return p;
}

void pack_queries(const PanelWork &w, const Panel &p) noexcept {
    w.simd.pack.f32(w.parts.n, reinterpret_cast<const char *>(w.at(w.parts.rows)), sizeof(float), bytes(w.parts.n),
                    static_cast<int>(p.columns), static_cast<int>(w.parts.MR), p.queries);
}

Range read_by(const PanelParts &parts, const Panel &p, const KeyBlock &block) noexcept {
    const std::int64_t first = block.keys.begin, n = block.keys.end - first, NR = parts.NR;
    return {std::max(p.keys.begin - first, std::int64_t{0}) / NR * NR, std::min(ceil_div(std::min(p.keys.end - first, n), NR) * NR, n)};
}

void multiply_block(const PanelWork &w, const Panel &p, const KeyBlock &block, Range part) noexcept {
    const std::int64_t MR = w.parts.MR, NR = w.parts.NR;
    const auto &gemm = w.simd.gemm.f32.from_cache;
    float *s = w.at(w.parts.scores);
    for (std::int64_t key = part.begin; key < part.end; key += NR) {
        const std::int64_t width = std::min(NR, part.end - key);
        gemm[width - 1](w.parts.n, p.queries, block.k + key * w.parts.n, s + (key - part.begin) * MR, MR, static_cast<int>(MR), false);
    }
}

void add_block(const PanelWork &w, Panel &p, const KeyBlock &block, Range part, const float *mask) noexcept {
    const PanelParts &parts = w.parts;
    const std::int64_t n = block.keys.end - block.keys.begin, keys = part.end - part.begin;
    const auto &gemm = w.simd.gemm.f32.from_cache;
    float *s = w.at(parts.scores);
    w.simd.attention.weights(keys, s, parts.cap, mask, p.slopes, p.largest, p.sum, p.factor);
    if (p.begun) w.simd.attention.rescale(parts.m, p.sums, p.factor);
    for (std::int64_t d = 0; d < parts.m; d += parts.NR) {
        const std::int64_t width = std::min(parts.NR, parts.m - d);
        gemm[width - 1](keys, s, block.v + d * n + part.begin * width, p.sums + d * parts.MR, parts.MR, static_cast<int>(parts.MR),
                        p.begun);
    }
    p.begun = true;
}

void transpose_sums(const PanelWork &w, const Panel &p) noexcept {
    const std::int64_t m = w.parts.m;
    float *rows = w.at(w.parts.rows);
    if (!p.begun) {
        std::fill_n(rows, p.columns * m, 0.0f);
        return;
    }
    w.simd.pack.f32(p.columns, reinterpret_cast<const char *>(p.sums), sizeof(float), bytes(w.parts.MR), static_cast<int>(m),
                    static_cast<int>(m), rows);
}

}  // namespace tensorlib::core::attention
