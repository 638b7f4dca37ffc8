// The parts of attention_rows.cpp and attention_paged.cpp: a few columns of a group against a segment of its keys.
//
//   s   [columns][segment_keys] = k q   SimdTable::Dots: rows of k in place, or decoded some at a time
//   w = e ^ (s - largest)               the loops of soft_max_ext
//   y   [columns][m] = w v              SimdTable::Attention: rows of v in the same way
//
// A column's bits depend neither on the other columns nor on masked keys, whose weights are 0: sums have 32 parts that are
// joined in pairs p and p + 16, then p and p + 8 (parts.hpp), so it does not matter which key is the first.
#pragma once

#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/attention.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <limits>

namespace tensorlib::core::attention {

// For n = m = 128 in F32, a segment has 256 KiB of keys and values, which take a thread some 10 us. Its sums are a hundredth
// of that.
constexpr std::int64_t segment_keys = 256;
// Rows that are decoded together: 16 rows of 128 floats are 8 KiB.
constexpr std::int64_t decoded_rows = 16;
constexpr std::int64_t most_columns = simd::max_dot_columns;
constexpr float nothing = -std::numeric_limits<float>::infinity();

constexpr std::ptrdiff_t bytes_of(std::int64_t floats) noexcept { return floats * static_cast<std::ptrdiff_t>(sizeof(float)); }

// The sizes of a node, and a thread's part of the workspace.
struct SegmentParts {
    std::int64_t n, m, row_floats, part_floats;
    WorkspaceParts thread;
    std::size_t queries, scores, mask, decoded;
    bool in_order;  // whether a single column is multiplied in the order of several, for a batch-invariant graph

    SegmentParts(std::int64_t n_elements, std::int64_t m_elements, bool batch_invariant) noexcept;
};

// The operands of a step: k and v, the kernels that read rows of k in place, if there are any, and the bytes from the row of
// a key to the row of the next one.
struct KeysAndValues {
    const TensorRef &k, &v;
    DotTiles k_tiles;
    std::size_t k_stride, v_stride;
};

// Rows of consecutive keys whose addresses are a stride apart.
struct RowRun {
    const std::byte *first;
    std::int64_t n;
};

// Up to most_columns columns that see the same keys, in a thread's part of the workspace.
struct ColumnSegment {
    const SegmentParts &parts;
    const KeysAndValues &operands;
    const simd::SimdTable &simd;
    std::byte *workspace;
    int columns;
    Range keys;

    float *at(std::size_t place) const noexcept { return reinterpret_cast<float *>(workspace + place); }
    float *query(int j) const noexcept { return at(parts.queries) + j * parts.row_floats; }
    float *scores(int j) const noexcept { return at(parts.scores) + j * segment_keys; }
};

// Multiplies a run of keys with the queries. first_key: that of the run.
void multiply_keys(const ColumnSegment &u, std::int64_t first_key, const RowRun &run) noexcept;

// Applies the soft cap to a column's scores, but for the factor `cap`, which weigh() multiplies by. Without one it does
// nothing.
void flatten_scores(const ColumnSegment &u, int j, float cap) noexcept;

// Turns a column's scores into weights, and stores the largest logit and the sum of weights in its part. mask: null, or a
// float for each key, which slope multiplies.
void weigh(const ColumnSegment &u, int j, float cap, const float *mask, float slope, float *part) noexcept;

// Adds a run of values, weighted by `columns` columns from `first_column` on, to y of the first of them. Columns of y are ldy
// floats apart.
void add_values(const ColumnSegment &u, int first_column, int columns, std::int64_t first_key, const RowRun &run, float *y,
                std::ptrdiff_t ldy) noexcept;

// A part with nothing in it.
void clear_part(const SegmentParts &parts, float *part) noexcept;

// The sums of a column's segments, rescaled to the largest logit of all: y, and what store_result() takes. The segments'
// parts are part_floats apart.
struct Combined {
    double largest, sum;
};
Combined combine(const SegmentParts &parts, const float *first, std::int64_t count, float *y, const simd::SimdTable &simd) noexcept;

}  // namespace tensorlib::core::attention
