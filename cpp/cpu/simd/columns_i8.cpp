// Quantises activations to bytes for integer products. 256 elements share a scale, the largest of them / 127. Each
// `span` of these (32, or a type's group if that is longer) has this scale divided by a power of two, the largest with
// which its bytes still fit.
//
// The error of an element is at most half its span's scale, which is less than the span's largest / 127. The error of a
// product is at most sum |weight| * largest of its span / 127, and on average 0.006 of a column's size for normal
// values. That is 1.2 times what a full scale for each 32 elements leaves, and 1.1 times if one element of 131 is 20
// times as large (docs/formats.md).
//
// The stored scale is that of the finest possible spans, 2^-most of the 256's, and a span's products count `times`, a
// power of two. That costs a product almost nothing. Sums in 32 bits start from the bits of the float 1.5 * 2^23 *
// times, whose last place is worth `times`. An integer that is added to these bits, up to 2^22 in magnitude, adds to
// that float in units of `times`. Subtracting the float at the end gives the sum as a float, multiplied and exact,
// instead of a conversion. Sums in 16 bits are multiplied by `times` as they are widened, instead of by one.
#include "cpu/simd/byte_scales.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

// Elements that share a power of two. If offsets are in steps, `times` a sum of 32 bytes must fit in 16 bits.
constexpr int shortest_span = 32, spans = scaled_bytes / shortest_span;
constexpr int largest_shift_of_pairs = 3;

float power_of_two(int exponent) {
    const int32_t bits = (127 + exponent) << 23;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
// The bits of 1.5 * 2^23 * times.
int32_t base_of(int times) {
    const float base = 0x1.8p23f * static_cast<float>(times);
    int32_t bits;
    __builtin_memcpy(&bits, &base, sizeof bits);
    return bits;
}

// Quantises n elements, a multiple of 32 (fewer than 256 only at the end of a column). Also sets the shift of each 32
// of them, at most `most`. Returns their scale.
float bytes_of(const float *x, int n, int span, int most, int8_t *bytes, int (&shifts)[spans]) {
    int32_t largest_of[spans], largest_bits = 0;
    for (int s = 0; s < n / shortest_span; s++) {
        largest_of[s] = largest_bits_of(x + s * shortest_span, shortest_span);
        largest_bits = larger(largest_bits, largest_of[s]);
    }
    const float largest = magnitude_of(largest_bits);
    if (!(largest > 0)) {
        __builtin_memset(shifts, 0, sizeof shifts);
        __builtin_memset(bytes, 0, scaled_bytes);
        return largest;
    }
    const Scaling scaling(largest, 127);
    const Vec::Reg by_lift = Vec::broadcast(scaling.lift);
    for (int s = 0; s < n / shortest_span; s++) {
        const int per_span = span / shortest_span, first = s / per_span * per_span;
        int32_t of_span = 1 << 23;  // the exponent of a smaller value cannot be read from its bits
        for (int i = first; i < first + per_span && i < n / shortest_span; i++) of_span = larger(of_span, largest_of[i]);
        // The difference of the exponents, minus one if the span's digits are larger: 2^shift * the span's largest is
        // at most the largest.
        const int shift = (largest_bits - of_span) >> 23;
        shifts[s] = shift < 0 ? 0 : shift < most ? shift : most;
        const Vec::Reg by_inverse = Vec::broadcast(scaling.inverse * power_of_two(shifts[s]));
        for (int i = s * shortest_span; i < (s + 1) * shortest_span; i += Vec::width)
            Ints::store_rounded(bytes + i, Vec::mul(Vec::mul(Vec::load(x + i), by_lift), by_inverse));
    }
    return scaling.scale;
}

void quantize_column(int64_t k, const float *x, const SimdTable::IntegerFormat &format, const ByteColumns &columns, int n, int j) {
    constexpr int step = 4 * Vec::width;
    alignas(64) int8_t bytes[scaled_bytes] = {};
    int32_t k4s[scaled_bytes / 4];  // sums of 4
    const Ints::Reg ones = Ints::broadcast(0x01010101), none = Ints::broadcast(0);
    // Offset groups are the scales' groups.
    const int group = format.scale_group, span = group > shortest_span ? group : shortest_span;
    const int most = format.offset_steps ? largest_shift_of_pairs : largest_shift;
    for (int64_t at = 0; at < k; at += scaled_bytes) {
        const int length = static_cast<int>(k - at < scaled_bytes ? k - at : scaled_bytes);
        int shifts[spans];
        columns.scales[at / scaled_bytes * n + j] = bytes_of(x + at, length, span, most, bytes, shifts) * power_of_two(-most);
        // Past the end of a short superblock, there may be bytes of another one, and sums that nobody reads.
        for (int i = 0; i < length; i += step) {
            Ints::Reg sums = none;
            Ints::dot(sums, ones, Ints::load(reinterpret_cast<const uint8_t *>(bytes + i)));
            Ints::store(reinterpret_cast<uint8_t *>(k4s + i / 4), Ints::widened(sums, none));
        }
        for (int g = 0; g < length / group; g++) {
            int32_t sum = 0;
            for (int q = 0; q < group / 4; q++) sum += k4s[g * (group / 4) + q];
            const int64_t number = at / group + g;
            const int times = 1 << (most - shifts[g * group / shortest_span]);
            int32_t *start = columns.starts + number * 2 * n + j;
            start[0] = -format.zero * sum;
            if (format.widens) {
                start[0] *= times;
                start[n] = times * 0x10001;
            } else {
                start[n] = base_of(times);
                start[0] += start[n];
            }
            if (format.offset_steps) {
                columns.sum_pairs[number / 2 * 2 * n + 2 * j + number % 2] = static_cast<int16_t>(sum * times);
            } else if (format.offset_group) {
                columns.sums[number * n + j] = static_cast<float>(sum * times);
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

// Integers up to 127 * 256 in magnitude: the high byte is the nearest of 8 bits, the low byte is the remainder, -128 to
// 127.
void words_of(const float *x, int n, int16_t *words, float &scale) {
    const float largest = magnitude_of(largest_bits_of(x, n));
    if (!(largest > 0)) {
        __builtin_memset(words, 0, sizeof(int16_t) * scaled_bytes);
        scale = largest;
        return;
    }
    const Scaling scaling(largest, 127 * 256);
    for (int i = 0; i < n; i++) {
        // The integer is in the last bits of this sum.
        const float sum = x[i] * scaling.lift * scaling.inverse + 0x1.8p23f;
        int32_t bits;
        __builtin_memcpy(&bits, &sum, sizeof bits);
        words[i] = static_cast<int16_t>(bits);
    }
    scale = scaling.scale;
}

void quantize_one(int64_t k, const float *x, const SimdTable::IntegerFormat &format, const ByteColumns &column) {
    const int group = format.scale_group;
    int16_t words[scaled_bytes];
    for (int64_t at = 0; at < k; at += scaled_bytes) {
        const int length = static_cast<int>(k - at < scaled_bytes ? k - at : scaled_bytes);
        words_of(x + at, length, words, column.scales[at / scaled_bytes]);
        int8_t *to = column.bytes + 2 * at;
        if (format.column_bytes == 1) {
            for (int i = 0; i < length; i++) {
                const int high = (words[i] + 128) >> 8;
                to[i / 4 * 8 + i % 4] = static_cast<int8_t>(high);
                to[i / 4 * 8 + 4 + i % 4] = static_cast<int8_t>(words[i] - high * 256);
            }
        } else {
            for (int i = 0; i < length; i += 4, to += 8) {
                const int16_t k4[4] = {words[i], words[i + 2], words[i + 1], words[i + 3]};
                __builtin_memcpy(to, k4, sizeof k4);
            }
        }
        for (int g = 0; g < length / group; g++) {
            int32_t sum = 0, high = 0;
            for (int i = g * group; i < (g + 1) * group; i++) sum += words[i], high += (words[i] + 128) >> 8;
            const int64_t number = at / group + g;
            column.starts[2 * number] = -format.zero * sum;
            if (format.offset_steps) {
                int16_t *pair = column.sum_pairs + number / 2 * 4 + number % 2;
                pair[0] = static_cast<int16_t>(high);
                pair[2] = static_cast<int16_t>(sum - high * 256);
            } else if (format.offset_group) {
                column.sums[number] = static_cast<float>(sum);
            }
        }
    }
}

}  // namespace

void fill_columns(SimdTable::Integer &table) {
    table.quantize_column = quantize_column;
    table.quantize_one = quantize_one;
}

#else

void fill_columns(SimdTable::Integer &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
