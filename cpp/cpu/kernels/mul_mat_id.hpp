// What the kernels of mul_mat_id share: slots sorted by their experts, rounds of them, and scattering to c.
// mul_mat_id.cpp explains how these fit together. out_prod_id uses it to sort its slots.
#pragma once

#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>
#include <array>

namespace tensorlib::core::by_expert {

// Slots. Slot (u, t) has the number u + used * t, in ids and as a column of c.

// For an operand with one column for one or several of a token's slots.
inline const std::byte *column_of(const TensorRef &t, std::int64_t used, std::int64_t slot) noexcept {
    return row_address(t, {slot % used % t.ne[1], slot / used, 0});
}
inline const std::byte *column_of_b(const Step &step, std::int64_t slot) noexcept { return column_of(step.src[1], step.dst.ne[1], slot); }
inline float *column_of_c(const Step &step, std::int64_t slot) noexcept {
    return reinterpret_cast<float *>(step.dst.data) + slot * step.dst.ne[0];
}

struct Entry {
    std::int64_t expert, slot;
};
// The entries of one expert: positions `first` to `end` - 1 of the sorted entries.
struct ExpertRange {
    std::int64_t expert, first, end;
    std::int64_t size() const noexcept { return end - first; }
};

// The set-up's part of the workspace.
struct Slots {
    std::int64_t count, experts, most_runs;
    int passes = 0;  // bytes of an expert's index
    WorkspaceParts parts;
    std::array<std::size_t, 2> entries;  // each pass of the sort moves entries from one to the other
    std::size_t runs, n_runs;

    Slots(std::int64_t n, std::int64_t n_experts) noexcept : count(n), experts(n_experts), most_runs(std::min(count, experts)) {
        for (std::int64_t last = experts - 1; last > 0; last >>= 8) passes++;
        for (std::size_t &at : entries) at = parts.add<Entry>(count);
        runs = parts.add<ExpertRange>(most_runs), n_runs = parts.add<std::int64_t>(1);
    }
    template <class T>
    static T *at(const Step &step, std::size_t offset) noexcept {
        return reinterpret_cast<T *>(step.workspace + offset);
    }
};

// The expert of a slot, or -1 if it has none. Any other invalid index is recorded as a fault, and the result is -1 too.
std::int64_t expert_of(const Step &step, std::int64_t experts, std::int64_t slot) noexcept;
// Sorts the slots by their experts on one thread; the slots of one expert keep their order. Calls without() for each
// slot that has no expert.
void set_up(const Slots &slots, const Step &step, void (*without)(const Step &step, std::int64_t slot) noexcept) noexcept;
// For mul_mat_id.
void make_zeros(const Step &step, std::int64_t slot) noexcept;

// The sorted slots of a round, with positions relative to its first. Runs are cut at its ends.
class Round {
public:
    Round(const Slots &slots, const Step &step, std::int64_t round, std::int64_t places) noexcept
        : begin_(round * places),
          all_(Slots::at<ExpertRange>(step, slots.runs)),
          end_of_all_(all_ + *Slots::at<std::int64_t>(step, slots.n_runs)),
          entries_(Slots::at<Entry>(step, slots.entries[static_cast<std::size_t>(slots.passes & 1)]) + begin_) {
        const std::int64_t sorted = all_ == end_of_all_ ? 0 : end_of_all_[-1].end;
        size_ = std::clamp<std::int64_t>(sorted - begin_, 0, places);
        first_ = holding(0);
    }

    std::int64_t size() const noexcept { return size_; }
    const Entry *entries(std::int64_t place) const noexcept { return entries_ + place; }
    ExpertRange run_of(std::int64_t place) const noexcept { return cut(*holding(place)); }
    // Run number `index` of the round; false if there are fewer.
    bool run_at(std::int64_t index, ExpertRange &run) const noexcept {
        if (index >= end_of_all_ - first_ || first_[index].first >= begin_ + size_) return false;
        run = cut(first_[index]);
        return true;
    }

private:
    const ExpertRange *holding(std::int64_t place) const noexcept {
        return std::upper_bound(all_, end_of_all_, begin_ + place, [](std::int64_t at, const ExpertRange &run) { return at < run.end; });
    }
    ExpertRange cut(const ExpertRange &run) const noexcept {
        return {run.expert, std::max<std::int64_t>(run.first - begin_, 0), std::min(run.end - begin_, size_)};
    }

    std::int64_t begin_, size_;
    const ExpertRange *all_, *end_of_all_, *first_;
    const Entry *entries_;
};

// Adds or copies rows of a tile [n][height] to the columns of these slots, starting with row `first`.
void scatter(const Step &step, const Entry *slots, std::int64_t n, const float *tile, std::int64_t height, std::int64_t first,
             std::int64_t rows, bool add) noexcept;

// Prefetches the lines that scatter() will write, because columns lie anywhere.
void fetch_targets(const Step &step, const Entry *slots, std::int64_t n, std::int64_t first, std::int64_t rows) noexcept;

// What the plans of both products decide: the elements of a block of k, the columns of a round, the rows of a chunk.
struct Decisions {
    std::int64_t KC, places, rows_per_chunk;
    bool batch_invariant;
};

struct Blocking {
    Slots slots;
    std::int64_t K, M, KC, places, rows_per_chunk, row_chunks;
    bool in_order;  // whether sums have one order for any number of columns

    Blocking(const Tensor &node, const Decisions &decided) noexcept
        : slots(node.layout.n_rows(), node.src[0]->layout.ne[2]),
          K(node.src[0]->layout.ne[0]),
          M(node.layout.ne[0]),
          KC(decided.KC),
          places(decided.places),
          rows_per_chunk(decided.rows_per_chunk),
          row_chunks(ceil_div(M, rows_per_chunk)),
          in_order(decided.batch_invariant) {}

    Round round(const Step &step, const Slice &slice) const noexcept { return {slots, step, slice.round, places}; }
    // The run and the rows of a chunk; false if it has none.
    bool work_of(const Round &round, const Slice &slice, ExpertRange &run, Range &rows) const noexcept {
        const std::int64_t first = slice.chunk % row_chunks * rows_per_chunk;
        rows = {first, std::min(first + rows_per_chunk, M)};
        return round.run_at(slice.chunk / row_chunks, run);
    }
};

// Rows of a chunk: whole tiles, at most `most`. One expert may get all slots, so its rows alone must give four chunks
// per thread.
std::int64_t rows_of_chunk(const Problem &problem, std::int64_t tile, std::int64_t most) noexcept;

// The part of plan() that both products share. `columns` and `thread` are the bytes of a round's columns and of a
// thread.
void plan_rounds(const Problem &problem, const Blocking &b, std::int64_t places_per_chunk, std::size_t columns, std::size_t thread,
                 KernelPlan &plan) noexcept;

// The rows of the table. Quantised weights by activations rounded to bytes are in mul_mat_id_integer.cpp; constant
// floats, and any types and strides, in mul_mat_id_f32.cpp.
void plan_integers(const Problem &problem, KernelPlan &plan) noexcept;
void run_integers(const Step &step, const Slice &slice) noexcept;
void plan_constant(const Problem &problem, KernelPlan &plan) noexcept;
void plan_floats(const Problem &problem, KernelPlan &plan) noexcept;
void run_floats(const Step &step, const Slice &slice) noexcept;
// out_prod_id, in out_prod_id.cpp.
void plan_outer_products(const Problem &problem, KernelPlan &plan) noexcept;
void run_outer_products(const Step &step, const Slice &slice) noexcept;

}  // namespace tensorlib::core::by_expert
