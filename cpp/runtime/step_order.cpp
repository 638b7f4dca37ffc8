#include "runtime/step_order.hpp"

#include "graph/precedence.hpp"
#include "graph/write_order.hpp"

#include <algorithm>
#include <tuple>

namespace tensorlib::core {

namespace {

using NodeIndex = GraphParts::NodeIndex;

// The step of a larger parameter uses all threads by itself. The waiting gradients have some megabytes at most, which
// is little for a model whose gradients have more.
constexpr std::size_t small_bytes = std::size_t{64} << 10, most_waiting = std::size_t{4} << 20;

// Which nodes move to the end.
std::vector<bool> small_steps(const GraphParts &parts) {
    std::vector<bool> late(parts.nodes.size());
    std::vector<bool> is_read(parts.nodes.size());
    for (const NodeIndex place : parts.source_indices) {
        if (GraphParts::is_node(place)) is_read[place] = true;
    }
    std::size_t at = 0, waiting = 0;
    for (std::size_t i = 0; i < parts.nodes.size(); at += parts.nodes[i++]->n_src) {
        const Tensor &node = *parts.nodes[i];
        if (!node.writes() || node.state.gradient_number == 0 || is_read[i]) continue;
        std::size_t bytes = 0;
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (GraphParts::is_node(parts.source_indices[at + s])) bytes += node.src[s]->layout.nbytes();
        }
        late[i] = bytes <= small_bytes && waiting + bytes <= most_waiting;
        if (late[i]) waiting += bytes;
    }
    return late;
}

}  // namespace

void put_small_steps_last(GraphParts &parts) {
    // Few graphs have any. A model that only runs inference is built for each token.
    const auto may_be_one = [](const Tensor *node) { return node->writes() && node->state.gradient_number != 0; };
    if (std::ranges::count_if(parts.nodes, may_be_one) < 2) return;
    const std::vector<bool> late = small_steps(parts);
    if (std::ranges::count(late, true) < 2) return;
    Precedence precedence(parts.nodes.size());
    std::size_t at = 0;
    for (NodeIndex i = 0; i < parts.nodes.size(); i++) {
        for (std::size_t s = 0; s < parts.nodes[i]->n_src; s++, at++) {
            if (GraphParts::is_node(parts.source_indices[at])) precedence.follows(parts.source_indices[at], i);
        }
    }
    WrittenMemory(parts.nodes).for_each_pair([&](std::size_t, const WrittenMemory::Access &earlier, const WrittenMemory::Access &later) {
        precedence.follows(earlier.node, later.node);
    });
    keep_build_order(parts.nodes, [&](NodeIndex first, NodeIndex second) { precedence.follows(first, second); });
    const auto key = [&](NodeIndex i) { return std::tuple(static_cast<bool>(late[i]), late[i] ? parts.nodes[i]->op : Op::leaf, i); };
    reorder(parts, precedence.sorted(key));
}

}  // namespace tensorlib::core
