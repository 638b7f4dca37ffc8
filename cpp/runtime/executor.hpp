// Computing a graph: lock, plan, run. All languages compute through this interface.
#pragma once

#include "graph/graph.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <vector>

namespace tensorlib::core {

// Computes the graph and returns when the results exist. Both objects are kept alive until then, even if a callback
// frees their handles. tl_graph_compute() lists the errors.
void compute(Graph &graph, Backend &backend);

// The plan's choices, as text. Makes the plan if there is none.
std::string plan_text(Graph &graph, Backend &backend);

// The bytes that computing the graph takes on each of the backend's devices, in the order of joining: leafs that lie
// there, outputs, intermediates, workspace and copies. Leafs need no data yet. The planner itself computes this, so it
// cannot differ from what a run takes.
std::vector<std::size_t> plan_bytes(Graph &graph, Backend &backend);

// Assigns a node to the device that owns `memory`; null lets the planner choose. For a view, this assigns its root.
// Throws Error(invalid_argument) for a leaf or a view of one.
void place(Tensor &t, const DeviceMemory *memory);

// Prevents a graph from being computed or planned. Throws Error(busy) if it is in use for longer than its context's
// busy timeout.
class GraphGuard {
public:
    GraphGuard(Graph &graph, const char *what);
    // For a lock that is already taken.
    GraphGuard(Graph &graph, std::adopt_lock_t) noexcept : graph_(graph) {}
    ~GraphGuard() { graph_.busy().unlock_exclusive(); }
    GraphGuard(const GraphGuard &) = delete;
    GraphGuard &operator=(const GraphGuard &) = delete;

private:
    Graph &graph_;
};

void set_progress(Graph &graph, Graph::Progress progress, void *user_data);

// Sets what later runs show each node's result (graph/observed.hpp); null for none.
void set_observer(Graph &graph, Graph::Observe observe, void *user_data);

// Sets whether later runs fail at the first non-finite result (runtime/finite_check.hpp).
void set_check_finite(Graph &graph, bool check);
// Sets whether later runs give each column the bits that it has alone (Graph::batch_invariant).
void set_batch_invariant(Graph &graph, bool on);

}  // namespace tensorlib::core
