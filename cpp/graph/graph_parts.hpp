// The parts of a graph before it is fixed: the walk collects them, and `arrange` may change them.
#pragma once

#include "graph/tensor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tensorlib::core {

struct GraphParts {
    // The index of a tensor: a node's, or a leaf's with leaf_bit, or nowhere for an operand that is left out.
    using NodeIndex = std::uint32_t;
    static constexpr NodeIndex leaf_bit = NodeIndex{1} << 31, nowhere = ~NodeIndex{0};
    static constexpr bool is_node(NodeIndex place) noexcept { return !(place & leaf_bit); }

    std::vector<Tensor *> nodes, leafs;     // nodes in an order in which they can run
    std::vector<NodeIndex> source_indices;  // of all nodes' sources, node after node
    std::vector<NodeIndex> output_indices;
    // clones[i]: whether node i recomputes what another node computes, so that the result need not be kept in between.
    // `nodes[i]` is that other node. Empty if there are none.
    std::vector<bool> clones;

    bool is_clone(std::size_t i) const noexcept { return !clones.empty() && clones[i]; }
    // For each node, where its sources' indices begin; plus one entry for the end.
    std::vector<std::size_t> first_sources() const {
        std::vector<std::size_t> first{0};
        first.reserve(nodes.size() + 1);
        for (const Tensor *node : nodes) first.push_back(first.back() + node->n_src);
        return first;
    }
    // For each node, the node whose memory it uses: itself if it is no view, nowhere if that is a leaf's.
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

// Reorders the nodes; `order` has their old indices. The parts must have no clones.
void reorder(GraphParts &parts, std::span<const GraphParts::NodeIndex> order);

// The outcome of tensors that are marked for recomputation, or of a bound on a graph's intermediates.
struct Recomputation {
    std::optional<std::size_t> limit;
    // Bytes of intermediates before and after, counted as if each node ran by itself; the bytes of these that are kept
    // for gradients; and the number of nodes that run again.
    std::size_t before = 0, after = 0, kept = 0, n_clones = 0;
    // Nodes that are kept because they read memory that is written before the gradients run.
    std::vector<const Tensor *> clashing;
};

}  // namespace tensorlib::core
