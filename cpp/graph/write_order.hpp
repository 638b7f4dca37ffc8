// Where nodes that write stand among those that read what they overwrite.
#pragma once

#include "graph/graph.hpp"

#include <span>
#include <vector>

namespace tensorlib::core {

// Numbers nodes that write, in the order of their making, from 1 on; and how many there are so far.
std::uint64_t next_write() noexcept;
std::uint64_t writes_so_far() noexcept;

// From now on the node counts as one that has seen the writes made so far, and no later ones: what differentiates it relies on its value.
void note_seen_writes(Tensor &node) noexcept;

// Nodes in post-order, and the places of their sources, node after node. A node that has seen only earlier writes (note_seen_writes) comes
// before later ones into memory that it reads: an optimiser's step writes into a parameter that the gradients of others still need. The new
// order, as the old places; empty where nothing moves. All else stays as it is: each read and write of the same memory in the order that it
// had. Throws Error(invalid_argument), naming reader, writer and memory, where there is no such order.
std::vector<Graph::Place> write_order(std::span<Tensor *const> nodes, std::span<const Graph::Place> source_places);

}  // namespace tensorlib::core
