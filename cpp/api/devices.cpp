#include "api/devices.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/text.hpp"
#include "cpu/cpu_backend.hpp"
#include "runtime/joined_backend.hpp"
#if defined(TENSORLIB_CUDA)
#include "cuda/cuda_devices.hpp"
#endif

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib::core {

namespace {

#if !defined(TENSORLIB_CUDA)
std::string cuda_absence() { return "this build has no CUDA"; }
std::span<const Device *const> cuda_devices() noexcept { return {}; }
#endif

Ref<Backend> open(const Device &device, const BackendParams &params) {
    Ref<Backend> backend = device.open(params);
    backend->start_trace(platform::environment("TENSORLIB_TRACE"));
    return backend;
}

}  // namespace

// The CPU, virtual CPU devices, GPUs.
std::size_t device_count() noexcept { return 1 + virtual_cpu_devices().size() + cuda_devices().size(); }
const Device &device_at(std::size_t index) noexcept {
    if (index == 0) return cpu_device();
    const auto virtual_ones = virtual_cpu_devices();
    return index <= virtual_ones.size() ? *virtual_ones[index - 1] : *cuda_devices()[index - 1 - virtual_ones.size()];
}

namespace {

// Finds a device by name; null if there is none, and `known` then names the existing ones.
const Device *find_device(const char *name, std::string &known) {
    for (std::size_t i = 0; i < device_count(); i++) {
        if (equal_ignoring_case(device_at(i).name(), name)) return &device_at(i);
        known += (i ? ", " : "") + std::string(device_at(i).name());
    }
    return nullptr;
}

}  // namespace

const Device &device_named(const char *what, const char *name) {
    std::string known;
    if (const Device *device = find_device(name, known)) return *device;
    fail(Status::invalid_argument, "%s: no device '%.64s': there are: %s", what, name, known.c_str());
}

namespace {

// "cuda:0+cpu": opens each device and joins them.
Ref<Backend> open_joined(std::string_view devices, const BackendParams &params) {
    std::vector<Ref<Backend>> opened;
    std::vector<Backend *> parts;
    for (std::size_t begin = 0; begin <= devices.size();) {
        const std::size_t end = std::min(devices.find('+', begin), devices.size());
        opened.push_back(open_backend(std::string(devices.substr(begin, end - begin)).c_str(), params));
        parts.push_back(opened.back().get());
        begin = end + 1;
    }
    return join_backends(parts);
}

}  // namespace

Ref<Backend> open_backend(const char *device, const BackendParams &params) {
    if (std::strchr(device, '+')) return open_joined(device, params);
    // Before the list is read, so that using the CPU does not start a driver.
    if (equal_ignoring_case("cpu", device)) return open(cpu_device(), params);
    std::string known;
    if (const Device *found = find_device(device, known)) return open(*found, params);
    if (starts_with_ignoring_case(device, "cuda:")) {
        const std::string absence = cuda_absence();
        fail(Status::unavailable, "backend_create: no device '%.64s': %s%sthere are: %s", device, absence.c_str(),
             absence.empty() ? "" : "; ", known.c_str());
    }
    fail(Status::invalid_argument, "backend_create: no device '%.64s': there are: %s", device, known.c_str());
}

}  // namespace tensorlib::core
