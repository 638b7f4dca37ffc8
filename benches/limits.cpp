// The limits of one ISA: see limits.hpp. TL_ISA and TL_ISA_VEC are those of the ISA's SIMD kernels.
#include "limits.hpp"

#include TL_ISA_VEC

namespace tensorlib::bench::TL_ISA {

namespace {

using Vec = core::simd::TL_ISA::Vec;
constexpr int W = Vec::width;

// As many chains as the micro-kernel has accumulators: 24 or 12. Two multiply-adds a cycle with 4 cycles of latency need
// 8; where multiply and add are two instructions only the add is in the chain.
constexpr int chains = 2 * Vec::gemm_columns;

// Makes the compiler believe that v may have changed, so that it neither computes a product once for all chains nor
// moves it out of the loop. No instruction.
template <class Reg>
inline void opaque(Reg &v) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));
#else
    asm volatile("" : "+m"(v));
#endif
}

void multiply_add(int64_t rounds, float *sink) {
    Vec::Reg acc[chains];
    // Every loop over acc is unrolled: an index that is not a constant would put the accumulators into memory.
#pragma GCC unroll 32
    for (int i = 0; i < chains; i++) acc[i] = Vec::broadcast(static_cast<float>(i));
    // Nothing grows, nothing becomes subnormal.
    Vec::Reg a = Vec::broadcast(0.5f), b = Vec::broadcast(0.25f);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 32
        for (int i = 0; i < chains; i++) {
            opaque(a);
            acc[i] = Vec::fma(a, b, acc[i]);
        }
    }
    Vec::Reg sum = Vec::zero();
#pragma GCC unroll 32
    for (int i = 0; i < chains; i++) sum = Vec::add(sum, acc[i]);
    *sink = Vec::sum(sum);
}

#if defined(TL_HAS_INTS)
using Ints = core::simd::TL_ISA::Ints;

void byte_dots(int64_t rounds, float *sink) {
    // Twelve chains: two dot products a cycle with 5 cycles of latency need 10.
    Ints::Reg acc[12];
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) acc[i] = Ints::broadcast(i);
    Ints::Reg codes = Ints::broadcast(0x01010101), words = Ints::broadcast(0x01010101);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) {
            opaque(codes);
            Ints::dot(acc[i], codes, words);
        }
    }
    Ints::Reg sum = Ints::broadcast(0);
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) sum = Ints::widened(acc[i], sum);
    *sink = Vec::sum(Ints::to_float(sum));
}
#endif

#if defined(TL_HAS_BF16_DOT)
void bf16_dots(int64_t rounds, float *sink) {
    // 16 or more chains are needed.
    Vec::Reg acc[24];
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++) acc[i] = Vec::zero();
    Vec::Reg a = Vec::zero(), b = Vec::zero();
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < 24; i++) {
            opaque(a);
            Vec::dot_bf16(acc[i], a, b);
        }
    }
    Vec::Reg sum = Vec::zero();
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++) sum = Vec::add(sum, acc[i]);
    *sink = Vec::sum(sum);
}
#endif

template <int S>
void read(int64_t n, const float *from, float *sink) {
    // A cache line or more per stream and step; two sums per stream, as one add per cycle would not do.
    constexpr int step = 4 * W;
    const int64_t part = n / S;
    Vec::Reg acc[S][2];
#pragma GCC unroll 4
    for (int s = 0; s < S; s++) acc[s][0] = acc[s][1] = Vec::zero();
    for (int64_t i = 0; i < part; i += step) {
#pragma GCC unroll 4
        for (int s = 0; s < S; s++) {
            const float *p = from + s * part + i;
            acc[s][0] = Vec::add(acc[s][0], Vec::add(Vec::load(p), Vec::load(p + W)));
            acc[s][1] = Vec::add(acc[s][1], Vec::add(Vec::load(p + 2 * W), Vec::load(p + 3 * W)));
        }
    }
    Vec::Reg sum = Vec::zero();
#pragma GCC unroll 4
    for (int s = 0; s < S; s++) sum = Vec::add(sum, Vec::add(acc[s][0], acc[s][1]));
    *sink = Vec::sum(sum);
}

}  // namespace

void limits(Limits &all) {
    all = {};
    all.flops_per_round = int64_t{2} * chains * W;
    all.multiply_add = multiply_add;
    all.read_1 = read<1>;
    all.read_4 = read<4>;
#if defined(TL_HAS_INTS)
    all.byte_ops_per_round = int64_t{2} * 12 * 4 * W;
    all.byte_dots = byte_dots;
#endif
#if defined(TL_HAS_BF16_DOT)
    all.bf16_flops_per_round = int64_t{2} * 24 * 2 * W;
    all.bf16_dots = bf16_dots;
#endif
}

}  // namespace tensorlib::bench::TL_ISA
