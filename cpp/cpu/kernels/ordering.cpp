// argsort and top_k: indices of elements. math/order.hpp defines the order exactly, so the result does not
// depend on how the work is divided. F32, F16 and BF16 are ordered as F32, smaller integers as I32, I64 and F64 as they
// are.
#include "cpu/kernels/lines.hpp"
#include "cpu/kernels/sorting.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

#include <limits>

namespace tensorlib::core {

namespace {

using math::Order;
using math::place_of;
using math::sort_entry;
using math::SortEntryOf;

std::size_t entry_size(const Tensor &node) noexcept {
    return ops::visit_number(ops::ordered_type(node.src[0]->layout.type), []<class E>(E) { return sizeof(SortEntryOf<E>); });
}

std::int32_t *places_of_row(const Step &step, std::int64_t row) noexcept {
    return reinterpret_cast<std::int32_t *>(step.dst.data) + row * step.node->layout.ne[0];
}

// The shortest part of a row that is worth a thread.
constexpr std::int64_t shortest_part = 1 << 15;

// ---- argsort, with one thread per row: a chunk is some rows.

Order order_of(const Tensor &node) noexcept {
    return attrs_of<ops::ArgsortAttrs>(node).order == ops::ArgsortOrder::desc ? Order::descending : Order::ascending;
}

// A sorted part of a row, in entries or room, which are equally long.
template <class E>
SortEntryOf<E> *sort_part(const Step &step, const ElementReader<E> &reader, std::int64_t row, Range part, SortEntryOf<E> *entries,
                          SortEntryOf<E> *room) noexcept {
    const Order order = order_of(*step.node);
    reader.for_each_block(row, part, [&](std::int64_t from, std::int64_t n, const E *x) {
        for (std::int64_t i = 0; i < n; i++) entries[from - part.begin + i] = sort_entry(x[i], from + i, order);
    });
    return sort_entries(entries, room, part.end - part.begin);
}

// The workspace's parts: one per thread, or one per chunk if there are fewer chunks.
struct ScratchParts {
    bool per_chunk;

    ScratchParts() = default;
    ScratchParts(const Problem &p, const KernelPlan &plan) noexcept : per_chunk(plan.chunks(Stage::compute) <= p.n_threads) {}
    std::int64_t count(const Problem &p, const KernelPlan &plan) const noexcept {
        return per_chunk ? plan.chunks(Stage::compute) : p.n_threads;
    }
    std::int64_t part_of(const Slice &slice) const noexcept { return per_chunk ? slice.chunk : slice.thread; }
};

// Sorting takes about as long as moving this many times the bytes.
constexpr std::int64_t moves_of_sorting = 20;

void plan_sort_rows(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.chunks(Stage::compute) = chunks_for(c.n_rows(), moves_of_sorting * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
    const ScratchParts scratch(p, plan);
    plan.keep(scratch);
    plan.workspace = static_cast<std::size_t>(scratch.count(p, plan) * 2 * c.ne[0]) * entry_size(p.node);
}

template <class E>
void run_sort_rows_as(const Step &step, const Slice &slice) noexcept {
    using Entry = SortEntryOf<E>;
    const std::int64_t n = step.node->layout.ne[0];
    if (n == 0) return;
    const ElementReader<E> reader(step, rows_of(step.node->src[0]->layout), slice.simd);
    Entry *entries = reinterpret_cast<Entry *>(step.workspace) + step.plan.kept<ScratchParts>().part_of(slice) * 2 * n;
    const Range rows = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t row = rows.begin; row < rows.end; row++) {
        const Entry *sorted = sort_part<E>(step, reader, row, {0, n}, entries, entries + n);
        std::transform(sorted, sorted + n, places_of_row(step, row), [](const Entry &entry) { return place_of(entry); });
    }
}

void run_sort_rows(const Step &step, const Slice &slice) noexcept {
    ops::visit_number(ops::ordered_type(step.src[0].type), [&]<class E>(E) { run_sort_rows_as<E>(step, slice); });
}

// ---- argsort of fewer and longer rows than there are threads: parts of a row are sorted, then merged in pairs, with a
// round for each doubling. A chunk makes the same range of its row in each round. It finds where its range begins in
// the two runs that it merges (taken_of_a).

// What plan_sort_parts() decides: the parts of a row.
struct SortDecisions {
    std::int64_t parts;
};

std::int64_t parts_of_rows(const Problem &p) noexcept {
    const Layout &c = p.node.layout;
    std::int64_t parts = 1;
    if (c.n_rows() == 0) return parts;
    while (c.n_rows() * parts < p.n_threads && c.ne[0] / (2 * parts) >= shortest_part) parts *= 2;
    return parts;
}

const char *refuse_sort_parts(const Problem &p) noexcept { return parts_of_rows(p) > 1 ? nullptr : "rows are many, or short"; }

void plan_sort_parts(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    const std::int64_t parts = parts_of_rows(p);
    plan.keep(SortDecisions{parts});
    for (std::int64_t together = 1; together < parts; together *= 2) plan.n_rounds++;
    plan.chunks(Stage::compute) = c.n_rows() * parts;
    plan.workspace = static_cast<std::size_t>(2 * c.n_elements()) * entry_size(p.node);
}

template <class E>
void run_sort_parts_as(const Step &step, const Slice &slice) noexcept {
    using Entry = SortEntryOf<E>;
    const std::int64_t n = step.node->layout.ne[0], parts = step.plan.kept<SortDecisions>().parts;
    const std::int64_t row = slice.chunk / parts, number = slice.chunk % parts;
    const auto begin_of = [&](std::int64_t part) { return part_of(n, std::min(part, parts), parts).begin; };
    const Range part{begin_of(number), begin_of(number + 1)};
    // The row's entries before and after the round; the buffers swap.
    Entry *from = reinterpret_cast<Entry *>(step.workspace) + row * 2 * n, *to = from + n;
    if (slice.round == 0) {
        const ElementReader<E> reader(step, rows_of(step.node->src[0]->layout), slice.simd);
        const Entry *sorted = sort_part<E>(step, reader, row, part, from + part.begin, to + part.begin);
        if (sorted != from + part.begin) std::copy(sorted, sorted + (part.end - part.begin), from + part.begin);
        return;
    }
    if (slice.round % 2 == 0) std::swap(from, to);
    const std::int64_t together = std::int64_t{1} << slice.round, first = number / together * together;
    const std::int64_t begin = begin_of(first), middle = begin_of(first + together / 2), end = begin_of(first + together);
    const SortedPair<Entry> pair{from + begin, from + middle, middle - begin, end - middle};
    if (together == parts) {
        std::int32_t *place = places_of_row(step, row) + part.begin;
        merge_range(pair, part.begin - begin, part.end - begin, [&](const Entry &entry) { *place++ = place_of(entry); });
    } else {
        Entry *next = to + part.begin;
        merge_range(pair, part.begin - begin, part.end - begin, [&](const Entry &entry) { *next++ = entry; });
    }
}

void run_sort_parts(const Step &step, const Slice &slice) noexcept {
    ops::visit_number(ops::ordered_type(step.src[0].type), [&]<class E>(E) { run_sort_parts_as<E>(step, slice); });
}

// ---- top_k: a row, or parts of a few long rows, are read once. The first k elements are kept, then sorted.

// What plan_top_k() decides: the parts of a row, and the entries that a selection has room for.
struct TopDecisions {
    std::int64_t parts, room;
    ScratchParts scratch;
};

std::int64_t k_of(const Tensor &node) noexcept { return node.layout.ne[0]; }

void plan_top_k(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const std::int64_t rows = a.n_rows(), n = a.ne[0], k = k_of(p.node), T = p.n_threads;
    std::int64_t parts = 1;
    if (T > 1 && rows > 0 && rows < 2 * T) parts = std::clamp<std::int64_t>(n / std::max(shortest_part, 4 * k), 1, ceil_div(4 * T, rows));
    // Elements are collected up to this number, then cut down to k. More room means fewer cuts, but more elements in
    // between.
    const std::int64_t room = std::min(n, 2 * k + 32);
    plan.chunks(Stage::compute) =
        parts > 1 ? rows * parts : chunks_for(rows, 2 * static_cast<std::int64_t>(a.nbytes() + p.node.layout.nbytes()), T);
    // Room for a chunk's collected elements, and for those of the parts.
    const ScratchParts scratch(p, plan);
    plan.keep(TopDecisions{parts, room, scratch});
    const std::size_t size = entry_size(p.node);
    plan.workspace = static_cast<std::size_t>(scratch.count(p, plan) * room) * size;
    if (parts == 1) return;
    plan.chunks(Stage::combine) = chunks_for(rows, rows * parts * k * static_cast<std::int64_t>(size), T);
    plan.workspace += static_cast<std::size_t>(rows * parts * k) * size;
}

// Moves the first k of n entries to the front, in any order.
template <class Entry>
void keep(Entry *entries, std::int64_t n, std::int64_t k) noexcept {
    if (k < n) std::nth_element(entries, entries + k, entries + n);
}

// Up to this k, entries are kept sorted, and a new one is inserted. For larger k, more than k are collected at times,
// and then cut.
constexpr std::int64_t most_in_order = 32;

// Collects the first k of the entries that it is given, in `entries`, which has room for `room` entries.
template <class Entry>
class TopEntries {
public:
    TopEntries(Entry *entries, std::int64_t k, std::int64_t room) noexcept : entries_(entries), k_(k), room_(room) {}

    // Only entries that come before this one matter.
    const Entry &end() const noexcept { return end_; }

    void take(const Entry &entry) noexcept {
        if (k_ <= most_in_order) {
            std::int64_t at = count_ < k_ ? count_++ : k_ - 1;
            for (; at > 0 && entries_[at - 1] > entry; at--) entries_[at] = entries_[at - 1];
            entries_[at] = entry;
            if (count_ == k_) end_ = entries_[k_ - 1];
        } else {
            entries_[count_++] = entry;
            if (count_ == room_) cut();
        }
    }
    // Moves the k entries to the front, in any order, and returns their number.
    std::int64_t finish() noexcept {
        if (count_ > k_) cut();
        return count_;
    }

private:
    void cut() noexcept {
        keep(entries_, count_, k_);
        count_ = k_;
        end_ = *std::max_element(entries_, entries_ + k_);
    }

    Entry *entries_;
    std::int64_t k_, room_, count_ = 0;
    Entry end_ = last_entry<Entry>();
};

// Floats below this come after an entry. The next key before that entry is the next float. Any float comes before NaN,
// so NaN has no such bound.
float least_before(SortEntry end) noexcept {
    const bool of_nan = end >> 32 == last_entry<SortEntry>() >> 32;
    return of_nan ? -std::numeric_limits<float>::infinity() : math::descending_value(end - (SortEntry{1} << 32));
}

// The first k entries of a part of a row, at the front of `entries`; all if there are fewer. Once k are found, floats
// that are no larger than the least of them are skipped, because their indices come later.
template <class E>
std::int64_t select(const ElementReader<E> &reader, std::int64_t row, Range part, std::int64_t k, SortEntryOf<E> *entries,
                    std::int64_t room, [[maybe_unused]] const simd::SimdTable &simd) noexcept {
    using Entry = SortEntryOf<E>;
    TopEntries<Entry> kept(entries, k, room);
    reader.for_each_block(row, part, [&](std::int64_t from, std::int64_t n, const E *x) {
        for (std::int64_t i = 0; i < n; i++) {
            if constexpr (std::is_same_v<E, float>) {
                if (kept.end() != last_entry<Entry>()) {
                    i += simd.comparisons.first_at_least(n - i, x + i, least_before(kept.end()));
                    if (i == n) return;
                }
            }
            const Entry entry = sort_entry(x[i], from + i, Order::descending);
            if (entry < kept.end()) kept.take(entry);
        }
    });
    return kept.finish();
}

// Uses std::sort, because sort_entries() requires entries in the order of their indices.
template <class Entry>
void store_sorted(const Step &step, std::int64_t row, Entry *entries) noexcept {
    const std::int64_t k = k_of(*step.node);
    std::sort(entries, entries + k);
    std::transform(entries, entries + k, places_of_row(step, row), [](const Entry &entry) { return place_of(entry); });
}

template <class E>
void run_top_k_as(const Step &step, const Slice &slice) noexcept {
    using Entry = SortEntryOf<E>;
    const Layout &a = step.node->src[0]->layout;
    const auto [parts, room, scratch] = step.plan.kept<TopDecisions>();
    const std::int64_t n = a.ne[0], k = k_of(*step.node);
    if (k == 0) return;
    auto *of_parts = reinterpret_cast<Entry *>(step.workspace);
    if (slice.stage == Stage::combine) {
        const Range rows = part_of(a.n_rows(), slice.chunk, step.plan.chunks(Stage::combine));
        for (std::int64_t row = rows.begin; row < rows.end; row++) {
            Entry *entries = of_parts + row * parts * k;
            keep(entries, parts * k, k);
            store_sorted(step, row, entries);
        }
        return;
    }
    const ElementReader<E> reader(step, rows_of(step.node->src[0]->layout), slice.simd);
    Entry *kept = of_parts + (parts > 1 ? a.n_rows() * parts * k : 0) + scratch.part_of(slice) * room;
    if (parts > 1) {
        Entry *found = of_parts + slice.chunk * k;
        const std::int64_t count =
            select<E>(reader, slice.chunk / parts, part_of(n, slice.chunk % parts, parts), k, kept, room, slice.simd);
        std::fill(std::copy(kept, kept + count, found), found + k, last_entry<Entry>());
        return;
    }
    const Range rows = part_of(a.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t row = rows.begin; row < rows.end; row++) {
        select<E>(reader, row, {0, n}, k, kept, room, slice.simd);
        store_sorted(step, row, kept);
    }
}

void run_top_k(const Step &step, const Slice &slice) noexcept {
    ops::visit_number(ops::ordered_type(step.src[0].type), [&]<class E>(E) { run_top_k_as<E>(step, slice); });
}

constexpr CpuKernel table[] = {
    {{.op = Op::argsort, .name = "argsort_parts", .plan = plan_unless<refuse_sort_parts, plan_sort_parts>}, run_sort_parts},
    {{.op = Op::argsort, .name = "argsort_rows", .plan = plan_always<plan_sort_rows>}, run_sort_rows},
    {{.op = Op::top_k, .name = "top_k", .plan = plan_always<plan_top_k>}, run_top_k},
};

}  // namespace

const std::span<const CpuKernel> kernels::ordering = table;

}  // namespace tensorlib::core
