// Rows into a panel: panel[k][i] = row i, element k. Where the rows are contiguous this is a transposition, done in
// registers W x W elements at a time: it reads whole cache lines of W rows and writes whole cache lines of the panel. F16 and BF16 are
// widened on the way where the level does that.
#include "cpu/leaf/rows.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;

template <class Row>
float element(const char *p) {
    typename Row::Element x;
    __builtin_memcpy(&x, p, sizeof x);
    return Row::one(x);
}

// Elements k0 .. k-1 of rows i0 .. width-1, those from `rows` on being zero.
template <class Row>
void pack_rest(int64_t k0, int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int i0, int rows, int width,
               float *panel) {
    for (int64_t at = k0; at < k; at++) {
        const char *from = src + at * k_stride;
        float *to = panel + at * width;
        for (int i = i0; i < rows; i++) to[i] = element<Row>(from + i * row_stride);
        for (int i = rows > i0 ? rows : i0; i < width; i++) to[i] = 0;
    }
}

template <class Row>
void pack(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel) {
    constexpr ptrdiff_t size = sizeof(typename Row::Element);
    const int whole = k_stride == size ? rows / W * W : 0;
    const int64_t whole_k = k / W * W;
    for (int i = 0; i < whole; i += W) {
        const char *first = src + i * row_stride;
        for (int64_t at = 0; at < whole_k; at += W) {
            Vec::Reg block[W];
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) {
                block[r] = Row::load(reinterpret_cast<const typename Row::Element *>(first + r * row_stride + at * size));
            }
            Vec::transpose(block);
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) Vec::store(panel + (at + r) * width + i, block[r]);
        }
        for (int64_t at = whole_k; at < k; at++) {
            for (int r = 0; r < W; r++) panel[at * width + i + r] = element<Row>(first + r * row_stride + at * k_stride);
        }
    }
    if (whole < width) pack_rest<Row>(0, k, src, k_stride, row_stride, whole, rows, width, panel);
}

}  // namespace

void fill_pack(LeafTable &table) {
    table.pack_f32 = pack<Floats>;
#if defined(TL_HAS_HALVES)
    table.pack_f16 = pack<Halves>;
    table.pack_bf16 = pack<Brains>;
#endif
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
