// Weighted sums of rows over a list of active neurons: the last part of axpy and sparse_ffn. axpy.cpp explains it.
#pragma once

#include "cpu/kernels/active_rows.hpp"

namespace tensorlib::core {

class WeightedRows {
public:
    static constexpr std::int64_t slice = 128, span = 1024;
    // Up to this many columns, the slices have room for separate partial sums, and all slices are computed at once.
    static constexpr std::int64_t few_columns = 8;

    // copy: a_t's packed rows for few columns (cpu/simd/packed_rows_i8.hpp).
    WeightedRows(const Layout &a_t, std::int64_t columns, bool few, const ConstantCopy &copy, const simd::SimdTable &simd) noexcept;

    // Whether a copy of packed rows is useful.
    static bool takes_packed_rows(const Layout &a_t, std::int64_t tokens, const simd::SimdTable &simd) noexcept {
        const simd::SimdTable::PanelFormat &copy = simd.packed_rows[dtype_index(a_t.type)].copy;
        return tokens <= few_columns && a_t.nb[0] == traits(a_t.type).size && copy.rows > 0 && copy.bytes(a_t.ne[0]) > 0;
    }

    // The number of chunks of Stage::compute, which needs the list. For few columns, Stage::combine follows.
    std::int64_t chunks() const noexcept { return by_packed_rows_ ? slices_ : few_ ? slices_ * spans_ : column_blocks_ * spans_; }
    std::int64_t combine_chunks() const noexcept { return few_ ? spans_ : 0; }
    std::size_t shared_bytes() const noexcept { return shared_.size; }
    std::size_t thread_bytes() const noexcept { return thread_.size; }

    // The input of a round: the weights, the active rows, and their factors. weight(position in the list, column) is
    // the factor; a row whose factor is 0 is skipped.
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
    // Adds up the slices of a span of all columns, in their order.
    void combine(std::int64_t n_rows, std::int64_t columns, std::int64_t span_number, std::byte *shared, float *c) const noexcept;

private:
    // Rows that are decoded together, then used by all columns: 32 KiB.
    static constexpr int together = 8;
    // For a copy's packed rows, the number of slices grows up to this limit, because each slice has sums of all
    // outputs.
    static constexpr std::int64_t most_slices = 32, least_slice = 64;
    static constexpr std::int64_t prefetch_distance = 8192;  // as in row_products.cpp
    std::int64_t slice_of(std::int64_t n_rows) const noexcept {
        return by_packed_rows_ ? std::max(ceil_div(n_rows, most_slices), least_slice) : slice;
    }

    template <class Weight>
    void add_slice(const Work<Weight> &work, Range rows, Range columns, Range outputs, float *to, std::int64_t ldt,
                   std::byte *thread) const noexcept;
    template <class Weight>
    void add_as_they_lie(const Work<Weight> &work, Range rows, std::int64_t column, Range outputs, float *to) const noexcept;
    template <class Weight>
    void add_packed_rows(const Work<Weight> &work, Range rows, float *to, std::byte *thread) const noexcept;
    // These outputs of a row as floats.
    const float *floats(const TensorRef &a_t, std::int64_t row, Range outputs, int place, std::byte *thread) const noexcept;
    void fetch(const TensorRef &a_t, std::int64_t row, Range outputs) const noexcept;
    Range outputs_of(std::int64_t number) const noexcept { return {number * span, std::min((number + 1) * span, K_)}; }

    const simd::SimdTable &simd_;
    const simd::SimdTable::PackedRowFormat &format_;
    const std::uint8_t *codebook_;
    bool by_packed_rows_;  // whether sums are taken over packed rows
    bool packs_rows_;      // whether each row is packed before it is read, because there is no copy
    const std::byte *copy_;
    simd::SimdTable::Attention::Weighted as_they_lie_;  // for one column, with rows of F32, F16 or BF16
    std::int64_t K_, sums_of_column_, spans_, slices_, column_blocks_;
    std::size_t packed_row_bytes_ = 0;
    bool few_;
    WorkspaceParts shared_, thread_;
    std::size_t packed_ = 0, decoded_ = 0, sums_ = 0;
};

// Writes the outputs' sums over these rows of the list to [columns][ldt], starting from zero.
template <class Weight>
void WeightedRows::add_slice(const Work<Weight> &work, Range rows, Range columns, Range outputs, float *to, std::int64_t ldt,
                             std::byte *thread) const noexcept {
    if (as_they_lie_) {
        add_as_they_lie(work, rows, columns.begin, outputs, to);
        return;
    }
    const std::int64_t length = outputs.end - outputs.begin;
    const float *from[together], *taken[together];
    float weights[together];
    for (std::int64_t first = rows.begin; first < rows.end; first += together) {
        const std::int64_t n = std::min<std::int64_t>(together, rows.end - first);
        for (std::int64_t i = 0; i < n; i++) {
            // The next rows are known, so one's lines are prefetched while this one is decoded.
            if (first + i + together < rows.end) fetch(work.a_t, work.rows[first + i + together], outputs);
            from[i] = floats(work.a_t, work.rows[first + i], outputs, static_cast<int>(i), thread);
        }
        for (std::int64_t t = columns.begin; t < columns.end; t++) {
            int taps = 0;
            for (std::int64_t i = 0; i < n; i++) {
                const float weight = work.weight(first + i, t);
                if (weight != 0) taken[taps] = from[i], weights[taps++] = weight;
            }
            simd_.windows.sum(length, taps, taken, weights, to + (t - columns.begin) * ldt, first > rows.begin);
        }
    }
}

template <class Weight>
void WeightedRows::add_as_they_lie(const Work<Weight> &work, Range rows, std::int64_t column, Range outputs, float *to) const noexcept {
    const std::int64_t length = outputs.end - outputs.begin, size = static_cast<std::int64_t>(work.a_t.nb[0]);
    const auto part_of_row = [&](std::int64_t i) {
        return reinterpret_cast<const char *>(row_address(work.a_t, {work.rows[i], 0, 0})) + outputs.begin * size;
    };
    const std::int64_t ahead = std::max<std::int64_t>(prefetch_distance / (length * size), 1);
    std::fill_n(to, length, 0.0f);
    for (std::int64_t i = rows.begin; i < rows.end; i++) {
        const float weight = work.weight(i, column);
        if (weight == 0) continue;
        // The kernel takes a stride between rows and prefetches the next row. Here the stride leads to a later row,
        // which it therefore prefetches.
        const char *from = part_of_row(i), *later = i + ahead < rows.end ? part_of_row(i + ahead) : from;
        as_they_lie_(1, length, from, later - from, &weight, 1, to, 0);
    }
}

// Writes these rows' sums to [columns][sums_of_column_] in the order of packed rows, starting from zero.
template <class Weight>
void WeightedRows::add_packed_rows(const Work<Weight> &work, Range rows, float *to, std::byte *thread) const noexcept {
    const auto packed_row = [&](std::int64_t i) {
        return reinterpret_cast<const char *>(copy_) + static_cast<std::size_t>(work.rows[i]) * packed_row_bytes_;
    };
    const auto pack_row = [&](std::int64_t i, int place) {
        auto *packed = reinterpret_cast<char *>(thread + packed_) + static_cast<std::size_t>(place) * packed_row_bytes_;
        const std::byte *row = row_address(work.a_t, {work.rows[i], 0, 0});
        format_.copy.pack(K_, reinterpret_cast<const char *>(row), static_cast<std::ptrdiff_t>(work.a_t.nb[1]), 1, packed);
        return packed;
    };
    const auto ahead = std::max<std::int64_t>(format_.summed, prefetch_distance / static_cast<std::int64_t>(packed_row_bytes_));
    simd::PackedPanel taken[simd::max_summed_rows];
    float weights[simd::max_summed_rows];
    for (std::int64_t t = 0; t < work.columns; t++, to += sums_of_column_) {
        bool accumulate = false;
        for (std::int64_t i = rows.begin; i < rows.end;) {
            int taps = 0;
            for (; i < rows.end && taps < format_.summed; i++) {
                const float weight = work.weight(i, t);
                if (weight == 0) continue;
                if (packs_rows_) {
                    taken[taps] = {pack_row(i, taps), codebook_, 0};
                } else {
                    taken[taps] = {packed_row(i), codebook_, i + ahead < rows.end ? packed_row(i + ahead) - packed_row(i) : 0};
                }
                weights[taps++] = weight;
            }
            if (taps == 0) break;
            format_.add[taps - 1](K_, taken, weights, to, accumulate);
            accumulate = true;
        }
        if (!accumulate) std::fill_n(to, sums_of_column_, 0.0f);
    }
}

template <class Weight>
void WeightedRows::run(const Work<Weight> &work, std::int64_t chunk, std::byte *shared, std::byte *thread) const noexcept {
    const Range outputs = outputs_of(chunk % spans_);
    const std::int64_t number = chunk / spans_;
    const std::int64_t per_slice = slice_of(work.n_rows);
    const auto rows_of = [&](std::int64_t s) { return Range{s * per_slice, std::min((s + 1) * per_slice, work.n_rows)}; };
    if (by_packed_rows_) {
        if (chunk * per_slice >= work.n_rows) return;
        add_packed_rows(work, rows_of(chunk), reinterpret_cast<float *>(shared) + chunk * work.columns * sums_of_column_, thread);
        return;
    }
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
        add_slice(work, rows_of(s), columns, outputs, sums, span, thread);
        for (std::int64_t t = columns.begin; t < columns.end; t++) {
            const float *from = sums + (t - columns.begin) * span;
            simd_.windows.sum(length, 1, &from, &one, work.c + t * K_ + outputs.begin, true);
        }
    }
}

}  // namespace tensorlib::core
