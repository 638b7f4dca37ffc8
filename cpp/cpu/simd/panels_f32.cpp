// Panels of F32, F16 and BF16 constants (SimdTable::panels), with 2 W rows each, in their stored width:
//
//   F32   k = 0 | row 0 | row 1 | .. | row 2W-1 |, k = 1 | ..          words, as products read them
//   BF16  k = 0, 1 | row 0 | row 1 | .. |, k = 2, 3 | ..               likewise; a word is two of k
//   F16   k = 0 | row 0 | .. | row 2W-1 |, k = 1 | ..                  half a word each, so that a load widens a vector
//                                                                      of them
//
// No bit is changed, so rows can be rebuilt.
#include "cpu/simd/rows.hpp"

#include "dtype/formats.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int panel_rows = 2 * Vec::width;
// Words that are transposed back at a time: 32 words of all rows are 4 KiB.
constexpr int most_words = 32;

template <int size>
int64_t panel_bytes(int64_t k) {
    return k * size * panel_rows;
}

void pack_panel(int64_t words, const char *src, ptrdiff_t row_stride, int rows, char *panel) {
    pack_words(words, src, 4, row_stride, rows, panel_rows, reinterpret_cast<float *>(panel));
}

// Extracts n words of rows from a panel: packs it again, with rows as its k.
void turn_back(int n, const char *panel, int row, int rows, char *to, ptrdiff_t row_stride) {
    float turned[panel_rows * most_words];
    pack_words(rows, panel + row * 4, 4, panel_rows * 4, n, n, turned);
    for (int r = 0; r < rows; r++) __builtin_memcpy(to + r * row_stride, turned + r * n, static_cast<size_t>(n) * 4);
}

void rebuild_words(int64_t words, const char *panel, int row, int rows, char *to) {
    for (int64_t at = 0; at < words; at += most_words) {
        const int n = static_cast<int>(words - at < most_words ? words - at : most_words);
        turn_back(n, panel + at * panel_rows * 4, row, rows, to + at * 4, words * 4);
    }
}

#if defined(TL_HAS_HALVES)

// Words of two elements are transposed, then split. It takes 256 bytes of a row at a time, 8 KiB for all rows, because
// stacks may be small.
void pack_halves(int64_t k, const char *src, ptrdiff_t row_stride, int rows, char *panel) {
    constexpr int at_a_time = 64;
    float words[at_a_time * panel_rows];
    auto *halves = reinterpret_cast<uint16_t *>(panel);
    for (int64_t at = 0; at < k / 2; at += at_a_time) {
        const int64_t n = k / 2 - at < at_a_time ? k / 2 - at : at_a_time;
        pack_words(n, src + 4 * at, 4, row_stride, rows, panel_rows, words);
        for (int64_t word = 0; word < n; word++) {
            uint32_t both[panel_rows];
            __builtin_memcpy(both, words + word * panel_rows, sizeof both);
            uint16_t *to = halves + 2 * (at + word) * panel_rows;
            for (int i = 0; i < panel_rows; i++) {
                to[i] = static_cast<uint16_t>(both[i]);
                to[panel_rows + i] = static_cast<uint16_t>(both[i] >> 16);
            }
        }
    }
    if (k % 2 == 0) return;
    uint16_t *last = halves + (k - 1) * panel_rows;
    for (int i = 0; i < panel_rows; i++) {
        last[i] = 0;
        if (i < rows) __builtin_memcpy(last + i, src + i * row_stride + 2 * (k - 1), 2);
    }
}

void rebuild_halves(int64_t k, const char *panel, int row, int rows, char *to) {
    const auto *halves = reinterpret_cast<const uint16_t *>(panel);
    uint32_t words[most_words * panel_rows];
    for (int64_t at = 0; at < k / 2; at += most_words) {
        const int n = static_cast<int>(k / 2 - at < most_words ? k / 2 - at : most_words);
        for (int word = 0; word < n; word++) {
            const uint16_t *from = halves + 2 * (at + word) * panel_rows;
            uint32_t *both = words + word * panel_rows;
            for (int i = 0; i < panel_rows; i++) both[i] = from[i] | static_cast<uint32_t>(from[panel_rows + i]) << 16;
        }
        turn_back(n, reinterpret_cast<const char *>(words), row, rows, to + at * 4, k * 2);
    }
    if (k % 2 == 0) return;
    for (int r = 0; r < rows; r++) __builtin_memcpy(to + 2 * (r * k + k - 1), halves + (k - 1) * panel_rows + row + r, 2);
}

void pack_pairs(int64_t k, const char *src, ptrdiff_t row_stride, int rows, char *panel) {
    pack_panel(k / 2, src, row_stride, rows, panel);
}

void rebuild_pairs(int64_t k, const char *panel, int row, int rows, char *to) { rebuild_words(k / 2, panel, row, rows, to); }

// An odd k has no whole pairs.
int64_t pair_panel_bytes(int64_t k) { return k % 2 == 0 ? panel_bytes<2>(k) : 0; }

#endif

template <class Type>
void enter(SimdTable::PanelFormat &) {}

template <>
void enter<F32>(SimdTable::PanelFormat &panels) {
    panels = {panel_rows, panel_bytes<4>, pack_panel, rebuild_words};
}

#if defined(TL_HAS_HALVES)
template <>
void enter<F16>(SimdTable::PanelFormat &panels) {
    panels = {panel_rows, panel_bytes<2>, pack_halves, rebuild_halves};
}

template <>
void enter<BF16>(SimdTable::PanelFormat &panels) {
    panels = {panel_rows, pair_panel_bytes, pack_pairs, rebuild_pairs};
}
#endif

}  // namespace

void fill_float_panels(SimdTable &table) {
    SimdTable::PanelFormat *panels = table.panels;
#define TL_DTYPE(name, id, type) enter<type>(*panels++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

}  // namespace tensorlib::core::simd::TL_ISA
