// flash_attn_ext for many queries, limited by arithmetic: both products use the micro-kernel of mul_mat, one block of
// keys after the other.
//
//   for some groups a round (attention.hpp):
//     prepare:  of a block of KB keys, packed once for all queries of the group: the shared workspace
//                 k  [KB / NR][n][NR]      v  [m / NR][KB][NR]
//     compute:  for each block of queries (a chunk), some panels of MR columns:
//       their queries         [n][MR]      packed, times the scale
//       for each block of keys that is not masked for all of them:
//         s   [KB][MR] = k q               each query has a lane throughout, so nothing is transposed
//         w = e ^ (s - largest)            SimdTable::Attention::weights; earlier sums are rescaled to the new largest
//         o   [m][MR] += v w
//       o / sum                            transposed once, into rows of c
//
// A panel's keys range from the first to the last that one of its queries does not mask, so half of causal attention is
// skipped. MR and NR are the micro-kernel's. The shape alone determines the blocks of keys, so a result does not depend
// on the number of threads.
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/attention.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

namespace tensorlib::core::attention {

namespace {

// KB: w [144][32] (18 KiB), a panel of v and its sums (7 + 1.5 KiB) stay in the L1 cache. q and o of n = m = 128 (16
// KiB each) come from the L2 cache, which also holds a block of k and v (144 KiB). The micro-kernel stores once per 144
// multiply-adds. A multiple of every ISA's NR: 12, 6.
constexpr std::int64_t block_keys = 144;
// Panels that use a block of k and v one after the other.
constexpr std::int64_t panels_together = 2;
// Packed keys and values of a round: 4 MiB, if that is a group for each thread.
constexpr std::int64_t round_floats = std::int64_t{1} << 20;
// Up to this many columns leave lanes of a panel empty. They read keys and values in place, at memory speed.
constexpr std::int64_t few_columns = 16;

// What plan() decides: the groups that a round packs.
struct Decisions {
    std::int64_t groups;
};

struct Blocking {
    Shape shape;
    std::int64_t MR, NR, blocks, groups_per_round, panels, chunks_per_group;
    // Floats of a group's packed keys and values.
    std::int64_t group_floats;
    // Parts of a thread's workspace.
    WorkspaceParts thread;
    std::size_t queries, sums, scores, mask, rows, stats;

    Blocking(const Tensor &node, std::int64_t groups, const simd::SimdTable &simd) noexcept
        : shape(node),
          MR(simd.gemm.rows),
          NR(simd.gemm.columns),
          blocks(ceil_div(shape.keys, block_keys)),
          groups_per_round(groups),
          panels(ceil_div(shape.columns(), MR)),
          chunks_per_group(ceil_div(panels, panels_together)),
          group_floats(ceil_div(shape.keys * (shape.n + shape.m), 16) * 16) {
        queries = thread.add<float>(panels_together * MR * shape.n);
        sums = thread.add<float>(panels_together * MR * shape.m);
        scores = thread.add<float>(MR * block_keys);
        mask = thread.add<float>(MR * block_keys);
        const std::int64_t largest = std::max(shape.n, shape.m);
        rows = thread.add<float>(std::max(MR * std::max(largest, block_keys), block_keys * largest));
        stats = thread.add<float>(panels_together * 4 * MR);
    }

    std::int64_t rounds() const noexcept { return ceil_div(shape.groups(), groups_per_round); }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        std::byte *threads = step.workspace + static_cast<std::size_t>(groups_per_round * group_floats) * sizeof(float);
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
    // The number of a block's keys, and where keys and values are packed.
    std::int64_t keys_of(std::int64_t block) const noexcept { return std::min(block_keys, shape.keys - block * block_keys); }
    float *keys(const Step &step, std::int64_t in_round, std::int64_t block) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + in_round * group_floats + block * block_keys * (shape.n + shape.m);
    }
    float *values(const Step &step, std::int64_t in_round, std::int64_t block) const noexcept {
        return keys(step, in_round, block) + keys_of(block) * shape.n;
    }
};

std::int64_t bytes(std::int64_t floats) noexcept { return floats * static_cast<std::int64_t>(sizeof(float)); }

// ---- prepare

using Pack = simd::SimdTable::PackF32;
Pack pack_of(DType type, const simd::SimdTable &simd) noexcept {
    return type == DType::f32 ? simd.pack.f32 : type == DType::f16 ? simd.pack.f16 : type == DType::bf16 ? simd.pack.bf16 : nullptr;
}

// Rows as a pack function reads them: in place, or decoded into `to`.
struct Rows {
    Pack pack;
    const char *first;
    std::ptrdiff_t row, element;  // strides in bytes

    Rows(const TensorRef &t, const std::byte *from, std::int64_t n, float *to, const simd::SimdTable &simd) noexcept
        : pack(pack_of(t.type, simd)),
          first(reinterpret_cast<const char *>(from)),
          row(static_cast<std::ptrdiff_t>(t.nb[1])),
          element(static_cast<std::ptrdiff_t>(t.nb[0])) {
        if (pack) return;
        decode_rows(t, from, n, to, simd);
        pack = simd.pack.f32;
        first = reinterpret_cast<const char *>(to);
        row = bytes(t.ne[0]);
        element = sizeof(float);
    }
};

void prepare(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const std::int64_t in_round = slice.chunk / b.blocks, block = slice.chunk % b.blocks, g = slice.round * b.groups_per_round + in_round;
    if (g >= b.shape.groups()) return;
    const Group group(b.shape, step, g);
    const std::int64_t first = block * block_keys, n = b.keys_of(block);
    float *decoded = b.of_thread(step, slice, b.rows);
    const TensorRef &k = step.src[1], &v = step.src[2];
    const Rows keys(k, group.k + static_cast<std::size_t>(first) * k.nb[1], n, decoded, slice.simd);
    float *to = b.keys(step, in_round, block);
    for (std::int64_t key = 0; key < n; key += b.NR) {
        const int width = static_cast<int>(std::min(b.NR, n - key));
        keys.pack(b.shape.n, keys.first + key * keys.row, keys.element, keys.row, width, width, to + key * b.shape.n);
    }
    const Rows values(v, group.v + static_cast<std::size_t>(first) * v.nb[1], n, decoded, slice.simd);
    to = b.values(step, in_round, block);
    for (std::int64_t d = 0; d < b.shape.m; d += b.NR) {
        const int width = static_cast<int>(std::min(b.NR, b.shape.m - d));
        values.pack(n, values.first + d * values.element, values.row, values.element, width, width, to + d * n);
    }
}

// ---- compute

constexpr std::size_t most_rows = 32;

// MR columns of a group, `columns` of which exist.
struct Panel {
    std::int64_t first, columns;
    Range keys;  // keys that are not masked for all of them
    bool begun;  // whether there are sums yet
    float *queries, *sums, *slopes, *largest, *sum, *factor;
    std::array<const std::byte *, most_rows> mask;  // each column's row of the mask
};

Panel panel_at(const Blocking &b, const Step &step, const Slice &slice, const Group &group, std::int64_t number,
               std::int64_t place) noexcept {
    float *stats = b.of_thread(step, slice, b.stats) + place * 4 * b.MR;
    Panel p{number * b.MR,
            std::min(b.MR, b.shape.columns() - number * b.MR),
            {b.shape.keys, 0},
            false,
            b.of_thread(step, slice, b.queries) + place * b.MR * b.shape.n,
            b.of_thread(step, slice, b.sums) + place * b.MR * b.shape.m,
            stats,
            stats + b.MR,
            stats + 2 * b.MR,
            stats + 3 * b.MR,
            {}};
    std::fill_n(p.slopes, b.MR, 0.0f);
    std::fill_n(p.largest, b.MR, -std::numeric_limits<float>::infinity());
    std::fill_n(p.sum, b.MR, 0.0f);
    float *rows = b.of_thread(step, slice, b.rows);
    const std::byte *last_mask = nullptr;
    for (std::int64_t i = 0; i < p.columns; i++) {
        const Column column = column_of(b.shape, group, p.first + i);
        load_query(b.shape, step, group, column, rows + i * b.shape.n, slice.simd);
        p.slopes[i] = mask_slope(b.shape, step, column);
        const std::byte *mask = p.mask[static_cast<std::size_t>(i)] = mask_row(step, group, column);
        if (!mask) p.keys = {0, b.shape.keys};
        if (mask == last_mask) continue;
        last_mask = mask;
        const Range own = unmasked(step.src[3], mask, {0, b.shape.keys});
        if (own.begin < own.end) p.keys = {std::min(p.keys.begin, own.begin), std::max(p.keys.end, own.end)};
    }
    slice.simd.pack.f32(b.shape.n, reinterpret_cast<const char *>(rows), sizeof(float), bytes(b.shape.n), static_cast<int>(p.columns),
                        static_cast<int>(b.MR), p.queries);
    return p;
}

// The mask of a panel's columns for some keys as [keys][MR]; null if it adds nothing.
const float *mask_panel(const Blocking &b, const Step &step, const Slice &slice, const Panel &p, Range keys) noexcept {
    const TensorRef &mask = step.src[3];
    const auto rows = std::span(p.mask).first(static_cast<std::size_t>(p.columns));
    const auto none = [&](std::size_t i) { return (i > 0 && rows[i] == rows[i - 1]) || all_zero(mask, rows[i], keys); };
    std::size_t i = 0;
    while (i < rows.size() && none(i)) i++;
    if (i == rows.size()) return nullptr;
    const std::int64_t n = keys.end - keys.begin;
    float *decoded = b.of_thread(step, slice, b.rows);
    for (i = 0; i < rows.size(); i++) {
        float *to = decoded + static_cast<std::int64_t>(i) * n;
        if (i > 0 && rows[i] == rows[i - 1]) {
            std::memcpy(to, to - n, static_cast<std::size_t>(bytes(n)));
        } else {
            load_row(mask, rows[i], keys.begin, n, to, slice.simd);
        }
    }
    float *panel = b.of_thread(step, slice, b.mask);
    slice.simd.pack.f32(n, reinterpret_cast<const char *>(decoded), sizeof(float), bytes(n), static_cast<int>(p.columns),
                        static_cast<int>(b.MR), panel);
    return panel;
}

// Processes a block of keys for one panel.
void meet(const Blocking &b, const Step &step, const Slice &slice, Panel &p, std::int64_t in_round, std::int64_t block) noexcept {
    const std::int64_t first = block * block_keys, n = b.keys_of(block), MR = b.MR, NR = b.NR;
    // Whole panels of keys. Keys of a panel that are masked for all columns have the weight 0.
    const std::int64_t begin = std::max(p.keys.begin - first, std::int64_t{0}) / NR * NR;
    const std::int64_t end = std::min(ceil_div(std::min(p.keys.end - first, n), NR) * NR, n);
    if (begin >= end) return;
    float *s = b.of_thread(step, slice, b.scores);
    const float *keys = b.keys(step, in_round, block), *values = b.values(step, in_round, block);
    const auto &gemm = slice.simd.gemm.f32.from_cache;
    const int rows = static_cast<int>(MR);
    for (std::int64_t key = begin; key < end; key += NR) {
        const std::int64_t width = std::min(NR, n - key);
        gemm[width - 1](b.shape.n, p.queries, keys + key * b.shape.n, s + (key - begin) * MR, MR, rows, false);
    }
    const float *mask = step.src[3].data ? mask_panel(b, step, slice, p, {first + begin, first + end}) : nullptr;
    slice.simd.attention.weights(end - begin, s, b.shape.cap, mask, p.slopes, p.largest, p.sum, p.factor);
    if (p.begun) slice.simd.attention.rescale(b.shape.m, p.sums, p.factor);
    for (std::int64_t d = 0; d < b.shape.m; d += NR) {
        const std::int64_t width = std::min(NR, b.shape.m - d);
        gemm[width - 1](end - begin, s, values + d * n + begin * width, p.sums + d * MR, MR, rows, p.begun);
    }
    p.begun = true;
}

void finish(const Blocking &b, const Step &step, const Slice &slice, const Group &group, const Panel &p) noexcept {
    const std::int64_t m = b.shape.m;
    float *rows = b.of_thread(step, slice, b.rows);
    if (p.begun) {
        slice.simd.pack.f32(p.columns, reinterpret_cast<const char *>(p.sums), sizeof(float), bytes(b.MR), static_cast<int>(m),
                            static_cast<int>(m), rows);
    } else {
        std::fill_n(rows, p.columns * m, 0.0f);
    }
    for (std::int64_t i = 0; i < p.columns; i++) {
        const Column column = column_of(b.shape, group, p.first + i);
        store_result(m, step.src[4], column.head, rows + i * m, static_cast<double>(p.largest[i]), static_cast<double>(p.sum[i]),
                     result_row(step, group, column), slice.simd);
    }
}

void compute(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const std::int64_t in_round = slice.chunk / b.chunks_per_group, g = slice.round * b.groups_per_round + in_round;
    if (g >= b.shape.groups()) return;
    const Group group(b.shape, step, g);
    const std::int64_t first = slice.chunk % b.chunks_per_group * panels_together, count = std::min(panels_together, b.panels - first);
    Panel panels[panels_together];
    for (std::int64_t i = 0; i < count; i++) panels[i] = panel_at(b, step, slice, group, first + i, i);
    for (std::int64_t block = 0; block < b.blocks; block++) {
        for (std::int64_t i = 0; i < count; i++) meet(b, step, slice, panels[i], in_round, block);
    }
    for (std::int64_t i = 0; i < count; i++) finish(b, step, slice, group, panels[i]);
}

}  // namespace

const char *plan_packed(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Blocking one(p.node, 1, simd);
    if (one.shape.columns() <= few_columns) return "up to 16 queries for a head of keys";
    if (p.batch_invariant) return not_batch_invariant;
    // Heads without elements may have 2^40 queries.
    if (p.node.layout.n_elements() == 0) return "the result is empty";
    const std::int64_t near = round_floats / std::max<std::int64_t>(one.group_floats, 1);
    const std::int64_t groups = std::clamp<std::int64_t>(near, std::min<std::int64_t>(p.n_threads, one.shape.groups()), one.shape.groups());
    const Blocking b(p.node, std::max<std::int64_t>(groups, 1), simd);
    plan.keep(Decisions{b.groups_per_round});
    plan.n_rounds = b.rounds();
    plan.chunks(Stage::prepare) = b.groups_per_round * b.blocks;
    plan.chunks(Stage::compute) = b.groups_per_round * b.chunks_per_group;
    plan.workspace = static_cast<std::size_t>(b.groups_per_round * b.group_floats) * sizeof(float) +
                     static_cast<std::size_t>(p.n_threads) * b.thread.size;
    return nullptr;
}

void run_packed(const Step &step, const Slice &slice) noexcept {
    const Blocking b(*step.node, step.plan.kept<Decisions>().groups, slice.simd);
    if (slice.stage == Stage::prepare) {
        prepare(b, step, slice);
    } else {
        compute(b, step, slice);
    }
}

}  // namespace tensorlib::core::attention
