// flash_attn_ext for few queries: reads keys and values once, in place, at memory speed.
//
//   compute:  for each segment of KS keys of a group (attention.hpp), and up to 4 of its columns:
//     s   [columns][KS] = k q     SimdTable::Dots: rows of k in place, or decoded some at a time
//     w = e ^ (s - largest)       the loops of soft_max_ext
//     y   [columns][m] = w v      SimdTable::Attention: rows of v in the same way
//     largest, sum and y go to the shared workspace
//   combine:  for each column its segments, one after the other, rescaled to the largest of all
//
// The shape alone determines the segments and the order in which they are added, so a result does not depend on the
// number of threads. Keys before the first or after the last key that one of a segment's columns does not mask are not
// read. A column's bits depend neither on the other columns nor on masked keys, whose weights are 0: sums have 32 parts
// that are joined in pairs p and p + 16, then p and p + 8 (parts.hpp), so it does not matter which key is the first.
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/attention.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include "math/tile_op.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tensorlib::core::attention {

namespace {

// KS: for n = m = 128 in F32, a segment has 256 KiB of keys and values, which take a thread some 10 us. Its sums are a
// hundredth of that.
constexpr std::int64_t segment_keys = 256;
// Rows that are decoded together: 16 rows of 128 floats are 8 KiB.
constexpr std::int64_t decoded_rows = 16;
constexpr std::int64_t most_columns = simd::max_dot_columns;
constexpr float nothing = -std::numeric_limits<float>::infinity();

struct Segments {
    Shape shape;
    std::int64_t count, column_groups, units, row_floats, part_floats;
    // Parts of a thread's workspace.
    WorkspaceParts thread;
    std::size_t queries, scores, mask, decoded;
    bool in_order;  // whether a single column is multiplied in the order of several

    Segments(const Tensor &node, bool batch_invariant) noexcept
        : shape(node),
          count(ceil_div(shape.keys, segment_keys)),
          column_groups(ceil_div(shape.columns(), most_columns)),
          units(shape.groups() * column_groups * count),
          row_floats(static_cast<std::int64_t>(decoded_floats(shape.n))),
          part_floats(static_cast<std::int64_t>(decoded_floats(shape.m + 2))),
          in_order(batch_invariant) {
        queries = thread.add<float>(most_columns * row_floats);
        scores = thread.add<float>(most_columns * segment_keys);
        mask = thread.add<float>(segment_keys);
        decoded = thread.add<float>(decoded_rows * std::max(shape.n, shape.m));
    }

    // A column's sums for a segment: the largest logit, the sum of weights, y.
    float *part(const Step &step, std::int64_t g, std::int64_t column, std::int64_t segment) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + ((g * shape.columns() + column) * count + segment) * part_floats;
    }
    std::int64_t all_parts() const noexcept { return shape.groups() * shape.columns() * count * part_floats; }
    float *of_thread(const Step &step, const Slice &slice, std::size_t place) const noexcept {
        std::byte *threads = step.workspace + static_cast<std::size_t>(all_parts()) * sizeof(float);
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + place);
    }
};

std::ptrdiff_t bytes(std::int64_t floats) noexcept { return floats * static_cast<std::ptrdiff_t>(sizeof(float)); }

// Some columns of a group and some of its keys.
struct Unit {
    const Segments &all;
    const Step &step;
    const Slice &slice;
    const Group &group;
    std::int64_t first_column;
    int columns;
    Range keys;

    Column column(int j) const noexcept { return column_of(all.shape, group, first_column + j); }
    const float *queries() const noexcept { return all.of_thread(step, slice, all.queries); }
    float *scores(int j) const noexcept { return all.of_thread(step, slice, all.scores) + j * segment_keys; }
};

// Calls f(first key, n, address, stride) for rows of an operand: once for all rows in place, or for some at a time as
// floats.
template <class F>
void for_rows(const Unit &u, const TensorRef &t, const std::byte *first, bool as_they_lie, F f) noexcept {
    const std::byte *row = first + static_cast<std::size_t>(u.keys.begin) * t.nb[1];
    if (as_they_lie) {
        f(u.keys.begin, u.keys.end - u.keys.begin, reinterpret_cast<const char *>(row), static_cast<std::ptrdiff_t>(t.nb[1]));
        return;
    }
    float *decoded = u.all.of_thread(u.step, u.slice, u.all.decoded);
    for (std::int64_t key = u.keys.begin; key < u.keys.end; key += decoded_rows) {
        const std::int64_t n = std::min(decoded_rows, u.keys.end - key);
        decode_rows(t, row, n, decoded, u.slice.simd);
        f(key, n, reinterpret_cast<const char *>(decoded), bytes(t.ne[0]));
        row += static_cast<std::size_t>(n) * t.nb[1];
    }
}

void multiply_keys(const Unit &u) noexcept {
    const simd::SimdTable::Dots &dots = u.slice.simd.dot;
    const DotTiles own = tiles_as_it_lies(u.step.node->src[1]->layout, u.slice.simd), tiles = own ? own : dots.f32;
    // For a batch-invariant graph.
    const simd::SimdTable::DotF32 *one = u.all.in_order && own == dots.f16    ? dots.f16_in_order
                                         : u.all.in_order && own == dots.bf16 ? dots.bf16_in_order
                                                                              : nullptr;
    for_rows(u, u.step.src[1], u.group.k, own, [&](std::int64_t key, std::int64_t n, const char *rows, std::ptrdiff_t stride) {
        for (std::int64_t i = 0; i < n; i += dots.rows) {
            const std::int64_t height = std::min<std::int64_t>(dots.rows, n - i);
            for (int j = 0; j < u.columns; j += dots.columns) {
                const int width = std::min(dots.columns, u.columns - j);
                const simd::SimdTable::DotF32 kernel = width == 1 && one ? one[height - 1] : tiles[height - 1][width - 1];
                kernel(u.all.shape.n, rows + i * stride, stride, reinterpret_cast<const char *>(u.queries() + j * u.all.row_floats),
                       bytes(u.all.row_floats), u.scores(j) + (key - u.keys.begin) + i, segment_keys);
            }
        }
    });
}

// Turns scores into weights, and stores the column's largest and sum in its part.
void weigh(const Unit &u, int j, float *part) noexcept {
    const Shape &shape = u.all.shape;
    const std::int64_t n = u.keys.end - u.keys.begin;
    const Column column = u.column(j);
    const simd::SimdTable &simd = u.slice.simd;
    float *s = u.scores(j), *mask = nullptr;
    if (const std::byte *row = mask_row(u.step, u.group, column)) {
        mask = u.all.of_thread(u.step, u.slice, u.all.mask);
        load_row(u.step.src[3], row, u.keys.begin, n, mask, simd);
    }
    if (shape.cap > 0)
        simd.tiles.loops[static_cast<std::size_t>(TileOp::tanh)]({.n = n, .src = {s}, .repeated = 0, .dst = s, .params = nullptr});
    part[0] = simd.norms.logits(n, s, shape.cap > 0 ? shape.cap : 1, mask, mask_slope(shape, u.step, column), s);
    part[1] = static_cast<float>(simd.norms.exponentials(n, s, part[0] == nothing ? 0 : part[0], s));
}

using Weighted = simd::SimdTable::Attention::Weighted;
const Weighted *weighted_as_they_lie(const TensorRef &v, const simd::SimdTable::Attention &simd) noexcept {
    if (v.nb[0] != traits(v.type).size) return nullptr;
    const Weighted *table = v.type == DType::f32 ? simd.f32 : v.type == DType::f16 ? simd.f16 : v.type == DType::bf16 ? simd.bf16 : nullptr;
    return table && table[0] ? table : nullptr;
}

void add_values(const Unit &u, float *y, std::ptrdiff_t ldy) noexcept {
    const simd::SimdTable::Attention &simd = u.slice.simd.attention;
    const TensorRef &v = u.step.src[2];
    const Weighted *own = weighted_as_they_lie(v, simd), *kernels = own ? own : simd.f32;
    // Columns whose sums are not in registers read a few rows again, which are in the L1 cache.
    const std::int64_t some = u.columns <= simd.columns ? segment_keys : decoded_rows;
    for_rows(u, v, u.group.v, own, [&](std::int64_t key, std::int64_t n, const char *rows, std::ptrdiff_t stride) {
        for (std::int64_t i = 0; i < n; i += some) {
            for (int j = 0; j < u.columns; j += simd.columns) {
                const int width = std::min(simd.columns, u.columns - j);
                kernels[width - 1](std::min(some, n - i), u.all.shape.m, rows + i * stride, stride, u.scores(j) + (key - u.keys.begin) + i,
                                   segment_keys, y + j * ldy, ldy);
            }
        }
    });
}

void compute_unit(const Segments &all, const Step &step, const Slice &slice, std::int64_t number) noexcept {
    const std::int64_t segment = number % all.count, of_group = number / all.count % all.column_groups,
                       g = number / all.count / all.column_groups;
    const Group group(all.shape, step, g);
    const std::int64_t first = of_group * most_columns, begin = segment * segment_keys;
    Unit u{all,
           step,
           slice,
           group,
           first,
           static_cast<int>(std::min(most_columns, all.shape.columns() - first)),
           {begin, std::min(begin + segment_keys, all.shape.keys)}};
    Range seen{u.keys.end, u.keys.begin};
    for (int j = 0; j < u.columns; j++) {
        const Column column = u.column(j);
        load_query(all.shape, step, group, column, all.of_thread(step, slice, all.queries) + j * all.row_floats, slice.simd);
        float *part = all.part(step, g, first + j, segment);
        part[0] = nothing;
        std::memset(part + 1, 0, static_cast<std::size_t>(bytes(all.shape.m + 1)));
        const std::byte *mask = mask_row(step, group, column);
        const Range own = mask ? unmasked(step.src[3], mask, u.keys) : u.keys;
        if (own.begin < own.end) seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    u.keys = seen;
    if (seen.begin >= seen.end) return;
    multiply_keys(u);
    for (int j = 0; j < u.columns; j++) weigh(u, j, all.part(step, g, first + j, segment));
    add_values(u, all.part(step, g, first, segment) + 2, all.count * all.part_floats);
}

// Combines a column's segments, in place of the first one.
void combine_column(const Segments &all, const Step &step, const Slice &slice, std::int64_t g, std::int64_t c) noexcept {
    const std::int64_t m = all.shape.m;
    const Group group(all.shape, step, g);
    double largest = static_cast<double>(nothing), sum = 0;
    for (std::int64_t s = 0; s < all.count; s++) {
        const auto own = static_cast<double>(all.part(step, g, c, s)[0]);
        if (own > largest) largest = own;
    }
    const double base = largest == static_cast<double>(nothing) ? 0 : largest;
    float *y = all.of_thread(step, slice, all.decoded);
    std::memset(y, 0, static_cast<std::size_t>(bytes(m)));
    for (std::int64_t s = 0; s < all.count; s++) {
        const float *part = all.part(step, g, c, s);
        const double factor = std::exp(static_cast<double>(part[0]) - base);
        sum += static_cast<double>(part[1]) * factor;
        const auto f = static_cast<float>(factor);
        if (f != 0) slice.simd.attention.f32[0](1, m, reinterpret_cast<const char *>(part + 2), 0, &f, 1, y, m);
    }
    store_result(all.shape, step, group, column_of(all.shape, group, c), y, largest, sum, slice.simd);
}

}  // namespace

void plan_rows(const Problem &p, KernelPlan &plan) noexcept {
    if (p.node.layout.n_elements() == 0) {
        plan.chunks(Stage::compute) = 0;  // however many queries there are
        return;
    }
    plan.keep(p.batch_invariant);
    const Segments all(p.node, p.batch_invariant);
    const std::int64_t columns = all.shape.groups() * all.shape.columns();
    const auto read = static_cast<std::int64_t>(p.node.src[1]->layout.nbytes() + p.node.src[2]->layout.nbytes());
    plan.chunks(Stage::compute) = all.units == 0 ? 0 : chunks_for(all.units, read * all.column_groups, p.n_threads);
    plan.chunks(Stage::combine) = chunks_for(columns, bytes(columns * all.count * all.part_floats), p.n_threads);
    plan.workspace = static_cast<std::size_t>(all.all_parts()) * sizeof(float) + static_cast<std::size_t>(p.n_threads) * all.thread.size;
}

void run_rows(const Step &step, const Slice &slice) noexcept {
    const Segments all(*step.node, step.plan.kept<bool>());
    if (slice.stage == Stage::compute) {
        const Range units = part_of(all.units, slice.chunk, step.plan.chunks(Stage::compute));
        for (std::int64_t unit = units.begin; unit < units.end; unit++) compute_unit(all, step, slice, unit);
        return;
    }
    const std::int64_t of_group = all.shape.columns();
    const Range columns = part_of(all.shape.groups() * of_group, slice.chunk, step.plan.chunks(Stage::combine));
    for (std::int64_t c = columns.begin; c < columns.end; c++) combine_column(all, step, slice, c / of_group, c % of_group);
}

}  // namespace tensorlib::core::attention
