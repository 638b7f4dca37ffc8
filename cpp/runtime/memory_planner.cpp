#include "runtime/memory_planner.hpp"

#include "base/best_fit.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"

#include <algorithm>
#include <utility>

namespace tensorlib::core {

namespace {

// A block of unknown length. Gaps are sorted by offset, and neighbours are merged.
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
        // Extends a gap at the end instead of leaving it.
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

std::size_t block_bytes(std::size_t nbytes, std::size_t alignment) noexcept { return std::max(round_up(nbytes, alignment), alignment); }

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
    std::vector<std::uint32_t> beginning, ending;
    for (std::uint32_t i = 0; i < lifetimes.size(); i++) {
        if (lifetimes[i].bytes != 0) beginning.push_back(i);
    }
    ending = beginning;
    // Not stable_sort(), which allocates memory.
    std::ranges::sort(beginning, {}, [&](std::uint32_t i) { return std::pair(lifetimes[i].first, i); });
    std::ranges::sort(ending, {}, [&](std::uint32_t i) { return std::pair(lifetimes[i].last, i); });

    MemoryPlan plan;
    plan.offset.assign(lifetimes.size(), MemoryPlan::nowhere);
    std::vector<bool> taken_over(lifetimes.size());
    Offsets offsets;
    auto dead = ending.begin();
    for (const std::uint32_t i : beginning) {
        const Lifetime &life = lifetimes[i];
        for (; lifetimes[*dead].last < life.first; ++dead) {
            if (!taken_over[*dead]) offsets.give(plan.offset[*dead], lifetimes[*dead].bytes);
        }
        const auto under = std::ranges::find_if(life.may_overwrite, [&](std::uint32_t other) {
            return lifetimes[other].bytes == life.bytes && lifetimes[other].last == life.first && !taken_over[other];
        });
        if (under != life.may_overwrite.end()) {
            plan.offset[i] = plan.offset[*under];
            taken_over[*under] = true;
        } else {
            plan.offset[i] = offsets.take(life.bytes);
        }
        plan.unshared += life.bytes;
    }
    plan.size = offsets.end();
    return plan;
}

std::size_t plan_memory(const GraphParts &parts, std::span<const unsigned> checked, std::size_t alignment) {
    const auto &nodes = parts.nodes;
    const std::vector<GraphParts::NodeIndex> roots = parts.roots();
    const auto end = static_cast<std::uint32_t>(nodes.size());
    std::vector<Lifetime> lifetimes(nodes.size());
    std::vector<bool> is_output(nodes.size());
    for (const GraphParts::NodeIndex output : parts.output_indices) {
        if (GraphParts::is_node(output) && roots[output] != GraphParts::nowhere) is_output[roots[output]] = true;
    }
    std::size_t at = 0, n_checked = 0;
    for (std::uint32_t i = 0; i < end; i++) {
        const bool has_data = !parts.is_clone(i) && nodes[i]->storage.data.load(std::memory_order_acquire);
        if (roots[i] == i && !is_output[i] && !has_data) lifetimes[i].bytes = block_bytes(nodes[i]->layout.nbytes(), alignment);
        if (roots[i] != GraphParts::nowhere) lifetimes[roots[i]].used_at(i);
        if (checked[i]) n_checked++;
        for (std::size_t s = 0; s < nodes[i]->n_src; s++, at++) {
            const GraphParts::NodeIndex source = parts.source_indices[at];
            const GraphParts::NodeIndex root = GraphParts::is_node(source) ? roots[source] : GraphParts::nowhere;
            if (root != GraphParts::nowhere) lifetimes[root].used_at(checked[i] >> s & 1 ? end : i);
        }
    }
    return round_up(n_checked * sizeof(std::uint64_t), alignment) + plan_memory(lifetimes).size;
}

}  // namespace tensorlib::core
