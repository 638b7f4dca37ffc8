// Computing: locks, plan, run. The only way in for every language.
#pragma once

#include "graph/graph.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <vector>

namespace tensorlib::core {

// Computes the graph and returns when the results are there. Both are kept until then, whatever handles a callback frees. See
// tl_graph_compute() for the errors.
void compute(Graph &graph, Backend &backend);

// What the plan chose, as text; plans where that was not done yet.
std::string plan_text(Graph &graph, Backend &backend);

// The bytes that computing the graph takes of each of the backend's devices, in the order of joining: leafs that lie there, outputs,
// intermediates, workspace, copies. Leafs need no data yet. Made by the planner itself, so it cannot drift from what it does.
std::vector<std::size_t> plan_bytes(Graph &graph, Backend &backend);

// Has a device compute a node: its memory says which; null: whichever is best. Of a view what it is a view of. Throws
// Error(invalid_argument) for a leaf or a view of one.
void place(Tensor &t, const DeviceMemory *memory);

// Keeps a graph from being computed or planned; throws Error(busy) where it is, for longer than its context's busy timeout.
class GraphGuard {
public:
    GraphGuard(Graph &graph, const char *what);
    // Of a lock that is taken already.
    GraphGuard(Graph &graph, std::adopt_lock_t) noexcept : graph_(graph) {}
    ~GraphGuard() { graph_.busy().unlock_exclusive(); }
    GraphGuard(const GraphGuard &) = delete;
    GraphGuard &operator=(const GraphGuard &) = delete;

private:
    Graph &graph_;
};

void set_progress(Graph &graph, Graph::Progress progress, void *user_data);

// What the coming runs show each node's result (graph/observed.hpp); null: nothing.
void set_observer(Graph &graph, Graph::Observe observe, void *user_data);

// Whether the coming runs fail at the first result that is not finite (runtime/finite_check.hpp).
void set_check_finite(Graph &graph, bool check);

}  // namespace tensorlib::core
