// An opened CUDA device, with its own stream on which graphs are computed.
#pragma once

#include "cuda/cublaslt.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/cuda_kernel.hpp"
#include "runtime/backend.hpp"

namespace tensorlib::core {

class CudaBackend final : public Backend {
public:
    // Throws Error(invalid_argument), Error(unavailable) or Error(device): see tl_backend_create().
    CudaBackend(const CudaDevice &device, const BackendParams &params);

    const CudaDevice &cuda_device() const noexcept { return device_; }
    // One thread does the host's part; the device has its own threads.
    int n_threads() const noexcept override { return 1; }
    const char *isa() const noexcept override { return device_.architecture(); }
    bool allow_tf32() const noexcept { return allow_tf32_; }
    // cuBLASLt, which is opened on first use. Call with the backend's turn held, as planning does.
    const CublasLt &cublaslt() const noexcept { return cublaslt_; }

    void check_usable(const char *caller) const override;
    bool returns_before_done() const noexcept override { return true; }
    void begin() override;
    void execute(const Step &step) override;
    void execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) override;
    void finish() override;
    void drain() noexcept override;

private:
    Choice choose_kernel(const Problem &problem) const noexcept override;
    std::string kernels_refusals(const Problem &problem, const Kernel *chosen) const override;
    ~CudaBackend() override;

    void exchange(const Step &step);
    cudaError_t record(std::span<const Step> steps, cudaGraphExec_t &graph);

    const CudaDevice &device_;
    const bool allow_tf32_;
    // TENSORLIB_CUDA_DEBUG=1 waits for each operation, so that an error names the operation that caused it.
    const bool debug_;
    cudaStream_t stream_ = nullptr;
    CublasLt cublaslt_;
};

}  // namespace tensorlib::core
