// 4 floats in plain C++, for processors without a file of their own here; compilers turn the loops into what vectors
// there are.
#pragma once

namespace tensorlib::core::leaf::TL_LEVEL {

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
    static inline Reg fma(Reg a, Reg b, Reg c) {
        for (int i = 0; i < 4; i++) c.lane[i] += a.lane[i] * b.lane[i];
        return c;
    }
    static inline float sum(Reg v) { return (v.lane[0] + v.lane[2]) + (v.lane[1] + v.lane[3]); }
    static inline void transpose(Reg r[4]) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < i; j++) {
                const float t = r[i].lane[j];
                r[i].lane[j] = r[j].lane[i];
                r[j].lane[i] = t;
            }
        }
    }
};

}  // namespace tensorlib::core::leaf::TL_LEVEL
