#include "runtime/memory_budget.hpp"

#include "base/fail.hpp"
#include "ops/op_def.hpp"
#include "runtime/memory_planner.hpp"
#include "runtime/recomputation.hpp"
#include "runtime/step_order.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using NodeIndex = GraphParts::NodeIndex;

std::size_t bytes_of(const GraphParts &parts, std::size_t alignment) {
    std::vector<unsigned> checked;
    checked.reserve(parts.nodes.size());
    for (const Tensor *node : parts.nodes) checked.push_back(checked_operands(*node));
    return plan_memory(parts, checked, alignment);
}

// A node is cheap if memory bounds it and not arithmetic: a core does this many operations in the time that a byte
// takes from memory (50 GFlop/s and 6 GB/s).
constexpr double flops_a_byte = 8;
bool is_cheap(const Tensor &node) {
    const Cost cost = op_def(node.op).cost(node);
    return cost.flops <= flops_a_byte * cost.bytes;
}

// Searches for the nodes to recompute.
class Budget {
public:
    Budget(const GraphParts &parts, std::vector<bool> marked, std::size_t limit, std::size_t alignment)
        : parts_(parts), marked_(std::move(marked)), limit_(limit), alignment_(alignment), late_(late_calls(parts)) {}

    // The parts that meet the limit, or nothing.
    std::optional<Rematerialized> find() {
        least_ = bytes_of(parts_, alignment_);
        if (auto met = attempt(marked_)) return met;
        if (std::ranges::count(late_, 0u) == static_cast<std::ptrdiff_t>(n())) return {};
        if (auto met = find_few(free_ones())) return met;
        if (auto met = find_few(cheap_ones())) return met;
        return find_segments();
    }
    // The bytes of the best attempt.
    std::size_t least() const noexcept { return least_; }

private:
    std::size_t n() const noexcept { return parts_.nodes.size(); }

    std::optional<Rematerialized> attempt(const std::vector<bool> &marked) {
        Rematerialized made = recomputed(parts_, marked);
        const std::size_t bytes = bytes_of(made.parts, alignment_);
        least_ = std::min(least_, bytes);
        if (bytes > limit_) return {};
        return made;
    }
    std::vector<bool> with_marked(std::span<const NodeIndex> first) const {
        std::vector<bool> marked = marked_;
        for (const NodeIndex i : first) marked[i] = true;
        return marked;
    }

    // Cheap nodes whose sources exist anyway: leafs, and nodes kept for gradients. Sources may also be such cheap nodes
    // themselves, in chains of a few nodes at most. In a long chain, one node is kept every few steps; otherwise the
    // whole chain would exist again when the gradients reach its end.
    std::vector<NodeIndex> free_ones() const {
        constexpr int most_in_a_row = 4, never = most_in_a_row;
        std::vector<NodeIndex> found;
        std::vector<int> steps_to(n(), never);
        const std::vector<NodeIndex> roots = parts_.roots();
        std::size_t at = 0;
        for (NodeIndex i = 0; i < n(); i++) {
            int steps = 0;
            for (std::size_t s = 0; s < parts_.nodes[i]->n_src; s++, at++) {
                const NodeIndex source = parts_.source_indices[at];
                const NodeIndex root = GraphParts::is_node(source) ? roots[source] : GraphParts::nowhere;
                if (root != GraphParts::nowhere) steps = std::max(steps, steps_to[root]);
            }
            const bool is_free = roots[i] == i && steps < most_in_a_row && is_cheap(*parts_.nodes[i]);
            steps_to[i] = is_free ? steps + 1 : late_[i] != 0 ? 0 : never;
            if (is_free) found.push_back(i);
        }
        return found;
    }
    std::vector<NodeIndex> cheap_ones() const {
        std::vector<NodeIndex> found;
        for (NodeIndex i = 0; i < n(); i++) {
            if (is_cheap(*parts_.nodes[i])) found.push_back(i);
        }
        return found;
    }

    // The fewest of these nodes that meet the limit, starting with those that would be kept for longest: early nodes
    // are read last.
    std::optional<Rematerialized> find_few(const std::vector<NodeIndex> &nodes) {
        std::optional<Rematerialized> best = attempt(with_marked(nodes));
        if (!best) return {};
        for (std::size_t below = 0, enough = nodes.size(); below + 1 < enough;) {
            const std::size_t some = below + (enough - below) / 2;
            if (auto met = attempt(with_marked(std::span(nodes).first(some)))) {
                best = std::move(met);
                enough = some;
            } else {
                below = some;
            }
        }
        return best;
    }

    // Divides all nodes into segments. What crosses a border is kept, and the rest is recomputed when the gradients
    // reach its segment, except for the last segment, which they reach first. With n segments, n states are kept and
    // one segment exists at a time, which for N equal layers takes about N / n + n. The fewest segments that meet the
    // limit let most nodes run only once; the search ends where more segments no longer reduce the bytes.
    std::optional<Rematerialized> find_segments() {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n(); i++) kept += late_[i] ? parts_.nodes[i]->layout.nbytes() : 0;
        for (std::size_t segments = 2, last = 2; segments <= n() && segments <= 4096; segments = std::max(segments + 1, last * 5 / 4)) {
            last = segments;
            if (auto met = attempt(in_segments(segments, kept))) return met;
        }
        return {};
    }
    std::vector<bool> in_segments(std::size_t segments, std::size_t kept) const {
        // The segment of each node, by the bytes before it that gradients read.
        std::vector<std::size_t> segment_of(n()), last_read(n(), 0);
        std::size_t before = 0;
        for (std::size_t i = 0; i < n(); i++) {
            segment_of[i] = std::min(segments - 1, before / (kept / segments + 1));
            before += late_[i] ? parts_.nodes[i]->layout.nbytes() : 0;
        }
        const std::vector<NodeIndex> roots = parts_.roots();
        std::size_t at = 0;
        for (std::size_t i = 0; i < n(); i++) {
            for (std::size_t s = 0; s < parts_.nodes[i]->n_src; s++, at++) {
                const NodeIndex source = parts_.source_indices[at];
                const NodeIndex root = GraphParts::is_node(source) ? roots[source] : GraphParts::nowhere;
                if (root == GraphParts::nowhere || parts_.nodes[i]->state.gradient_call() > parts_.nodes[root]->state.gradient_call())
                    continue;
                last_read[root] = std::max(last_read[root], segment_of[i]);
            }
        }
        std::vector<bool> marked = marked_;
        for (std::size_t i = 0; i < n(); i++) {
            if (last_read[i] <= segment_of[i] && segment_of[i] + 1 < segments) marked[i] = true;
        }
        return marked;
    }

    const GraphParts &parts_;
    const std::vector<bool> marked_;
    const std::size_t limit_, alignment_;
    const std::vector<std::uint32_t> late_;
    std::size_t least_ = 0;
};

// The bytes that gradients read of nodes that were kept for them.
std::size_t kept_bytes(const GraphParts &parts) {
    const std::vector<std::uint32_t> late = late_calls(parts);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < parts.nodes.size(); i++) {
        if (late[i] != 0 && !parts.is_clone(i)) bytes += parts.nodes[i]->layout.nbytes();
    }
    return bytes;
}

}  // namespace

Ref<Graph> create_graph(Context &context, std::span<Tensor *const> outputs, std::optional<std::size_t> limit) {
    return Graph::create(context, outputs, [&](GraphParts &parts) -> Recomputation {
        const auto is_marked = [](const Tensor *node) { return node->state.recompute.load(std::memory_order_acquire); };
        const bool any = std::ranges::any_of(parts.nodes, is_marked);
        if (!any && !limit) {
            put_small_steps_last(parts);
            return {};
        }
        Recomputation done;
        const std::size_t alignment = context.memory().alignment();
        done.before = bytes_of(parts, alignment);
        const auto marked_of = [&](const GraphParts &of) {
            std::vector<bool> marked;
            for (const Tensor *node : of.nodes) marked.push_back(is_marked(node));
            return marked;
        };
        Rematerialized made;
        if (limit && done.before <= *limit && !any) {
            made.parts = parts;
        } else if (limit) {
            // In the order in which the nodes will run, so that neighbours are in the same segment.
            const GraphParts base = recomputed(parts, std::vector<bool>(parts.nodes.size())).parts;
            Budget budget(base, marked_of(base), *limit, alignment);
            std::optional<Rematerialized> met = budget.find();
            if (!met) {
                fail(Status::out_of_memory,
                     "graph_create_within: the intermediates of a graph of %zu nodes need %zu bytes, and %zu where what can be is computed "
                     "again for its gradients; %zu bytes were given: at least %zu are valid",
                     parts.nodes.size(), done.before, std::min(done.before, budget.least()), *limit, std::min(done.before, budget.least()));
            }
            made = std::move(*met);
        } else {
            made = recomputed(parts, marked_of(parts));
        }
        parts = std::move(made.parts);
        done.limit = limit;
        done.after = bytes_of(parts, alignment);
        done.kept = kept_bytes(parts);
        done.n_clones = static_cast<std::size_t>(std::ranges::count(parts.clones, true));
        done.clashing = std::move(made.clashing);
        return done;
    });
}

void set_recompute(Tensor &t, bool recompute) {
    if (t.root->is_leaf()) {
        fail(Status::invalid_argument, "tensor_set_recompute: %s %s %s: the result of an operation, in memory of its own, is valid",
             t.is_leaf() ? "leaf" : op_name(t.op), tensor_text(t).c_str(), t.is_leaf() ? "is not computed" : "lies in a leaf");
    }
    if (t.writes()) {
        fail(Status::invalid_argument,
             "tensor_set_recompute: %s writes into %s, and writing a second time would not be the same: an operation that writes into none "
             "of its operands is valid",
             op_name(t.op), tensor_text(*t.root).c_str());
    }
    t.root->state.recompute.store(recompute, std::memory_order_release);
}

}  // namespace tensorlib::core
