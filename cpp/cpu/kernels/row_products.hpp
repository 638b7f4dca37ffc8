// Products of selected rows of a matrix with a round's columns, a group of rows at a time: the basis of sparse
// products. row_products.cpp explains it.
#pragma once

#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>
#include <optional>

namespace tensorlib::core {

class RowProducts {
public:
    // For `columns` columns in a round; one: there is one column in total. `copy`: the matrix's packed copy, as
    // packed_as() says.
    RowProducts(const Layout &a, std::int64_t columns, bool one, bool exact, const ConstantCopy &copy,
                const simd::SimdTable &simd) noexcept;

    // Whether it would multiply integers, so that a packed copy is useful.
    static bool of_integers(const Layout &a, bool exact, const simd::SimdTable &simd) noexcept {
        return !exact && a.ne[0] > 0 && simd.integer.formats[dtype_index(a.type)].unpack && a.nb[0] == traits(a.type).size;
    }

    // Up to this many columns use a packed row one after the other, each only if it is active. Panels unpack rows once
    // for all columns: if all rows of eight columns are active, they take 1.0 to 1.7 ms, and packed rows 3.0 (Q4_0) to
    // 8.5 (Q8_0).
    static constexpr std::int64_t packed_row_columns = 4;
    // The layout of a copy for rounds of this many columns. It depends on shapes alone, because packed rows are summed
    // in another order.
    static PackedAs packed_as(const Layout &a, std::int64_t columns, const simd::SimdTable &simd) noexcept {
        const simd::SimdTable::PanelFormat &copy = simd.packed_rows[dtype_index(a.type)].copy;
        return columns <= packed_row_columns && copy.rows > 0 && copy.bytes(a.ne[0]) > 0 ? PackedAs::rows : PackedAs::panels;
    }

    // Rows at a time.
    std::int64_t group() const noexcept { return group_; }
    // Whether the sources' own rows are read.
    bool reads_rows() const noexcept { return !by_packed_rows_ || packs_rows_; }
    // Whether this many rows are read as whole panels of the copy, as fast as in the dense product.
    bool reads_panels(std::int64_t count) const noexcept {
        return panels_ && static_cast<double>(count) > dense_part * static_cast<double>(M_);
    }
    // Rows of a chunk that reads panels: several consecutive ones, but eight chunks per thread, so that a late one
    // causes little delay.
    std::int64_t rows_of_panels(std::int64_t n_threads) const noexcept {
        return group_ * std::clamp<std::int64_t>(ceil_div(M_, group_) / (8 * n_threads), 1, most_panels);
    }
    // The number of chunks for a list that may have all rows, and the fewest positions of one: eight chunks per thread,
    // so that a late one causes little delay, as long as each has a whole group, because gathered rows are unpacked a
    // group at a time.
    std::int64_t chunks(std::int64_t n_threads) const noexcept {
        const std::int64_t of_places = std::clamp<std::int64_t>(8 * n_threads, 1, std::max<std::int64_t>(ceil_div(M_, group_), 1));
        return panels_ ? std::max(of_places, ceil_div(M_, rows_of_panels(n_threads))) : of_places;
    }
    std::int64_t least_of_chunk() const noexcept { return by_packed_rows_ ? 4 : group_; }
    // Bytes of the columns, which all threads share, and of a thread's part.
    std::size_t shared_bytes() const noexcept { return shared_.size; }
    std::size_t thread_bytes() const noexcept { return thread_.size; }
    const char *rounding() const noexcept {
        return by_packed_rows_ ? rounding_of(row_format_.in_16_bits) : integers_ ? rounding_of(layout_->one) : "";
    }

    // A round's columns and their operand.
    struct Round {
        const TensorRef &b;
        std::int64_t first, columns;
        std::byte *shared;
    };
    // Prepares column `first` + j of b for the products.
    void prepare(const Round &round, std::int64_t j, std::byte *thread) const noexcept;

    // The products of a list's ascending rows. The tile [columns][height] has those of positions first to first + n -
    // 1: in consecutive rows from 0, or in the rows of their panel.
    struct Tile {
        const float *data;
        std::int64_t first, n, panel;  // -1: no panel
        std::int64_t height;           // rows from one column to the next
        // The row of the tile for position first + i.
        std::int64_t row(const std::int64_t *list, std::int64_t i) const noexcept { return panel < 0 ? i : list[first + i] - panel; }
    };
    // Multiplies the rows at these positions by all columns of a round, and calls take(tile) for each group. The tile
    // is undefined if not wanted(position, column).
    template <class Wanted, class Take>
    void multiply(const TensorRef &a, const std::int64_t *list, Range places, bool panels, const Round &round, std::byte *thread,
                  Wanted wanted, Take take) const noexcept {
        for (std::int64_t first = places.begin; by_packed_rows_ && first < places.end; first += group_) {
            const std::int64_t n = std::min(group_, places.end - first);
            float *tile = at<float>(thread, tile_);
            for (std::int64_t i = 0; i < n; i++) multiply_packed_row(a, list, first + i, places.end, round, tile + i, thread, wanted);
            take(Tile{tile, first, n, -1, group_});
        }
        if (by_packed_rows_) return;
        for (std::int64_t first = places.begin, end; first < places.end; first = end) {
            const std::int64_t number = list[first] / group_;
            end = first + 1;
            // Few columns go from one panel to the next without a pause.
            const std::int64_t count = panels && round.columns <= at_once_ ? list[places.end - 1] / group_ - number + 1 : 1;
            const std::int64_t behind = panels ? (number + count) * group_ : first + group_;
            while (end < places.end && (panels ? list[end] : end) < behind) end++;
            const float *data = panels ? multiply_panels(number, count, round, thread)
                                       : multiply_rows(a, list + first, end - first, places.end - first, round, thread);
            take(Tile{data, first, end - first, panels ? number * group_ : -1, panels ? count * group_ : group_});
        }
    }

private:
    // Rows that are gathered and unpacked cost up to five times what they cost in panels
    // (docs/performance/products.md). If more than this fraction of them is active, all panels are read.
    static constexpr double dense_part = 0.2;
    static constexpr std::int64_t most_panels = 16;

    // The product with the packed row at a position of the list. `end` ends the chunk's positions.
    template <class Wanted>
    void multiply_packed_row(const TensorRef &a, const std::int64_t *list, std::int64_t place, std::int64_t end, const Round &round,
                             float *to, std::byte *thread, Wanted wanted) const noexcept {
        simd::PackedPanel here = packed_row_at(a, list, place, end, thread);
        for (std::int64_t j = 0; j < round.columns; j++) {
            to[j * group_] = 0;
            if (round.columns > 1 && !wanted(place, j)) continue;
            to[j * group_] = row_format_.dot(K_, here, at<char>(round.shared, columns_) + static_cast<std::size_t>(j) * packed_column_);
            here.ahead = 0;
        }
    }
    simd::PackedPanel packed_row_at(const TensorRef &a, const std::int64_t *list, std::int64_t place, std::int64_t end,
                                    std::byte *thread) const noexcept;
    // All return the thread's tile. The chunk has `known` of the list's rows; n of them are multiplied.
    const float *multiply_rows(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::int64_t known, const Round &round,
                               std::byte *thread) const noexcept;
    const float *multiply_panels(std::int64_t number, std::int64_t count, const Round &round, std::byte *thread) const noexcept;
    struct RowsOfA {
        const char *first;
        std::ptrdiff_t stride;
    };
    RowsOfA gathered(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::byte *thread) const noexcept;
    void multiply_integers(const RowsOfA &a, std::int64_t n, const Round &round, std::byte *thread) const noexcept;
    void multiply_floats(const TensorRef &a, const std::int64_t *rows, std::int64_t n, const Round &round,
                         std::byte *thread) const noexcept;
    void multiply_one_by_one(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::int64_t known, const Round &round,
                             std::byte *thread) const noexcept;
    // The row that is prefetched while row i of `known` is multiplied.
    std::int64_t row_ahead(const std::int64_t *rows, std::int64_t i, std::int64_t known, std::size_t row_bytes) const noexcept;
    template <class T>
    static T *at(std::byte *base, std::size_t part) noexcept {
        return reinterpret_cast<T *>(base + part);
    }
    const float *column(const Round &round, std::int64_t j) const noexcept {
        return at<float>(round.shared, columns_) + static_cast<std::size_t>(j) * decoded_floats(K_);
    }

    const simd::SimdTable &simd_;
    const simd::SimdTable::IntegerFormat &format_;
    const simd::SimdTable::PackedRowFormat &row_format_;
    DType type_;
    std::int64_t K_, M_, KC_, group_, at_once_;  // columns that a micro-kernel takes
    std::size_t row_bytes_;
    bool integers_;
    DotTiles as_they_lie_;
    simd::SimdTable::Dots::Row one_by_one_ = nullptr;  // for one column whose rows are multiplied in place
    // Whether rows are multiplied as packed rows; whether each row is packed before it is read, because there is no
    // copy; and whether the copy has panels.
    bool by_packed_rows_, packs_rows_, panels_;
    const std::byte *copy_;
    std::size_t copy_panel_ = 0, packed_row_bytes_ = 0, packed_column_ = 0;
    std::optional<ByteLayout> layout_;  // for integers
    WorkspaceParts shared_, thread_;
    std::size_t columns_ = 0, rows_ = 0, row_, packed_row_ = 0, codes_ = 0, scales_ = 0, offsets_ = 0, tile_;
};

}  // namespace tensorlib::core
