// Sixteen floats at a time, for encoding. Usually they are sixteen candidates for one unknown (a scale, an entry of a
// grid), so sums over elements are plain loops and need no sum across lanes.
//
// Every processor gives identical bits: lanes never meet, sums run over elements in order, and products are not fused
// with sums (formats.cpp and dtype.cpp are compiled with -ffp-contract=off). TL_VECTOR_BYTES is the width of the
// registers.
#pragma once

#include "dtype/format.hpp"

#include <math.h>

#if !defined(TL_VECTOR_BYTES)
#define TL_VECTOR_BYTES 16
#endif

// With sanitizers' checks, code that is inlined completely would take minutes to compile.
#if defined(__GNUC__) && !defined(TL_INSTRUMENTED)
#define TL_ENCODE_INLINE __attribute__((always_inline)) inline
#else
#define TL_ENCODE_INLINE inline
#endif

namespace TL_FORMATS::encoding {

constexpr int n_lanes = 16;

// A register: a vector of the compiler, or one float if it has none (nvcc sees these functions but compiles none of
// them).
#if defined(__GNUC__) && !defined(__CUDACC__)
typedef float Part __attribute__((vector_size(TL_VECTOR_BYTES)));
#else
using Part = float;
#endif
constexpr int n_parts = n_lanes * static_cast<int>(sizeof(float)) / static_cast<int>(sizeof(Part));

constexpr int part_lanes = n_lanes / n_parts;

struct Lanes {
    Part part[n_parts];
};

TL_ENCODE_INLINE Part load_part(const float *p) {
    Part r;
    std::memcpy(&r, p, sizeof r);
    return r;
}

TL_ENCODE_INLINE Lanes all(float value) {
    Lanes r;
    for (int j = 0; j < n_parts; j++) r.part[j] = value - Part{};
    return r;
}
// Part by part: compilers copy 64 bytes at once as pieces of 16 through memory, which stalls the wider loads after it.
TL_ENCODE_INLINE Lanes load(const float *p) {
    Lanes r;
    for (int j = 0; j < n_parts; j++) r.part[j] = load_part(p + j * part_lanes);
    return r;
}
TL_ENCODE_INLINE void store(float *p, const Lanes &a) {
    for (int j = 0; j < n_parts; j++) std::memcpy(p + j * part_lanes, &a.part[j], sizeof(Part));
}

TL_ENCODE_INLINE Lanes operator+(Lanes a, const Lanes &b) {
    for (int j = 0; j < n_parts; j++) a.part[j] = a.part[j] + b.part[j];
    return a;
}
TL_ENCODE_INLINE Lanes operator-(Lanes a, const Lanes &b) {
    for (int j = 0; j < n_parts; j++) a.part[j] = a.part[j] - b.part[j];
    return a;
}
TL_ENCODE_INLINE Lanes operator*(Lanes a, const Lanes &b) {
    for (int j = 0; j < n_parts; j++) a.part[j] = a.part[j] * b.part[j];
    return a;
}
TL_ENCODE_INLINE Lanes operator/(Lanes a, const Lanes &b) {
    for (int j = 0; j < n_parts; j++) a.part[j] = a.part[j] / b.part[j];
    return a;
}
TL_ENCODE_INLINE Lanes operator+(const Lanes &a, float b) { return a + all(b); }
TL_ENCODE_INLINE Lanes operator-(const Lanes &a, float b) { return a - all(b); }
TL_ENCODE_INLINE Lanes operator*(const Lanes &a, float b) { return a * all(b); }

// a < b ? x : y, lane by lane.
TL_ENCODE_INLINE Lanes where_less(const Lanes &a, const Lanes &b, Lanes x, const Lanes &y) {
    for (int j = 0; j < n_parts; j++) x.part[j] = a.part[j] < b.part[j] ? x.part[j] : y.part[j];
    return x;
}
TL_ENCODE_INLINE Lanes min(const Lanes &a, const Lanes &b) { return where_less(a, b, a, b); }
TL_ENCODE_INLINE Lanes max(const Lanes &a, const Lanes &b) { return where_less(b, a, a, b); }
TL_ENCODE_INLINE Lanes abs(const Lanes &a) { return max(a, all(0) - a); }

// Rounds to the nearest integer, ties to even, for |a| < 2^22: in 1.5 * 2^23 + a the last bit counts ones.
TL_ENCODE_INLINE Lanes round(const Lanes &a) { return (a + 12582912.0f) - 12582912.0f; }

// 0, 1, .. 15.
TL_ENCODE_INLINE Lanes lane_numbers() {
    static constexpr float numbers[n_lanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(numbers);
}

// The first lane with the smallest value.
inline int smallest(const Lanes &a) {
    float v[n_lanes];
    store(v, a);
    int best = 0;
    for (int j = 1; j < n_lanes; j++) best = v[j] < v[best] ? j : best;
    return best;
}
TL_ENCODE_INLINE float lane(const Lanes &a, int j) {
    float v[n_lanes];
    store(v, a);
    return v[j];
}
// The sum of all lanes, in order.
inline float sum(const Lanes &a) {
    float v[n_lanes], total = 0;
    store(v, a);
    for (int j = 0; j < n_lanes; j++) total += v[j];
    return total;
}

}  // namespace TL_FORMATS::encoding
