// paged_attention for few queries of each sequence: a unit is a head of keys, and up to 4 of the queries that it serves: heads of
// one token, or of adjacent tokens. Queries of one sequence share what is read of keys and values; those of different sequences
// are computed one sequence after the other. A unit takes its keys in segments (attention_segment.hpp) and combines them itself,
// in the order of attention_rows.cpp, so that both operations give the same bits in batch-invariant graphs.
//
// Only keys that one of the unit's queries sees are read. The shape and a token's position determine the segments and the
// order in which they are added, so a result does not depend on the number of threads, nor on which pages a sequence has.
#include "cpu/kernels/attention_paged.hpp"

#include "cpu/kernels/convert.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>

namespace tensorlib::core::attention {

namespace {

std::int64_t number_at(const TensorRef &t, std::int64_t i0, std::int64_t i1 = 0) noexcept {
    return integer_value(t.type, t.data + static_cast<std::size_t>(i0) * t.nb[0] + static_cast<std::size_t>(i1) * t.nb[1]);
}

}  // namespace

Paged::Paged(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<ops::PagedAttentionAttrs>(node);
    const Extents &nq = node.src[q_at]->layout.ne, &nk = node.src[k_at]->layout.ne, &np = node.src[pages_at]->layout.ne;
    n = nq[0], m = node.src[v_at]->layout.ne[0], tokens = nq[1], heads = nq[2], kv_heads = nk[1];
    heads_of_group = kv_heads == 0 ? 0 : heads / kv_heads;
    page = attrs.page, window = attrs.window;
    most_keys = np[0] * page, n_pages = nk[2] / page, n_sequences = np[1];
    scale = static_cast<float>(attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(n)));
    cap = static_cast<float>(attrs.logit_softcap);
}

Place place_of(const Step &step, std::int64_t token) noexcept {
    return {number_at(step.src[sequences_at], token), number_at(step.src[positions_at], token)};
}

int wrong_source(const Paged &all, const Place &place) noexcept {
    if (place.sequence < 0 || place.sequence >= all.n_sequences) return sequences_at;
    return place.position < 0 || place.position >= all.most_keys ? positions_at : -1;
}

Range seen_from(const Paged &all, const Place &place) noexcept {
    const std::int64_t end = place.position + 1;
    return {all.window > 0 ? std::max<std::int64_t>(end - all.window, 0) : 0, end};
}

std::int64_t page_number(const Step &step, std::int64_t i, std::int64_t sequence) noexcept {
    return number_at(step.src[pages_at], i, sequence);
}

bool has_pages(const Paged &all, const Step &step, std::int64_t sequence, Range keys) noexcept {
    for (std::int64_t i = keys.begin / all.page; i * all.page < keys.end; i++) {
        const std::int64_t number = page_number(step, i, sequence);
        if (number >= 0 && number < all.n_pages) continue;
        note_fault(step, pages_at, i + step.src[pages_at].ne[0] * sequence);
        return false;
    }
    return true;
}

void load_paged_query(const Paged &all, const Step &step, std::int64_t token, std::int64_t head, float *to,
                      const simd::SimdTable &simd) noexcept {
    const TensorRef &q = step.src[q_at];
    load_row(q, row_address(q, {token, head, 0}), 0, all.n, to, simd);
    simd.norms.normalise(all.n, to, 0, all.query_factor(), to, false);
}

std::int64_t bytes_read(const Paged &all, const Problem &p, std::int64_t units) noexcept {
    const double rows = static_cast<double>(all.n_pages * all.page) / static_cast<double>(std::max<std::int64_t>(all.n_sequences, 1));
    const auto row_bytes = static_cast<double>(p.node.src[k_at]->layout.row_bytes() + p.node.src[v_at]->layout.row_bytes());
    return static_cast<std::int64_t>(std::min(static_cast<double>(units) * rows * row_bytes, 0x1p62));
}

PagedUnits::PagedUnits(const Paged &all, bool batch_invariant) noexcept : parts(all.n, all.m, batch_invariant) {
    heads_of_unit = std::min(all.heads_of_group, most_columns);
    tokens_of_unit = heads_of_unit == 0 ? 1 : most_columns / heads_of_unit;
    head_units = heads_of_unit == 0 ? 0 : ceil_div(all.heads_of_group, heads_of_unit);
    token_units = ceil_div(all.tokens, tokens_of_unit);
    // A unit's tokens are less than a segment from its first one.
    const std::int64_t most_seen = all.window > 0 ? std::min(all.most_keys, all.window + 2 * segment_keys) : all.most_keys;
    const std::int64_t segments = ceil_div(most_seen, segment_keys) + 1;
    sums = parts.thread.add<float>(most_columns * segments * parts.part_floats);
    result = parts.thread.add<float>(parts.m);
}

PagedUnit unit_at(const Paged &all, const PagedUnits &units, std::int64_t number) noexcept {
    const std::int64_t kv_head = number % all.kv_heads, head_unit = number / all.kv_heads % units.head_units,
                       first_token = number / all.kv_heads / units.head_units * units.tokens_of_unit,
                       first = head_unit * units.heads_of_unit;
    return {kv_head,
            kv_head * all.heads_of_group + first,
            std::min(units.heads_of_unit, all.heads_of_group - first),
            {first_token, std::min(first_token + units.tokens_of_unit, all.tokens)}};
}

namespace {

// What compute_unit() works with.
struct Work {
    const Paged &all;
    const PagedUnits &units;
    const Step &step;
    const simd::SimdTable &simd;
    std::byte *workspace;
};

// The columns of one sequence: `tokens` adjacent ones, and heads from `first_head` on. The column of head h of token t is
// number t * heads + h.
struct Columns {
    std::int64_t kv_head, first_head, heads, first_token, tokens;
    Place places[most_columns];  // of each token

    int count() const noexcept { return static_cast<int>(heads * tokens); }
};

Range intersection(Range a, Range b) noexcept { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// Adds the values that each column sees to its y, key after key: those that all see for all columns at once. A value that a
// column does not see may be infinite, so a weight of 0 would not leave it out.
void add_seen(const Work &w, const ColumnSegment &u, const Columns &c, float *y, std::ptrdiff_t ldy) noexcept {
    Range common = u.keys;
    for (std::int64_t t = 0; t < c.tokens; t++) common = intersection(common, seen_from(w.all, c.places[t]));
    const auto add = [&](int first, int columns, Range keys) {
        for_pages(w.all, w.step, w.step.src[v_at], c.kv_head, c.places[0].sequence, keys,
                  [&](std::int64_t key, const RowRun &run) { add_values(u, first, columns, key, run, y + first * ldy, ldy); });
    };
    const auto heads = static_cast<int>(c.heads);
    const auto add_own = [&](std::int64_t from, std::int64_t to) {
        for (int t = 0; t < static_cast<int>(c.tokens); t++) {
            const Range own = intersection({from, to}, seen_from(w.all, c.places[t]));
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

void compute_columns(const Work &w, const Columns &c) noexcept {
    const Paged &all = w.all;
    const SegmentParts &parts = w.units.parts;
    const TensorRef &k = w.step.src[k_at], &v = w.step.src[v_at];
    const KeysAndValues operands{k, v, tiles_as_it_lies(w.step.node->src[k_at]->layout, w.simd), k.nb[2], v.nb[2]};
    ColumnSegment u{parts, operands, w.simd, w.workspace, c.count(), {}};
    Range seen = seen_from(all, c.places[0]);
    for (std::int64_t t = 1; t < c.tokens; t++) {
        const Range own = seen_from(all, c.places[t]);
        seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    if (!has_pages(all, w.step, c.places[0].sequence, seen)) return;
    for (int j = 0; j < u.columns; j++)
        load_paged_query(all, w.step, c.first_token + j / c.heads, c.first_head + j % c.heads, u.query(j), w.simd);
    // Segments begin at multiples of segment_keys, wherever a window begins.
    const std::int64_t first = seen.begin / segment_keys, count = ceil_div(seen.end, segment_keys) - first;
    const std::int64_t column_floats = count * parts.part_floats;
    float *sums = u.at(w.units.sums);
    for (std::int64_t segment = 0; segment < count; segment++) {
        float *part = sums + segment * parts.part_floats;
        for (int j = 0; j < u.columns; j++) clear_part(parts, part + j * column_floats);
        const std::int64_t begin = (first + segment) * segment_keys;
        u.keys = {std::max(begin, seen.begin), std::min(begin + segment_keys, seen.end)};
        for_pages(all, w.step, k, c.kv_head, c.places[0].sequence, u.keys,
                  [&](std::int64_t key, const RowRun &run) { multiply_keys(u, key, run); });
        for (int j = 0; j < u.columns; j++) {
            flatten_scores(u, j, all.cap);
            const Range own = seen_from(all, c.places[j / c.heads]);
            float *s = u.scores(j);
            for (std::int64_t key = u.keys.begin; key < u.keys.end; key++) {
                if (key < own.begin || key >= own.end) s[key - u.keys.begin] = nothing;
            }
            weigh(u, j, all.cap, nullptr, 0, part + j * column_floats);
        }
        add_seen(w, u, c, part + 2, static_cast<std::ptrdiff_t>(column_floats));
    }
    for (int j = 0; j < u.columns; j++) {
        const std::int64_t head = c.first_head + j % c.heads;
        float *y = u.at(w.units.result);
        const Combined combined = combine(parts, sums + j * column_floats, count, y, w.simd);
        store_result(parts.m, w.step.src[sinks_at], head, y, combined.largest, combined.sum,
                     paged_result(w.step, c.first_token + j / c.heads, head), w.simd);
    }
}

}  // namespace

void compute_unit(const Paged &all, const PagedUnits &units, const Step &step, const simd::SimdTable &simd, std::byte *workspace,
                  const PagedUnit &unit, LeftOut left_out) noexcept {
    const Work w{all, units, step, simd, workspace};
    Columns c{unit.kv_head, unit.first_head, unit.heads, unit.tokens.begin, 0, {}};
    const auto compute_collected = [&] {
        if (c.tokens > 0) compute_columns(w, c);
        c.tokens = 0;
    };
    for (std::int64_t token = unit.tokens.begin; token < unit.tokens.end; token++) {
        const Place place = place_of(step, token);
        const int wrong = wrong_source(all, place);
        if (wrong >= 0) note_fault(step, wrong, token);
        const bool is_computed = wrong < 0 && !(left_out && left_out(all, step, token));
        const bool is_near = is_computed && c.tokens > 0 && place.sequence == c.places[0].sequence &&
                             std::abs(place.position - c.places[0].position) < segment_keys;
        if (!is_near) compute_collected();
        if (!is_computed) continue;
        if (c.tokens == 0) c.first_token = token;
        c.places[c.tokens++] = place;
    }
    compute_collected();
}

void plan_paged(const Problem &p, KernelPlan &plan) noexcept {
    plan.chunks(Stage::compute) = 0;
    if (p.node.layout.n_elements() == 0) return;
    plan.keep(p.batch_invariant);
    const Paged all(p.node);
    const PagedUnits units(all, p.batch_invariant);
    const std::int64_t count = units.count(all);
    plan.chunks(Stage::compute) = chunks_for(count, bytes_read(all, p, count), p.n_threads);
    plan.workspace = static_cast<std::size_t>(p.n_threads) * units.parts.thread.size;
}

void run_paged(const Step &step, const Slice &slice) noexcept {
    const Paged all(*step.node);
    const PagedUnits units(all, step.plan.kept<bool>());
    const Range own = part_of(units.count(all), slice.chunk, step.plan.chunks(Stage::compute));
    std::byte *workspace = step.workspace + static_cast<std::size_t>(slice.thread) * units.parts.thread.size;
    for (std::int64_t unit = own.begin; unit < own.end; unit++)
        compute_unit(all, units, step, slice.simd, workspace, unit_at(all, units, unit), nullptr);
}

}  // namespace tensorlib::core::attention
