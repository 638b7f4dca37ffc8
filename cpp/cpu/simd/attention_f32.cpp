// The step of attention between its two products, for as many queries as a panel has rows, and the weighted mean of
// values for few queries.
//
//   weights     s: key 0 | q0 .. q(2W-1) |, key 1 | .. |     each query has a lane: maxima, e ^ x and sums run along
//                                                            the keys
//   weighted    y: | d0 .. d(8W-1) |, or half of it for some columns: all of them share a load of a key's values;
//               limited by memory
//
// weights() reads s twice, from the L1 cache. Two registers of e ^ x take some 25 operations, whereas the products take
// 4 n for keys of n elements. There are four sums per lane, so that an addition need not wait for the previous one.
#include "cpu/simd/rows.hpp"

#include "math/exponential.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
constexpr int rows = 2 * W;
using Number = math::Real<Vec>;

Number load(const float *p) { return Number::of(Vec::load(p)); }
Number larger(Number a, Number b) { return Number::of(Vec::max(a.reg, b.reg)); }

// Stores the products as they are compared, and returns the largest of them, for W queries.
template <bool capped, bool masked>
Number logits(int64_t n, float *s, Number cap, const float *mask, Number slope, Number most) {
    const auto at = [=](int64_t key, Number so_far) __attribute__((always_inline)) {
        Number x = load(s + key * rows);
        if constexpr (capped) x = cap * tanh(x);
        if constexpr (masked) x = fma(load(mask + key * rows), slope, x);
        if constexpr (capped || masked) Vec::store(s + key * rows, x.reg);
        // If x is NaN, the largest so far stays; e ^ x propagates the NaN.
        return larger(x, so_far);
    };
    Number even = most, odd = most;
    int64_t key = 0;
    for (; key + 2 <= n; key += 2) even = at(key, even), odd = at(key + 1, odd);
    if (key < n) even = at(key, even);
    return larger(even, odd);
}

void weights(int64_t n, float *s, float cap, const float *mask, const float *slopes, float *largest, float *sum, float *factor) {
    for (int half = 0; half < rows; half += W) {
        const Number before = load(largest + half), c(cap);
        const Number most = cap > 0 ? mask ? logits<true, true>(n, s + half, c, mask + half, load(slopes + half), before)
                                           : logits<true, false>(n, s + half, c, nullptr, c, before)
                            : mask ? logits<false, true>(n, s + half, c, mask + half, load(slopes + half), before)
                                    : logits<false, false>(n, s + half, c, nullptr, c, before);
        // A query whose keys have all been masked so far has no largest to subtract.
        const Number base = Number::of(Vec::select(Vec::equal(most.reg, Vec::broadcast(-math::infinity)), Vec::zero(), most.reg));
        Number sums[4] = {Number(0.0f), Number(0.0f), Number(0.0f), Number(0.0f)};
        int64_t key = 0;
        for (; key + 4 <= n; key += 4) {
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                float *at = s + (key + i) * rows + half;
                const Number e = exp(load(at) - base);
                Vec::store(at, e.reg);
                sums[i] = sums[i] + e;
            }
        }
        for (; key < n; key++) {
            float *at = s + key * rows + half;
            const Number e = exp(load(at) - base);
            Vec::store(at, e.reg);
            sums[0] = sums[0] + e;
        }
        const Number f = exp(before - base);
        Vec::store(factor + half, f.reg);
        Vec::store(largest + half, most.reg);
        Vec::store(sum + half, fma(load(sum + half), f, (sums[0] + sums[1]) + (sums[2] + sums[3])).reg);
    }
}

void rescale(int64_t n, float *y, const float *factor) {
    const Vec::Reg f0 = Vec::load(factor), f1 = Vec::load(factor + W);
    for (int64_t i = 0; i < n; i++, y += rows) {
        Vec::store(y, Vec::mul(Vec::load(y), f0));
        Vec::store(y + W, Vec::mul(Vec::load(y + W), f1));
    }
}

// The number of columns whose sums stay in registers, and of registers of a key's values: 1 x 8, up to 4 x 4 of 32
// registers, 2 x 4 of 16. With 8 for one column or 4 for two, the multiply-adds' latency of 4 cycles allows a register
// a cycle or less, which is more than memory delivers.
constexpr int columns = W == 16 ? 4 : 2;
static_assert(columns <= max_weighted_columns);
template <int N>
constexpr int together = N == 1 ? 8 : 4;
// Longer rows are read in parts, for this many keys at a time: 16 keys of 128 floats are 8 KiB and stay in the L1
// cache.
constexpr int64_t keys_together = 16;
// Prefetch distance for values, as whole rows, whether they are contiguous or not.
constexpr ptrdiff_t bytes_ahead = 4096;

template <class Row, int N, int R>
void add_part(int64_t keys, const char *v, ptrdiff_t v_stride, const float *w, ptrdiff_t ldw, float *y, ptrdiff_t ldy) {
    Vec::Reg acc[N][R];
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) acc[j][r] = Vec::load(y + j * ldy + r * W);
    }
    const int64_t ahead = bytes_ahead / (v_stride > 0 ? v_stride : 1) + 1;
    for (int64_t key = 0; key < keys; key++, v += v_stride) {
        const auto *from = reinterpret_cast<const typename Row::Element *>(v);
#pragma GCC unroll 8
        for (int line = 0; line < R * W * static_cast<int>(sizeof *from); line += 64) __builtin_prefetch(v + ahead * v_stride + line, 0, 3);
        Vec::Reg part[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) part[r] = Row::load(from + r * W);
#pragma GCC unroll 4
        for (int j = 0; j < N; j++) {
            const Vec::Reg weight = Vec::broadcast(w[j * ldw + key]);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) acc[j][r] = Vec::fma(part[r], weight, acc[j][r]);
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) Vec::store(y + j * ldy + r * W, acc[j][r]);
    }
}

template <class Row, int N>
void add_rows(int64_t keys, int64_t n, const char *v, ptrdiff_t v_stride, const float *w, ptrdiff_t ldw, float *y, ptrdiff_t ldy) {
    constexpr ptrdiff_t size = sizeof(typename Row::Element);
    constexpr int R = together<N>;
    int64_t d = 0;
    for (; d + R * W <= n; d += R * W) add_part<Row, N, R>(keys, v + d * size, v_stride, w, ldw, y + d, ldy);
    for (; d + W <= n; d += W) add_part<Row, N, 1>(keys, v + d * size, v_stride, w, ldw, y + d, ldy);
    for (; d < n; d++) {
        for (int j = 0; j < N; j++) {
            float sum = y[j * ldy + d];
            for (int64_t key = 0; key < keys; key++) {
                typename Row::Element x;
                __builtin_memcpy(&x, v + d * size + key * v_stride, sizeof x);
                sum += w[j * ldw + key] * Row::one(x);
            }
            y[j * ldy + d] = sum;
        }
    }
}

template <class Row, int N>
void weighted(int64_t keys, int64_t n, const char *v, ptrdiff_t v_stride, const float *w, ptrdiff_t ldw, float *y, ptrdiff_t ldy) {
    const int64_t most = n <= together<N> * W ? keys : keys_together;
    for (; keys > 0; keys -= most, v += most * v_stride, w += most)
        add_rows<Row, N>(keys < most ? keys : most, n, v, v_stride, w, ldw, y, ldy);
}

template <class Row, int N>
void enter(SimdTable::Attention::Weighted (&table)[max_weighted_columns]) {
    table[N - 1] = weighted<Row, N>;
    if constexpr (N > 1) enter<Row, N - 1>(table);
}

}  // namespace

void fill_attention(SimdTable::Attention &table) {
    table.weights = weights;
    table.rescale = rescale;
    table.columns = columns;
    enter<Floats, columns>(table.f32);
#if defined(TL_HAS_HALVES)
    enter<Halves, columns>(table.f16);
    enter<Brains, columns>(table.bf16);
#endif
}

}  // namespace tensorlib::core::simd::TL_ISA
