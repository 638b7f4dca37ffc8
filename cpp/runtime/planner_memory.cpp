// The memory that a plan needs on each part: from when to when each piece is used, and its place in the part's block.
//
// Time follows the execution order: step k is at 2 k + 1, copies before it at 2 k, and copies after it at 2 k + 2. On one
// device, a node's index in the graph is its time.
#include "runtime/planner.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

std::uint32_t time_of(std::size_t step) noexcept { return static_cast<std::uint32_t>(2 * step + 1); }

}  // namespace

// The roots whose memory the step's result may reuse if nobody needs them afterwards. A kernel reads an element of the slot
// that it names before it writes to that place, but it may read other slots at any time. So no other slot, and no input at an
// offset, may read the root.
std::vector<const Tensor *> Planner::overwritable(const Step &step) const {
    std::vector<const Tensor *> roots, elsewhere;
    for_each_read(step, [&](const Read &read) {
        const Tensor *root = read.tensor.root;
        const bool allowed =
            read.may_overwrite && read.tensor.root_offset + read.offset == 0 && std::ranges::find(roots, root) == roots.end();
        (allowed ? roots : elsewhere).push_back(root);
    });
    std::erase_if(roots, [&](const Tensor *root) { return std::ranges::find(elsewhere, root) != elsewhere.end(); });
    return roots;
}

// The lifetimes of nodes by their indices, then of the landings. Only those with memory in the part's block have bytes.
std::vector<Lifetime> Planner::lifetimes_on_one_part() const {
    const auto nodes = graph_.nodes();
    const auto end = static_cast<std::uint32_t>(nodes.size());
    std::vector<Lifetime> lifetimes(nodes.size());
    const auto use = [&](const Tensor &root, std::uint32_t time) {
        const Graph::NodeIndex place = *places_.find(&root);
        if (!(place & Graph::leaf_bit)) lifetimes[place].used_at(time);
    };
    for (std::uint32_t i = 0; i < end; i++) {
        const std::uint32_t time = plan_.fusions_.runs_in.empty() ? i : plan_.fusions_.runs_in[i];
        // Uses of a view are uses of its root, and so are writes into it.
        use(*nodes[i]->root, time);
        for (const Tensor *source : graph_.sources(i)) {
            if (source) use(*source->root, time);
        }
    }
    for_each_checked_operand([&](const Tensor &operand, std::size_t) { use(*operand.root, end); });
    return lifetimes;
}

// A node reads bytes of another part from the landing on its own part. So a root is used only on its own part: by steps there,
// and by copies to other parts and back.
std::vector<Lifetime> Planner::lifetimes_on_parts() const {
    const std::size_t n = graph_.nodes().size();
    std::vector<Lifetime> lifetimes(n + landed_.size());
    const auto use = [&](Graph::NodeIndex root, std::uint32_t time) {
        if (!(root & Graph::leaf_bit)) lifetimes[root].used_at(time);
    };
    const auto use_landed = [&](std::uint32_t landing, std::uint32_t time) {
        if (landings_[landing].where == Landing::in_block) lifetimes[n + landings_[landing].landed].used_at(time);
    };
    std::vector<std::uint32_t> step_of(n);
    for (std::uint32_t k = 0; k < plan_.steps_.size(); k++) step_of[plan_.step_nodes_[k].result] = k;
    for (std::uint32_t i = 0; i < n; i++) {
        const Tensor &node = *graph_.nodes()[i];
        if (node.is_pure_view()) continue;
        const std::uint32_t k = step_of[plan_.fusions_.runs_in.empty() ? i : plan_.fusions_.runs_in[i]], part = plan_.steps_[k].part;
        const auto use_here = [&](const Tensor &t) {
            if (home(*t.root) == part) use(*places_.find(t.root), time_of(k));
        };
        use_here(node);
        for (const Tensor *source : graph_.sources(i)) {
            if (source) use_here(*source);
        }
    }
    for (std::size_t k = 0; k < copied_.size(); k++) {
        const std::uint32_t before = time_of(k) - 1, after = time_of(k) + 1;
        for (const std::uint32_t l : copied_[k].before) use(landings_[l].root, before), use_landed(l, before);
        for (const std::uint32_t l : copied_[k].read) use_landed(l, time_of(k));
        for (const Back &back : copied_[k].back) use(landings_[back.landing].root, after), use_landed(back.landing, after);
        for (const std::uint32_t l : copied_[k].after) use(landings_[l].root, after);
    }
    // Operands that a message may show stay to the end, wherever their step has read them.
    const std::uint32_t end = time_of(plan_.steps_.size());
    for_each_checked_operand([&](const Tensor &operand, std::size_t step) {
        use(*places_.find(operand.root), end);
        for (const std::uint32_t l : copied_[step].read) use_landed(l, end);
    });
    return lifetimes;
}

template <class F>
void Planner::for_each_checked_operand(F f) const {
    for (const CheckedNode &check : plan_.checked_) {
        const auto sources = graph_.sources(check.node);
        for (std::size_t s = 0; s < sources.size(); s++) {
            if (check.operands >> s & 1) f(*sources[s], check.step);
        }
    }
}

// Gives each result the place of an operand that it may reuse, if that operand's lifetime ends there.
void Planner::find_overwritable(std::vector<Lifetime> &lifetimes) const {
    for (std::size_t k = 0; k < plan_.steps_.size(); k++) {
        const Step &step = plan_.steps_[k];
        Lifetime &result = lifetimes[plan_.step_nodes_[k].result];
        for (const Tensor *root : overwritable(step)) {
            const Graph::NodeIndex place = *places_.find(root);
            if (home(*root) == step.part) {
                if (!(place & Graph::leaf_bit)) result.may_overwrite.push_back(place);
                continue;
            }
            const Landing *landing = landing_of(place, k);
            const bool whole = landing->where == Landing::in_block && landed_[landing->landed].begin == 0;
            if (whole) result.may_overwrite.push_back(static_cast<std::uint32_t>(graph_.nodes().size()) + landing->landed);
        }
    }
}

void Planner::place_intermediates(bool overwrites) {
    const auto nodes = graph_.nodes();
    std::vector<Lifetime> lifetimes = crosses() ? lifetimes_on_parts() : lifetimes_on_one_part();
    if (overwrites) find_overwritable(lifetimes);
    for (std::size_t p = 0; p < n_parts(); p++) {
        if (alone_ && *alone_ != p) continue;
        const std::size_t unit = plan_.blocks_[p].memory->alignment();
        for (Lifetime &life : lifetimes) life.bytes = 0;
        for (std::size_t i = 0; i < nodes.size(); i++) {
            if (plan_.parts_[i] != p || nodes[i]->root != nodes[i] || plan_.fusions_.is_fused(i)) continue;
            const bool has_data = nodes[i]->data.load(std::memory_order_acquire) || plan_.structure_.is_output(i);
            if (!has_data || is_elsewhere(i)) lifetimes[i].bytes = block_bytes(nodes[i]->layout.nbytes(), unit);
        }
        for (std::size_t l = 0; l < landed_.size(); l++) {
            if (landed_[l].part == p) lifetimes[nodes.size() + l].bytes = block_bytes(landed_[l].end - landed_[l].begin, unit);
        }
        plan_.blocks_[p].intermediates = plan_memory(lifetimes);
        lay_out_block(p);
    }
    if (crosses()) find_waits(lifetimes);
}

// A copy waits for its target's device if steps that may still run there used the landing's memory before. A device has
// finished whenever bytes were copied from it.
void Planner::find_waits(const std::vector<Lifetime> &lifetimes) {
    std::vector<std::uint32_t> finished(n_parts(), 0);
    const auto used_since = [&](std::uint32_t part, std::uint32_t landed, std::uint32_t time) {
        const std::size_t n = graph_.nodes().size();
        const std::vector<std::size_t> &offset = plan_.blocks_[part].intermediates.offset;
        const std::size_t begin = offset[n + landed], end = begin + std::max<std::size_t>(landed_[landed].end - landed_[landed].begin, 1);
        for (std::size_t i = 0; i < lifetimes.size(); i++) {
            if (offset[i] == MemoryPlan::nowhere || i == n + landed || lifetimes[i].last >= time || lifetimes[i].last <= finished[part])
                continue;
            const std::size_t bytes = i < n ? graph_.nodes()[i]->layout.nbytes() : landed_[i - n].end - landed_[i - n].begin;
            if (offset[i] < end && begin < offset[i] + std::max<std::size_t>(bytes, 1)) return true;
        }
        return false;
    };
    for (std::size_t k = 0; k < copied_.size(); k++) {
        for (const std::uint32_t l : copied_[k].before) {
            const Landing &landing = landings_[l];
            const std::uint32_t time = time_of(k) - 1;
            finished[home(*graph_.at(landing.root))] = time;
            if (landing.where != Landing::in_block || !used_since(landing.part, landing.landed, time)) continue;
            landed_[landing.landed].waits = true;
            finished[landing.part] = time;
        }
        for (const Back &back : copied_[k].back) {
            const Landing &landing = landings_[back.landing];
            finished[landing.part] = finished[home(*graph_.at(landing.root))] = time_of(k) + 1;
        }
        for (const std::uint32_t l : copied_[k].after) finished[home(*graph_.at(landings_[l].root))] = time_of(k) + 1;
    }
}

// The bytes of all parts for intermediates and landings.
std::size_t Planner::bytes_under_limit() const noexcept {
    std::size_t taken = 0;
    for (const Plan::Block &block : plan_.blocks_) taken += block.intermediates_offset + block.intermediates.size;
    return taken;
}

bool Planner::within_limit() const noexcept {
    const std::optional<std::size_t> limit = graph_.recomputation().limit;
    return !limit || bytes_under_limit() <= *limit;
}

void Planner::check_limit() const {
    if (within_limit()) return;
    std::string each;
    for (const Plan::Block &block : plan_.blocks_)
        each += format_text("%s%zu on %s", each.empty() ? "" : ", ", block.intermediates_offset + block.intermediates.size,
                            block.memory->device());
    fail(
        Status::out_of_memory,
        "graph_compute: the graph was made to keep its intermediates within %zu bytes (graph_create_within). On %s they and what is copied "
        "between devices need %zu: %s. A bound of %zu is valid, as is one device",
        *graph_.recomputation().limit, backend_.device().name(), bytes_under_limit(), each.c_str(), bytes_under_limit());
}

void Planner::lay_out_block(std::size_t part) {
    Plan::Block &block = plan_.blocks_[part];
    const std::size_t unit = block.memory->alignment();
    // All steps share one workspace, and one room for rebuilt leafs, because they run one after another.
    std::size_t rebuilt = 0;
    block.workspace_bytes = 0;
    for (const Step &step : plan_.steps_) {
        if (step.part != part) continue;
        block.workspace_bytes = std::max(block.workspace_bytes, step.plan.workspace);
        std::size_t of_step = 0;
        for (const Tensor *root : dropped_roots(step)) of_step += round_up(root->layout.nbytes(), unit), n_rebuilt_++;
        rebuilt = std::max(rebuilt, of_step);
    }
    // Faults come first: only their words must keep their values between runs.
    block.n_faults = static_cast<std::size_t>(
        std::ranges::count_if(plan_.checked_, [&](const CheckedNode &checked) { return plan_.steps_[checked.step].part == part; }));
    block.intermediates_offset = round_up(block.n_faults * sizeof(std::uint64_t), unit);
    if (!checked_add(block.intermediates_offset, block.intermediates.size, block.rebuilt_offset) ||
        !checked_add(block.rebuilt_offset, rebuilt, block.workspace_offset) ||
        !checked_add(block.workspace_offset, block.workspace_bytes, block.bytes)) {
        block.bytes = ~std::size_t{0};
    }
}

}  // namespace tensorlib::core
