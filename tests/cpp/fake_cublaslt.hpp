// A library with cuBLASLt's calls for tests. It checks the calls and hands products to the program that loads
// it.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeProduct {
    std::int64_t M, N, K, a_stride, b_stride, c_stride, batch, a_batch_stride, b_batch_stride, c_batch_stride;
    bool tf32;
    const float *a, *b;
    float *c;
    void *workspace, *stream;
};

// What fake_cublaslt_connect() takes: puts the product into its stream; 0 = done.
using FakeMultiply = int (*)(const FakeProduct &);

// What the fake counts.
struct FakeCounts {
    int handles, descriptions, matmuls, heuristics;
};
