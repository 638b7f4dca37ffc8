#include "runtime/plan_cache.hpp"

#include "base/fail.hpp"
#include "runtime/trace.hpp"

#include <algorithm>
#include <utility>

namespace tensorlib::core {

PlanCache &PlanCache::of(Context &context) {
    return static_cast<PlanCache &>(context.plans([](Context &c) -> std::unique_ptr<PlanStore> { return std::make_unique<PlanCache>(c); }));
}

const Plan *PlanCache::find(const Graph &graph, std::uint64_t backend) const {
    std::lock_guard lock(lock_);
    for (const BackendPlans &plans : backends_) {
        const auto kept = plans.of_graphs.find(&graph);
        if (plans.backend == backend && kept != plans.of_graphs.end()) return kept->second.plan.get();
    }
    return nullptr;
}

PlanCache::BackendPlans &PlanCache::enter(const Backend &backend) {
    std::list<BackendPlans> left;
    std::unique_lock lock(lock_);
    auto plans = std::ranges::find(backends_, backend.serial(), &BackendPlans::backend);
    if (plans != backends_.end()) {
        backends_.splice(backends_.end(), backends_, plans);
    } else {
        if (backends_.size() >= kept_backends) {
            const auto oldest = std::ranges::find(backends_, false, &BackendPlans::in_use);
            if (oldest != backends_.end()) left.splice(left.end(), backends_, oldest);
        }
        plans = backends_.emplace(backends_.end());
        plans->backend = backend.serial();
    }
    plans->in_use = true;
    lock.unlock();
    for (const BackendPlans &old : left) {
        std::size_t counted = 0;
        for (const auto &entry : old.of_graphs) counted += entry.second.counted;
        for (const CachedPlan &kept : old.waiting) counted += kept.counted;
        context_.uncount_plan(counted);
        context_.release_plan_data(old.block, old.block_size);
    }
    return *plans;
}

void PlanCache::leave(BackendPlans &plans) noexcept {
    std::lock_guard lock(lock_);
    plans.in_use = plans.block_in_use = false;
}

// A waiting plan that fits the graph, or null.
PlanCache::CachedPlan PlanCache::take_waiting(BackendPlans &plans, const Graph &graph) {
    const auto fits = [&](const CachedPlan &kept) { return kept.plan->hash() == graph.hash() && kept.plan->fits(graph); };
    const auto found = std::ranges::find_if(plans.waiting, fits);
    if (found == plans.waiting.end()) return {};
    CachedPlan taken = std::move(*found);
    plans.waiting.erase(found);
    return taken;
}

std::size_t PlanCache::wait(BackendPlans &plans, CachedPlan &&kept) noexcept {
    const std::size_t counted = kept.counted;
    try {
        plans.waiting.push_back(std::move(kept));
        return 0;
    } catch (...) {
        return counted;  // no memory for the entry, so the plan is freed
    }
}

std::size_t PlanCache::drop_surplus(bool last_stays) noexcept {
    constexpr std::size_t always_kept = std::size_t{256} << 10;
    const std::size_t most = std::max(always_kept, largest_ / 2);
    std::size_t waiting = 0, dropped = 0;
    for (const BackendPlans &plans : backends_) {
        for (const CachedPlan &kept : plans.waiting) waiting += kept.counted;
    }
    if (waiting <= most) return 0;
    for (BackendPlans &plans : backends_) {
        auto end = plans.waiting.begin();
        while (end != plans.waiting.end() && waiting - dropped > most && !(last_stays && end + 1 == plans.waiting.end())) {
            dropped += end++->counted;
        }
        plans.waiting.erase(plans.waiting.begin(), end);
    }
    return dropped;
}

Plan &PlanCache::plan_for(BackendPlans &plans, Graph &graph, Backend &backend, bool &made) {
    made = false;
    CachedPlan kept, outdated;
    {
        std::lock_guard lock(lock_);
        const auto own = plans.of_graphs.find(&graph);
        if (own != plans.of_graphs.end()) {
            if (!own->second.plan->outdated()) return *own->second.plan;
            outdated = std::move(own->second);
            plans.of_graphs.erase(own);
        }
        kept = take_waiting(plans, graph);
    }
    if (outdated.plan) context_.uncount_plan(outdated.counted);
    try {
        if (kept.plan) {
            kept.plan->bind(graph);
        } else {
            made = true;
            const Trace::Span span(backend.trace(), "plan");
            kept.plan = std::make_unique<Plan>(graph, backend);
            const std::size_t bytes = kept.plan->own_bytes();
            make_room(bytes + (backend.has_own_blocks() ? 0 : kept.plan->block_bytes()));
            const auto purpose = [&] { return format_text("graph_compute: the plan of a graph of %zu nodes", graph.nodes().size()); };
            for_purpose(purpose, [&] { context_.count_plan(bytes); });
            kept.counted = bytes;
        }
        std::lock_guard lock(lock_);
        return *plans.of_graphs.emplace(&graph, std::move(kept)).first->second.plan;
    } catch (...) {
        context_.uncount_plan(kept.counted);
        throw;
    }
}

void PlanCache::give_block(BackendPlans &plans, Plan &plan, Backend &backend) {
    const auto purpose = [&] {
        std::size_t wanted = 0;
        for (std::size_t part = 0; part < plan.n_blocks(); part++) wanted += plan.block_bytes(part);
        return format_text("graph_compute: %zu bytes of intermediates and workspace of a graph of %zu nodes", wanted,
                           plan.graph()->nodes().size());
    };
    if (backend.has_own_blocks()) {
        for (std::size_t part = 0; part < plan.n_blocks(); part++) {
            plan.place(for_purpose(purpose, [&] { return backend.own_block(part, plan.block_bytes(part)); }), part);
        }
        return;
    }
    const std::size_t wanted = plan.block_bytes();
    void *small = nullptr;
    std::size_t small_size = 0;
    {
        std::lock_guard lock(lock_);
        plans.block_in_use = true;
        if (plans.block_size < wanted) {
            small = std::exchange(plans.block, nullptr);
            small_size = std::exchange(plans.block_size, 0);
        }
    }
    if (plans.block_size < wanted) {
        plans.clear_faults = 0;
        context_.release_plan_data(small, small_size);
        void *block = for_purpose(purpose, [&] { return context_.allocate_plan_data(wanted); });
        std::lock_guard lock(lock_);
        plans.block = block;
        plans.block_size = wanted;
    }
    plan.place(static_cast<std::byte *>(plans.block));
}

// It still counts in the context's limit.
void PlanCache::forget_block(BackendPlans &plans) noexcept {
    std::lock_guard lock(lock_);
    plans.block = nullptr;
    plans.block_size = 0;
    plans.clear_faults = 0;
}

// Makes room before a plan of this many bytes is kept.
void PlanCache::make_room(std::size_t bytes) noexcept {
    std::size_t dropped;
    {
        std::lock_guard lock(lock_);
        largest_ = std::max(largest_, bytes);
        dropped = drop_surplus(false);
    }
    if (dropped != 0) context_.uncount_plan(dropped);
}

void PlanCache::graph_gone(const Graph &graph) noexcept {
    std::size_t dropped = 0;
    {
        const auto lock = context_.lock_to_release(lock_);
        if (!lock) return;
        for (BackendPlans &plans : backends_) {
            const auto own = plans.of_graphs.find(&graph);
            if (own == plans.of_graphs.end()) continue;
            own->second.plan->unbind();
            dropped += wait(plans, std::move(own->second));
            plans.of_graphs.erase(own);
        }
        dropped += drop_surplus(true);
    }
    if (dropped != 0) context_.uncount_plan(dropped);
}

PlanStore::Idle PlanCache::take_idle() noexcept {
    Idle idle;
    std::size_t n_blocks = 0;
    std::lock_guard lock(lock_);
    for (BackendPlans &plans : backends_) {
        for (const CachedPlan &kept : plans.waiting) idle.counted += kept.counted;
        plans.waiting.clear();
        if (plans.block_in_use || !plans.block || n_blocks == most_blocks) continue;
        idle.blocks[n_blocks++] = {std::exchange(plans.block, nullptr), std::exchange(plans.block_size, 0)};
        plans.clear_faults = 0;
    }
    largest_ = 0;
    return idle;
}

Plan &PlanUse::plan(bool &made) {
    Plan &plan = cache_.plan_for(plans_, graph_, backend_, made);
    cache_.give_block(plans_, plan, backend_);
    return plan;
}

void PlanUse::begin_run(Plan &plan) {
    plan.begin_run();
    if (plans_.clear_faults < plan.n_faults() || backend_.has_own_blocks()) plan.clear_faults();
    // Stays so until the run ends well: a run that is stopped may have noted an element that nobody has read. Intermediates
    // follow this plan's words.
    plans_.clear_faults = 0;
}

void PlanUse::retire_memory() noexcept {
    cache_.forget_block(plans_);
    backend_.forget_own_blocks();
    for (const Graph::Reached &reached : graph_.contexts()) reached.context->retire();
}

}  // namespace tensorlib::core
