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
    using NodeIndex = std::uint32_t;
    static constexpr NodeIndex leaf_bit = NodeIndex{1} << 31, nowhere = ~NodeIndex{0};
    static constexpr bool is_node(NodeIndex place) noexcept { return !(place & leaf_bit); }

    std::vector<Tensor *> nodes, leafs;     // nodes in an order in which they can run
    std::vector<NodeIndex> source_indices;  // of all nodes' sources, node after node
    std::vector<NodeIndex> output_indices;
    // Whether a node is to compute again what another one computes, so that nobody keeps it in between: `nodes` has that one here too.
    // Empty where none is.
    std::vector<bool> clones;

    bool is_clone(std::size_t i) const noexcept { return !clones.empty() && clones[i]; }
    // By the node's index, where its sources' places begin; and one more, for the end.
    std::vector<std::size_t> first_sources() const {
        std::vector<std::size_t> first{0};
        first.reserve(nodes.size() + 1);
        for (const Tensor *node : nodes) first.push_back(first.back() + node->n_src);
        return first;
    }
    // By the node's index: the node whose memory it uses, itself where it is no view; nowhere for a leaf's.
    std::vector<NodeIndex> roots() const {
        std::vector<NodeIndex> of(nodes.size(), nowhere);
        std::size_t at = 0;
        for (NodeIndex i = 0; i < nodes.size(); at += nodes[i++]->n_src) {
            const Tensor &node = *nodes[i];
            if (node.root == &node) of[i] = i;
            for (std::size_t s = 0; s < node.n_src && of[i] == nowhere; s++) {
                const NodeIndex source = source_indices[at + s];
                if (node.src[s] && node.src[s]->root == node.root && is_node(source)) of[i] = of[source];
            }
        }
        return of;
    }
};

// Puts the nodes in another order, given as their old places. (Of parts without nodes that are computed again.)
void reorder(GraphParts &parts, std::span<const GraphParts::NodeIndex> order);

// What became of tensors that are not to be kept for gradients, or of a bound on a graph's intermediates.
struct Recomputation {
    std::optional<std::size_t> limit;
    // Bytes of intermediates before and after, each node by itself; what of that is kept for gradients; and how many nodes run again.
    std::size_t before = 0, after = 0, kept = 0, n_clones = 0;
    // Nodes that are kept as they read what is written before the gradients.
    std::vector<const Tensor *> clashing;
};

}  // namespace tensorlib::core
