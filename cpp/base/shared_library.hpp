// Shared libraries that may be missing, found at run time.
#pragma once

#include <string>

namespace tensorlib::core {

// Who may use the symbols of a library: whoever opened it, or also libraries that are loaded later, such as its plug-ins.
enum class Symbols { local, global };

// Opens a library by name, as the system searches, or by path; nullptr if there is none. Never closed. `why` gets the system's
// reason if it is given.
void *open_library(const char *name, Symbols symbols = Symbols::local, std::string *why = nullptr) noexcept;
// A library that the process has loaded already; otherwise nullptr.
void *loaded_library(const char *name, Symbols symbols = Symbols::local) noexcept;
// A function or variable of the library; nullptr if it has none of that name.
void *find_symbol(void *library, const char *name) noexcept;
// The path of the file that a function is in; empty if the system does not tell.
std::string file_of_symbol(const void *symbol);

}  // namespace tensorlib::core
