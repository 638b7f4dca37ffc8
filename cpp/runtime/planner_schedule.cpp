// The steps in execution order. For several parts: the copies between them, and the order of the steps.
//
//   round 0   steps of part 0, steps of part 1       no copies between them: each part gets its steps at once
//   copies    the bytes from other parts that the first step of round 1 reads
//   round 1   ...
//
// A copy begins when all earlier work on its source's part is done, and ends before its reader begins. So the order is right
// whatever the parts do at the same time. A copy fills a replica: the bytes that the part's steps read, from the first to the
// last. It lies in the part's block, in memory that others use before and after (planner_memory.cpp). If a step writes into a
// root of another part, the root's bytes are copied to a replica, written there, and copied back.
#include "runtime/planner.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace tensorlib::core {

const Replica &Transfers::replica_for(std::size_t step, Graph::NodeIndex root) const {
    const auto is_of_root = [&](std::uint32_t r) { return replicas[r].root == root; };
    return replicas[*std::ranges::find_if(of_steps[step].read, is_of_root)];
}

namespace {

Schedule make_steps(const Planning &planning, const Placed &placed, const Fused &fused) {
    const auto nodes = planning.graph.nodes();
    Schedule made;
    // A step has some 400 bytes: growing by doubling would copy them and return pages to the system meanwhile.
    const auto n_steps = static_cast<std::size_t>(std::ranges::count_if(nodes, [](const Tensor *node) { return !node->is_pure_view(); }));
    made.steps.reserve(n_steps);
    made.nodes.reserve(n_steps);
    made.done.reserve(n_steps);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (nodes[i]->is_pure_view() || fused.fusions.is_fused(i)) {
            if (!made.done.empty()) made.done.back() = i + 1;
            continue;
        }
        const StepPrograms &programs = fused.programs[i];
        const std::size_t computed = programs.producer ? planning.index_of(*programs.producer) : i;
        Tensor &node = *nodes[computed];
        Step step{};
        step.kernel = fused.kernels[computed].kernel;
        step.plan = fused.kernels[computed].plan;
        step.node = &node;
        step.result = nodes[i];
        step.part = placed.placement.part[i];
        step.program = programs.program.spans;
        step.prologue = programs.prologue.spans;
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (node.writes(s) && node.src[s]->root->is_leaf()) made.targets.push_back(planning.index_of(*node.src[s]->root));
        }
        if (const unsigned operands = checked_operands(node)) {
            made.checked.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(made.steps.size()), operands});
        }
        made.steps.push_back(step);
        made.nodes.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(i)});
        made.done.push_back(i + 1);
    }
    return made;
}

// Calls f(root, tensors) for each root that the step writes: its result's, or those of the operands that it writes into.
template <class F>
void for_each_written(const Step &step, F f) {
    if (!step.node->writes()) {
        const Tensor *result[] = {step.result};
        return f(*step.result->root, std::span<const Tensor *const>(result));
    }
    std::array<const Tensor *, max_sources> written;
    for (std::size_t s = 0; s < step.node->n_src; s++) {
        if (!step.node->writes(s)) continue;
        const Tensor &root = *step.node->src[s]->root;
        std::size_t n = 0;
        bool is_first = true;
        for (std::size_t other = 0; other < step.node->n_src; other++) {
            if (!step.node->writes(other) || step.node->src[other]->root != &root) continue;
            is_first = is_first && other >= s;
            written[n++] = step.node->src[other];
        }
        if (is_first) f(root, std::span<const Tensor *const>(written.data(), n));
    }
}

// A number for each root of the graph.
class PerRoot {
public:
    explicit PerRoot(const Planning &planning)
        : planning_(planning), nodes_(planning.graph.nodes().size()), leafs_(planning.graph.leafs().size()) {}
    std::uint32_t &operator[](const Tensor &root) {
        const Graph::NodeIndex index = planning_.index_of(root);
        return index & Graph::leaf_bit ? leafs_[index & ~Graph::leaf_bit] : nodes_[index];
    }

private:
    const Planning &planning_;
    std::vector<std::uint32_t> nodes_, leafs_;
};

// Goes through the steps in the order of the graph's nodes, and finds the copies and the round of each.
class TransferFinder {
public:
    TransferFinder(const Planning &planning, const Placed &placed, const Fused &fused, const std::vector<Step> &steps)
        : planning_(planning),
          placed_(placed),
          fused_(fused),
          steps_(steps),
          version_(planning),
          written_in_(planning),
          last_write_(planning) {
        made_.of_steps.resize(steps.size());
        rounds_.reserve(steps.size());
        for (std::uint32_t k = 0; k < steps.size(); k++) {
            for_each_written(steps[k], [&](const Tensor &root, std::span<const Tensor *const>) { last_write_[root] = k; });
        }
        for (std::size_t k = 0; k < steps.size(); k++) {
            // The nodes of groups run in their order, whatever their parts.
            if ((k > 0 && made_.of_steps[k - 1].ends_round()) || steps[k].node->is_collective) begin_round(k);
            for_each_read(planning_, fused_, steps[k], [&](const Read &read) { add_read(k, read.tensor); });
            rounds_.push_back(round_);
            for_each_written(steps[k], [&](const Tensor &root, std::span<const Tensor *const> written) { add_written(k, root, written); });
        }
    }

    Transfers take() && { return std::move(made_); }
    // The round of each step. Steps of one round follow each other.
    const std::vector<std::uint32_t> &rounds() const noexcept { return rounds_; }

private:
    void begin_round(std::size_t k) {
        if (first_ != k) round_++;
        first_ = k;
    }

    void add_read(std::size_t k, const Tensor &t) {
        const Tensor &root = *t.root;
        if (placed_.home(planning_, root) == steps_[k].part) return;
        const std::size_t known = made_.replicas.size();
        const std::uint32_t replica = replica_on(root, steps_[k].part, false);
        extend(made_.replicas[replica], t);
        if (replica == known && made_.replicas[replica].where == Replica::in_block) {
            if (written_in_[root] == round_) begin_round(k);
            made_.of_steps[first_].before.push_back(replica);
        }
        std::vector<std::uint32_t> &read = made_.of_steps[k].read;
        if (std::ranges::find(read, replica) == read.end()) read.push_back(replica);
    }

    void add_written(std::size_t k, const Tensor &root, std::span<const Tensor *const> written) {
        StepTransfers &transfers = made_.of_steps[k];
        if (placed_.home(planning_, root) != steps_[k].part) {
            const std::uint32_t replica = replica_on(root, steps_[k].part, false);
            for (const Tensor *t : written) {
                extend(made_.replicas[replica], *t);
                transfers.back.push_back({replica, t->root_offset, t->root_offset + t->layout.span_bytes()});
            }
            // The replica already holds what the root's own part will hold.
            made_.replicas.push_back(Replica(made_.replicas[replica]));
            made_.replicas.back().version++;
        }
        version_[root]++;
        written_in_[root] = round_;
        if (root.is_leaf() || last_write_[root] != k) return;
        const std::size_t node = planning_.index_of(root);
        if (!planning_.structure.is_output(node) || !placed_.is_elsewhere(planning_, node)) return;
        const auto to = static_cast<std::uint32_t>(*planning_.backend.part_on(root.context->memory()));
        transfers.after.push_back(replica_on(root, to, true));
    }

    // The replica of a root's current bytes on a part, made if it does not exist. is_output: the bytes go to the root's own
    // data on that part.
    std::uint32_t replica_on(const Tensor &root, std::uint32_t part, bool is_output) {
        const Graph::NodeIndex index = planning_.index_of(root);
        for (std::size_t r = made_.replicas.size(); r-- > 0;) {
            const Replica &known = made_.replicas[r];
            if (known.root != index || known.part != part || known.version != version_[root]) continue;
            if (!is_output || known.where == Replica::in_output) return static_cast<std::uint32_t>(r);
        }
        Replica replica{index, part, version_[root], Replica::in_block, static_cast<std::uint32_t>(made_.buffers.size())};
        if (is_output) {
            replica.where = Replica::in_output;
        } else if (root.is_leaf() && root.storage.constant.load(std::memory_order_acquire)) {
            replica.where = Replica::kept;
            made_.kept_constants.push_back({index, part});
        } else {
            made_.buffers.push_back({part, ~std::size_t{0}, 0});
        }
        made_.replicas.push_back(replica);
        return static_cast<std::uint32_t>(made_.replicas.size() - 1);
    }

    // Extends the replica to the tensor's bytes.
    void extend(const Replica &replica, const Tensor &t) {
        if (replica.where != Replica::in_block) return;
        ReplicaBuffer &buffer = made_.buffers[replica.buffer];
        const std::size_t unit = planning_.memory_of(buffer.part).alignment();
        buffer.begin = std::min(buffer.begin, t.root_offset / unit * unit);
        buffer.end = std::max(buffer.end, t.root_offset + t.layout.span_bytes());
    }

    const Planning &planning_;
    const Placed &placed_;
    const Fused &fused_;
    const std::vector<Step> &steps_;
    Transfers made_;
    std::vector<std::uint32_t> rounds_;
    PerRoot version_;     // the number of writes so far
    PerRoot written_in_;  // the last round in which the root was written
    PerRoot last_write_;  // the last step that writes it
    std::uint32_t round_ = 1;
    std::size_t first_ = 0;  // the first step of the round
};

// Sorts the steps by rounds, and within a round by parts: first the parts that compute while others receive their steps. A
// round's copies come before its first step and after its last.
Scheduled in_rounds(const Planning &planning, Schedule schedule, Transfers transfers) {
    std::vector<Step> &steps = schedule.steps;
    std::vector<std::uint32_t> order(steps.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rank = [&](std::uint32_t k) {
        const std::uint32_t part = steps[k].part;
        return std::tuple(steps[k].round, part + (planning.parts[part]->returns_before_done() ? 0 : planning.parts.size()), k);
    };
    std::ranges::sort(order, {}, rank);
    const auto sort = [&](auto &all) {
        std::remove_reference_t<decltype(all)> sorted;
        sorted.reserve(all.size());
        for (const std::uint32_t k : order) sorted.push_back(std::move(all[k]));
        all.swap(sorted);
    };
    // The number of nodes that are done after each step.
    std::adjacent_difference(schedule.done.begin(), schedule.done.end(), schedule.done.begin());
    sort(schedule.done);
    std::partial_sum(schedule.done.begin(), schedule.done.end(), schedule.done.begin());
    sort(steps);
    sort(schedule.nodes);
    sort(transfers.of_steps);
    std::vector<std::uint32_t> moved_to(order.size());
    for (std::uint32_t k = 0; k < order.size(); k++) moved_to[order[k]] = k;
    for (CheckedNode &checked : schedule.checked) checked.step = moved_to[checked.step];
    std::vector<StepTransfers> &of_steps = transfers.of_steps;
    for (std::size_t begin = 0, end; begin < steps.size(); begin = end) {
        for (end = begin + 1; end < steps.size() && steps[end].round == steps[begin].round; end++) {
        }
        for (std::size_t k = begin; k < end; k++) {
            if (k != begin && !of_steps[k].before.empty()) of_steps[begin].before.swap(of_steps[k].before);
            if (k == end - 1) continue;
            if (!of_steps[k].back.empty()) of_steps[end - 1].back.swap(of_steps[k].back);
            if (!of_steps[k].after.empty()) of_steps[end - 1].after.swap(of_steps[k].after);
        }
    }
    return {std::move(schedule), std::move(transfers)};
}

}  // namespace

Scheduled schedule(const Planning &planning, const Placed &placed, const Fused &fused) {
    Schedule made = make_steps(planning, placed, fused);
    if (!placed.crosses()) return {std::move(made), {}};
    TransferFinder finder(planning, placed, fused, made.steps);
    for (std::size_t k = 0; k < made.steps.size(); k++) made.steps[k].round = finder.rounds()[k];
    return in_rounds(planning, std::move(made), std::move(finder).take());
}

}  // namespace tensorlib::core
