// The micro-kernel of the packed F32 product.
//
//   C[m, n] (+)= sum over k of A[k][2 W] * B[k][N]          W = floats per vector
//
//   A panel: k = 0 | a0 .. a(2W-1) |, k = 1 | ... |         2 vectors per k, read once
//   B panel: k = 0 | b0 .. b(N-1) |,  k = 1 | ... |         each element broadcast, used by both vectors
//
// All 2 N accumulators stay in registers over the whole of k. A step of k is 2 loads, N broadcasts and 2 N fused
// multiply-adds. With two of each per cycle the multiply-adds take N cycles, the loads (N + 2) / 2, so the product is
// bound by the multiply-adds as soon as the panels come from a cache that delivers 8 W bytes in N cycles. 2 N chains
// are in flight: 24 or 12, where 2 per cycle x 4 cycles of latency ask for 8.
//
// The same of BF16, where the level multiplies pairs: a float of a panel is then two of k, and nothing else changes.
#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;
constexpr int rows = 2 * W;

struct Floats {
    static void multiply_add(Vec::Reg &acc, Vec::Reg a, Vec::Reg b) { acc = Vec::fma(a, b, acc); }
};
#if defined(TL_HAS_BF16_DOT)
struct Pairs {
    static void multiply_add(Vec::Reg &acc, Vec::Reg a, Vec::Reg b) { Vec::dot_bf16(acc, a, b); }
};
#endif

template <class Words, int N>
void gemm(int64_t k, const float *a, const float *b, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    Vec::Reg acc[N][2];
    // Every loop over acc is unrolled: an index that is not a constant would put the accumulators into memory.
#pragma GCC unroll 16
    for (int j = 0; j < N; j++) acc[j][0] = acc[j][1] = Vec::zero();
    for (int64_t i = 0; i < k; i++) {
        const Vec::Reg a0 = Vec::load(a), a1 = Vec::load(a + W);
#pragma GCC unroll 16
        for (int j = 0; j < N; j++) {
            const Vec::Reg bj = Vec::broadcast(b[j]);
            Words::multiply_add(acc[j][0], a0, bj);
            Words::multiply_add(acc[j][1], a1, bj);
        }
        a += rows;
        b += N;
    }
    if (m == rows) {
#pragma GCC unroll 16
        for (int j = 0; j < N; j++) {
            float *to = c + j * ldc;
            Vec::store(to, accumulate ? Vec::add(Vec::load(to), acc[j][0]) : acc[j][0]);
            Vec::store(to + W, accumulate ? Vec::add(Vec::load(to + W), acc[j][1]) : acc[j][1]);
        }
        return;
    }
    // The lower edge of C: by way of a whole panel, of which m rows are stored.
#pragma GCC unroll 16
    for (int j = 0; j < N; j++) {
        float column[rows];
        Vec::store(column, acc[j][0]);
        Vec::store(column + W, acc[j][1]);
        float *to = c + j * ldc;
        for (int i = 0; i < m; i++) to[i] = accumulate ? to[i] + column[i] : column[i];
    }
}

// Enters the kernels for 1 .. N columns.
template <class Words, int N>
void enter(LeafTable::GemmF32 (&table)[max_gemm_columns]) {
    table[N - 1] = gemm<Words, N>;
    if constexpr (N > 1) enter<Words, N - 1>(table);
}

}  // namespace

void fill_gemm(LeafTable &table) {
    static_assert(Vec::gemm_columns <= max_gemm_columns);
    table.gemm_rows = rows;
    table.gemm_columns = Vec::gemm_columns;
    enter<Floats, Vec::gemm_columns>(table.gemm_f32);
#if defined(TL_HAS_BF16_DOT)
    enter<Pairs, Vec::gemm_columns>(table.gemm_bf16);
#endif
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
