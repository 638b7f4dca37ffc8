// The two kinds of panels of quantised weights that integer products read, each 2 W rows (W: lanes of a vector).
//
// Unpacked, made on the way for one product: a byte a code.
//
//   codes:   k = 0..3 | row 0 | row 1 | .. | row 2W-1 |, k = 4..7 | ..          scales, offsets: [group][row] floats, apart
//                                                                               (offsets in steps: pieces of units and steps as below)
//
// Packed, a constant's copy, which is read as one stream: pieces of 256 k (the last may be shorter), each
//
//   units | scales [group][row] | offsets [group][row] | chunk | chunk | ..     a chunk: 8 quads of k, or a group where that is less
//   chunk:  high bits of all its quads | low bits of the first quads | ..       each 2 vectors: rows 0..W-1, rows W..2W-1
//
// (offsets in steps: [group / 2][row][2], so that a dot product of 16 bits takes two groups), where a byte of a vector holds low bits of 8
// / low quads, the first quad's lowest. So 4-bit codes take a shift and an `and` for each second quad, and are read at half the bytes.
// Scales are kept as F16, or as steps of 8 bits of a unit per 256: Q4_0's panels take 4.5 bits a weight, as its blocks do, Q4_K's 4.75
// (blocks 4.5), Q6_K's 6.625 (6.5625).
#pragma once

#include "cpu/leaf/level.hpp"

#include "dtype/formats.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

#if defined(TL_HAS_INTS)

constexpr int lanes = Vec::width, panel_rows = 2 * lanes;
// Elements of a row whose activations share a scale, and of a packed panel's piece.
constexpr int piece = scaled_bytes;

// How scales and offsets are kept.
enum class Kept { nothing, half, brain, steps };
constexpr int kept_bytes(Kept kept) { return kept == Kept::nothing ? 0 : kept == Kept::steps ? 1 : 2; }

// Bits of a code, or of its place in a table; quads of k to a group.
template <int low_, int high_, bool looked_up_, int group_, Kept scales_, Kept offsets_>
struct Packing {
    static constexpr int low = low_, high = high_, group = group_;
    static constexpr bool looked_up = looked_up_;
    static constexpr Kept scales = scales_, offsets = offsets_;

    static constexpr int chunk = group < 8 ? group : 8;
    // Where the offset of a row and group is, in units of one.
    static constexpr int64_t offset_place(int64_t g, int row) {
        return offsets == Kept::steps ? g / 2 * 2 * panel_rows + 2 * row + g % 2 : g * panel_rows + row;
    }
    static constexpr int quads_per_vector = 8 / low;
    static_assert(chunk % quads_per_vector == 0 && (high == 0 || chunk * high <= 8));
    static constexpr int high_bytes = high ? 4 * panel_rows : 0;
    static constexpr int chunk_bytes = high_bytes + chunk / quads_per_vector * 4 * panel_rows;

    // Of n elements of a piece.
    static constexpr int64_t scales_at = 4 * panel_rows * ((scales == Kept::steps) + (offsets == Kept::steps));
    static constexpr int64_t offsets_at(int64_t n) { return scales_at + n / (4 * group) * panel_rows * kept_bytes(scales); }
    static constexpr int64_t codes_at(int64_t n) { return offsets_at(n) + n / (4 * group) * panel_rows * kept_bytes(offsets); }
    static constexpr int64_t bytes(int64_t n) { return codes_at(n) + n / (4 * chunk) * chunk_bytes; }
    static constexpr int64_t panel_bytes(int64_t k) { return k / piece * bytes(piece) + (k % piece ? bytes(k % piece) : 0); }
};

template <class Format>
constexpr bool looked_up = HasLevels<Format> || HasCodeSet<Format>;
template <class Format>
constexpr int largest_place = looked_up<Format> ? 15 : Format::largest_code;
template <class Format>
constexpr Kept kept_scales = HasUnits<Format>        ? Kept::steps
                             : HasWideScales<Format> ? Kept::brain
                                                     : Kept::half;
template <class Format>
constexpr Kept kept_offsets = HasOffsets<Format> ? kept_scales<Format> : Kept::nothing;

constexpr int low_bits(int largest) { return largest < 4 ? 2 : largest < 64 ? 4 : 8; }
constexpr int high_bits(int largest) { return largest < 16 || largest >= 64 ? 0 : largest < 32 ? 1 : 2; }

template <class Format>
using PackingOf = Packing<low_bits(largest_place<Format>), high_bits(largest_place<Format>), looked_up<Format>, Format::scale_group / 4,
                          kept_scales<Format>, kept_offsets<Format>>;

// Both as they are read: piece by piece, of that group by group, of that `chunk` quads at a time.
// Of `chunk` and of quads in it the numbers are constants once loops are unrolled, so shifts and masks are too.

// Offsets in steps of a piece of an unpacked panel: floats for units [row] and steps [group / 2][row][2].
template <int group>
constexpr int64_t stepped_floats = panel_rows + piece / (4 * group) * panel_rows / 4;

template <int group_, Kept offsets>
struct Unpacked {
    static constexpr int group = group_, chunk = group < 8 ? group : 8;
    static constexpr bool has_offsets = offsets != Kept::nothing, offset_steps = offsets == Kept::steps;
    const uint8_t *codes;
    const float *scales, *of_zero;

    explicit Unpacked(const CodePanel &panel) : codes(panel.codes), scales(panel.scales), of_zero(panel.offsets) {}
    void begin_piece(int64_t) {}
    void end_piece() {
        if (offset_steps) of_zero += stepped_floats<group>;
    }
    void begin_chunk() {}
    Ints::Reg quad(int i, int half) const { return Ints::load(codes + (2 * i + half) * 4 * lanes); }
    void end_chunk() { codes += chunk * 4 * panel_rows; }
    Vec::Reg scale(int half) const { return Vec::load(scales + half * lanes); }
    Vec::Reg offset(int half) const { return Vec::load(of_zero + half * lanes); }
    const char *offset_pair(int pair, int half) const {
        return reinterpret_cast<const char *>(of_zero + panel_rows) + (pair * panel_rows + half * lanes) * 2;
    }
    Vec::Reg unit_offset(int half) const { return Vec::load(of_zero + half * lanes); }
    void end_group() {
        scales += panel_rows;
        if (has_offsets && !offset_steps) of_zero += panel_rows;
    }
};

template <class P>
struct Packed {
    static constexpr int group = P::group, chunk = P::chunk;
    static constexpr bool has_offsets = P::offsets != Kept::nothing, offset_steps = P::offsets == Kept::steps;
    // So many bytes ahead a panel is fetched, scales too, or they are waited for; in the caches it costs nothing. One column of cold Q4_0
    // reads 23 of 41 GB/s with none, 33 with 2 KiB, 36 with 4 or 8, 35 with three pieces (14 KiB); Q4_K 24, 29, 35, 36, 34.
    static constexpr int64_t ahead = 8192;
    const char *data, *codes, *scales, *offsets;
    const uint8_t *levels;

    explicit Packed(const PackedPanel &panel) : data(panel.data), levels(panel.levels) {}
    void begin_piece(int64_t quads) {
        scales = data + P::scales_at, offsets = data + P::offsets_at(4 * quads), codes = data + P::codes_at(4 * quads);
        for (int line = 0; line < P::codes_at(piece); line += 64) __builtin_prefetch(data + ahead + line, 0, 3);
    }
    void end_piece() { data = codes; }
    void begin_chunk() {
#pragma GCC unroll 16
        for (int line = 0; line < P::chunk_bytes; line += 64) __builtin_prefetch(codes + line + ahead, 0, 3);
    }
    Ints::Reg quad(int i, int half) const {
        const auto vector = [&](int v) {
            return Ints::load(reinterpret_cast<const uint8_t *>(codes) + P::high_bytes + (2 * v + half) * 4 * lanes);
        };
        Ints::Reg code = vector(i / P::quads_per_vector);
        if constexpr (P::low < 8) code = Ints::bits(code, i % P::quads_per_vector * P::low, (1 << P::low) - 1);
        if constexpr (P::high > 0) {
            const Ints::Reg all = Ints::load(reinterpret_cast<const uint8_t *>(codes) + half * 4 * lanes);
            code = Ints::either(code, Ints::bits(all, i * P::high - P::low, ((1 << P::high) - 1) << P::low));
        }
        if constexpr (P::looked_up) code = Ints::look_up(levels, code);
        return code;
    }
    void end_chunk() { codes += P::chunk_bytes; }
    template <Kept kept>
    static Vec::Reg load(const char *from, const char *unit, int half) {
        if constexpr (kept == Kept::steps) {
            return Vec::mul(Vec::load_i8(from + half * lanes), Vec::load(reinterpret_cast<const float *>(unit) + half * lanes));
        } else if constexpr (kept == Kept::half) {
            return Vec::load_f16(reinterpret_cast<const uint16_t *>(from) + half * lanes);
        } else {
            return Vec::load_bf16(reinterpret_cast<const uint16_t *>(from) + half * lanes);
        }
    }
    Vec::Reg scale(int half) const { return load<P::scales>(scales, data, half); }
    Vec::Reg offset(int half) const { return load<P::offsets>(offsets, data, half); }
    // Of pairs of groups, and what their steps are multiplied by.
    const char *offset_pair(int pair, int half) const { return offsets + (pair * panel_rows + half * lanes) * 2; }
    Vec::Reg unit_offset(int half) const { return Vec::load(reinterpret_cast<const float *>(data) + panel_rows + half * lanes); }
    void end_group() {
        scales += panel_rows * kept_bytes(P::scales);
        if constexpr (!offset_steps) offsets += panel_rows * kept_bytes(P::offsets);
    }
};

#endif

}  // namespace tensorlib::core::leaf::TL_LEVEL
