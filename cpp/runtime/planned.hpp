// What planning decides, as a plan keeps it.
#pragma once

#include "runtime/kernel.hpp"
#include "runtime/memory_planner.hpp"
#include "runtime/program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorlib::core {

// A node that a part's kernels refuse.
struct RefusedNode {
    std::uint32_t node, part;
};

// A constant whose bytes the backend keeps on another part's device.
struct KeptConstant {
    Graph::NodeIndex root;
    std::uint32_t part;
};

// The indices of Step::node and Step::result in the graph.
struct StepNodes {
    std::uint32_t computed, result;
};

// A node that some values make impossible, and the step that computes it. The operands, one bit each, are kept to the end
// of a run, because the message names the element that was refused.
struct CheckedNode {
    std::uint32_t node;
    std::uint32_t step;
    unsigned operands;
};

// The steps in execution order, with their nodes.
struct Schedule {
    std::vector<Step> steps;
    std::vector<StepNodes> nodes;           // of each step
    std::vector<std::size_t> done;          // after each step, the number of the graph's nodes that are done
    std::vector<CheckedNode> checked;       // each has a word for its faults
    std::vector<Graph::NodeIndex> targets;  // leafs that steps write to
};

// A part's memory while the plan runs, in this order: faults, intermediates and replicas of other parts' bytes, rebuilt
// leafs, the steps' workspace.
struct PartMemory {
    DeviceMemory *memory = nullptr;
    MemoryPlan intermediates;  // of nodes by their indices, then of the buffers of replicas
    std::size_t n_faults = 0;
    std::size_t intermediates_offset = 0, rebuilt_offset = 0, workspace_offset = 0, workspace_bytes = 0;
    std::size_t bytes = 0;

    std::size_t end_of_intermediates() const noexcept { return intermediates_offset + intermediates.size; }
};

// An address in a step: an offset from a root's data, or from the beginning of a part's block.
struct RootAddress {
    std::byte **address;
    Graph::NodeIndex root;
    std::size_t offset;
};
struct BlockAddress {
    std::byte **address;
    std::size_t offset;
    std::size_t part;
};

// What all steps point to, and where the addresses in it come from.
struct StepOperands {
    std::vector<TensorRef> sources;
    std::vector<Rebuilt> rebuilt;
    std::vector<Graph::NodeIndex> rebuilt_roots;  // the indices of these
    std::vector<Copy> copies;
    std::vector<Graph::NodeIndex> copied_roots;  // the indices of these
    std::vector<RootAddress> in_roots;
    std::vector<BlockAddress> in_blocks;
};

// Its parts point to each other, so it can be moved but not copied.
struct Planned {
    std::vector<std::uint32_t> parts;  // that compute the nodes
    std::vector<RefusedNode> refused;
    Fusions fusions;
    std::vector<Instruction> instructions;  // of all programs
    std::vector<TensorRef> inputs;          // of all programs
    Schedule schedule;
    std::vector<KeptConstant> kept_constants;
    std::vector<PartMemory> memory;  // of each part
    StepOperands operands;

    Planned() = default;
    Planned(Planned &&) = default;
    Planned &operator=(Planned &&) = default;
};

}  // namespace tensorlib::core
