// paged_attention for many queries, some of which are runs: adjacent tokens of one sequence at adjacent positions, as in a prompt.
// Runs are limited by arithmetic, as in attention_packed.cpp. Other tokens are computed as attention_paged.cpp does.
//
//   compute:  for each tile of up to 128 columns (a chunk): the long runs in it, some panels each (attention_panels.hpp). A block
//             of their keys and values is decoded and packed once, in the thread's own memory, for all panels of a run
//   combine:  the tokens that are in no long run
//
// A tile is small enough that its queries and sums stay in the L2 cache, and large enough that packing is a tenth of the work or
// less: a value is packed in half a cycle, and multiplied with 128 queries in 8. The operands determine runs and blocks, so a
// result does not depend on the number of threads, nor on which pages a sequence has.
#include "cpu/kernels/attention_paged.hpp"
#include "cpu/kernels/attention_panels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tensorlib::core::attention {

namespace {

constexpr std::int64_t tile_columns = 128;
constexpr std::int64_t most_panels = tile_columns;  // of the smallest micro-kernel, which has one row

std::int64_t tokens_of_tile(const Paged &all) noexcept { return std::max<std::int64_t>(tile_columns / all.heads_of_group, 1); }

struct Tiles {
    Paged all;
    PanelParts panels;
    PagedUnits units;
    // A thread's part of the workspace: that of panels and a packed block, or that of units.
    WorkspaceParts block;
    std::size_t k, v, thread_bytes;
    std::int64_t tokens, count;

    Tiles(const Tensor &node, const simd::SimdTable &simd) noexcept
        : all(node),
          panels(all.n, all.m, all.cap, ceil_div(tile_columns, static_cast<std::int64_t>(simd.gemm.rows)), simd),
          units(all, false),
          block(panels.thread),
          k(block.add<float>(block_keys * all.n)),
          v(block.add<float>(block_keys * all.m)),
          thread_bytes(std::max(block.size, units.parts.thread.size)),
          tokens(tokens_of_tile(all)),
          count(ceil_div(all.tokens, tokens)) {}

    std::byte *of_thread(const Step &step, const Slice &slice) const noexcept {
        return step.workspace + static_cast<std::size_t>(slice.thread) * thread_bytes;
    }
};

// Whether token + 1 continues the text of a token.
bool continues(const Paged &all, const Step &step, std::int64_t token) noexcept {
    const Place a = place_of(step, token), b = place_of(step, token + 1);
    return a.sequence == b.sequence && a.position + 1 == b.position && wrong_source(all, a) < 0 && wrong_source(all, b) < 0;
}

bool is_long(const Paged &all, std::int64_t tokens) noexcept { return tokens * all.heads_of_group > few_columns; }

// Whether a token is in a long run of its tile.
bool in_long_run(const Paged &all, const Step &step, std::int64_t token) noexcept {
    const std::int64_t of_tile = tokens_of_tile(all), begin = token / of_tile * of_tile, end = std::min(begin + of_tile, all.tokens);
    std::int64_t first = token, last = token;
    while (first > begin && !is_long(all, last + 1 - first) && continues(all, step, first - 1)) first--;
    while (last + 1 < end && !is_long(all, last + 1 - first) && continues(all, step, last)) last++;
    return is_long(all, last + 1 - first);
}

// A long run for one head of keys. Column c is token c / heads_of_group, head c % heads_of_group.
struct TokenRun {
    std::int64_t kv_head;
    Range tokens;
    Place first;

    std::int64_t token_of(const Paged &all, std::int64_t column) const noexcept { return tokens.begin + column / all.heads_of_group; }
    std::int64_t head_of(const Paged &all, std::int64_t column) const noexcept {
        return kv_head * all.heads_of_group + column % all.heads_of_group;
    }
    Range seen_by(const Paged &all, std::int64_t column) const noexcept {
        return seen_from(all, {first.sequence, first.position + column / all.heads_of_group});
    }
};

struct RunPanel {
    Panel panel;
    std::int64_t first;  // its first column
    Range common;        // keys that all its columns see
};

RunPanel panel_at(const Paged &all, const Step &step, const PanelWork &w, const TokenRun &run, std::int64_t number,
                  std::int64_t columns) noexcept {
    const std::int64_t first = number * w.parts.MR;
    RunPanel of{begin_panel(w, number, std::min(w.parts.MR, columns - first)), first, {}};
    Panel &p = of.panel;
    for (std::int64_t i = 0; i < p.columns; i++) {
        load_paged_query(all, step, run.token_of(all, first + i), run.head_of(all, first + i), w.at(w.parts.rows) + i * all.n, w.simd);
        p.slopes[i] = 1;
    }
    pack_queries(w, p);
    const Range earliest = run.seen_by(all, first), latest = run.seen_by(all, first + p.columns - 1);
    p.keys = {earliest.begin, latest.end};
    of.common = {latest.begin, earliest.end};
    return of;
}

// Decodes rows of k or v, one after the other.
void decode(const Paged &all, const Step &step, const TensorRef &t, const TokenRun &run, Range keys, float *to,
            const simd::SimdTable &simd) noexcept {
    for_pages(all, step, t, run.kv_head, run.first.sequence, keys, [&](std::int64_t, const RowRun &rows) {
        for (std::int64_t i = 0; i < rows.n; i++, to += t.ne[0])
            load_row(t, rows.first + static_cast<std::size_t>(i) * t.nb[2], 0, t.ne[0], to, simd);
    });
}

bool all_finite(const float *x, std::int64_t n) noexcept {
    constexpr std::uint32_t exponent = 0x7f800000;
    std::uint32_t found = 0;
    for (std::int64_t i = 0; i < n; i++) found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x[i]) & exponent) == exponent);
    return found == 0;
}

// Hides the keys of part of a block from the columns that do not see them. The product is replaced too, because it may be
// infinite or NaN. Returns the mask; null if all columns see all of them.
const float *hide_unseen(const Paged &all, const PanelWork &w, const RunPanel &p, const TokenRun &run, Range keys) noexcept {
    if (keys.begin >= p.common.begin && keys.end <= p.common.end) return nullptr;
    const std::int64_t MR = w.parts.MR, n = keys.end - keys.begin;
    float *mask = w.at(w.parts.mask), *s = w.at(w.parts.scores);
    std::fill_n(mask, n * MR, 0.0f);
    for (std::int64_t i = 0; i < p.panel.columns; i++) {
        const Range seen = run.seen_by(all, p.first + i);
        const auto hide = [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t key = from; key < to; key++) {
                mask[(key - keys.begin) * MR + i] = nothing;
                s[(key - keys.begin) * MR + i] = 0;
            }
        };
        hide(keys.begin, std::min(seen.begin, keys.end));
        hide(std::max(seen.end, keys.begin), keys.end);
    }
    return mask;
}

// Returns false, without a result, if a column does not see a value that is not finite: its weight of 0 would not leave it out.
bool compute_run(const Tiles &tiles, const Step &step, const Slice &slice, const TokenRun &run) noexcept {
    const Paged &all = tiles.all;
    const PanelWork w{tiles.panels, slice.simd, tiles.of_thread(step, slice)};
    const std::int64_t columns = (run.tokens.end - run.tokens.begin) * all.heads_of_group, count = ceil_div(columns, w.parts.MR);
    RunPanel panels[most_panels];
    for (std::int64_t i = 0; i < count; i++) panels[i] = panel_at(all, step, w, run, i, columns);
    const Range earliest = run.seen_by(all, 0), latest = run.seen_by(all, columns - 1);
    const Range seen{earliest.begin, latest.end}, common{latest.begin, earliest.end};
    float *rows = w.at(w.parts.rows);
    for (std::int64_t first = seen.begin / block_keys * block_keys; first < seen.end; first += block_keys) {
        const KeyBlock block{{std::max(first, seen.begin), std::min(first + block_keys, seen.end)}, w.at(tiles.k), w.at(tiles.v)};
        const Range keys = block.keys;
        const std::int64_t n = keys.end - keys.begin;
        decode(all, step, step.src[v_at], run, keys, rows, w.simd);
        const bool seen_by_all = keys.begin >= common.begin && keys.end <= common.end;
        if (!seen_by_all && !all_finite(rows, n * all.m)) return false;
        pack_values(w.parts, PackedFrom(rows, all.m, w.simd), n, w.at(tiles.v));
        decode(all, step, step.src[k_at], run, keys, rows, w.simd);
        pack_keys(w.parts, PackedFrom(rows, all.n, w.simd), n, w.at(tiles.k));
        for (std::int64_t i = 0; i < count; i++) {
            const Range part = read_by(w.parts, panels[i].panel, block);
            if (part.begin >= part.end) continue;
            multiply_block(w, panels[i].panel, block, part);
            const float *mask = hide_unseen(all, w, panels[i], run, {keys.begin + part.begin, keys.begin + part.end});
            add_block(w, panels[i].panel, block, part, mask);
        }
    }
    for (std::int64_t i = 0; i < count; i++) {
        const Panel &p = panels[i].panel;
        transpose_sums(w, p);
        for (std::int64_t j = 0; j < p.columns; j++) {
            const std::int64_t column = panels[i].first + j, head = run.head_of(all, column);
            store_result(all.m, step.src[sinks_at], head, rows + j * all.m, static_cast<double>(p.largest[j]),
                         static_cast<double>(p.sum[j]), paged_result(step, run.token_of(all, column), head), w.simd);
        }
    }
    return true;
}

// The tokens of a run, some at a time.
void compute_in_units(const Tiles &tiles, const Step &step, const Slice &slice, const TokenRun &run) noexcept {
    const Paged &all = tiles.all;
    const PagedUnits &units = tiles.units;
    for (std::int64_t token = run.tokens.begin; token < run.tokens.end; token += units.tokens_of_unit) {
        for (std::int64_t head = 0; head < all.heads_of_group; head += units.heads_of_unit) {
            const PagedUnit unit{run.kv_head,
                                 run.kv_head * all.heads_of_group + head,
                                 std::min(units.heads_of_unit, all.heads_of_group - head),
                                 {token, std::min(token + units.tokens_of_unit, run.tokens.end)}};
            compute_unit(all, units, step, slice.simd, tiles.of_thread(step, slice), unit, nullptr);
        }
    }
}

void compute_tile(const Tiles &tiles, const Step &step, const Slice &slice) noexcept {
    const Paged &all = tiles.all;
    const std::int64_t kv_head = slice.chunk % all.kv_heads, begin = slice.chunk / all.kv_heads * tiles.tokens,
                       end = std::min(begin + tiles.tokens, all.tokens);
    for (std::int64_t first = begin, next; first < end; first = next) {
        next = first + 1;
        while (next < end && continues(all, step, next - 1)) next++;
        if (!is_long(all, next - first)) continue;
        const TokenRun run{kv_head, {first, next}, place_of(step, first)};
        const std::int64_t columns = (next - first) * all.heads_of_group;
        const bool is_there = wrong_source(all, run.first) < 0 &&
                              has_pages(all, step, run.first.sequence, {run.seen_by(all, 0).begin, run.seen_by(all, columns - 1).end});
        if (is_there && !compute_run(tiles, step, slice, run)) compute_in_units(tiles, step, slice, run);
    }
}

}  // namespace

const char *plan_paged_packed(const Problem &p, KernelPlan &plan) noexcept {
    if (p.node.layout.n_elements() == 0) return "the result is empty";
    const Paged all(p.node);
    if (!is_long(all, all.tokens)) return few_queries;
    if (p.batch_invariant) return not_batch_invariant;
    if (all.heads_of_group > tile_columns) return "more than 128 heads for a head of keys";
    const Tiles tiles(p.node, static_cast<const CpuBackend &>(p.backend).simd());
    const std::int64_t units = tiles.units.count(all);
    plan.chunks(Stage::compute) = tiles.count * all.kv_heads;
    plan.chunks(Stage::combine) = chunks_for(units, bytes_read(all, p, units), p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * tiles.thread_bytes;
    return nullptr;
}

void run_paged_packed(const Step &step, const Slice &slice) noexcept {
    const Tiles tiles(*step.node, slice.simd);
    if (slice.stage == Stage::compute) {
        compute_tile(tiles, step, slice);
        return;
    }
    const Range own = part_of(tiles.units.count(tiles.all), slice.chunk, step.plan.chunks(Stage::combine));
    for (std::int64_t unit = own.begin; unit < own.end; unit++)
        compute_unit(tiles.all, tiles.units, step, slice.simd, tiles.of_thread(step, slice), unit_at(tiles.all, tiles.units, unit),
                     in_long_run);
}

}  // namespace tensorlib::core::attention
