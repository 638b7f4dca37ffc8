// What a plan keeps of its graph: everything that determines kernels, memory and order, so that a rebuilt graph is
// recognised.
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
    // Whether a plan for one graph is a plan for the other. Operations, attributes, shapes, strides, types and devices
    // must be equal at equal positions. The graphs must also have the same constants, the same nodes with their own
    // data, the same memory limit and the same settings.
    bool is_of(const Graph &graph) const noexcept;

    // Whether the graph still has the settings that plans depend on.
    bool is_run_as(const Graph &graph) const noexcept {
        return runs_nodes_singly_ == graph.runs_nodes_singly() && batch_invariant_ == graph.batch_invariant;
    }

    // Whether node i's memory is an output's.
    bool is_output(std::size_t i) const noexcept { return nodes_[i].is_output; }

    std::size_t bytes() const noexcept;

private:
    struct Item {
        Layout layout;
        Op op = Op::leaf;
        // For a node.
        std::uint16_t attr_bytes = 0;
        bool is_view = false, is_output = false, owns_data = false;
        // For a leaf; constant: Storage::constant.
        bool dropped = false;
        std::uint64_t constant = 0;
        // The context's memory, and NodeState::placed_on for a node.
        const DeviceMemory *memory = nullptr, *placed_on = nullptr;
    };
    static Item item_of(const Tensor &t) noexcept;
    static bool is_same(const Item &item, const Tensor &t) noexcept;

    std::uint64_t hash_;
    std::optional<std::size_t> limit_;  // for which memory is planned
    bool runs_nodes_singly_, batch_invariant_;
    std::vector<Item> nodes_, leafs_;
    std::vector<std::byte> attrs_;  // of all nodes
    std::vector<Graph::NodeIndex> source_indices_, output_indices_;
};

}  // namespace tensorlib::core
