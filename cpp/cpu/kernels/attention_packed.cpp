// flash_attn_ext for many queries, limited by arithmetic: panels of queries against one block of keys after the other
// (attention_panels.hpp).
//
//   for some groups a round (attention.hpp):
//     prepare:  a block of keys and values, packed once for all queries of the group into the shared workspace
//     compute:  for each block of queries (a chunk), some panels: their blocks of keys
//
// A panel's keys range from the first to the last that one of its queries does not mask, so half of causal attention is
// skipped. The shape alone determines the blocks of keys, so a result does not depend on the number of threads.
#include "cpu/kernels/attention_panels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace tensorlib::core::attention {

namespace {

// Panels that use a block of k and v one after the other.
constexpr std::int64_t panels_together = 2;
// Packed keys and values of a round: 4 MiB, if that is a group for each thread.
constexpr std::int64_t round_floats = std::int64_t{1} << 20;

// What plan() decides: the groups that a round packs.
struct Decisions {
    std::int64_t groups;
};

struct Blocking {
    Shape shape;
    PanelParts parts;
    std::int64_t blocks, groups_per_round, panels, chunks_per_group;
    // Floats of a group's packed keys and values.
    std::int64_t group_floats;

    Blocking(const Tensor &node, std::int64_t groups, const simd::SimdTable &simd) noexcept
        : shape(node),
          parts(shape.n, shape.m, shape.cap, panels_together, simd),
          blocks(ceil_div(shape.keys, block_keys)),
          groups_per_round(groups),
          panels(ceil_div(shape.columns(), parts.MR)),
          chunks_per_group(ceil_div(panels, panels_together)),
          group_floats(ceil_div(shape.keys * (shape.n + shape.m), 16) * 16) {}

    std::int64_t rounds() const noexcept { return ceil_div(shape.groups(), groups_per_round); }
    PanelWork of_thread(const Step &step, const Slice &slice) const noexcept {
        std::byte *threads = step.workspace + static_cast<std::size_t>(groups_per_round * group_floats) * sizeof(float);
        return {parts, slice.simd, threads + static_cast<std::size_t>(slice.thread) * parts.thread.size};
    }
    // A block's keys, and where keys and values are packed.
    Range keys_of(std::int64_t block) const noexcept { return {block * block_keys, std::min((block + 1) * block_keys, shape.keys)}; }
    float *keys(const Step &step, std::int64_t in_round, std::int64_t block) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + in_round * group_floats + block * block_keys * (shape.n + shape.m);
    }
    float *values(const Step &step, std::int64_t in_round, std::int64_t block) const noexcept {
        const Range own = keys_of(block);
        return keys(step, in_round, block) + (own.end - own.begin) * shape.n;
    }
};

void prepare(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const std::int64_t in_round = slice.chunk / b.blocks, block = slice.chunk % b.blocks, g = slice.round * b.groups_per_round + in_round;
    if (g >= b.shape.groups()) return;
    const Group group(b.shape, step, g);
    const Range own = b.keys_of(block);
    const std::int64_t n = own.end - own.begin;
    float *decoded = b.of_thread(step, slice).at(b.parts.rows);
    const auto rows = [&](const TensorRef &t, const std::byte *of_group) {
        return PackedFrom(t, of_group + static_cast<std::size_t>(own.begin) * t.nb[1], n, decoded, slice.simd);
    };
    pack_keys(b.parts, rows(step.src[1], group.k), n, b.keys(step, in_round, block));
    pack_values(b.parts, rows(step.src[2], group.v), n, b.values(step, in_round, block));
}

constexpr std::size_t most_rows = 32;

// A panel of a group, from column `first` on.
struct MaskedPanel {
    Panel panel;
    std::int64_t first;
    std::array<const std::byte *, most_rows> mask;  // each column's row of the mask
};

MaskedPanel panel_at(const Blocking &b, const Step &step, const PanelWork &w, const Group &group, std::int64_t number,
                     std::int64_t place) noexcept {
    const std::int64_t first = number * b.parts.MR;
    MaskedPanel of{begin_panel(w, place, std::min(b.parts.MR, b.shape.columns() - first)), first, {}};
    Panel &p = of.panel;
    float *rows = w.at(b.parts.rows);
    const std::byte *last_mask = nullptr;
    for (std::int64_t i = 0; i < p.columns; i++) {
        const Column column = column_of(b.shape, group, first + i);
        load_query(b.shape, step, group, column, rows + i * b.shape.n, w.simd);
        p.slopes[i] = mask_slope(b.shape, step, column);
        const std::byte *mask = of.mask[static_cast<std::size_t>(i)] = mask_row(step, group, column);
        if (!mask) p.keys = {0, b.shape.keys};
        if (mask == last_mask) continue;
        last_mask = mask;
        const Range own = unmasked(step.src[3], mask, {0, b.shape.keys});
        if (own.begin < own.end) p.keys = {std::min(p.keys.begin, own.begin), std::max(p.keys.end, own.end)};
    }
    pack_queries(w, p);
    return of;
}

// The mask of a panel's columns for some keys as [keys][MR]; null if it adds nothing.
const float *mask_panel(const Step &step, const PanelWork &w, const MaskedPanel &p, Range keys) noexcept {
    const TensorRef &mask = step.src[3];
    if (!mask.data) return nullptr;
    const auto rows = std::span(p.mask).first(static_cast<std::size_t>(p.panel.columns));
    const auto none = [&](std::size_t i) { return (i > 0 && rows[i] == rows[i - 1]) || all_zero(mask, rows[i], keys); };
    std::size_t i = 0;
    while (i < rows.size() && none(i)) i++;
    if (i == rows.size()) return nullptr;
    const std::int64_t n = keys.end - keys.begin, row_bytes = n * static_cast<std::int64_t>(sizeof(float));
    float *decoded = w.at(w.parts.rows);
    for (i = 0; i < rows.size(); i++) {
        float *to = decoded + static_cast<std::int64_t>(i) * n;
        if (i > 0 && rows[i] == rows[i - 1]) {
            std::memcpy(to, to - n, static_cast<std::size_t>(row_bytes));
        } else {
            load_row(mask, rows[i], keys.begin, n, to, w.simd);
        }
    }
    float *panel = w.at(w.parts.mask);
    w.simd.pack.f32(n, reinterpret_cast<const char *>(decoded), sizeof(float), row_bytes, static_cast<int>(p.panel.columns),
                    static_cast<int>(w.parts.MR), panel);
    return panel;
}

// Processes a block of keys for one panel. Keys of the block that are masked for all columns have the weight 0.
void meet(const Blocking &b, const Step &step, const PanelWork &w, MaskedPanel &p, std::int64_t in_round, std::int64_t block) noexcept {
    const KeyBlock keys{b.keys_of(block), b.keys(step, in_round, block), b.values(step, in_round, block)};
    const Range part = read_by(b.parts, p.panel, keys);
    if (part.begin >= part.end) return;
    multiply_block(w, p.panel, keys, part);
    const float *mask = mask_panel(step, w, p, {keys.keys.begin + part.begin, keys.keys.begin + part.end});
    add_block(w, p.panel, keys, part, mask);
}

void finish(const Blocking &b, const Step &step, const PanelWork &w, const Group &group, const MaskedPanel &of) noexcept {
    const Panel &p = of.panel;
    transpose_sums(w, p);
    for (std::int64_t i = 0; i < p.columns; i++) {
        const Column column = column_of(b.shape, group, of.first + i);
        store_result(b.shape.m, step.src[4], column.head, w.at(b.parts.rows) + i * b.shape.m, static_cast<double>(p.largest[i]),
                     static_cast<double>(p.sum[i]), result_row(step, group, column), w.simd);
    }
}

void compute(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    const std::int64_t in_round = slice.chunk / b.chunks_per_group, g = slice.round * b.groups_per_round + in_round;
    if (g >= b.shape.groups()) return;
    const Group group(b.shape, step, g);
    const PanelWork w = b.of_thread(step, slice);
    const std::int64_t first = slice.chunk % b.chunks_per_group * panels_together, count = std::min(panels_together, b.panels - first);
    MaskedPanel panels[panels_together];
    for (std::int64_t i = 0; i < count; i++) panels[i] = panel_at(b, step, w, group, first + i, i);
    for (std::int64_t block = 0; block < b.blocks; block++) {
        for (std::int64_t i = 0; i < count; i++) meet(b, step, w, panels[i], in_round, block);
    }
    for (std::int64_t i = 0; i < count; i++) finish(b, step, w, group, panels[i]);
}

}  // namespace

const char *plan_packed(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Blocking one(p.node, 1, simd);
    if (one.shape.columns() <= few_columns) return few_queries;
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
                     static_cast<std::size_t>(p.n_threads) * b.parts.thread.size;
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
