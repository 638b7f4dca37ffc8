// The micro-kernel of the packed F32 product.
//
//   C[m, n] (+)= sum over k of A[k][2 W] * B[k][N]          W = floats per vector
//
//   A panel: k = 0 | a0 .. a(2W-1) |, k = 1 | ... |         2 vectors per k, read once
//   B panel: k = 0 | b0 .. b(N-1) |,  k = 1 | ... |         each element broadcast, used by both vectors
//
// All 2 N accumulators stay in registers over the whole of k. A step of k takes 2 loads, N broadcasts and 2 N fused
// multiply-adds. With two of each per cycle, the multiply-adds take N cycles and the loads (N + 2) / 2. The product is
// limited by the multiply-adds once the panels come from a cache that delivers 8 W bytes in N cycles. 2 N chains are in
// flight, 24 or 12; 2 per cycle x 4 cycles of latency need 8.
//
// For BF16, if the ISA multiplies pairs, a float of a panel is two elements of k, and nothing else changes. A panel of
// A in 16 bits is widened as it is loaded, which takes two more instructions for the 2 N of a k.
#include "cpu/simd/store_panel.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
constexpr int rows = 2 * W;

// What a panel of A consists of. A step takes `floats` elements of each column of B; part(a, i, half) returns rows of
// half a panel for the i-th of them.
struct FloatPanels {
    using Element = float;
    static constexpr int floats = 1, bits = 32;
    static Vec::Reg part(const float *a, int, int half) { return Vec::load(a + half * W); }
    static void multiply_add(Vec::Reg &acc, Vec::Reg a, Vec::Reg b) { acc = Vec::fma(a, b, acc); }
};
#if defined(TL_HAS_BF16_DOT)
struct PairPanels : FloatPanels {
    static void multiply_add(Vec::Reg &acc, Vec::Reg a, Vec::Reg b) { Vec::dot_bf16(acc, a, b); }
};
#endif
#if defined(TL_HAS_HALVES)
struct HalfPanels : FloatPanels {
    using Element = uint16_t;
    static constexpr int bits = 16;
    static Vec::Reg part(const uint16_t *a, int, int half) { return Vec::load_f16(a + half * W); }
};
struct PairPanelsByFloats : FloatPanels {
    static constexpr int floats = 2, bits = 16;
    static Vec::Reg part(const float *a, int i, int half) {
        const Vec::Reg pairs = Vec::load(a + half * W);
        return i == 0 ? Vec::first_bf16(pairs) : Vec::second_bf16(pairs);
    }
};
#endif

// Prefetch distance for a panel in memory, in bytes. 8 columns of cold F32 read 28 of 41 GB/s without it, 28 with 2
// KiB, 32 with 4, 37 with 8, 35 with 16; 4 columns read 35, and 38 with 4 or 8. One column of F32 reads all of it
// without, and 5 % less with any distance; one of F16 reads 34 without, 38 with 4 or 8 KiB.
constexpr int bytes_ahead = 8192;

// A step of k takes a multiply-add's 4 cycles even with few columns. For half a line of A (16 bits in narrow vectors)
// that is 31 GB/s. Two sets of accumulators, for even and odd k, halve the time: one cold column reads 37 GB/s instead
// of 29. All kinds of panels use the same number of sets, so a product has identical bits whether or not there was
// memory for a copy in 16 bits. Kernels in order use one set for any number of columns.
template <int N, bool in_order>
constexpr int sets = N <= 3 && !in_order ? 2 : 1;

template <class A, int N, bool from_memory, bool in_order>
void gemm(int64_t k, const void *panel, const float *b, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    const auto *a = static_cast<const typename A::Element *>(panel);
    constexpr int S = sets<N, in_order>, together = S > A::floats ? S / A::floats : 1;
    Vec::Reg acc[N][2 * S];
    // Every loop over acc is unrolled, because a variable index would put the accumulators in memory.
#pragma GCC unroll 16
    for (int j = 0; j < N; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < 2 * S; i++) acc[j][i] = Vec::zero();
    }
    const auto multiply_step = [&](int first_set) __attribute__((always_inline)) {
        if constexpr (from_memory && (N > 1 || A::bits == 16)) {
#pragma GCC unroll 2
            for (int line = 0; line < rows * static_cast<int>(sizeof *a); line += 64)
                __builtin_prefetch(reinterpret_cast<const char *>(a) + bytes_ahead + line, 0, 3);
        }
#pragma GCC unroll 2
        for (int i = 0; i < A::floats; i++) {
            const Vec::Reg a0 = A::part(a, i, 0), a1 = A::part(a, i, 1);
            const int set = (first_set + i) % S;
#pragma GCC unroll 16
            for (int j = 0; j < N; j++) {
                const Vec::Reg bj = Vec::broadcast(b[i * N + j]);
                A::multiply_add(acc[j][2 * set], a0, bj);
                A::multiply_add(acc[j][2 * set + 1], a1, bj);
            }
        }
        a += rows;
        b += A::floats * N;
    };
    for (; k >= together; k -= together) {
#pragma GCC unroll 2
        for (int i = 0; i < together; i++) multiply_step(i);
    }
    if (together > 1 && k > 0) multiply_step(0);
    if constexpr (S > 1) {
#pragma GCC unroll 4
        for (int j = 0; j < N; j++) acc[j][0] = Vec::add(acc[j][0], acc[j][2]), acc[j][1] = Vec::add(acc[j][1], acc[j][3]);
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
    // The lower edge of C.
    float whole[N * rows];
#pragma GCC unroll 16
    for (int j = 0; j < N; j++) {
        Vec::store(whole + j * rows, acc[j][0]);
        Vec::store(whole + j * rows + W, acc[j][1]);
    }
    store_panel(whole, rows, N, c, ldc, m, accumulate);
}

// Enters the kernels for 1 .. N columns.
template <class A, int N, bool in_order>
void enter_columns(SimdTable::Gemm &table) {
    table.from_cache[N - 1] = gemm < A, N, false, in_order && sets<N, false> != 1 > ;
    table.from_memory[N - 1] = gemm < A, N, true, in_order && sets<N, false> != 1 > ;
    if constexpr (N > 1) enter_columns<A, N - 1, in_order>(table);
}
template <class A>
void enter(SimdTable::Gemm &table) {
    enter_columns<A, Vec::gemm_columns, false>(table);
}
template <class A>
void enter_in_order(SimdTable::Gemm &table) {
    enter_columns<A, Vec::gemm_columns, true>(table);
}

}  // namespace

void fill_gemm(SimdTable::Gemms &table) {
    static_assert(Vec::gemm_columns <= max_gemm_columns);
    table.rows = rows;
    table.columns = Vec::gemm_columns;
    enter<FloatPanels>(table.f32);
    enter_in_order<FloatPanels>(table.f32_in_order);
#if defined(TL_HAS_BF16_DOT)
    enter<PairPanels>(table.bf16);
#endif
#if defined(TL_HAS_HALVES)
    enter<HalfPanels>(table.f16_by_f32);
    enter_in_order<HalfPanels>(table.f16_by_f32_in_order);
    enter<PairPanelsByFloats>(table.bf16_by_f32);
    enter_in_order<PairPanelsByFloats>(table.bf16_by_f32_in_order);
#endif
}

}  // namespace tensorlib::core::simd::TL_ISA
