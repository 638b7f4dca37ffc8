// A row of CUDA's kernel table: what every kernel says of itself, and how it is launched.
#pragma once

#include "runtime/kernel.hpp"

#include <cuda_runtime_api.h>
#include <span>

namespace tensorlib::core {

class CudaBackend;

// Where a step's work is put.
struct CudaStream {
    cudaStream_t stream;
    const CudaBackend &backend;
};

struct CudaKernel : Kernel {
    // Puts the step's work into the stream; returns the first error of a launch.
    cudaError_t (*launch)(const Step &step, const CudaStream &stream) noexcept;
};

// The table of kernels, a family of operations per part, in cuda/kernels/; for each operation in order of preference,
// the last one taking every legal input.
namespace cuda_kernels {
extern const std::span<const CudaKernel> arange, attention, axpy, convolution, copies, counts, gather, layout, losses, mul_mat, mul_mat_id,
    norms, optimisers, ordering, outer_products, outer_products_by_expert, pooling, random, rope, rows, scatter, sparse, sparse_blocks,
    sums, tiles, windows;
}

}  // namespace tensorlib::core
