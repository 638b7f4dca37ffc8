// Orders nodes that write relative to those that read what they overwrite.
#pragma once

#include "graph/graph_parts.hpp"
#include "graph/tensor_set.hpp"

#include <span>
#include <vector>

namespace tensorlib::core {

// next_write() numbers nodes that write, and those of groups, in the order of their creation, from 1. writes_so_far() is how
// many there are.
std::uint64_t next_write() noexcept;
std::uint64_t writes_so_far() noexcept;

// Records that the node has seen the writes made so far and no later ones, because differentiating it relies on its
// value.
void note_seen_writes(Tensor &node) noexcept;

// The memory that a graph writes, and the nodes that touch the same bytes of it.
class WrittenMemory {
public:
    explicit WrittenMemory(std::span<Tensor *const> nodes);

    // A node that reads or writes some of a root's bytes.
    struct Access {
        GraphParts::NodeIndex node;
        bool writes;
        std::size_t begin, end;  // in the root's bytes
        // For elements in rows of `pitch` bytes: the columns of bytes that they take in each row. pitch is 0 for
        // others.
        std::size_t pitch, first_column, last_column;

        bool meets(const Access &other) const noexcept {
            if (node == other.node || !(writes || other.writes) || end <= other.begin || other.end <= begin) return false;
            const bool same_rows = pitch != 0 && pitch == other.pitch;
            return !same_rows || (last_column > other.first_column && other.last_column > first_column);
        }
    };
    std::vector<const Tensor *> roots;  // all roots that are written

    bool is_written(const Tensor &root) const { return lists_.find(&root) != nullptr; }

    // Calls visit(root's number, earlier, later), in the order of the nodes, for each pair of accesses that overlap and
    // of which at least one writes. Parameters that are disjoint views of one leaf cost no more than separate leafs.
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
    std::vector<std::vector<Access>> accesses_;  // for each root, by first byte
    TensorSet lists_;
};

// The nodes of groups, in the order in which they were built. They must run in it, because all ranks have it in common.
std::vector<GraphParts::NodeIndex> collectives(std::span<Tensor *const> nodes);
// Calls follows(first, second) for each two of them that follow each other.
template <class Follows>
void keep_build_order(std::span<Tensor *const> nodes, Follows follows) {
    const std::vector<GraphParts::NodeIndex> all = collectives(nodes);
    for (std::size_t i = 1; i < all.size(); i++) follows(all[i - 1], all[i]);
}

// Orders writers and collectives. Takes nodes in post-order, and the indices of their sources, node after node. A node that has seen
// only earlier writes (note_seen_writes) moves before later writes into memory that it reads: for example, an optimiser
// step writes into a parameter that other gradients still need. Nodes of groups come in the order in which they were built.
// Returns the new order as old indices, or an empty one if nothing moves. Other reads and writes of the same memory keep their order.
// Throws Error(invalid_argument), naming reader, writer and memory, if there is no such order.
std::vector<GraphParts::NodeIndex> write_order(std::span<Tensor *const> nodes, std::span<const GraphParts::NodeIndex> source_indices);

}  // namespace tensorlib::core
