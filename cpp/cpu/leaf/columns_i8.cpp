// Activations into bytes, for integer products: a scale for each 256 elements, largest / 127, and the nearest bytes.
//
// The error of an element is at most half a scale, so that of a product at most sum |weight| * largest of its 256 / 254: about
// 0.006 of a column's size for normal values (docs/performance.md).
#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

#if defined(TL_HAS_INTS)

namespace {

// n elements, a multiple of 32 (fewer than 256 only at the end of a column). The largest magnitude by a loop that compilers vectorise:
// magnitudes are ordered as their bits are, and from 0x7f800000 on there is a NaN or an infinity.
float bytes_of(const float *x, int n, int8_t *bytes) {
    int32_t largest_bits = 0;
    for (int i = 0; i < n; i++) {
        int32_t bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        largest_bits = bits > largest_bits ? bits : largest_bits;
    }
    const bool finite = largest_bits < 0x7f800000;
    if (!finite || largest_bits == 0) {
        __builtin_memset(bytes, 0, scaled_bytes);
        return finite ? 0 : __builtin_nanf("");
    }
    float largest;
    __builtin_memcpy(&largest, &largest_bits, sizeof largest);
    // Below 2^-100 the inverse might overflow: in two steps, which change no digit.
    const float lift = largest < 0x1p-100f ? 0x1p100f : 1.0f, inverse = 127.0f / (largest * lift);
    const Vec::Reg by_lift = Vec::broadcast(lift), by_inverse = Vec::broadcast(inverse);
    for (int i = 0; i < n; i += Vec::width) Ints::store_rounded(bytes + i, Vec::mul(Vec::mul(Vec::load(x + i), by_lift), by_inverse));
    return largest * lift / 127.0f / lift;
}

void quantize_column(int64_t k, const float *x, const LeafTable::IntegerFormat &format, const ByteColumns &columns, int n, int j) {
    constexpr int step = 4 * Vec::width;
    alignas(64) int8_t bytes[scaled_bytes] = {};
    int32_t quads[scaled_bytes / 4];  // sums of 4
    const Ints::Reg ones = Ints::broadcast(0x01010101), none = Ints::broadcast(0);
    const int group = format.offset_group ? format.offset_group : format.scale_group;
    for (int64_t at = 0; at < k; at += scaled_bytes) {
        const int length = static_cast<int>(k - at < scaled_bytes ? k - at : scaled_bytes);
        columns.scales[at / scaled_bytes * n + j] = bytes_of(x + at, length, bytes);
        // Behind the end of a short piece there may be another one's bytes, and sums that nobody reads.
        for (int i = 0; i < length; i += step) {
            Ints::Reg sums = none;
            Ints::dot(sums, ones, Ints::load(reinterpret_cast<const uint8_t *>(bytes + i)));
            Ints::store(reinterpret_cast<uint8_t *>(quads + i / 4), Ints::widened(sums, none));
        }
        for (int g = 0; g < length / group; g++) {
            int32_t sum = 0;
            for (int q = 0; q < group / 4; q++) sum += quads[g * (group / 4) + q];
            const int64_t to = (at / group + g) * n + j;
            if (format.offset_steps) {
                // 32 * 127 at most.
                columns.sum_pairs[(at / group + g) / 2 * 2 * n + 2 * j + g % 2] = static_cast<int16_t>(sum);
            } else if (format.offset_group) {
                columns.sums[to] = static_cast<float>(sum);
            } else {
                columns.zero_terms[to] = -format.zero * sum;
            }
        }
        if (format.column_bytes == 1) {
            int8_t *to = columns.bytes + at * n + 4 * j;
            for (int i = 0; i < length; i += 4, to += 4 * n) __builtin_memcpy(to, bytes + i, 4);
        } else if (n == 1 && format.one_by_signs) {
            int8_t *to = columns.bytes + 2 * at;
            int8_t magnitudes[scaled_bytes];
            for (int i = 0; i < scaled_bytes; i++) magnitudes[i] = static_cast<int8_t>(bytes[i] < 0 ? -bytes[i] : bytes[i]);
            for (int i = 0; i < length; i += 4, to += 8) {
                __builtin_memcpy(to, bytes + i, 4);
                __builtin_memcpy(to + 4, magnitudes + i, 4);
            }
        } else {
            int16_t even[scaled_bytes / 2], odd[scaled_bytes / 2];
            for (int i = 0; i < scaled_bytes / 2; i++) even[i] = bytes[2 * i], odd[i] = bytes[2 * i + 1];
            int8_t *to = columns.bytes + 2 * (at * n + 4 * j);
            for (int i = 0; i < length / 2; i += 2, to += 8 * n) {
                __builtin_memcpy(to, even + i, 4);
                __builtin_memcpy(to + 4, odd + i, 4);
            }
        }
    }
}

}  // namespace

void fill_columns(LeafTable &table) { table.quantize_column = quantize_column; }

#else

void fill_columns(LeafTable &) {}

#endif

}  // namespace tensorlib::core::leaf::TL_LEVEL
