#include "runtime/collectives.hpp"

#include "base/fail.hpp"
#include "graph/strided_bytes.hpp"
#include "graph/write_order.hpp"
#include "groups/agreement.hpp"
#include "ops/collectives.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tensorlib::core {

namespace {

std::size_t ranks(const Group &group) noexcept { return static_cast<std::size_t>(group.size()); }

// Calls move(place in the divided tensor, place among the parts) for each run of bytes. The parts follow each other, each
// with all its runs.
template <class Move>
void for_each_run(const Division &d, std::size_t n_parts, Move move) {
    const auto outer = static_cast<std::size_t>(d.outer);
    for (std::size_t part = 0; part < n_parts; part++) {
        for (std::size_t o = 0; o < outer; o++) move((o * n_parts + part) * d.inner, (part * outer + o) * d.inner);
    }
}
void divide(const Division &d, std::size_t n_parts, const std::byte *whole, std::byte *parts) noexcept {
    for_each_run(d, n_parts, [&](std::size_t at, std::size_t in_parts) { std::memcpy(parts + in_parts, whole + at, d.inner); });
}
void unite(const Division &d, std::size_t n_parts, const std::byte *parts, std::byte *whole) noexcept {
    for_each_run(d, n_parts, [&](std::size_t at, std::size_t in_parts) { std::memcpy(whole + at, parts + in_parts, d.inner); });
}

// The tensor that is divided, or made of parts, and how.
Division division_of(const Tensor &node) noexcept {
    const int n = group_of(node).size();
    switch (node.op) {
        case Op::all_gather: return division(node.layout, attrs_of<ops::AllGatherAttrs>(node).dim, n);
        case Op::sum_scatter: return division(node.src[0]->layout, attrs_of<ops::SumScatterAttrs>(node).dim, n);
        case Op::all_to_all: return division(node.src[0]->layout, attrs_of<ops::AllToAllAttrs>(node).dim, n);
        default: return {1, node.layout.nbytes()};
    }
}

// The groups of a graph's nodes, each once.
std::vector<const Group *> groups_of(const Graph &graph) {
    std::vector<const Group *> groups;
    if (!graph.has_collectives()) return groups;
    for (const Tensor *node : graph.nodes()) {
        if (!node->is_collective) continue;
        const Group &group = group_of(*node);
        if (std::ranges::find(groups, &group) == groups.end()) groups.push_back(&group);
    }
    return groups;
}

Reduction reduction_of(const Tensor &node) noexcept { return node.op == Op::all_max ? Reduction::max : Reduction::sum; }

}  // namespace

std::size_t collective_workspace(const Tensor &node) noexcept {
    const Group &group = group_of(node);
    const bool is_divided = division_of(node).outer > 1;
    const DType type = node.layout.type;
    const std::int64_t n = node.layout.n_elements();
    switch (node.op) {
        case Op::all_sum:
        case Op::all_max: return group.all_reduce_workspace(reduction_of(node), type, n);
        case Op::all_gather: return is_divided ? node.layout.nbytes() : 0;
        case Op::sum_scatter: return group.reduce_parts_workspace(type, n) + (is_divided ? node.src[0]->layout.nbytes() : 0);
        case Op::all_to_all: return is_divided ? 2 * node.layout.nbytes() : 0;
        default: return 0;
    }
}

void run_collective(const Tensor &node, const std::byte *a, std::byte *c, std::byte *workspace, StepWatch *watch,
                    const std::shared_ptr<const void> &memory) {
    const Group &group = group_of(node);
    const Layout &operand = node.src[0]->layout;
    // All ranks have the same shapes, so none of them waits for this one.
    if (operand.n_elements() == 0) return;
    const auto what = [&node] { return "graph_compute: " + std::string(op_name(node.op)) + " of " + sources_text(node); };
    const Group::Call call{what, watch, memory};
    const Division d = division_of(node);
    const std::size_t n = ranks(group), bytes = operand.nbytes();
    switch (node.op) {
        case Op::all_sum:
        case Op::all_max: return group.all_reduce(call, reduction_of(node), operand.type, a, c, operand.n_elements(), workspace);
        case Op::all_gather:
            if (d.outer == 1) return group.gather(call, a, c, bytes);
            group.gather(call, a, workspace, bytes);
            return unite(d, n, workspace, c);
        case Op::sum_scatter: {
            std::byte *parts = workspace + (d.outer > 1 ? bytes : 0);
            if (d.outer > 1) divide(d, n, a, workspace);
            return group.reduce_parts(call, operand.type, d.outer > 1 ? workspace : a, c, node.layout.n_elements(), parts);
        }
        case Op::broadcast: return group.broadcast(call, a, c, bytes, static_cast<int>(attrs_of<ops::BroadcastAttrs>(node).root));
        case Op::all_to_all:
            if (d.outer == 1) return group.swap_parts(call, a, c, bytes / n);
            divide(d, n, a, workspace);
            group.swap_parts(call, workspace, workspace + bytes, bytes / n);
            return unite(d, n, workspace + bytes, c);
        case Op::send:
            group.send(call, a, bytes, static_cast<int>(attrs_of<ops::SendAttrs>(node).to));
            std::memcpy(c, a, bytes);
            return;
        case Op::receive: return group.receive(call, c, bytes, static_cast<int>(attrs_of<ops::ReceiveAttrs>(node).from));
        default: return;
    }
}

void read_operand(const TensorRef &a, DeviceMemory &memory, std::byte *to) {
    const Layout layout{a.type, max_dims, a.ne, a.nb};
    StridedReader(layout, a.data, memory).read(to, 0, layout.nbytes());
}

std::vector<Group::Hold> hold_groups(const Graph &graph) {
    std::vector<Group::Hold> holds;
    for (const Group *group : groups_of(graph)) holds.emplace_back(*group, "graph_compute");
    return holds;
}

void check_collectives(Graph &graph, StepWatch *watch) {
    if (graph.has_agreed || !graph.has_collectives()) return;
    const auto nodes = graph.nodes();
    struct OfGroup {
        const Group *group;
        Intentions intentions;
    };
    std::vector<OfGroup> groups;
    for (const Graph::NodeIndex i : collectives(nodes)) {
        const Tensor &node = *nodes[i];
        const Group &group = group_of(node);
        auto found = std::ranges::find(groups, &group, &OfGroup::group);
        if (found == groups.end()) found = groups.insert(groups.end(), {&group, {}});
        Intentions &own = found->intentions;
        const std::string after = " after " + std::to_string(own.collectives.size()) + " others";
        if (node.op == Op::send) {
            own.transfers.push_back({static_cast<int>(attrs_of<ops::SendAttrs>(node).to), true, layout_text(node.layout) + after});
        } else if (node.op == Op::receive) {
            own.transfers.push_back({static_cast<int>(attrs_of<ops::ReceiveAttrs>(node).from), false, layout_text(node.layout) + after});
        } else {
            own.collectives.push_back(collective_text(node));
        }
    }
    for (const OfGroup &one : groups) agree(*one.group, {[] { return std::string("graph_compute"); }, watch, {}}, one.intentions);
    graph.has_agreed = true;
}

void fail_groups(const Graph &graph) noexcept {
    if (!graph.has_agreed) return;
    try {
        std::string why = "no memory";
        try {
            throw;
        } catch (const Error &error) {
            why = error.what();
        } catch (const std::exception &) {
            // Another exception is exhausted memory, or a defect whose text is for its own rank.
        }
        for (const Group *group : groups_of(graph)) group->fail_because(why);
    } catch (...) {
        // Without memory for the reason, the others wait until the deadline.
    }
}

bool exchanges_use_memory_of(const Graph &graph) noexcept {
    const auto does = [](const Tensor *node) { return node->is_collective && group_of(*node).uses_memory_of_run(); };
    return graph.has_collectives() && std::ranges::any_of(graph.nodes(), does);
}

}  // namespace tensorlib::core
