// cuBLASLt, where the machine has it: found by name at run time, so that neither the build nor the library needs its
// 540 MB. The few calls that are used are declared in cublaslt.cpp.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

class CudaDevice;

// c = a^T b for each of a batch of matrices in column order, F32. With our shapes: a {K, M}, b {K, N}, c {M, N}.
struct GemmF32 {
    std::int64_t M, N, K;
    std::int64_t a_stride, b_stride;              // elements from one column to the next; c's is M
    std::int64_t batch;                           // this many products
    std::int64_t a_batch_stride, b_batch_stride;  // elements; c's is M * N. 0: all share one matrix
    std::uint32_t a_alignment, b_alignment;       // bytes
    bool tf32;
    bool operator==(const GemmF32 &) const = default;
};

class CublasLt {
public:
    // TENSORLIB_CUBLASLT=off, at this time, keeps it from being used.
    explicit CublasLt(const CudaDevice &device);
    ~CublasLt();
    CublasLt(const CublasLt &) = delete;
    CublasLt &operator=(const CublasLt &) = delete;

    // How a product is computed: cuBLASLt's own description of one of its kernels.
    struct Algorithm {
        std::array<std::uint64_t, 8> data;
    };
    static constexpr std::size_t largest_workspace = std::size_t{32} << 20;

    // Why it can not be used, or nullptr. Opens it when first asked: the library whose path
    // TENSORLIB_CUBLASLT has, or the one that the system finds. A static text.
    const char *refuse() const noexcept;
    // The library's choice, with the workspace that it needs; false where it has none.
    bool choose(const GemmF32 &gemm, Algorithm &algorithm, std::size_t &workspace) const noexcept;
    // Puts the product into the stream; what choose() gave for the same gemm.
    cudaError_t run(const GemmF32 &gemm, const Algorithm &algorithm, const float *a, const float *b, float *c, void *workspace,
                    std::size_t workspace_size, cudaStream_t stream) const noexcept;

private:
    const CudaDevice &device_;
    mutable void *handle_ = nullptr;
    mutable const char *refusal_ = "not opened";
    mutable bool asked_ = false;
    // What choose() found last: a plan asks for one product several times in a row. Guarded by the backend's turn.
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
