// 16 floats in a 512-bit register; 32 registers.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace tensorlib::core::simd::TL_ISA {

// load_f16() and load_bf16().
#define TL_HAS_HALVES
// stream().
#define TL_HAS_STREAM
// dot_bf16().
#define TL_HAS_BF16_DOT
// choose().
#define TL_HAS_CHOICE

struct Vec {
    using Reg = __m512;
    static constexpr int width = 16;
    // 2 x 12 accumulators, 2 of a panel row, 1 broadcast: 27 of 32 registers.
    static constexpr int gemm_columns = 12;
    // 4 x 4 accumulators, 4 + 1 operands: 21 of 32.
    static constexpr int dot_columns = 4;

    static inline Reg zero() { return _mm512_setzero_ps(); }
    static inline Reg load(const float *p) { return _mm512_loadu_ps(p); }
    static inline void store(float *p, Reg v) { _mm512_storeu_ps(p, v); }
    // Stores past the caches; p is aligned to a register. stream_end() orders these stores before what other threads
    // see next.
    static inline void stream(float *p, Reg v) { _mm512_stream_ps(p, v); }
    static inline void stream_end() { _mm_sfence(); }
    static inline Reg broadcast(float x) { return _mm512_set1_ps(x); }
    static inline Reg load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))); }
    static inline void store_f16(uint16_t *p, Reg v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static inline Reg load_bf16(const uint16_t *p) {
        const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
        return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    }
    // Each lane's two BF16, as floats.
    static inline Reg first_bf16(Reg pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16)); }
    static inline Reg second_bf16(Reg pairs) {
        return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(pairs), _mm512_set1_epi32(-65536)));
    }
    static inline Reg load_i8(const char *p) {
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
    }
    static inline Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
    static inline Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
    static inline Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
    static inline Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
    // Lanes 1, 0, 3, 2, ...
    static inline Reg swap_pairs(Reg v) { return _mm512_permute_ps(v, 0xb1); }
    static inline float sum(Reg v) { return _mm512_reduce_add_ps(v); }
    // Running sums over the lanes: pairs, then each next power of two, whose upper half adds the last lane of the lower
    // half.
    static inline Reg running(Reg v) {
        v = _mm512_mask_add_ps(v, 0xaaaa, v, _mm512_permute_ps(v, 0xa0));
        v = _mm512_mask_add_ps(v, 0xcccc, v, _mm512_permute_ps(v, 0x55));
        v = _mm512_mask_add_ps(v, 0xf0f0, v,
                               _mm512_permutexvar_ps(_mm512_setr_epi32(3, 3, 3, 3, 3, 3, 3, 3, 11, 11, 11, 11, 11, 11, 11, 11), v));
        return _mm512_mask_add_ps(v, 0xff00, v, _mm512_permutexvar_ps(_mm512_set1_epi32(7), v));
    }
    // Broadcasts the last lane.
    static inline Reg last(Reg v) { return _mm512_permutexvar_ps(_mm512_set1_epi32(15), v); }
    // Each lane's two BF16 times two, added to the lane. In place, like Ints::dot().
    static inline void dot_bf16(Reg &sum, Reg a, Reg b) { __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b)); }

    // For each lane, the one of 16 floats that its low 4 bits select.
    static inline Reg choose(Reg table, __m512i places) { return _mm512_permutexvar_ps(places, table); }

    // For cpp/math; lanes.hpp says what each does.
    using Whole = __m512i;
    using Mask = __mmask16;
    static constexpr bool fused = true;
    static inline Reg load_part(const float *p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
    static inline void store_part(float *p, Reg v, int n) { _mm512_mask_storeu_ps(p, first(n), v); }
    static inline Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
    static inline Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
    static inline Reg sqrt(Reg v) { return _mm512_sqrt_ps(v); }
    static inline Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
    static inline Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
    static inline Reg nearest(Reg v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static inline Reg scale(Reg v, Reg n) { return _mm512_scalef_ps(v, n); }
    static inline Mask less(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    static inline Mask less_equal(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
    static inline Mask equal(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
    static inline Mask signs(Reg v) { return _mm512_movepi32_mask(_mm512_castps_si512(v)); }
    static inline Mask both(Mask a, Mask b) { return _kand_mask16(a, b); }
    static inline Mask either(Mask a, Mask b) { return _kor_mask16(a, b); }
    static inline bool all(Mask m) { return m == 0xffff; }
    static inline Reg select(Mask m, Reg yes, Reg no) { return _mm512_mask_blend_ps(m, no, yes); }
    static inline Whole bits(Reg v) { return _mm512_castps_si512(v); }
    static inline Reg floats(Whole v) { return _mm512_castsi512_ps(v); }
    static inline Whole whole(int32_t x) { return _mm512_set1_epi32(x); }
    static inline Whole add(Whole a, Whole b) { return _mm512_add_epi32(a, b); }
    static inline Whole bit_and(Whole a, Whole b) { return _mm512_and_si512(a, b); }
    static inline Whole bit_or(Whole a, Whole b) { return _mm512_or_si512(a, b); }
    static inline Whole bit_xor(Whole a, Whole b) { return _mm512_xor_si512(a, b); }
    static inline Whole left(Whole v, int n) { return _mm512_slli_epi32(v, static_cast<unsigned>(n)); }
    static inline Whole right(Whole v, int n) { return _mm512_srli_epi32(v, static_cast<unsigned>(n)); }

    // Transposes in four rounds, each of which doubles the run of elements that are in place: pairs, groups of four,
    // then whole 128-bit lanes twice.
    static inline void transpose(Reg r[16]) {
        Reg t[16];
        for (int i = 0; i < 8; i++) {
            t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 4; i++) {
            r[4 * i] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
            r[4 * i + 1] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
            r[4 * i + 2] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
            r[4 * i + 3] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
        }
        // r[4 i + j] holds columns j, 4 + j, 8 + j, 12 + j of rows 4 i .. 4 i + 3, a lane each.
        for (int j = 0; j < 4; j++) {
            const Reg low01 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x44), high01 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xee);
            const Reg low23 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x44), high23 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xee);
            t[j] = _mm512_shuffle_f32x4(low01, low23, 0x88);
            t[4 + j] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
            t[8 + j] = _mm512_shuffle_f32x4(high01, high23, 0x88);
            t[12 + j] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
        }
        for (int i = 0; i < 16; i++) r[i] = t[i];
    }
};

// 16 sums of products of bytes. ISAs without them have no integer products.
#define TL_HAS_INTS
struct Ints {
    using Reg = __m512i;
    // 2 x 6 integer and 2 x 6 float accumulators, 2 of a panel row, 1 broadcast: 27 of 32 registers. With 8 columns,
    // the float accumulators are in the L1 cache.
    static constexpr int gemm_columns = 6, most_columns = 8;
    // dot() sums in 32 bits, for any number of products.
    static constexpr bool wide = true;
    static constexpr int most_dots(int) { return 64; }

    // Whether one column's activations are taken in 16 bits: where memory is by far the limit, which on a Zen 4 is from
    // 6 bits up (0.94 to 1.01 times as fast there; 5 bits 0.86, 4 bits 0.90).
    template <class Packing>
    static constexpr bool one_in_16_bits() {
        return Packing::low + Packing::high >= 6;
    }

    static inline Reg load(const uint8_t *p) { return _mm512_loadu_si512(p); }
    static inline void store(uint8_t *p, Reg v) { _mm512_storeu_si512(p, v); }
    // Stores 16 floats, whose rounded values are bytes, as bytes.
    static inline void store_rounded(int8_t *p, __m512 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
    }
    // Stores their whole parts as bytes.
    static inline void store_whole(int8_t *p, __m512 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
    }
    static inline Reg broadcast(int32_t x) { return _mm512_set1_epi32(x); }
    // Each lane's four unsigned bytes times four signed bytes, added to the lane. In place: GCC 12 gives the
    // intrinsic's result its own register, which costs a product of 12 sums 24 moves and spills.
    static inline void dot(Reg &sum, Reg codes, Reg words) { __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(words)); }
    // Unsigned bytes as 16 bits, and each lane's two of these times two, added to the lane.
    static inline Reg load_words(const uint8_t *p) {
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
    }
    static inline void dot_words(Reg &sum, Reg codes, Reg words) { __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(words)); }
    static inline Reg widened(Reg sum, Reg start) { return _mm512_add_epi32(sum, start); }
    static inline Reg minus(Reg codes, int zero) { return _mm512_sub_epi8(codes, _mm512_set1_epi8(static_cast<char>(zero))); }
    // Byte i of each lane, sign-extended.
    static inline Reg signed_byte(Reg v, int i) { return _mm512_srai_epi32(_mm512_slli_epi32(v, static_cast<unsigned>(24 - 8 * i)), 24); }
    static inline Reg joined(Reg high, Reg low) { return _mm512_add_epi32(_mm512_slli_epi32(high, 8), low); }
    static inline __m512 to_float(Reg v) { return _mm512_cvtepi32_ps(v); }
    // Reinterprets the bits.
    static inline __m512 as_float(Reg v) { return _mm512_castsi512_ps(v); }
    // Lanes shifted right (left if negative), and these bits of each byte.
    static inline Reg bits(Reg v, int shift, int mask) {
        const Reg shifted =
            shift < 0 ? _mm512_slli_epi32(v, static_cast<unsigned>(-shift)) : _mm512_srli_epi32(v, static_cast<unsigned>(shift));
        return _mm512_and_si512(shifted, _mm512_set1_epi8(static_cast<char>(mask)));
    }
    // These bits of each lane.
    static inline Reg each(Reg v, int mask) { return _mm512_and_si512(v, _mm512_set1_epi32(mask)); }
    static inline Reg either(Reg a, Reg b) { return _mm512_or_si512(a, b); }
    // table[index] for each byte; indices 0..15.
    static inline Reg look_up(const uint8_t *table, Reg places) {
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(table))), places);
    }
};

}  // namespace tensorlib::core::simd::TL_ISA
