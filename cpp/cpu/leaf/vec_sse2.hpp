// 4 floats in a 128-bit register; 16 registers; no fused multiply-add.
#pragma once

#include <emmintrin.h>

namespace tensorlib::core::leaf::TL_LEVEL {

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
    // Past the caches, p aligned to a register; ordered before what other threads see next by stream_end().
    static inline void stream(float *p, Reg v) { _mm_stream_ps(p, v); }
    static inline void stream_end() { _mm_sfence(); }
    static inline Reg broadcast(float x) { return _mm_set1_ps(x); }
    static inline Reg add(Reg a, Reg b) { return _mm_add_ps(a, b); }
    static inline Reg fma(Reg a, Reg b, Reg c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
    static inline float sum(Reg v) {
        const Reg s = _mm_add_ps(v, _mm_movehl_ps(v, v));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
    }
    static inline void transpose(Reg r[4]) { _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]); }
};

}  // namespace tensorlib::core::leaf::TL_LEVEL
