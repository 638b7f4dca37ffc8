#include "graph/graph.hpp"

#include "base/fail.hpp"
#include "graph/tensor_set.hpp"
#include "graph/write_order.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// The walk's stack: a tensor, how many of its sources were visited, and where their places begin. A recursion would overflow the
// thread's stack on a long chain.
struct Frame {
    Tensor *tensor;
    std::uint32_t next_source;
    std::size_t first_place;
};

// What the walk collects: nodes in post-order with their use counts, and leafs in the order of their discovery.
struct Walk {
    using Place = Graph::Place;

    std::vector<Tensor *> nodes, leafs;
    std::vector<std::uint32_t> uses;
    std::vector<Place> source_places;
    TensorSet seen;  // tensor -> its place, once it has one
    std::vector<Frame> stack;
    // The places of the sources visited so far, of each tensor on the stack; at the bottom the outputs'.
    std::vector<Place> open_places;
    std::uint64_t hash = 0;

    // One more user of t; if t is new it is put on the stack.
    void visit(Tensor *t) {
        bool added;
        const Place place = seen.insert(t, static_cast<Place>(leafs.size()) | Graph::leaf_bit, added);
        if (t->is_leaf()) {
            if (added) {
                leafs.push_back(t);
                mix(*t);
            }
            open_places.push_back(place);
        } else if (added) {
            stack.push_back({t, 0, open_places.size()});
        } else {
            uses[place]++;
            open_places.push_back(place);
        }
    }

    void expand(Tensor *output) {
        visit(output);
        while (!stack.empty()) {
            Frame &frame = stack.back();
            if (frame.next_source < frame.tensor->n_src) {
                if (Tensor *source = frame.tensor->src[frame.next_source++]) {
                    visit(source);
                } else {
                    open_places.push_back(Graph::nowhere);
                }
                continue;
            }
            const auto first = open_places.begin() + static_cast<std::ptrdiff_t>(frame.first_place);
            source_places.insert(source_places.end(), first, open_places.end());
            open_places.erase(first, open_places.end());
            const auto place = static_cast<Place>(nodes.size());
            open_places.push_back(place);
            bool added;
            seen.insert(frame.tensor, 0, added) = place;
            nodes.push_back(frame.tensor);
            uses.push_back(1);
            mix(*frame.tensor);
            stack.pop_back();
        }
    }

    // The nodes in another order, as the old places.
    void reorder(std::span<const Place> order) {
        std::vector<Place> new_place(order.size());
        for (std::size_t i = 0; i < order.size(); i++) new_place[order[i]] = static_cast<Place>(i);
        const auto moved = [&](Place place) { return place & Graph::leaf_bit ? place : new_place[place]; };
        std::vector<std::size_t> first_source(order.size());
        for (std::size_t i = 0, at = 0; i < order.size(); at += nodes[i++]->n_src) first_source[i] = at;
        Walk old;
        old.nodes.swap(nodes), old.uses.swap(uses), old.source_places.swap(source_places);
        for (const Place place : order) {
            nodes.push_back(old.nodes[place]);
            uses.push_back(old.uses[place]);
            for (std::size_t s = 0; s < nodes.back()->n_src; s++)
                source_places.push_back(moved(old.source_places[first_source[place] + s]));
        }
        for (Place &place : open_places) place = moved(place);
    }

    // (Multiplications by odd numbers, so that equal extents in other dimensions are not the same.)
    void mix(const Tensor &t) noexcept {
        const Layout &l = t.layout;
        const auto extent = [&](std::size_t d) { return static_cast<std::uint64_t>(l.ne[d]); };
        const std::uint64_t shape = extent(0) + extent(1) * 0x100000001b3u + extent(2) * 0x10000000233u + extent(3) * 0x1000000000043u;
        const std::uint64_t kind = static_cast<std::uint64_t>(t.op) << 8 | static_cast<std::uint64_t>(l.type);
        hash = (hash ^ shape ^ kind << 40) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
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
    if (std::max(walk.nodes.size(), walk.leafs.size()) >= leaf_bit)
        fail(Status::unsupported, "graph_create: more than 2^31 nodes or leafs");

    if (const std::vector<Place> order = write_order(walk.nodes, walk.source_places); !order.empty()) walk.reorder(order);

    auto graph = Ref<Graph>::adopt(new Graph(context));
    graph->n_nodes_ = walk.nodes.size();
    graph->n_leafs_ = walk.leafs.size();
    graph->n_outputs_ = outputs.size();
    graph->n_sources_ = walk.source_places.size();
    graph->hash_ = walk.hash;
    const auto purpose = [&] { return format_text("graph_create: a graph of %zu nodes", walk.nodes.size()); };
    graph->block_ = for_purpose(purpose, [&] { return context.allocate_object(graph->block_size()); });
    graph->nodes_ = static_cast<Tensor **>(graph->block_);
    graph->leafs_ = std::copy(walk.nodes.begin(), walk.nodes.end(), graph->nodes_);
    graph->outputs_ = std::copy(walk.leafs.begin(), walk.leafs.end(), graph->leafs_);
    Tensor **end = std::copy(outputs.begin(), outputs.end(), graph->outputs_);
    graph->uses_ = reinterpret_cast<std::uint32_t *>(end);
    graph->source_places_ = std::copy(walk.uses.begin(), walk.uses.end(), graph->uses_);
    graph->output_places_ = std::copy(walk.source_places.begin(), walk.source_places.end(), graph->source_places_);
    std::copy(walk.open_places.begin(), walk.open_places.end(), graph->output_places_);

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
    return (n_nodes_ + n_leafs_ + n_outputs_) * sizeof(Tensor *) + n_nodes_ * sizeof(std::uint32_t) +
           (n_sources_ + n_outputs_) * sizeof(Place);
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
    if (PlanStore *plans = context_->plans()) plans->graph_gone(*this);
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
