#include "runtime/program.hpp"

#include "ops/numbers.hpp"

#include <algorithm>
#include <numeric>

namespace tensorlib::core {

namespace {

// Calls f(tensor, first, n0) for each operand of a node's formula. sources: Graph::sources().
template <class F>
void for_each_operand(const Tensor &node, std::span<Tensor *const> sources, const Formula &formula, F f) {
    const int n = traits(formula.op).operands;
    for (int k = 0; k < n; k++) {
        const Formula::Source &source = formula.sources[static_cast<std::size_t>(k)];
        const Tensor &t = *sources[source.operand];
        f(t, source.first, std::min(t.layout.ne[0], node.layout.ne[0]));
    }
}

// Assigns a register to each instruction's result; false if there are too few. A register that an instruction reads for
// the last time is free for its result.
bool allocate_registers(ProgramPlan &program) {
    std::vector<Instruction> &all = program.instructions;
    // Until here, operands are instruction numbers plus max_program_inputs.
    std::vector<std::size_t> last_use(all.size());
    for (std::size_t i = 0; i < all.size(); i++) {
        last_use[i] = i;
        for (const std::uint8_t from : all[i].from) {
            if (from >= max_program_inputs) last_use[from - max_program_inputs] = i;
        }
    }
    std::array<bool, max_program_registers> taken{};
    for (std::size_t i = 0; i < all.size(); i++) {
        for (std::size_t j = 0; j < i; j++) {
            if (last_use[j] == i) taken[all[j].to] = false;
        }
        for (std::uint8_t &from : all[i].from) {
            if (from >= max_program_inputs) from = static_cast<std::uint8_t>(max_program_inputs + all[from - max_program_inputs].to);
        }
        const auto free = std::ranges::find(taken, false);
        if (free == taken.end()) return false;
        *free = true;
        all[i].to = static_cast<std::uint8_t>(free - taken.begin());
    }
    return true;
}

// False if the group exceeds a limit of programs.
bool try_program(const Graph &graph, const TensorSet &places, std::span<Tensor *const> members, const Tensor *producer,
                 ProgramPlan &program) {
    std::vector<const Tensor *> results;
    for (const Tensor *member : members) {
        if (member == producer) continue;
        const Formula formula = op_def(member->op).formula(*member);
        Instruction instruction{formula.op, member->layout.type, 0, {}, formula.parameters};
        std::size_t k = 0;
        for_each_operand(*member, graph.sources(*places.find(member)), formula, [&](const Tensor &t, std::int64_t first, std::int64_t n0) {
            std::size_t place;
            if (const auto result = std::ranges::find(results, &t); result != results.end()) {
                place = max_program_inputs + static_cast<std::size_t>(result - results.begin());
            } else {
                const auto same = [&](const ProgramPlan::Input &i) { return i.tensor == &t && i.first == first && i.n0 == n0; };
                const auto input = std::ranges::find_if(program.inputs, same);
                place = static_cast<std::size_t>(input - program.inputs.begin());
                if (input == program.inputs.end()) program.inputs.push_back({&t, first, n0});
            }
            instruction.from[k++] = static_cast<std::uint8_t>(place);
        });
        results.push_back(member);
        program.instructions.push_back(instruction);
    }
    return program.inputs.size() <= max_program_inputs && program.instructions.size() <= max_program_instructions &&
           allocate_registers(program);
}

// A group, which grows from its last node towards the first.
class Group {
public:
    Group(const Graph &graph, const TensorSet &places, const std::vector<std::size_t> &writers, std::span<const Fusing> fusing,
          std::uint32_t root)
        : graph_(graph), places_(places), writers_(writers), fusing_(fusing), root_(root) {
        members_.push_back(graph.nodes()[root]);
        read_by(root);
        // Starts with the last candidate, so that all possible readers of a node are examined before it.
        while (!candidates_.empty()) {
            const auto last = std::ranges::max_element(candidates_, {}, &Candidate::node);
            const Candidate candidate = *last;
            candidates_.erase(last);
            if (may_join(candidate)) join(candidate.node);
        }
    }
    std::span<Tensor *const> members() const noexcept { return members_; }
    bool has_producer() const noexcept { return producer_; }

private:
    struct Candidate {
        std::uint32_t node, reads;
    };

    void read_by(std::size_t reader) {
        for (const Tensor *source : graph_.sources(reader)) {
            if (!source) continue;
            const Graph::NodeIndex place = *places_.find(source);
            if (place & Graph::leaf_bit) continue;
            const auto known = std::ranges::find(candidates_, place, &Candidate::node);
            if (known != candidates_.end()) {
                known->reads++;
            } else {
                candidates_.push_back({place, 1});
            }
        }
    }
    // A candidate joins if no other node reads it, it has the result's shape, and no node in between writes into a leaf
    // that it might read.
    bool may_join(const Candidate &candidate) const {
        const Tensor &node = *graph_.nodes()[candidate.node], &result = *graph_.nodes()[root_];
        if (candidate.reads != graph_.uses()[candidate.node] || node.layout.ne != result.layout.ne) return false;
        if (writers_[candidate.node] != writers_[root_] || fusing_[candidate.node].part != fusing_[root_].part) return false;
        if (has_formula(node)) return true;
        // The producer's floats lie where the result's will.
        return fusing_[candidate.node].takes_epilogue && !producer_ && node.layout.type == DType::f32 && result.layout.type == DType::f32;
    }
    void join(std::uint32_t index) {
        Tensor *node = graph_.nodes()[index];
        members_.insert(members_.begin(), node);
        const Tensor *before = producer_;
        if (!has_formula(*node)) producer_ = node;
        ProgramPlan program;
        if (try_program(graph_, places_, members_, producer_, program)) {
            if (producer_ != node) read_by(index);
        } else {
            members_.erase(members_.begin());
            producer_ = before;
        }
    }

    const Graph &graph_;
    const TensorSet &places_;
    const std::vector<std::size_t> &writers_;
    const std::span<const Fusing> fusing_;
    const std::uint32_t root_;
    std::vector<Tensor *> members_;
    std::vector<Candidate> candidates_;
    const Tensor *producer_ = nullptr;
};

void begin(Fusions &fusions, std::size_t n_nodes) {
    if (!fusions.runs_in.empty()) return;
    fusions.runs_in.resize(n_nodes);
    std::iota(fusions.runs_in.begin(), fusions.runs_in.end(), 0u);
}

// Turns groups into prologues. may_be_prologue[i]: node i is the last one of a group without a producer.
void find_prologues(const Graph &graph, const TensorSet &places, const std::vector<std::size_t> &writers, std::span<const Fusing> fusing,
                    const std::vector<bool> &may_be_prologue, Fusions &fusions) {
    const auto nodes = graph.nodes();
    std::vector<std::uint32_t> goes_to;  // by the groups' last nodes: the index of the operation whose prologue the
                                         // group is
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (!fusing[i].takes_prologue) continue;
        const Graph::NodeIndex first = *places.find(graph.sources(i)[0]);
        if (first & Graph::leaf_bit || !may_be_prologue[first] || graph.uses()[first] != 1) continue;
        const std::uint32_t at = fusions.runs_in.empty() ? static_cast<std::uint32_t>(i) : fusions.runs_in[i];
        // It would read what nodes in between have written.
        if (writers[first] != writers[at] || fusing[first].part != fusing[at].part) continue;
        if (goes_to.empty()) goes_to.assign(nodes.size(), Graph::nowhere);
        goes_to[first] = at;
    }
    if (goes_to.empty()) return;
    begin(fusions, nodes.size());
    fusions.in_prologue.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const std::uint32_t at = goes_to[fusions.runs_in[i]];
        if (at == Graph::nowhere) continue;
        fusions.runs_in[i] = at;
        fusions.in_prologue[i] = true;
    }
}

}  // namespace

Fusions find_fusions(const Graph &graph, const TensorSet &places, std::span<const Fusing> fusing) {
    const auto nodes = graph.nodes();
    Fusions fusions;
    std::vector<std::size_t> writers(nodes.size());  // up to the node, including it
    std::vector<bool> may_be_prologue(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) writers[i] = (i > 0 ? writers[i - 1] : 0) + (nodes[i]->writes() ? 1 : 0);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        if (!has_formula(*nodes[i]) || fusions.is_fused(i)) continue;
        const Group group(graph, places, writers, fusing, static_cast<std::uint32_t>(i));
        may_be_prologue[i] = !group.has_producer();
        if (group.members().size() == 1) continue;
        begin(fusions, nodes.size());
        for (const Tensor *member : group.members()) fusions.runs_in[*places.find(member)] = static_cast<std::uint32_t>(i);
    }
    find_prologues(graph, places, writers, fusing, may_be_prologue, fusions);
    return fusions;
}

const char *refuse_unless_one_row(const Problem &problem) noexcept {
    for (const TensorRef &input : problem.program.inputs) {
        if (input.ne != problem.node.layout.ne) return "an operand repeats";
        if (!Layout{input.type, max_dims, input.ne, input.nb}.contiguous()) return "an operand is not contiguous";
    }
    return nullptr;
}

ProgramPlan make_program(const Graph &graph, const TensorSet &places, std::span<Tensor *const> members, const Tensor *producer) {
    ProgramPlan program;
    try_program(graph, places, members, producer, program);
    return program;
}

std::string program_text(const Program &program) {
    std::string text;
    for (const Instruction &instruction : program.instructions) {
        text += (text.empty() ? "" : " + ") + std::string(traits(instruction.op).name);
    }
    return text;
}

std::string step_text(const Step &step) {
    std::string text = step.prologue.empty() ? "" : program_text(step.prologue) + " + ";
    text += step.kernel->name;
    if (step.program.empty() || !step.joins()) return text;
    return text + (step.src.empty() ? ": " : " + ") + program_text(step.program);
}

}  // namespace tensorlib::core
