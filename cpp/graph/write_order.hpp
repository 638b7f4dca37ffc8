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

// What is written in a graph, and which nodes touch the same bytes of it.
class WrittenMemory {
public:
    explicit WrittenMemory(std::span<Tensor *const> nodes);

    // A node that reads or writes some of a root's bytes.
    struct Access {
        GraphParts::NodeIndex node;
        bool writes;
        std::size_t begin, end;  // of the root's bytes
        // Of elements that lie in rows of `pitch` bytes: the columns of bytes that they take of each row. pitch is 0 for others.
        std::size_t pitch, first_column, last_column;

        bool meets(const Access &other) const noexcept {
            if (node == other.node || !(writes || other.writes) || end <= other.begin || other.end <= begin) return false;
            const bool same_rows = pitch != 0 && pitch == other.pitch;
            return !same_rows || (last_column > other.first_column && other.last_column > first_column);
        }
    };
    std::vector<const Tensor *> roots;  // all that is written

    bool is_written(const Tensor &root) const { return lists_.find(&root) != nullptr; }

    // Calls visit(root's number, earlier, later) for each pair of accesses that meet and of which one writes, by the nodes' order.
    // Parameters that are disjoint views of one leaf cost no more than leafs of their own.
    template <class Visit>
    void for_each_pair(Visit visit) const {
        std::vector<const Access *> open;
        for (std::size_t r = 0; r < accesses_.size(); r++) {
            open.clear();
            for (const Access &access : accesses_[r]) {
                std::erase_if(open, [&](const Access *other) { return other->end <= access.begin; });
                for (const Access *other : open) {
                    if (!access.meets(*other)) continue;
                    const bool in_order = other->node < access.node;
                    visit(r, in_order ? *other : access, in_order ? access : *other);
                }
                open.push_back(&access);
            }
        }
    }

private:
    void add_list(const Tensor &root);
    std::vector<std::vector<Access>> accesses_;  // of each root, by their first bytes
    TensorSet lists_;
};

// Nodes in post-order, and the places of their sources, node after node. A node that has seen only earlier writes (note_seen_writes) comes
// before later ones into memory that it reads: an optimiser's step writes into a parameter that the gradients of others still need. The new
// order, as the old places; empty where nothing moves. All else stays as it is: each read and write of the same memory in the order that it
// had. Throws Error(invalid_argument), naming reader, writer and memory, where there is no such order.
std::vector<GraphParts::NodeIndex> write_order(std::span<Tensor *const> nodes, std::span<const GraphParts::NodeIndex> source_indices);

}  // namespace tensorlib::core
