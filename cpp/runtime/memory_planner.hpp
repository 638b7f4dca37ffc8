// Where intermediates lie: offsets into one block, memory reused as soon as the last reader is done.
#pragma once

#include "graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tensorlib::core {

struct MemoryPlan {
    static constexpr std::size_t nowhere = ~std::size_t{0};
    // By the node's index: the offset of a node that is an intermediate root; nowhere for the others.
    std::vector<std::size_t> offset;
    std::size_t size = 0;      // bytes of the block
    std::size_t unshared = 0;  // what it would take without reuse, for the plan's text
};

// runs_in[i], where it is not empty: the node, i or a later one, at whose place node i runs.
// is_intermediate[i]: node i is a root whose data this plan has to place. Nodes run one after the other in order; a
// view's reader counts as a reader of its root. Of the nodes in `checked`, operands (a bit each) are kept to the end, for
// the message that says which of their elements could not be taken. alignment is a power of two.
struct CheckedNode {
    std::uint32_t node;
    std::uint32_t step;  // of the plan, which computes the node
    unsigned operands;
};
// overwritable[i]: the roots whose memory node i's result may take over if node i is the last to use them (Planner::overwritable()). Empty:
// no node overwrites anything.
MemoryPlan plan_memory(const Graph &graph, const std::vector<bool> &is_intermediate, std::span<const CheckedNode> checked,
                       std::span<const std::uint32_t> runs_in, std::span<const std::vector<const Tensor *>> overwritable,
                       std::size_t alignment);

// The bytes that a graph of these parts needs, with a word for the faults of each checked node: exactly those of the function above where
// all nodes run by themselves and none lies on another. checked[i]: of node i, as above, or 0.
std::size_t plan_memory(const GraphParts &parts, std::span<const unsigned> checked, std::size_t alignment);

}  // namespace tensorlib::core
