// A graph: the nodes that some outputs need, in post-order, with leafs and use counts. Immutable once built.
#pragma once

#include "graph/context.hpp"

#include <span>
#include <string>
#include <vector>

namespace tensorlib::core {

class Graph final : public RefCounted {
public:
    // Post-order over the outputs in the order given; every tensor once; and writers behind what was differentiated before they were made
    // (graph/write_order.hpp). Its arrays live in `context`'s arena; it
    // keeps all contexts that it reaches alive.
    static Ref<Graph> create(Context &context, std::span<Tensor *const> outputs);

    std::span<Tensor *const> nodes() const noexcept { return {nodes_, n_nodes_}; }
    std::span<Tensor *const> leafs() const noexcept { return {leafs_, n_leafs_}; }
    std::span<Tensor *const> outputs() const noexcept { return {outputs_, n_outputs_}; }
    // How many sources of nodes, and outputs, each node is; by the node's index.
    std::span<const std::uint32_t> uses() const noexcept { return {uses_, n_nodes_}; }

    // Where a tensor stands: the index of a node, that of a leaf with leaf_bit, or nowhere for an operand that is left out.
    using Place = std::uint32_t;
    static constexpr Place leaf_bit = Place{1} << 31, nowhere = ~Place{0};
    // Those of all nodes' sources, node after node, and of the outputs. Together with what each tensor is by itself they are all that
    // there is to a graph, whatever objects it is made of.
    std::span<const Place> source_places() const noexcept { return {source_places_, n_sources_}; }
    std::span<const Place> output_places() const noexcept { return {output_places_, n_outputs_}; }
    Tensor *at(Place place) const noexcept { return place & leaf_bit ? leafs_[place & ~leaf_bit] : nodes_[place]; }
    // Equal where two graphs have the same operations and shapes at the same places; seldom equal otherwise.
    std::uint64_t hash() const noexcept { return hash_; }

    Context &context() const noexcept { return *context_; }

    // A context that computing touches, and whether it is written there.
    struct Reached {
        Ref<Context> context;
        bool written;
    };
    std::span<const Reached> contexts() const noexcept { return contexts_; }

    // One caller at a time plans or computes.
    RunLock &busy() noexcept { return busy_; }

    using Progress = bool (*)(void *user_data, std::size_t done, std::size_t total);
    Progress progress = nullptr;  // under busy()
    void *progress_data = nullptr;

    // Graphviz' DOT language: leafs as boxes, nodes as ellipses, outputs bold.
    std::string dot() const;

private:
    explicit Graph(Context &context) : context_(&context) {}
    ~Graph() override;
    void reach(Context &context, bool written);
    std::size_t block_size() const noexcept;

    Ref<Context> context_;
    std::vector<Reached> contexts_;
    RunLock busy_;

    // One block of the context's arena, in this order.
    void *block_ = nullptr;
    Tensor **nodes_ = nullptr, **leafs_ = nullptr, **outputs_ = nullptr;
    std::uint32_t *uses_ = nullptr;
    Place *source_places_ = nullptr, *output_places_ = nullptr;
    std::size_t n_nodes_ = 0, n_leafs_ = 0, n_outputs_ = 0, n_sources_ = 0;
    std::uint64_t hash_ = 0;
};

}  // namespace tensorlib::core
