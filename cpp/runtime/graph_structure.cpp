#include "runtime/graph_structure.hpp"

#include "graph/stand_in.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

bool owns_data(const Tensor &node) noexcept { return node.root == &node && node.storage.data.load(std::memory_order_acquire); }

bool is_same(const Layout &a, const Layout &b) noexcept { return a.type == b.type && a.n_dims == b.n_dims && a.ne == b.ne && a.nb == b.nb; }

}  // namespace

GraphStructure::GraphStructure(const Graph &graph)
    : hash_(graph.hash()),
      limit_(graph.recomputation().limit),
      runs_nodes_singly_(graph.runs_nodes_singly()),
      batch_invariant_(graph.batch_invariant),
      source_indices_(graph.source_indices().begin(), graph.source_indices().end()),
      output_indices_(graph.output_indices().begin(), graph.output_indices().end()) {
    std::size_t attr_bytes = 0;
    for (const Tensor *node : graph.nodes()) attr_bytes += node->attr_bytes;
    std::vector<const Tensor *> outputs;
    for (const Tensor *output : graph.outputs()) outputs.push_back(output->root);
    std::ranges::sort(outputs);
    attrs_.reserve(attr_bytes);
    nodes_.reserve(graph.nodes().size());
    for (const Tensor *node : graph.nodes()) {
        Item item = item_of(*node);
        item.is_output = node->root == node && std::ranges::binary_search(outputs, node);
        item.owns_data = owns_data(*node);
        nodes_.push_back(item);
        const auto *attrs = static_cast<const std::byte *>(node->attrs);
        attrs_.insert(attrs_.end(), attrs, attrs + node->attr_bytes);
    }
    leafs_.reserve(graph.leafs().size());
    for (const Tensor *leaf : graph.leafs()) {
        Item item = item_of(*leaf);
        item.dropped = is_dropped(*leaf);
        item.constant = leaf->storage.constant.load(std::memory_order_acquire);
        leafs_.push_back(item);
    }
}

GraphStructure::Item GraphStructure::item_of(const Tensor &t) noexcept {
    return {.layout = t.layout,
            .op = t.op,
            .attr_bytes = t.attr_bytes,
            .is_view = t.is_view,
            .memory = &t.context->memory(),
            .placed_on = t.known()->state.placed_on.load(std::memory_order_acquire)};
}

// The operation and its attributes determine a view's offset and root, and which operands are written.
bool GraphStructure::is_same(const Item &item, const Tensor &t) noexcept {
    const Item other = item_of(t);
    return item.op == other.op && item.attr_bytes == other.attr_bytes && item.is_view == other.is_view && item.memory == other.memory &&
           item.placed_on == other.placed_on && core::is_same(item.layout, other.layout);
}

bool GraphStructure::is_of(const Graph &graph) const noexcept {
    if (limit_ != graph.recomputation().limit || !is_run_as(graph)) return false;
    if (hash_ != graph.hash() || nodes_.size() != graph.nodes().size() || leafs_.size() != graph.leafs().size()) return false;
    if (!std::ranges::equal(source_indices_, graph.source_indices()) || !std::ranges::equal(output_indices_, graph.output_indices()))
        return false;
    for (std::size_t i = 0; i < leafs_.size(); i++) {
        const Tensor &leaf = *graph.leafs()[i];
        if (!is_same(leafs_[i], leaf) || leafs_[i].dropped != is_dropped(leaf)) return false;
        if (leafs_[i].constant != leaf.storage.constant.load(std::memory_order_acquire)) return false;
    }
    const std::byte *attrs = attrs_.data();
    for (std::size_t i = 0; i < nodes_.size(); i++) {
        const Tensor &node = *graph.nodes()[i];
        if (!is_same(nodes_[i], node)) return false;
        if (node.attr_bytes != 0 && std::memcmp(attrs, node.attrs, node.attr_bytes) != 0) return false;
        attrs += node.attr_bytes;
        if (!nodes_[i].is_output && nodes_[i].owns_data != owns_data(node)) return false;
    }
    return true;
}

std::size_t GraphStructure::bytes() const noexcept {
    return (nodes_.capacity() + leafs_.capacity()) * sizeof(Item) + attrs_.capacity() +
           (source_indices_.capacity() + output_indices_.capacity()) * sizeof(Graph::NodeIndex);
}

}  // namespace tensorlib::core
