// Where nodes that write stand among those that read what they overwrite.
#pragma once

#include "graph/graph_parts.hpp"
#include "graph/tensor_set.hpp"

#include <span>
#include <vector>

namespace tensorlib::core {

// Numbers nodes that write, in the order of their making, from 1 on; and how many there are so far.
std::uint64_t next_write() noexcept;
std::uint64_t writes_so_far() noexcept;

// From now on the node counts as one that has seen the writes made so far, and no later ones: what differentiates it relies on its value.
void note_seen_writes(Tensor &node) noexcept;

// What is written in a graph, and who touches it, in the nodes' order.
class WrittenMemory {
public:
    explicit WrittenMemory(std::span<Tensor *const> nodes);

    // A node that reads or writes some memory.
    struct Access {
        GraphParts::Place node;
        bool writes;
    };
    std::vector<std::vector<Access>> accesses;  // of each tensor that is written
    std::vector<const Tensor *> roots;

    bool is_written(const Tensor &root) const { return lists_.find(&root) != nullptr; }

    // Calls visit(root's number, earlier, later) for accesses of which one writes.
    template <class Visit>
    void for_each_pair(Visit visit) const {
        for (std::size_t r = 0; r < accesses.size(); r++) {
            const std::vector<Access> &all = accesses[r];
            for (std::size_t j = 0; j < all.size(); j++) {
                if (!all[j].writes) continue;
                for (std::size_t i = 0; i < all.size(); i++) {
                    if (i < j) visit(r, all[i], all[j]);
                    if (i > j && !all[i].writes) visit(r, all[j], all[i]);
                }
            }
        }
    }

private:
    void add_list(const Tensor &root);
    TensorSet lists_;
};

// Nodes in post-order, and the places of their sources, node after node. A node that has seen only earlier writes (note_seen_writes) comes
// before later ones into memory that it reads: an optimiser's step writes into a parameter that the gradients of others still need. The new
// order, as the old places; empty where nothing moves. All else stays as it is: each read and write of the same memory in the order that it
// had. Throws Error(invalid_argument), naming reader, writer and memory, where there is no such order.
std::vector<GraphParts::Place> write_order(std::span<Tensor *const> nodes, std::span<const GraphParts::Place> source_places);

}  // namespace tensorlib::core
