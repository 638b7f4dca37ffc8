// What a plan keeps of the graph that it was made for: all that kernels, memory and order follow from, so that a graph which was built
// anew is known again.
#pragma once

#include "graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorlib::core {

class GraphStructure {
public:
    explicit GraphStructure(const Graph &graph);

    std::uint64_t hash() const noexcept { return hash_; }
    // Whether a plan for the one is a plan for the other: operations, attributes, shapes, strides, types and devices are equal at equal
    // places, constants are the same, the same nodes have data of their own, as many bytes are theirs, and results are looked at.
    bool is_of(const Graph &graph) const noexcept;

    // Whether nodes run by themselves as the graph wants it now.
    bool is_run_as(const Graph &graph) const noexcept { return runs_nodes_singly_ == graph.runs_nodes_singly(); }

    // Whether node i's memory is an output's.
    bool is_output(std::size_t i) const noexcept { return nodes_[i].is_output; }

    std::size_t bytes() const noexcept;

private:
    struct Item {
        Layout layout;
        Op op = Op::leaf;
        // Of a node.
        std::uint16_t attr_bytes = 0;
        bool is_view = false, is_output = false, owns_data = false;
        // Of a leaf; constant: Tensor::constant.
        bool dropped = false;
        std::uint64_t constant = 0;
        // The context's; and of a node Tensor::placed_on.
        const DeviceMemory *memory = nullptr, *placed_on = nullptr;
    };
    static Item item_of(const Tensor &t) noexcept;
    static bool is_same(const Item &item, const Tensor &t) noexcept;

    std::uint64_t hash_;
    std::optional<std::size_t> limit_;  // by which memory is planned
    bool runs_nodes_singly_;
    std::vector<Item> nodes_, leafs_;
    std::vector<std::byte> attrs_;  // of all nodes
    std::vector<Graph::NodeIndex> source_indices_, output_indices_;
};

}  // namespace tensorlib::core
