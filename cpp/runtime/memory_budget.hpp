// Graphs whose intermediates stay within so many bytes: which nodes are computed again in place of being kept, where the user has marked
// some or given a bound.
#pragma once

#include "graph/graph.hpp"

#include <optional>

namespace tensorlib::core {

// The graph of these outputs. Nodes that are marked (Tensor::recompute) are computed again for gradients. Where there is a limit, so many
// bytes are enough for all intermediates of its plans, kernels' workspaces not counted: where all nodes would need more, some are
// computed again, cheap ones first. Throws Error(out_of_memory), with the least bytes that it finds, where that does not suffice.
Ref<Graph> create_graph(Context &context, std::span<Tensor *const> outputs, std::optional<std::size_t> limit = {});

// Whether graphs made from now on compute the node again in place of keeping it for gradients; of a view what it is a view of. Throws
// Error(invalid_argument) for a leaf and for a node that writes.
void set_recompute(Tensor &t, bool recompute);

}  // namespace tensorlib::core
