// Finds which neurons are active in a round's columns, as ascending row indices of the weights, before a sparse product
// reads weights.
//
// The list is the union over all columns, because a row is read once for all of them; each column uses its own neurons.
// One thread finds it in the stage before the products. It takes a cycle per score, some 3 us for 11,008 neurons of one
// column. Each round has its own list, because the union over fewer columns is smaller.
#pragma once

#include "cpu/kernels/mul_mat.hpp"
#include "ops/sparse.hpp"

#include <algorithm>

namespace tensorlib::core {

// Columns of a round. The neurons in their union are read.
constexpr std::int64_t sparse_columns = 128;

// What the plans of sparse products keep: the number of threads that the workspace was planned for.
struct PlannedThreads {
    int count;
};

// A matrix [N, T] whose columns are read as floats, round by round: where they lie, or from a stage in the workspace.
class FloatColumns {
public:
    FloatColumns() = default;
    // `stage` is a part of the workspace.
    FloatColumns(const TensorRef &t, std::byte *stage) noexcept
        : t_(&t), stage_(is_row_of_floats(t) ? nullptr : reinterpret_cast<float *>(stage)) {}

    static std::int64_t staged_floats(const Layout &t, std::int64_t columns) noexcept {
        return t.type == DType::f32 && t.rows_contiguous() ? 0 : t.ne[0] * columns;
    }
    // Fills the stage with columns `first` to first + n - 1.
    void load(std::int64_t first, std::int64_t n, const simd::SimdTable &simd) const noexcept {
        for (std::int64_t j = 0; stage_ && j < n; j++) {
            load_row(*t_, row_address(*t_, {first + j, 0, 0}), 0, t_->ne[0], stage_ + j * t_->ne[0], simd);
        }
    }
    // Column first + j.
    const float *at(std::int64_t first, std::int64_t j) const noexcept {
        return stage_ ? stage_ + j * t_->ne[0] : reinterpret_cast<const float *>(row_address(*t_, {first + j, 0, 0}));
    }

private:
    const TensorRef *t_ = nullptr;
    float *stage_ = nullptr;
};

// The list, in a workspace.
class ActiveRows {
public:
    // rows: of the weights. numbered: an operand maps them to neurons.
    ActiveRows(std::int64_t rows, bool numbered, WorkspaceParts &parts) noexcept
        : rows_(rows),
          numbered_(numbered),
          count_at_(parts.add<std::int64_t>(1)),
          list_at_(parts.add<std::int64_t>(rows)),
          flags_at_(parts.add<std::uint8_t>(rows)),
          neurons_at_(parts.add<std::int64_t>(numbered ? rows : 0)) {}

    std::int64_t rows() const noexcept { return rows_; }
    std::int64_t count(std::byte *base) const noexcept { return *at<std::int64_t>(base, count_at_); }
    // The active rows, ascending.
    const std::int64_t *list(std::byte *base) const noexcept { return at<std::int64_t>(base, list_at_); }
    // The neuron whose weights a row has.
    std::int64_t neuron(std::byte *base, std::int64_t row) const noexcept {
        return numbered_ ? at<std::int64_t>(base, neurons_at_)[row] : row;
    }

    // Marks all neurons as inactive.
    void clear(std::byte *base) const noexcept;
    // Reads the neurons' indices. Indices that do not ascend, or are not below `neurons`, are recorded as faults of
    // this operand. check_numbers only checks.
    static void check_numbers(const Step &step, int operand, std::int64_t neurons) noexcept;
    void read_numbers(std::byte *base, const Step &step, int operand, std::int64_t neurons) const noexcept;
    // Marks the neurons that are active in a column of values. With `of_values`, neurons whose value is 0 are inactive.
    void add(std::byte *base, const ops::SparseRule &rule, const float *tested, const float *of_values) const noexcept;
    void add_all(std::byte *base) const noexcept;
    // Writes the list.
    void compact(std::byte *base) const noexcept;

private:
    template <class T>
    static T *at(std::byte *base, std::size_t part) noexcept {
        return reinterpret_cast<T *>(base + part);
    }
    template <class Active>
    void add_where(std::byte *base, Active active) const noexcept;

    std::int64_t rows_;
    bool numbered_;
    std::size_t count_at_, list_at_, flags_at_, neurons_at_;
};

// Positions per chunk if a list is divided into n chunks; a multiple of `unit`.
inline std::int64_t per_chunk_of(std::int64_t count, std::int64_t n, std::int64_t unit) noexcept {
    return std::max(ceil_div(ceil_div(count, n), unit) * unit, unit);
}
// The positions of a list that belong to a chunk: per_chunk positions, or, if whole panels are read, the positions of
// per_chunk rows among all rows.
inline Range places_of(std::int64_t chunk, std::int64_t per_chunk, const std::int64_t *list, std::int64_t count, bool panels) noexcept {
    const std::int64_t first = chunk * per_chunk;
    if (!panels) return {std::min(first, count), std::min(first + per_chunk, count)};
    const auto place = [=](std::int64_t row) { return std::lower_bound(list, list + count, row) - list; };
    return {place(first), place(first + per_chunk)};
}

// For a sparse product without results, whose indices are checked all the same.
inline const char *refuse_unless_empty(const Problem &p) noexcept { return p.node.layout.n_elements() == 0 ? nullptr : "not empty"; }
void check_rows(const Step &step, const Slice &) noexcept;

}  // namespace tensorlib::core
