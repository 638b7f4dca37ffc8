// pool_1d, pool_2d: computes a piece of a row of the result at a time. It first reduces each column of the windows, for
// as many columns as stay in the L1 cache, then reduces these window by window. Limited by memory if windows hardly
// overlap.
//
// An average is summed in F64, each column from the top, then the columns from left to right, regardless of thread,
// chunk and ISA.
#include "ops/pooling.hpp"
#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>
#include <limits>

namespace tensorlib::core {

namespace {

using ops::Pool;

// Two arrays of 512 doubles take 8 KiB of the stack, and two of floats 4.
constexpr std::int64_t columns_at_a_time = 512;

// Outputs whose windows lie within columns_at_a_time columns; one if a window is longer.
std::int64_t outputs_per_piece(const Sliding &x) noexcept {
    if (x.taps >= columns_at_a_time) return 1;
    return std::min(x.positions, (columns_at_a_time - x.taps) / x.stride + 1);
}

std::int64_t pieces_of(const Layout &c, const Pool &pool) noexcept { return ceil_div(c.ne[0], outputs_per_piece(pool.x)) * c.n_rows(); }

void plan_pool(const Problem &p, KernelPlan &plan) noexcept {
    const auto bytes = static_cast<std::int64_t>(p.node.src[0]->layout.nbytes() + p.node.layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(pieces_of(p.node.layout, ops::pool_of(p.node)), bytes, p.n_threads);
}

// The rows of a that a row of the result is computed from.
struct Rows {
    const TensorRef &a;
    RowIndex first;
    std::int64_t n;
    const simd::SimdTable &simd;

    const float *read(std::int64_t row, std::int64_t column, std::int64_t n_columns, float *stage) const noexcept {
        return floats_of(a, row_address(a, {first.i1 + row, first.i2, first.i3}), column, n_columns, stage, simd);
    }
};

// The largest element, or the sum, of each of n columns.
const float *largest(const Rows &rows, std::int64_t column, std::int64_t n, float *columns, float *stage) noexcept {
    const float *first = rows.read(0, column, n, columns);
    const simd::SimdTable::TileLoop maximum = rows.simd.tiles.loops[static_cast<std::size_t>(TileOp::maximum)];
    for (std::int64_t row = 1; row < rows.n; row++) {
        maximum({.n = n, .src = {first, rows.read(row, column, n, stage)}, .repeated = 0, .dst = columns, .params = nullptr});
        first = columns;
    }
    return first;
}
const double *sums(const Rows &rows, std::int64_t column, std::int64_t n, double *columns, float *stage) noexcept {
    for (std::int64_t row = 0; row < rows.n; row++) {
        const float *values = rows.read(row, column, n, stage);
        if (row == 0) {
            for (std::int64_t i = 0; i < n; i++) columns[i] = static_cast<double>(values[i]);
        } else {
            for (std::int64_t i = 0; i < n; i++) columns[i] += static_cast<double>(values[i]);
        }
    }
    return columns;
}

// Positions [first, first + n) of a row of the result, written to `to`.
struct Piece {
    const Sliding &x;
    std::int64_t first, n;
    Sliding::Range columns() const noexcept {
        return {std::max<std::int64_t>(0, x.element(first, 0)), std::min(x.elements, x.element(first + n - 1, x.taps - 1) + 1)};
    }
    // Whether all windows are complete and lie within these columns.
    bool are_whole(const Sliding::Range &among) const noexcept {
        return x.element(first, 0) >= among.begin && x.element(first + n - 1, 0) + x.taps <= among.end;
    }
    // For such windows, calls take(i, column) for each output i, tap by tap: loops without a condition.
    template <class Take>
    void for_each_whole(Take take) const noexcept {
        for (std::int64_t tap = 0; tap < x.taps; tap++) {
            const std::int64_t column = x.element(first, tap), stride = x.stride;
            if (stride == 2) {
                for (std::int64_t i = 0; i < n; i++) take(i, column + 2 * i);
            } else {
                for (std::int64_t i = 0; i < n; i++) take(i, column + stride * i);
            }
        }
    }
    // Calls take(i, begin, end) for output i, with the columns of its window relative to among.begin.
    template <class Take>
    void for_each(const Sliding::Range &among, Take take) const noexcept {
        for (std::int64_t i = 0; i < n; i++) {
            const std::int64_t from = x.element(first + i, 0);
            const std::int64_t begin = std::max(from, among.begin), end = std::min(from + x.taps, among.end);
            if (begin < end) take(i, begin, end);
        }
    }
};

void pool_largest(const Piece &piece, const Rows &rows, float *to) noexcept {
    alignas(64) float columns[columns_at_a_time], stage[columns_at_a_time];
    std::fill_n(to, piece.n, -std::numeric_limits<float>::infinity());
    const Sliding::Range all = piece.columns();
    for (std::int64_t at = all.begin; at < all.end; at += columns_at_a_time) {
        const Sliding::Range part{at, std::min(at + columns_at_a_time, all.end)};
        const float *column = largest(rows, part.begin, part.size(), columns, stage) - part.begin;
        if (piece.are_whole(part)) {
            piece.for_each_whole([=](std::int64_t i, std::int64_t j) { to[i] = ops::larger(to[i], column[j]); });
            continue;
        }
        piece.for_each(part, [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
            float most = to[i];
            for (std::int64_t j = begin; j < end; j++) most = ops::larger(most, column[j]);
            to[i] = most;
        });
    }
    if (piece.x.padding < piece.x.taps) return;
    for (std::int64_t i = 0; i < piece.n; i++) {
        if (piece.x.taps_at(piece.first + i).size() == 0) to[i] = ops::largest_of_none;
    }
}

void pool_average(const Piece &piece, const Rows &rows, bool count_padding, std::int64_t window_rows, float *to) noexcept {
    alignas(64) double columns[columns_at_a_time], totals[columns_at_a_time];
    alignas(64) float stage[columns_at_a_time];
    std::fill_n(totals, piece.n, 0.0);
    const Sliding::Range all = piece.columns();
    for (std::int64_t at = all.begin; at < all.end; at += columns_at_a_time) {
        const Sliding::Range part{at, std::min(at + columns_at_a_time, all.end)};
        const double *column = sums(rows, part.begin, part.size(), columns, stage) - part.begin;
        if (piece.are_whole(part)) {
            piece.for_each_whole([&, column](std::int64_t i, std::int64_t j) { totals[i] += column[j]; });
            continue;
        }
        piece.for_each(part, [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
            double total = totals[i];
            for (std::int64_t j = begin; j < end; j++) total += column[j];
            totals[i] = total;
        });
    }
    const auto height = static_cast<double>(count_padding ? window_rows : rows.n), whole = static_cast<double>(piece.x.taps);
    for (std::int64_t i = 0; i < piece.n; i++) {
        const std::int64_t first = piece.x.element(piece.first + i, 0);
        const bool is_whole = count_padding || (first >= 0 && first + piece.x.taps <= piece.x.elements);
        const double width = is_whole ? whole : static_cast<double>(piece.x.taps_at(piece.first + i).size());
        to[i] = width == 0 ? 0 : static_cast<float>(totals[i] / (width * height));
    }
}

void run_pool(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    const Pool pool = ops::pool_of(*step.node);
    const bool flat = step.node->op == Op::pool_1d;
    const std::int64_t most = outputs_per_piece(pool.x), per_row = ceil_div(c.ne[0], most);
    const Range part = part_of(pieces_of(step.node->layout, pool), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        const RowIndex row = row_index(c.ne, at / per_row);
        const std::int64_t first = at % per_row * most;
        const Piece piece{pool.x, first, std::min(most, c.ne[0] - first)};
        const Sliding::Range taps = flat ? Sliding::Range{0, 1} : pool.y.taps_at(row.i1);
        const Rows rows{a, {flat ? row.i1 : pool.y.element(row.i1, taps.begin), row.i2, row.i3}, taps.size(), slice.simd};
        alignas(64) float made[columns_at_a_time];
        float *to = c.type == DType::f32 ? reinterpret_cast<float *>(row_address(c, row)) + first : made;
        if (taps.size() == 0) {
            std::fill_n(to, piece.n, pool.average ? 0 : ops::largest_of_none);
        } else if (pool.average) {
            pool_average(piece, rows, pool.count_padding, pool.y.taps, to);
        } else {
            pool_largest(piece, rows, to);
        }
        if (to == made) store_row(c, row_address(c, row), first, piece.n, made, slice.simd);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::pool_1d, .name = "pool", .plan = plan_always<plan_pool>}, run_pool},
    {{.op = Op::pool_2d, .name = "pool", .plan = plan_always<plan_pool>}, run_pool},
};

}  // namespace

const std::span<const CpuKernel> kernels::pooling = table;

}  // namespace tensorlib::core
