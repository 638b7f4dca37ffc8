// Extracts all codes of a block as fast as possible.
#pragma once

#include "dtype/formats.hpp"

namespace tensorlib::core::simd::TL_ISA {

// Inlined with everything that it calls: out of line, GCC 12 takes 3 times as long for some types.
template <class Format>
__attribute__((always_inline, flatten)) inline void codes_of(const typename Format::Block &block, uint8_t *codes) {
    constexpr int runs = static_cast<int>(Format::block_size) / run_length;
#pragma GCC unroll 32
    for (int run = 0; run < runs; run++) {
        // A separate array, as in decode_block().
        uint8_t of_run[run_length];
        Format::codes_run(block, run, of_run);
        __builtin_memcpy(codes + run * run_length, of_run, run_length);
    }
}

}  // namespace tensorlib::core::simd::TL_ISA
