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

}  // namespace

MemoryPlan plan_memory(const Graph &graph, const std::vector<bool> &is_intermediate, std::span<const CheckedNode> checked,
                       std::span<const std::uint32_t> runs_in, std::span<const std::vector<const Tensor *>> overlaid,
                       std::size_t alignment) {
    const auto nodes = graph.nodes();
    MemoryPlan plan;
    plan.offset.assign(nodes.size(), MemoryPlan::nowhere);
    TensorSet index;
    std::vector<std::size_t> last_use(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        bool added;
        index.insert(nodes[i], static_cast<std::uint32_t>(i), added);
        last_use[i] = i;
        // A cpy's target is touched by the node itself; so are the roots of all sources.
        const std::size_t at = runs_in.empty() ? i : runs_in[i];
        if (const auto *root = index.find(nodes[i]->root)) last_use[*root] = std::max(last_use[*root], at);
        for (const Tensor *source : nodes[i]->sources()) {
            if (const auto *root = index.find(source->root)) last_use[*root] = std::max(last_use[*root], at);
        }
    }
    for (const CheckedNode &check : checked) {
        const Tensor &node = *nodes[check.node];
        for (std::size_t s = 0; s < node.n_src; s++) {
            const auto *root = check.operands >> s & 1 ? index.find(node.src[s]->root) : nullptr;
            if (root) last_use[*root] = nodes.size() - 1;
        }
    }
    // Roots by the node after which they are free: a counting sort.
    std::vector<std::vector<std::uint32_t>::size_type> start(nodes.size() + 1, 0);
    std::vector<std::uint32_t> ending(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) start[last_use[i]]++;
    for (std::size_t i = 1; i <= nodes.size(); i++) start[i] += start[i - 1];
    for (std::size_t i = nodes.size(); i-- > 0;) ending[--start[last_use[i]]] = static_cast<std::uint32_t>(i);

    Offsets offsets;
    const auto size_of = [&](std::size_t i) { return std::max(round_up(nodes[i]->layout.nbytes(), alignment), alignment); };
    // What a node that runs in node i reads of a root, for all of these nodes.
    std::vector<std::vector<std::uint32_t>> run_in(runs_in.empty() ? 0 : nodes.size());
    for (std::size_t i = 0; i < run_in.size(); i++) {
        if (runs_in[i] != i) run_in[runs_in[i]].push_back(static_cast<std::uint32_t>(i));
    }
    // The root that node i may lie on, as nobody needs it afterwards and all that is read of it where node i runs allows it; null where
    // there is none.
    const auto dying_operand = [&](std::size_t i) -> const std::uint32_t * {
        const auto allows = [&](const Tensor *operand) { return std::ranges::find(overlaid[i], operand) != overlaid[i].end(); };
        for (const Tensor *operand : overlaid[i]) {
            const Tensor *root = operand->root;
            const auto *index_of_root = index.find(root);
            if (!index_of_root || !is_intermediate[*index_of_root] || last_use[*index_of_root] != i) continue;
            if (size_of(*index_of_root) != size_of(i)) continue;
            const auto all_allow = [&](const Tensor &node) {
                for (const Tensor *other : node.sources()) {
                    if (other->root == root && (!allows(other) || other->root_offset != 0)) return false;
                }
                return true;
            };
            if (!all_allow(*nodes[i])) continue;
            if (run_in.empty() || std::ranges::all_of(run_in[i], [&](std::uint32_t member) { return all_allow(*nodes[member]); })) {
                return index_of_root;
            }
        }
        return nullptr;
    };
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const std::uint32_t *under = is_intermediate[i] ? dying_operand(i) : nullptr;
        if (is_intermediate[i]) {
            plan.offset[i] = under ? plan.offset[*under] : offsets.take(size_of(i));
            plan.unshared += size_of(i);
        }
        const std::size_t end = i + 1 < nodes.size() ? start[i + 1] : nodes.size();
        for (std::size_t e = start[i]; e < end; e++) {
            if (is_intermediate[ending[e]] && !(under && ending[e] == *under)) offsets.give(plan.offset[ending[e]], size_of(ending[e]));
        }
    }
    plan.size = offsets.end();
    return plan;
}

}  // namespace tensorlib::core
