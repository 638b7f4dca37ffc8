#include "graph/graph.hpp"

#include "base/fail.hpp"
#include "graph/tensor_set.hpp"
#include "graph/write_order.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace tensorlib::core {

namespace {

// An entry of the walk's stack: a tensor, how many of its sources were visited, and where their indices begin.
// Recursion would overflow the thread's stack on a long chain.
struct Frame {
    Tensor *tensor;
    std::uint32_t next_source;
    std::size_t first_place;
};

// What the walk collects: nodes in post-order, and leafs in the order of discovery.
struct Walk {
    using NodeIndex = GraphParts::NodeIndex;

    GraphParts parts;
    TensorSet seen;  // tensor -> its index, once it has one
    std::vector<Frame> stack;
    // The indices of the sources visited so far, for each tensor on the stack; the outputs' are at the bottom.
    std::vector<NodeIndex> open_indices;

    // Pushes t onto the stack if it is a new node.
    void visit(Tensor *t) {
        bool added;
        const NodeIndex place = seen.insert(t, static_cast<NodeIndex>(parts.leafs.size()) | GraphParts::leaf_bit, added);
        if (added && !t->is_leaf()) {
            stack.push_back({t, 0, open_indices.size()});
            return;
        }
        if (added) parts.leafs.push_back(t);
        open_indices.push_back(place);
    }

    void expand(Tensor *output) {
        visit(output);
        while (!stack.empty()) {
            Frame &frame = stack.back();
            if (frame.next_source < frame.tensor->n_src) {
                if (Tensor *source = frame.tensor->src[frame.next_source++]) {
                    visit(source);
                } else {
                    open_indices.push_back(GraphParts::nowhere);
                }
                continue;
            }
            const auto first = open_indices.begin() + static_cast<std::ptrdiff_t>(frame.first_place);
            parts.source_indices.insert(parts.source_indices.end(), first, open_indices.end());
            open_indices.erase(first, open_indices.end());
            const auto place = static_cast<NodeIndex>(parts.nodes.size());
            open_indices.push_back(place);
            bool added;
            seen.insert(frame.tensor, 0, added) = place;
            parts.nodes.push_back(frame.tensor);
            stack.pop_back();
        }
    }
};

// Multiplies by odd numbers, so that equal extents in different dimensions give different hashes.
std::uint64_t hash_of(const GraphParts &parts) noexcept {
    std::uint64_t hash = 0;
    for (const auto *tensors : {&parts.leafs, &parts.nodes}) {
        for (const Tensor *t : *tensors) {
            const Layout &l = t->layout;
            const auto extent = [&](std::size_t d) { return static_cast<std::uint64_t>(l.ne[d]); };
            const std::uint64_t shape = extent(0) + extent(1) * 0x100000001b3u + extent(2) * 0x10000000233u + extent(3) * 0x1000000000043u;
            const std::uint64_t kind = static_cast<std::uint64_t>(t->op) << 8 | static_cast<std::uint64_t>(l.type);
            hash = (hash ^ shape ^ kind << 40) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

}  // namespace

void reorder(GraphParts &parts, std::span<const GraphParts::NodeIndex> order) {
    using NodeIndex = GraphParts::NodeIndex;
    std::vector<NodeIndex> new_index(order.size());
    for (std::size_t i = 0; i < order.size(); i++) new_index[order[i]] = static_cast<NodeIndex>(i);
    const auto moved = [&](NodeIndex place) { return GraphParts::is_node(place) ? new_index[place] : place; };
    const std::vector<std::size_t> first_source = parts.first_sources();
    GraphParts old;
    old.nodes.swap(parts.nodes), old.source_indices.swap(parts.source_indices);
    for (const NodeIndex place : order) {
        parts.nodes.push_back(old.nodes[place]);
        for (std::size_t s = first_source[place]; s < first_source[place + 1]; s++)
            parts.source_indices.push_back(moved(old.source_indices[s]));
    }
    for (NodeIndex &place : parts.output_indices) place = moved(place);
}

Ref<Graph> Graph::create(Context &context, std::span<Tensor *const> outputs, const Arrange &arrange) {
    Walk walk;
    for (Tensor *output : outputs) {
        walk.expand(output);
    }
    GraphParts &parts = walk.parts;
    parts.output_indices.swap(walk.open_indices);
    if (std::max(parts.nodes.size(), parts.leafs.size()) >= leaf_bit)
        fail(Status::unsupported, "graph_create: more than 2^31 nodes or leafs");
    if (const std::vector<NodeIndex> order = write_order(parts.nodes, parts.source_indices); !order.empty()) reorder(parts, order);

    auto graph = Ref<Graph>::adopt(new Graph(context));
    if (arrange) graph->recomputation_ = arrange(parts);
    graph->fill_block(parts, outputs);
    graph->make_clones(parts);
    graph->reach_contexts(context);
    return graph;
}

void Graph::fill_block(const GraphParts &parts, std::span<Tensor *const> outputs) {
    n_nodes_ = parts.nodes.size();
    n_leafs_ = parts.leafs.size();
    n_outputs_ = outputs.size();
    n_sources_ = parts.source_indices.size();
    hash_ = hash_of(parts);
    has_collectives_ = std::ranges::any_of(parts.nodes, [](const Tensor *node) { return node->is_collective; });
    const auto purpose = [&] { return format_text("graph_create: a graph of %zu nodes", parts.nodes.size()); };
    block_ = for_purpose(purpose, [&] { return context_->allocate_object(block_size()); });
    nodes_ = static_cast<Tensor **>(block_);
    leafs_ = std::copy(parts.nodes.begin(), parts.nodes.end(), nodes_);
    outputs_ = std::copy(parts.leafs.begin(), parts.leafs.end(), leafs_);
    uses_ = reinterpret_cast<std::uint32_t *>(std::copy(outputs.begin(), outputs.end(), outputs_));
    source_indices_ = std::fill_n(uses_, n_nodes_, 0u);
    output_indices_ = std::copy(parts.source_indices.begin(), parts.source_indices.end(), source_indices_);
    std::copy(parts.output_indices.begin(), parts.output_indices.end(), output_indices_);
    for (const auto &places : {source_indices(), output_indices()}) {
        for (const NodeIndex place : places) {
            if (GraphParts::is_node(place)) uses_[place]++;
        }
    }
}

std::size_t Graph::clones_size() const noexcept {
    return n_clones_ * sizeof(Tensor) + n_sources_ * sizeof(Tensor *) + n_nodes_ * sizeof(std::uint32_t);
}

// Makes the graph's own tensors for recomputed nodes. They have the originals' attributes, shapes and names, but their
// own sources and memory.
void Graph::make_clones(const GraphParts &parts) {
    const std::size_t n = static_cast<std::size_t>(std::ranges::count(parts.clones, true));
    if (n == 0) return;
    n_clones_ = n;
    const auto purpose = [&] { return format_text("graph_create: %zu nodes that are computed again", n); };
    clones_block_ = for_purpose(purpose, [&] { return context_->allocate_object(clones_size()); });
    clones_ = static_cast<Tensor *>(clones_block_);
    sources_ = reinterpret_cast<Tensor **>(clones_ + n);
    first_source_ = reinterpret_cast<std::uint32_t *>(sources_ + n_sources_);
    const std::vector<NodeIndex> roots = parts.roots();
    std::uint32_t at = 0;
    for (std::size_t i = 0, next = 0; i < n_nodes_; i++) {
        first_source_[i] = at;
        const Tensor &node = *parts.nodes[i];
        for (std::size_t s = 0; s < node.n_src; s++, at++) {
            const NodeIndex source = source_indices_[at];
            sources_[at] = source == nowhere ? nullptr : this->at(source);
        }
        if (!parts.clones[i]) continue;
        auto *t = new (clones_ + next++) Tensor;
        t->layout = node.layout;
        t->op = node.op;
        t->n_src = node.n_src;
        t->is_view = node.is_view;
        t->is_collective = node.is_collective;
        t->context = node.context;
        t->src = sources_ + first_source_[i];
        t->attrs = node.attrs;
        t->attr_bytes = node.attr_bytes;
        t->root = roots[i] == i ? t : nodes_[roots[i]];
        t->root_offset = node.root_offset;
        t->state.original = node.known();
        nodes_[i] = t;
    }
}

std::size_t Graph::block_size() const noexcept {
    return (n_nodes_ + n_leafs_ + n_outputs_) * sizeof(Tensor *) + n_nodes_ * sizeof(std::uint32_t) +
           (n_sources_ + n_outputs_) * sizeof(NodeIndex);
}

// Collects all contexts that the graph's tensors are in.
void Graph::reach_contexts(Context &own) {
    std::unordered_map<const Context *, std::size_t> places;
    const auto reach = [&](Context &context, bool written) {
        const auto [at, is_new] = places.try_emplace(&context, contexts_.size());
        if (is_new) contexts_.push_back({Ref<Context>(&context), written});
        contexts_[at->second].written = contexts_[at->second].written || written;
    };
    reach(own, false);
    for (Tensor *leaf : leafs()) reach(*leaf->context, false);
    for (Tensor *node : nodes()) {
        reach(*node->context, false);
        // A view that computes nothing writes nothing. Any other node writes its root, which is its own memory or that
        // of the first operand that it writes into, and the roots of the other operands that it writes into.
        reach(*node->root->context, !node->is_pure_view());
        for (std::size_t s = 0; s < node->n_src; s++) {
            if (node->writes(s)) reach(*node->src[s]->root->context, true);
        }
    }
}

Graph::~Graph() {
    if (PlanStore *plans = context_->plans()) plans->graph_gone(*this);
    if (block_) context_->release_object(block_, block_size());
    if (clones_block_) context_->release_object(clones_block_, clones_size());
}

namespace {

// Labels are quoted, so quotes and backslashes are escaped.
std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

std::string Graph::dot() const {
    TensorSet index;
    std::string text = "digraph tensorlib {\n  rankdir=BT;\n";
    const auto declare = [&](const Tensor *t, char kind, std::size_t i, const char *shape) {
        const bool output = std::find(outputs_, outputs_ + n_outputs_, t) != outputs_ + n_outputs_;
        bool added;
        index.insert(t, static_cast<std::uint32_t>(i), added);
        text += format_text("  %c%zu [shape=%s%s label=\"%s %s\"];\n", kind, i, shape, output ? " style=bold" : "", op_name(t->op),
                            escaped(tensor_text(*t)).c_str());
    };
    for (std::size_t i = 0; i < n_leafs_; i++) declare(leafs_[i], 'l', i, "box");
    for (std::size_t i = 0; i < n_nodes_; i++) declare(nodes_[i], 'n', i, "ellipse");
    for (std::size_t i = 0; i < n_nodes_; i++) {
        for (std::size_t s = 0; s < nodes_[i]->n_src; s++) {
            const Tensor *source = sources(i)[s];
            if (!source) continue;
            text += format_text("  %c%u -> n%zu [label=\"%zu\"];\n", source->is_leaf() ? 'l' : 'n', *index.find(source), i, s);
        }
    }
    return text + "}\n";
}

}  // namespace tensorlib::core
