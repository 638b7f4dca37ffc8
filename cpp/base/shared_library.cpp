#include "base/shared_library.hpp"

#if defined(TL_PORTABLE)
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tensorlib::core {

#if defined(TL_PORTABLE)

void *open_library(const char *name, Symbols /*symbols*/, std::string *why) noexcept {
    if (why) *why = std::string(name) + ": this build opens no libraries";
    return nullptr;
}
void *loaded_library(const char * /*name*/, Symbols /*symbols*/) noexcept { return nullptr; }
void *find_symbol(void * /*library*/, const char * /*name*/) noexcept { return nullptr; }
std::string file_of_symbol(const void * /*symbol*/) { return {}; }

#elif defined(_WIN32)

void *open_library(const char *name, Symbols /*symbols*/, std::string *why) noexcept {
    void *library = reinterpret_cast<void *>(LoadLibraryA(name));
    if (!library && why) *why = std::string(name) + ": error " + std::to_string(GetLastError());
    return library;
}
void *loaded_library(const char *name, Symbols /*symbols*/) noexcept { return reinterpret_cast<void *>(GetModuleHandleA(name)); }
void *find_symbol(void *library, const char *name) noexcept {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}
std::string file_of_symbol(const void * /*symbol*/) { return {}; }

#else

namespace {

int visibility(Symbols symbols) noexcept { return symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL; }

}  // namespace

// Lazy: half a gigabyte need not be bound at once.
void *open_library(const char *name, Symbols symbols, std::string *why) noexcept {
    void *library = dlopen(name, RTLD_LAZY | visibility(symbols));
    if (library || !why) return library;
    const char *reason = dlerror();
    *why = reason ? reason : "the system gives no reason";
    return nullptr;
}
void *loaded_library(const char *name, Symbols symbols) noexcept { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD | visibility(symbols)); }
void *find_symbol(void *library, const char *name) noexcept { return dlsym(library, name); }
std::string file_of_symbol(const void *symbol) {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

#endif

}  // namespace tensorlib::core
