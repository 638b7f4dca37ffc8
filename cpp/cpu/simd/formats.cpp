// The loops over storage types: the code of cpp/dtype, compiled for this ISA. Every product in decoding is exact, and
// encoding keeps a fixed order (dtype/encode/lanes.hpp), so all ISAs give identical bits.
#include "cpu/simd/codes.hpp"
#include "cpu/simd/isa.hpp"

#include "dtype/formats.hpp"

#include <stddef.h>

namespace tensorlib::core::simd::TL_ISA {

namespace {

#if defined(TL_HAS_INTS)
// Types with blocks of 256 whose values are codes times a scale, without a table: all of a block's codes are extracted
// as bytes, then converted W at a time. After subtracting `zero` they are signed bytes; codes of types with offsets are
// below 128. The formula is that of decode_codes(), so the bits are equal. Blocks of 32 are excluded: their codes would
// be loaded before they are stored, in other pieces, and q4_0 takes 3 times as long.
template <class Format>
constexpr bool is_codes = HasCodes<Format> && !HasCodebook<Format> && !HasCodeSet<Format> && Format::block_size == 256;

template <class Format>
void decode_codes_of(const typename Format::Block &block, float *values) {
    constexpr int size = static_cast<int>(Format::block_size), W = Vec::width;
    static_assert(Format::scale_group % W == 0);
    alignas(64) uint8_t codes[size];
    codes_of<Format>(block, codes);
    if constexpr (!HasOffsets<Format>) {
        for (int i = 0; i < size; i++) codes[i] = static_cast<uint8_t>(codes[i] - Format::zero);
    }
    for (int g = 0; g < size / Format::scale_group; g++) {
        const Vec::Reg scale = Vec::broadcast(Format::group_scale(block, g));
        for (int i = g * Format::scale_group; i < (g + 1) * Format::scale_group; i += W) {
            const Vec::Reg code = Vec::load_i8(reinterpret_cast<const char *>(codes) + i);
            if constexpr (HasOffsets<Format>) {
                Vec::store(values + i,
                           Vec::add(Vec::mul(scale, code), Vec::broadcast(Format::group_offset(block, i / Format::offset_group))));
            } else {
                Vec::store(values + i, Vec::mul(scale, code));
            }
        }
    }
}
#endif

template <class Format>
void decode(const void *blocks, float *values, int64_t n) {
#if defined(TL_HAS_INTS)
    if constexpr (is_codes<Format>) {
        const auto *block = static_cast<const typename Format::Block *>(blocks);
        for (int64_t i = 0; i < n; i += Format::block_size) decode_codes_of<Format>(*block++, values + i);
        return;
    }
#endif
    decode_blocks<Format>(blocks, values, n);
}

#if defined(TL_HAS_HALVES)
// By the processor's own conversion, which gives identical bits: NaNs become quiet and keep their fraction.
template <>
void decode<F16>(const void *blocks, float *values, int64_t n) {
    const auto *halves = static_cast<const uint16_t *>(blocks);
    int64_t i = 0;
    for (; i + Vec::width <= n; i += Vec::width) Vec::store(values + i, Vec::load_f16(halves + i));
    decode_blocks<F16>(halves + i, values + i, n - i);
}
#endif

template <class Format>
int64_t encode(const float *values, const float *weights, void *blocks, int64_t n) {
    return encoding::encode_blocks<Format>(values, weights, blocks, n);
}

#if defined(TL_HAS_HALVES)
// The processor's own conversion gives identical bits but for NaNs, so vectors with one do not take it.
template <>
int64_t encode<F16>(const float *values, const float *, void *blocks, int64_t n) {
    auto *halves = static_cast<uint16_t *>(blocks);
    int64_t i = 0;
    for (; i + Vec::width <= n; i += Vec::width) {
        const Vec::Reg v = Vec::load(values + i);
        if (Vec::all(Vec::equal(v, v))) {
            Vec::store_f16(halves + i, v);
        } else {
            encoding::encode_blocks<F16>(values + i, nullptr, halves + i, Vec::width);
        }
    }
    return encoding::encode_blocks<F16>(values + i, nullptr, halves + i, n - i);
}
#endif

#if defined(TL_HAS_INTS)
// Q8_0's rule (eight_bits.hpp) in registers; identical bytes. As many blocks at a time as a register has lanes: their scales are divided
// and converted together, which is most of the work of a block alone.
template <>
int64_t encode<Q8_0>(const float *values, const float *weights, void *blocks, int64_t n) {
    if (weights) return encoding::encode_blocks<Q8_0>(values, weights, blocks, n);
    constexpr int W = Vec::width, parts = 32 / W;
    constexpr int64_t together = 32 * W;
    // To nearest, ties away from zero: the whole part of a code and the largest float below a half.
    const Vec::Whole sign = Vec::whole(static_cast<int32_t>(0x80000000u)), half = Vec::bits(Vec::broadcast(0x0.ffffffp-1f));
    auto *to = static_cast<unsigned char *>(blocks);
    int64_t at = 0;
    for (; at + together <= n; at += together, to += W * sizeof(Q8_0::Block)) {
        const float *x = values + at;
        Vec::Reg tops[W], nothing = Vec::zero();
        for (int b = 0; b < W; b++) {
            tops[b] = Vec::zero();
            for (int i = 0; i < parts; i++) {
                const Vec::Reg v = Vec::load(x + b * 32 + i * W);
                tops[b] = Vec::max(tops[b], Vec::floats(Vec::bit_and(Vec::bits(v), Vec::whole(0x7fffffff))));
                nothing = Vec::add(nothing, Vec::mul(v, Vec::zero()));  // NaN if a value is not finite
            }
        }
        Vec::transpose(tops);
        for (int b = 1; b < W; b++) tops[0] = Vec::max(tops[0], tops[b]);
        const Vec::Reg scale = Vec::div(tops[0], Vec::broadcast(127.0f));
        const Vec::Mask digits =
            Vec::both(Vec::less_equal(Vec::broadcast(0x1p-14f), scale), Vec::less_equal(scale, Vec::broadcast(65504.0f)));
        if (!Vec::all(Vec::both(digits, Vec::equal(nothing, nothing)))) {
            const int64_t bad = encoding::encode_blocks<Q8_0>(x, nullptr, to, together);
            if (bad >= 0) return at + bad;
            continue;
        }
        uint16_t halves[W];
        float inverses[W];
        Vec::store_f16(halves, scale);
        Vec::store(inverses, Vec::div(Vec::broadcast(1.0f), scale));
        for (int b = 0; b < W; b++) {
            // Codes go to their place: a block made elsewhere would be copied in wider pieces than it was stored in, which stalls.
            unsigned char *block = to + b * sizeof(Q8_0::Block);
            __builtin_memcpy(block, halves + b, sizeof halves[b]);
            auto *codes = reinterpret_cast<int8_t *>(block + offsetof(Q8_0::Block, qs));
            const Vec::Reg inverse = Vec::broadcast(inverses[b]);
            for (int i = 0; i < parts; i++) {
                const Vec::Reg code = Vec::mul(Vec::load(x + b * 32 + i * W), inverse);
                Ints::store_whole(codes + i * W, Vec::add(code, Vec::floats(Vec::bit_or(Vec::bit_and(Vec::bits(code), sign), half))));
            }
        }
    }
    const int64_t bad = encoding::encode_blocks<Q8_0>(values + at, nullptr, to, n - at);
    return bad < 0 ? bad : at + bad;
}
#endif

template <class Format>
int64_t encode_by_rule(const float *values, void *blocks, int64_t n) {
    return encoding::encode_blocks_by_rule<Format>(values, blocks, n, encode<Format>);
}

template <class Format>
constexpr SimdTable::FormatLoops loops() {
    return {decode<Format>, encode<Format>, encode_by_rule<Format>};
}

}  // namespace

void fill_formats(SimdTable &table) {
    constexpr SimdTable::FormatLoops all[] = {
#define TL_DTYPE(name, id, format) loops<format>(),
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    };
    static_assert(sizeof all <= sizeof table.formats);
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) table.formats[i] = all[i];
}

}  // namespace tensorlib::core::simd::TL_ISA
