// flash_attn_ext for few queries: reads keys and values once, in place, at memory speed.
//
//   compute:  for each segment of a group's keys (attention_segment.hpp), and up to 4 of its columns: their weights and sums.
//             Largest, sum and y go to the shared workspace
//   combine:  for each column its segments, one after the other, rescaled to the largest of all
//
// The shape alone determines the segments and the order in which they are added, so a result does not depend on the
// number of threads. Keys before the first or after the last key that one of a segment's columns does not mask are not
// read.
#include "cpu/kernels/attention_segment.hpp"

namespace tensorlib::core::attention {

namespace {

struct Segments {
    Shape shape;
    SegmentParts parts;
    std::int64_t count, column_groups, units;

    Segments(const Tensor &node, bool batch_invariant) noexcept
        : shape(node),
          parts(shape.n, shape.m, batch_invariant),
          count(ceil_div(shape.keys, segment_keys)),
          column_groups(ceil_div(shape.columns(), most_columns)),
          units(shape.groups() * column_groups * count) {}

    // A column's sums for a segment: the largest logit, the sum of weights, y.
    float *part(const Step &step, std::int64_t g, std::int64_t column, std::int64_t segment) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + ((g * shape.columns() + column) * count + segment) * parts.part_floats;
    }
    std::int64_t all_parts() const noexcept { return shape.groups() * shape.columns() * count * parts.part_floats; }
    std::byte *of_thread(const Step &step, const Slice &slice) const noexcept {
        return step.workspace + static_cast<std::size_t>(all_parts()) * sizeof(float) +
               static_cast<std::size_t>(slice.thread) * parts.thread.size;
    }
};

void compute_unit(const Segments &all, const Step &step, const Slice &slice, std::int64_t number) noexcept {
    const std::int64_t segment = number % all.count, of_group = number / all.count % all.column_groups,
                       g = number / all.count / all.column_groups;
    const Shape &shape = all.shape;
    const Group group(shape, step, g);
    const std::int64_t first = of_group * most_columns, begin = segment * segment_keys;
    const TensorRef &k = step.src[1], &v = step.src[2];
    const KeysAndValues operands{k, v, tiles_as_it_lies(step.node->src[1]->layout, slice.simd), k.nb[1], v.nb[1]};
    ColumnSegment u{all.parts,
                    operands,
                    slice.simd,
                    all.of_thread(step, slice),
                    static_cast<int>(std::min(most_columns, shape.columns() - first)),
                    {begin, std::min(begin + segment_keys, shape.keys)}};
    Range seen{u.keys.end, u.keys.begin};
    for (int j = 0; j < u.columns; j++) {
        const Column column = column_of(shape, group, first + j);
        load_query(shape, step, group, column, u.query(j), slice.simd);
        clear_part(all.parts, all.part(step, g, first + j, segment));
        const std::byte *mask = mask_row(step, group, column);
        const Range own = mask ? unmasked(step.src[3], mask, u.keys) : u.keys;
        if (own.begin < own.end) seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    u.keys = seen;
    if (seen.begin >= seen.end) return;
    const auto rows = [&](const std::byte *first_row, std::size_t stride) {
        return RowRun{first_row + static_cast<std::size_t>(seen.begin) * stride, seen.end - seen.begin};
    };
    multiply_keys(u, seen.begin, rows(group.k, k.nb[1]));
    for (int j = 0; j < u.columns; j++) {
        const Column column = column_of(shape, group, first + j);
        float *mask = nullptr;
        if (const std::byte *row = mask_row(step, group, column)) {
            mask = u.at(all.parts.mask);
            load_row(step.src[3], row, seen.begin, seen.end - seen.begin, mask, slice.simd);
        }
        flatten_scores(u, j, shape.cap);
        weigh(u, j, shape.cap, mask, mask_slope(shape, step, column), all.part(step, g, first + j, segment));
    }
    add_values(u, 0, u.columns, seen.begin, rows(group.v, v.nb[1]), all.part(step, g, first, segment) + 2,
               all.count * all.parts.part_floats);
}

// Combines a column's segments, in place of the first one.
void combine_column(const Segments &all, const Step &step, const Slice &slice, std::int64_t g, std::int64_t c) noexcept {
    const Group group(all.shape, step, g);
    auto *y = reinterpret_cast<float *>(all.of_thread(step, slice) + all.parts.decoded);
    const Combined sums = combine(all.parts, all.part(step, g, c, 0), all.count, y, slice.simd);
    const Column column = column_of(all.shape, group, c);
    store_result(all.shape.m, step.src[4], column.head, y, sums.largest, sums.sum, result_row(step, group, column), slice.simd);
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
    plan.chunks(Stage::combine) = chunks_for(columns, bytes_of(columns * all.count * all.parts.part_floats), p.n_threads);
    plan.workspace =
        static_cast<std::size_t>(all.all_parts()) * sizeof(float) + static_cast<std::size_t>(p.n_threads) * all.parts.thread.size;
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
