// Where steps of optimisers stand: small ones side by side, so that a backend can run them as one.
#pragma once

#include "graph/graph_parts.hpp"

namespace tensorlib::core {

// Puts nodes that write, are made of gradients and are read by nobody behind all others, those of an operation together, as far as reads
// and writes of the same memory allow: as long as what they wait with, which has memory until then, is small.
void put_small_steps_last(GraphParts &parts);

}  // namespace tensorlib::core
