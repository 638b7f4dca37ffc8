// Planning for several parts: what is copied from one to another, where it lands, and in which order the steps run.
//
//   round 0   steps of part 0, steps of part 1       no copies in between: each part's steps are handed over at once
//   copies    what the first step of round 1 reads that was made elsewhere
//   round 1   ...
//
// A copy begins when all that came before it on its source's part is done, and is done when its reader begins: then no order of steps can
// be wrong, whatever parts do at the same time. Where it lands is nobody else's in the run. What a step writes into on another part is
// copied to a landing, written there, and copied back.
#include "runtime/planner.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <numeric>

namespace tensorlib::core {

std::uint32_t Planner::home(const Tensor &root) const {
    if (alone_) return *alone_;
    const Graph::Place place = *places_.find(&root);
    return place & Graph::leaf_bit ? static_cast<std::uint32_t>(*backend_.part_on(root.context->memory())) : plan_.parts_[place];
}

bool Planner::is_elsewhere(std::size_t node) const {
    return crosses() && &graph_.nodes()[node]->context->memory() != plan_.blocks_[plan_.parts_[node]].memory;
}

// The landing of a root's bytes on a part after so many writes; a new one where there is none. is_output: they are to go to its own data,
// which are there.
std::uint32_t Planner::landing_for(const Tensor &root, std::uint32_t part, std::uint32_t version, bool is_output) {
    const Graph::Place place = *places_.find(&root);
    for (std::size_t l = landings_.size(); l-- > 0;) {
        const Landing &known = landings_[l];
        if (known.root != place || known.part != part || known.version != version) continue;
        if (!is_output || known.where == Landing::in_output) return static_cast<std::uint32_t>(l);
    }
    Landing landing{place, part, version, Landing::in_block, 0};
    if (is_output) {
        landing.where = Landing::in_output;
    } else if (root.is_leaf() && root.constant.load(std::memory_order_acquire)) {
        landing.where = Landing::kept;
        plan_.kept_constants_.push_back({place, part});
    } else {
        Plan::Block &block = plan_.blocks_[part];
        landing.offset = block.copies_bytes;
        const std::size_t unit = block.memory->alignment(), bytes = std::max(round_up(root.layout.nbytes(), unit), unit);
        if (!checked_add(block.copies_bytes, bytes, block.copies_bytes)) block.copies_bytes = ~std::size_t{0};
    }
    landings_.push_back(landing);
    return static_cast<std::uint32_t>(landings_.size() - 1);
}

void Planner::find_copies() {
    std::vector<Step> &steps = plan_.steps_;
    landings_.clear();
    copied_.assign(steps.size(), {});
    plan_.kept_constants_.clear();
    for (Plan::Block &block : plan_.blocks_) block.copies_bytes = 0;
    // By the root's place: how often it was written to so far; and of outputs that are computed elsewhere the last step that does.
    std::vector<std::uint32_t> node_version(graph_.nodes().size()), leaf_version(graph_.leafs().size());
    const auto version = [&](const Tensor &root) -> std::uint32_t & {
        const Graph::Place place = *places_.find(&root);
        return place & Graph::leaf_bit ? leaf_version[place & ~Graph::leaf_bit] : node_version[place];
    };
    // Calls f(root) for what the step writes: its own result, or others' memory.
    const auto for_each_written = [&](const Step &step, auto f) {
        f(*step.result->root);
        for (std::size_t s = 0; s < step.node->n_src; s++) {
            if (step.node->writes(s) && step.node->src[s]->root != step.result->root) f(*step.node->src[s]->root);
        }
    };
    std::vector<std::size_t> last_write(graph_.nodes().size());
    for (std::size_t k = 0; k < steps.size(); k++) {
        for_each_written(steps[k], [&](const Tensor &root) {
            if (!root.is_leaf()) last_write[*places_.find(&root)] = k;
        });
    }
    // The round that each root was written in last, the first one being 1; and the one that the step is in, with its first step.
    std::vector<std::uint32_t> node_round(node_version.size()), leaf_round(leaf_version.size());
    const auto written_in = [&](const Tensor &root) -> std::uint32_t & {
        const Graph::Place place = *places_.find(&root);
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
            if (landing == known && landings_[landing].where == Landing::in_block) {
                if (written_in(root) == round) begin_round(k);
                copied_[first].before.push_back(landing);
            }
            if (std::ranges::find(copied.read, landing) == copied.read.end()) copied.read.push_back(landing);
        });
        steps[k].round = round;
        for_each_written(steps[k], [&](const Tensor &root) {
            if (home(root) != steps[k].part) {
                const std::uint32_t landing = landing_for(root, steps[k].part, version(root), false);
                copied.back.push_back(landing);
                // There it is as it will be at home.
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

// Sorts the steps by rounds, and within a round by parts: those first that compute while others are handed their steps. A round's copies
// come before the first of them, and behind the last.
void Planner::order_rounds() {
    std::vector<Step> &steps = plan_.steps_;
    std::vector<std::uint32_t> order(steps.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rank = [&](std::uint32_t k) {
        const std::uint32_t part = steps[k].part;
        return std::pair(steps[k].round, part + (parts_[part]->returns_before_done() ? 0 : n_parts()));
    };
    std::ranges::stable_sort(order, {}, rank);
    const auto sort = [&](auto &all) {
        std::remove_reference_t<decltype(all)> sorted;
        sorted.reserve(all.size());
        for (const std::uint32_t k : order) sorted.push_back(std::move(all[k]));
        all.swap(sorted);
    };
    // How many nodes are done after each step: so many for each.
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

void Planner::find_landing(const Tensor &root, const Step &step, std::size_t behind, std::byte *&address) {
    const Graph::Place place = *places_.find(&root);
    const Copied &copied = copied_[static_cast<std::size_t>(&step - plan_.steps_.data())];
    const auto of_root = [&](std::uint32_t l) { return landings_[l].root == place; };
    const Landing &landing = landings_[*std::ranges::find_if(copied.read, of_root)];
    if (landing.where == Landing::kept) {
        // It is only read, although an operand's address is not const.
        const std::byte *constant = backend_.constant_on(step.part, root);
        address = constant ? const_cast<std::byte *>(constant) + behind : nullptr;
    } else if (landing.where == Landing::in_output) {
        plan_.in_graph_.push_back({&address, place, behind});
    } else {
        plan_.in_block_.push_back({&address, plan_.blocks_[step.part].copies_offset + landing.offset + behind, step.part});
    }
}

// A step's copies and their addresses.
void Planner::add_copies(Step &step) {
    const Copied &copied = copied_[static_cast<std::size_t>(&step - plan_.steps_.data())];
    const auto add = [&](std::uint32_t l, bool back) {
        const Landing &landing = landings_[l];
        const Tensor &root = *graph_.at(landing.root);
        const std::uint32_t at_home = home(root);
        plan_.copies_.push_back(
            {&root, back ? landing.part : at_home, back ? at_home : landing.part, nullptr, nullptr, root.layout.nbytes(), back});
        plan_.copied_roots_.push_back(landing.root);
        Copy &copy = plan_.copies_.back();
        find_root(root, at_home, 0, back ? copy.target : copy.source);
        std::byte *&landed = back ? copy.source : copy.target;
        if (landing.where == Landing::in_output) {
            plan_.in_graph_.push_back({&landed, landing.root, 0});
        } else {
            plan_.in_block_.push_back({&landed, plan_.blocks_[landing.part].copies_offset + landing.offset, landing.part});
        }
    };
    const std::size_t first = plan_.copies_.size();
    for (const std::uint32_t l : copied.before) add(l, false);
    const std::size_t behind = plan_.copies_.size();
    for (const std::uint32_t l : copied.back) add(l, true);
    for (const std::uint32_t l : copied.after) add(l, false);
    step.before = std::span(plan_.copies_).subspan(first, behind - first);
    step.after = std::span(plan_.copies_).subspan(behind);
}

}  // namespace tensorlib::core
