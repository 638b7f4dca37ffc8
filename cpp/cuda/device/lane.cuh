// One lane's floats for cpp/math: the formulas that the CPU runs over vectors. Each operation is rounded as on the CPU,
// so results have the bits of ISAs with fused multiply-adds. It uses intrinsics that fix the rounding, because the
// compiler would otherwise fuse operations.
#pragma once

#include "math/lanes.hpp"

#include <cuda_runtime.h>
#include <cstdint>

namespace tensorlib::core::device {

struct Lane {
    using Reg = float;
    using Whole = std::uint32_t;
    using Mask = bool;
    static constexpr int width = 1;
    static constexpr bool fused = true;

    __device__ static float broadcast(float x) { return x; }
    __device__ static float load(const float *p) { return *p; }
    __device__ static void store(float *p, float v) { *p = v; }
#if defined(TENSORLIB_SIMT)
    // The host's compiler is told not to fuse operations.
    __device__ static float add(float a, float b) { return a + b; }
    __device__ static float sub(float a, float b) { return a - b; }
    __device__ static float mul(float a, float b) { return a * b; }
    __device__ static float div(float a, float b) { return a / b; }
    __device__ static float sqrt(float v) { return __builtin_sqrtf(v); }
    __device__ static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
    __device__ static float nearest(float v) { return __builtin_rintf(v); }
#else
    __device__ static float add(float a, float b) { return __fadd_rn(a, b); }
    __device__ static float sub(float a, float b) { return __fsub_rn(a, b); }
    __device__ static float mul(float a, float b) { return __fmul_rn(a, b); }
    __device__ static float div(float a, float b) { return __fdiv_rn(a, b); }
    __device__ static float sqrt(float v) { return __fsqrt_rn(v); }
    __device__ static float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
    __device__ static float nearest(float v) { return rintf(v); }
#endif
    __device__ static float min(float a, float b) { return a < b ? a : b; }
    __device__ static float max(float a, float b) { return a > b ? a : b; }
    __device__ static bool less(float a, float b) { return a < b; }
    __device__ static bool less_equal(float a, float b) { return a <= b; }
    __device__ static bool equal(float a, float b) { return a == b; }
    __device__ static bool signs(float v) { return bits(v) >> 31 != 0; }
    __device__ static bool both(bool a, bool b) { return a && b; }
    __device__ static bool either(bool a, bool b) { return a || b; }
    __device__ static bool all(bool m) { return m; }
    __device__ static float select(bool m, float yes, float no) { return m ? yes : no; }
    __device__ static Whole bits(float v) { return __builtin_bit_cast(Whole, v); }
    __device__ static float floats(Whole v) { return __builtin_bit_cast(float, v); }
    __device__ static Whole whole(std::int32_t x) { return static_cast<Whole>(x); }
    __device__ static Whole add(Whole a, Whole b) { return a + b; }
    __device__ static Whole bit_and(Whole a, Whole b) { return a & b; }
    __device__ static Whole bit_or(Whole a, Whole b) { return a | b; }
    __device__ static Whole bit_xor(Whole a, Whole b) { return a ^ b; }
    __device__ static Whole left(Whole v, int n) { return v << n; }
    __device__ static Whole right(Whole v, int n) { return v >> n; }
};

}  // namespace tensorlib::core::device
