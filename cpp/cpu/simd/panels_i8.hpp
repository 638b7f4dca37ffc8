// The two kinds of panels of quantised weights that integer products read, with 2 W rows each (W: lanes of a vector).
//
// Unpacked panels are made on the way for one product, with a byte per code.
//
//   codes:   k = 0..3 | row 0 | row 1 | .. | row 2W-1 |, k = 4..7 | ..          scales, offsets: [group][row] floats,
//                                                                               apart (offsets in steps: superblocks of
//                                                                               units and steps as below)
//
// Packed panels are a constant's copy, which is read as one stream: superblocks of 256 k (the last may be shorter),
// each
//
//   units | scales [group][row] | offsets [group][row] | chunk | chunk | ..     a chunk: 8 k4s of k, or a group where
//                                                                               that is less
//   chunk:  high bits of all its k4s | low bits of the first k4s | ..       each 2 vectors: rows 0..W-1, rows W..2W-1
//
// Offsets in steps are stored as [group / 2][row][2], so that a dot product of 16 bits takes two groups. A byte of a
// vector holds the low bits of 8 / low k4s, with the first k4's lowest. 4-bit codes therefore take a shift and an `and`
// for every second k4, and are read at half the bytes. Scales are stored as F16, or as steps of 8 bits of a unit per
// 256; if scales and offsets have 4 bits, a byte has both. Panels of Q4_0, Q6_K and Q2_K take as many bits per weight
// as their blocks, 4.5, 6.5625 and 2.625; Q4_K's take 4.625 (blocks 4.5).
#pragma once

#include "cpu/simd/isa.hpp"

#include "dtype/formats.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

constexpr int lanes = Vec::width, panel_rows = 2 * lanes;
// Elements of a row whose activations share a scale, and of a packed panel's superblock.
constexpr int superblock = scaled_bytes;

// How scales and offsets are stored. nibbles: steps of both in a byte, the scale's low.
enum class ScaleEncoding { none, half, brain, steps, nibbles };
constexpr bool in_steps(ScaleEncoding encoding) { return encoding == ScaleEncoding::steps || encoding == ScaleEncoding::nibbles; }
constexpr int encoded_bytes(ScaleEncoding encoding) { return encoding == ScaleEncoding::none ? 0 : in_steps(encoding) ? 1 : 2; }

// low, high: bits of a code, or of its index in a table. group: k4s of a group.
template <int low_, int high_, bool looked_up_, int group_, ScaleEncoding scales_, ScaleEncoding offsets_, bool half_units_>
struct Packing {
    static constexpr int low = low_, high = high_, group = group_;
    static constexpr bool looked_up = looked_up_;
    static constexpr ScaleEncoding scales = scales_, offsets = offsets_;

    static constexpr int chunk = group < 8 ? group : 8;
    // The position of the scale or the offset of a row and group, in units of one value.
    static constexpr int64_t pair_place(int64_t g, int row) { return g / 2 * 2 * panel_rows + 2 * row + g % 2; }
    static constexpr int64_t scale_place(int64_t g, int row) {
        return scales == ScaleEncoding::nibbles ? pair_place(g, row) : g * panel_rows + row;
    }
    static constexpr int64_t offset_place(int64_t g, int row) { return in_steps(offsets) ? pair_place(g, row) : g * panel_rows + row; }
    static constexpr int k4s_per_vector = 8 / low;
    static_assert(chunk % k4s_per_vector == 0 && (high == 0 || chunk * high <= 8));
    static constexpr int high_bytes = high ? 4 * panel_rows : 0;
    static constexpr int chunk_bytes = high_bytes + chunk / k4s_per_vector * 4 * panel_rows;

    // Offsets in bytes for n elements of a superblock.
    static constexpr bool half_units = half_units_;
    static constexpr int units = in_steps(scales) + in_steps(offsets), unit_bytes = half_units ? 2 : 4;
    static constexpr int64_t scales_at = unit_bytes * panel_rows * units;
    static constexpr int64_t offsets_at(int64_t n) {
        return scales_at + (offsets == ScaleEncoding::nibbles ? 0 : n / (4 * group) * panel_rows * encoded_bytes(scales));
    }
    static constexpr int64_t codes_at(int64_t n) { return offsets_at(n) + n / (4 * group) * panel_rows * encoded_bytes(offsets); }
    static constexpr int64_t bytes(int64_t n) { return codes_at(n) + n / (4 * chunk) * chunk_bytes; }
    static constexpr int64_t panel_bytes(int64_t k) {
        return k / superblock * bytes(superblock) + (k % superblock ? bytes(k % superblock) : 0);
    }
};

template <class Format>
constexpr bool looked_up = HasCodebook<Format> || HasCodeSet<Format>;
template <class Format>
constexpr int largest_place = looked_up<Format> ? 15 : Format::largest_code;
// Whether steps of both scales and offsets fit in 4 bits.
template <class Format>
constexpr bool few_steps = requires { requires Format::largest_step <= 15; };
template <class Format>
constexpr ScaleEncoding scale_encoding = few_steps<Format>       ? ScaleEncoding::nibbles
                                         : HasUnits<Format>      ? ScaleEncoding::steps
                                         : HasWideScales<Format> ? ScaleEncoding::brain
                                                                 : ScaleEncoding::half;
template <class Format>
constexpr ScaleEncoding offset_encoding = HasOffsets<Format> ? scale_encoding<Format> : ScaleEncoding::none;

constexpr int low_bits(int largest) { return largest < 4 ? 2 : largest < 64 ? 4 : 8; }
constexpr int high_bits(int largest) { return largest < 16 || largest >= 64 ? 0 : largest < 32 ? 1 : 2; }

template <class Format>
using PackingOf = Packing<low_bits(largest_place<Format>), high_bits(largest_place<Format>), looked_up<Format>, Format::scale_group / 4,
                          scale_encoding<Format>, offset_encoding<Format>, HasUnits<Format> && HasInverse<Format>>;

// Codes from tables that are too large for sums of products in 16 bits are multiplied with their signs if one column
// does not pay for splitting them into words: magnitudes of activations times codes with the activations' signs. No
// code is -128, which has no opposite.
template <class Format>
constexpr bool one_by_signs = !Ints::wide && looked_up<Format> && Ints::most_dots(Format::largest_code) == 0;

// Both kinds of panels are read superblock by superblock, in it group by group, in that `chunk` k4s at a time. Once
// loops are unrolled, the numbers of chunks and of k4s in them are constants, so shifts and masks are too.

// The floats that a superblock's offsets in steps take in an unpacked panel: units [row] as floats, and
// steps [group / 2][row][2].
template <int group>
constexpr int64_t stepped_floats = panel_rows + superblock / (4 * group) * panel_rows / 4;

template <int group_, ScaleEncoding offsets>
struct Unpacked {
    static constexpr int group = group_, chunk = group < 8 ? group : 8;
    static constexpr bool has_offsets = offsets != ScaleEncoding::none, offset_steps = in_steps(offsets);
    const uint8_t *codes;
    const float *scales, *of_zero;

    explicit Unpacked(const CodePanel &panel) : codes(panel.codes), scales(panel.scales), of_zero(panel.offsets) {}
    void begin_superblock(int64_t) {}
    void begin_page() const {}
    void end_superblock() {
        if (offset_steps) of_zero += stepped_floats<group>;
    }
    Ints::Reg k4(int i, int half) const { return Ints::load(codes + (2 * i + half) * 4 * lanes); }
    void end_chunk() { codes += chunk * 4 * panel_rows; }
    Vec::Reg scale(int half) const { return Vec::load(scales + half * lanes); }
    Vec::Reg offset(int half) const { return Vec::load(of_zero + half * lanes); }
    Ints::Reg offset_pair(int pair, int half) const {
        return Ints::load_words(reinterpret_cast<const uint8_t *>(of_zero + panel_rows) + (pair * panel_rows + half * lanes) * 2);
    }
    Vec::Reg unit_offset(int half) const { return Vec::load(of_zero + half * lanes); }
    void end_group(int64_t) {
        scales += panel_rows;
        if (has_offsets && !offset_steps) of_zero += panel_rows;
    }
};

template <class P>
struct Packed {
    static constexpr int group = P::group, chunk = P::chunk;
    static constexpr bool has_offsets = P::offsets != ScaleEncoding::none, offset_steps = in_steps(P::offsets);
    // Lines of a panel are prefetched `ahead` of their use, one or two with each k4: a chunk's and a superblock's
    // scales at once would wait for each other. It costs nothing if they are in the caches.
    static constexpr int chunks = superblock / (4 * chunk);
    static constexpr int all_lines = static_cast<int>(P::bytes(superblock) + 63) / 64, lines = all_lines / chunks;
    const char *data, *codes, *scales, *offsets, *fetched;
    int64_t ahead;
    const uint8_t *codebook;
    alignas(64) float units[P::units ? P::units * panel_rows : 1];  // of the superblock

    explicit Packed(const PackedPanel &panel) : data(panel.data), ahead(panel.ahead), codebook(panel.codebook) {}
    void begin_superblock(int64_t k4s) {
        find(k4s);
        fetched = data + ahead;
        fetch(0, all_lines % chunks);
        fetched += all_lines % chunks * 64;
        load_units();
    }
    // Sets the addresses of a superblock's parts.
    void find(int64_t k4s) {
        scales = data + P::scales_at, offsets = data + P::offsets_at(4 * k4s), codes = data + P::codes_at(4 * k4s);
        // Loads lines in the order of memory, before the codes, because the hardware prefetcher follows that order and
        // does not count prefetch instructions. If these loads alternate with the codes, Zen 4 reads half of what
        // memory delivers.
        for (const char *line = data; line < codes; line += 64) {
            const char first = *line;
            __asm__ volatile("" : : "r"(first));
        }
    }
    void load_units() {
#pragma GCC unroll 4
        for (int i = 0; i < P::units * panel_rows; i += lanes) {
            if constexpr (P::half_units) {
                Vec::store(units + i, Vec::load_f16(reinterpret_cast<const uint16_t *>(data) + i));
            } else {
                Vec::store(units + i, Vec::load(reinterpret_cast<const float *>(data) + i));
            }
        }
    }
    // A hardware prefetcher that is left to itself starts again with each page. So the first lines of the page after
    // next, if it begins within this superblock's length, are prefetched into the L2 cache; in the L1 cache they would
    // take resources that its misses need. One column of narrow vectors' Q4_0 reads 82 instead of 76 % of what memory
    // delivers; more columns, which wait for arithmetic, become slower.
    void begin_page() const {
        if (ahead != 0) return;
        constexpr uintptr_t page = 4096;
        const uintptr_t to_next = -reinterpret_cast<uintptr_t>(data) % page;
        if (to_next >= static_cast<uintptr_t>(P::bytes(superblock))) return;
#pragma GCC unroll 8
        for (int line = 0; line < 8; line++) __builtin_prefetch(data + to_next + page + 64 * line, 0, 2);
    }
    void fetch(int line, int end) const {
#pragma GCC unroll 16
        for (; line < end; line++) __builtin_prefetch(fetched + 64 * line, 0, 3);
    }
    void end_superblock() { data = codes; }
    Ints::Reg k4(int i, int half) const {
        // A barrier, because compilers need not load vectors in the order of memory: with one line of eight loaded
        // early, one column of Q4_0 took 84 instead of 103 G/s.
        const char *from = codes;
        if (half == 0 && i % P::k4s_per_vector == 0) __asm__ volatile("" : "+r"(from));
        if (half == 0) fetch(i * lines / chunk, (i + 1) * lines / chunk);
        const auto vector = [&](int v) {
            return Ints::load(reinterpret_cast<const uint8_t *>(from) + P::high_bytes + (2 * v + half) * 4 * lanes);
        };
        Ints::Reg code = vector(i / P::k4s_per_vector);
        if constexpr (P::low < 8) code = Ints::bits(code, i % P::k4s_per_vector * P::low, (1 << P::low) - 1);
        if constexpr (P::high > 0) {
            const Ints::Reg all = Ints::load(reinterpret_cast<const uint8_t *>(codes) + half * 4 * lanes);
            code = Ints::either(code, Ints::bits(all, i * P::high - P::low, ((1 << P::high) - 1) << P::low));
        }
        if constexpr (P::looked_up) code = Ints::look_up(codebook, code);
        return code;
    }
    void end_chunk() { codes += P::chunk_bytes, fetched += lines * 64; }
    template <ScaleEncoding encoding>
    static Vec::Reg load(const char *from, int half) {
        if constexpr (encoding == ScaleEncoding::half) {
            return Vec::load_f16(reinterpret_cast<const uint16_t *>(from) + half * lanes);
        } else {
            return Vec::load_bf16(reinterpret_cast<const uint16_t *>(from) + half * lanes);
        }
    }
    Vec::Reg scale(int half) const {
        if constexpr (P::scales == ScaleEncoding::steps) {
            return Vec::mul(Vec::load_i8(scales + half * lanes), Vec::load(units + half * lanes));
        } else if constexpr (P::scales == ScaleEncoding::nibbles) {
            // The first byte of each lane is the group's: `scales` points one byte further for the second of a pair.
            const Ints::Reg steps = Ints::each(Ints::load_words(reinterpret_cast<const uint8_t *>(scales) + 2 * half * lanes), 15);
            return Vec::mul(Ints::to_float(steps), Vec::load(units + half * lanes));
        } else {
            return load<P::scales>(scales, half);
        }
    }
    Vec::Reg offset(int half) const { return load<P::offsets>(offsets, half); }
    // Steps of a pair of groups in 16 bits each, and what they are multiplied by.
    Ints::Reg offset_pair(int pair, int half) const {
        const auto *at = reinterpret_cast<const uint8_t *>(offsets) + (pair * panel_rows + half * lanes) * 2;
        if constexpr (P::offsets == ScaleEncoding::nibbles) return Ints::bits(Ints::load_words(at), 4, 15);
        return Ints::load_words(at);
    }
    Vec::Reg unit_offset(int half) const { return Vec::load(units + panel_rows + half * lanes); }
    // g: the group's number in the superblock.
    void end_group(int64_t g) {
        if constexpr (P::scales == ScaleEncoding::nibbles) {
            // Rows store the bytes of a pair of groups next to each other: moves on to the second group, or back from
            // it and to the next pair.
            scales += g % 2 == 0 ? 1 : 2 * panel_rows - 1;
        } else {
            scales += panel_rows * encoded_bytes(P::scales);
        }
        if constexpr (!offset_steps) offsets += panel_rows * encoded_bytes(P::offsets);
    }
};

#endif

}  // namespace tensorlib::core::simd::TL_ISA
