// Sums, products, quotients and square roots that are each rounded (IEEE 754) and never fused, which gives identical
// bits everywhere. On CPUs, -ffp-contract=off ensures it (cpp/CMakeLists.txt), in nvcc these intrinsics.
#pragma once

#include "math/lanes.hpp"

namespace TL_MATH {

#if defined(__CUDA_ARCH__)
TL_MATH_INLINE float plus(float a, float b) { return __fadd_rn(a, b); }
TL_MATH_INLINE float times(float a, float b) { return __fmul_rn(a, b); }
TL_MATH_INLINE float over(float a, float b) { return __fdiv_rn(a, b); }
TL_MATH_INLINE double plus(double a, double b) { return __dadd_rn(a, b); }
TL_MATH_INLINE double times(double a, double b) { return __dmul_rn(a, b); }
TL_MATH_INLINE double over(double a, double b) { return __ddiv_rn(a, b); }
TL_MATH_INLINE float root(float a) { return __fsqrt_rn(a); }
TL_MATH_INLINE double root(double a) { return __dsqrt_rn(a); }
#else
TL_MATH_INLINE float plus(float a, float b) { return a + b; }
TL_MATH_INLINE float times(float a, float b) { return a * b; }
TL_MATH_INLINE float over(float a, float b) { return a / b; }
TL_MATH_INLINE double plus(double a, double b) { return a + b; }
TL_MATH_INLINE double times(double a, double b) { return a * b; }
TL_MATH_INLINE double over(double a, double b) { return a / b; }
TL_MATH_INLINE float root(float a) { return __builtin_sqrtf(a); }
TL_MATH_INLINE double root(double a) { return __builtin_sqrt(a); }
#endif

}  // namespace TL_MATH
