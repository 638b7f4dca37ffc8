// The limits of one level: see limits.hpp. TL_LEVEL and TL_LEVEL_VEC are those of the level's leaf kernels.
#include "limits.hpp"

#include TL_LEVEL_VEC

namespace tensorlib::bench::TL_LEVEL {

namespace {

using Vec = core::leaf::TL_LEVEL::Vec;
constexpr int W = Vec::width;

// As many chains as the micro-kernel has accumulators: 24 or 12. Two multiply-adds a cycle with 4 cycles of latency need
// 8; where multiply and add are two instructions only the add is in the chain.
constexpr int chains = 2 * Vec::gemm_columns;

// Makes the compiler believe that v may have changed, so that it neither computes a product once for all chains nor
// moves it out of the loop. No instruction.
inline void opaque(Vec::Reg &v) {
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

void limits(Limits &all) { all = {int64_t{2} * chains * W, multiply_add, read<1>, read<4>}; }

}  // namespace tensorlib::bench::TL_LEVEL
