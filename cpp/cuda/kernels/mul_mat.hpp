// mul_mat's kernels, in a file each; mul_mat.cu has the table.
#pragma once

#include "cuda/cuda_kernel.hpp"

namespace tensorlib::core::mul_mat {

const char *refuse_vec(const Problem &problem) noexcept;
cudaError_t launch_vec(const Step &step, const CudaStream &stream) noexcept;
const char *plan_cublaslt(const Problem &problem, KernelPlan &plan) noexcept;
cudaError_t launch_cublaslt(const Step &step, const CudaStream &stream) noexcept;
const char *refuse_blocks(const Problem &problem) noexcept;
cudaError_t launch_blocks(const Step &step, const CudaStream &stream) noexcept;
const char *refuse_tiled(const Problem &problem) noexcept;
cudaError_t launch_tiled(const Step &step, const CudaStream &stream) noexcept;
const char *refuse_any(const Problem &problem) noexcept;
cudaError_t launch_any(const Step &step, const CudaStream &stream) noexcept;

}  // namespace tensorlib::core::mul_mat
