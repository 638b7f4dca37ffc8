// Which devices this program has: the one place that names all backends.
#pragma once

#include "runtime/backend.hpp"

#include <cstddef>

namespace tensorlib::core {

// The CPU comes first and is always there.
std::size_t device_count() noexcept;
const Device &device_at(std::size_t index) noexcept;

// By its name, whatever the case; throws Error(invalid_argument), naming those that are there, for any other name.
const Device &device_named(const char *what, const char *name);

// Opens a device by its name, whatever the case, or several with + between them, which are joined; throws Error(invalid_argument), naming
// those that are there, for any other name.
Ref<Backend> open_backend(const char *device, const BackendParams &params);

}  // namespace tensorlib::core
