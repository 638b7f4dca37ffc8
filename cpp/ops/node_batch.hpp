// Several nodes that are made together: all of them are kept, or none.
#pragma once

#include "ops/op_def.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace tensorlib::core {

// Appends nodes to a context, and takes back those that are not kept.
class NodeBatch {
public:
    explicit NodeBatch(Context &context) noexcept : context_(context) {}
    ~NodeBatch();
    NodeBatch(const NodeBatch &) = delete;
    NodeBatch &operator=(const NodeBatch &) = delete;

    // build_node() in the context of the batch. All nodes of a composed operation belong to the batch.
    Tensor *make(Op op, std::span<Tensor *const> src, std::span<const Attr> attrs = {});
    Tensor *make(Op op, std::initializer_list<Tensor *> src, std::initializer_list<Attr> attrs = {}) {
        return make(op, std::span(src.begin(), src.size()), std::span(attrs.begin(), attrs.size()));
    }
    // Those that were made since the last keep().
    std::span<Tensor *const> made() const noexcept { return made_; }
    void keep() noexcept { made_.clear(); }
    // Takes over a node, which is taken back if that fails.
    void adopt(Tensor &node);
    // Takes over the nodes of another batch in the same context.
    void take(NodeBatch &other);

private:
    Context &context_;
    std::vector<Tensor *> made_;
};

}  // namespace tensorlib::core
