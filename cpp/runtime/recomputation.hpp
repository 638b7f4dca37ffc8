// Computing again in place of keeping: what the gradients of a graph read of the nodes before them may be computed a second time, just
// before it is read, so that its memory serves for others in between. The bits are the same: operations depend on nothing but operands and
// attributes.
#pragma once

#include "graph/graph_parts.hpp"

#include <vector>

namespace tensorlib::core {

// The parts with the marked nodes computed again: a node that a later call of tl_gradients reads than the one that it is of itself gets
// another one for that call, as late as possible, made of the same sources, or of those that are computed again for it too. Views of it go
// with it. All nodes stand in the order of their calls and, in each, of their making: there a gradient is used up soon after it is made.
//
// Kept are outputs, nodes that write or are written into, and those that would read memory which is written in between: `clashing`.
struct Rematerialized {
    GraphParts parts;
    std::vector<const Tensor *> clashing;
};
Rematerialized recomputed(const GraphParts &parts, std::vector<bool> marked);

// Of each node the latest call whose nodes read it; 0 where that is not later than its own. Views count for what they are views of.
std::vector<std::uint32_t> late_calls(const GraphParts &parts);

}  // namespace tensorlib::core
