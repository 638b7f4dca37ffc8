// A graph: the nodes that some outputs need, in post-order, with leafs and use counts. Immutable once built.
#pragma once

#include "graph/context.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tensorlib::core {

class Graph final : public RefCounted {
public:
    // Post-order over the outputs in the order given; every tensor once. Its arrays live in `context`'s arena; it
    // keeps all contexts that it reaches alive.
    static Ref<Graph> create(Context &context, std::span<Tensor *const> outputs);

    std::span<Tensor *const> nodes() const noexcept { return {nodes_, n_nodes_}; }
    std::span<Tensor *const> leafs() const noexcept { return {leafs_, n_leafs_}; }
    std::span<Tensor *const> outputs() const noexcept { return {outputs_, n_outputs_}; }
    // How many sources of nodes, and outputs, each node is; by the node's index.
    std::span<const std::uint32_t> uses() const noexcept { return {uses_, n_nodes_}; }

    Context &context() const noexcept { return *context_; }

    // A context that computing touches, and whether it is written there.
    struct Reached {
        Ref<Context> context;
        bool written;
    };
    std::span<const Reached> contexts() const noexcept { return contexts_; }

    // What a backend made of this graph: the runtime hangs its plans here.
    class Attachment {
    public:
        virtual ~Attachment() = default;
    };
    // Guarded by the runtime's use of busy().
    std::vector<std::unique_ptr<Attachment>> &attachments() noexcept { return attachments_; }
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
    std::vector<std::unique_ptr<Attachment>> attachments_;
    RunLock busy_;

    // One block of the context's arena: nodes, leafs, outputs, uses.
    void *block_ = nullptr;
    Tensor **nodes_ = nullptr, **leafs_ = nullptr, **outputs_ = nullptr;
    std::uint32_t *uses_ = nullptr;
    std::size_t n_nodes_ = 0, n_leafs_ = 0, n_outputs_ = 0;
};

}  // namespace tensorlib::core
