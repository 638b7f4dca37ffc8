// Packs rows into a panel: panel[k][i] = row i, element k. For contiguous rows this is a transposition, done in
// registers W x W elements at a time. It reads whole cache lines of W rows and writes whole cache lines of the panel.
// F16 and BF16 are widened on the way if the ISA supports it.
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

// Packs elements k0 .. k-1 of all rows, one by one.
template <class Row>
void pack_rest(int64_t k0, int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel) {
    for (int64_t at = k0; at < k; at++) {
        const char *from = src + at * k_stride;
        float *to = panel + at * width;
        for (int i = 0; i < rows; i++) to[i] = element<Row>(from + i * row_stride);
        for (int i = rows; i < width; i++) to[i] = 0;
    }
}

// Stores the first lanes of `block` to panel[0], panel[1], .., with `left` k before the panel's end, if fewer than W of
// its width remain. If these lanes are the first of a k, whole registers are stored as long as the panel has room: the
// excess belongs to the next k, which is written next.
void store_front(const Vec::Reg (&block)[W], int lanes, int width, bool first, int64_t left, float *panel) {
    const int64_t whole = first ? left * width - W : -1;
#pragma GCC unroll 16
    for (int r = 0; r < W; r++) {
        if (r * width <= whole) {
            Vec::store(panel + r * width, block[r]);
        } else {
            float row[W];
            Vec::store(row, block[r]);
            for (int i = 0; i < lanes; i++) panel[r * width + i] = row[i];
        }
    }
}

// If the rows are adjacent, as in a transposed matrix, their elements for one k are a run.
template <class Row>
void pack_runs(int64_t k, const char *src, ptrdiff_t k_stride, int rows, int width, float *panel) {
    constexpr ptrdiff_t size = sizeof(typename Row::Element);
    for (int64_t at = 0; at < k; at++, src += k_stride, panel += width) {
        int i = 0;
        for (; i + W <= rows; i += W) Vec::store(panel + i, Row::load(reinterpret_cast<const typename Row::Element *>(src + i * size)));
        for (; i < rows; i++) panel[i] = element<Row>(src + i * size);
        for (; i < width; i++) panel[i] = 0;
    }
}

template <class Row>
void pack(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel) {
    constexpr ptrdiff_t size = sizeof(typename Row::Element);
    if (row_stride == size && k_stride != size) {
        pack_runs<Row>(k, src, k_stride, rows, width, panel);
        return;
    }
    const int64_t whole_k = k_stride == size ? k / W * W : 0;
    for (int i = 0; i < width; i += W) {
        const char *first = src + i * row_stride;
        const int here = rows - i, lanes = width - i;
        for (int64_t at = 0; at < whole_k; at += W) {
            Vec::Reg block[W];
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) {
                block[r] =
                    r < here ? Row::load(reinterpret_cast<const typename Row::Element *>(first + r * row_stride + at * size)) : Vec::zero();
            }
            Vec::transpose(block);
            if (lanes < W) {
                store_front(block, lanes, width, i == 0, k - at, panel + at * width + i);
                continue;
            }
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) Vec::store(panel + (at + r) * width + i, block[r]);
        }
    }
    pack_rest<Row>(whole_k, k, src, k_stride, row_stride, rows, width, panel);
}

}  // namespace

void pack_words(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel) {
    pack<Floats>(k, src, k_stride, row_stride, rows, width, panel);
}

void fill_pack(SimdTable::Packs &table) {
    table.f32 = pack_words;
#if defined(TL_HAS_HALVES)
    table.f16 = pack<Halves>;
    table.bf16 = pack<Brains>;
#endif
}

}  // namespace tensorlib::core::simd::TL_ISA
