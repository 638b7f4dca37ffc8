// The limits of every kernel of an ISA: multiply-adds and reading, each alone. Compiled once per ISA from the vectors that the
// kernels use.
#pragma once

#include <stdint.h>

namespace tensorlib::bench {

struct Limits {
    // Independent chains of multiply-adds in registers; one round is this many floating-point operations.
    int64_t flops_per_round;
    void (*multiply_add)(int64_t rounds, float *sink);
    // As above for dot products of bytes (sums of 32 bits, or of 16 before they are widened), and of pairs of BF16; null where
    // the ISA has none.
    int64_t byte_ops_per_round, bf16_flops_per_round;
    void (*byte_dots)(int64_t rounds, float *sink);
    void (*bf16_dots)(int64_t rounds, float *sink);
    // Reads n floats (a multiple of 1,024) straight through: as one stream, or as four side by side, as the dot tile
    // reads its rows.
    void (*read_1)(int64_t n, const float *from, float *sink);
    void (*read_4)(int64_t n, const float *from, float *sink);
};

}  // namespace tensorlib::bench
