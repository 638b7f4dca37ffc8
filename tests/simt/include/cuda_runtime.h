// The header that .cu files include: the runtime's calls and CUDA's built-ins as host C++. Kernel files are compiled
// with -fsanitize=thread (see kernel_options.cmake), so that each of their memory accesses reaches the simulator.
#pragma once

#include "cuda_runtime_api.h"
#include "simt/device.hpp"
#include "simt/launch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __host__
// A tag of its own in the symbol's name. Otherwise an inline function that a kernel file shares with host files would
// be one symbol, and the linker might keep the host's copy, whose accesses nobody sees.
#define __device__ __attribute__((abi_tag("simt")))
#define __constant__ const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// Static shared memory cannot be had: as a static variable it would outlive the block and be outside of the checks,
// as a local one each thread would have its own. Kernels take all of it dynamically, from simt::shared_memory().
#define __shared__ static_assert(false, "use dynamic shared memory: the simulated GPU has no __shared__ variables");

#define threadIdx (::simt::thread_index())
#define blockIdx (::simt::block_index())
#define blockDim (::simt::block_dimensions())
#define gridDim (::simt::grid_dimensions())
inline constexpr int warpSize = 32;

inline void __syncthreads(std::source_location where = std::source_location::current()) { ::simt::block_barrier(where); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { ::simt::warp_barrier(mask); }
// Blocks run one after another, and threads in turns: there is nothing to order.
inline void __threadfence() {}
inline void __threadfence_block() {}

namespace simt {

template <class T>
T shuffle_value(Shuffle kind, unsigned mask, T value, int operand, int width) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles 32 and 64 bits");
    if constexpr (sizeof(T) == 4) {
        return std::bit_cast<T>(static_cast<std::uint32_t>(shuffle(kind, mask, std::bit_cast<std::uint32_t>(value), operand, width)));
    } else {
        return std::bit_cast<T>(shuffle(kind, mask, std::bit_cast<std::uint64_t>(value), operand, width));
    }
}

}  // namespace simt

#define SIMT_SHUFFLES(T)                                                                                  \
    inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {                              \
        return ::simt::shuffle_value(::simt::Shuffle::index, mask, value, lane, width);                   \
    }                                                                                                     \
    inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {                     \
        return ::simt::shuffle_value(::simt::Shuffle::up, mask, value, static_cast<int>(delta), width);   \
    }                                                                                                     \
    inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {                   \
        return ::simt::shuffle_value(::simt::Shuffle::down, mask, value, static_cast<int>(delta), width); \
    }                                                                                                     \
    inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {                     \
        return ::simt::shuffle_value(::simt::Shuffle::exclusive_or, mask, value, lane_mask, width);       \
    }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)
#undef SIMT_SHUFFLES

inline unsigned __ballot_sync(unsigned mask, int predicate) { return ::simt::ballot(mask, predicate != 0); }
inline int __any_sync(unsigned mask, int predicate) { return ::simt::ballot(mask, predicate != 0) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return ::simt::ballot(mask, predicate == 0) == 0; }

inline int atomicAdd(int *p, int value) { return ::simt::atomic_add(p, value); }
inline unsigned atomicAdd(unsigned *p, unsigned value) { return ::simt::atomic_add(p, value); }
inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long value) { return ::simt::atomic_add(p, value); }
inline float atomicAdd(float *p, float value) { return ::simt::atomic_add(p, value); }
inline unsigned long long atomicMin(unsigned long long *p, unsigned long long value) { return ::simt::atomic_min(p, value); }

template <class T>
__attribute__((always_inline)) inline T __ldg(const T *p) {
    return *p;
}

inline std::uint32_t __float_as_uint(float x) { return std::bit_cast<std::uint32_t>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(std::uint32_t x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
// Saturating, NaN to 0, halves to even: what the instruction does, where C++ leaves it undefined.
inline int __float2int_rn(float x) {
    if (!(x == x)) return 0;
    if (x >= 2147483648.0f) return 2147483647;
    if (x <= -2147483648.0f) return -2147483647 - 1;
    return static_cast<int>(std::nearbyint(x));
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

// Four signed bytes of a times four of b, summed onto c; wraps around.
inline int __dp4a(int a, int b, int c) {
    unsigned sum = static_cast<unsigned>(c);
    for (int i = 0; i < 4; i++) {
        const int x = static_cast<signed char>(static_cast<unsigned>(a) >> (8 * i));
        const int y = static_cast<signed char>(static_cast<unsigned>(b) >> (8 * i));
        sum += static_cast<unsigned>(x * y);
    }
    return static_cast<int>(sum);
}

#define SIMT_MIN_MAX(T)                                 \
    constexpr T min(T a, T b) { return b < a ? b : a; } \
    constexpr T max(T a, T b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
// As in CUDA, and unlike a comparison, the other operand where one is NaN.
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
