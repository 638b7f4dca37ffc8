// The devices that this program has; the only place that names all backends.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>

namespace tensorlib::core {

// The CPU comes first and always exists.
std::size_t device_count() noexcept;
const Device &device_at(std::size_t index) noexcept;

// Finds a device by name, ignoring case; throws Error(invalid_argument), naming the existing devices, for any other
// name.
const Device &device_named(const char *what, const char *name);

// Opens a device by name, ignoring case, or joins several with + between their names. Throws Error(invalid_argument),
// naming the existing devices, for any other name.
Ref<Backend> open_backend(const char *device, const BackendParams &params);

}  // namespace tensorlib::core
