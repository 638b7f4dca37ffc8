#include "api/devices.hpp"

#include "base/fail.hpp"
#include "base/text.hpp"
#include "cpu/cpu_backend.hpp"

#include <string>

namespace tensorlib::core {

std::size_t device_count() noexcept { return 1; }
const Device &device_at(std::size_t) noexcept { return cpu_device(); }

Ref<Backend> open_backend(const char *device, const BackendParams &params) {
    std::string known;
    for (std::size_t i = 0; i < device_count(); i++) {
        if (equal_ignoring_case(device_at(i).name(), device)) return device_at(i).open(params);
        known += (i ? ", " : "") + std::string(device_at(i).name());
    }
    if (starts_with_ignoring_case(device, "cuda:")) {
        fail(Status::unavailable, "backend_create: no device '%.64s': this build has no CUDA; there are: %s", device, known.c_str());
    }
    fail(Status::invalid_argument, "backend_create: no device '%.64s': there are: %s", device, known.c_str());
}

}  // namespace tensorlib::core
