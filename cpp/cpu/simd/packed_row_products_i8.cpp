// Products of packed rows with activations in the same order.
//
//   sum over superblocks, groups, lanes:
//     activation_scale[group][lane] * scale[group][lane] * sum (code - zero) * integer
//
// A column stores, group by group, what the packed row's group is multiplied by. Both are therefore read as streams,
// and the column comes from the L1 cache:
//
//   scales [lane] | starts of sums [lane], or the factors of the weights' offsets | k4: 4 integers a lane | k4 | ..
//
// Integers have a scale for each group of a lane: its largest magnitude / 127 for 8 bits, / (127 * 256) for 16. The
// latter are two bytes that are multiplied one after the other, [k4][high, low][lane][4]. If products of bytes do not
// fit words, the order is [k4][0 and 2, 1 and 3][lane][2]. With 8 bits, the error of an element is at most 1 / 254 of
// its group's largest, with 16 bits 1 / 65024.
#include "cpu/simd/byte_scales.hpp"
#include "cpu/simd/packed_rows_i8.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

constexpr int W = lanes;

enum class Numbers { bytes, halves, words };

template <class Format>
constexpr Numbers numbers_for() {
    if (Ints::most_dots(Format::largest_code) == 0) return Numbers::words;
    return Ints::one_in_16_bits<PackingOf<Format>>() ? Numbers::halves : Numbers::bytes;
}
constexpr int parts_of(Numbers as) { return as == Numbers::bytes ? 1 : 2; }

// Bytes of a column's k4, and of what precedes a group's k4s.
constexpr int64_t quad_bytes(Numbers as) { return parts_of(as) * 4 * panel_rows; }
constexpr int64_t head_bytes = 2 * panel_rows * static_cast<int64_t>(sizeof(float));

template <class Format>
int64_t column_bytes(int64_t k) {
    using P = PackingOf<Format>;
    int64_t bytes = 0;
    for_each_superblock<P>(
        k, [&](int64_t, int64_t n) { bytes += n / (4 * P::group) * (head_bytes + P::group * quad_bytes(numbers_for<Format>())); });
    return bytes;
}

// A group's n elements as integers up to `most` in magnitude, and their sum.
struct Whole {
    float scale;
    int32_t sum;
    int16_t of[superblock];
};
void round(const float *x, int n, int most, Whole &to) {
    const float largest = magnitude_of(largest_bits_of(x, n));
    to.sum = 0;
    if (!(largest > 0)) {
        to.scale = largest;
        __builtin_memset(to.of, 0, sizeof to.of);
        return;
    }
    const Scaling scaling(largest, static_cast<float>(most));
    to.scale = scaling.scale;
    for (int i = 0; i < n; i++) {
        // The integer is in the last bits of this sum.
        const float sum = x[i] * scaling.lift * scaling.inverse + 0x1.8p23f;
        int32_t bits;
        __builtin_memcpy(&bits, &sum, sizeof bits);
        to.of[i] = static_cast<int16_t>(bits);
        to.sum += to.of[i];
    }
}

template <Numbers as>
void put(const Whole &from, int n, char *to) {
    for (int q = 0; q < n; q += 4, to += quad_bytes(as)) {
        const int16_t *of = from.of + q;
        if constexpr (as == Numbers::words) {
            const int16_t even[2] = {of[0], of[2]}, odd[2] = {of[1], of[3]};
            __builtin_memcpy(to, even, 4);
            __builtin_memcpy(to + 4 * panel_rows, odd, 4);
        } else {
            int8_t high[4], low[4];
            for (int i = 0; i < 4; i++) {
                // Split into two bytes; the low one is -128 to 127.
                const int rounded = as == Numbers::halves ? (of[i] + 128) >> 8 : of[i];
                high[i] = static_cast<int8_t>(rounded), low[i] = static_cast<int8_t>(of[i] - rounded * 256);
            }
            __builtin_memcpy(to, high, 4);
            if constexpr (as == Numbers::halves) __builtin_memcpy(to + 4 * panel_rows, low, 4);
        }
    }
}

template <class Format>
void prepare(int64_t k, const float *x, char *column) {
    using P = PackingOf<Format>;
    constexpr Numbers as = numbers_for<Format>();
    constexpr int group = 4 * P::group;
    Whole whole;
    for_each_superblock<P>(k, [&](int64_t first, int64_t n) {
        constexpr int64_t bytes = head_bytes + P::group * quad_bytes(as);
        for (int lane = 0; lane < panel_rows; lane++) {
            for (int64_t g = 0; g < n / group; g++) {
                char *to = column + g * bytes;
                const int64_t at = first + lane * n + g * group;
                if (at < k) {
                    round(x + at, group, as == Numbers::bytes ? 127 : 127 * 256, whole);
                } else {
                    whole = {};
                }
                float *scale = reinterpret_cast<float *>(to) + lane;
                *scale = whole.scale;
                if constexpr (HasOffsets<Format>) {
                    scale[panel_rows] = whole.scale * static_cast<float>(whole.sum);
                } else {
                    const int32_t start = -Format::zero * whole.sum;
                    __builtin_memcpy(scale + panel_rows, &start, sizeof start);
                }
                put<as>(whole, group, to + head_bytes + 4 * lane);
            }
        }
        column += n / group * bytes;
    });
}

// Multiplies a chunk's k4s of a packed row by a column's. I is Ints; only some ISAs have what narrow sums need.
template <Numbers as, int most, class P, class I>
inline void dot_chunk(typename I::Reg (&acc)[2][2], const PackedRow<P> &packed, const char *x) {
    constexpr bool narrow_sums = !I::wide && as == Numbers::bytes;
    constexpr int run = !narrow_sums || most > P::chunk ? P::chunk : most;
#pragma GCC unroll 8
    for (int begin = 0; begin < P::chunk; begin += run) {
        [[maybe_unused]] typename I::Reg narrow[2];
#pragma GCC unroll 8
        for (int i = begin; i < begin + run; i++) {
#pragma GCC unroll 2
            for (int half = 0; half < 2; half++) {
                const auto numbers = [&](int part) {
                    return I::load(reinterpret_cast<const uint8_t *>(x + i * quad_bytes(as) + (2 * part + half) * 4 * W));
                };
                const typename I::Reg codes = packed.k4(i, half);
                if constexpr (as == Numbers::words) {
                    I::dot_words(acc[0][half], I::even(codes), numbers(0));
                    I::dot_words(acc[1][half], I::odd(codes), numbers(1));
                } else if constexpr (narrow_sums) {
                    if (i == begin) {
                        narrow[half] = I::products(codes, numbers(0));
                    } else {
                        I::dot(narrow[half], codes, numbers(0));
                    }
                } else {
                    I::dot(acc[0][half], codes, numbers(0));
                    if constexpr (as == Numbers::halves) I::dot(acc[1][half], codes, numbers(1));
                }
            }
        }
        if constexpr (narrow_sums) {
            for (int half = 0; half < 2; half++) acc[0][half] = I::widened(narrow[half], acc[0][half]);
        }
    }
}

template <class Format>
float dot(int64_t k, const PackedPanel &from, const char *column) {
    using P = PackingOf<Format>;
    constexpr Numbers as = numbers_for<Format>();
    constexpr bool offsets = HasOffsets<Format>, late = PackedRow<P>::offset_steps;
    PackedRow<P> packed(from);
    Vec::Reg total[2] = {Vec::zero(), Vec::zero()};
    for_each_superblock<P>(k, [&](int64_t, int64_t n) {
        packed.begin_superblock(n / 4);
        Vec::Reg steps[2] = {Vec::zero(), Vec::zero()};
        for (int64_t g = 0; g < n / (4 * P::group); g++) {
            const float *scale = reinterpret_cast<const float *>(column), *second = scale + panel_rows;
            // The sums of the high bytes, or of the even elements, and those of the others, which start from zero.
            Ints::Reg acc[2][2];
#pragma GCC unroll 2
            for (int half = 0; half < 2; half++) {
                acc[0][half] = acc[1][half] = Ints::broadcast(0);
                if constexpr (!offsets) acc[as == Numbers::halves][half] = Ints::load(reinterpret_cast<const uint8_t *>(second + half * W));
            }
            column += head_bytes;
#pragma GCC unroll 1
            for (int done = 0; done < P::group; done += P::chunk) {
                dot_chunk<as, Ints::most_dots(Format::largest_code), P, Ints>(acc, packed, column);
                packed.end_chunk();
                column += P::chunk * quad_bytes(as);
            }
#pragma GCC unroll 2
            for (int half = 0; half < 2; half++) {
                Ints::Reg sum = acc[0][half];
                if constexpr (as == Numbers::halves) sum = Ints::joined(sum, acc[1][half]);
                if constexpr (as == Numbers::words) sum = Vec::add(sum, acc[1][half]);
                total[half] = Vec::fma(Vec::mul(Ints::to_float(sum), Vec::load(scale + half * W)), packed.scale(half), total[half]);
                if constexpr (late) {
                    steps[half] = Vec::fma(packed.offset_steps_of(g, half), Vec::load(second + half * W), steps[half]);
                } else if constexpr (offsets) {
                    total[half] = Vec::fma(packed.offset(half), Vec::load(second + half * W), total[half]);
                }
            }
            packed.end_group(g);
        }
        if constexpr (late) {
            for (int half = 0; half < 2; half++) total[half] = Vec::fma(steps[half], packed.unit_offset(half), total[half]);
        }
        packed.end_superblock();
    });
    return Vec::sum(Vec::add(total[0], total[1]));
}

template <class Format>
void enter(SimdTable::PackedRowFormat &format) {
    if constexpr (HasCodes<Format>) {
        format.in_16_bits = numbers_for<Format>() != Numbers::bytes;
        format.column_bytes = column_bytes<Format>;
        format.prepare = prepare<Format>;
        format.dot = dot<Format>;
    }
}

}  // namespace

void fill_packed_row_products(SimdTable &table) {
    SimdTable::PackedRowFormat *format = table.packed_rows;
#define TL_DTYPE(name, id, type) enter<type>(*format++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_packed_row_products(SimdTable &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
