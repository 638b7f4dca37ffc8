// Graphs whose intermediates stay within a byte limit: chooses which nodes are recomputed instead of being kept, if the
// user has marked some or given a limit.
#pragma once

#include "graph/graph.hpp"

#include <optional>

namespace tensorlib::core {

// Creates the graph of these outputs. Marked nodes (NodeState::recompute) are recomputed for gradients. With a limit, all
// intermediates of its plans fit in that many bytes, without kernels' workspace: if all nodes would need more, some are
// recomputed, cheap ones first. Throws Error(out_of_memory), with the smallest size that it finds, if that does not
// suffice.
Ref<Graph> create_graph(Context &context, std::span<Tensor *const> outputs, std::optional<std::size_t> limit = {});

// Sets whether graphs that are made from now on recompute the node for gradients instead of keeping it. For a view,
// this applies to its root. Throws Error(invalid_argument) for a leaf and for a node that writes.
void set_recompute(Tensor &t, bool recompute);

}  // namespace tensorlib::core
