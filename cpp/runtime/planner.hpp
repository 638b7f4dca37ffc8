// Makes plans in stages: place and choose, fuse, schedule, lay out, bind. Each stage returns a value.
#pragma once

#include "graph/tensor_set.hpp"
#include "ops/numbers.hpp"
#include "runtime/graph_structure.hpp"
#include "runtime/placement.hpp"
#include "runtime/planned.hpp"

namespace tensorlib::core {

// What all stages read.
struct Planning {
    Planning(const Graph &graph, Backend &backend, const GraphStructure &structure);

    const Graph &graph;
    Backend &backend;
    const GraphStructure &structure;
    const std::span<Backend *const> parts;
    TensorSet indices;  // of nodes and leafs

    Graph::NodeIndex index_of(const Tensor &t) const noexcept { return *indices.find(&t); }
    std::span<Tensor *const> sources_of(const Step &step) const { return graph.sources(index_of(*step.node)); }
    DeviceMemory &memory_of(std::size_t part) const noexcept { return parts[part]->device().memory(); }
};

inline TensorRef without_address(const Tensor &t) noexcept { return {t.layout.type, t.layout.ne, t.layout.nb, nullptr}; }
// A program's input: the elements of dimension 0 that it reads.
inline TensorRef without_address(const ProgramPlan::Input &input) noexcept {
    TensorRef ref = without_address(*input.tensor);
    ref.ne[0] = input.n0;
    return ref;
}

// On which part each node is computed, and by which kernel.
struct Placed {
    Placement placement;
    // By the nodes' indices. Pure views have none, and elementwise nodes get theirs with their programs.
    std::vector<Choice> kernels;
    std::vector<RefusedNode> refused;

    // Whether bytes may be copied between parts.
    bool crosses() const noexcept { return !placement.alone; }
    // The part on which a root lies or is computed.
    std::uint32_t home(const Planning &planning, const Tensor &root) const;
    // Whether a node with memory in its context is computed on a device other than the context's.
    bool is_elsewhere(const Planning &planning, std::size_t node) const;
};

// Throws Error(unsupported) for a node that no kernel takes. Makes no copies of constants.
Placed place_and_choose(const Planning &planning);
// Makes the copies of constants that the kernels of nodes use, and returns the kernels with their copies. A kernel whose copy
// is missing plans again without it.
std::vector<Choice> make_copies(const Planning &planning, const Placement &placement, std::vector<Choice> kernels);

struct FusedProgram {
    ProgramPlan program;
    Program spans;                // of Fused
    std::size_t first_input = 0;  // among Fused::inputs
};
// What runs with a node that gives a step's result.
struct StepPrograms {
    FusedProgram program, prologue;
    const Tensor *producer = nullptr;  // whose epilogue the program is, or null
};
// Which nodes run together. Its parts point to each other, so it can be moved but not copied.
struct Fused {
    Fusions fusions;
    std::vector<Choice> kernels;         // by the nodes' indices; an elementwise node has one if its program is a step
    std::vector<StepPrograms> programs;  // by the nodes' indices
    std::vector<Instruction> instructions;
    std::vector<TensorRef> inputs;

    Fused() = default;
    Fused(Fused &&) = default;
    Fused &operator=(Fused &&) = default;
};
// fuses: whether nodes become one program.
Fused fuse(const Planning &planning, const Placed &placed, bool fuses);

// The bytes of a root that a part receives from another, from the first to the last that its steps read or write. They lie
// in the part's block, and one copy fills them.
struct ReplicaBuffer {
    std::uint32_t part;
    std::size_t begin, end;  // of the root's bytes; begin is aligned as the root is
};
// Where a part finds the bytes of a root that lies on another part. All readers between two writes of the root share one.
struct Replica {
    Graph::NodeIndex root;
    std::uint32_t part, version;  // version: the number of writes to the root before
    enum Where { in_block, in_output, kept } where;
    std::uint32_t buffer;  // in_block: among Transfers::buffers
};
// Bytes that a step has written to a replica, to be copied back to the root.
struct WrittenBack {
    std::uint32_t replica;
    std::size_t begin, end;
};
// The transfers of a step, by numbers of replicas.
struct StepTransfers {
    std::vector<std::uint32_t> before;  // filled before the step
    std::vector<std::uint32_t> read;    // that the step uses
    std::vector<WrittenBack> back;      // copied back after the step
    std::vector<std::uint32_t> after;   // outputs that are copied to their contexts' device then
    bool ends_round() const noexcept { return !back.empty() || !after.empty(); }
};
// The copies between parts. There are none if one part has everything.
struct Transfers {
    std::vector<ReplicaBuffer> buffers;
    std::vector<Replica> replicas;
    std::vector<StepTransfers> of_steps;
    std::vector<KeptConstant> kept_constants;

    // The replica in which a step finds a root.
    const Replica &replica_for(std::size_t step, Graph::NodeIndex root) const;
};
struct Scheduled {
    Schedule schedule;
    Transfers transfers;
};
// The steps, without addresses, and the copies between them.
Scheduled schedule(const Planning &planning, const Placed &placed, const Fused &fused);

// The memory of each part.
struct MemoryLayout {
    std::vector<PartMemory> parts;
    // Whether the copy into a buffer waits for the part's own device, by the buffers' numbers.
    std::vector<bool> waits;

    // The bytes of all parts that a graph's limit bounds: intermediates and replicas.
    std::size_t limited_bytes() const noexcept;
};
// overwrites: whether results reuse the memory of operands that end.
MemoryLayout lay_out(const Planning &planning, const Placed &placed, const Fused &fused, const Scheduled &scheduled, bool overwrites);

// Finds where the operands of each step lie. Plan adds the addresses of roots and blocks.
Planned bind(const Planning &planning, Placed placed, Fused fused, Scheduled scheduled, MemoryLayout memory);

// A plan without addresses.
struct Draft {
    Fused fused;
    Scheduled scheduled;
    MemoryLayout memory;
};
// Fuses, schedules and lays out in the fastest way within the graph's limit. If there is none, in the last way, with which the
// limit was computed (runtime/memory_budget.hpp).
Draft make_draft(const Planning &planning, const Placed &placed);

// All stages. Throws Error(unsupported) for a node that no kernel takes, Error(out_of_memory) if the memory exceeds the
// graph's limit.
Planned make_plan(const Graph &graph, Backend &backend, const GraphStructure &structure);

// An operand of a step's kernel: the offset from the tensor's first element at which it reads, and whether the result may
// reuse the memory (KernelPlan::may_overwrite). slot: the node's operand; max_sources for a program's input.
struct Read {
    const Tensor &tensor;
    std::size_t slot, offset;
    bool may_overwrite;
};
// The roots without originals whose own bytes the step reads, each once.
std::vector<const Tensor *> dropped_roots(const Planning &planning, const Placed &placed, const Fused &fused, const Step &step);

// Throws Error(unsupported) with what each of the backend's kernels says about the problem.
[[noreturn]] void fail_without_kernel(const Problem &problem);

// Calls f(read) for each slot; a tensor in two slots is read twice.
template <class F>
void for_each_read(const Planning &planning, const Fused &fused, const Step &step, F f) {
    const bool is_program = has_formula(*step.node);
    const StepPrograms &programs = fused.programs[planning.index_of(*step.result)];
    // An epilogue reads its last inputs after it has written its first results.
    const auto may_overwrite = [&](std::size_t slot) { return !programs.producer && (step.plan.may_overwrite >> slot & 1) != 0; };
    const auto sources = planning.sources_of(step);
    for (std::size_t s = step.prologue.empty() ? 0 : 1; s < sources.size() && !is_program; s++) {
        if (sources[s]) f(Read{*sources[s], s, 0, may_overwrite(s)});
    }
    const auto offset_of = [](const ProgramPlan::Input &input) {
        return static_cast<std::size_t>(input.first) * input.tensor->layout.nb[0];
    };
    // The prologue writes each row of the first operand to the place of the result's row, so its inputs may lie there if that
    // operand may.
    for (const ProgramPlan::Input &input : programs.prologue.program.inputs) {
        const Layout &first = sources[0]->layout, &layout = input.tensor->layout;
        const bool alike = layout.type == first.type && layout.ne == first.ne && layout.nb == first.nb;
        f(Read{*input.tensor, max_sources, offset_of(input), alike && may_overwrite(0)});
    }
    const auto &inputs = programs.program.program.inputs;
    for (std::size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i].tensor == programs.producer) continue;
        f(Read{*inputs[i].tensor, max_sources, offset_of(inputs[i]), is_program && may_overwrite(i)});
    }
}

}  // namespace tensorlib::core
