#include "runtime/memory_planner.hpp"

#include "base/best_fit.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/tensor_set.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// A block of unknown length: gaps are kept sorted by offset, neighbours merged.
class Offsets {
public:
    std::size_t take(std::size_t size) {
        const auto best = best_fit(gaps_, size);
        if (best != gaps_.end()) {
            const std::size_t offset = best->offset;
            best->offset += size;
            best->size -= size;
            if (best->size == 0) gaps_.erase(best);
            return offset;
        }
        // A gap at the end can be lengthened instead of left behind.
        std::size_t offset = end_;
        if (!gaps_.empty() && gaps_.back().offset + gaps_.back().size == end_) {
            offset = gaps_.back().offset;
            gaps_.pop_back();
        }
        if (!checked_add(offset, size, end_))
            fail(Status::out_of_memory, "graph: its intermediates have more bytes than an address can count");
        return offset;
    }

    void give(std::size_t offset, std::size_t size) {
        auto next = std::lower_bound(gaps_.begin(), gaps_.end(), offset, [](const Gap &g, std::size_t o) { return g.offset < o; });
        if (next != gaps_.begin() && (next - 1)->offset + (next - 1)->size == offset) {
            --next;
            next->size += size;
        } else {
            next = gaps_.insert(next, {offset, size});
        }
        const auto after = next + 1;
        if (after != gaps_.end() && next->offset + next->size == after->offset) {
            next->size += after->size;
            gaps_.erase(after);
        }
    }

    std::size_t end() const noexcept { return end_; }

private:
    struct Gap {
        std::size_t offset, size;
    };
    std::vector<Gap> gaps_;
    std::size_t end_ = 0;
};

// Of each node the last one that uses its memory; and its bytes, 0 where it has none in the block.
struct Lifetimes {
    std::vector<std::size_t> last_use, size;

    explicit Lifetimes(std::size_t n) : last_use(n), size(n) {
        for (std::size_t i = 0; i < n; i++) last_use[i] = i;
    }
    void used(std::size_t root, std::size_t at) { last_use[root] = std::max(last_use[root], at); }
};

std::size_t block_of(const Tensor &node, std::size_t alignment) { return std::max(round_up(node.layout.nbytes(), alignment), alignment); }

// under(i): the node that dies in node i and whose place node i takes, or null.
template <class Under>
MemoryPlan place_in_turn(const Lifetimes &lives, Under under) {
    const std::size_t n = lives.size.size();
    MemoryPlan plan;
    plan.offset.assign(n, MemoryPlan::nowhere);
    // Nodes by the one after which they are free: a counting sort.
    std::vector<std::size_t> start(n, 0);
    std::vector<std::uint32_t> ending(n);
    for (std::size_t i = 0; i < n; i++) start[lives.last_use[i]]++;
    for (std::size_t i = 1; i < n; i++) start[i] += start[i - 1];
    for (std::size_t i = n; i-- > 0;) ending[--start[lives.last_use[i]]] = static_cast<std::uint32_t>(i);

    Offsets offsets;
    for (std::size_t i = 0; i < n; i++) {
        const std::uint32_t *below = lives.size[i] ? under(i) : nullptr;
        if (lives.size[i]) {
            plan.offset[i] = below ? plan.offset[*below] : offsets.take(lives.size[i]);
            plan.unshared += lives.size[i];
        }
        const std::size_t end = i + 1 < n ? start[i + 1] : n;
        for (std::size_t e = start[i]; e < end; e++) {
            const std::uint32_t dead = ending[e];
            if (lives.size[dead] && !(below && dead == *below)) offsets.give(plan.offset[dead], lives.size[dead]);
        }
    }
    plan.size = offsets.end();
    return plan;
}

}  // namespace

MemoryPlan plan_memory(const Graph &graph, const std::vector<bool> &is_intermediate, std::span<const CheckedNode> checked,
                       std::span<const std::uint32_t> runs_in, std::span<const std::vector<const Tensor *>> overwritable,
                       std::size_t alignment) {
    const auto nodes = graph.nodes();
    TensorSet index;
    Lifetimes lives(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        bool added;
        index.insert(nodes[i], static_cast<std::uint32_t>(i), added);
        if (is_intermediate[i]) lives.size[i] = block_of(*nodes[i], alignment);
        // A cpy's target is touched by the node itself; so are the roots of all sources.
        const std::size_t at = runs_in.empty() ? i : runs_in[i];
        if (const auto *root = index.find(nodes[i]->root)) lives.used(*root, at);
        for (const Tensor *source : graph.sources(i)) {
            const auto *root = source ? index.find(source->root) : nullptr;
            if (root) lives.used(*root, at);
        }
    }
    for (const CheckedNode &check : checked) {
        const auto sources = graph.sources(check.node);
        for (std::size_t s = 0; s < sources.size(); s++) {
            const auto *root = check.operands >> s & 1 ? index.find(sources[s]->root) : nullptr;
            if (root) lives.used(*root, nodes.size() - 1);
        }
    }
    // The root of the same size that dies in node i and whose memory node i takes over; null where there is none.
    const auto dying_operand = [&](std::size_t i) -> const std::uint32_t * {
        for (const Tensor *root : overwritable[i]) {
            const auto *at = index.find(root);
            if (at && is_intermediate[*at] && lives.last_use[*at] == i && lives.size[*at] == lives.size[i]) return at;
        }
        return nullptr;
    };
    return place_in_turn(lives, [&](std::size_t i) { return overwritable.empty() ? nullptr : dying_operand(i); });
}

std::size_t plan_memory(const GraphParts &parts, std::span<const unsigned> checked, std::size_t alignment) {
    const auto &nodes = parts.nodes;
    const std::vector<GraphParts::Place> roots = parts.roots();
    Lifetimes lives(nodes.size());
    std::vector<bool> is_output(nodes.size());
    for (const GraphParts::Place output : parts.output_places) {
        if (GraphParts::is_node(output) && roots[output] != GraphParts::nowhere) is_output[roots[output]] = true;
    }
    std::size_t at = 0, n_checked = 0;
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const bool has_data = !parts.is_again(i) && nodes[i]->data.load(std::memory_order_acquire);
        if (roots[i] == i && !is_output[i] && !has_data) lives.size[i] = block_of(*nodes[i], alignment);
        if (roots[i] != GraphParts::nowhere) lives.used(roots[i], i);
        if (checked[i]) n_checked++;
        for (std::size_t s = 0; s < nodes[i]->n_src; s++, at++) {
            const GraphParts::Place source = parts.source_places[at];
            const GraphParts::Place root = GraphParts::is_node(source) ? roots[source] : GraphParts::nowhere;
            if (root != GraphParts::nowhere) lives.used(root, checked[i] >> s & 1 ? nodes.size() - 1 : i);
        }
    }
    const MemoryPlan plan = place_in_turn(lives, [](std::size_t) -> const std::uint32_t * { return nullptr; });
    return round_up(n_checked * sizeof(std::uint64_t), alignment) + plan.size;
}

}  // namespace tensorlib::core
