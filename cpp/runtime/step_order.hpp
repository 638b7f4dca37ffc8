// Places small optimiser steps next to each other, so that a backend can run them as one.
#pragma once

#include "graph/graph_parts.hpp"

namespace tensorlib::core {

// Moves nodes that write, are made of gradients and have no reader to the end, grouped by operation, as far as reads
// and writes of the same memory allow. Their operands keep their memory until then, so this stops where these are no
// longer small.
void put_small_steps_last(GraphParts &parts);

}  // namespace tensorlib::core
