// A context's plans, and the memory in which they compute.
//
// A plan belongs to one graph until that graph is freed, then becomes reusable by a graph of the same structure. Plans of one
// backend share a block for their intermediates, because a backend runs one graph at a time. The block is as large as the
// largest plan needs. Waiting plans may use half as much again, or 256 KiB; the least recently used one is freed first. The
// last plan waits in any case, until another graph makes a plan. If a context runs out of memory, all waiting plans and
// unused blocks are freed.
//
// Thread-safe. A run holds its backend's turn and its contexts' run locks, which guard the plan and the block that it uses.
#pragma once

#include "graph/plan_store.hpp"
#include "runtime/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tensorlib::core {

class PlanCache final : public PlanStore {
public:
    explicit PlanCache(Context &context) noexcept : context_(context) {}

    // The context's cache, made at the first call.
    static PlanCache &of(Context &context);

    // Plans of this many backends are kept; those of the least recently used backend are freed first.
    static constexpr std::size_t kept_backends = 4;
    static_assert(kept_backends <= most_blocks);

    void graph_gone(const Graph &graph) noexcept override;
    Idle take_idle() noexcept override;

    // The graph's plan on the backend of that serial number, for tests; null if there is none.
    const Plan *find(const Graph &graph, std::uint64_t backend) const;

private:
    friend class PlanUse;

    struct CachedPlan {
        std::unique_ptr<Plan> plan;
        std::size_t counted = 0;  // in the context's budget
    };
    // The plans and the block of one backend. While in use they belong to one thread, except for the lists.
    struct BackendPlans {
        std::uint64_t backend;
        bool in_use = false, block_in_use = false;
        void *block = nullptr;
        std::size_t block_size = 0;
        std::size_t clear_faults = 0;  // this many of Plan::n_faults() are known to be clear
        std::unordered_map<const Graph *, CachedPlan> of_graphs;
        std::vector<CachedPlan> waiting;  // the most recently used one last
    };

    BackendPlans &enter(const Backend &backend);
    void leave(BackendPlans &plans) noexcept;
    Plan &plan_for(BackendPlans &plans, Graph &graph, Backend &backend, bool &made);
    void give_block(BackendPlans &plans, Plan &plan, Backend &backend);
    void forget_block(BackendPlans &plans) noexcept;
    void make_room(std::size_t bytes) noexcept;
    // Called with lock_ held; they return the bytes to uncount after its release.
    CachedPlan take_waiting(BackendPlans &plans, const Graph &graph);
    static std::size_t wait(BackendPlans &plans, CachedPlan &&kept) noexcept;
    std::size_t drop_surplus(bool last_stays) noexcept;

    Context &context_;
    mutable std::mutex lock_;           // taken after the context's build lock, never before it
    std::list<BackendPlans> backends_;  // the most recently used one last
    std::size_t largest_ = 0;           // bytes of the largest plan so far, and its block
};

// A plan in use by a run.
class PlanUse {
public:
    PlanUse(Graph &graph, Backend &backend)
        : graph_(graph), backend_(backend), cache_(PlanCache::of(graph.context())), plans_(cache_.enter(backend)) {}
    ~PlanUse() { cache_.leave(plans_); }
    PlanUse(const PlanUse &) = delete;
    PlanUse &operator=(const PlanUse &) = delete;

    // The graph's plan, ready for a run; `made` says that it is new. Throws what Plan() does.
    Plan &plan(bool &made);
    // Called before a run of the plan, and after a run that passed check_faults().
    void begin_run(Plan &plan);
    void end_run(const Plan &plan) noexcept { plans_.clear_faults = plan.n_faults(); }
    // An exchange that cannot be stopped may use the memory of a run that failed: that memory is never used again, nor freed.
    void retire_memory() noexcept;

private:
    Graph &graph_;
    Backend &backend_;
    PlanCache &cache_;
    PlanCache::BackendPlans &plans_;
};

}  // namespace tensorlib::core
