#include "runtime/executor.hpp"

#include "base/callback_scope.hpp"
#include "base/fail.hpp"
#include "graph/observed.hpp"
#include "runtime/collectives.hpp"
#include "runtime/finite_check.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/trace.hpp"

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace tensorlib::core {

namespace {

// How the graph uses a context that is in use, for messages: the first node that is written there, or a tensor that is
// read.
std::string use_text(const Graph &graph, const Graph::Reached &reached) {
    const auto there = [&](const Tensor &t) { return t.root->context == reached.context.get(); };
    for (const Tensor *node : graph.nodes()) {
        if (!reached.written) break;
        if (node->is_pure_view()) continue;
        const Tensor *target = node;
        for (std::size_t s = 0; s < node->n_src && !there(*target); s++) {
            if (node->writes(s)) target = node->src[s];
        }
        if (!there(*target)) continue;
        return format_text("it alone may use it meanwhile, as %s, the result of %s, is %s", tensor_text(*node).c_str(), op_name(node->op),
                           node->writes() ? "written into it" : "a node of it");
    }
    for (const Tensor *leaf : graph.leafs()) {
        if (there(*leaf)) return format_text("it reads leaf %s", tensor_text(*leaf).c_str());
    }
    return "its own memory is there";
}

[[noreturn]] void refuse_graph(const char *what, const Patience &patience) {
    fail(Status::busy, "%s: the graph is being computed%s", what, patience.text().c_str());
}

// Everything that a run holds: the objects themselves, which a callback may free, the backend's turn, and the contexts'
// run locks. While it waits for one of these, it holds none of them, not even the turn, because the holder of the lock
// may need any of them to finish.
class RunLocks {
public:
    RunLocks(Graph &graph, Backend &backend, const char *what) : graph_(&graph), backend_(&backend) {
        refuse_in_callback(what);
        check_devices(graph, backend, what);
        guards_.reserve(graph.contexts().size());
        Patience patience(graph.context().busy_timeout());
        const auto attempt = [&] {
            turn_.emplace(backend, what, patience);
            if (try_all(graph)) return true;
            guards_.clear();
            graph_guard_.reset();
            turn_.reset();
            return false;
        };
        if (!patience.until(attempt)) refuse(graph, what, patience);
    }

private:
    // False if the graph or in_use_ is locked.
    bool try_all(Graph &graph) {
        in_use_ = nullptr;
        if (!graph.busy().try_exclusive()) return false;
        graph_guard_.emplace(graph, std::adopt_lock);
        for (const auto &reached : graph.contexts()) {
            if (!RunGuard::try_lock(*reached.context, reached.written)) {
                in_use_ = &reached;
                return false;
            }
            guards_.emplace_back(*reached.context, reached.written, std::adopt_lock);
        }
        return true;
    }

    [[noreturn]] void refuse(const Graph &graph, const char *what, const Patience &patience) const {
        if (!in_use_) refuse_graph(what, patience);
        RunGuard::refuse(*in_use_->context, what, patience, ("; " + use_text(graph, *in_use_)).c_str());
    }

    static void check_devices(Graph &graph, Backend &backend, const char *what) {
        for (const auto &reached : graph.contexts()) {
            DeviceMemory &data = reached.context->memory();
            if (backend.part_on(data)) continue;
            fail(Status::context_mismatch, "%s: data of the graph live on %s, in %s, the backend computes on %s", what, data.device(),
                 reached.context->text().c_str(), backend.device().name());
        }
    }

    const Ref<Graph> graph_;
    const Ref<Backend> backend_;
    std::optional<Backend::Turn> turn_;
    std::optional<GraphGuard> graph_guard_;
    std::vector<RunGuard> guards_;
    const Graph::Reached *in_use_ = nullptr;
};

// Calls the graph's callback while steps run and after each step.
class ProgressWatch final : public StepWatch {
public:
    ProgressWatch(const Graph &graph, const Plan &plan, Backend &backend) : graph_(graph), plan_(plan), backend_(backend) {
        backend_.set_watch(this);
    }
    ~ProgressWatch() { backend_.set_watch(nullptr); }
    ProgressWatch(const ProgressWatch &) = delete;
    ProgressWatch &operator=(const ProgressWatch &) = delete;

    bool goes_on() noexcept override {
        if (stopped_ || Clock::now() - called_ < interval) return !stopped_;
        return call(done_);
    }
    // After step i of n. The callback's answer after the last step does not matter, because the results exist.
    void step_done(std::size_t i, std::size_t n) {
        done_ = plan_.nodes_done(i);
        if (!stopped_ && (call(done_) || i + 1 == n)) return;
        fail(Status::aborted, "graph_compute: stopped by the progress callback after %zu of %zu nodes", done_, graph_.nodes().size());
    }
    void check() const {
        if (!stopped_) return;
        fail(Status::aborted, "graph_compute: stopped by the progress callback in a node, after %zu of %zu nodes", done_,
             graph_.nodes().size());
    }

private:
    using Clock = std::chrono::steady_clock;
    // Often enough for a deadline, rarely enough to cost nothing.
    static constexpr auto interval = std::chrono::milliseconds(10);

    bool call(std::size_t done) noexcept {
        stopped_ = !graph_.progress(graph_.progress_data, done, graph_.nodes().size());
        called_ = Clock::now();
        return !stopped_;
    }

    const Graph &graph_;
    const Plan &plan_;
    Backend &backend_;
    std::size_t done_ = 0;
    bool stopped_ = false;
    Clock::time_point called_ = Clock::now();
};

// Shows the observer the result of step i. It has already seen nodes that are recomputed for gradients.
void show(Graph &graph, const Plan &plan, Backend &backend, std::size_t i) {
    const Step &step = plan.steps()[i];
    Tensor *node = step.node;
    if (node->state.original) return;
    const std::size_t done = plan.nodes_done(i), total = graph.nodes().size();
    const Layout layout{step.dst.type, max_dims, step.dst.ne, step.dst.nb};
    const Observed shown(*node, layout, step.dst.data, backend.parts()[step.part]->device().memory());
    if (graph.observe(graph.observe_data, reinterpret_cast<tl_tensor *>(node), done, total) || i + 1 == plan.steps().size()) return;
    fail(Status::aborted, "graph_compute: stopped by the observer after %zu of %zu nodes", done, total);
}

void run_steps(Graph &graph, Plan &plan, Backend &backend) {
    const auto steps = plan.steps();
    if (!graph.progress && !graph.runs_nodes_singly()) {
        check_collectives(graph, nullptr);
        backend.execute_all(steps, plan.recording());
        return;
    }
    std::optional<FiniteCheck> finite;
    if (graph.check_finite) {
        finite.emplace(graph, backend);
        finite->check_leafs();
    }
    std::optional<ProgressWatch> watch;
    if (graph.progress) watch.emplace(graph, plan, backend);
    check_collectives(graph, watch ? &*watch : nullptr);
    for (std::size_t i = 0; i < steps.size(); i++) {
        backend.run_step(steps[i]);
        // So that what is reported as done is done.
        backend.finish();
        if (watch) watch->check();
        if (finite) finite->check(steps[i]);
        if (graph.observe) show(graph, plan, backend, i);
        if (watch) watch->step_done(i, steps.size());
    }
}

}  // namespace

void compute(Graph &graph, Backend &backend) {
    const RunLocks locks(graph, backend, "graph_compute");
    const std::vector<Group::Hold> groups = hold_groups(graph);
    PlanUse use(graph, backend);
    std::list<Trace::Run> traced;
    for (Backend *part : backend.parts()) {
        if (part->trace()) traced.emplace_back(part->trace(), graph.nodes().size());
    }
    // A failure after this point, even during planning, leaves the outputs not computed.
    for (const Tensor *output : graph.outputs()) output->root->storage.computed.store(false, std::memory_order_release);
    bool plan_made;
    Plan &plan = use.plan(plan_made);
    for (Trace::Run &run : traced) run.planned(plan.steps(), plan_made);
    use.begin_run(plan);
    try {
        backend.begin();
        run_steps(graph, plan, backend);
        backend.finish();
        plan.check_faults();
    } catch (...) {
        // The locks are released next, so no work may still write.
        backend.drain();
        fail_groups(graph);
        if (exchanges_use_memory_of(graph)) use.retire_memory();
        throw;
    }
    plan.end_run();
    use.end_run(plan);
    for (Trace::Run &run : traced) run.done();
}

std::string plan_text(Graph &graph, Backend &backend) {
    const RunLocks locks(graph, backend, "graph_plan_text");
    PlanUse use(graph, backend);
    bool made;
    return use.plan(made).text(backend);
}

std::vector<std::size_t> plan_bytes(Graph &graph, Backend &backend) {
    const RunLocks locks(graph, backend, "graph_plan_bytes");
    return Plan::estimate(graph, backend);
}

void place(Tensor &t, const DeviceMemory *memory) {
    constexpr const char *what = "tensor_place";
    if (t.is_leaf() || (t.is_pure_view() && t.root->is_leaf())) {
        fail(Status::invalid_argument, "%s: %s %s: leafs lie where their context is: make them in another one", what,
             tensor_text(t).c_str(), t.is_leaf() ? "is a leaf" : "is in a leaf's memory");
    }
    Tensor &node = t.is_pure_view() ? *t.root : t;
    if (node.state.placed_on.exchange(memory, std::memory_order_acq_rel) != memory) node.context->count_changed_leaf();
}

GraphGuard::GraphGuard(Graph &graph, const char *what) : graph_(graph) {
    refuse_in_callback(what);
    Patience patience(graph.context().busy_timeout());
    if (!patience.until([&] { return graph.busy().try_exclusive(); })) refuse_graph(what, patience);
}

void set_progress(Graph &graph, Graph::Progress progress, void *user_data) {
    const GraphGuard guard(graph, "graph_set_progress");
    graph.progress = progress;
    graph.progress_data = user_data;
}

void set_observer(Graph &graph, Graph::Observe observe, void *user_data) {
    const GraphGuard guard(graph, "graph_set_observer");
    graph.observe = observe;
    graph.observe_data = user_data;
}

void set_check_finite(Graph &graph, bool check) {
    const GraphGuard guard(graph, "graph_set_check_finite");
    graph.check_finite = check;
}

void set_batch_invariant(Graph &graph, bool on) {
    const GraphGuard guard(graph, "graph_set_batch_invariant");
    graph.batch_invariant = on;
}

}  // namespace tensorlib::core
