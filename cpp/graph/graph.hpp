// A graph: the nodes that some outputs need, in post-order, with leafs and use counts. It is immutable once built.
#pragma once

#include "graph/context.hpp"
#include "graph/graph_parts.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

struct tl_tensor;

namespace tensorlib::core {

class Graph final : public RefCounted {
public:
    // Nodes are in post-order over the outputs in the given order, and each tensor occurs once. Writers come after
    // nodes that were differentiated before the writers were made (graph/write_order.hpp). The graph's arrays live in
    // `context`'s arena. The graph keeps all contexts that it reaches alive.
    //
    // `arrange`, if given, gets the graph's parts. It may reorder them and have nodes recomputed (GraphParts::clones).
    // Clones become the graph's own tensors, and their readers read them in place of the originals (sources()). The
    // graph stores the Recomputation that `arrange` returns.
    using Arrange = std::function<Recomputation(GraphParts &parts)>;
    static Ref<Graph> create(Context &context, std::span<Tensor *const> outputs, const Arrange &arrange = {});

    std::span<Tensor *const> nodes() const noexcept { return {nodes_, n_nodes_}; }
    std::span<Tensor *const> leafs() const noexcept { return {leafs_, n_leafs_}; }
    std::span<Tensor *const> outputs() const noexcept { return {outputs_, n_outputs_}; }
    // For each node, by its index: how often it is a source of a node or an output.
    std::span<const std::uint32_t> uses() const noexcept { return {uses_, n_nodes_}; }

    // What node i reads: its operands, null for those that are left out. A clone that is computed for node i stands in
    // for its original. Code that needs run order or operand addresses must ask here and not the node. Shapes and
    // attributes are the same in both.
    std::span<Tensor *const> sources(std::size_t i) const noexcept {
        return {sources_ ? sources_ + first_source_[i] : nodes_[i]->src, nodes_[i]->n_src};
    }
    const Recomputation &recomputation() const noexcept { return recomputation_; }

    using NodeIndex = GraphParts::NodeIndex;
    static constexpr NodeIndex leaf_bit = GraphParts::leaf_bit, nowhere = GraphParts::nowhere;
    // The indices of all nodes' sources, node after node, and of the outputs. Together with the properties of each
    // tensor, they describe the graph completely, independent of its objects.
    std::span<const NodeIndex> source_indices() const noexcept { return {source_indices_, n_sources_}; }
    std::span<const NodeIndex> output_indices() const noexcept { return {output_indices_, n_outputs_}; }
    Tensor *at(NodeIndex place) const noexcept { return place & leaf_bit ? leafs_[place & ~leaf_bit] : nodes_[place]; }
    // Equal for graphs with the same operations and shapes at the same positions; seldom equal otherwise.
    std::uint64_t hash() const noexcept { return hash_; }

    Context &context() const noexcept { return *context_; }

    // A context that computing touches, and whether it is written.
    struct Reached {
        Ref<Context> context;
        bool written;
    };
    std::span<const Reached> contexts() const noexcept { return contexts_; }

    // Only one caller at a time plans or computes.
    RunLock &busy() noexcept { return busy_; }

    using Progress = bool (*)(void *user_data, std::size_t done, std::size_t total);
    Progress progress = nullptr;  // under busy()
    void *progress_data = nullptr;
    // Whether runs look for the first non-finite result, node by node.
    bool check_finite = false;  // under busy()
    // Whether the bits of a column do not depend on how many columns are computed with it (tl_graph_set_batch_invariant).
    bool batch_invariant = false;  // under busy()
    // Called with each node and its result. The node is passed as the C ABI's handle, which is the tensor itself.
    using Observe = bool (*)(void *user_data, ::tl_tensor *node, std::size_t done, std::size_t total);
    Observe observe = nullptr;  // under busy()
    void *observe_data = nullptr;
    // Whether it has nodes of groups.
    bool has_collectives() const noexcept { return has_collectives_; }
    // Whether the other ranks' graphs were compared with this one, if it has nodes of groups.
    bool has_agreed = false;  // under busy()
    // Whether plans run each node by itself, so that each has a result.
    bool runs_nodes_singly() const noexcept { return check_finite || observe; }

    // Graphviz' DOT language: leafs are boxes, nodes are ellipses, outputs are bold.
    std::string dot() const;

private:
    explicit Graph(Context &context) : context_(&context) {}
    ~Graph() override;
    void reach_contexts(Context &own);
    std::size_t block_size() const noexcept;
    void fill_block(const GraphParts &parts, std::span<Tensor *const> outputs);
    void make_clones(const GraphParts &parts);

    Ref<Context> context_;
    std::vector<Reached> contexts_;
    RunLock busy_;

    // One block of the context's arena, in this order.
    void *block_ = nullptr;
    Tensor **nodes_ = nullptr, **leafs_ = nullptr, **outputs_ = nullptr;
    std::uint32_t *uses_ = nullptr;
    NodeIndex *source_indices_ = nullptr, *output_indices_ = nullptr;
    std::size_t n_nodes_ = 0, n_leafs_ = 0, n_outputs_ = 0, n_sources_ = 0;
    std::uint64_t hash_ = 0;
    bool has_collectives_ = false;

    // A second block if nodes are recomputed: the clones, all nodes' sources, and where each node's sources begin.
    void *clones_block_ = nullptr;
    Tensor *clones_ = nullptr;
    Tensor **sources_ = nullptr;
    std::uint32_t *first_source_ = nullptr;
    std::size_t n_clones_ = 0;
    std::size_t clones_size() const noexcept;
    Recomputation recomputation_;
};

}  // namespace tensorlib::core
