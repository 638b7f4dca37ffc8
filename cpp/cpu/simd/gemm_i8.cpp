// The micro-kernel of integer products: quantised weights by activations that were quantised for the product.
//
//   C[m, n] (+)= sum over superblocks of 256 k: activation_scale[n] * sum over groups: scale[m] * times[n] * sum (code[m] - zero) * byte[n]
//
//   codes:  k = 0..3 | row 0 | row 1 | .. | row 2W-1 |, k = 4..7 | ..      4 bytes per row; 2 vectors per k4, read once
//   bytes:  k = 0..3 | column 0 | .. | column N-1 |, ..                    4 bytes per column, broadcast, used by both vectors
//
// Bound. A k4 takes 2 loads, N broadcasts and 2 N dot products of 4 bytes. Two dot products start per cycle, so they take N cycles; the
// loads and broadcasts take (N + 2) / 2. A group ends with a subtraction or a conversion, on another port, and a multiply-add per
// accumulator, which takes a dot product's slot. Groups of 32 k have 16 N dot products and 2 N multiply-adds, a bound of 89 %; groups of
// 16 k, 80 %. Offsets cost the same again. A superblock's sums are scaled into a tile in the first-level cache, another 1/64. 2 N = 12
// chains are in flight; 2 per cycle at 5 cycles of latency need 10.
//
// Without dot products of bytes, sums of products have 16 bits. A dot product is then two instructions, and two more widen the
// sums before they can overflow: after 8 products for codes up to 15, 4 for codes up to 31, 2 for codes up to 63. Codes up to 255 are
// multiplied in 16 bits, which takes as many instructions again.
//
// Sums start from the contribution of the weights' zero, which costs nothing, and count `times` (cpu/simd/columns_i8.cpp).
#include "cpu/simd/panels_i8.hpp"
#include "cpu/simd/store_panel.hpp"

#include <type_traits>

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

constexpr int rows = panel_rows, W = lanes;
constexpr int k4s_per_superblock = superblock / 4;

// A superblock's sums in floats: in registers while the columns fit, else in the first-level cache.
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

// Accumulators of one group, for the two vectors of rows.
template <int n>
using Sums = Ints::Reg[n][2];

int32_t word_at(const void *bytes) {
    int32_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

// The ways to multiply codes by activations. A way has
//   columns           N
//   factors           accumulators per vector of rows: N, or 2 for one column of 16 bits in two bytes
//   in_16_bits        whether it takes one column, of 16 bits
//   k4_bytes          bytes of activations per k4
//   most              how many products a sum of 16 bits holds before it is widened; 0: sums have 32 bits
//   has_zero          whether what sums start from has the zero's contribution
//   ends_as_integers  whether sums are converted to floats; otherwise they start from the float whose last place is worth `times`
//   dot               adds the products of a k4; the first products of narrow sums are the sums
// dot is a template of the integer type I because Ints has some functions only on the ISAs that need them.

// Bytes by codes without signs.
template <int N, int most_, bool in_two_bytes>
struct ByteWay {
    static_assert(!in_two_bytes || N == 1);
    static constexpr int columns = N, factors = in_two_bytes ? 2 : N, k4_bytes = 4 * factors, most = Ints::wide ? 0 : most_;
    static constexpr bool in_16_bits = in_two_bytes, has_zero = true, ends_as_integers = most > 0 || in_two_bytes;

    template <class I>
    static inline void dot(Sums<factors> &sums, Ints::Reg w0, Ints::Reg w1, const int8_t *x, bool first) {
#pragma GCC unroll 8
        for (int j = 0; j < factors; j++) {
            const Ints::Reg xj = I::broadcast(word_at(x + 4 * j));
            if constexpr (most > 0) {
                if (first) {
                    sums[j][0] = I::products(w0, xj), sums[j][1] = I::products(w1, xj);
                    continue;
                }
            }
            I::dot(sums[j][0], w0, xj);
            I::dot(sums[j][1], w1, xj);
        }
    }
};

// Words of 16 bits, [N][0, 2, 1, 3], by codes so large that a sum of 16 bits does not hold two of their products with bytes.
template <int N, bool precise>
struct WordWay {
    static constexpr int columns = N, factors = N, k4_bytes = 8 * N, most = 0;
    static constexpr bool in_16_bits = precise, has_zero = true, ends_as_integers = precise;

    template <class I>
    static inline void dot(Sums<N> &sums, Ints::Reg w0, Ints::Reg w1, const int8_t *x, bool) {
        const Ints::Reg even0 = I::even(w0), even1 = I::even(w1), odd0 = I::odd(w0), odd1 = I::odd(w1);
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const Ints::Reg even = I::broadcast(word_at(x + 8 * j)), odd = I::broadcast(word_at(x + 8 * j + 4));
            I::dot_words(sums[j][0], even0, even);
            I::dot_words(sums[j][1], even1, even);
            I::dot_words(sums[j][0], odd0, odd);
            I::dot_words(sums[j][1], odd1, odd);
        }
    }
};

// One column's bytes and their magnitudes, [2][4], by codes with signs: the panel's codes less `zero`.
template <int zero>
struct SignedWay {
    static constexpr int columns = 1, factors = 1, k4_bytes = 8, most = 0;
    static constexpr bool in_16_bits = false, has_zero = false, ends_as_integers = false;

    template <class I>
    static inline Ints::Reg with_signs(Ints::Reg codes) {
        if constexpr (zero != 0) return I::minus(codes, zero);
        return codes;
    }
    template <class I>
    static inline void dot(Sums<1> &sums, Ints::Reg w0, Ints::Reg w1, const int8_t *x, bool) {
        const Ints::Reg words = I::broadcast(word_at(x)), magnitudes = I::broadcast(word_at(x + 4));
        I::dot_signed(sums[0][0], with_signs<I>(w0), magnitudes, words);
        I::dot_signed(sums[0][1], with_signs<I>(w1), magnitudes, words);
    }
};

// Adds the products of a group to its accumulators, and moves the panel and the activations on. `times` is for narrow sums.
template <class Way, class I, class Panel>
inline void accumulate_group(Panel &panel, const int8_t *&bytes, const int32_t *times, Sums<Way::factors> &acc) {
    constexpr bool widens = Way::most > 0;
    constexpr int n = Way::factors, chunk = Panel::chunk, run = widens && Way::most < chunk ? Way::most : chunk;
#pragma GCC unroll 1
    for (int done = 0; done < Panel::group; done += chunk) {
#pragma GCC unroll 8
        for (int begin = 0; begin < chunk; begin += run) {
            Sums<n> narrow;
            auto &sums = widens ? narrow : acc;
#pragma GCC unroll 8
            for (int i = begin; i < begin + run; i++) {
                const Ints::Reg w0 = panel.k4(i, 0), w1 = panel.k4(i, 1);
                Way::template dot<I>(sums, w0, w1, bytes + Way::k4_bytes * i, i == begin);
            }
            if constexpr (widens) {
#pragma GCC unroll 8
                for (int j = 0; j < n; j++) {
                    const Ints::Reg factor = I::broadcast(Way::in_16_bits ? 0x10001 : times[j]);
                    acc[j][0] = I::widened(narrow[j][0], factor, acc[j][0]);
                    acc[j][1] = I::widened(narrow[j][1], factor, acc[j][1]);
                }
            }
        }
        panel.end_chunk();
        bytes += Way::k4_bytes * chunk;
    }
}

// Joins the sums of elements' high bytes with those of their low bytes.
inline void join(Sums<2> &sums) {
    sums[0][0] = Ints::joined(sums[0][0], sums[1][0]);
    sums[0][1] = Ints::joined(sums[0][1], sums[1][1]);
}

// Where multiply() is in the activations.
struct ColumnCursor {
    const int8_t *bytes;
    const int32_t *starts;
    const int16_t *sum_pairs;
    const float *sums, *scales;

    explicit ColumnCursor(const ByteColumns &columns)
        : bytes(columns.bytes), starts(columns.starts), sum_pairs(columns.sum_pairs), sums(columns.sums), scales(columns.scales) {}
};

// What a group's sums start from. Of one column's two bytes, the low one's sums have the zero's contribution.
template <class Way, bool offsets>
inline int32_t started_from(const int32_t *starts, int j) {
    constexpr bool has_zero = Way::has_zero && !offsets;
    if constexpr (Way::factors > Way::columns) return !has_zero || j == 0 ? 0 : starts[0];
    if constexpr (has_zero) return starts[j];
    return Way::ends_as_integers ? 0 : starts[Way::columns + j];
}

// Multiplies one group and adds its scaled sums to the superblock's. Inlined by hand: GCC 12 otherwise keeps some of q1_0's 12
// accumulators on the stack, which takes a quarter more time with 16 registers.
template <class Way, class Panel, int N = Way::columns>
[[gnu::always_inline]] inline void multiply_group(Panel &panel, ColumnCursor &at, Totals<N> &total) {
    constexpr bool offsets = Panel::has_offsets;
    Sums<Way::factors> acc;
    const int32_t *start = at.starts;
#pragma GCC unroll 8
    for (int j = 0; j < Way::factors; j++) acc[j][0] = acc[j][1] = Ints::broadcast(started_from<Way, offsets>(start, j));
    accumulate_group<Way, Ints>(panel, at.bytes, at.starts + N, acc);
    if constexpr (Way::factors > N) join(acc);
    const Vec::Reg s0 = panel.scale(0), s1 = panel.scale(1);
    // A barrier: the compiler would otherwise keep the sums' starting values in registers that the loop needs.
    const int32_t *bases = at.starts + N;
    __asm__ volatile("" : "+r"(bases));
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        if constexpr (Way::ends_as_integers) {
            total.add(j, 0, Ints::to_float(acc[j][0]), s0);
            total.add(j, 1, Ints::to_float(acc[j][1]), s1);
        } else {
            const Vec::Reg base = Ints::as_float(Ints::broadcast(bases[j]));
            total.add(j, 0, Vec::sub(Ints::as_float(acc[j][0]), base), s0);
            total.add(j, 1, Vec::sub(Ints::as_float(acc[j][1]), base), s1);
        }
    }
    at.starts += 2 * N;
    if constexpr (offsets && !Panel::offset_steps) {
        const Vec::Reg o0 = panel.offset(0), o1 = panel.offset(1);
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const Vec::Reg x = Vec::broadcast(at.sums[j]);
            total.add(j, 0, o0, x);
            total.add(j, 1, o1, x);
        }
        at.sums += N;
    }
}

// Adds the products of a superblock's offsets, which are steps of a unit, and the columns' sums. A dot product of 16 bits takes two
// groups of them, where a multiply-add takes one.
template <class Way, class Panel, int N = Way::columns>
inline void add_offsets(const Panel &panel, ColumnCursor &at, Totals<N> &total) {
    constexpr int pairs = superblock / (4 * Panel::group) / 2, factors = Way::in_16_bits ? 2 : N;
    Sums<factors> acc;
#pragma GCC unroll 8
    for (int j = 0; j < factors; j++) acc[j][0] = acc[j][1] = Ints::broadcast(0);
#pragma GCC unroll 8
    for (int pair = 0; pair < pairs; pair++) {
        const Ints::Reg o0 = panel.offset_pair(pair, 0), o1 = panel.offset_pair(pair, 1);
#pragma GCC unroll 8
        for (int j = 0; j < factors; j++) {
            const Ints::Reg x = Ints::broadcast(word_at(at.sum_pairs + 2 * (pair * factors + j)));
            Ints::dot_words(acc[j][0], o0, x);
            Ints::dot_words(acc[j][1], o1, x);
        }
    }
    if constexpr (Way::in_16_bits) join(acc);
    const Vec::Reg unit0 = panel.unit_offset(0), unit1 = panel.unit_offset(1);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        total.add(j, 0, Ints::to_float(acc[j][0]), unit0);
        total.add(j, 1, Ints::to_float(acc[j][1]), unit1);
    }
    at.sum_pairs += superblock / (4 * Panel::group) * Way::factors;
}

template <class Way, class Panel>
void multiply(int64_t k, Panel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    constexpr int N = Way::columns;
    alignas(64) float out[N][rows];
    ColumnCursor at(columns);
    // Fetches the lines of C while the products are computed: its columns are pages apart, which the hardware's prefetcher does not
    // follow. This saves 3 to 6 % with 512 columns.
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
            multiply_group<Way>(panel, at, total);
            panel.end_group(g);
        }
        if constexpr (Panel::offset_steps) add_offsets<Way>(panel, at, total);
        panel.end_superblock();
        const bool first = k4s == k / 4;
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const Vec::Reg x = Vec::broadcast(at.scales[j]);
            Vec::store(out[j], Vec::fma(total.sum(j, 0), x, first ? Vec::zero() : Vec::load(out[j])));
            Vec::store(out[j] + W, Vec::fma(total.sum(j, 1), x, first ? Vec::zero() : Vec::load(out[j] + W)));
        }
        at.scales += N;
    }
    store_panel(out[0], rows, N, c, ldc, m, accumulate);
}

template <class Way, int G, ScaleEncoding offsets>
void gemm(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    Unpacked<G, offsets> codes(panel);
    multiply<Way>(k, codes, columns, c, ldc, m, accumulate);
}

template <class Way, class P>
void gemm_packed(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m) {
    Packed<P> panels(panel);
    for (; m > 0; m -= rows, c += rows) multiply<Way>(k, panels, columns, c, ldc, m < rows ? m : rows, false);
}
// Packed panels look codes up in a codebook. A codebook with the zero taken off gives the signed codes without a subtraction.
template <int zero, class P>
void gemm_packed_signed(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m) {
    uint8_t codebook[16];
    for (int code = 0; code < 16; code++) codebook[code] = static_cast<uint8_t>(panel.codebook[code] - zero);
    PackedPanel with_signs = panel;
    with_signs.codebook = codebook;
    gemm_packed<SignedWay<0>, P>(k, with_signs, columns, c, ldc, m);
}

template <class Format>
constexpr int most_dots = Ints::most_dots(Format::largest_code);

// How `Format` is multiplied by N columns, or by one column of 16 bits.
template <class Format, int N>
using WayOf = std::conditional_t<(most_dots<Format> > 0), ByteWay<N, most_dots<Format>, false>, WordWay<N, false>>;
template <class Format>
using PreciseWayOf = std::conditional_t<(most_dots<Format> > 0), ByteWay<1, most_dots<Format>, true>, WordWay<1, true>>;

// The largest magnitude of a group's sum.
template <class Format>
constexpr int largest_sum() {
    int zero = 0;
    if constexpr (!HasOffsets<Format>) zero = Format::zero;
    const int above = Format::largest_code - zero;
    return Format::scale_group * 127 * (above > zero ? above : zero);
}

// Whether one column is multiplied by codes with signs, which needs a zero to take off.
template <class Format>
constexpr bool one_column_is_signed() {
    if constexpr (one_by_signs<Format>) return Format::zero > 0;
    return false;
}

// The functions for N columns and for fewer.
template <class Format, int N>
void enter_columns(SimdTable::IntegerFormat &format) {
    constexpr int G = Format::scale_group / 4;
    constexpr ScaleEncoding offsets = offset_encoding<Format>;
    using P = PackingOf<Format>;
    if constexpr (N == 1 && one_column_is_signed<Format>()) {
        format.gemm[0] = gemm<SignedWay<Format::zero>, G, offsets>;
        format.gemm_packed[0] = gemm_packed_signed<Format::zero, P>;
    } else {
        if constexpr (N <= Ints::gemm_columns) format.gemm[N - 1] = gemm<WayOf<Format, N>, G, offsets>;
        format.gemm_packed[N - 1] = gemm_packed<WayOf<Format, N>, P>;
    }
    if constexpr (N > 1) enter_columns<Format, N - 1>(format);
}

template <class Format>
void enter(SimdTable::IntegerFormat &format) {
    if constexpr (HasCodes<Format>) {
        if constexpr (HasOffsets<Format>) static_assert(Format::offset_group == Format::scale_group);
        // The bounds of cpu/simd/columns_i8.cpp.
        static_assert(largest_sum<Format>() < (!Ints::wide && most_dots<Format> > 0 ? 1 << (31 - largest_shift) : 1 << 22));
        using P = PackingOf<Format>;
        // 8 cold columns, G/s, with tiles of 8 and of 6 and 2: q8_0 512 and 416, q6_K 504 and 473, q4_K 574 and 599, q4_0 644 and 698.
        constexpr int columns = P::low + P::high >= 6 ? Ints::most_columns : Ints::gemm_columns;
        format.packed_group = columns;
        if constexpr (Ints::one_in_16_bits<P>()) {
            format.gemm_one = gemm<PreciseWayOf<Format>, Format::scale_group / 4, offset_encoding<Format>>;
            format.gemm_packed_one = gemm_packed<PreciseWayOf<Format>, P>;
        }
        enter_columns<Format, columns>(format);
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
