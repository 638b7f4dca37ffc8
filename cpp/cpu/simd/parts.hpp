// Sums of floats in an order that depends only on their positions, so that every ISA gives identical bits.
//
//   part 0 | part 1 | .. | part 31     32 floats a step, each added to its part; 32 / W registers, a chain each
//
// A step of 128 bytes waits 4 cycles for the previous one, which is 100 GB/s at 3 GHz, so memory limits it. At the end
// of a block of 1024 floats, the parts are added pairwise, so a float goes through 36 additions. Blocks are added in
// F64, where nothing is lost.
#pragma once

#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

// The last floats of a row, followed by `fill`.
inline Vec::Reg load_rest(const float *p, int n, float fill) {
    float rest[Vec::width];
    Vec::store(rest, Vec::broadcast(fill));
    Vec::store_part(rest, Vec::load_part(p, n), n);
    return Vec::load(rest);
}

// The sum of at most sum_block floats. made(i, left) returns a register of them starting with the i-th; if fewer than a
// register's worth remain, `left` of them followed by zeros. No part is ever -0, so zeros do not change one.
template <class Make>
[[gnu::always_inline]] inline float sum_of_block(int64_t begin, int64_t end, Make made) {
    constexpr int W = Vec::width, registers = sum_parts / W;
    static_assert(sum_parts % W == 0 && sum_block % sum_parts == 0);
    Vec::Reg parts[registers];
#pragma GCC unroll 8
    for (int r = 0; r < registers; r++) parts[r] = Vec::zero();
    int64_t i = begin;
    for (; i + sum_parts <= end; i += sum_parts) {
#pragma GCC unroll 8
        for (int r = 0; r < registers; r++) parts[r] = Vec::add(parts[r], made(i + r * W, W));
    }
    for (int r = 0; i < end; r++, i += W) {
        const Vec::Reg last = made(i, end - i < W ? static_cast<int>(end - i) : W);
        // With constant indices, because otherwise the parts would be in memory.
#pragma GCC unroll 8
        for (int s = 0; s < registers; s++) {
            if (s == r) parts[s] = Vec::add(parts[s], last);
        }
    }
#pragma GCC unroll 3
    for (int half = registers / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (int r = 0; r < half; r++) parts[r] = Vec::add(parts[r], parts[r + half]);
    }
    return Vec::sum(parts[0]);
}

template <class Make>
[[gnu::always_inline]] inline double sum_of(int64_t n, Make made) {
    double blocks = 0;
    for (int64_t begin = 0; begin < n; begin += sum_block)
        blocks += static_cast<double>(sum_of_block(begin, n - begin < sum_block ? n : begin + sum_block, made));
    return blocks;
}

}  // namespace tensorlib::core::simd::TL_ISA
