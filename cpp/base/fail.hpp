// How the engine reports failures: fail() throws; the C ABI and the C++ API let nothing else escape.
#pragma once

#include <tensorlib/error.hpp>

namespace tensorlib::core {

#if defined(__GNUC__)
#define TL_PRINTF_LIKE(text, args) __attribute__((format(printf, text, args)))
#else
#define TL_PRINTF_LIKE(text, args)
#endif

// Throws an Error with a printf-style message.
[[noreturn]] void fail(Status code, const char *format, ...) TL_PRINTF_LIKE(2, 3);

// A printf-style std::string.
std::string format_text(const char *format, ...) TL_PRINTF_LIKE(1, 2);

}  // namespace tensorlib::core
