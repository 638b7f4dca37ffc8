// Makes plans: place, choose, fuse, lay out, bind.
#pragma once

#include "graph/tensor_set.hpp"
#include "ops/op_def.hpp"
#include "runtime/placement.hpp"
#include "runtime/plan.hpp"

namespace tensorlib::core {

class Planner {
public:
    // Decides on which part each node runs and which kernel runs it. Has no effect outside the plan.
    Planner(Plan &plan, const Graph &graph, Backend &backend);

    // Makes the copies of constants that the chosen kernels use. A kernel whose copy is missing plans again without it. Called
    // before lay_out(), for a plan that will run.
    void make_copies();
    // Fuses nodes, orders the steps and places their results. All memory that the plan takes is known then.
    void lay_out();
    // Throws Error(out_of_memory) if the memory exceeds the graph's limit (runtime/memory_budget.hpp).
    void check_limit() const;
    // Sets where each step finds its operands, for a plan that will run. Only Plan::attach() remains.
    void find_addresses();

private:
    // The bytes of a root that a part receives from another: from the first to the last that its steps read or write. They lie
    // in the part's block and are written by one copy.
    struct Landed {
        std::uint32_t part;
        std::size_t begin, end;  // of the root's bytes; begin is aligned as the root is
        bool waits = false;      // whether the copy waits for the part's own device
    };
    // A root between two writes, on a part that does not make it: where that part finds it, once for all readers.
    struct Landing {
        Graph::NodeIndex root;
        std::uint32_t part, version;
        enum Where { in_block, in_output, kept } where;
        std::uint32_t landed;  // in_block: among landed_
    };
    // Bytes that a step has written for a root on another part, to be copied back.
    struct Back {
        std::uint32_t landing;
        std::size_t begin, end;
    };
    // The copies before and after a step, those back to a root's own part first; and the landings that the step uses.
    struct Copied {
        std::vector<std::uint32_t> before, after, read;
        std::vector<Back> back;
        bool ends_round() const noexcept { return !back.empty() || !after.empty(); }
    };
    struct FusedProgram {
        ProgramPlan program;
        Program spans;
        std::size_t first_input = 0;  // among the plan's
    };

    // Whether nodes become one program, and whether results reuse the memory of operands that end.
    struct Sharing {
        bool fuses, overwrites;
    };

    void place_and_choose();
    std::vector<Choice> choose_kernels(RefusedNodes *refused) const;
    bool has_kernel(std::size_t node, std::size_t part) const;
    std::string refusal(std::size_t node, std::size_t part) const;
    // Calls f(problem) for the node on a part; an elementwise node has its own program.
    template <class F>
    auto with_problem(std::size_t node, std::size_t part, F f) const;
    void lay_out_as(const Sharing &way);
    void make_programs(std::vector<Choice> &choices);
    void place_program(FusedProgram &part);
    void make_steps(const std::vector<Choice> &choices);
    std::vector<const Tensor *> overwritable(const Step &step) const;
    void place_intermediates(bool overwrites);
    std::vector<Lifetime> lifetimes_on_one_part() const;
    std::vector<Lifetime> lifetimes_on_parts() const;
    void find_overwritable(std::vector<Lifetime> &lifetimes) const;
    void find_waits(const std::vector<Lifetime> &lifetimes);
    std::size_t bytes_under_limit() const noexcept;
    bool within_limit() const noexcept;
    // Calls f(operand, step's index) for each operand that messages need at the end of a run.
    template <class F>
    void for_each_checked_operand(F f) const;
    void lay_out_block(std::size_t part);
    // An operand of a step's kernel: the offset from the tensor's first element at which it reads, and whether the result may
    // reuse the memory (KernelPlan::may_overwrite). slot: the node's operand; max_sources for a program's input.
    struct Read {
        const Tensor &tensor;
        std::size_t slot, offset;
        bool may_overwrite;
    };
    // Calls f(read) for each slot; a tensor in two slots is read twice.
    template <class F>
    void for_each_read(const Step &step, F f) const;
    std::vector<const Tensor *> dropped_roots(const Step &step) const;

    // For plans of several parts (planner_copies.cpp).
    void find_copies();
    std::uint32_t landing_for(const Tensor &root, std::uint32_t part, std::uint32_t version, bool is_output);
    void extend(const Landing &landing, const Tensor &t);
    void order_rounds();
    std::size_t offset_of(const Landing &landing) const;
    void add_copies(Step &step);
    // The landing in which a step finds a root.
    const Landing *landing_of(Graph::NodeIndex root, std::size_t step) const;
    void find_landing(const Tensor &root, const Step &step, std::size_t behind, std::byte *&address);
    // The part on which a root lies or is computed.
    std::uint32_t home(const Tensor &root) const;
    // Whether a node with memory in its context is computed on a device other than the context's.
    bool is_elsewhere(std::size_t node) const;
    std::span<Tensor *const> sources_of(const Step &step) const { return graph_.sources(*places_.find(step.node)); }
    TensorRef ref_of(const Tensor &t) const noexcept { return {t.layout.type, t.layout.ne, t.layout.nb, nullptr}; }
    void find_inputs(const FusedProgram &part, const Tensor *producer, const Step &step);
    void find_address(const Tensor &t, std::size_t behind, const Step &step, std::byte *&address);
    void find_root(const Tensor &root, std::size_t part, std::size_t behind, std::byte *&address);
    std::size_t n_parts() const noexcept { return parts_.size(); }
    // Whether bytes may be copied between parts.
    bool crosses() const noexcept { return !alone_; }

    Plan &plan_;
    const Graph &graph_;
    Backend &backend_;
    const std::span<Backend *const> parts_;
    std::optional<std::uint32_t> alone_;  // the part that has everything
    TensorSet places_;                    // of nodes and leafs
    std::vector<Choice> choices_;         // by the nodes' indices
    // By the index of the node that gives the result: the producer whose epilogue the program is, or null.
    struct Joined {
        FusedProgram program, prologue;
        const Tensor *producer = nullptr;
    };
    std::vector<Joined> programs_;

    std::vector<Landed> landed_;
    std::vector<Landing> landings_;
    std::vector<Copied> copied_;  // by step; empty if no bytes cross between parts
    std::size_t n_rebuilt_ = 0;
};

template <class F>
void Planner::for_each_read(const Step &step, F f) const {
    const bool is_program = op_def(step.node->op).formula != nullptr;
    const Joined &joined = programs_[*places_.find(step.result)];
    // An epilogue reads its last inputs after it has written its first results.
    const auto may_overwrite = [&](std::size_t slot) { return !joined.producer && (step.plan.may_overwrite >> slot & 1) != 0; };
    const auto sources = sources_of(step);
    for (std::size_t s = step.prologue.empty() ? 0 : 1; s < sources.size() && !is_program; s++) {
        if (sources[s]) f(Read{*sources[s], s, 0, may_overwrite(s)});
    }
    const auto offset_of = [](const ProgramPlan::Input &input) {
        return static_cast<std::size_t>(input.first) * input.tensor->layout.nb[0];
    };
    // The prologue writes each row of the first operand to the place of the result's row, so its inputs may lie there if that
    // operand may.
    for (const ProgramPlan::Input &input : joined.prologue.program.inputs) {
        const Layout &first = sources[0]->layout, &layout = input.tensor->layout;
        const bool alike = layout.type == first.type && layout.ne == first.ne && layout.nb == first.nb;
        f(Read{*input.tensor, max_sources, offset_of(input), alike && may_overwrite(0)});
    }
    const auto &inputs = joined.program.program.inputs;
    for (std::size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i].tensor == joined.producer) continue;
        f(Read{*inputs[i].tensor, max_sources, offset_of(inputs[i]), is_program && may_overwrite(i)});
    }
}

}  // namespace tensorlib::core
