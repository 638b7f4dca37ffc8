#include "cuda/shared_library.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tensorlib::core {

#if defined(_WIN32)
void *open_library(const char *name) noexcept { return reinterpret_cast<void *>(LoadLibraryA(name)); }
void *find_symbol(void *library, const char *name) noexcept {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}
#else
// Local: no other library needs its symbols. Lazy: half a gigabyte need not be bound at once.
void *open_library(const char *name) noexcept { return dlopen(name, RTLD_LAZY | RTLD_LOCAL); }
void *find_symbol(void *library, const char *name) noexcept { return dlsym(library, name); }
#endif

}  // namespace tensorlib::core
