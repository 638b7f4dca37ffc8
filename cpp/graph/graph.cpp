#include "graph/graph.hpp"

#include "base/fail.hpp"
#include "graph/tensor_set.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tensorlib::core {

namespace {

// The walk's stack: a tensor and how many of its sources were visited. A recursion would overflow the thread's stack
// on a long chain.
struct Frame {
    Tensor *tensor;
    std::uint32_t next_source;
};

// What the walk collects: nodes in post-order with their use counts, and leafs in the order of their discovery.
struct Walk {
    std::vector<Tensor *> nodes, leafs;
    std::vector<std::uint32_t> uses;
    TensorSet seen;  // node -> its index in nodes, once it has one
    std::vector<Frame> stack;

    // One more user of t; if t is new it is put on the stack.
    void visit(Tensor *t) {
        bool added;
        const std::uint32_t index = seen.insert(t, 0, added);
        if (t->is_leaf()) {
            if (added) leafs.push_back(t);
            return;
        }
        if (added) {
            stack.push_back({t, 0});
        } else {
            uses[index]++;
        }
    }

    void expand(Tensor *output) {
        visit(output);
        while (!stack.empty()) {
            Frame &frame = stack.back();
            if (frame.next_source < frame.tensor->n_src) {
                if (Tensor *source = frame.tensor->src[frame.next_source++]) visit(source);
                continue;
            }
            bool added;
            seen.insert(frame.tensor, 0, added) = static_cast<std::uint32_t>(nodes.size());
            nodes.push_back(frame.tensor);
            uses.push_back(1);
            stack.pop_back();
        }
    }
};

}  // namespace

Ref<Graph> Graph::create(Context &context, std::span<Tensor *const> outputs) {
    Walk walk;
    for (Tensor *output : outputs) {
        if (&output->context->memory() != &context.memory()) {
            fail(Status::context_mismatch, "graph_create: output %s lives on %s, the graph's context on %s", tensor_text(*output).c_str(),
                 output->context->memory().device(), context.memory().device());
        }
        walk.expand(output);
    }
    if (walk.nodes.size() >= std::numeric_limits<std::uint32_t>::max()) fail(Status::unsupported, "graph_create: more than 2^32 nodes");

    auto graph = Ref<Graph>::adopt(new Graph(context));
    graph->n_nodes_ = walk.nodes.size();
    graph->n_leafs_ = walk.leafs.size();
    graph->n_outputs_ = outputs.size();
    const auto purpose = [&] { return format_text("graph_create: a graph of %zu nodes", walk.nodes.size()); };
    graph->block_ = for_purpose(purpose, [&] { return context.allocate_object(graph->block_size()); });
    graph->nodes_ = static_cast<Tensor **>(graph->block_);
    graph->leafs_ = std::copy(walk.nodes.begin(), walk.nodes.end(), graph->nodes_);
    graph->outputs_ = std::copy(walk.leafs.begin(), walk.leafs.end(), graph->leafs_);
    Tensor **end = std::copy(outputs.begin(), outputs.end(), graph->outputs_);
    graph->uses_ = reinterpret_cast<std::uint32_t *>(end);
    std::copy(walk.uses.begin(), walk.uses.end(), graph->uses_);

    graph->reach(context, false);
    for (Tensor *leaf : walk.leafs) graph->reach(*leaf->context, false);
    for (Tensor *node : walk.nodes) {
        graph->reach(*node->context, false);
        // A view that computes nothing writes nothing; any other node writes its root: its own memory, or that of
        // the first operand that it writes into, and the others'.
        graph->reach(*node->root->context, !node->is_pure_view());
        for (std::size_t s = 0; s < node->n_src; s++) {
            if (node->writes(s)) graph->reach(*node->src[s]->root->context, true);
        }
    }
    return graph;
}

std::size_t Graph::block_size() const noexcept {
    return (n_nodes_ + n_leafs_ + n_outputs_) * sizeof(Tensor *) + n_nodes_ * sizeof(std::uint32_t);
}

void Graph::reach(Context &context, bool written) {
    // Nearly always the one asked for last, or one of very few.
    for (Reached &known : contexts_) {
        if (known.context.get() == &context) {
            known.written = known.written || written;
            return;
        }
    }
    contexts_.push_back({Ref<Context>(&context), written});
}

Graph::~Graph() {
    attachments_.clear();
    context_->release_object(block_, block_size());
}

namespace {

// Labels stand in quotes, where a quote and a backslash must be escaped.
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
            const Tensor *source = nodes_[i]->src[s];
            if (!source) continue;
            text += format_text("  %c%u -> n%zu [label=\"%zu\"];\n", source->is_leaf() ? 'l' : 'n', *index.find(source), i, s);
        }
    }
    return text + "}\n";
}

}  // namespace tensorlib::core
