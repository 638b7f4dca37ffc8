// The micro-kernel of integer products: quantised weights by activations that were quantised on the way.
//
//   C[m, n] (+)= sum over blocks of 256 k: activation_scale[n] * sum over groups: scale[m] * times[n] * sum (code[m] - zero) * byte[n]
//
//   codes:  k = 0..3 | row 0 | row 1 | .. | row 2W-1 |, k = 4..7 | ..      4 bytes a row; 2 vectors per 4 k, read once
//   bytes:  k = 0..3 | column 0 | .. | column N-1 |, ..                    4 bytes a column, broadcast, used by both vectors
//
// A step of 4 k is 2 loads, N broadcasts and 2 N dot products of 4 bytes. Where two of these start per cycle they take N cycles,
// the loads (N + 2) / 2. A group ends with a subtraction or a conversion (on another port) and a multiply-add for each accumulator, which
// take dot products' slots: of 32 k 16 N against 2 N, a bound of 89 %; of 16 k 80 %; offsets cost as much again. (Where products of bytes
// are summed in 16 bits, a dot product is two instructions, and before it could overflow two more widen the sums: after 8 for codes up to
// 15, 4 up to 31, 2 up to 63; codes up to 255 are multiplied in 16 bits, which is as many instructions again.) What 256 k add up to is
// scaled into a tile in the first-level cache: another 1/64. Sums start from what the weights' zero comes to, for nothing, and count
// `times` (cpu/simd/columns_i8.cpp). 2 N = 12 chains are in flight, where 2 per cycle x 5 cycles of latency ask for 10.
#include "cpu/simd/panels_i8.hpp"
#include "cpu/simd/store_panel.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

constexpr int rows = panel_rows, W = lanes;
constexpr int k4s_per_superblock = superblock / 4;

// Sums in floats of a superblock: in registers for as many columns as there are, else in the first-level cache.
template <int N, bool in_registers = N <= Ints::gemm_columns>
struct Totals {
    Vec::Reg of[N][2];
    void clear() {
        // As in gemm_f32: every loop over accumulators is unrolled.
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) of[j][0] = of[j][1] = Vec::zero();
    }
    void add(int j, int half, Vec::Reg a, Vec::Reg b) { of[j][half] = Vec::fma(a, b, of[j][half]); }
    Vec::Reg sum(int j, int half) const { return of[j][half]; }
};
template <int N>
struct Totals<N, false> {
    alignas(64) float of[N][rows];
    void clear() { __builtin_memset(of, 0, sizeof of); }
    void add(int j, int half, Vec::Reg a, Vec::Reg b) {
        float *to = of[j] + half * W;
        Vec::store(to, Vec::fma(a, b, Vec::load(to)));
    }
    Vec::Reg sum(int j, int half) const { return Vec::load(of[j] + half * W); }
};

int32_t word_at(const void *bytes) {
    int32_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

// Four codes of each row by those of N columns: bytes [N][4]. The first ones of sums in 16 bits are these sums.
template <int N, bool narrow, class I>
inline void dot_bytes(typename I::Reg (&sums)[N][2], typename I::Reg w0, typename I::Reg w1, const int8_t *x, bool first) {
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        const Ints::Reg xj = Ints::broadcast(word_at(x + 4 * j));
        if constexpr (narrow) {
            if (first) {
                sums[j][0] = I::products(w0, xj), sums[j][1] = I::products(w1, xj);
                continue;
            }
        }
        Ints::dot(sums[j][0], w0, xj);
        Ints::dot(sums[j][1], w1, xj);
    }
}
// The same in 16 bits, [N][0, 2, 1, 3]. (I is Ints, which has even() and odd() only where an ISA needs this.)
template <int N, class I>
inline void dot_words(typename I::Reg (&sums)[N][2], typename I::Reg w0, typename I::Reg w1, const int8_t *x) {
    const typename I::Reg even0 = I::even(w0), even1 = I::even(w1), odd0 = I::odd(w0), odd1 = I::odd(w1);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        const typename I::Reg even = I::broadcast(word_at(x + 8 * j)), odd = I::broadcast(word_at(x + 8 * j + 4));
        I::dot_words(sums[j][0], even0, even);
        I::dot_words(sums[j][1], even1, even);
        I::dot_words(sums[j][0], odd0, odd);
        I::dot_words(sums[j][1], odd1, odd);
    }
}

template <int zero, class I>
inline typename I::Reg with_signs(typename I::Reg codes) {
    if constexpr (zero != 0) return I::minus(codes, zero);
    return codes;
}
// One column's with codes that have signs: its bytes and their magnitudes, [2][4].
template <class I>
inline void dot_signed(typename I::Reg (&sums)[1][2], typename I::Reg w0, typename I::Reg w1, const int8_t *x) {
    const typename I::Reg words = I::broadcast(word_at(x)), magnitudes = I::broadcast(word_at(x + 4));
    I::dot_signed(sums[0][0], w0, magnitudes, words);
    I::dot_signed(sums[0][1], w1, magnitudes, words);
}

// Sums of elements' high bytes and of their low ones into sums of elements, the first.
template <class I>
inline void join(typename I::Reg (&sums)[2][2]) {
    sums[0][0] = I::joined(sums[0][0], sums[1][0]);
    sums[0][1] = I::joined(sums[0][1], sums[1][1]);
}

// The offsets of a superblock, whose steps are whole numbers, by the columns' sums.
template <int N, bool in_16_bits, class Panel>
inline void add_offsets(const Panel &panel, const int16_t *sum_pairs, Totals<N> &total) {
    constexpr int pairs = superblock / (4 * Panel::group) / 2, factors = in_16_bits ? 2 : N;
    Ints::Reg acc[factors][2];
#pragma GCC unroll 8
    for (int j = 0; j < factors; j++) acc[j][0] = acc[j][1] = Ints::broadcast(0);
#pragma GCC unroll 8
    for (int pair = 0; pair < pairs; pair++) {
        const Ints::Reg o0 = panel.offset_pair(pair, 0), o1 = panel.offset_pair(pair, 1);
#pragma GCC unroll 8
        for (int j = 0; j < factors; j++) {
            const Ints::Reg x = Ints::broadcast(word_at(sum_pairs + 2 * (pair * factors + j)));
            Ints::dot_words(acc[j][0], o0, x);
            Ints::dot_words(acc[j][1], o1, x);
        }
    }
    if constexpr (in_16_bits) join<Ints>(acc);
    const Vec::Reg unit0 = panel.unit_offset(0), unit1 = panel.unit_offset(1);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        total.add(j, 0, Ints::to_float(acc[j][0]), unit0);
        total.add(j, 1, Ints::to_float(acc[j][1]), unit1);
    }
}

// What codes and activations are multiplied as: bytes, words of 16 bits (where two sums of products of bytes do not fit into 16 bits), or
// bytes with signs, codes less `zero` (one column's, dot_signed()).
enum class Factors { bytes, words, signs };
struct Dots {
    Factors factors;
    int most;                 // so many dot products of bytes may be summed before they are widened
    int zero;                 // of signs
    bool in_16_bits = false;  // one column's activations: as two bytes each, which are multiplied as if of two columns, or as words
};
template <int N, Dots dots, class Panel>
void multiply(int64_t k, Panel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    // Offsets in steps are left to the superblock's end, where a dot product of 16 bits takes two groups of them, for a multiply-add each.
    constexpr bool offsets = Panel::has_offsets, late = Panel::offset_steps;
    constexpr bool narrow_sums = !Ints::wide && dots.factors == Factors::bytes, in_16_bits = dots.in_16_bits;
    static_assert(!in_16_bits || N == 1);
    constexpr bool in_halves = in_16_bits && dots.factors == Factors::bytes;
    constexpr int n = in_halves ? 2 : N;                                // what codes are multiplied by
    constexpr int quad_bytes = dots.factors == Factors::bytes ? 4 : 8;  // of each
    constexpr int chunk = Panel::chunk, run = dots.factors != Factors::bytes || dots.most > chunk ? chunk : dots.most;
    alignas(64) float out[N][rows];
    const int8_t *bytes = columns.bytes;
    const int32_t *start = columns.starts;
    // What a group's sums start from: the zero's terms, which codes with signs or offsets do not have, and of two halves the low one's sums
    // have; else the float whose last place is worth `times`, or nothing.
    const auto started_from = [&](int j) {
        constexpr bool no_zero = offsets || dots.factors == Factors::signs;
        if constexpr (in_halves) return no_zero || j == 0 ? 0 : start[0];
        if constexpr (!no_zero) return start[j];
        return narrow_sums || in_16_bits ? 0 : start[N + j];
    };
    const int16_t *sum_pairs = columns.sum_pairs;
    const float *sum = columns.sums, *column_scale = columns.scales;
    // What is stored at the end is fetched meanwhile: columns of C are pages apart, which the hardware does not see coming. 3 to 6 % of
    // 512 columns' time.
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < m; i += 64 / static_cast<int>(sizeof(float))) __builtin_prefetch(c + j * ldc + i, 1, 3);
    }
    for (int64_t k4s = k / 4; k4s > 0; k4s -= k4s_per_superblock) {
        const int64_t here = k4s < k4s_per_superblock ? k4s : k4s_per_superblock;
        panel.begin_superblock(here);
        if constexpr (N == 1) panel.begin_page();
        Totals<N> total;
        total.clear();
        for (int64_t g = 0; g < here / Panel::group; g++) {
            Ints::Reg acc[n][2];
#pragma GCC unroll 8
            for (int j = 0; j < n; j++) acc[j][0] = acc[j][1] = Ints::broadcast(started_from(j));
#pragma GCC unroll 1
            for (int done = 0; done < Panel::group; done += chunk) {
#pragma GCC unroll 8
                for (int begin = 0; begin < chunk; begin += run) {
                    Ints::Reg narrow[n][2];
                    auto &sums = narrow_sums ? narrow : acc;
#pragma GCC unroll 8
                    for (int i = begin; i < begin + run; i++) {
                        const Ints::Reg w0 = panel.k4(i, 0), w1 = panel.k4(i, 1);
                        const int8_t *k4 = bytes + quad_bytes * i * n;
                        if constexpr (dots.factors == Factors::words) {
                            dot_words<N, Ints>(sums, w0, w1, k4);
                        } else if constexpr (dots.factors == Factors::signs) {
                            dot_signed<Ints>(sums, with_signs<dots.zero, Ints>(w0), with_signs<dots.zero, Ints>(w1), k4);
                        } else {
                            dot_bytes<n, narrow_sums, Ints>(sums, w0, w1, k4, i == begin);
                        }
                    }
                    if constexpr (narrow_sums) {
#pragma GCC unroll 8
                        for (int j = 0; j < n; j++) {
                            const Ints::Reg times = Ints::broadcast(in_16_bits ? 0x10001 : start[N + j]);
                            acc[j][0] = Ints::widened(narrow[j][0], times, acc[j][0]);
                            acc[j][1] = Ints::widened(narrow[j][1], times, acc[j][1]);
                        }
                    }
                }
                panel.end_chunk();
                bytes += quad_bytes * n * chunk;
            }
            if constexpr (in_halves) join<Ints>(acc);
            const Vec::Reg s0 = panel.scale(0), s1 = panel.scale(1);
            // A barrier: what sums have started from would be kept for this, in registers that there are not.
            const int32_t *bases = start + N;
            __asm__ volatile("" : "+r"(bases));
#pragma GCC unroll 8
            for (int j = 0; j < N; j++) {
                if constexpr (narrow_sums || in_16_bits) {
                    total.add(j, 0, Ints::to_float(acc[j][0]), s0);
                    total.add(j, 1, Ints::to_float(acc[j][1]), s1);
                } else {
                    const Vec::Reg base = Ints::as_float(Ints::broadcast(bases[j]));
                    total.add(j, 0, Vec::sub(Ints::as_float(acc[j][0]), base), s0);
                    total.add(j, 1, Vec::sub(Ints::as_float(acc[j][1]), base), s1);
                }
            }
            start += 2 * N;
            if constexpr (offsets && !late) {
                const Vec::Reg o0 = panel.offset(0), o1 = panel.offset(1);
#pragma GCC unroll 8
                for (int j = 0; j < N; j++) {
                    const Vec::Reg x = Vec::broadcast(sum[j]);
                    total.add(j, 0, o0, x);
                    total.add(j, 1, o1, x);
                }
                sum += N;
            }
            panel.end_group(g);
        }
        if constexpr (late) {
            add_offsets<N, in_16_bits>(panel, sum_pairs, total);
            sum_pairs += superblock / (4 * Panel::group) * n;
        }
        panel.end_superblock();
        const bool first = k4s == k / 4;
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const Vec::Reg x = Vec::broadcast(column_scale[j]);
            Vec::store(out[j], Vec::fma(total.sum(j, 0), x, first ? Vec::zero() : Vec::load(out[j])));
            Vec::store(out[j] + W, Vec::fma(total.sum(j, 1), x, first ? Vec::zero() : Vec::load(out[j] + W)));
        }
        column_scale += N;
    }
    store_panel(out[0], rows, N, c, ldc, m, accumulate);
}

template <int N, int G, Dots dots, ScaleEncoding offsets>
void gemm(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    Unpacked<G, offsets> codes(panel);
    multiply<N, dots>(k, codes, columns, c, ldc, m, accumulate);
}
template <int N, Dots dots, class P>
void gemm_packed(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m) {
    Packed<P> panels(panel);
    uint8_t codebook[16];
    // Out of the table with their signs, so that nothing is left to be taken off.
    constexpr Dots of_panel{dots.factors, dots.most, 0, dots.in_16_bits};
    if constexpr (dots.factors == Factors::signs) {
        for (int place = 0; place < 16; place++) codebook[place] = static_cast<uint8_t>(panel.codebook[place] - dots.zero);
        panels.codebook = codebook;
    }
    for (; m > 0; m -= rows, c += rows) multiply<N, of_panel>(k, panels, columns, c, ldc, m < rows ? m : rows, false);
}

// one_column: for the last of them, of one column.
template <int N, int G, Dots several, Dots one_column, ScaleEncoding offsets, class P>
void enter(SimdTable::IntegerFormat &format) {
    constexpr Dots dots = N == 1 ? one_column : several;
    if constexpr (N <= Ints::gemm_columns) format.gemm[N - 1] = gemm<N, G, dots, offsets>;
    format.gemm_packed[N - 1] = gemm_packed<N, dots, P>;
    if constexpr (N > 1) enter<N - 1, G, several, one_column, offsets, P>(format);
}

template <class Format>
constexpr Dots dots_of_one_column(Dots otherwise) {
    if constexpr (one_by_signs<Format>) return Format::zero > 0 ? Dots{Factors::signs, 0, Format::zero} : otherwise;
    return otherwise;
}

// What a group's sums may come to, either way.
template <class Format>
constexpr int largest_sum() {
    int zero = 0;
    if constexpr (!HasOffsets<Format>) zero = Format::zero;
    const int above = Format::largest_code - zero;
    return Format::scale_group * 127 * (above > zero ? above : zero);
}

template <class Format>
void enter(SimdTable::IntegerFormat &format) {
    if constexpr (HasCodes<Format>) {
        if constexpr (HasOffsets<Format>) static_assert(Format::offset_group == Format::scale_group);
        constexpr int most = Ints::most_dots(Format::largest_code);
        // (cpu/simd/columns_i8.cpp)
        static_assert(largest_sum<Format>() < (!Ints::wide && most > 0 ? 1 << (31 - largest_shift) : 1 << 22));
        constexpr Dots dots{most > 0 ? Factors::bytes : Factors::words, most, 0}, one = dots_of_one_column<Format>(dots);
        using P = PackingOf<Format>;
        // 8 cold columns, G/s, with tiles of 8 and of 6 and 2: q8_0 512 and 416, q6_K 504 and 473, q4_K 574 and 599, q4_0 644 and 698.
        constexpr int columns = P::low + P::high >= 6 ? Ints::most_columns : Ints::gemm_columns;
        format.packed_group = columns;
        if constexpr (Ints::one_in_16_bits<P>()) {
            constexpr Dots precise{dots.factors, dots.most, 0, true};
            format.gemm_one = gemm<1, Format::scale_group / 4, precise, offset_encoding<Format>>;
            format.gemm_packed_one = gemm_packed<1, precise, P>;
        }
        enter<columns, Format::scale_group / 4, dots, one, offset_encoding<Format>, P>(format);
    }
}

}  // namespace

void fill_integer(SimdTable::Integer &table) {
    static_assert(Ints::most_columns <= max_integer_columns);
    table.rows = rows;
    table.columns = Ints::gemm_columns;
    SimdTable::IntegerFormat *format = table.formats;
#define TL_DTYPE(name, id, type) enter<type>(*format++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_integer(SimdTable::Integer &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
