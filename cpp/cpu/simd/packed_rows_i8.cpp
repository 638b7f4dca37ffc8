// Converts rows into packed rows and back.
#include "cpu/simd/packed_rows_i8.hpp"
#include "cpu/simd/packed_blocks.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

// transpose() reads whole vectors, starting at each lane's words.
constexpr int64_t most_elements = panel_rows * superblock, behind = 64;

// 0 if more than an eighth would be padding.
template <class P>
int64_t packed_row_bytes(int64_t k) {
    int64_t bytes = 0, elements = 0;
    for_each_superblock<P>(k, [&](int64_t, int64_t n) { bytes += P::bytes(n), elements += panel_rows * n; });
    return elements > k + k / 8 ? 0 : (bytes + 63) / 64 * 64;
}

// Calls take(group, lane, group of the lane) for a block's groups, whose first element is the superblock's `at`th.
template <class Format, class Take>
inline void for_each_group(int64_t at, int64_t n, Take take) {
    for (int g = 0; g < static_cast<int>(Format::block_size) / Format::scale_group; g++) {
        const int64_t element = at + g * Format::scale_group;
        take(g, static_cast<int>(element / n), element % n / Format::scale_group);
    }
}

template <class Format>
void pack_row(int64_t k, const char *row, ptrdiff_t, int, char *packed) {
    using P = PackingOf<Format>;
    constexpr int64_t size = Format::block_size;
    constexpr int64_t half = superblock / 2;
    static_assert(half % (4 * P::chunk) == 0);
    alignas(64) uint8_t codes[most_elements + behind], k4s[panel_rows * half];
    for_each_superblock<P>(k, [&](int64_t first, int64_t n) {
        const int64_t all = panel_rows * n, here = k - first < all ? k - first : all;
        // Missing lanes have scales of zero.
        if (here < all) {
            __builtin_memset(packed, 0, static_cast<size_t>(P::codes_at(n)));
            __builtin_memset(codes + here, 0, static_cast<size_t>(all - here));
        }
        const auto *block = reinterpret_cast<const typename Format::Block *>(row) + first / size;
        for (int64_t i = 0; i < here; i += size, block++) {
            codes_of<Format>(*block, codes + i);
            for_each_group<Format>(i, n, [&](int g, int lane, int64_t place) {
                // Each lane that a block reaches into has its units.
                if (g == 0 || place == 0) keep_units<Format>(*block, lane, packed);
                keep_group<Format>(*block, g, place, n, lane, packed);
            });
        }
        places_of_codes<Format>(here, codes);
        char *merged = packed + P::codes_at(n);
        for (int64_t from = 0; from < n; from += half) {
            const int64_t part = n - from < half ? n - from : half;
            transpose(codes + from, n, part, k4s);
            for (int64_t chunk = 0; chunk < part / (4 * P::chunk); chunk++, merged += P::chunk_bytes) {
                merge<P>(k4s + chunk * P::chunk * 4 * panel_rows, merged);
            }
        }
        packed += P::bytes(n);
    });
}

template <class Format>
void rebuild_row(int64_t k, const char *packed, int, int, char *row) {
    using P = PackingOf<Format>;
    using Block = typename Format::Block;
    constexpr int64_t size = Format::block_size;
    alignas(64) uint8_t codes[most_elements];
    for_each_superblock<P>(k, [&](int64_t first, int64_t n) {
        for (int lane = 0; lane < panel_rows; lane++) codes_of_row<P>(packed + P::codes_at(n), n, lane, codes + lane * n);
        for (int64_t i = 0; i < panel_rows * n && first + i < k; i += size, row += sizeof(Block)) {
            // A copy, because the caller's bytes may be unaligned.
            Block block;
            BlockScales scales;
            load_units<Format>(packed, static_cast<int>(i / n), scales);
            for_each_group<Format>(i, n, [&](int g, int lane, int64_t place) { load_group<Format>(packed, g, place, n, lane, scales); });
            Format::store_codes(block, codes + i);
            Format::store_scales(block, scales);
            __builtin_memcpy(row, &block, sizeof block);
        }
        packed += P::bytes(n);
    });
}

template <class Format>
void enter(SimdTable::PackedRowFormat &format) {
    if constexpr (HasCodes<Format>) {
        static_assert(superblock % Format::block_size == 0 && panel_rows * least_of_lane<PackingOf<Format>>() % superblock == 0);
        format.copy = {1, packed_row_bytes<PackingOf<Format>>, pack_row<Format>, nullptr};
        if constexpr (HasInverse<Format>) format.copy.rebuild = rebuild_row<Format>;
    }
}

}  // namespace

void fill_packed_rows(SimdTable &table) {
    SimdTable::PackedRowFormat *format = table.packed_rows;
#define TL_DTYPE(name, id, type) enter<type>(*format++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_packed_rows(SimdTable &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
