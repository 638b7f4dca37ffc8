// Sums of rows, each times a number of its own, over a list of active neurons: what axpy and sparse_ffn end with. axpy.cpp says how.
#pragma once

#include "cpu/kernels/active_rows.hpp"

namespace tensorlib::core {

class WeightedRows {
public:
    static constexpr std::int64_t slice = 128, strip = 1024;
    // Up to so many columns the slices' partial sums have room of their own, and all slices are added up at once.
    static constexpr std::int64_t few_columns = 8;

    WeightedRows(const Layout &a_t, std::int64_t columns, bool few, const leaf::LeafTable &leaf) noexcept;

    // Chunks of Stage::compute, which is to have the list; of few columns Stage::combine follows.
    std::int64_t chunks() const noexcept { return few_ ? slices_ * strips_ : column_blocks_ * strips_; }
    std::int64_t combine_chunks() const noexcept { return few_ ? strips_ : 0; }
    std::size_t shared_bytes() const noexcept { return shared_.size; }
    std::size_t thread_bytes() const noexcept { return thread_.size; }

    // What a round has: the weights, the active rows, and what they are multiplied by: weight(row's place in the list, column), which is
    // left out where it is 0.
    template <class Weight>
    struct Work {
        const TensorRef &a_t;
        const std::int64_t *rows;
        std::int64_t n_rows, columns;
        float *c;  // the first column
        const Weight &weight;
    };
    template <class Weight>
    void run(const Work<Weight> &work, std::int64_t chunk, std::byte *shared, std::byte *thread) const noexcept;
    // Adds up the slices of a strip of all columns, in their order.
    void combine(std::int64_t n_rows, std::int64_t columns, std::int64_t strip_number, const std::byte *shared, float *c) const noexcept;

private:
    // Rows that are decoded, and met by all columns, at a time: 32 KiB.
    static constexpr int together = 8;

    template <class Weight>
    void add_slice(const Work<Weight> &work, Range rows, Range columns, Range outputs, float *to, std::int64_t ldt,
                   std::byte *thread) const noexcept;
    // Where these outputs of a row are as floats.
    const float *floats(const TensorRef &a_t, std::int64_t row, Range outputs, int place, std::byte *thread) const noexcept;
    void fetch(const TensorRef &a_t, std::int64_t row, Range outputs) const noexcept;
    Range outputs_of(std::int64_t number) const noexcept { return {number * strip, std::min((number + 1) * strip, K_)}; }

    const leaf::LeafTable &leaf_;
    std::int64_t K_, strips_, slices_, column_blocks_;
    bool few_;
    WorkspaceParts shared_, thread_;
    std::size_t decoded_, sums_;
};

// to [columns][ldt]: the outputs' sums over these rows of the list, from zero.
template <class Weight>
void WeightedRows::add_slice(const Work<Weight> &work, Range rows, Range columns, Range outputs, float *to, std::int64_t ldt,
                             std::byte *thread) const noexcept {
    const std::int64_t length = outputs.end - outputs.begin;
    const float *from[together], *taken[together];
    float weights[together];
    for (std::int64_t first = rows.begin; first < rows.end; first += together) {
        const std::int64_t n = std::min<std::int64_t>(together, rows.end - first);
        for (std::int64_t i = 0; i < n; i++) {
            // The next rows are known: the lines of one are asked for while this one is decoded.
            if (first + i + together < rows.end) fetch(work.a_t, work.rows[first + i + together], outputs);
            from[i] = floats(work.a_t, work.rows[first + i], outputs, static_cast<int>(i), thread);
        }
        for (std::int64_t t = columns.begin; t < columns.end; t++) {
            int taps = 0;
            for (std::int64_t i = 0; i < n; i++) {
                const float weight = work.weight(first + i, t);
                if (weight != 0) taken[taps] = from[i], weights[taps++] = weight;
            }
            leaf_.windows.sum(length, taps, taken, weights, to + (t - columns.begin) * ldt, first > rows.begin);
        }
    }
}

template <class Weight>
void WeightedRows::run(const Work<Weight> &work, std::int64_t chunk, std::byte *shared, std::byte *thread) const noexcept {
    const Range outputs = outputs_of(chunk % strips_);
    const std::int64_t number = chunk / strips_;
    const auto rows_of = [&](std::int64_t s) { return Range{s * slice, std::min((s + 1) * slice, work.n_rows)}; };
    if (few_) {
        if (number * slice >= work.n_rows) return;
        float *to = reinterpret_cast<float *>(shared) + number * work.columns * K_ + outputs.begin;
        add_slice(work, rows_of(number), {0, work.columns}, outputs, to, K_, thread);
        return;
    }
    const Range columns{number * few_columns, std::min((number + 1) * few_columns, work.columns)};
    if (columns.begin >= columns.end) return;
    const std::int64_t length = outputs.end - outputs.begin;
    float *sums = reinterpret_cast<float *>(thread + sums_);
    const float one = 1;
    for (std::int64_t t = columns.begin; t < columns.end; t++) {
        std::fill_n(work.c + t * K_ + outputs.begin, length, 0.0f);
    }
    for (std::int64_t s = 0; s * slice < work.n_rows; s++) {
        add_slice(work, rows_of(s), columns, outputs, sums, strip, thread);
        for (std::int64_t t = columns.begin; t < columns.end; t++) {
            const float *from = sums + (t - columns.begin) * strip;
            leaf_.windows.sum(length, 1, &from, &one, work.c + t * K_ + outputs.begin, true);
        }
    }
}

}  // namespace tensorlib::core
