#include "runtime/planner.hpp"

#include "base/fail.hpp"

#include <algorithm>

namespace tensorlib::core {

Planning::Planning(const Graph &g, Backend &b, const GraphStructure &s) : graph(g), backend(b), structure(s), parts(b.parts()) {
    bool added;
    for (std::size_t i = 0; i < graph.nodes().size(); i++) indices.insert(graph.nodes()[i], static_cast<Graph::NodeIndex>(i), added);
    for (std::size_t i = 0; i < graph.leafs().size(); i++) {
        indices.insert(graph.leafs()[i], static_cast<Graph::NodeIndex>(i) | Graph::leaf_bit, added);
    }
}

std::uint32_t Placed::home(const Planning &planning, const Tensor &root) const {
    if (placement.alone) return *placement.alone;
    const Graph::NodeIndex index = planning.index_of(root);
    if (!(index & Graph::leaf_bit)) return placement.part[index];
    return static_cast<std::uint32_t>(*planning.backend.part_on(root.context->memory()));
}

bool Placed::is_elsewhere(const Planning &planning, std::size_t node) const {
    return crosses() && &planning.graph.nodes()[node]->context->memory() != &planning.memory_of(placement.part[node]);
}

void fail_without_kernel(const Problem &problem) {
    const Backend &backend = problem.backend;
    const Tensor &node = problem.node;
    const std::string reasons = backend.refusals(problem, nullptr);
    fail(Status::unsupported, "%s of %s to %s: no kernel of %s takes it%s%s", op_name(node.op), sources_text(node).c_str(),
         layout_text(node.layout).c_str(), backend.device().name(), reasons.empty() ? "" : ": ", reasons.c_str());
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

// Calls f(problem) for the node on a part; an elementwise node has its own program.
template <class F>
auto with_problem(const Planning &planning, std::size_t i, std::size_t part, F f) {
    Tensor *node = planning.graph.nodes()[i];
    Backend &backend = *planning.parts[part];
    Problem problem{.node = *node, .backend = backend, .n_threads = backend.n_threads(), .batch_invariant = planning.graph.batch_invariant};
    if (!has_formula(*node)) return f(problem);
    const ProgramPlan program = make_program(planning.graph, planning.indices, {&node, 1}, nullptr);
    std::vector<TensorRef> inputs;
    for (const ProgramPlan::Input &input : program.inputs) inputs.push_back(without_address(input));
    problem.program = {program.instructions, inputs};
    return f(problem);
}

bool has_kernel(const Planning &planning, std::size_t node, std::size_t part) {
    return with_problem(planning, node, part, [](const Problem &problem) { return problem.backend.choose(problem).kernel != nullptr; });
}

std::string refusal(const Planning &planning, std::size_t node, std::size_t part) {
    return with_problem(planning, node, part, [](const Problem &problem) { return problem.backend.refusals(problem, nullptr); });
}

struct Chosen {
    std::vector<Choice> kernels;
    std::vector<RefusedNode> refused;
};

// Chooses a kernel for each node on its part. A graph on one part fails for a node without a kernel; with several parts the
// node is refused there, and elementwise nodes are asked too.
Chosen choose(const Planning &planning, std::span<const std::uint32_t> parts) {
    const auto nodes = planning.graph.nodes();
    const bool may_move = planning.parts.size() > 1;
    Chosen chosen{std::vector<Choice>(nodes.size()), {}};
    for (std::size_t i = 0; i < nodes.size(); i++) {
        const Tensor &node = *nodes[i];
        if (node.is_pure_view()) continue;
        check_sizes(node);
        const bool elementwise = has_formula(node);
        if (elementwise && (!may_move || has_kernel(planning, i, parts[i]))) continue;
        Backend &part = *planning.parts[parts[i]];
        const Problem problem{
            .node = node, .backend = part, .n_threads = part.n_threads(), .batch_invariant = planning.graph.batch_invariant};
        if (!elementwise) chosen.kernels[i] = part.choose(problem);
        if (chosen.kernels[i].kernel) continue;
        if (!may_move) fail_without_kernel(problem);
        chosen.refused.push_back({static_cast<std::uint32_t>(i), parts[i]});
    }
    return chosen;
}

}  // namespace

// With several parts, nodes are placed as if every part took every node, then placed again without the refused combinations.
// Asking every part about every node first would cost as much as planning for each part.
Placed place_and_choose(const Planning &planning) {
    const std::size_t n = planning.graph.nodes().size(), n_parts = planning.parts.size();
    if (n_parts == 1) {
        Placement placement{std::vector<std::uint32_t>(n, 0), 0, 0};
        std::vector<Choice> kernels = choose(planning, placement.part).kernels;
        return {std::move(placement), std::move(kernels), {}};
    }
    const auto why = [&](std::size_t node, std::size_t part) { return refusal(planning, node, part); };
    RefusedNodes is_refused(n_parts);
    std::vector<RefusedNode> refused;
    for (;;) {
        Placement placement = place_nodes(planning.graph, planning.indices, planning.backend, is_refused, why);
        Chosen chosen = choose(planning, placement.part);
        if (chosen.refused.empty()) return {std::move(placement), std::move(chosen.kernels), std::move(refused)};
        for (const RefusedNode &more : chosen.refused) {
            is_refused[more.part].resize(n);
            is_refused[more.part][more.node] = true;
            refused.push_back(more);
        }
    }
}

std::vector<Choice> make_copies(const Planning &planning, const Placement &placement, std::vector<Choice> kernels) {
    for (std::size_t i = 0; i < kernels.size(); i++) {
        if (std::ranges::none_of(kernels[i].plan.copies, &ConstantCopy::planned)) continue;
        const Tensor &node = *planning.graph.nodes()[i];
        Backend &part = *planning.parts[placement.part[i]];
        unsigned missing = 0;
        while (const unsigned more = part.make_copies(node, kernels[i].plan)) {
            missing |= more;
            kernels[i] = part.choose({node, part, part.n_threads(), {}, missing, planning.graph.batch_invariant});
        }
    }
    return kernels;
}

namespace {

bool is_within_limit(const Graph &graph, const MemoryLayout &memory) noexcept {
    const std::optional<std::size_t> limit = graph.recomputation().limit;
    return !limit || memory.limited_bytes() <= *limit;
}

void check_limit(const Planning &planning, const MemoryLayout &memory) {
    if (is_within_limit(planning.graph, memory)) return;
    const std::size_t needed = memory.limited_bytes();
    std::string each;
    for (const PartMemory &part : memory.parts)
        each += format_text("%s%zu on %s", each.empty() ? "" : ", ", part.end_of_intermediates(), part.memory->device());
    fail(
        Status::out_of_memory,
        "graph_compute: the graph was made to keep its intermediates within %zu bytes (graph_create_within). On %s they and what is copied "
        "between devices need %zu: %s. A bound of %zu is valid, as is one device",
        *planning.graph.recomputation().limit, planning.backend.device().name(), needed, each.c_str(), needed);
}

}  // namespace

// A program needs fewer results but keeps its inputs longer: mostly less memory, but not always.
Draft make_draft(const Planning &planning, const Placed &placed) {
    struct Way {
        bool fuses, overwrites;
    };
    constexpr Way ways[] = {{true, true}, {false, true}, {false, false}};
    Draft draft;
    for (const Way &way : ways) {
        if (way.fuses && (!planning.backend.fuses() || planning.graph.runs_nodes_singly())) continue;
        draft.fused = fuse(planning, placed, way.fuses);
        draft.scheduled = schedule(planning, placed, draft.fused);
        draft.memory = lay_out(planning, placed, draft.fused, draft.scheduled, way.overwrites);
        if (is_within_limit(planning.graph, draft.memory)) break;
    }
    return draft;
}

namespace {

void check_batch_invariance(const Planning &planning) {
    if (!planning.graph.batch_invariant) return;
    for (const Backend *part : planning.parts) {
        if (part->has_batch_invariant_kernels()) continue;
        fail(Status::unsupported,
             "graph_compute: the graph is batch-invariant (graph_set_batch_invariant), and %s has no such kernels: cpu is valid",
             part->device().name());
    }
}

}  // namespace

Planned make_plan(const Graph &graph, Backend &backend, const GraphStructure &structure) {
    const Planning planning(graph, backend, structure);
    check_batch_invariance(planning);
    Placed placed = place_and_choose(planning);
    placed.kernels = make_copies(planning, placed.placement, std::move(placed.kernels));
    Draft draft = make_draft(planning, placed);
    check_limit(planning, draft.memory);
    return bind(planning, std::move(placed), std::move(draft.fused), std::move(draft.scheduled), std::move(draft.memory));
}

}  // namespace tensorlib::core
