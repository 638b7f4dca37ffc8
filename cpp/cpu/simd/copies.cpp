// Copies past the caches: stores that do not read their lines first take two thirds of a plain copy's traffic.
//
// Transposed copies: a block is a line of 64 bytes of some rows, whose words registers transpose. Blocks follow each other along the
// rows, so that lines of the target are completed in the L1 cache. Limited by memory, and by the latency of lines far apart: lines of the
// rows after next are requested early.
#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

#if defined(TL_HAS_STREAM)
// Registers move any bytes unchanged.
void copy_stream(int64_t n, const void *src, void *dst) {
    const auto *from = static_cast<const char *>(src);
    auto *to = static_cast<char *>(dst);
    constexpr int64_t size = sizeof(Vec::Reg);
    int64_t i = (size - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % size)) % size;
    if (i > n) i = n;
    __builtin_memcpy(to, from, static_cast<size_t>(i));
    for (; i + size <= n; i += size) Vec::stream(reinterpret_cast<float *>(to + i), Vec::load(reinterpret_cast<const float *>(from + i)));
    __builtin_memcpy(to + i, from + i, static_cast<size_t>(n - i));
}
void stream_end() { Vec::stream_end(); }
#else
void copy_stream(int64_t n, const void *src, void *dst) { __builtin_memcpy(dst, src, static_cast<size_t>(n)); }
void stream_end() {}
#endif

constexpr int W = Vec::width;
using Reg = Vec::Reg;

// Elements of Size bytes, 4 / Size of them in a word.
template <int Size>
struct Words {
    static constexpr int in_word = 4 / Size;
    static constexpr int side = W * in_word;      // of a square that registers transpose
    static constexpr int line = 64 / Size;        // columns of a block
    static constexpr ptrdiff_t ahead = 2 * side;  // rows
};

// Lane i of the result has element `number` of the words of lane i of all registers, one from each.
template <int Size>
Reg gathered(const Reg (&words)[4 / Size], int number) {
    if constexpr (Size == 4) {
        return words[0];
    } else {
        constexpr int bits = 8 * Size;
        constexpr int32_t mask = (1 << bits) - 1;
        Vec::Whole all = Vec::bit_and(Vec::right(Vec::bits(words[0]), bits * number), Vec::whole(mask));
        for (int p = 1; p < 4 / Size; p++) {
            const Vec::Whole one = Vec::bit_and(Vec::right(Vec::bits(words[p]), bits * number), Vec::whole(mask));
            all = Vec::bit_or(all, Vec::left(one, bits * p));
        }
        return Vec::floats(all);
    }
}

template <int Size>
void transpose_square(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride) {
    constexpr int in_word = Words<Size>::in_word;
    // Register i of part p: words of row i in_word + p.
    Reg parts[in_word][W];
    for (int p = 0; p < in_word; p++) {
        for (int i = 0; i < W; i++) parts[p][i] = Vec::load(reinterpret_cast<const float *>(from + (i * in_word + p) * from_stride));
        Vec::transpose(parts[p]);
    }
    for (int w = 0; w < W; w++) {
        Reg words[in_word];
        for (int p = 0; p < in_word; p++) words[p] = parts[p][w];
        for (int number = 0; number < in_word; number++)
            Vec::store(reinterpret_cast<float *>(to + (w * in_word + number) * to_stride), gathered<Size>(words, number));
    }
}

// Elements one by one, in columns of a line at most.
template <int Size>
void transpose_rest(int64_t rows, int64_t columns, const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride) {
    constexpr int64_t line = 64 / Size;
    for (int64_t first = 0; first < columns; first += line) {
        const int64_t end = first + line < columns ? first + line : columns;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = first; c < end; c++) __builtin_memcpy(to + c * to_stride + r * Size, from + r * from_stride + c * Size, Size);
        }
    }
}

template <int Size>
void transpose(int64_t rows, int64_t columns, const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride) {
    using Of = Words<Size>;
    const int64_t whole_rows = rows / Of::side * Of::side, whole_columns = columns / Of::side * Of::side;
    for (int64_t first = 0; first < whole_columns; first += Of::line) {
        const int64_t end = first + Of::line < whole_columns ? first + Of::line : whole_columns;
        for (int64_t r = 0; r < whole_rows; r += Of::side) {
            const char *row = from + r * from_stride + first * Size;
            if (r + Of::ahead + Of::side <= rows) {
                for (int i = 0; i < Of::side; i++) __builtin_prefetch(row + (Of::ahead + i) * from_stride);
            }
            for (int64_t c = first; c < end; c += Of::side)
                transpose_square<Size>(row + (c - first) * Size, from_stride, to + c * to_stride + r * Size, to_stride);
        }
    }
    transpose_rest<Size>(whole_rows, columns - whole_columns, from + whole_columns * Size, from_stride, to + whole_columns * to_stride,
                         to_stride);
    transpose_rest<Size>(rows - whole_rows, columns, from + whole_rows * from_stride, from_stride, to + whole_rows * Size, to_stride);
}

}  // namespace

void fill_copies(SimdTable::Copies &table) {
    table = {.stream = copy_stream, .stream_end = stream_end, .transpose = {transpose<1>, transpose<2>, transpose<4>, transpose_rest<8>}};
}

}  // namespace tensorlib::core::simd::TL_ISA
