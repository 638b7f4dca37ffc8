#include "api/devices.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/text.hpp"
#include "cpu/cpu_backend.hpp"
#if defined(TENSORLIB_CUDA)
#include "cuda/cuda_devices.hpp"
#endif

#include <string>

namespace tensorlib::core {

namespace {

#if !defined(TENSORLIB_CUDA)
std::string cuda_absence() { return "this build has no CUDA"; }
#endif

Ref<Backend> open(const Device &device, const BackendParams &params) {
    Ref<Backend> backend = device.open(params);
    backend->start_trace(platform::environment("TENSORLIB_TRACE"));
    return backend;
}

}  // namespace

#if defined(TENSORLIB_CUDA)
std::size_t device_count() noexcept { return 1 + cuda_devices().size(); }
const Device &device_at(std::size_t index) noexcept { return index == 0 ? cpu_device() : *cuda_devices()[index - 1]; }
#else
std::size_t device_count() noexcept { return 1; }
const Device &device_at(std::size_t) noexcept { return cpu_device(); }
#endif

Ref<Backend> open_backend(const char *device, const BackendParams &params) {
    // Before the list is asked for: whoever wants the CPU does not start a driver.
    if (equal_ignoring_case("cpu", device)) return open(cpu_device(), params);
    std::string known;
    for (std::size_t i = 0; i < device_count(); i++) {
        if (equal_ignoring_case(device_at(i).name(), device)) return open(device_at(i), params);
        known += (i ? ", " : "") + std::string(device_at(i).name());
    }
    if (starts_with_ignoring_case(device, "cuda:")) {
        const std::string absence = cuda_absence();
        fail(Status::unavailable, "backend_create: no device '%.64s': %s%sthere are: %s", device, absence.c_str(),
             absence.empty() ? "" : "; ", known.c_str());
    }
    fail(Status::invalid_argument, "backend_create: no device '%.64s': there are: %s", device, known.c_str());
}

}  // namespace tensorlib::core
