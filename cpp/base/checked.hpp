// Sizes that cannot wrap: every product of dimensions and every sum of offsets uses these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace tensorlib::core {

// Stores a * b in out; false if it does not fit.
inline bool checked_mul(std::size_t a, std::size_t b, std::size_t &out) {
    if (a != 0 && b > std::numeric_limits<std::size_t>::max() / a) return false;
    out = a * b;
    return true;
}

// Stores a + b in out; false if it does not fit.
inline bool checked_add(std::size_t a, std::size_t b, std::size_t &out) {
    if (b > std::numeric_limits<std::size_t>::max() - a) return false;
    out = a + b;
    return true;
}

// The next multiple of a power of two. The caller ensures that size + unit does not wrap.
constexpr std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) & ~(unit - 1); }

// An extent of a tensor without elements may be any number, so a + b might not fit.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
static_assert(ceil_div(std::numeric_limits<std::int64_t>::max(), 2) == std::int64_t{1} << 62 && ceil_div(0, 3) == 0 && ceil_div(6, 3) == 2);

}  // namespace tensorlib::core
