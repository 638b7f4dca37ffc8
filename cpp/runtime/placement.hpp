// Which part of a joined backend computes each node: so that the fewest bytes are copied.
//
// Leafs lie where their contexts say. What is computed on one part and read on another is copied there once, and an output goes to its
// context's device. What a node writes into elsewhere is copied there and back. With two parts the bytes are the least that
// there are: a minimum cut (runtime/min_cut.hpp). With more of them each pair is improved by such a cut, until none can be.
#pragma once

#include "graph/graph.hpp"
#include "graph/tensor_set.hpp"
#include "runtime/backend.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace tensorlib::core {

struct Placement {
    std::vector<std::uint32_t> part;  // of each node; of a view that computes nothing its memory's
    std::uint64_t bytes = 0;          // copied in a run, those of constants counted, which are copied once
    // The part that has all of the graph, where there is one: nothing is copied then.
    std::optional<std::uint32_t> alone;
};

// What a part has no kernel for, found out so far: refused[part][node].
using RefusedNodes = std::vector<std::vector<bool>>;

// places: of the graph's nodes and leafs. refusal(node, part): why the part does not take it, for messages. Throws Error(unsupported) where
// no part takes a node, or not the one that it was placed on, Error(context_mismatch) where the backend does not have that.
Placement place_nodes(const Graph &graph, const TensorSet &places, const Backend &backend, const RefusedNodes &refused,
                      const std::function<std::string(std::size_t node, std::size_t part)> &refusal);

}  // namespace tensorlib::core
