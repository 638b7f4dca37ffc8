// How convolutions load the elements that a tap meets at neighbouring positions, in runs.
//
//   runs    element     0    s   2s   3s  ..        of a row of channel 0, 1, 2, ..
//             to        | 0 | 1 | 2 | 3 | ..        line of a panel for the channel and the tap
//
// A line of a panel takes two loads and stores of a vector, compared with the n multiply-adds that read each of them: a
// 32nd of an F32 product with 64 outputs and panels of two vectors.
//
// sum() takes the taps one after the other, four vectors of positions at a time, so that 4 chains of multiply-adds are
// in flight. Each takes a load. It reaches half of what multiply-adds alone would, because loads from the L1 cache
// limit it.
#include "cpu/simd/rows.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;

template <class Row>
float element(const char *p) {
    typename Row::Element x;
    __builtin_memcpy(&x, p, sizeof x);
    return Row::one(x);
}

template <class Row>
void side_by_side(const char *src, int n, float *to) {
    const auto *from = reinterpret_cast<const typename Row::Element *>(src);
    int i = 0;
    for (; i + W <= n; i += W) Vec::store(to + i, Row::load(from + i));
    if constexpr (sizeof *from == sizeof(float)) {
        if (i < n) Vec::store_part(to + i, Vec::load_part(reinterpret_cast<const float *>(from) + i, n - i), n - i);
    } else {
        for (; i < n; i++) to[i] = element<Row>(src + i * static_cast<ptrdiff_t>(sizeof *from));
    }
}

template <class Row>
void runs(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t stride, int n, float *to, ptrdiff_t to_stride) {
    constexpr ptrdiff_t size = sizeof(typename Row::Element);
    for (int64_t at = 0; at < k; at++, src += k_stride, to += to_stride) {
        if (stride == size) {
            side_by_side<Row>(src, n, to);
        } else if (stride == 2 * size) {
            for (int i = 0; i < n; i++) to[i] = element<Row>(src + i * 2 * size);
        } else {
            for (int i = 0; i < n; i++) to[i] = element<Row>(src + i * stride);
        }
    }
}

template <int vectors>
void sum_vectors(int taps, const float *const *src, const float *weights, int64_t at, float *to, bool accumulate) {
    Vec::Reg sums[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) sums[v] = accumulate ? Vec::load(to + at + v * W) : Vec::zero();
    for (int t = 0; t < taps; t++) {
        const Vec::Reg weight = Vec::broadcast(weights[t]);
        const float *from = src[t] + at;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sums[v] = Vec::fma(Vec::load(from + v * W), weight, sums[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) Vec::store(to + at + v * W, sums[v]);
}

void sum(int64_t n, int taps, const float *const *src, const float *weights, float *to, bool accumulate) {
    int64_t at = 0;
    for (; at + 4 * W <= n; at += 4 * W) sum_vectors<4>(taps, src, weights, at, to, accumulate);
    for (; at + W <= n; at += W) sum_vectors<1>(taps, src, weights, at, to, accumulate);
    const int left = static_cast<int>(n - at);
    if (left == 0) return;
    Vec::Reg sums = accumulate ? Vec::load_part(to + at, left) : Vec::zero();
    for (int t = 0; t < taps; t++) sums = Vec::fma(Vec::load_part(src[t] + at, left), Vec::broadcast(weights[t]), sums);
    Vec::store_part(to + at, sums, left);
}

}  // namespace

void fill_windows(SimdTable::Windows &table) {
    table.runs_f32 = runs<Floats>;
#if defined(TL_HAS_HALVES)
    table.runs_f16 = runs<Halves>;
    table.runs_bf16 = runs<Brains>;
#endif
    table.sum = sum;
}

}  // namespace tensorlib::core::simd::TL_ISA
