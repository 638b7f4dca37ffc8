// Which nodes run together, and their programs.
#include "runtime/planner.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

Fusions fusions_of(const Planning &planning, const Placed &placed) {
    std::vector<Fusing> fusing;
    fusing.reserve(placed.kernels.size());
    for (std::size_t i = 0; i < placed.kernels.size(); i++) {
        const Kernel *kernel = placed.kernels[i].kernel;
        fusing.push_back({kernel && kernel->fuses, kernel && kernel->takes_prologue, placed.placement.part[i]});
    }
    return find_fusions(planning.graph, planning.indices, fusing);
}

// Makes a program for each elementwise node that no other program includes. Their instructions and inputs do not lie in one
// place yet.
std::vector<StepPrograms> make_programs(const Planning &planning, const Fusions &fusions) {
    const auto nodes = planning.graph.nodes();
    std::vector<std::vector<Tensor *>> members(nodes.size()), prologues(fusions.in_prologue.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (!fusions.is_fused(i)) continue;
        (fusions.is_in_prologue(i) ? prologues : members)[fusions.runs_in[i]].push_back(nodes[i]);
    }
    std::vector<StepPrograms> programs(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (fusions.is_fused(i)) continue;
        StepPrograms &made = programs[i];
        if (!prologues.empty() && !prologues[i].empty())
            made.prologue.program = make_program(planning.graph, planning.indices, prologues[i], nullptr);
        if (!has_formula(*nodes[i])) continue;
        members[i].push_back(nodes[i]);
        const auto producer = std::ranges::find_if(members[i], [](const Tensor *t) { return !has_formula(*t); });
        if (producer != members[i].end()) made.producer = *producer;
        made.program.program = make_program(planning.graph, planning.indices, members[i], made.producer);
    }
    return programs;
}

// Appends the program's instructions and inputs to the plan's, which have room for them.
void append(FusedProgram &made, Fused &fused) {
    const std::size_t first_instruction = fused.instructions.size();
    made.first_input = fused.inputs.size();
    fused.instructions.insert(fused.instructions.end(), made.program.instructions.begin(), made.program.instructions.end());
    for (const ProgramPlan::Input &input : made.program.inputs) fused.inputs.push_back(without_address(input));
    made.spans = {std::span(fused.instructions).subspan(first_instruction), std::span(fused.inputs).subspan(made.first_input)};
}

}  // namespace

Fused fuse(const Planning &planning, const Placed &placed, bool fuses) {
    Fused fused;
    fused.kernels = placed.kernels;
    if (fuses) fused.fusions = fusions_of(planning, placed);
    fused.programs = make_programs(planning, fused.fusions);
    std::size_t n_instructions = 0, n_inputs = 0;
    for (const StepPrograms &made : fused.programs) {
        n_instructions += made.program.program.instructions.size() + made.prologue.program.instructions.size();
        n_inputs += made.program.program.inputs.size() + made.prologue.program.inputs.size();
    }
    // Reserves room for all, because steps point into these.
    fused.instructions.reserve(n_instructions);
    fused.inputs.reserve(n_inputs);
    for (std::size_t i = 0; i < fused.programs.size(); i++) {
        StepPrograms &made = fused.programs[i];
        append(made.prologue, fused);
        append(made.program, fused);
        if (made.program.spans.empty() || made.producer) continue;
        Backend &part = *planning.parts[placed.placement.part[i]];
        const Problem problem{*planning.graph.nodes()[i], part, part.n_threads(), made.program.spans, 0, planning.graph.batch_invariant};
        fused.kernels[i] = part.choose(problem);
        if (!fused.kernels[i].kernel) fail_without_kernel(problem);
    }
    return fused;
}

}  // namespace tensorlib::core
