// paged_attention: a unit is a head of keys, and up to 4 of the queries that it serves: heads of one token, or of adjacent
// tokens. Queries of one sequence share what is read of keys and values; those of different sequences are computed one
// sequence after the other. A unit takes its keys in segments (attention_segment.hpp) and combines them itself, in the order
// of attention_rows.cpp, so that both operations give the same bits in batch-invariant graphs.
//
// Only keys that one of the unit's queries sees are read. The shape and a token's position determine the segments and the
// order in which they are added, so a result does not depend on the number of threads, nor on which pages a sequence has.
#include "cpu/kernels/attention_segment.hpp"
#include "cpu/kernels/convert.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>
#include <cstring>

namespace tensorlib::core::attention {

namespace {

// The operands' positions.
enum Source : int { q_at, k_at, v_at, pages_at, positions_at, sequences_at, sinks_at };

struct Paged {
    std::int64_t tokens, heads, kv_heads, heads_of_group, page, window, most_keys, n_pages, n_sequences;
    float scale, cap;
    SegmentParts parts;
    // A unit is `heads_of_unit` heads of `tokens_of_unit` tokens.
    std::int64_t heads_of_unit, tokens_of_unit, head_units, token_units;
    std::size_t sums, result;

    Paged(const Tensor &node, bool batch_invariant) noexcept
        : parts(node.src[q_at]->layout.ne[0], node.src[v_at]->layout.ne[0], batch_invariant) {
        const auto &attrs = attrs_of<ops::PagedAttentionAttrs>(node);
        const Extents &nq = node.src[q_at]->layout.ne, &nk = node.src[k_at]->layout.ne, &np = node.src[pages_at]->layout.ne;
        tokens = nq[1], heads = nq[2], kv_heads = nk[1];
        heads_of_group = kv_heads == 0 ? 0 : heads / kv_heads;
        page = attrs.page, window = attrs.window;
        most_keys = np[0] * page, n_pages = nk[2] / page, n_sequences = np[1];
        scale = static_cast<float>(attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(nq[0])));
        cap = static_cast<float>(attrs.logit_softcap);
        heads_of_unit = std::min(heads_of_group, most_columns);
        tokens_of_unit = heads_of_unit == 0 ? 1 : most_columns / heads_of_unit;
        head_units = heads_of_unit == 0 ? 0 : ceil_div(heads_of_group, heads_of_unit);
        token_units = ceil_div(tokens, tokens_of_unit);
        // A unit's tokens are less than a segment from its first one.
        const std::int64_t most_seen = window > 0 ? std::min(most_keys, window + 2 * segment_keys) : most_keys;
        const std::int64_t segments = ceil_div(most_seen, segment_keys) + 1;
        sums = parts.thread.add<float>(most_columns * segments * parts.part_floats);
        result = parts.thread.add<float>(parts.m);
    }

    std::int64_t units() const noexcept { return kv_heads * head_units * token_units; }
    float query_factor() const noexcept { return cap > 0 ? scale / cap : scale; }
};

std::int64_t number_at(const TensorRef &t, std::int64_t i0, std::int64_t i1 = 0) noexcept {
    return integer_value(t.type, t.data + static_cast<std::size_t>(i0) * t.nb[0] + static_cast<std::size_t>(i1) * t.nb[1]);
}

// A token's sequence and position.
struct Place {
    std::int64_t sequence, position;
};

// Records numbers that do not exist, also of pages that the token needs, and returns false.
bool find_place(const Paged &all, const Step &step, std::int64_t token, Place &place) noexcept {
    place = {number_at(step.src[sequences_at], token), number_at(step.src[positions_at], token)};
    if (place.sequence < 0 || place.sequence >= all.n_sequences) {
        note_fault(step, sequences_at, token);
        return false;
    }
    if (place.position < 0 || place.position >= all.most_keys) {
        note_fault(step, positions_at, token);
        return false;
    }
    return true;
}

Range seen_from(const Paged &all, const Place &place) noexcept {
    const std::int64_t end = place.position + 1;
    return {all.window > 0 ? std::max<std::int64_t>(end - all.window, 0) : 0, end};
}

// Whether the sequence has all pages of these keys; records the first that does not exist.
bool has_pages(const Paged &all, const Step &step, std::int64_t sequence, Range keys) noexcept {
    const TensorRef &pages = step.src[pages_at];
    for (std::int64_t i = keys.begin / all.page; i * all.page < keys.end; i++) {
        const std::int64_t number = number_at(pages, i, sequence);
        if (number >= 0 && number < all.n_pages) continue;
        note_fault(step, pages_at, i + pages.ne[0] * sequence);
        return false;
    }
    return true;
}

// The columns of one sequence: `tokens` adjacent ones, and heads from `first_head` on. The column of head h of token t is
// number t * heads + h.
struct Columns {
    std::int64_t kv_head, first_head, heads, first_token, tokens;
    Place places[most_columns];  // of each token

    int count() const noexcept { return static_cast<int>(heads * tokens); }
};

// Calls f(first key, run) for the pages that hold these keys.
template <class F>
void for_pages(const Paged &all, const Step &step, const TensorRef &t, const Columns &c, Range keys, F f) noexcept {
    const std::byte *head = t.data + static_cast<std::size_t>(c.kv_head) * t.nb[1];
    for (std::int64_t key = keys.begin; key < keys.end;) {
        const std::int64_t number = number_at(step.src[pages_at], key / all.page, c.places[0].sequence), in_page = key % all.page;
        const std::int64_t n = std::min(all.page - in_page, keys.end - key);
        f(key, RowRun{head + static_cast<std::size_t>(number * all.page + in_page) * t.nb[2], n});
        key += n;
    }
}

Range intersection(Range a, Range b) noexcept { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// Adds the values that each column sees to its y, key after key: those that all see for all columns at once. A value that a
// column does not see may be infinite, so a weight of 0 would not leave it out.
void add_seen(const Paged &all, const Step &step, const ColumnSegment &u, const Columns &c, float *y, std::ptrdiff_t ldy) noexcept {
    Range common = u.keys;
    for (std::int64_t t = 0; t < c.tokens; t++) common = intersection(common, seen_from(all, c.places[t]));
    const auto add = [&](int first, int columns, Range keys) {
        for_pages(all, step, step.src[v_at], c, keys,
                  [&](std::int64_t key, const RowRun &run) { add_values(u, first, columns, key, run, y + first * ldy, ldy); });
    };
    const auto heads = static_cast<int>(c.heads);
    const auto add_own = [&](std::int64_t from, std::int64_t to) {
        for (int t = 0; t < static_cast<int>(c.tokens); t++) {
            const Range own = intersection({from, to}, seen_from(all, c.places[t]));
            if (own.begin < own.end) add(t * heads, heads, own);
        }
    };
    if (common.begin >= common.end) {
        add_own(u.keys.begin, u.keys.end);
        return;
    }
    add_own(u.keys.begin, common.begin);
    add(0, u.columns, common);
    add_own(common.end, u.keys.end);
}

void compute_columns(const Paged &all, const Step &step, const Slice &slice, const Columns &c) noexcept {
    const TensorRef &q = step.src[q_at], &k = step.src[k_at], &v = step.src[v_at];
    const KeysAndValues operands{k, v, tiles_as_it_lies(step.node->src[k_at]->layout, slice.simd), k.nb[2], v.nb[2]};
    std::byte *workspace = step.workspace + static_cast<std::size_t>(slice.thread) * all.parts.thread.size;
    ColumnSegment u{all.parts, operands, slice.simd, workspace, c.count(), {}};
    Range seen = seen_from(all, c.places[0]);
    for (std::int64_t t = 1; t < c.tokens; t++) {
        const Range own = seen_from(all, c.places[t]);
        seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    if (!has_pages(all, step, c.places[0].sequence, seen)) return;
    for (int j = 0; j < u.columns; j++) {
        load_row(q, row_address(q, {c.first_token + j / c.heads, c.first_head + j % c.heads, 0}), 0, all.parts.n, u.query(j), slice.simd);
        slice.simd.norms.normalise(all.parts.n, u.query(j), 0, all.query_factor(), u.query(j), false);
    }
    // Segments begin at multiples of segment_keys, wherever a window begins.
    const std::int64_t first = seen.begin / segment_keys, count = ceil_div(seen.end, segment_keys) - first;
    const std::int64_t column_floats = count * all.parts.part_floats;
    float *sums = u.at(all.sums);
    for (std::int64_t segment = 0; segment < count; segment++) {
        float *parts = sums + segment * all.parts.part_floats;
        for (int j = 0; j < u.columns; j++) clear_part(all.parts, parts + j * column_floats);
        const std::int64_t begin = (first + segment) * segment_keys;
        u.keys = {std::max(begin, seen.begin), std::min(begin + segment_keys, seen.end)};
        for_pages(all, step, k, c, u.keys, [&](std::int64_t key, const RowRun &run) { multiply_keys(u, key, run); });
        for (int j = 0; j < u.columns; j++) {
            flatten_scores(u, j, all.cap);
            const Range own = seen_from(all, c.places[j / c.heads]);
            float *s = u.scores(j);
            for (std::int64_t key = u.keys.begin; key < u.keys.end; key++) {
                if (key < own.begin || key >= own.end) s[key - u.keys.begin] = nothing;
            }
            weigh(u, j, all.cap, nullptr, 0, parts + j * column_floats);
        }
        add_seen(all, step, u, c, parts + 2, static_cast<std::ptrdiff_t>(column_floats));
    }
    for (int j = 0; j < u.columns; j++) {
        const std::int64_t head = c.first_head + j % c.heads;
        float *y = u.at(all.result);
        const Combined combined = combine(all.parts, sums + j * column_floats, count, y, slice.simd);
        auto *to = reinterpret_cast<float *>(row_address(step.dst, {head, c.first_token + j / c.heads, 0}));
        store_result(all.parts.m, step.src[sinks_at], head, y, combined.largest, combined.sum, to, slice.simd);
    }
}

// Tokens of one sequence, of the unit's adjacent ones, at a time.
void compute_unit(const Paged &all, const Step &step, const Slice &slice, std::int64_t number) noexcept {
    const std::int64_t kv_head = number % all.kv_heads, head_unit = number / all.kv_heads % all.head_units,
                       first_token = number / all.kv_heads / all.head_units * all.tokens_of_unit;
    const std::int64_t end_token = std::min(first_token + all.tokens_of_unit, all.tokens), first = head_unit * all.heads_of_unit;
    Columns c{kv_head, kv_head * all.heads_of_group + first, std::min(all.heads_of_unit, all.heads_of_group - first), first_token, 0, {}};
    for (std::int64_t token = first_token; token < end_token; token++) {
        Place place;
        const bool is_there = find_place(all, step, token, place);
        const bool is_near = is_there && c.tokens > 0 && place.sequence == c.places[0].sequence &&
                             std::abs(place.position - c.places[0].position) < segment_keys;
        if (c.tokens > 0 && !is_near) {
            compute_columns(all, step, slice, c);
            c.tokens = 0;
        }
        if (!is_there) continue;
        if (c.tokens == 0) c.first_token = token;
        c.places[c.tokens++] = place;
    }
    if (c.tokens > 0) compute_columns(all, step, slice, c);
}

}  // namespace

void plan_paged(const Problem &p, KernelPlan &plan) noexcept {
    plan.chunks(Stage::compute) = 0;
    if (p.node.layout.n_elements() == 0) return;
    plan.keep(p.batch_invariant);
    const Paged all(p.node, p.batch_invariant);
    // As if each token saw as many keys as there are rows for each sequence.
    const double rows = static_cast<double>(all.n_pages * all.page) / static_cast<double>(std::max<std::int64_t>(all.n_sequences, 1));
    const auto row_bytes = static_cast<double>(p.node.src[k_at]->layout.row_bytes() + p.node.src[v_at]->layout.row_bytes());
    const double read = std::min(static_cast<double>(all.units()) * rows * row_bytes, 0x1p62);
    plan.chunks(Stage::compute) = chunks_for(all.units(), static_cast<std::int64_t>(read), p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * all.parts.thread.size;
}

void run_paged(const Step &step, const Slice &slice) noexcept {
    const Paged all(*step.node, step.plan.kept<bool>());
    const Range units = part_of(all.units(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) compute_unit(all, step, slice, unit);
}

}  // namespace tensorlib::core::attention
