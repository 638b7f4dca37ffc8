// Planning for several parts: the copies between them, their landings, and the order of the steps.
//
//   round 0   steps of part 0, steps of part 1       no copies between them: each part gets its steps at once
//   copies    the bytes from other parts that the first step of round 1 reads
//   round 1   ...
//
// A copy begins when all earlier work on its source's part is done, and ends before its reader begins. So the order is right
// whatever the parts do at the same time. A copy holds the bytes that the part's steps read, from the first to the last. It
// lands in the part's block, in memory that others use before and after (planner_memory.cpp). If a step writes into a root of
// another part, the root's bytes are copied to a landing, written there, and copied back.
#include "runtime/planner.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>

namespace tensorlib::core {

std::uint32_t Planner::home(const Tensor &root) const {
    if (alone_) return *alone_;
    const Graph::NodeIndex place = *places_.find(&root);
    return place & Graph::leaf_bit ? static_cast<std::uint32_t>(*backend_.part_on(root.context->memory())) : plan_.parts_[place];
}

bool Planner::is_elsewhere(std::size_t node) const {
    return crosses() && &graph_.nodes()[node]->context->memory() != plan_.blocks_[plan_.parts_[node]].memory;
}

// The landing of a root's bytes on a part after this number of writes, made if it does not exist. is_output: they go to the
// root's own data on that part.
std::uint32_t Planner::landing_for(const Tensor &root, std::uint32_t part, std::uint32_t version, bool is_output) {
    const Graph::NodeIndex place = *places_.find(&root);
    for (std::size_t l = landings_.size(); l-- > 0;) {
        const Landing &known = landings_[l];
        if (known.root != place || known.part != part || known.version != version) continue;
        if (!is_output || known.where == Landing::in_output) return static_cast<std::uint32_t>(l);
    }
    Landing landing{place, part, version, Landing::in_block, static_cast<std::uint32_t>(landed_.size())};
    if (is_output) {
        landing.where = Landing::in_output;
    } else if (root.is_leaf() && root.constant.load(std::memory_order_acquire)) {
        landing.where = Landing::kept;
        plan_.kept_constants_.push_back({place, part});
    } else {
        landed_.push_back({part, ~std::size_t{0}, 0});
    }
    landings_.push_back(landing);
    return static_cast<std::uint32_t>(landings_.size() - 1);
}

// Extends the landing to the tensor's bytes.
void Planner::extend(const Landing &landing, const Tensor &t) {
    if (landing.where != Landing::in_block) return;
    Landed &landed = landed_[landing.landed];
    const std::size_t unit = plan_.blocks_[landed.part].memory->alignment();
    landed.begin = std::min(landed.begin, t.root_offset / unit * unit);
    landed.end = std::max(landed.end, t.root_offset + t.layout.span_bytes());
}

void Planner::find_copies() {
    std::vector<Step> &steps = plan_.steps_;
    landings_.clear(), landed_.clear();
    copied_.assign(steps.size(), {});
    plan_.kept_constants_.clear();
    // By the root's index: the number of writes so far; for outputs that are computed elsewhere, the last step that writes
    // them.
    std::vector<std::uint32_t> node_version(graph_.nodes().size()), leaf_version(graph_.leafs().size());
    const auto version = [&](const Tensor &root) -> std::uint32_t & {
        const Graph::NodeIndex place = *places_.find(&root);
        return place & Graph::leaf_bit ? leaf_version[place & ~Graph::leaf_bit] : node_version[place];
    };
    // Calls f(root, tensors) for each root that the step writes: its result's, or those of the operands that it writes into.
    const auto for_each_written = [&](const Step &step, auto f) {
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
    };
    std::vector<std::size_t> last_write(graph_.nodes().size());
    for (std::size_t k = 0; k < steps.size(); k++) {
        for_each_written(steps[k], [&](const Tensor &root, std::span<const Tensor *const>) {
            if (!root.is_leaf()) last_write[*places_.find(&root)] = k;
        });
    }
    // The last round in which each root was written, counted from 1; the step's round, and the first step of that round.
    std::vector<std::uint32_t> node_round(node_version.size()), leaf_round(leaf_version.size());
    const auto written_in = [&](const Tensor &root) -> std::uint32_t & {
        const Graph::NodeIndex place = *places_.find(&root);
        return place & Graph::leaf_bit ? leaf_round[place & ~Graph::leaf_bit] : node_round[place];
    };
    std::uint32_t round = 1;
    std::size_t first = 0;
    const auto begin_round = [&](std::size_t k) {
        if (first != k) round++;
        first = k;
    };
    for (std::size_t k = 0; k < steps.size(); k++) {
        Copied &copied = copied_[k];
        if (k > 0 && copied_[k - 1].ends_round()) begin_round(k);
        for_each_read(steps[k], [&](const Read &read) {
            const Tensor &root = *read.tensor.root;
            if (home(root) == steps[k].part) return;
            const std::size_t known = landings_.size();
            const std::uint32_t landing = landing_for(root, steps[k].part, version(root), false);
            extend(landings_[landing], read.tensor);
            if (landing == known && landings_[landing].where == Landing::in_block) {
                if (written_in(root) == round) begin_round(k);
                copied_[first].before.push_back(landing);
            }
            if (std::ranges::find(copied.read, landing) == copied.read.end()) copied.read.push_back(landing);
        });
        steps[k].round = round;
        for_each_written(steps[k], [&](const Tensor &root, std::span<const Tensor *const> written) {
            if (home(root) != steps[k].part) {
                const std::uint32_t landing = landing_for(root, steps[k].part, version(root), false);
                for (const Tensor *t : written) {
                    extend(landings_[landing], *t);
                    copied.back.push_back({landing, t->root_offset, t->root_offset + t->layout.span_bytes()});
                }
                // The landing already holds what the root's own part will hold.
                landings_.push_back(landings_[landing]);
                landings_.back().version++;
            }
            version(root)++;
            written_in(root) = round;
            if (root.is_leaf()) return;
            const std::size_t node = *places_.find(&root);
            if (last_write[node] != k || !plan_.structure_.is_output(node) || !is_elsewhere(node)) return;
            const auto to = static_cast<std::uint32_t>(*backend_.part_on(root.context->memory()));
            copied.after.push_back(landing_for(root, to, version(root), true));
        });
    }
}

// Sorts the steps by rounds, and within a round by parts: first the parts that compute while others receive their steps. A
// round's copies come before its first step and after its last.
void Planner::order_rounds() {
    std::vector<Step> &steps = plan_.steps_;
    std::vector<std::uint32_t> order(steps.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rank = [&](std::uint32_t k) {
        const std::uint32_t part = steps[k].part;
        return std::tuple(steps[k].round, part + (parts_[part]->returns_before_done() ? 0 : n_parts()), k);
    };
    std::ranges::sort(order, {}, rank);
    const auto sort = [&](auto &all) {
        std::remove_reference_t<decltype(all)> sorted;
        sorted.reserve(all.size());
        for (const std::uint32_t k : order) sorted.push_back(std::move(all[k]));
        all.swap(sorted);
    };
    // The number of nodes that are done after each step.
    for (std::size_t k = plan_.done_.size(); k-- > 1;) plan_.done_[k] -= plan_.done_[k - 1];
    sort(plan_.done_);
    std::partial_sum(plan_.done_.begin(), plan_.done_.end(), plan_.done_.begin());
    sort(steps);
    sort(plan_.step_nodes_);
    sort(copied_);
    std::vector<std::uint32_t> moved_to(order.size());
    for (std::uint32_t k = 0; k < order.size(); k++) moved_to[order[k]] = k;
    for (CheckedNode &checked : plan_.checked_) checked.step = moved_to[checked.step];
    for (std::size_t begin = 0, end; begin < steps.size(); begin = end) {
        for (end = begin + 1; end < steps.size() && steps[end].round == steps[begin].round; end++) {
        }
        for (std::size_t k = begin; k < end; k++) {
            if (k != begin && !copied_[k].before.empty()) copied_[begin].before.swap(copied_[k].before);
            if (k == end - 1) continue;
            if (!copied_[k].back.empty()) copied_[end - 1].back.swap(copied_[k].back);
            if (!copied_[k].after.empty()) copied_[end - 1].after.swap(copied_[k].after);
        }
    }
}

const Planner::Landing *Planner::landing_of(Graph::NodeIndex root, std::size_t step) const {
    const auto of_root = [&](std::uint32_t l) { return landings_[l].root == root; };
    return &landings_[*std::ranges::find_if(copied_[step].read, of_root)];
}

void Planner::find_landing(const Tensor &root, const Step &step, std::size_t behind, std::byte *&address) {
    const Graph::NodeIndex place = *places_.find(&root);
    const Landing &landing = *landing_of(place, static_cast<std::size_t>(&step - plan_.steps_.data()));
    if (landing.where == Landing::kept) {
        // The step only reads it, although an operand's address is not const.
        const std::byte *constant = backend_.constant_on(step.part, root);
        address = constant ? const_cast<std::byte *>(constant) + behind : nullptr;
    } else if (landing.where == Landing::in_output) {
        plan_.in_graph_.push_back({&address, place, behind});
    } else {
        plan_.in_block_.push_back({&address, offset_of(landing) + behind - landed_[landing.landed].begin, step.part});
    }
}

// The offset of a landing in its part's block.
std::size_t Planner::offset_of(const Landing &landing) const {
    const Plan::Block &block = plan_.blocks_[landing.part];
    return block.intermediates_offset + block.intermediates.offset[graph_.nodes().size() + landing.landed];
}

// A step's copies and their addresses.
void Planner::add_copies(Step &step) {
    const Copied &copied = copied_[static_cast<std::size_t>(&step - plan_.steps_.data())];
    // Copies bytes begin to end of the landing's root, to the landing or back.
    const auto add = [&](std::uint32_t l, std::size_t begin, std::size_t end, bool back, bool waits) {
        const Landing &landing = landings_[l];
        const Tensor &root = *graph_.at(landing.root);
        const std::uint32_t at_home = home(root);
        plan_.copies_.push_back(
            {&root, back ? landing.part : at_home, back ? at_home : landing.part, nullptr, nullptr, end - begin, waits});
        plan_.copied_roots_.push_back(landing.root);
        Copy &copy = plan_.copies_.back();
        plan_.blocks_[copy.to].copied_bytes += copy.bytes;
        find_root(root, at_home, begin, back ? copy.target : copy.source);
        std::byte *&landed = back ? copy.source : copy.target;
        if (landing.where == Landing::in_output) {
            plan_.in_graph_.push_back({&landed, landing.root, begin});
        } else {
            plan_.in_block_.push_back({&landed, offset_of(landing) + begin - landed_[landing.landed].begin, landing.part});
        }
    };
    const std::size_t first = plan_.copies_.size();
    for (const std::uint32_t l : copied.before) {
        const Landed &landed = landed_[landings_[l].landed];
        add(l, landed.begin, landed.end, false, landed.waits);
    }
    const std::size_t behind = plan_.copies_.size();
    // Steps on the root's own part may still read the bytes that are overwritten.
    for (const Back &back : copied.back) add(back.landing, back.begin, back.end, true, true);
    for (const std::uint32_t l : copied.after) add(l, 0, graph_.at(landings_[l].root)->layout.nbytes(), false, false);
    step.before = std::span(plan_.copies_).subspan(first, behind - first);
    step.after = std::span(plan_.copies_).subspan(behind);
}

}  // namespace tensorlib::core
