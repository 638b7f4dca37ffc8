// The loops over storage types: the code of cpp/dtype, compiled for this ISA. Every product in decoding is exact, and
// encoding keeps a fixed order (dtype/encode/lanes.hpp), so all ISAs give identical bits.
#include "cpu/simd/codes.hpp"
#include "cpu/simd/isa.hpp"

#include "dtype/formats.hpp"

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

template <class Format>
constexpr SimdTable::FormatLoops loops() {
    return {decode<Format>, encode<Format>};
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
