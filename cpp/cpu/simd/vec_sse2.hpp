// 4 floats in a 128-bit register; 16 registers; no fused multiply-add.
#pragma once

#include <emmintrin.h>
#include <stdint.h>

namespace tensorlib::core::simd::TL_ISA {

// stream().
#define TL_HAS_STREAM

struct Vec {
    using Reg = __m128;
    static constexpr int width = 4;
    // 2 x 6 accumulators, 2 of a panel row, a broadcast, a product: 16 of 16 registers.
    static constexpr int gemm_columns = 6;
    // 4 x 2 accumulators, 4 + 1 operands, a product: 14 of 16.
    static constexpr int dot_columns = 2;

    static inline Reg zero() { return _mm_setzero_ps(); }
    static inline Reg load(const float *p) { return _mm_loadu_ps(p); }
    static inline void store(float *p, Reg v) { _mm_storeu_ps(p, v); }
    // Stores past the caches; p is aligned to a register. stream_end() orders these stores before what other threads
    // see next.
    static inline void stream(float *p, Reg v) { _mm_stream_ps(p, v); }
    static inline void stream_end() { _mm_sfence(); }
    static inline Reg broadcast(float x) { return _mm_set1_ps(x); }
    static inline Reg add(Reg a, Reg b) { return _mm_add_ps(a, b); }
    static inline Reg sub(Reg a, Reg b) { return _mm_sub_ps(a, b); }
    static inline Reg mul(Reg a, Reg b) { return _mm_mul_ps(a, b); }
    static inline Reg fma(Reg a, Reg b, Reg c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
    // Lanes 1, 0, 3, 2, ...
    static inline Reg swap_pairs(Reg v) { return _mm_shuffle_ps(v, v, 0xb1); }
    static inline float sum(Reg v) {
        const Reg s = _mm_add_ps(v, _mm_movehl_ps(v, v));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
    }
    // Running sums over the lanes: pairs, then each next power of two, whose upper half adds the last lane of the lower
    // half.
    static inline Reg running(Reg v) {
        const Reg odd = _mm_castsi128_ps(_mm_setr_epi32(0, -1, 0, -1)), upper = _mm_castsi128_ps(_mm_setr_epi32(0, 0, -1, -1));
        const Reg pairs = _mm_add_ps(v, _mm_and_ps(_mm_shuffle_ps(v, v, 0xa0), odd));
        return _mm_add_ps(pairs, _mm_and_ps(_mm_shuffle_ps(pairs, pairs, 0x55), upper));
    }
    // Broadcasts the last lane.
    static inline Reg last(Reg v) { return _mm_shuffle_ps(v, v, 0xff); }
    static inline void transpose(Reg r[4]) { _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]); }

    // For cpp/math; lanes.hpp says what each does. A mask is all bits of its lanes.
    using Whole = __m128i;
    using Mask = __m128;
    static constexpr bool fused = false;
    static inline Reg load_part(const float *p, int n) {
        float lanes[4] = {0, 0, 0, 0};
        for (int i = 0; i < n; i++) lanes[i] = p[i];
        return load(lanes);
    }
    static inline void store_part(float *p, Reg v, int n) {
        float lanes[4];
        store(lanes, v);
        for (int i = 0; i < n; i++) p[i] = lanes[i];
    }
    static inline Reg div(Reg a, Reg b) { return _mm_div_ps(a, b); }
    static inline Reg sqrt(Reg v) { return _mm_sqrt_ps(v); }
    static inline Reg min(Reg a, Reg b) { return _mm_min_ps(a, b); }
    static inline Reg max(Reg a, Reg b) { return _mm_max_ps(a, b); }
    // There is no instruction for it: floats of 2^23 and more are integers, and adding 2^23 to a smaller magnitude
    // rounds it to one.
    static inline Reg nearest(Reg v) {
        const Reg sign = _mm_and_ps(v, _mm_set1_ps(-0.0f)), magnitude = _mm_xor_ps(v, sign), whole = _mm_set1_ps(8388608.0f);
        const Reg rounded = _mm_or_ps(_mm_sub_ps(_mm_add_ps(magnitude, whole), whole), sign);
        return select(less(magnitude, whole), rounded, v);
    }
    static inline Mask less(Reg a, Reg b) { return _mm_cmplt_ps(a, b); }
    static inline Mask less_equal(Reg a, Reg b) { return _mm_cmple_ps(a, b); }
    static inline Mask equal(Reg a, Reg b) { return _mm_cmpeq_ps(a, b); }
    static inline Mask signs(Reg v) { return _mm_castsi128_ps(_mm_srai_epi32(_mm_castps_si128(v), 31)); }
    static inline Mask both(Mask a, Mask b) { return _mm_and_ps(a, b); }
    static inline Mask either(Mask a, Mask b) { return _mm_or_ps(a, b); }
    static inline bool all(Mask m) { return _mm_movemask_ps(m) == 0xf; }
    static inline Reg select(Mask m, Reg yes, Reg no) { return _mm_or_ps(_mm_and_ps(m, yes), _mm_andnot_ps(m, no)); }
    static inline Whole bits(Reg v) { return _mm_castps_si128(v); }
    static inline Reg floats(Whole v) { return _mm_castsi128_ps(v); }
    static inline Whole whole(int32_t x) { return _mm_set1_epi32(x); }
    static inline Whole add(Whole a, Whole b) { return _mm_add_epi32(a, b); }
    static inline Whole bit_and(Whole a, Whole b) { return _mm_and_si128(a, b); }
    static inline Whole bit_or(Whole a, Whole b) { return _mm_or_si128(a, b); }
    static inline Whole bit_xor(Whole a, Whole b) { return _mm_xor_si128(a, b); }
    static inline Whole left(Whole v, int n) { return _mm_slli_epi32(v, n); }
    static inline Whole right(Whole v, int n) { return _mm_srli_epi32(v, n); }
};

}  // namespace tensorlib::core::simd::TL_ISA
