// Shared libraries that are there or not, found at run time. Beside the CUDA backend, not in base/platform, as only
// programs with it link the dynamic loader.
#pragma once

namespace tensorlib::core {

// By name, as the system searches, or by path; nullptr where there is none. Never closed.
void *open_library(const char *name) noexcept;
// A function of it; nullptr where it has none of that name.
void *find_symbol(void *library, const char *name) noexcept;

}  // namespace tensorlib::core
