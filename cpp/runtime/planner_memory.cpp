// The memory that a plan needs on each part: from when to when each piece is used, and its place in the part's block.
//
// Time follows the execution order: step k is at 2 k + 1, copies before it at 2 k, and copies after it at 2 k + 2. On one
// device, a node's index in the graph is its time.
#include "runtime/planner.hpp"

#include "base/checked.hpp"
#include "graph/stand_in.hpp"

#include <algorithm>

namespace tensorlib::core {

std::size_t MemoryLayout::limited_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const PartMemory &part : parts) bytes += part.end_of_intermediates();
    return bytes;
}

std::vector<const Tensor *> dropped_roots(const Planning &planning, const Placed &placed, const Fused &fused, const Step &step) {
    std::vector<const Tensor *> roots;
    for_each_read(planning, fused, step, [&](const Read &read) {
        const Tensor &t = read.tensor;
        if (!is_dropped(t) || (read.slot < max_sources && step.plan.unread >> read.slot & 1)) return;
        if (placed.home(planning, *t.root) != step.part) return;
        if (std::ranges::find(roots, t.root) == roots.end()) roots.push_back(t.root);
    });
    return roots;
}

namespace {

std::uint32_t time_of(std::size_t step) noexcept { return static_cast<std::uint32_t>(2 * step + 1); }

class LayOutStage {
public:
    LayOutStage(const Planning &planning, const Placed &placed, const Fused &fused, const Scheduled &scheduled)
        : planning_(planning),
          placed_(placed),
          fused_(fused),
          schedule_(scheduled.schedule),
          transfers_(scheduled.transfers),
          n_nodes_(planning.graph.nodes().size()) {}

    MemoryLayout lay_out(bool overwrites) const;

private:
    std::vector<Lifetime> lifetimes_on_one_part() const;
    std::vector<Lifetime> lifetimes_on_parts() const;
    std::vector<const Tensor *> overwritable(const Step &step) const;
    void find_overwritable(std::vector<Lifetime> &lifetimes) const;
    PartMemory lay_out_part(std::size_t part, MemoryPlan intermediates) const;
    std::vector<bool> find_waits(std::span<const Lifetime> lifetimes, std::span<const PartMemory> memory) const;

    // Calls f(operand, step's index) for each operand that messages need at the end of a run.
    template <class F>
    void for_each_checked_operand(F f) const {
        for (const CheckedNode &check : schedule_.checked) {
            const auto sources = planning_.graph.sources(check.node);
            for (std::size_t s = 0; s < sources.size(); s++) {
                if (check.operands >> s & 1) f(*sources[s], check.step);
            }
        }
    }
    std::uint32_t home(const Tensor &root) const { return placed_.home(planning_, root); }
    std::uint32_t home(Graph::NodeIndex root) const { return home(*planning_.graph.at(root)); }
    std::uint32_t runs_in(std::uint32_t node) const { return fused_.fusions.runs_in.empty() ? node : fused_.fusions.runs_in[node]; }
    // The number of a buffer's lifetime.
    std::size_t lifetime_of(std::uint32_t buffer) const noexcept { return n_nodes_ + buffer; }
    std::size_t bytes_of(std::size_t lifetime) const {
        if (lifetime < n_nodes_) return planning_.graph.nodes()[lifetime]->layout.nbytes();
        const ReplicaBuffer &buffer = transfers_.buffers[lifetime - n_nodes_];
        return buffer.end - buffer.begin;
    }

    const Planning &planning_;
    const Placed &placed_;
    const Fused &fused_;
    const Schedule &schedule_;
    const Transfers &transfers_;
    const std::size_t n_nodes_;
};

// The lifetimes of nodes by their indices, then of the buffers of replicas. Only those with memory in the part's block get
// bytes.
std::vector<Lifetime> LayOutStage::lifetimes_on_one_part() const {
    const auto nodes = planning_.graph.nodes();
    const auto end = static_cast<std::uint32_t>(n_nodes_);
    std::vector<Lifetime> lifetimes(n_nodes_);
    const auto use = [&](const Tensor &root, std::uint32_t time) {
        const Graph::NodeIndex index = planning_.index_of(root);
        if (!(index & Graph::leaf_bit)) lifetimes[index].used_at(time);
    };
    for (std::uint32_t i = 0; i < end; i++) {
        const std::uint32_t time = runs_in(i);
        // Uses of a view are uses of its root, and so are writes into it.
        use(*nodes[i]->root, time);
        for (const Tensor *source : planning_.graph.sources(i)) {
            if (source) use(*source->root, time);
        }
    }
    for_each_checked_operand([&](const Tensor &operand, std::size_t) { use(*operand.root, end); });
    return lifetimes;
}

// A node reads bytes of another part from the replica on its own part. So a root is used only on its own part: by steps there,
// and by copies to other parts and back.
std::vector<Lifetime> LayOutStage::lifetimes_on_parts() const {
    std::vector<Lifetime> lifetimes(n_nodes_ + transfers_.buffers.size());
    const auto use_root = [&](Graph::NodeIndex root, std::uint32_t time) {
        if (!(root & Graph::leaf_bit)) lifetimes[root].used_at(time);
    };
    const auto use_replica = [&](std::uint32_t r, std::uint32_t time) {
        const Replica &replica = transfers_.replicas[r];
        if (replica.where == Replica::in_block) lifetimes[lifetime_of(replica.buffer)].used_at(time);
    };
    const auto copy = [&](std::uint32_t r, std::uint32_t time) { use_root(transfers_.replicas[r].root, time), use_replica(r, time); };
    std::vector<std::uint32_t> step_of(n_nodes_);
    for (std::uint32_t k = 0; k < schedule_.steps.size(); k++) step_of[schedule_.nodes[k].result] = k;
    for (std::uint32_t i = 0; i < n_nodes_; i++) {
        const Tensor &node = *planning_.graph.nodes()[i];
        if (node.is_pure_view()) continue;
        const std::uint32_t k = step_of[runs_in(i)], part = schedule_.steps[k].part;
        const auto use_here = [&](const Tensor &t) {
            if (home(*t.root) == part) use_root(planning_.index_of(*t.root), time_of(k));
        };
        use_here(node);
        for (const Tensor *source : planning_.graph.sources(i)) {
            if (source) use_here(*source);
        }
    }
    for (std::size_t k = 0; k < transfers_.of_steps.size(); k++) {
        const StepTransfers &transfers = transfers_.of_steps[k];
        const std::uint32_t before = time_of(k) - 1, after = time_of(k) + 1;
        for (const std::uint32_t r : transfers.before) copy(r, before);
        for (const std::uint32_t r : transfers.read) use_replica(r, time_of(k));
        for (const WrittenBack &back : transfers.back) copy(back.replica, after);
        for (const std::uint32_t r : transfers.after) use_root(transfers_.replicas[r].root, after);
    }
    // Operands that a message may show stay to the end, wherever their step has read them.
    const std::uint32_t end = time_of(schedule_.steps.size());
    for_each_checked_operand([&](const Tensor &operand, std::size_t step) {
        use_root(planning_.index_of(*operand.root), end);
        for (const std::uint32_t r : transfers_.of_steps[step].read) use_replica(r, end);
    });
    return lifetimes;
}

// The roots whose memory the step's result may reuse if nobody needs them afterwards. A kernel reads an element of the slot
// that it names before it writes to that place, but it may read other slots at any time. So no other slot, and no input at an
// offset, may read the root.
std::vector<const Tensor *> LayOutStage::overwritable(const Step &step) const {
    std::vector<const Tensor *> roots, elsewhere;
    for_each_read(planning_, fused_, step, [&](const Read &read) {
        const Tensor *root = read.tensor.root;
        const bool allowed =
            read.may_overwrite && read.tensor.root_offset + read.offset == 0 && std::ranges::find(roots, root) == roots.end();
        (allowed ? roots : elsewhere).push_back(root);
    });
    std::erase_if(roots, [&](const Tensor *root) { return std::ranges::find(elsewhere, root) != elsewhere.end(); });
    return roots;
}

// Gives each result the place of an operand that it may reuse, if that operand's lifetime ends there.
void LayOutStage::find_overwritable(std::vector<Lifetime> &lifetimes) const {
    for (std::size_t k = 0; k < schedule_.steps.size(); k++) {
        const Step &step = schedule_.steps[k];
        Lifetime &result = lifetimes[schedule_.nodes[k].result];
        for (const Tensor *root : overwritable(step)) {
            const Graph::NodeIndex index = planning_.index_of(*root);
            if (home(*root) == step.part) {
                if (!(index & Graph::leaf_bit)) result.may_overwrite.push_back(index);
                continue;
            }
            const Replica &replica = transfers_.replica_for(k, index);
            const bool whole = replica.where == Replica::in_block && transfers_.buffers[replica.buffer].begin == 0;
            if (whole) result.may_overwrite.push_back(static_cast<std::uint32_t>(lifetime_of(replica.buffer)));
        }
    }
}

// All steps share one workspace, and one room for rebuilt leafs, because they run one after another.
PartMemory LayOutStage::lay_out_part(std::size_t part, MemoryPlan intermediates) const {
    PartMemory made;
    made.memory = &planning_.memory_of(part);
    made.intermediates = std::move(intermediates);
    const std::size_t unit = made.memory->alignment();
    std::size_t rebuilt = 0;
    for (const Step &step : schedule_.steps) {
        if (step.part != part) continue;
        made.workspace_bytes = std::max(made.workspace_bytes, step.plan.workspace);
        std::size_t of_step = 0;
        for (const Tensor *root : dropped_roots(planning_, placed_, fused_, step)) of_step += round_up(root->layout.nbytes(), unit);
        rebuilt = std::max(rebuilt, of_step);
    }
    // Faults come first: only their words must keep their values between runs.
    const auto is_here = [&](const CheckedNode &checked) { return schedule_.steps[checked.step].part == part; };
    made.n_faults = static_cast<std::size_t>(std::ranges::count_if(schedule_.checked, is_here));
    made.intermediates_offset = round_up(made.n_faults * sizeof(std::uint64_t), unit);
    if (!checked_add(made.intermediates_offset, made.intermediates.size, made.rebuilt_offset) ||
        !checked_add(made.rebuilt_offset, rebuilt, made.workspace_offset) ||
        !checked_add(made.workspace_offset, made.workspace_bytes, made.bytes)) {
        made.bytes = ~std::size_t{0};
    }
    return made;
}

// A copy waits for its target's device if steps that may still run there used the replica's memory before. A device has
// finished whenever bytes were copied from it.
std::vector<bool> LayOutStage::find_waits(std::span<const Lifetime> lifetimes, std::span<const PartMemory> memory) const {
    std::vector<bool> waits(transfers_.buffers.size());
    std::vector<std::uint32_t> finished(memory.size(), 0);
    const auto used_since = [&](std::uint32_t part, std::size_t buffer, std::uint32_t time) {
        const std::vector<std::size_t> &offset = memory[part].intermediates.offset;
        const std::size_t begin = offset[buffer], end = begin + std::max<std::size_t>(bytes_of(buffer), 1);
        for (std::size_t i = 0; i < lifetimes.size(); i++) {
            const bool ended = lifetimes[i].last >= time || lifetimes[i].last <= finished[part];
            if (offset[i] == MemoryPlan::nowhere || i == buffer || ended) continue;
            if (offset[i] < end && begin < offset[i] + std::max<std::size_t>(bytes_of(i), 1)) return true;
        }
        return false;
    };
    for (std::size_t k = 0; k < transfers_.of_steps.size(); k++) {
        const StepTransfers &transfers = transfers_.of_steps[k];
        for (const std::uint32_t r : transfers.before) {
            const Replica &replica = transfers_.replicas[r];
            const std::uint32_t time = time_of(k) - 1;
            finished[home(replica.root)] = time;
            if (replica.where != Replica::in_block || !used_since(replica.part, lifetime_of(replica.buffer), time)) continue;
            waits[replica.buffer] = true;
            finished[replica.part] = time;
        }
        for (const WrittenBack &back : transfers.back) {
            const Replica &replica = transfers_.replicas[back.replica];
            finished[replica.part] = finished[home(replica.root)] = time_of(k) + 1;
        }
        for (const std::uint32_t r : transfers.after) finished[home(transfers_.replicas[r].root)] = time_of(k) + 1;
    }
    return waits;
}

MemoryLayout LayOutStage::lay_out(bool overwrites) const {
    const auto nodes = planning_.graph.nodes();
    std::vector<Lifetime> lifetimes = placed_.crosses() ? lifetimes_on_parts() : lifetimes_on_one_part();
    if (overwrites) find_overwritable(lifetimes);
    MemoryLayout made;
    for (std::size_t p = 0; p < planning_.parts.size(); p++) {
        if (!placed_.crosses() && *placed_.placement.alone != p) {
            made.parts.emplace_back().memory = &planning_.memory_of(p);
            continue;
        }
        const std::size_t unit = planning_.memory_of(p).alignment();
        for (Lifetime &life : lifetimes) life.bytes = 0;
        for (std::size_t i = 0; i < n_nodes_; i++) {
            if (placed_.placement.part[i] != p || nodes[i]->root != nodes[i] || fused_.fusions.is_fused(i)) continue;
            const bool has_data = nodes[i]->storage.data.load(std::memory_order_acquire) || planning_.structure.is_output(i);
            if (!has_data || placed_.is_elsewhere(planning_, i)) lifetimes[i].bytes = block_bytes(bytes_of(i), unit);
        }
        for (std::uint32_t b = 0; b < transfers_.buffers.size(); b++) {
            if (transfers_.buffers[b].part == p) lifetimes[lifetime_of(b)].bytes = block_bytes(bytes_of(lifetime_of(b)), unit);
        }
        made.parts.push_back(lay_out_part(p, plan_memory(lifetimes)));
    }
    if (placed_.crosses()) made.waits = find_waits(lifetimes, made.parts);
    return made;
}

}  // namespace

MemoryLayout lay_out(const Planning &planning, const Placed &placed, const Fused &fused, const Scheduled &scheduled, bool overwrites) {
    return LayOutStage(planning, placed, fused, scheduled).lay_out(overwrites);
}

}  // namespace tensorlib::core
