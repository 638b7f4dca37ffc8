#include "graph/write_order.hpp"

#include "base/fail.hpp"
#include "graph/precedence.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tensorlib::core {

namespace {

using NodeIndex = GraphParts::NodeIndex;

std::atomic<std::uint64_t> writes{0};

// Whether a reader must precede a writer, wherever they are now.
bool must_precede(const Tensor &reader, const Tensor &writer) noexcept {
    const std::uint64_t seen = reader.state.seen_writes.load(std::memory_order_acquire);
    return seen != 0 && seen <= writer.state.write_number;
}

WrittenMemory::Access access_of(NodeIndex node, bool writes, const Tensor &t) noexcept {
    const Layout &l = t.layout;
    WrittenMemory::Access access{node, writes, t.root_offset, t.root_offset + l.span_bytes(), 0, 0, 0};
    const std::size_t pitch = l.nb[1];
    if (l.n_rows() == 1 || pitch == 0 || l.nb[2] % pitch != 0 || l.nb[3] % pitch != 0) return access;
    const DTypeTraits &type = traits(l.type);
    const std::size_t row = (static_cast<std::size_t>(l.ne[0] / type.block_size) - 1) * l.nb[0] + type.size, first = t.root_offset % pitch;
    if (row <= pitch - first) access.pitch = pitch, access.first_column = first, access.last_column = first + row;
    return access;
}

// A node of a group reads what is written later by a node that another one, built before it, needs.
[[noreturn]] void fail_between_collectives(std::span<Tensor *const> nodes, const Precedence &precedence) {
    const auto all = collectives(nodes);
    const auto stuck = std::ranges::find_if(all, [&](NodeIndex i) { return precedence.stuck(i); });
    const Tensor &node = *nodes[stuck == all.end() ? all.front() : *stuck];
    fail(Status::invalid_argument,
         "graph_create: %s of %s was built before a node of a group that must run first, because of what writes into its operands: build "
         "it later, or compute them by two graphs",
         op_name(node.op), sources_text(node).c_str());
}

// A reader that comes after the writer that it must precede.
struct Reversed {
    NodeIndex reader, writer;
    const Tensor *root;
};

}  // namespace

WrittenMemory::WrittenMemory(std::span<Tensor *const> nodes) {
    for (const Tensor *node : nodes) {
        for (std::size_t s = 0; s < node->n_src; s++) {
            if (node->writes(s)) add_list(*node->src[s]->root);
        }
    }
    if (accesses_.empty()) return;
    for (NodeIndex i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.is_pure_view()) continue;
        for (std::size_t s = 0; s < node.n_src; s++) {
            const std::uint32_t *list = node.src[s] ? lists_.find(node.src[s]->root) : nullptr;
            if (list && node.src[s]->layout.n_elements() != 0) accesses_[*list].push_back(access_of(i, node.writes(s), *node.src[s]));
        }
    }
    for (std::vector<Access> &all : accesses_)
        std::ranges::sort(all, {}, [](const Access &access) { return std::pair(access.begin, access.node); });
}

void WrittenMemory::add_list(const Tensor &root) {
    bool added;
    lists_.insert(&root, static_cast<std::uint32_t>(accesses_.size()), added);
    if (!added) return;
    accesses_.emplace_back();
    roots.push_back(&root);
}

std::uint64_t next_write() noexcept { return writes.fetch_add(1, std::memory_order_acq_rel) + 1; }
std::uint64_t writes_so_far() noexcept { return writes.load(std::memory_order_acquire); }

void note_seen_writes(Tensor &node) noexcept {
    std::uint64_t none = 0;
    // Keeps the first value, because the node's values are those of that time.
    node.state.seen_writes.compare_exchange_strong(none, writes_so_far() + 1, std::memory_order_acq_rel);
}

std::vector<NodeIndex> collectives(std::span<Tensor *const> nodes) {
    std::vector<NodeIndex> found;
    for (NodeIndex i = 0; i < nodes.size(); i++) {
        if (nodes[i]->is_collective) found.push_back(i);
    }
    std::ranges::sort(found, {}, [&](NodeIndex i) { return nodes[i]->state.write_number; });
    return found;
}

std::vector<NodeIndex> write_order(std::span<Tensor *const> nodes, std::span<const NodeIndex> source_indices) {
    // A model that only runs inference has none. Its graphs are built for each token, so its writes are not searched.
    const auto differentiated = [](const Tensor *node) { return node->state.seen_writes.load(std::memory_order_acquire) != 0; };
    const bool keeps_build_order = std::ranges::is_sorted(collectives(nodes));
    if (keeps_build_order && std::ranges::none_of(nodes, differentiated)) return {};
    const WrittenMemory memory(nodes);
    std::vector<Reversed> reversed;
    memory.for_each_pair([&](std::size_t r, const WrittenMemory::Access &earlier, const WrittenMemory::Access &later) {
        if (earlier.writes && must_precede(*nodes[later.node], *nodes[earlier.node]))
            reversed.push_back({later.node, earlier.node, memory.roots[r]});
    });
    if (keeps_build_order && reversed.empty()) return {};

    // Each node comes after its sources and after the accesses that it must not pass. Among nodes that may come next,
    // the first one in the old order is taken.
    Precedence precedence(nodes.size());
    std::size_t at = 0;
    for (NodeIndex i = 0; i < nodes.size(); i++) {
        for (std::size_t s = 0; s < nodes[i]->n_src; s++, at++) {
            if (GraphParts::is_node(source_indices[at])) precedence.follows(source_indices[at], i);
        }
    }
    memory.for_each_pair([&](std::size_t, const WrittenMemory::Access &earlier, const WrittenMemory::Access &later) {
        const bool swaps = earlier.writes && must_precede(*nodes[later.node], *nodes[earlier.node]);
        precedence.follows(swaps ? later.node : earlier.node, swaps ? earlier.node : later.node);
    });
    keep_build_order(nodes, [&](NodeIndex first, NodeIndex second) { precedence.follows(first, second); });
    const std::vector<NodeIndex> order = precedence.sorted([](NodeIndex i) { return i; });
    if (order.size() == nodes.size()) return order;
    if (reversed.empty()) fail_between_collectives(nodes, precedence);
    const auto stuck = std::ranges::find_if(reversed, [&](const Reversed &pair) { return precedence.stuck(pair.writer); });
    const Reversed &pair = stuck == reversed.end() ? reversed.front() : *stuck;
    fail(Status::invalid_argument,
         "graph_create: %s %s was differentiated before %s %s was made, and must read %s before that writes into it; but it, or what it is "
         "made "
         "of, needs what is written: compute them by two graphs, or differentiate after the write",
         op_name(nodes[pair.reader]->op), tensor_text(*nodes[pair.reader]).c_str(), op_name(nodes[pair.writer]->op),
         tensor_text(*nodes[pair.writer]).c_str(), tensor_text(*pair.root).c_str());
}

}  // namespace tensorlib::core
