// The CUDA devices of this machine, for those who know nothing of CUDA.
#pragma once

#include "runtime/backend.hpp"

#include <span>
#include <string>

namespace tensorlib::core {

// The devices, in the driver's order; none where there is no driver. TENSORLIB_CUDA_VIRTUAL_DEVICES=N shows the first
// one N times, for tests. Asked once in a process.
std::span<const Device *const> cuda_devices() noexcept;

// Why there are no more devices than those, for messages: no driver, one that is too old, no GPU.
std::string cuda_absence();

}  // namespace tensorlib::core
