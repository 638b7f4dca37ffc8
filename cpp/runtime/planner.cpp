#include "runtime/planner.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/stand_in.hpp"
#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core {

Planner::Planner(Plan &plan, const Graph &graph, Backend &backend) : plan_(plan), graph_(graph) {
    bool added;
    for (std::size_t i = 0; i < graph.nodes().size(); i++) places_.insert(graph.nodes()[i], static_cast<Graph::Place>(i), added);
    for (std::size_t i = 0; i < graph.leafs().size(); i++) {
        places_.insert(graph.leafs()[i], static_cast<Graph::Place>(i) | Graph::leaf_bit, added);
    }
    const std::vector<Choice> choices = choose_kernels(backend);
    // A program takes fewer places for results, and keeps what it reads longer: mostly less memory, but not always. The last one is what
    // the graph has counted with (runtime/memory_budget.hpp).
    constexpr Sharing ways[] = {{true, true}, {false, true}, {false, false}};
    for (const Sharing &way : ways) {
        if (way.fuses && (!backend.fuses() || graph.check_finite)) continue;
        lay_out(backend, choices, way);
        const std::optional<std::size_t> limit = graph.recomputation().limit;
        if (!limit || plan_.intermediates_offset_ + plan_.intermediates_.size <= *limit) break;
    }
    find_addresses();
}

// All but addresses.
void Planner::lay_out(Backend &backend, std::vector<Choice> choices, const Sharing &way) {
    plan_.fusions_ = {};
    plan_.instructions_.clear(), plan_.inputs_.clear();
    plan_.steps_.clear(), plan_.step_nodes_.clear(), plan_.done_.clear();
    plan_.checked_.clear(), plan_.targets_.clear();
    programs_.clear();
    if (way.fuses) {
        std::vector<Fusing> fusing;
        fusing.reserve(choices.size());
        for (const auto &[kernel, plan] : choices) fusing.push_back({kernel && kernel->fuses, kernel && kernel->takes_head});
        plan_.fusions_ = find_fusions(graph_, places_, fusing);
    }
    make_programs(backend, choices);
    make_steps(choices);
    place_intermediates(way.overlays);
}

namespace {

// Kernels count elements, bytes and chunks in 64 bits. Within these bounds no count wraps: all of a tensor's elements times 16 bytes are
// 2^62, a row's or a column's times 1,024 threads times 16 rows of floats 2^60. Only views that repeat their elements are beyond them.
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

// By the nodes' indices. Pure views have none; elementwise nodes get theirs with their programs.
std::vector<Choice> Planner::choose_kernels(Backend &backend) const {
    const auto nodes = graph_.nodes();
    std::vector<Choice> choices(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.is_pure_view()) continue;
        check_sizes(node);
        if (op_def(node.op).formula) continue;
        const Problem problem{node, backend, backend.n_threads()};
        choices[i] = backend.choose_kernel(problem);
        if (!choices[i].kernel) fail_without_kernel(problem);
    }
    return choices;
}

// One for each elementwise node that others do not take along.
void Planner::make_programs(Backend &backend, std::vector<Choice> &choices) {
    const auto nodes = graph_.nodes();
    std::vector<std::vector<Tensor *>> members(nodes.size()), heads(plan_.fusions_.in_head.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (!plan_.fusions_.is_fused(i)) continue;
        (plan_.fusions_.is_in_head(i) ? heads : members)[plan_.fusions_.runs_in[i]].push_back(nodes[i]);
    }
    programs_.resize(nodes.size());
    std::size_t n_instructions = 0, n_inputs = 0;
    const auto make = [&](Part &part, std::span<Tensor *const> nodes_of_it, const Tensor *producer) {
        part.program = make_program(graph_, places_, nodes_of_it, producer);
        n_instructions += part.program.instructions.size();
        n_inputs += part.program.inputs.size();
    };
    for (std::size_t i = 0; i < nodes.size(); i++) {
        if (plan_.fusions_.is_fused(i)) continue;
        Joined &joined = programs_[i];
        if (!heads.empty() && !heads[i].empty()) make(joined.head, heads[i], nullptr);
        if (!op_def(nodes[i]->op).formula) continue;
        members[i].push_back(nodes[i]);
        const auto producer = std::ranges::find_if(members[i], [](const Tensor *t) { return !op_def(t->op).formula; });
        if (producer != members[i].end()) joined.producer = *producer;
        make(joined.program, members[i], joined.producer);
    }
    // (Room for all, as spans of these are taken.)
    plan_.instructions_.reserve(n_instructions);
    plan_.inputs_.reserve(n_inputs);
    for (std::size_t i = 0; i < nodes.size(); i++) {
        Joined &joined = programs_[i];
        place_program(joined.head);
        place_program(joined.program);
        if (joined.program.spans.empty() || joined.producer) continue;
        const Problem problem{*nodes[i], backend, backend.n_threads(), joined.program.spans};
        choices[i] = backend.choose_kernel(problem);
        if (!choices[i].kernel) fail_without_kernel(problem);
    }
}

// Puts it behind the plan's others.
void Planner::place_program(Part &part) {
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
    // A step is some 400 bytes: growing by doubling would copy them, and hand pages back to the system in between.
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
        step.program = programs_[i].program.spans;
        step.head = programs_[i].head.spans;
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

// The roots without their originals, each once, that the step reads.
std::vector<const Tensor *> Planner::dropped_roots(const Step &step) const {
    std::vector<const Tensor *> roots;
    const auto add = [&](const Tensor &t) {
        if (is_dropped(t) && std::ranges::find(roots, t.root) == roots.end()) roots.push_back(t.root);
    };
    const bool is_program = op_def(step.node->op).formula != nullptr;
    const auto sources = sources_of(step);
    for (std::size_t s = step.head.empty() ? 0 : 1; s < sources.size() && !is_program; s++) {
        if (sources[s] && !(step.plan.unread >> s & 1)) add(*sources[s]);
    }
    const Joined &joined = programs_[*places_.find(step.result)];
    for (const Part *part : {&joined.head, &joined.program}) {
        for (const ProgramPlan::Input &input : part->program.inputs) add(*input.tensor);
    }
    return roots;
}

void Planner::place_intermediates(bool overlays) {
    const std::size_t unit = plan_.memory_.alignment();
    const auto nodes = graph_.nodes();
    std::vector<bool> is_intermediate(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); i++) {
        is_intermediate[i] = nodes[i]->root == nodes[i] && !plan_.fusions_.is_fused(i) && !nodes[i]->data.load(std::memory_order_acquire) &&
                             !plan_.structure_.is_output(i);
    }
    // What each node's result may lie on. Behind a producer none: its last part would be read behind the first that is written.
    std::vector<std::vector<const Tensor *>> overlaid(nodes.size());
    for (const Step &step : plan_.steps_) {
        if (!overlays) break;
        const std::size_t i = *places_.find(step.result);
        if (programs_[i].producer) continue;
        const auto sources = sources_of(step);
        // Rows of what the head reads are read where those of the first operand would be, if they lie alike. But not what the node reads as
        // well, as a mask: the head may have written there.
        for (const ProgramPlan::Input &input : programs_[i].head.program.inputs) {
            const Layout &of_first = sources[0]->layout, &of_input = input.tensor->layout;
            const bool alike = of_input.type == of_first.type && of_input.ne == of_first.ne && of_input.nb == of_first.nb;
            bool is_read = false;
            for (const Tensor *source : sources) is_read = is_read || (source && source->root == input.tensor->root);
            if (alike && !is_read && step.plan.overlaid & 1) overlaid[i].push_back(input.tensor);
        }
        const auto &inputs = programs_[i].program.program.inputs;
        for (std::size_t s = 0; s < (inputs.empty() ? step.node->n_src : inputs.size()); s++) {
            if (step.plan.overlaid >> s & 1) overlaid[i].push_back(inputs.empty() ? sources[s] : inputs[s].tensor);
        }
    }
    plan_.intermediates_ = plan_memory(graph_, is_intermediate, plan_.checked_, plan_.fusions_.runs_in, overlaid, unit);
    // One workspace for all steps, and one room for what is rebuilt, as they run one after the other.
    std::size_t workspace = 0, rebuilt = 0, n_rebuilt = 0;
    for (const Step &step : plan_.steps_) {
        workspace = std::max(workspace, step.plan.workspace);
        std::size_t of_step = 0;
        for (const Tensor *root : dropped_roots(step)) of_step += round_up(root->layout.nbytes(), unit), n_rebuilt++;
        rebuilt = std::max(rebuilt, of_step);
    }
    plan_.rebuilt_.reserve(n_rebuilt);
    plan_.rebuilt_leafs_.reserve(n_rebuilt);
    // Faults come first: theirs is the one place that has to be as the last run has left it.
    plan_.intermediates_offset_ = round_up(plan_.checked_.size() * sizeof(std::uint64_t), unit);
    plan_.workspace_bytes_ = workspace;
    std::size_t &size = plan_.block_bytes_;
    if (!checked_add(plan_.intermediates_offset_, plan_.intermediates_.size, rebuilt_offset_) ||
        !checked_add(rebuilt_offset_, rebuilt, workspace_offset_) || !checked_add(workspace_offset_, workspace, size)) {
        size = ~std::size_t{0};
    }
}

// Where the tensor's first element is when the step runs, and so many bytes behind it: in the block, or behind a root's data.
void Planner::find_address(const Tensor &t, std::size_t behind, const Step &step, std::byte *&address) {
    const auto in_block = [&](std::size_t offset) { plan_.in_block_.push_back({&address, offset + t.root_offset + behind}); };
    for (std::size_t offset = rebuilt_offset_; const Rebuilt &r : step.rebuilt) {
        if (r.root == t.root) return in_block(offset);
        offset += round_up(r.root->layout.nbytes(), plan_.memory_.alignment());
    }
    const Graph::Place root = *places_.find(t.root);
    if (!(root & Graph::leaf_bit) && plan_.intermediates_.offset[root] != MemoryPlan::nowhere) {
        return in_block(plan_.intermediates_offset_ + plan_.intermediates_.offset[root]);
    }
    plan_.in_graph_.push_back({&address, root, t.root_offset + behind});
}

void Planner::find_inputs(const Part &part, const Tensor *producer, const Step &step) {
    for (std::size_t i = 0; i < part.program.inputs.size(); i++) {
        const ProgramPlan::Input &input = part.program.inputs[i];
        // The producer's is where the result is.
        const Tensor &tensor = input.tensor == producer ? *step.result : *input.tensor;
        TensorRef &ref = plan_.inputs_[part.first_input + i];
        find_address(tensor, static_cast<std::size_t>(input.first) * ref.nb[0], step, ref.data);
    }
}

void Planner::find_addresses() {
    const auto n_operands = [](const Step &step) -> std::size_t { return op_def(step.node->op).formula ? 0 : step.node->n_src; };
    std::size_t n = 0;
    for (const Step &step : plan_.steps_) n += n_operands(step);
    plan_.operands_.reserve(n);
    for (Step &step : plan_.steps_) {
        const std::size_t first_rebuilt = plan_.rebuilt_.size(), first_operand = plan_.operands_.size();
        std::size_t offset = rebuilt_offset_;
        for (const Tensor *root : dropped_roots(step)) {
            plan_.rebuilt_.push_back({root, nullptr});
            plan_.rebuilt_leafs_.push_back(*places_.find(root));
            plan_.in_block_.push_back({&plan_.rebuilt_.back().to, offset});
            offset += round_up(root->layout.nbytes(), plan_.memory_.alignment());
        }
        step.rebuilt = std::span(plan_.rebuilt_).subspan(first_rebuilt);
        step.dst = ref_of(*step.result);
        find_address(*step.result, 0, step, step.dst.data);
        const Joined &joined = programs_[*places_.find(step.result)];
        find_inputs(joined.head, nullptr, step);
        find_inputs(joined.program, joined.producer, step);
        for (std::size_t s = 0; s < n_operands(step); s++) {
            const Tensor *source = sources_of(step)[s];
            const bool is_made = s == 0 && !step.head.empty();
            plan_.operands_.push_back(source ? ref_of(*source) : TensorRef{});
            if (source && !is_made) find_address(*source, 0, step, plan_.operands_.back().data);
        }
        step.src = std::span(plan_.operands_).subspan(first_operand);
        plan_.in_block_.push_back({&step.workspace, workspace_offset_});
    }
}

}  // namespace tensorlib::core
