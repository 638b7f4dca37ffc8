// The inner loops of one instruction-set level. The same sources in this folder are compiled once per level, each time
// into a namespace of its own; a level's fill function enters its kernels here. Which level a backend uses is chosen
// once, when it is opened (cpu/dispatch).
//
// Leaf code uses no standard-library templates and nothing inline from other folders: such functions have one
// definition per program, and the linker might keep the one compiled for a processor that this is not.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tensorlib::core::leaf {

constexpr int max_gemm_columns = 16;
constexpr int max_dot_rows = 4;
constexpr int max_dot_columns = 4;
constexpr int max_formats = 64;

struct LeafTable {
    // Packed product of a panel of gemm_rows rows and one of n columns (n <= gemm_columns), one kernel per n:
    // C[m, n] (+)= sum over k of A[k][gemm_rows] * B[k][n]. C is column-major with `ldc` floats per column; m of the
    // panel's rows are stored.
    int gemm_rows;
    int gemm_columns;
    using GemmF32 = void (*)(int64_t k, const float *a, const float *b, float *c, ptrdiff_t ldc, int m, bool accumulate);
    GemmF32 gemm_f32[max_gemm_columns];

    // k elements of `rows` rows into a panel [k][width], padded with zeros to the panel's width. Strides in bytes.
    using PackF32 = void (*)(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel);
    PackF32 pack_f32;

    // Dot products of rows of a and rows of b, contiguous in k: C[i + j * ldc] = a_i . b_j, one kernel per tile of
    // rows x columns. Row strides in bytes.
    int dot_rows;
    int dot_columns;
    using DotF32 = void (*)(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc);
    DotF32 dot_f32[max_dot_rows][max_dot_columns];

    // dst[i] = a[i] + b[i], and with one b for all.
    void (*add_f32)(int64_t n, const float *a, const float *b, float *dst);
    void (*add_scalar_f32)(int64_t n, const float *a, float b, float *dst);

    // The storage formats, in the order of dtype_list.inc. decode: n elements, whole blocks. encode:
    // as DTypeTraits::encode, which gives the same bytes.
    struct FormatLoops {
        void (*decode)(const void *blocks, float *values, int64_t n);
        int64_t (*encode)(const float *values, const float *weights, void *blocks, int64_t n);
    };
    FormatLoops formats[max_formats];
};

}  // namespace tensorlib::core::leaf
