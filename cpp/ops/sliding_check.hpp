// What infer asks of windows.
#pragma once

#include "base/fail.hpp"
#include "ops/op_def.hpp"
#include "ops/sliding.hpp"

namespace tensorlib::core::ops {

// Counts the positions. Throws Error(invalid_argument) naming operands, dimension and windows where not one fits, or sizes are beyond
// 2^63 - 1. `dim` is the dimension of what the windows slide over.
inline void check_windows(const OpFacts &def, std::span<Tensor *const> src, int dim, Sliding &windows) {
    const auto shown = [](std::int64_t n) { return static_cast<long long>(n); };
    const bool counted = windows.count_positions();
    if (counted && windows.positions > 0 && windows.elements > 0) return;
    const std::string what =
        format_text("%s: %s, dimension %d: %lld elements, windows of %lld with stride %lld, padding %lld, dilation %lld", def.name,
                    operands_text(def, src).c_str(), dim, shown(windows.elements), shown(windows.taps), shown(windows.stride),
                    shown(windows.padding), shown(windows.dilation));
    if (!counted) fail(Status::invalid_argument, "%s: sizes beyond 2^63 - 1", what.c_str());
    std::int64_t span = 0;
    windows.span(span);
    fail(Status::invalid_argument,
         "%s: no window of %lld elements fits: elements and twice the padding must be as many, and one element be there", what.c_str(),
         shown(span));
}

}  // namespace tensorlib::core::ops
