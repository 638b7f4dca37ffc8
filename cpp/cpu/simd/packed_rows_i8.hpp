// Packed rows: packed copies of single rows, for products that read only some of a matrix's rows. A packed row is a row
// in the layout of a packed panel (panels_i8.hpp) with 2 W lanes instead of rows: superblocks of 2 W n elements, in
// which lane l has the n elements from l n.
//
//   superblock   lane 0: elements 0 .. n-1 | lane 1: n .. 2n-1 | ..           n = 256, 128, 64, .. down to `least`, the
//                                                                             largest that fits
//   in it        the bytes of a panel's superblock of n elements              the last one, of `least`, is filled up
//                                                                             with zeros
//
// A row is therefore one stream of the size of its blocks, and is unpacked as panels are. Its product is 2 W sums at a
// time, which are added once at its end: 4,096 weights of Q4_0 are one superblock of n = 128 at W = 16, and some 350
// instructions for 2.3 KiB.
#pragma once

#include "cpu/simd/panels_i8.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

// The least n of a lane: 32, whole groups, and two of these if pairs of groups store their steps together.
template <class P>
constexpr int64_t least_of_lane() {
    const int64_t groups = 4 * P::group * (P::scales == ScaleEncoding::nibbles || in_steps(P::offsets) ? 2 : 1);
    return groups < 32 ? 32 : groups;
}
// Elements of each lane in the next superblock if `left` remain.
template <class P>
int64_t lane_elements(int64_t left) {
    int64_t n = superblock;
    while (n > least_of_lane<P>() && left < panel_rows * n) n /= 2;
    return n;
}
// Calls take(first element, elements of a lane) for each superblock.
template <class P, class Take>
inline void for_each_superblock(int64_t k, Take take) {
    for (int64_t first = 0, n = 0; first < k; first += panel_rows * n) take(first, n = lane_elements<P>(k - first));
}

// A packed row that is read superblock by superblock, like a panel. Its `ahead` leads to a packed row that is read
// soon, whose lines are prefetched with this one's k4s, because no prefetcher can predict where that row lies.
template <class P>
struct PackedRow : Packed<P> {
    using Of = Packed<P>;
    using Of::Of;
    PackedRow() : Of({}) {}
    void begin_superblock(int64_t k4s) {
        Of::find(k4s);
        Of::fetched = Of::data + Of::ahead;
        const int64_t rest = (P::bytes(4 * k4s) + 63) / 64 - k4s / P::chunk * Of::lines;
        for (int64_t line = 0; line < rest; line++, Of::fetched += 64) __builtin_prefetch(Of::fetched, 0, 3);
        Of::load_units();
    }
    // The vector that contains k4 i of a chunk, unchanged, if all bits of its codes are together.
    Ints::Reg vector_of(int i, int half) const {
        if (half == 0) Of::fetch(i * Of::lines / P::chunk, (i + 1) * Of::lines / P::chunk);
        return Ints::load(reinterpret_cast<const uint8_t *>(Of::codes) + (2 * (i / P::k4s_per_vector) + half) * 4 * lanes);
    }
    // The offset's steps of a superblock's group g.
    Vec::Reg offset_steps_of(int64_t g, int half) const {
        const Ints::Reg pair = Of::offset_pair(static_cast<int>(g / 2), half);
        return Ints::to_float(g % 2 == 0 ? Ints::each(pair, 255) : Ints::bits(pair, 16, 255));
    }
};

#endif

}  // namespace tensorlib::core::simd::TL_ISA
