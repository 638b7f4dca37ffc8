// Recomputation: values that the gradients of a graph read from earlier nodes may be computed a second time, just
// before they are read, so that their memory serves others in between. The bits do not change, because operations
// depend only on operands and attributes.
#pragma once

#include "graph/graph_parts.hpp"

#include <vector>

namespace tensorlib::core {

// The parts with the marked nodes recomputed. If a later call of tl_gradients than a node's own reads it, the node gets
// a clone for that call, which runs as late as possible. A clone reads the same sources, or their clones for that call.
// Views of the node are cloned with it. All nodes are in the order of their calls and, within each call, of their
// creation. In this order, a gradient is used up soon after it is made.
//
// Outputs, nodes that write or are written into, and nodes that would read memory which is written in between
// (`clashing`) are kept.
struct Rematerialized {
    GraphParts parts;
    std::vector<const Tensor *> clashing;
};
Rematerialized recomputed(const GraphParts &parts, std::vector<bool> marked);

// For each node, the latest call whose nodes read it; 0 if that is not later than its own. Views count for their roots.
std::vector<std::uint32_t> late_calls(const GraphParts &parts);

}  // namespace tensorlib::core
