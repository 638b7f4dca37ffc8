// Shared libraries that may be missing, found at run time. This is in the CUDA backend, not in base/platform, because
// only programs with CUDA link the dynamic loader.
#pragma once

namespace tensorlib::core {

// Opens a library by name, as the system searches, or by path; nullptr if there is none. Never closed.
void *open_library(const char *name) noexcept;
// A function of the library; nullptr if it has none of that name.
void *find_symbol(void *library, const char *name) noexcept;

}  // namespace tensorlib::core
