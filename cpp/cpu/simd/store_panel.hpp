#pragma once

#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

// Stores or adds m rows of n columns of a panel of sums, whose columns are `rows` apart. All micro-kernels share it:
// inlined, it was up to half of each one's machine code.
[[gnu::noinline]] inline void store_panel(const float *sums, int rows, int n, float *c, ptrdiff_t ldc, int m, bool accumulate) {
    for (int j = 0; j < n; j++, sums += rows, c += ldc) {
        if (accumulate) {
            for (int i = 0; i < m; i++) c[i] += sums[i];
        } else {
            for (int i = 0; i < m; i++) c[i] = sums[i];
        }
    }
}

}  // namespace tensorlib::core::simd::TL_ISA
