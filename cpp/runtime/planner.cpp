#include "runtime/planner.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core {

Planner::Planner(Plan &plan, const Graph &graph, Backend &backend)
    : plan_(plan), graph_(graph), backend_(backend), parts_(backend.parts()) {
    bool added;
    for (std::size_t i = 0; i < graph.nodes().size(); i++) places_.insert(graph.nodes()[i], static_cast<Graph::NodeIndex>(i), added);
    for (std::size_t i = 0; i < graph.leafs().size(); i++) {
        places_.insert(graph.leafs()[i], static_cast<Graph::NodeIndex>(i) | Graph::leaf_bit, added);
    }
    for (Backend *part : parts_) {
        plan_.blocks_.emplace_back();
        plan_.blocks_.back().memory = &part->device().memory();
    }
    place_and_choose();
}

void Planner::make_copies() {
    for (std::size_t i = 0; i < choices_.size(); i++) {
        const Tensor &node = *graph_.nodes()[i];
        Backend &part = *parts_[plan_.parts_[i]];
        if (std::ranges::none_of(choices_[i].plan.copies, &ConstantCopy::planned)) continue;
        unsigned missing = 0;
        while (const unsigned more = part.make_copies(node, choices_[i].plan)) {
            missing |= more;
            choices_[i] = part.choose({node, part, part.n_threads(), {}, missing});
        }
    }
}

void Planner::lay_out() {
    // A program needs fewer results but keeps its inputs longer: mostly less memory, but not always. The graph's bound
    // counts with the last choice (runtime/memory_budget.hpp).
    constexpr Sharing ways[] = {{true, true}, {false, true}, {false, false}};
    for (const Sharing &way : ways) {
        if (way.fuses && (!backend_.fuses() || graph_.runs_nodes_singly())) continue;
        lay_out_as(way);
        if (within_limit()) break;
    }
}

void Planner::lay_out_as(const Sharing &way) {
    std::vector<Choice> choices = choices_;
    plan_.fusions_ = {};
    plan_.instructions_.clear(), plan_.inputs_.clear();
    plan_.steps_.clear(), plan_.step_nodes_.clear(), plan_.done_.clear();
    plan_.checked_.clear(), plan_.targets_.clear();
    programs_.clear();
    n_rebuilt_ = 0;
    if (way.fuses) {
        std::vector<Fusing> fusing;
        fusing.reserve(choices.size());
        for (std::size_t i = 0; i < choices.size(); i++) {
            const Kernel *kernel = choices[i].kernel;
            fusing.push_back({kernel && kernel->fuses, kernel && kernel->takes_prologue, plan_.parts_[i]});
        }
        plan_.fusions_ = find_fusions(graph_, places_, fusing);
    }
    make_programs(choices);
    make_steps(choices);
    if (crosses()) {
        find_copies();
        order_rounds();
    }
    place_intermediates(way.overwrites);
}

namespace {

// Kernels count elements, bytes and chunks in 64 bits. Within these bounds no count wraps: all of a tensor's elements times 16 bytes are
// 2^62, a row's or a column's times 1,024 threads times 16 rows of floats 2^60. Only views that repeat their elements exceed them.
constexpr std::int64_t most_elements = std::int64_t{1} << 58, most_in_a_row = std::int64_t{1} << 44;

void check_sizes(const Tensor &node) {
    const auto check = [&](const Tensor &t) {
        const Extents &ne = t.layout.ne;
        if (t.layout.n_elements() <= most_elements && std::max(ne[0], ne[1]) <= most_in_a_row) return;
        fail(Status::unsupported, "graph_compute: %s of %s: %s has more than 2^58 elements, or 2^44 in dimension 0 or 1", op_name(node.op),
             sources_text(node).c_str(), layout_text(t.layout).c_str());
    };
    check(node);
    for (const Tensor *source : node.sources()) check(*source);
}

[[noreturn]] void fail_without_kernel(const Problem &problem) {
    const Backend &backend = problem.backend;
    const Tensor &node = problem.node;
    const std::string reasons = backend.refusals(problem, nullptr);
    fail(Status::unsupported, "%s of %s to %s: no kernel of %s takes it%s%s", op_name(node.op), sources_text(node).c_str(),
         layout_text(node.layout).c_str(), backend.device().name(), reasons.empty() ? "" : ": ", reasons.c_str());
}

}  // namespace

template <class F>
auto Planner::with_problem(std::size_t i, std::size_t part, F f) const {
    Tensor *node = graph_.nodes()[i];
    Problem problem{*node, *parts_[part], parts_[part]->n_threads()};
    if (!op_def(node->op).formula) return f(problem);
    const ProgramPlan program = make_program(graph_, places_, {&node, 1}, nullptr);
    std::vector<TensorRef> inputs;
    for (const ProgramPlan::Input &input : program.inputs) {
        inputs.push_back(ref_of(*input.tensor));
        inputs.back().ne[0] = input.n0;
    }
    problem.program = {program.instructions, inputs};
    return f(problem);
}

bool Planner::has_kernel(std::size_t node, std::size_t part) const {
    return with_problem(node, part, [&](const Problem &problem) { return parts_[part]->choose(problem).kernel != nullptr; });
}

std::string Planner::refusal(std::size_t node, std::size_t part) const {
    return with_problem(node, part, [&](const Problem &problem) { return parts_[part]->refusals(problem, nullptr); });
}

// With several parts, nodes are placed as if every part took every node, then placed again without the refused
// combinations. Asking every part about every node first would cost as much as planning for each part.
void Planner::place_and_choose() {
    const std::size_t n = graph_.nodes().size();
    plan_.parts_.assign(n, 0);
    alone_ = 0;
    if (n_parts() == 1) {
        choices_ = choose_kernels(nullptr);
        return;
    }
    RefusedNodes refused(n_parts());
    for (;;) {
        const auto why = [this](std::size_t node, std::size_t part) { return refusal(node, part); };
        Placement placement = place_nodes(graph_, places_, backend_, refused, why);
        plan_.parts_ = std::move(placement.part), alone_ = placement.alone;
        const std::size_t before = plan_.refused_.size();
        choices_ = choose_kernels(&refused);
        if (plan_.refused_.size() == before) return;
    }
}

// Chooses a kernel for each node, by index. Pure views have none; elementwise nodes get theirs with their programs. Nodes
// without a kernel are added to `refused`, if given.
std::vector<Choice> Planner::choose_kernels(RefusedNodes *refused) const {
    const auto nodes = graph_.nodes();
    std::vector<Choice> choices(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.is_pure_view()) continue;
        check_sizes(node);
        const std::uint32_t part = plan_.parts_[i];
        const bool elementwise = op_def(node.op).formula != nullptr;
        if (elementwise && (!refused || has_kernel(i, part))) continue;
        const Problem problem{node, *parts_[part], parts_[part]->n_threads()};
        if (!elementwise) choices[i] = parts_[part]->choose(problem);
        if (choices[i].kernel) continue;
        if (!refused) fail_without_kernel(problem);
        (*refused)[part].resize(nodes.size());
        (*refused)[part][i] = true;
        plan_.refused_.push_back({static_cast<std::uint32_t>(i), part});
    }
    return choices;
}

// Makes a program for each elementwise node that no other program includes.
void Planner::make_programs(std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::vector<std::vector<Tensor *>> members(nodes.size()), prologues(plan_.fusions_.in_prologue.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (!plan_.fusions_.is_fused(i)) continue;
        (plan_.fusions_.is_in_prologue(i) ? prologues : members)[plan_.fusions_.runs_in[i]].push_back(nodes[i]);
    }
    programs_.resize(nodes.size());
    std::size_t n_instructions = 0, n_inputs = 0;
    const auto make = [&](FusedProgram &part, std::span<Tensor *const> nodes_of_it, const Tensor *producer) {
        part.program = make_program(graph_, places_, nodes_of_it, producer);
        n_instructions += part.program.instructions.size();
        n_inputs += part.program.inputs.size();
    };
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (plan_.fusions_.is_fused(i)) continue;
        Joined &joined = programs_[i];
        if (!prologues.empty() && !prologues[i].empty()) make(joined.prologue, prologues[i], nullptr);
        if (!op_def(nodes[i]->op).formula) continue;
        members[i].push_back(nodes[i]);
        const auto producer = std::ranges::find_if(members[i], [](const Tensor *t) { return !op_def(t->op).formula; });
        if (producer != members[i].end()) joined.producer = *producer;
        make(joined.program, members[i], joined.producer);
    }
    // Reserves room for all, because spans of these are taken.
    plan_.instructions_.reserve(n_instructions);
    plan_.inputs_.reserve(n_inputs);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        Joined &joined = programs_[i];
        place_program(joined.prologue);
        place_program(joined.program);
        if (joined.program.spans.empty() || joined.producer) continue;
        Backend &part = *parts_[plan_.parts_[i]];
        const Problem problem{*nodes[i], part, part.n_threads(), joined.program.spans};
        choices[i] = part.choose(problem);
        if (!choices[i].kernel) fail_without_kernel(problem);
    }
}

// Appends the program to the plan's others.
void Planner::place_program(FusedProgram &part) {
    const std::size_t first_instruction = plan_.instructions_.size();
    part.first_input = plan_.inputs_.size();
    plan_.instructions_.insert(plan_.instructions_.end(), part.program.instructions.begin(), part.program.instructions.end());
    for (const ProgramPlan::Input &input : part.program.inputs) {
        TensorRef ref = ref_of(*input.tensor);
        ref.ne[0] = input.n0;
        plan_.inputs_.push_back(ref);
    }
    part.spans = {std::span(plan_.instructions_).subspan(first_instruction), std::span(plan_.inputs_).subspan(part.first_input)};
}

void Planner::make_steps(const std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::vector<Step> &steps = plan_.steps_;
    // A step has some 400 bytes: growing by doubling would copy them and return pages to the system meanwhile.
    const auto n_steps = static_cast<std::size_t>(std::ranges::count_if(nodes, [](const Tensor *node) { return !node->is_pure_view(); }));
    steps.reserve(n_steps);
    plan_.step_nodes_.reserve(n_steps);
    plan_.done_.reserve(n_steps);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (nodes[i]->is_pure_view() || plan_.fusions_.is_fused(i)) {
            if (!plan_.done_.empty()) plan_.done_.back() = i + 1;
            continue;
        }
        const std::size_t computed = programs_[i].producer ? *places_.find(programs_[i].producer) : i;
        Tensor &node = *nodes[computed];
        Step step{};
        step.kernel = choices[computed].kernel;
        step.plan = choices[computed].plan;
        step.node = &node;
        step.result = nodes[i];
        step.part = plan_.parts_[i];
        step.program = programs_[i].program.spans;
        step.prologue = programs_[i].prologue.spans;
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (node.writes(s) && node.src[s]->root->is_leaf()) plan_.targets_.push_back(*places_.find(node.src[s]->root));
        }
        if (const unsigned operands = checked_operands(node)) {
            plan_.checked_.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(steps.size()), operands});
        }
        steps.push_back(step);
        plan_.step_nodes_.push_back({static_cast<std::uint32_t>(computed), static_cast<std::uint32_t>(i)});
        plan_.done_.push_back(i + 1);
    }
}

// The roots without originals whose own bytes the step reads, each once.
std::vector<const Tensor *> Planner::dropped_roots(const Step &step) const {
    std::vector<const Tensor *> roots;
    for_each_read(step, [&](const Read &read) {
        const Tensor &t = read.tensor;
        if (!is_dropped(t) || (read.slot < max_sources && step.plan.unread >> read.slot & 1) || home(*t.root) != step.part) return;
        if (std::ranges::find(roots, t.root) == roots.end()) roots.push_back(t.root);
    });
    return roots;
}

// Finds a root's byte number `behind` on the part where the root lies or is computed: in the part's block, or in the root's
// own data.
void Planner::find_root(const Tensor &root, std::size_t part, std::size_t behind, std::byte *&address) {
    const Graph::NodeIndex place = *places_.find(&root);
    const Plan::Block &block = plan_.blocks_[part];
    if (!(place & Graph::leaf_bit) && block.intermediates.offset[place] != MemoryPlan::nowhere) {
        plan_.in_block_.push_back({&address, block.intermediates_offset + block.intermediates.offset[place] + behind, part});
    } else {
        plan_.in_graph_.push_back({&address, place, behind});
    }
}

// Finds the address, while the step runs, of the byte at offset `behind` from the tensor's first element.
void Planner::find_address(const Tensor &t, std::size_t behind, const Step &step, std::byte *&address) {
    const Plan::Block &block = plan_.blocks_[step.part];
    for (std::size_t offset = block.rebuilt_offset; const Rebuilt &r : step.rebuilt) {
        if (r.root == t.root) {
            plan_.in_block_.push_back({&address, offset + t.root_offset + behind, step.part});
            return;
        }
        offset += round_up(r.root->layout.nbytes(), block.memory->alignment());
    }
    if (home(*t.root) == step.part) return find_root(*t.root, step.part, t.root_offset + behind, address);
    find_landing(*t.root, step, t.root_offset + behind, address);
}

void Planner::find_inputs(const FusedProgram &part, const Tensor *producer, const Step &step) {
    for (std::size_t i = 0; i < part.program.inputs.size(); i++) {
        const ProgramPlan::Input &input = part.program.inputs[i];
        // The producer writes where the result is.
        const Tensor &tensor = input.tensor == producer ? *step.result : *input.tensor;
        TensorRef &ref = plan_.inputs_[part.first_input + i];
        find_address(tensor, static_cast<std::size_t>(input.first) * ref.nb[0], step, ref.data);
    }
}

void Planner::find_addresses() {
    const auto n_operands = [](const Step &step) -> std::size_t { return op_def(step.node->op).formula ? 0 : step.node->n_src; };
    std::size_t n = 0, n_copies = 0;
    for (const Step &step : plan_.steps_) n += n_operands(step);
    for (const Copied &copied : copied_) n_copies += copied.before.size() + copied.back.size() + copied.after.size();
    plan_.operands_.reserve(n);
    plan_.rebuilt_.reserve(n_rebuilt_), plan_.rebuilt_leafs_.reserve(n_rebuilt_);
    plan_.copies_.reserve(n_copies), plan_.copied_roots_.reserve(n_copies);
    for (Step &step : plan_.steps_) {
        if (crosses()) add_copies(step);
        const Plan::Block &block = plan_.blocks_[step.part];
        const std::size_t first_rebuilt = plan_.rebuilt_.size(), first_operand = plan_.operands_.size();
        std::size_t offset = block.rebuilt_offset;
        for (const Tensor *root : dropped_roots(step)) {
            plan_.rebuilt_.push_back({root, nullptr});
            plan_.rebuilt_leafs_.push_back(*places_.find(root));
            plan_.in_block_.push_back({&plan_.rebuilt_.back().to, offset, step.part});
            offset += round_up(root->layout.nbytes(), block.memory->alignment());
        }
        step.rebuilt = std::span(plan_.rebuilt_).subspan(first_rebuilt);
        step.dst = ref_of(*step.result);
        find_address(*step.result, 0, step, step.dst.data);
        const Joined &joined = programs_[*places_.find(step.result)];
        find_inputs(joined.prologue, nullptr, step);
        find_inputs(joined.program, joined.producer, step);
        for (std::size_t s = 0; s < n_operands(step); s++) {
            const Tensor *source = sources_of(step)[s];
            const bool is_made = s == 0 && !step.prologue.empty();
            plan_.operands_.push_back(source ? ref_of(*source) : TensorRef{});
            if (source && !is_made) find_address(*source, 0, step, plan_.operands_.back().data);
        }
        step.src = std::span(plan_.operands_).subspan(first_operand);
        plan_.in_block_.push_back({&step.workspace, block.workspace_offset, step.part});
    }
}

}  // namespace tensorlib::core
