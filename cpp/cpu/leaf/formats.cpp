// The storage formats' loops: the code of cpp/dtype, compiled for this level. Every product in decoding is exact, and encoding
// keeps to one order (dtype/encode/lanes.hpp), so the bits are the same on each.
#include "cpu/leaf/level.hpp"

#include "dtype/formats.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

template <class Format>
void decode(const void *blocks, float *values, int64_t n) {
    decode_blocks<Format>(blocks, values, n);
}

#if defined(TL_HAS_HALVES)
// By the processor's own conversion, which gives the same bits: NaNs become quiet and keep their fraction.
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
constexpr LeafTable::FormatLoops loops() {
    return {decode<Format>, encode<Format>};
}

}  // namespace

void fill_formats(LeafTable &table) {
    constexpr LeafTable::FormatLoops all[] = {
#define TL_DTYPE(name, id, format) loops<format>(),
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    };
    static_assert(sizeof all <= sizeof table.formats);
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) table.formats[i] = all[i];
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
