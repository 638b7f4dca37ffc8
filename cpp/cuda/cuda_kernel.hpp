// A row of CUDA's kernel table: how every kernel describes itself, and how it is launched.
#pragma once

#include "runtime/kernel.hpp"

#include <cuda_runtime_api.h>
#include <span>

namespace tensorlib::core {

class CudaBackend;

// Where a step's work is enqueued.
struct CudaStream {
    cudaStream_t stream;
    const CudaBackend &backend;
};

struct CudaKernel : Kernel {
    // Enqueues the step's work, and returns the first error of a launch. Null for nodes of groups (CudaBackend::exchange).
    cudaError_t (*launch)(const Step &step, const CudaStream &stream) noexcept;
};

// The table of kernels, a family of operations per part, in cuda/kernels/. Kernels of an operation are in order of
// preference; the last one takes every legal input.
namespace cuda_kernels {
extern const std::span<const CudaKernel> arange, attention, axpy, collectives, convolution, copies, counts, gather, layout, losses, mul_mat,
    mul_mat_id, norms, numbers, optimisers, ordering, outer_products, outer_products_by_expert, pooling, random, recurrent, rope, rows,
    scatter, solve, sparse, sparse_blocks, reductions, running_sums, tiles, windows;
}

}  // namespace tensorlib::core
