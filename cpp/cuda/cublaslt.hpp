// cuBLASLt, if the machine has it. It is found by name at run time, so neither the build nor the library needs its 540
// MB. cublaslt_calls.hpp declares the few calls that are used.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

class CudaDevice;

// c = a^T b for each matrix of a batch, in column order, F32. In our shapes: a {K, M}, b {K, N}, c {M, N}.
struct GemmF32 {
    std::int64_t M, N, K;
    std::int64_t a_stride, b_stride;              // elements from one column to the next; c's is M
    std::int64_t batch;                           // the number of products
    std::int64_t a_batch_stride, b_batch_stride;  // elements; c's is M * N. 0: all share one matrix
    std::uint32_t a_alignment, b_alignment;       // bytes
    bool tf32;
    bool operator==(const GemmF32 &) const = default;
};

class CublasLt {
public:
    // TENSORLIB_CUBLASLT=off, at the time of this call, disables it.
    explicit CublasLt(const CudaDevice &device);
    ~CublasLt();
    CublasLt(const CublasLt &) = delete;
    CublasLt &operator=(const CublasLt &) = delete;

    // How a product is computed: cuBLASLt's own description of one of its kernels.
    struct Algorithm {
        std::array<std::uint64_t, 8> data;
    };
    static constexpr std::size_t largest_workspace = std::size_t{32} << 20;

    // Why it cannot be used, or nullptr; a static text. The first call opens the library whose path TENSORLIB_CUBLASLT
    // has, or the one that the system finds.
    const char *refuse() const noexcept;
    // The library's choice, and the workspace that it needs; false if it has none.
    bool choose(const GemmF32 &gemm, Algorithm &algorithm, std::size_t &workspace) const noexcept;
    // Enqueues the product, with what choose() returned for this gemm.
    cudaError_t run(const GemmF32 &gemm, const Algorithm &algorithm, const float *a, const float *b, float *c, void *workspace,
                    std::size_t workspace_size, cudaStream_t stream) const noexcept;

private:
    const CudaDevice &device_;
    mutable void *handle_ = nullptr;
    mutable const char *refusal_ = "not opened";
    mutable bool asked_ = false;
    // The last result of choose(): a plan asks for one product several times in a row. Guarded by the backend's turn.
    struct Choice {
        GemmF32 gemm{};
        Algorithm algorithm{};
        std::size_t workspace = 0;
        bool there = false, found = false;
    };
    mutable Choice last_;
    bool ask(const GemmF32 &gemm, Algorithm &algorithm, std::size_t &workspace) const noexcept;
};

}  // namespace tensorlib::core
