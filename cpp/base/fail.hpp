// How the engine reports failures: fail() throws; the C ABI and the C++ API let no other exception escape.
#pragma once

#include <cstdint>
#include <tensorlib/error.hpp>

namespace tensorlib::core {

#if defined(__MINGW32__)
// MinGW's C++ library has printf as C99 defines it; Microsoft's does not know %zu.
#define TL_PRINTF_LIKE(text, args) __attribute__((format(gnu_printf, text, args)))
#elif defined(__GNUC__)
#define TL_PRINTF_LIKE(text, args) __attribute__((format(printf, text, args)))
#else
#define TL_PRINTF_LIKE(text, args)
#endif

// Throws an Error with a printf-style message.
[[noreturn]] void fail(Status code, const char *format, ...) TL_PRINTF_LIKE(2, 3);

// A printf-style std::string.
std::string format_text(const char *format, ...) TL_PRINTF_LIKE(1, 2);

// An argument for %lld: on some platforms std::int64_t is long.
constexpr long long shown(std::int64_t n) noexcept { return n; }

// Returns what take() returns. If memory runs out, the message begins with describe()'s text, which says what it was
// for.
template <class Describe, class Take>
auto for_purpose(Describe describe, Take take) {
    try {
        return take();
    } catch (const Error &error) {
        if (error.code() != Status::out_of_memory) throw;
        fail(Status::out_of_memory, "%s: %s", describe().c_str(), error.what());
    }
}

}  // namespace tensorlib::core
