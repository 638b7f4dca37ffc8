// Tiles of dot products, for few columns: nothing is packed, and rows of a are read once, sequentially.
//
//   C[i, j] = sum over k of a_i[k] * b_j[k]      R rows of a, N rows of b, W floats of k at a time
//
// A step takes R + N loads for R N multiply-adds. One column is limited by the memory that a comes from, the largest
// tile by the multiply-adds. Each accumulator holds W partial sums, which are added at the end; the last k mod W
// products are added one by one. Rows of a may be F16 or BF16 if the ISA widens them as they are loaded.
#include "cpu/simd/rows.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;

// Prefetch distance for a row of a, in bytes. It is used where bytes take enough instructions that the processor
// does not look far enough ahead: for elements of 2 bytes, which are widened, and from three columns up. One column of
// F16 reads 25 of 40 GB/s without it, 33 with this distance, 27 with a third of it, 29 with twice; four columns of F32
// gain 6 %. One column of F32 reads 40 of 41, and less with it.
constexpr int bytes_ahead = 1536;

// Shorter rows end before the processor knows where they lead. For up to two columns they are read one after the other
// as one stream, which is prefetched at this distance: rows of 64 floats read 33 GB/s, compared with 14 by tiles and 23
// by tiles that prefetch.
constexpr int short_row = 2048, short_bytes_ahead = 4096;

// Sums the lanes of an accumulator, and the products after the last whole vector.
template <class Row>
inline float sum_of(Vec::Reg acc, const typename Row::Element *a, const float *b, int64_t whole, int64_t k) {
    float sum = Vec::sum(acc);
    for (int64_t at = whole; at < k; at++) sum += Row::one(a[at]) * b[at];
    return sum;
}

template <class Row, int R, int N>
void tile(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc) {
    // Every loop over acc is unrolled, because a variable index would put the accumulators in memory.
    const typename Row::Element *ar[R];
    const float *br[N];
#pragma GCC unroll 4
    for (int i = 0; i < R; i++) ar[i] = reinterpret_cast<const typename Row::Element *>(a + i * a_stride);
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) br[j] = reinterpret_cast<const float *>(b + j * b_stride);
    Vec::Reg acc[R][N];
#pragma GCC unroll 4
    for (int i = 0; i < R; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < N; j++) acc[i][j] = Vec::zero();
    }
    const int64_t whole = k / W * W;
    for (int64_t at = 0; at < whole; at += W) {
        if constexpr (sizeof(typename Row::Element) == 2 || N > 2) {
            constexpr int size = sizeof(typename Row::Element), per_line = 64 / size, ahead = bytes_ahead / size;
            if (at % per_line == 0) {
                // Past the row's end, prefetches the same row of the next tile.
                const ptrdiff_t offset = at + ahead < k ? bytes_ahead : bytes_ahead - size * k + R * a_stride;
#pragma GCC unroll 4
                for (int i = 0; i < R; i++) __builtin_prefetch(reinterpret_cast<const char *>(ar[i] + at) + offset, 0, 3);
            }
        }
        Vec::Reg av[R];
#pragma GCC unroll 4
        for (int i = 0; i < R; i++) av[i] = Row::load(ar[i] + at);
#pragma GCC unroll 4
        for (int j = 0; j < N; j++) {
            const Vec::Reg bv = Vec::load(br[j] + at);
#pragma GCC unroll 4
            for (int i = 0; i < R; i++) acc[i][j] = Vec::fma(av[i], bv, acc[i][j]);
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < R; i++) {
            c[i + j * ldc] = sum_of<Row>(acc[i][j], ar[i], br[j], whole, k);
        }
    }
}

template <class Row, int R, int N>
void row_after_row(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc) {
    const int64_t whole = k / W * W;
    for (int i = 0; i < R; i++) {
        const auto *row = reinterpret_cast<const typename Row::Element *>(a + i * a_stride);
        const float *br[N];
        Vec::Reg acc[N];
#pragma GCC unroll 2
        for (int j = 0; j < N; j++) br[j] = reinterpret_cast<const float *>(b + j * b_stride), acc[j] = Vec::zero();
        for (int64_t at = 0; at < whole; at += W) {
            __builtin_prefetch(reinterpret_cast<const char *>(row + at) + short_bytes_ahead, 0, 3);
            const Vec::Reg av = Row::load(row + at);
#pragma GCC unroll 2
            for (int j = 0; j < N; j++) acc[j] = Vec::fma(av, Vec::load(br[j] + at), acc[j]);
        }
#pragma GCC unroll 2
        for (int j = 0; j < N; j++) c[i + j * ldc] = sum_of<Row>(acc[j], row, br[j], whole, k);
    }
}

// A row times a column, in four sums, so that the multiply-adds do not wait for each other.
template <class Row, bool fetches>
inline float row_by_column(int64_t k, const char *a, ptrdiff_t ahead, const float *column) {
    const auto *row = reinterpret_cast<const typename Row::Element *>(a);
    constexpr int bytes = 4 * W * static_cast<int>(sizeof(typename Row::Element));
    const int64_t whole = k / W * W;
    Vec::Reg acc[4] = {Vec::zero(), Vec::zero(), Vec::zero(), Vec::zero()};
    int64_t at = 0;
    for (; at + 4 * W <= whole; at += 4 * W) {
#pragma GCC unroll 4
        for (int byte = 0; fetches && byte < bytes; byte += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(row + at) + ahead + byte, 0, 3);
#pragma GCC unroll 4
        for (int s = 0; s < 4; s++) acc[s] = Vec::fma(Row::load(row + at + s * W), Vec::load(column + at + s * W), acc[s]);
    }
    for (; at < whole; at += W) acc[0] = Vec::fma(Row::load(row + at), Vec::load(column + at), acc[0]);
    return sum_of<Row>(Vec::add(Vec::add(acc[0], acc[1]), Vec::add(acc[2], acc[3])), row, column, whole, k);
}
template <class Row>
float one_row(int64_t k, const char *a, ptrdiff_t ahead, const float *column) {
    return row_by_column<Row, true>(k, a, ahead, column);
}

#if defined(TL_HAS_HALVES)
// One column, row after row, without prefetching: for processors whose prefetchers follow one stream better than four
// (cpu/dispatch.cpp).
template <class Row, int R>
void one_stream(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t, float *c, ptrdiff_t) {
    for (int i = 0; i < R; i++) c[i] = row_by_column<Row, false>(k, a + i * a_stride, 0, reinterpret_cast<const float *>(b));
}

template <class Row, int R>
void enter_stream(SimdTable::DotF32 (&table)[max_dot_rows]) {
    table[R - 1] = one_stream<Row, R>;
    if constexpr (R > 1) enter_stream<Row, R - 1>(table);
}
#endif

template <class Row, int R, int N>
void dot(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc) {
    if constexpr (N <= 2) {
        if (k * static_cast<int64_t>(sizeof(typename Row::Element)) < short_row) {
            row_after_row<Row, R, N>(k, a, a_stride, b, b_stride, c, ldc);
            return;
        }
    }
    tile<Row, R, N>(k, a, a_stride, b, b_stride, c, ldc);
}

template <class Row, int R, int N>
void enter(SimdTable::DotF32 (&table)[max_dot_rows][max_dot_columns]) {
    table[R - 1][N - 1] = dot<Row, R, N>;
    if constexpr (N > 1) {
        enter<Row, R, N - 1>(table);
    } else if constexpr (R > 1) {
        enter<Row, R - 1, Vec::dot_columns>(table);
    }
}

}  // namespace

void fill_dot(SimdTable::Dots &table) {
    static_assert(Vec::dot_columns <= max_dot_columns);
    table.rows = max_dot_rows;
    table.columns = Vec::dot_columns;
    enter<Floats, max_dot_rows, Vec::dot_columns>(table.f32);
    table.row_f32 = one_row<Floats>;
#if defined(TL_HAS_HALVES)
    table.row_f16 = one_row<Halves>, table.row_bf16 = one_row<Brains>;
    enter<Halves, max_dot_rows, Vec::dot_columns>(table.f16);
    enter<Brains, max_dot_rows, Vec::dot_columns>(table.bf16);
    for (int r = 0; r < max_dot_rows; r++) table.f16_in_order[r] = table.f16[r][0], table.bf16_in_order[r] = table.bf16[r][0];
    enter_stream<Halves, max_dot_rows>(table.f16_stream);
    enter_stream<Brains, max_dot_rows>(table.bf16_stream);
#endif
}

}  // namespace tensorlib::core::simd::TL_ISA
