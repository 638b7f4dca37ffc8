// The basis of every format header.
//
// A format is the struct of a storage type: its Block in memory, its name, the elements of a block, its kind, its
// partner, and its decoding. Types with one element per block have decode() and encode(). Quantised types have
// decode_run(), which decodes eight elements of a block, the finest division that all of them allow: a GPU thread takes
// a run, the CPU's loops all runs of a block.
//
// Decoding multiplies as the formulas are written, left to right, in F32. Every product is exact (scales have 11
// significant bits, and no integer factor takes a product beyond 24), so the bits do not depend on fusing or vector
// width. Only the grouping determines the sign of a zero.
#pragma once

#include "dtype/host_device.hpp"

#include <cstdint>
#include <cstring>

// The namespace of the formats. Each ISA of cpp/cpu/simd compiles its own copy into its own namespace: a single copy
// for all would be whichever the linker kept.
#if !defined(TL_FORMATS)
#define TL_FORMATS tensorlib::core
#endif

namespace TL_FORMATS {

enum class Kind : std::uint8_t {
    floating,   // a plain float
    integer,    // an integer, or BOOL
    weight,     // blocks of quantised weights
    activation  // blocks to which activations are quantised for a product: not an operand
};

constexpr int run_length = 8;

// Integer products take weights as codes: unsigned bytes that give the values as
//
//   scale * (code - zero)      or      scale * code + offset
//
// A format says how many elements share a scale (scale_group: 16, 32, 64, 128 or 256), its `zero` or, instead, how many
// share an offset (offset_group), and its largest code. It provides codes_run(), group_scale() and group_offset(). With
// a `codebook`, codes_run() returns 4-bit indices into that table of codes.
template <class Format>
concept HasCodes = requires { Format::scale_group; };
template <class Format>
concept HasOffsets = requires { Format::offset_group; };
template <class Format>
concept HasCodebook = requires { Format::codebook; };

// Packed copies of constants (cpu/simd/panels_i8.hpp) store scales and offsets in few bits. They are F16, which
// represents those of all types exactly, except those with wide_scales, which use BF16. If a block of 256 has units,
// scales are steps of these from -128 to 127, and offsets from 0 to 127; both take four bits if a type has a
// largest_step of 15. Units are stored as F16 if blocks can be rebuilt (see HasInverse). Codes are stored as indices
// into code_set if a type has one: the code at index (code - first_place) >> place_shift.
template <class Format>
concept HasUnits = requires { &Format::unit_scale; };
template <class Format>
concept HasWideScales = requires { Format::wide_scales; };
template <class Format>
concept HasCodeSet = requires { Format::code_set; };

// A block's scales and offsets as such a copy stores them, group by group. For a type with units, these are at index 0,
// together with the steps.
struct BlockScales {
    float scale[16], offset[16];
    int scale_steps[16], offset_steps[16];
};

// Types whose blocks can be rebuilt from a packed copy bit for bit (docs/adding-a-format.md says when). store_codes()
// takes all of a block's codes as codes_run() returns them, and store_scales() what the copy stores; together they
// write the whole block.
template <class Format>
concept HasInverse = requires {
    &Format::store_codes;
    &Format::store_scales;
};

template <class Format>
TL_HOST_DEVICE inline float scale_by_steps(const typename Format::Block &block, int group) {
    return Format::unit_scale(block) * static_cast<float>(Format::scale_steps(block, group));
}
template <class Format>
TL_HOST_DEVICE inline float offset_by_steps(const typename Format::Block &block, int group) {
    return Format::unit_offset(block) * static_cast<float>(Format::offset_steps(block, group));
}

// decode_run() by way of codes.
template <class Format>
TL_HOST_DEVICE inline void decode_codes(const typename Format::Block &block, int run, float *values) {
    std::uint8_t codes[run_length];
    Format::codes_run(block, run, codes);
    const float scale = Format::group_scale(block, run * run_length / Format::scale_group);
    if constexpr (HasOffsets<Format>) {
        const float offset = Format::group_offset(block, run * run_length / Format::offset_group);
        for (int i = 0; i < run_length; i++) values[i] = scale * static_cast<float>(codes[i]) + offset;
    } else {
        for (int i = 0; i < run_length; i++) values[i] = scale * static_cast<float>(codes[i] - Format::zero);
    }
}

// All elements of a block.
template <class Format>
TL_HOST_DEVICE inline void decode_block(const typename Format::Block &block, float *values) {
    if constexpr (Format::block_size == 1) {
        Format::decode(block, values);
    } else {
        for (int run = 0; run < static_cast<int>(Format::block_size) / run_length; run++) {
            // Through a separate array: `values` might alias the block as far as the compiler knows, and it would then
            // decode one element after the other.
            float decoded[run_length];
            Format::decode_run(block, run, decoded);
            std::memcpy(values + run * run_length, decoded, sizeof decoded);
        }
    }
}

// n elements, whole blocks.
template <class Format>
inline void decode_blocks(const void *blocks, float *values, std::int64_t n) {
    const auto *block = static_cast<const typename Format::Block *>(blocks);
    for (std::int64_t i = 0; i < n; i += Format::block_size) decode_block<Format>(*block++, values + i);
}

// v's bit k.
TL_HOST_DEVICE constexpr unsigned bit(std::uint32_t v, int k) { return (v >> k) & 1u; }

// value, negated if the bit is set. It flips the sign bit, which compilers vectorise.
TL_HOST_DEVICE inline float negate_if(unsigned bit, float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits ^= bit << 31;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

// Eight bytes as a word in which byte i has bits 8 i and up (machines are little-endian; io/gguf.cpp checks it). Codes
// are extracted eight at a time. each(n): n in all bytes.
TL_HOST_DEVICE inline std::uint64_t load_eight(const void *p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}
TL_HOST_DEVICE inline void store_eight(std::uint8_t *p, std::uint64_t word) { std::memcpy(p, &word, sizeof word); }
TL_HOST_DEVICE constexpr std::uint64_t each(int n) { return static_cast<std::uint64_t>(n) * 0x0101010101010101ull; }

// Spreads bits 0..7 to the low bits of eight bytes.
TL_HOST_DEVICE constexpr std::uint64_t spread_bits(unsigned bits) {
    // Byte i keeps bit i; adding 127 carries it into the byte's highest bit.
    const std::uint64_t one_each = bits * each(1) & 0x8040201008040201ull;
    return (one_each + each(127)) >> 7 & each(1);
}

// The inverse: gathers the lowest bits of eight bytes. Byte i's goes from bit 8 i to 56 + i, which no other bit
// reaches.
constexpr unsigned gather_bits(std::uint64_t bytes) { return static_cast<unsigned>((bytes & each(1)) * 0x0102040810204080ull >> 56); }

// The bytes and words of sub-blocks are not aligned in a block.
TL_HOST_DEVICE inline std::uint32_t load_u32(const std::uint8_t *p) {
    return p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

inline void store_u32(std::uint8_t *p, std::uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = static_cast<std::uint8_t>(v >> 8 * i);
}

}  // namespace TL_FORMATS
