// Declares the used part of cuBLASLt's interface, because its header comes with 400 MB. Written from its reference
// manual, and identical in versions 12 and 13. tests/cpp/cuda_cublaslt_test.cpp compares it with cublasLt.h if the
// toolkit has that.
#pragma once

#include "cuda/cublaslt.hpp"

namespace tensorlib::core::lt {

constexpr int success = 0;
constexpr int data_r_32f = 0;
constexpr int op_t = 1;
constexpr int compute_32f = 68, compute_32f_fast_tf32 = 77;
constexpr int desc_transa = 3;
constexpr int layout_batch_count = 5, layout_strided_batch_offset = 6;
constexpr int pref_max_workspace_bytes = 1, pref_min_alignment_a_bytes = 5;  // followed by b, c, d
constexpr std::size_t oldest_version = 120000, first_unknown_version = 140000;

struct Heuristic {
    CublasLt::Algorithm algorithm;
    std::size_t workspace_size;
    int state;
    float waves;
    int reserved[4];
};

// All handles are pointers to the library's own structures.
struct Calls {
    std::size_t (*GetVersion)();
    int (*Create)(void **);
    int (*Destroy)(void *);
    int (*MatmulDescCreate)(void **, int compute, int scale_type);
    int (*MatmulDescDestroy)(void *);
    int (*MatmulDescSetAttribute)(void *, int attribute, const void *value, std::size_t size);
    int (*MatrixLayoutCreate)(void **, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride);
    int (*MatrixLayoutDestroy)(void *);
    int (*MatrixLayoutSetAttribute)(void *, int attribute, const void *value, std::size_t size);
    int (*MatmulPreferenceCreate)(void **);
    int (*MatmulPreferenceDestroy)(void *);
    int (*MatmulPreferenceSetAttribute)(void *, int attribute, const void *value, std::size_t size);
    int (*MatmulAlgoGetHeuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, Heuristic *,
                                  int *found);
    int (*Matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                  const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const CublasLt::Algorithm *, void *workspace,
                  std::size_t workspace_size, cudaStream_t stream);
};

}  // namespace tensorlib::core::lt
