// How packed copies (panels and packed rows) store blocks, and how blocks are rebuilt from them: scales, units, and
// codes next to each other (panels_i8.hpp draws it).
#pragma once

#include "cpu/simd/codes.hpp"
#include "cpu/simd/panels_i8.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

// Transposes up to 256 elements of all rows into words [n / 4][rows]. Rows are `stride` bytes apart and readable up to
// a vector's end.
inline void transpose(const uint8_t *codes, int64_t stride, int64_t n, uint8_t *panel) {
    constexpr int W = lanes;
    for (int64_t word = 0; word < n / 4; word += W) {
        for (int half = 0; half < 2; half++) {
            Vec::Reg block[W];
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) block[r] = Vec::load(reinterpret_cast<const float *>(codes + (half * W + r) * stride + 4 * word));
            Vec::transpose(block);
            // n is a multiple of 32, so the last words may be half a block.
            const int64_t here = n / 4 - word < W ? n / 4 - word : W;
            float *to = reinterpret_cast<float *>(panel) + word * panel_rows + half * W;
            if (here == W) {
#pragma GCC unroll 16
                for (int i = 0; i < W; i++) Vec::store(to + i * panel_rows, block[i]);
            } else {
#pragma GCC unroll 8
                for (int i = 0; i < W / 2; i++) Vec::store(to + i * panel_rows, block[i]);
            }
        }
    }
}

// Stores one value of 16 bits.
template <ScaleEncoding encoding>
void store_scale(char *to, float value) {
    uint16_t bits;
    if constexpr (encoding == ScaleEncoding::brain) {
        BF16::encode(&value, bits);
    } else {
        bits = to_half(value);
    }
    __builtin_memcpy(to, &bits, sizeof bits);
}
template <ScaleEncoding encoding>
float load_scale(const char *from) {
    uint16_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    float value;
    if constexpr (encoding == ScaleEncoding::brain) {
        BF16::decode(bits, &value);
    } else {
        value = from_half(bits);
    }
    return value;
}
template <class P>
void keep_unit(char *to, float value) {
    if constexpr (P::half_units) {
        store_scale<ScaleEncoding::half>(to, value);
    } else {
        __builtin_memcpy(to, &value, sizeof value);
    }
}
template <class P>
float load_unit(const char *from) {
    if constexpr (P::half_units) return load_scale<ScaleEncoding::half>(from);
    float value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

// Copies a block's units into a superblock, as those of row r.
template <class Format>
void keep_units(const typename Format::Block &block, int r, char *to) {
    using P = PackingOf<Format>;
    if constexpr (HasUnits<Format>) {
        keep_unit<P>(to + P::unit_bytes * r, Format::unit_scale(block));
        if constexpr (HasOffsets<Format>) keep_unit<P>(to + P::unit_bytes * (panel_rows + r), Format::unit_offset(block));
    }
}
// Stores scale and offset of a block's group g as group `place` of the row, in a superblock of n elements.
template <class Format>
void keep_group(const typename Format::Block &block, int g, int64_t place, int64_t n, int r, char *to) {
    using P = PackingOf<Format>;
    char *scales = to + P::scales_at, *offsets = to + P::offsets_at(n);
    const int64_t of_scale = P::scale_place(place, r);
    if constexpr (P::scales == ScaleEncoding::nibbles) {
        scales[of_scale] = static_cast<char>(Format::scale_steps(block, g) | Format::offset_steps(block, g) << 4);
    } else if constexpr (P::scales == ScaleEncoding::steps) {
        scales[of_scale] = static_cast<char>(Format::scale_steps(block, g));
    } else {
        store_scale<P::scales>(scales + 2 * of_scale, Format::group_scale(block, g));
    }
    if constexpr (HasOffsets<Format>) {
        const int64_t of_offset = P::offset_place(place, r);
        if constexpr (P::offsets == ScaleEncoding::steps) {
            offsets[of_offset] = static_cast<char>(Format::offset_steps(block, g));
        } else if constexpr (P::offsets != ScaleEncoding::nibbles) {
            store_scale<P::offsets>(offsets + 2 * of_offset, Format::group_offset(block, g));
        }
    }
}

// Replaces codes by their positions if a type has a set of them, eight at a time.
template <class Format>
void places_of_codes([[maybe_unused]] int64_t n, [[maybe_unused]] uint8_t *codes) {
    if constexpr (HasCodeSet<Format>) {
        for (int64_t i = 0; i < n; i += 8) {
            const uint64_t above = load_eight(codes + i) - each(Format::first_place);
            store_eight(codes + i, above >> Format::place_shift & each(15));
        }
    }
}

// Merges the vectors of a chunk's k4s, whose bits are then adjacent. It uses words of eight bytes; no code reaches into
// its neighbour.
template <class P>
void merge(const uint8_t *k4s, char *chunk) {
    constexpr int words = 4 * panel_rows / 8, k4 = 4 * panel_rows;
    constexpr int low_mask = P::low == 8 ? 255 : (1 << P::low) - 1;
    if constexpr (P::high > 0) {
        for (int w = 0; w < words; w++) {
            uint64_t bits = 0;
#pragma GCC unroll 8
            for (int i = 0; i < P::chunk; i++)
                bits |= (load_eight(k4s + i * k4 + 8 * w) >> P::low & each((1 << P::high) - 1)) << i * P::high;
            __builtin_memcpy(chunk + 8 * w, &bits, sizeof bits);
        }
        chunk += P::high_bytes;
    }
    for (int v = 0; v < P::chunk / P::k4s_per_vector; v++) {
        for (int w = 0; w < words; w++) {
            uint64_t bits = 0;
#pragma GCC unroll 4
            for (int i = 0; i < P::k4s_per_vector; i++) {
                bits |= (load_eight(k4s + (v * P::k4s_per_vector + i) * k4 + 8 * w) & each(low_mask)) << i * P::low;
            }
            __builtin_memcpy(chunk + v * k4 + 8 * w, &bits, sizeof bits);
        }
    }
}

// Reads what keep_units() and keep_group() have written.
template <class Format>
void load_units(const char *from, int r, BlockScales &block) {
    using P = PackingOf<Format>;
    if constexpr (HasUnits<Format>) {
        block.scale[0] = load_unit<P>(from + P::unit_bytes * r);
        if constexpr (HasOffsets<Format>) block.offset[0] = load_unit<P>(from + P::unit_bytes * (panel_rows + r));
    }
}
template <class Format>
void load_group(const char *from, int g, int64_t place, int64_t n, int r, BlockScales &block) {
    using P = PackingOf<Format>;
    const char *scales = from + P::scales_at, *offsets = from + P::offsets_at(n);
    const int64_t of_scale = P::scale_place(place, r);
    if constexpr (P::scales == ScaleEncoding::nibbles) {
        const int both = static_cast<unsigned char>(scales[of_scale]);
        block.scale_steps[g] = both & 15, block.offset_steps[g] = both >> 4;
    } else if constexpr (P::scales == ScaleEncoding::steps) {
        block.scale_steps[g] = static_cast<signed char>(scales[of_scale]);
    } else {
        block.scale[g] = load_scale<P::scales>(scales + 2 * of_scale);
    }
    if constexpr (HasOffsets<Format>) {
        const int64_t of_offset = P::offset_place(place, r);
        if constexpr (P::offsets == ScaleEncoding::steps) {
            block.offset_steps[g] = static_cast<unsigned char>(offsets[of_offset]);
        } else if constexpr (P::offsets != ScaleEncoding::nibbles) {
            block.offset[g] = load_scale<P::offsets>(offsets + 2 * of_offset);
        }
    }
}

// Extracts a row's codes for n elements from their chunks, which undoes merge().
template <class P>
void codes_of_row(const char *chunk, int64_t n, int r, uint8_t *codes) {
    constexpr int k4 = 4 * panel_rows;
    const auto four = [](const char *from) {
        uint32_t bits;
        __builtin_memcpy(&bits, from, sizeof bits);
        return bits;
    };
    constexpr auto four_of = [](int n) { return static_cast<uint32_t>(each(n)); };
    for (int64_t at = 0; at < n; at += 4 * P::chunk, chunk += P::chunk_bytes) {
#pragma GCC unroll 8
        for (int i = 0; i < P::chunk; i++) {
            uint32_t code = four(chunk + P::high_bytes + i / P::k4s_per_vector * k4 + 4 * r);
            if constexpr (P::low < 8) code = code >> i % P::k4s_per_vector * P::low & four_of((1 << P::low) - 1);
            if constexpr (P::high > 0) code |= (four(chunk + 4 * r) >> i * P::high & four_of((1 << P::high) - 1)) << P::low;
            __builtin_memcpy(codes + at + 4 * i, &code, sizeof code);
        }
    }
}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
