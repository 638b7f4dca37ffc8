#include "cuda/cuda_device.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "cuda/cuda_backend.hpp"

namespace tensorlib::core {

namespace {

#if defined(TENSORLIB_SIMT)
constexpr bool simulated = true;
#else
constexpr bool simulated = false;
#endif

std::string architecture_of(const cudaDeviceProp &props) {
    return simulated ? "simt" : "sm_" + std::to_string(props.major) + std::to_string(props.minor);
}

// Whether an error concerned only one call: after a sticky error, every later call fails.
bool answers_again() noexcept {
    std::size_t free, total;
    return cudaMemGetInfo(&free, &total) == cudaSuccess;
}

}  // namespace

CudaDevice::CudaDevice(int index, int physical, const cudaDeviceProp &props)
    : name_("cuda:" + std::to_string(index)),
      description_(props.name),
      architecture_(architecture_of(props)),
      physical_(physical),
      capability_(props.major * 10 + props.minor),
      memory_total_(props.totalGlobalMem),
      owner_process_(platform::process_id()),
      memory_(*this) {}

DeviceProps CudaDevice::props() const {
    DeviceProps props;
    props.description = description_;
    props.memory_total = memory_total_;
    props.capability = capability_;
    props.simulated = simulated;
    // A failed device reports nothing about its memory: 0 = unknown.
    if (failed_.load(std::memory_order_acquire) || !reachable()) return props;
    const Scope scope(*this);
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
        props.memory_free = free;
    } else {
        cudaGetLastError();
    }
    return props;
}

Ref<Backend> CudaDevice::open(const BackendParams &params) const { return Ref<Backend>::adopt(new CudaBackend(*this, params)); }

bool CudaDevice::reachable() const noexcept { return owner_process_ == platform::process_id(); }

void CudaDevice::check_usable(const char *what) const {
    if (!reachable()) {
        fail(Status::unavailable, "%s: %s was opened before fork(), and CUDA does not reach a forked child: start a new program", what,
             name());
    }
    if (!failed_.load(std::memory_order_acquire)) return;
    std::lock_guard lock(failure_lock_);
    fail(Status::device, "%s: %s has failed and can not be used by this process any more: %s", what, name(), failure_.c_str());
}

void CudaDevice::check(cudaError_t status, const char *what) const {
    if (status == cudaSuccess) return;
    const std::string reason = cudaGetErrorString(status);
    cudaGetLastError();
    if (status == cudaErrorMemoryAllocation) fail(Status::out_of_memory, "%s: %s has not enough memory left", what, name());
    if (!answers_again()) {
        cudaGetLastError();
        std::lock_guard lock(failure_lock_);
        if (!failed_.load(std::memory_order_relaxed)) failure_ = std::string(what) + ": " + reason;
        failed_.store(true, std::memory_order_release);
    }
    fail(Status::device, "%s: %s: %s (%s)", what, name(), reason.c_str(), cudaGetErrorName(status));
}

CudaDevice::Scope::Scope(const CudaDevice &device) noexcept {
    int current;
    if (!device.reachable()) return;
    if (cudaGetDevice(&current) != cudaSuccess || current == device.physical_) return;
    if (cudaSetDevice(device.physical_) == cudaSuccess) before_ = current;
}

CudaDevice::Scope::~Scope() {
    if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace tensorlib::core
