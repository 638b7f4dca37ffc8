// Packs quantised weights into panels of codes: panel[k / 4][row] = 4 codes. A row's codes are consecutive bytes, so
// packing is a transposition of words of 4, done in registers W x W at a time, one superblock of 256 elements of all
// rows after the other. These are 8 KiB, which stay in the L1 cache.
#include "cpu/simd/packed_blocks.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

constexpr int W = lanes;
// Prefetches a row's superblock two ahead of the one at `at`; past the row's end, that of the same row of the next
// panel. A panel has more rows than the hardware follows streams. Without it, cold weights at n = 1 take 3 times as
// long; 4 or 8 superblocks are no better.
template <class Format>
inline void fetch_ahead(int64_t at, int64_t k, const char *blocks, ptrdiff_t row_stride, int r) {
    constexpr ptrdiff_t size = Format::block_size, bytes = sizeof(typename Format::Block);
    const int64_t next = at + 2 * superblock;
    const char *ahead = blocks + (next < k ? r : panel_rows + r) * row_stride + (next < k ? next : next - k) / size * bytes;
    for (int line = 0; line < superblock / size * bytes; line += 64) __builtin_prefetch(ahead + line, 0, 2);
}

template <class Format>
void unpack(int64_t k, const char *blocks, ptrdiff_t row_stride, int rows, uint8_t *panel, float *scales, float *offsets) {
    using Block = typename Format::Block;
    constexpr int size = static_cast<int>(Format::block_size), groups = size / Format::scale_group;
    alignas(64) uint8_t codes[panel_rows][superblock];
    for (int r = rows; r < panel_rows; r++) __builtin_memset(codes[r], 0, superblock);
    for (int64_t at = 0; at < k; at += superblock) {
        const int64_t n = k - at < superblock ? k - at : superblock;
        for (int r = 0; r < panel_rows; r++) {
            const auto *block = reinterpret_cast<const Block *>(blocks + (r < rows ? r : 0) * row_stride) + at / size;
            fetch_ahead<Format>(at, k, blocks, row_stride, r);
            for (int i = 0; i < n; i += size, block++) {
                if (r < rows) codes_of<Format>(*block, codes[r] + i);
                float *scale = scales + (at + i) / Format::scale_group * panel_rows + r;
                for (int g = 0; g < groups; g++) scale[g * panel_rows] = r < rows ? Format::group_scale(*block, g) : 0;
                if constexpr (in_steps(offset_encoding<Format>)) {
                    static_assert(size == superblock);
                    float *unit = offsets + at / superblock * stepped_floats<Format::offset_group / 4>;
                    auto *steps = reinterpret_cast<char *>(unit + panel_rows);
                    unit[r] = r < rows ? Format::unit_offset(*block) : 0;
                    for (int g = 0; g < size / Format::offset_group; g++)
                        steps[PackingOf<Format>::pair_place(g, r)] = static_cast<char>(Format::offset_steps(*block, g));
                } else if constexpr (HasOffsets<Format>) {
                    float *offset = offsets + (at + i) / Format::offset_group * panel_rows + r;
                    for (int g = 0; g < size / Format::offset_group; g++) {
                        offset[g * panel_rows] = r < rows ? Format::group_offset(*block, g) : 0;
                    }
                }
            }
            if constexpr (HasCodebook<Format>) {
                alignas(16) uint8_t table[16];
                for (int q = 0; q < 16; q++) table[q] = static_cast<uint8_t>(Format::codebook[q]);
#pragma GCC unroll 4
                for (int i = 0; i < superblock; i += 4 * W) Ints::store(codes[r] + i, Ints::look_up(table, Ints::load(codes[r] + i)));
            }
        }
        transpose(codes[0], superblock, n, panel + at * panel_rows);
    }
}

template <class Format>
void pack(int64_t k, const char *blocks, ptrdiff_t row_stride, int rows, char *panel) {
    using Block = typename Format::Block;
    using P = PackingOf<Format>;
    constexpr int size = static_cast<int>(Format::block_size), groups = size / Format::scale_group;
    constexpr int half = superblock / 2;
    static_assert(half % (4 * P::chunk) == 0);
    alignas(64) uint8_t codes[panel_rows][superblock], k4s[panel_rows * half];
    for (int r = rows; r < panel_rows; r++) __builtin_memset(codes[r], 0, superblock);
    for (int64_t at = 0; at < k; at += superblock) {
        const int64_t n = k - at < superblock ? k - at : superblock;
        // Missing rows have scales of zero.
        if (rows < panel_rows) __builtin_memset(panel, 0, static_cast<size_t>(P::codes_at(n)));
        for (int r = 0; r < rows; r++) {
            const auto *block = reinterpret_cast<const Block *>(blocks + r * row_stride) + at / size;
            fetch_ahead<Format>(at, k, blocks, row_stride, r);
            for (int i = 0; i < n; i += size, block++) {
                codes_of<Format>(*block, codes[r] + i);
                keep_units<Format>(*block, r, panel);
                for (int g = 0; g < groups; g++) keep_group<Format>(*block, g, i / Format::scale_group + g, n, r, panel);
            }
            places_of_codes<Format>(n, codes[r]);
        }
        char *merged = panel + P::codes_at(n);
        for (int64_t first = 0; first < n; first += half) {
            const int64_t here = n - first < half ? n - first : half;
            transpose(codes[0] + first, superblock, here, k4s);
            for (int64_t chunk = 0; chunk < here / (4 * P::chunk); chunk++, merged += P::chunk_bytes) {
                merge<P>(k4s + chunk * P::chunk * 4 * panel_rows, merged);
            }
        }
        panel += P::bytes(n);
    }
}

template <class Format>
void rebuild(int64_t k, const char *panel, int row, int rows, char *blocks) {
    using Block = typename Format::Block;
    using P = PackingOf<Format>;
    constexpr int size = static_cast<int>(Format::block_size), groups = size / Format::scale_group;
    alignas(64) uint8_t codes[superblock];
    for (int64_t at = 0; at < k; at += superblock) {
        const int64_t n = k - at < superblock ? k - at : superblock;
        for (int r = 0; r < rows; r++) {
            codes_of_row<P>(panel + P::codes_at(n), n, row + r, codes);
            char *to = blocks + (r * (k / size) + at / size) * static_cast<int64_t>(sizeof(Block));
            for (int i = 0; i < n; i += size, to += sizeof(Block)) {
                // A copy, because the caller's bytes may be unaligned.
                Block block;
                BlockScales scales;
                load_units<Format>(panel, row + r, scales);
                for (int g = 0; g < groups; g++) load_group<Format>(panel, g, i / Format::scale_group + g, n, row + r, scales);
                Format::store_codes(block, codes + i);
                Format::store_scales(block, scales);
                __builtin_memcpy(to, &block, sizeof block);
            }
        }
        panel += P::bytes(n);
    }
}

// Expands k elements of a packed panel into an unpacked one.
template <class P>
void expand(int64_t first, int64_t k, const PackedPanel &panel, uint8_t *codes, float *scales, float *offsets) {
    Packed<P> from({panel.data + P::panel_bytes(first), panel.codebook, panel.ahead});
    for (int64_t at = 0; at < k; at += superblock) {
        const int64_t n = k - at < superblock ? k - at : superblock;
        from.begin_superblock(n / 4);
        for (int64_t g = 0; g < n / (4 * P::group); g++) {
            for (int done = 0; done < P::group; done += P::chunk) {
#pragma GCC unroll 8
                for (int i = 0; i < P::chunk; i++) {
                    Ints::store(codes, from.k4(i, 0));
                    Ints::store(codes + 4 * W, from.k4(i, 1));
                    codes += 4 * panel_rows;
                }
                from.end_chunk();
            }
            for (int half = 0; half < 2; half++) Vec::store(scales + half * W, from.scale(half));
            scales += panel_rows;
            if constexpr (Packed<P>::has_offsets && !Packed<P>::offset_steps) {
                for (int half = 0; half < 2; half++) Vec::store(offsets + half * W, from.offset(half));
                offsets += panel_rows;
            }
            from.end_group(g);
        }
        if constexpr (Packed<P>::offset_steps) {
            for (int half = 0; half < 2; half++) Vec::store(offsets + half * W, from.unit_offset(half));
            const char *steps = from.offsets;
            const auto bytes = n / (4 * P::group) * panel_rows;
            auto *to = reinterpret_cast<char *>(offsets + panel_rows);
            if constexpr (P::offsets == ScaleEncoding::nibbles) {
                for (int64_t i = 0; i < bytes; i++) to[i] = static_cast<char>(steps[i] >> 4 & 15);
            } else {
                __builtin_memcpy(to, steps, static_cast<size_t>(bytes));
            }
            offsets += stepped_floats<P::group>;
        }
        from.end_superblock();
    }
}

// For more columns than this, it is faster to expand a panel before multiplying. Codes in two parts take enough extra
// instructions that a product of bytes is a tenth faster, compared with one pass over the panel that writes 128 KiB.
// With few registers, that holds for all packed codes.
template <class P>
constexpr int columns_before_expanding() {
    return !Ints::wide ? 24 : P::high > 0 ? 128 : 1 << 30;
}

template <class Format>
void enter(SimdTable::IntegerFormat &format, SimdTable::PanelFormat &panels) {
    if constexpr (HasCodes<Format>) {
        format.scale_group = Format::scale_group;
        format.column_bytes = Ints::most_dots(Format::largest_code) ? 1 : 2;
        format.widens = !Ints::wide && format.column_bytes == 1;
        format.one_by_signs = one_by_signs<Format>;
        format.unpack = unpack<Format>;
        panels = {panel_rows, PackingOf<Format>::panel_bytes, pack<Format>, nullptr};
        format.expand = expand<PackingOf<Format>>;
        if constexpr (HasInverse<Format>) panels.rebuild = rebuild<Format>;
        format.packed_columns = columns_before_expanding<PackingOf<Format>>();
        if constexpr (HasCodebook<Format>) {
            for (int q = 0; q < 16; q++) format.codebook[q] = static_cast<uint8_t>(Format::codebook[q]);
        }
        if constexpr (HasCodeSet<Format>) {
            for (int q = 0; q < 16; q++) format.codebook[q] = static_cast<uint8_t>(Format::code_set[q]);
        }
        if constexpr (HasOffsets<Format>) {
            format.offset_group = Format::offset_group;
            format.offset_steps = in_steps(offset_encoding<Format>);
        } else {
            format.zero = Format::zero;
        }
    }
}

}  // namespace

void fill_panels(SimdTable &table) {
    SimdTable::IntegerFormat *format = table.integer.formats;
    SimdTable::PanelFormat *panels = table.panels;
#define TL_DTYPE(name, id, type) enter<type>(*format++, *panels++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_panels(SimdTable &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
