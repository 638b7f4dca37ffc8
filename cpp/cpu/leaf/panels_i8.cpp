// Quantised weights into panels of codes: panel[k / 4][row] = 4 codes. A row's codes are bytes one after the other, so a panel is a
// transposition of words of 4, done in registers W x W at a time, a piece of 256 elements of all rows after the other: 8 KiB, which
// stay in the first-level cache.
#include "cpu/leaf/level.hpp"

#include "dtype/formats.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

#if defined(TL_HAS_INTS)

namespace {

constexpr int W = Vec::width;
constexpr int rows_of_panel = 2 * W;
constexpr int piece = 256;
// How far ahead of its codes a piece is fetched: a panel's rows are more streams than the hardware follows. Without it, cold weights at
// n = 1 take 3 times as long; 4 or 8 pieces are no better.
constexpr int pieces_ahead = 2;

template <class Format>
void codes_of(const typename Format::Block &block, uint8_t *codes) {
    constexpr int runs = static_cast<int>(Format::block_size) / run_length;
#pragma GCC unroll 32
    for (int run = 0; run < runs; run++) {
        // As in decode_block(): an array of its own.
        uint8_t of_run[run_length];
        Format::codes_run(block, run, of_run);
        __builtin_memcpy(codes + run * run_length, of_run, run_length);
    }
}

// Up to 256 elements of all rows: words [n / 4][rows].
void transpose(const uint8_t (&codes)[rows_of_panel][piece], int64_t n, uint8_t *panel) {
    for (int64_t word = 0; word < n / 4; word += W) {
        for (int half = 0; half < 2; half++) {
            Vec::Reg block[W];
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) block[r] = Vec::load(reinterpret_cast<const float *>(codes[half * W + r] + 4 * word));
            Vec::transpose(block);
            // n is a multiple of 32: the last words may be half a block.
            const int64_t here = n / 4 - word < W ? n / 4 - word : W;
            float *to = reinterpret_cast<float *>(panel) + word * rows_of_panel + half * W;
            if (here == W) {
#pragma GCC unroll 16
                for (int i = 0; i < W; i++) Vec::store(to + i * rows_of_panel, block[i]);
            } else {
#pragma GCC unroll 8
                for (int i = 0; i < W / 2; i++) Vec::store(to + i * rows_of_panel, block[i]);
            }
        }
    }
}

template <class Format>
void unpack(int64_t k, const char *blocks, ptrdiff_t row_stride, int rows, uint8_t *panel, float *scales, float *offsets) {
    using Block = typename Format::Block;
    constexpr int size = static_cast<int>(Format::block_size), groups = size / Format::scale_group;
    constexpr int bytes_of_piece = piece / size * static_cast<int>(sizeof(Block));
    alignas(64) uint8_t codes[rows_of_panel][piece];
    for (int r = rows; r < rows_of_panel; r++) __builtin_memset(codes[r], 0, piece);
    for (int64_t at = 0; at < k; at += piece) {
        const int64_t n = k - at < piece ? k - at : piece;
        for (int r = 0; r < rows_of_panel; r++) {
            const auto *block = reinterpret_cast<const Block *>(blocks + (r < rows ? r : 0) * row_stride) + at / size;
            // Behind the row's end the same row of the next panel.
            const int64_t next = at + pieces_ahead * piece;
            const char *ahead = blocks + (next < k ? r : rows_of_panel + r) * row_stride +
                                (next < k ? next : next - k) / size * static_cast<ptrdiff_t>(sizeof(Block));
            for (int line = 0; line < bytes_of_piece; line += 64) __builtin_prefetch(ahead + line, 0, 2);
            for (int i = 0; i < n; i += size, block++) {
                if (r < rows) codes_of<Format>(*block, codes[r] + i);
                float *scale = scales + (at + i) / Format::scale_group * rows_of_panel + r;
                for (int g = 0; g < groups; g++) scale[g * rows_of_panel] = r < rows ? Format::group_scale(*block, g) : 0;
                if constexpr (HasOffsets<Format>) {
                    float *offset = offsets + (at + i) / Format::offset_group * rows_of_panel + r;
                    for (int g = 0; g < size / Format::offset_group; g++) {
                        offset[g * rows_of_panel] = r < rows ? Format::group_offset(*block, g) : 0;
                    }
                }
            }
            if constexpr (HasLevels<Format>) {
                alignas(16) uint8_t table[16];
                for (int q = 0; q < 16; q++) table[q] = static_cast<uint8_t>(Format::levels[q]);
#pragma GCC unroll 4
                for (int i = 0; i < piece; i += 4 * W) Ints::store(codes[r] + i, Ints::look_up(table, Ints::load(codes[r] + i)));
            }
        }
        transpose(codes, n, panel + at * rows_of_panel);
    }
}

template <class Format>
void enter(LeafTable::IntegerFormat &format) {
    if constexpr (HasCodes<Format>) {
        if constexpr (Ints::most_dots(Format::largest_code) > 0) {
            format.scale_group = Format::scale_group;
            format.unpack = unpack<Format>;
            if constexpr (HasOffsets<Format>) {
                format.offset_group = Format::offset_group;
            } else {
                format.zero = Format::zero;
            }
        }
    }
}

}  // namespace

void fill_panels(LeafTable &table) {
    LeafTable::IntegerFormat *format = table.integer;
#define TL_DTYPE(name, id, type) enter<type>(*format++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_panels(LeafTable &) {}

#endif

}  // namespace tensorlib::core::leaf::TL_LEVEL
