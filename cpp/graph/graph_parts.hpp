// What a graph is made of, before it is fixed: the walk collects it, and others may arrange it anew.
#pragma once

#include "graph/tensor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tensorlib::core {

struct GraphParts {
    // Where a tensor stands: the index of a node, that of a leaf with leaf_bit, or nowhere for an operand that is left out.
    using Place = std::uint32_t;
    static constexpr Place leaf_bit = Place{1} << 31, nowhere = ~Place{0};
    static constexpr bool is_node(Place place) noexcept { return !(place & leaf_bit); }

    std::vector<Tensor *> nodes, leafs;  // nodes in an order in which they can run
    std::vector<Place> source_places;    // of all nodes' sources, node after node
    std::vector<Place> output_places;
    // Whether a node is to compute again what another one computes, so that nobody keeps it in between: `nodes` has that one here too.
    // Empty where none is.
    std::vector<bool> again;

    bool is_again(std::size_t i) const noexcept { return !again.empty() && again[i]; }
    // By the node's index, where its sources' places begin; and one more, for the end.
    std::vector<std::size_t> first_sources() const {
        std::vector<std::size_t> first{0};
        first.reserve(nodes.size() + 1);
        for (const Tensor *node : nodes) first.push_back(first.back() + node->n_src);
        return first;
    }
    // By the node's index: the node whose memory it uses, itself where it is no view; nowhere for a leaf's.
    std::vector<Place> roots() const {
        std::vector<Place> of(nodes.size(), nowhere);
        std::size_t at = 0;
        for (Place i = 0; i < nodes.size(); at += nodes[i++]->n_src) {
            const Tensor &node = *nodes[i];
            if (node.root == &node) of[i] = i;
            for (std::size_t s = 0; s < node.n_src && of[i] == nowhere; s++) {
                const Place source = source_places[at + s];
                if (node.src[s] && node.src[s]->root == node.root && is_node(source)) of[i] = of[source];
            }
        }
        return of;
    }
};

// Puts the nodes in another order, given as their old places. (Of parts without nodes that are computed again.)
void reorder(GraphParts &parts, std::span<const GraphParts::Place> order);

// What became of tensors that are not to be kept for gradients, or of a bound on a graph's intermediates.
struct Recomputation {
    std::optional<std::size_t> limit;
    // Bytes of intermediates before and after, each node by itself; what of that is kept for gradients; and how many nodes run again.
    std::size_t before = 0, after = 0, kept = 0, n_again = 0;
    // Nodes that are kept as they read what is written before the gradients.
    std::vector<const Tensor *> clashing;
};

}  // namespace tensorlib::core
