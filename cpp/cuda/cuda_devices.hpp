// The CUDA devices of this machine, for code that does not include CUDA.
#pragma once

#include "runtime/backend.hpp"

#include <span>
#include <string>

namespace tensorlib::core {

// The devices, in the driver's order; none without a driver. TENSORLIB_CUDA_VIRTUAL_DEVICES=N shows the first one N
// times, for tests. Queried once per process.
std::span<const Device *const> cuda_devices() noexcept;

// Why there are no more devices than those, for messages: no driver, a driver that is too old, no GPU.
std::string cuda_absence();

}  // namespace tensorlib::core
