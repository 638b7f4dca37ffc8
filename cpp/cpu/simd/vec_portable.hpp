// 4 floats in plain C++, for processors without a file here. Compilers turn the loops into the vectors that exist.
#pragma once

#include <stdint.h>

namespace tensorlib::core::simd::TL_ISA {

struct Vec {
    struct Reg {
        float lane[4];
    };
    static constexpr int width = 4;
    static constexpr int gemm_columns = 6;
    static constexpr int dot_columns = 2;

    static inline Reg zero() { return {{0, 0, 0, 0}}; }
    static inline Reg load(const float *p) { return {{p[0], p[1], p[2], p[3]}}; }
    static inline void store(float *p, Reg v) {
        for (int i = 0; i < 4; i++) p[i] = v.lane[i];
    }
    static inline Reg broadcast(float x) { return {{x, x, x, x}}; }
    static inline Reg add(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] += b.lane[i];
        return a;
    }
    static inline Reg sub(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] -= b.lane[i];
        return a;
    }
    static inline Reg mul(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] *= b.lane[i];
        return a;
    }
    static inline Reg fma(Reg a, Reg b, Reg c) {
        for (int i = 0; i < 4; i++) c.lane[i] += a.lane[i] * b.lane[i];
        return c;
    }
    // Lanes 1, 0, 3, 2, ...
    static inline Reg swap_pairs(Reg v) { return {{v.lane[1], v.lane[0], v.lane[3], v.lane[2]}}; }
    static inline float sum(Reg v) { return (v.lane[0] + v.lane[2]) + (v.lane[1] + v.lane[3]); }
    // Running sums over the lanes: pairs, then each next power of two, whose upper half adds the last lane of the lower
    // half.
    static inline Reg running(Reg v) {
        const float low = v.lane[0] + v.lane[1], high = v.lane[2] + v.lane[3];
        return {{v.lane[0], low, low + v.lane[2], low + high}};
    }
    // Broadcasts the last lane.
    static inline Reg last(Reg v) { return broadcast(v.lane[3]); }
    static inline void transpose(Reg r[4]) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < i; j++) {
                const float t = r[i].lane[j];
                r[i].lane[j] = r[j].lane[i];
                r[j].lane[i] = t;
            }
        }
    }

    // For cpp/math; lanes.hpp says what each does. A mask is all bits of its lanes.
    struct Whole {
        uint32_t lane[4];
    };
    struct Mask {
        uint32_t lane[4];
    };
    static constexpr bool fused = false;
    static inline Reg load_part(const float *p, int n) {
        Reg v = zero();
        for (int i = 0; i < n; i++) v.lane[i] = p[i];
        return v;
    }
    static inline void store_part(float *p, Reg v, int n) {
        for (int i = 0; i < n; i++) p[i] = v.lane[i];
    }
    static inline Reg div(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] /= b.lane[i];
        return a;
    }
    static inline Reg sqrt(Reg v) {
        for (int i = 0; i < 4; i++) v.lane[i] = __builtin_sqrtf(v.lane[i]);
        return v;
    }
    static inline Reg min(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
    }
    static inline Reg max(Reg a, Reg b) {
        for (int i = 0; i < 4; i++) a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
        return a;
    }
    // Floats of 2^23 and more are integers, and adding 2^23 to a smaller magnitude rounds it to one.
    static inline Reg nearest(Reg v) {
        for (int i = 0; i < 4; i++) {
            const float magnitude = __builtin_fabsf(v.lane[i]);
            if (magnitude < 8388608.0f) v.lane[i] = __builtin_copysignf((magnitude + 8388608.0f) - 8388608.0f, v.lane[i]);
        }
        return v;
    }
    template <class F>
    static inline Mask each(Reg a, Reg b, F compare) {
        Mask m;
        for (int i = 0; i < 4; i++) m.lane[i] = compare(a.lane[i], b.lane[i]) ? 0xffffffffu : 0;
        return m;
    }
    static inline Mask less(Reg a, Reg b) {
        return each(a, b, [](float x, float y) { return x < y; });
    }
    static inline Mask less_equal(Reg a, Reg b) {
        return each(a, b, [](float x, float y) { return x <= y; });
    }
    static inline Mask equal(Reg a, Reg b) {
        return each(a, b, [](float x, float y) { return x == y; });
    }
    static inline Mask signs(Reg v) {
        Mask m;
        for (int i = 0; i < 4; i++) m.lane[i] = bits(v).lane[i] >> 31 ? 0xffffffffu : 0;
        return m;
    }
    static inline Mask both(Mask a, Mask b) {
        for (int i = 0; i < 4; i++) a.lane[i] &= b.lane[i];
        return a;
    }
    static inline Mask either(Mask a, Mask b) {
        for (int i = 0; i < 4; i++) a.lane[i] |= b.lane[i];
        return a;
    }
    static inline bool all(Mask m) { return (m.lane[0] & m.lane[1] & m.lane[2] & m.lane[3]) != 0; }
    static inline Reg select(Mask m, Reg yes, Reg no) {
        const Whole y = bits(yes), n = bits(no);
        Whole v;
        for (int i = 0; i < 4; i++) v.lane[i] = (y.lane[i] & m.lane[i]) | (n.lane[i] & ~m.lane[i]);
        return floats(v);
    }
    static inline Whole bits(Reg v) { return __builtin_bit_cast(Whole, v); }
    static inline Reg floats(Whole v) { return __builtin_bit_cast(Reg, v); }
    static inline Whole whole(int32_t x) {
        const auto u = static_cast<uint32_t>(x);
        return {{u, u, u, u}};
    }
    static inline Whole add(Whole a, Whole b) {
        for (int i = 0; i < 4; i++) a.lane[i] += b.lane[i];
        return a;
    }
    static inline Whole bit_and(Whole a, Whole b) {
        for (int i = 0; i < 4; i++) a.lane[i] &= b.lane[i];
        return a;
    }
    static inline Whole bit_or(Whole a, Whole b) {
        for (int i = 0; i < 4; i++) a.lane[i] |= b.lane[i];
        return a;
    }
    static inline Whole bit_xor(Whole a, Whole b) {
        for (int i = 0; i < 4; i++) a.lane[i] ^= b.lane[i];
        return a;
    }
    static inline Whole left(Whole v, int n) {
        for (int i = 0; i < 4; i++) v.lane[i] <<= n;
        return v;
    }
    static inline Whole right(Whole v, int n) {
        for (int i = 0; i < 4; i++) v.lane[i] >>= n;
        return v;
    }
};

}  // namespace tensorlib::core::simd::TL_ISA
