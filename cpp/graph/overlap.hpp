// Decides whether tensors share bytes, by arithmetic on shapes and strides instead of visiting elements.
#pragma once

#include "graph/tensor.hpp"

namespace tensorlib::core {

// unknown: the strides were too irregular, and the search stopped. Treat it as yes.
enum class Overlap { no, yes, unknown };

// Whether two elements of one tensor share a byte.
Overlap overlaps_itself(const Layout &l);
inline Overlap overlaps_itself(const Tensor &t) { return overlaps_itself(t.layout); }

// Whether an element of a shares a byte with an element of b.
Overlap overlap(const Tensor &a, const Tensor &b);

}  // namespace tensorlib::core
