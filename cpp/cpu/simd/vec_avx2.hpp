// 8 floats in a 256-bit register; 16 registers; fused multiply-add.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace tensorlib::core::simd::TL_ISA {

// load_f16() and load_bf16().
#define TL_HAS_HALVES
// stream().
#define TL_HAS_STREAM

struct Vec {
    using Reg = __m256;
    static constexpr int width = 8;
    // 2 x 6 accumulators, 2 of a panel row, 1 broadcast: 15 of 16 registers.
    static constexpr int gemm_columns = 6;
    // 4 x 2 accumulators, 4 + 1 operands: 13 of 16.
    static constexpr int dot_columns = 2;

    static inline Reg zero() { return _mm256_setzero_ps(); }
    static inline Reg load(const float *p) { return _mm256_loadu_ps(p); }
    static inline void store(float *p, Reg v) { _mm256_storeu_ps(p, v); }
    // Stores past the caches; p is aligned to a register. stream_end() orders these stores before what other threads
    // see next.
    static inline void stream(float *p, Reg v) { _mm256_stream_ps(p, v); }
    static inline void stream_end() { _mm_sfence(); }
    static inline Reg broadcast(float x) { return _mm256_set1_ps(x); }
    static inline Reg load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))); }
    static inline void store_f16(uint16_t *p, Reg v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static inline Reg load_bf16(const uint16_t *p) {
        const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
        return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
    }
    // Each lane's two BF16, as floats.
    static inline Reg first_bf16(Reg pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs), 16)); }
    static inline Reg second_bf16(Reg pairs) {
        return _mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(pairs), _mm256_set1_epi32(-65536)));
    }
    static inline Reg load_i8(const char *p) {
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
    }
    static inline Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
    static inline Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
    static inline Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
    static inline Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
    // Lanes 1, 0, 3, 2, ...
    static inline Reg swap_pairs(Reg v) { return _mm256_permute_ps(v, 0xb1); }
    static inline float sum(Reg v) {
        __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        s = _mm_add_ps(s, _mm_movehl_ps(s, s));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
    }
    // Running sums over the lanes: pairs, then each next power of two, whose upper half adds the last lane of the lower
    // half.
    static inline Reg running(Reg v) {
        const Reg pairs = _mm256_add_ps(v, _mm256_and_ps(_mm256_permute_ps(v, 0xa0), chosen(0, -1, 0, -1, 0, -1, 0, -1)));
        const Reg fours = _mm256_add_ps(pairs, _mm256_and_ps(_mm256_permute_ps(pairs, 0x55), chosen(0, 0, -1, -1, 0, 0, -1, -1)));
        const Reg third = _mm256_permutevar8x32_ps(fours, _mm256_set1_epi32(3));
        return _mm256_add_ps(fours, _mm256_and_ps(third, chosen(0, 0, 0, 0, -1, -1, -1, -1)));
    }
    static inline Reg chosen(int a, int b, int c, int d, int e, int f, int g, int h) {
        return _mm256_castsi256_ps(_mm256_setr_epi32(a, b, c, d, e, f, g, h));
    }
    // Broadcasts the last lane.
    static inline Reg last(Reg v) { return _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(7)); }

    // For cpp/math; lanes.hpp says what each does. A mask is the signs of its lanes.
    using Whole = __m256i;
    using Mask = __m256;
    static constexpr bool fused = true;
    static inline Reg load_part(const float *p, int n) { return _mm256_maskload_ps(p, first(n)); }
    static inline void store_part(float *p, Reg v, int n) { _mm256_maskstore_ps(p, first(n), v); }
    static inline Whole first(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
    static inline Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
    static inline Reg sqrt(Reg v) { return _mm256_sqrt_ps(v); }
    static inline Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
    static inline Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
    static inline Reg nearest(Reg v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static inline Mask less(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    static inline Mask less_equal(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
    static inline Mask equal(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
    static inline Mask signs(Reg v) { return v; }
    static inline Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
    static inline Mask either(Mask a, Mask b) { return _mm256_or_ps(a, b); }
    static inline bool all(Mask m) { return _mm256_movemask_ps(m) == 0xff; }
    static inline Reg select(Mask m, Reg yes, Reg no) { return _mm256_blendv_ps(no, yes, m); }
    static inline Whole bits(Reg v) { return _mm256_castps_si256(v); }
    static inline Reg floats(Whole v) { return _mm256_castsi256_ps(v); }
    static inline Whole whole(int32_t x) { return _mm256_set1_epi32(x); }
    static inline Whole add(Whole a, Whole b) { return _mm256_add_epi32(a, b); }
    static inline Whole bit_and(Whole a, Whole b) { return _mm256_and_si256(a, b); }
    static inline Whole bit_or(Whole a, Whole b) { return _mm256_or_si256(a, b); }
    static inline Whole bit_xor(Whole a, Whole b) { return _mm256_xor_si256(a, b); }
    static inline Whole left(Whole v, int n) { return _mm256_slli_epi32(v, n); }
    static inline Whole right(Whole v, int n) { return _mm256_srli_epi32(v, n); }

    // Transposes: pairs, groups of four, then 128-bit lanes.
    static inline void transpose(Reg r[8]) {
        Reg t[8];
        for (int i = 0; i < 4; i++) {
            t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 2; i++) {
            r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
            r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
            r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
            r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
        }
        for (int j = 0; j < 4; j++) {
            t[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
            t[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
        }
        for (int i = 0; i < 8; i++) r[i] = t[i];
    }
};

// 8 sums of products of bytes, first in 16 bits: sums of two, added until they might overflow.
#define TL_HAS_INTS
struct Ints {
    using Reg = __m256i;
    // 2 x 3 sums in 16 bits, 2 x 3 float accumulators, 2 of a panel row, 1 broadcast, 1 product: 16 registers.
    static constexpr int gemm_columns = 3, most_columns = 3;
    static constexpr bool wide = false;
    // Products of two are at most 2 * largest * 128. Returns how many of them 16 bits hold, a power of two. 0: not two,
    // for which dot_words() is faster.
    static constexpr int most_dots(int largest) {
        const int most = 32767 / (2 * largest * 128);
        return most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 0;
    }

    // Whether one column's activations are taken in 16 bits, where this costs almost nothing. Codes above 63 are
    // multiplied in 16 bits anyway (codes from tables with their signs instead: 3 to 11 % faster); bytes, twice as
    // often, took 5 to 18 % (Zen 3).
    template <class Packing>
    static constexpr bool one_in_16_bits() {
        return Packing::low == 8;
    }

    static inline Reg load(const uint8_t *p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)); }
    static inline void store(uint8_t *p, Reg v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v); }
    // Stores 8 floats, whose rounded values are bytes, as bytes.
    static inline void store_rounded(int8_t *p, __m256 v) { store_bytes(p, _mm256_cvtps_epi32(v)); }
    // Stores their whole parts as bytes.
    static inline void store_whole(int8_t *p, __m256 v) { store_bytes(p, _mm256_cvttps_epi32(v)); }
    static inline void store_bytes(int8_t *p, __m256i words) {
        const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i *>(p), _mm_packs_epi16(halves, halves));
    }
    static inline Reg broadcast(int32_t x) { return _mm256_set1_epi32(x); }
    // Unsigned bytes times signed bytes, in pairs: two 16-bit sums per lane.
    static inline Reg products(Reg codes, Reg words) { return _mm256_maddubs_epi16(codes, words); }
    // Adds products to sums. By reference: GCC 12 turns a series of them into a tree, and keeps its branches in memory.
    static inline void dot(Reg &sum, Reg codes, Reg words) {
        const Reg products = Ints::products(codes, words);
        __asm__("vpaddw %1, %0, %0" : "+x"(sum) : "x"(products));
    }
    // For codes up to 255: the first and third, or second and fourth of each lane's four, in 16 bits each, times two
    // activations in 16 bits, added to the lane.
    static inline Reg even(Reg codes) { return _mm256_and_si256(codes, _mm256_set1_epi16(255)); }
    static inline Reg odd(Reg codes) { return _mm256_srli_epi16(codes, 8); }
    // Unsigned bytes as 16 bits.
    static inline Reg load_words(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))); }
    static inline void dot_words(Reg &sum, Reg codes, Reg words) {
        const Reg products = _mm256_madd_epi16(codes, words);
        __asm__("vpaddd %1, %0, %0" : "+x"(sum) : "x"(products));
    }
    // Signed codes, none of which is -128, times each lane's four activations, given as signed bytes and as magnitudes,
    // added to the lane: 2 * 127 * 127 fits in 16 bits.
    static inline void dot_signed(Reg &sum, Reg codes, Reg magnitudes, Reg words) {
        const Reg products = _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(codes, words));
        sum = widened(products, sum);
    }
    static inline Reg minus(Reg codes, int zero) { return _mm256_sub_epi8(codes, _mm256_set1_epi8(static_cast<char>(zero))); }
    // A lane's two sums, each multiplied by the lane's 16 bits of `times`, plus start.
    static inline Reg widened(Reg sum, Reg times, Reg start) { return _mm256_add_epi32(_mm256_madd_epi16(sum, times), start); }
    static inline Reg widened(Reg sum, Reg start) { return widened(sum, _mm256_set1_epi16(1), start); }
    // Byte i of each lane, sign-extended.
    static inline Reg signed_byte(Reg v, int i) { return _mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * i), 24); }
    static inline Reg joined(Reg high, Reg low) { return _mm256_add_epi32(_mm256_slli_epi32(high, 8), low); }
    static inline __m256 to_float(Reg v) { return _mm256_cvtepi32_ps(v); }
    // Reinterprets the bits.
    static inline __m256 as_float(Reg v) { return _mm256_castsi256_ps(v); }
    // Lanes shifted right (left if negative), and these bits of each byte.
    static inline Reg bits(Reg v, int shift, int mask) {
        const Reg shifted = shift < 0 ? _mm256_slli_epi32(v, -shift) : _mm256_srli_epi32(v, shift);
        return _mm256_and_si256(shifted, _mm256_set1_epi8(static_cast<char>(mask)));
    }
    // These bits of each lane.
    static inline Reg each(Reg v, int mask) { return _mm256_and_si256(v, _mm256_set1_epi32(mask)); }
    static inline Reg either(Reg a, Reg b) { return _mm256_or_si256(a, b); }
    // table[index] for each byte; indices 0..15.
    static inline Reg look_up(const uint8_t *table, Reg places) {
        return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(table))), places);
    }
};

}  // namespace tensorlib::core::simd::TL_ISA
