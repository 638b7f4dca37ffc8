// How the nodes of groups run, for all backends.
#pragma once

#include "base/step_watch.hpp"
#include "graph/graph.hpp"
#include "groups/group.hpp"
#include "runtime/kernel.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace tensorlib::core {

// Exchanges with the other ranks what a node needs of them. `a` has the operand's elements, contiguous and on the host, and `c`
// gets the result's. `workspace`: collective_workspace() bytes. `memory` owns all three, if they are not the run's (see Group::Call).
// Throws what Group does.
void run_collective(const Tensor &node, const std::byte *a, std::byte *c, std::byte *workspace, StepWatch *watch,
                    const std::shared_ptr<const void> &memory = {});
std::size_t collective_workspace(const Tensor &node) noexcept;

// Copies the elements of an operand from a device's memory, packed.
void read_operand(const TensorRef &a, DeviceMemory &memory, std::byte *to);

// Holds the groups of a graph's nodes for a run. Throws Error(busy) if another call uses one of them.
std::vector<Group::Hold> hold_groups(const Graph &graph);

// Whether the other ranks' graphs have the same nodes of groups. Throws Error(group) if not. Does nothing for a graph
// without such nodes, and for one that was checked.
void check_collectives(Graph &graph, StepWatch *watch);

// Fails the groups of a run that ends with the exception that is being handled: this rank's part of what they exchanged is
// wrong or missing. Does nothing before the ranks have agreed.
void fail_groups(const Graph &graph) noexcept;
// Whether an exchange of a run that failed goes on, and may use the run's memory. Needs no memory itself.
bool exchanges_use_memory_of(const Graph &graph) noexcept;

}  // namespace tensorlib::core
