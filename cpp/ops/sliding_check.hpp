// Checks of windows, shared by the infer functions.
#pragma once

#include "base/fail.hpp"
#include "ops/op_def.hpp"
#include "ops/sliding.hpp"

#include <string>

namespace tensorlib::core::ops {

// "conv_1d: a is .., b is .., dimension 0: 5 elements, windows of 3 with stride 1, padding 0, dilation 1". The windows
// slide over dimension `dim`.
inline std::string windows_text(const OpFacts &def, std::span<Tensor *const> src, int dim, std::int64_t n, const char *of,
                                const Sliding &windows) {
    const auto shown = [](std::int64_t count) { return static_cast<long long>(count); };
    return format_text("%s: %s, dimension %d: %lld %s, windows of %lld with stride %lld, padding %lld, dilation %lld", def.name,
                       operands_text(def, src).c_str(), dim, shown(n), of, shown(windows.taps), shown(windows.stride),
                       shown(windows.padding), shown(windows.dilation));
}

[[noreturn]] inline void refuse_windows(const std::string &what, bool counted, const Sliding &windows, const char *valid) {
    if (!counted) fail(Status::invalid_argument, "%s: sizes beyond 2^63 - 1", what.c_str());
    if (windows.taps <= 0) fail(Status::invalid_argument, "%s: a window must have an element", what.c_str());
    std::int64_t span = 0;
    windows.span(span);
    fail(Status::invalid_argument, valid, what.c_str(), static_cast<long long>(span));
}

// Counts the positions. Throws Error(invalid_argument), naming operands, dimension and windows, if no window fits or if
// sizes exceed 2^63 - 1.
inline void check_windows(const OpFacts &def, std::span<Tensor *const> src, int dim, Sliding &windows) {
    const bool counted = windows.count_positions();
    if (counted && windows.positions > 0 && windows.elements > 0 && windows.taps > 0) return;
    refuse_windows(windows_text(def, src, dim, windows.elements, "elements", windows), counted, windows,
                   "%s: no window of %lld elements fits: elements and twice the padding must be as many, and one element be there");
}

// Counts the elements of a transposed convolution, which are those of its result, and throws as check_windows() does.
inline void check_elements(const OpFacts &def, std::span<Tensor *const> src, int dim, Sliding &windows) {
    const bool counted = windows.count_elements();
    if (counted && windows.positions > 0 && windows.elements > 0 && windows.taps > 0) return;
    refuse_windows(
        windows_text(def, src, dim, windows.positions, "positions", windows), counted, windows,
        "%s: the result has no element: there must be a position, and windows of %lld elements and what the strides between them "
        "add be more than twice the padding");
}

}  // namespace tensorlib::core::ops
