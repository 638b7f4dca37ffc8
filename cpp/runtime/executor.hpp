// Computing: locks, plan, run. The only way in for every language.
#pragma once

#include "graph/graph.hpp"
#include "runtime/backend.hpp"

#include <string>

namespace tensorlib::core {

// Computes the graph and returns when the results are there. See tl_graph_compute() for the errors.
void compute(Graph &graph, Backend &backend);

// What the plan chose, as text; plans where that was not done yet.
std::string plan_text(Graph &graph, Backend &backend);

void set_progress(Graph &graph, Graph::Progress progress, void *user_data);

}  // namespace tensorlib::core
