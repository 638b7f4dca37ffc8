// A CUDA device: its properties, its memory, its failures.
#pragma once

#include "cuda/cuda_memory.hpp"
#include "runtime/backend.hpp"

#include <cuda_runtime_api.h>
#include <atomic>
#include <mutex>
#include <string>

namespace tensorlib::core {

class CudaDevice final : public Device {
public:
    // `index` names it; `physical` is the driver's number. Several names may share one GPU.
    CudaDevice(int index, int physical, const cudaDeviceProp &props);

    const char *name() const noexcept override { return name_.c_str(); }
    DeviceProps props() const override;
    DeviceMemory &memory() const noexcept override { return memory_; }
    Ref<Backend> open(const BackendParams &params) const override;

    CudaMemory &cuda_memory() const noexcept { return memory_; }
    // "sm_90", or "simt" for the simulated GPU.
    const char *architecture() const noexcept { return architecture_.c_str(); }

    // Throws Error(unavailable) in a forked child, which CUDA does not support, and Error(device) once a failure has
    // made the device unusable for this process.
    void check_usable(const char *what) const;

    // Throws if status is an error. Out of memory, and errors of one call, leave the device usable; any other error
    // makes check_usable() throw from now on. Call it in a Scope.
    void check(cudaError_t status, const char *what) const;

    // False in a forked child, which must leave even freeing to its parent.
    bool reachable() const noexcept;

    // Makes the device the calling thread's current one, and restores the previous one when it ends.
    class Scope {
    public:
        explicit Scope(const CudaDevice &device) noexcept;
        ~Scope();
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;

    private:
        int before_ = -1;
    };

private:
    const std::string name_, description_, architecture_;
    const int physical_;
    const std::int32_t capability_;
    const std::uint64_t memory_total_;
    const std::int64_t owner_process_;
    mutable CudaMemory memory_;

    mutable std::atomic<bool> failed_{false};
    mutable std::mutex failure_lock_;
    mutable std::string failure_;
};

}  // namespace tensorlib::core
